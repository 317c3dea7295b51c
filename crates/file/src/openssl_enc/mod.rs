//! Files of `openssl enc`, byte for byte.
//!
//! ```text
//! "Salted__"   8 bytes of salt   ciphertext     with a passphrase: a [`Header`] and a [`Body`]
//! ciphertext                                    with a key and an IV: a [`Body`]
//! ```
//!
//! **There is no authentication.** A change to the file changes the plaintext, and a wrong passphrase yields noise. Only the
//! padding of CBC can reveal either, and not always. Prefer an [age file](crate::age) unless openssl has to read it.

mod body;
mod passphrase;

pub use body::Body;
pub use passphrase::{Derivation, Digest, ITERATIONS, IV_BYTES, KeyAndIv, SALT_BYTES, derive};

use std::io::Read;

use crate::Error;
use crate::bytes::{random, read_exact};

/// The bytes before the ciphertext, in a file with a passphrase.
pub const HEADER_BYTES: usize = MAGIC.len() + SALT_BYTES;

/// The beginning of a file with a passphrase.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    /// The salt, which makes each key different.
    pub salt: [u8; SALT_BYTES],
}

impl Header {
    /// Creates a header with a new salt.
    ///
    /// # Errors
    /// [`Error::Random`] if the system returns no random bytes.
    pub fn new() -> Result<Self, Error> {
        let mut salt = [0; SALT_BYTES];
        random(&mut salt)?;
        Ok(Self { salt })
    }

    /// Reads a header, and no byte after it.
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
        // A short input that does not begin like a header is not an incomplete file.
        if magic[..bytes] != MAGIC[..bytes] {
            return Err(Error::NotSalted);
        }
        read?;
        let mut salt = [0; SALT_BYTES];
        read_exact(input, &mut salt, MAGIC.len() as u64)?;
        Ok(Self { salt })
    }

    /// Returns the bytes of the header in the file.
    pub fn encoded(&self) -> [u8; HEADER_BYTES] {
        let mut encoded = [0; HEADER_BYTES];
        let (magic, salt) = encoded.split_at_mut(MAGIC.len());
        magic.copy_from_slice(MAGIC);
        salt.copy_from_slice(&self.salt);
        encoded
    }
}

const MAGIC: &[u8; 8] = b"Salted__";
