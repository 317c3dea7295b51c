//! age v1 (C2SP, age-encryption.org/v1): files for any number of recipients.
//!
//! ```text
//! age-encryption.org/v1        header: the file key, wrapped for each recipient in a stanza,
//! -> X25519 ...                and a MAC under the file key
//! --- MAC
//! nonce                        16 bytes; the payload's key is derived from it and the file key
//! chunk chunk ... chunk        64 KiB of ciphertext and a tag each; the last one may be shorter
//! ```
//!
//! Recipients and identities are those of the `age` crate, the post-quantum ones of [`hybrid`], and those that a [`plugin`]
//! serves. Header and payload are implemented here.
//!
//! The [pipeline](crate::run) takes whole files. [`Reader`] and [`Writer`] are for programs that read and write the plaintext
//! themselves.

pub mod armored;
mod dearmored;
mod header;
mod passphrase;
mod payload;
pub mod plugin;
mod reader;
mod shared;
mod writer;

pub use age_core::format::{FileKey, Stanza};
pub use header::{Header, VERSION_LINE};
pub use oarlock_recipients::hybrid;
pub use passphrase::Passphrase;
pub use payload::{CHUNK_BYTES, NONCE_BYTES, Payload, SEALED_CHUNK_BYTES, TAG_BYTES, plain_bytes};
pub use reader::Reader;
pub use writer::Writer;

use std::io::Read;

use ::age::{Identity, Recipient};
use age_core::format::FILE_KEY_BYTES;
use oarlock::Direction;
use oarlock::device::Cpu;

use crate::Error;
use crate::bytes::{random, read_exact};

/// scrypt's log2 N of new files with a passphrase, as in age: 256 MiB and about a second.
pub const WORK_FACTOR: u8 = 18;
/// The greatest log2 N that is accepted, age's maximum: 4 GiB and half a minute.
pub const WORK_FACTOR_MAX: u8 = 22;

/// A new file: the bytes before its chunks, and the key that seals them.
pub struct Encryptor {
    /// The header and nonce, which are written first.
    pub prologue: Vec<u8>,
    /// The key that seals the chunks after the prologue.
    pub payload: Payload,
}

impl Encryptor {
    /// Generates a file key and wraps it for all `recipients`.
    ///
    /// # Errors
    /// [`Error::NoRecipient`]; [`Error::Recipient`] if one cannot wrap the key, or if some exclude each other, as a
    /// passphrase excludes all others; [`Error::MixedPostQuantum`]; [`Error::Random`].
    pub fn new(recipients: &[&dyn Recipient], cpu: Cpu) -> Result<Self, Error> {
        let file_key = generate_file_key()?;
        let header = Header::new(recipients, &file_key)?;
        let mut nonce = [0; NONCE_BYTES];
        random(&mut nonce)?;
        let mut prologue = header.encoded;
        prologue.extend(nonce);
        Ok(Self {
            prologue,
            payload: Payload::new(&file_key, &nonce, Direction::Encrypt, cpu),
        })
    }
}

/// Returns a random file key.
///
/// # Errors
/// [`Error::Random`].
pub fn generate_file_key() -> Result<FileKey, Error> {
    FileKey::try_init_with_mut(|key: &mut [u8; FILE_KEY_BYTES]| random(key))
}

/// A file after its header has been read and verified.
pub struct Decryptor {
    /// The number of bytes before the first chunk.
    pub prologue_bytes: u64,
    /// The key that opens the chunks after the prologue.
    pub payload: Payload,
}

impl Decryptor {
    /// Reads the header and nonce from `input`, and no byte more, and finds the file key.
    ///
    /// # Errors
    /// [`Error::Header`], [`Error::Truncated`] or [`Error::Read`] if it is not an age file; [`Error::NoMatchingIdentity`],
    /// [`Error::WrongPassphrase`], [`Error::ExcessiveWork`] or [`Error::Identity`] if no identity opens it;
    /// [`Error::HeaderMac`].
    pub fn new(
        input: &mut impl Read,
        identities: &[&dyn Identity],
        cpu: Cpu,
    ) -> Result<Self, Error> {
        let header = Header::read(input)?;
        Self::of_header(&header, input, identities, cpu)
    }

    /// Does the same with a header that has been read already.
    ///
    /// # Errors
    /// Those of [`new`](Self::new).
    pub fn of_header(
        header: &Header,
        input: &mut impl Read,
        identities: &[&dyn Identity],
        cpu: Cpu,
    ) -> Result<Self, Error> {
        let file_key = header.unwrap(identities)?;
        let mut nonce = [0; NONCE_BYTES];
        let at = header.encoded.len() as u64;
        read_exact(input, &mut nonce, at)?;
        Ok(Self {
            prologue_bytes: at + NONCE_BYTES as u64,
            payload: Payload::new(&file_key, &nonce, Direction::Decrypt, cpu),
        })
    }
}
