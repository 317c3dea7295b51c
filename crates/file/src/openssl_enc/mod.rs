//! Files of `openssl enc`, byte for byte.
//!
//! ```text
//! "Salted__"   8 bytes of salt   ciphertext     with a passphrase: a [`Header`] and a [`Body`]
//! ciphertext                                    with a key and an IV: a [`Body`]
//! ```
//!
//! **Nothing is authenticated.** Whoever changes the file changes what it decrypts to, and a wrong
//! passphrase gives noise; only in CBC does either show, and not always, in the padding. What need not
//! be read by openssl is better an [age file](crate::age).

mod body;
mod passphrase;

pub use body::Body;
pub use passphrase::{Derivation, Digest, KeyAndIv, derive};

use std::io::Read;
use std::num::NonZeroU32;

use crate::Error;
use crate::bytes::{random, read_exact};

/// Bytes of the salt.
pub const SALT_BYTES: usize = 8;
/// Bytes before the ciphertext, where there is a passphrase.
pub const HEADER_BYTES: usize = MAGIC.len() + SALT_BYTES;
/// Bytes of the IV of every cipher. That of ChaCha20 begins with its counter, little-endian, in 4.
pub const IV_BYTES: usize = 16;
/// What openssl takes unless `-iter` says otherwise.
pub const ITERATIONS: NonZeroU32 = NonZeroU32::new(10_000).unwrap();

/// What a file begins with whose key comes out of a passphrase.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    /// Makes the key another one each time.
    pub salt: [u8; SALT_BYTES],
}

impl Header {
    /// One with a new salt.
    ///
    /// # Errors
    /// [`Error::Random`].
    pub fn new() -> Result<Self, Error> {
        let mut salt = [0; SALT_BYTES];
        random(&mut salt)?;
        Ok(Self { salt })
    }

    /// Reads one, and not a byte behind it.
    ///
    /// # Errors
    /// [`Error::NotSalted`], [`Error::Truncated`], [`Error::Read`].
    pub fn read(input: &mut impl Read) -> Result<Self, Error> {
        let mut magic = [0; MAGIC.len()];
        let read = read_exact(input, &mut magic, 0);
        let bytes = match read {
            Err(Error::Truncated { at }) => at as usize,
            _ => magic.len(),
        };
        // What is short and nothing like it is no incomplete file.
        if magic[..bytes] != MAGIC[..bytes] {
            return Err(Error::NotSalted);
        }
        read?;
        let mut salt = [0; SALT_BYTES];
        read_exact(input, &mut salt, MAGIC.len() as u64)?;
        Ok(Self { salt })
    }

    /// As it is in the file.
    pub fn encoded(&self) -> [u8; HEADER_BYTES] {
        let mut encoded = [0; HEADER_BYTES];
        let (magic, salt) = encoded.split_at_mut(MAGIC.len());
        magic.copy_from_slice(MAGIC);
        salt.copy_from_slice(&self.salt);
        encoded
    }
}

const MAGIC: &[u8; 8] = b"Salted__";
