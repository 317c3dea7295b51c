//! The payload: chunks of 64 KiB under ChaCha20-Poly1305, as in STREAM (Hoang, Reyhanitabar, Rogaway
//! and Vizár, "Online Authenticated-Encryption and its Nonce-Reuse Misuse-Resistance").
//!
//! ```text
//! nonce of a chunk    11 bytes: its number, big-endian;  1 byte: 1 in the last chunk, else 0
//! ```

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use age_core::format::FileKey;
use age_core::primitives::hkdf;
use age_core::secrecy::ExposeSecret as _;
use oarlock::Direction;
use oarlock::device::Cpu;
use oarlock_kernels::chacha20_poly1305::ChaCha20Poly1305;
use zeroize::Zeroizing;

use crate::Error;
use crate::pipeline::{Done, Format, Run};

/// The bytes of the nonce.
pub const NONCE_BYTES: usize = 16;
/// The bytes of plaintext in every chunk but the last.
pub const CHUNK_BYTES: usize = 64 << 10;
/// The bytes of the tag after each chunk.
pub const TAG_BYTES: usize = 16;
/// The bytes of a whole chunk and its tag.
pub const SEALED_CHUNK_BYTES: usize = CHUNK_BYTES + TAG_BYTES;

/// Returns the length of the plaintext in chunks of `sealed` bytes, tags included; `None` if no payload has that length. It
/// authenticates nothing; [`Payload::check_length`] does.
pub fn plain_bytes(sealed: u64) -> Option<u64> {
    let last = sealed.div_ceil(SEALED_CHUNK_BYTES as u64).checked_sub(1)?;
    let rest = sealed - last * SEALED_CHUNK_BYTES as u64;
    // Only an empty file has an empty chunk.
    let rest = rest.checked_sub(TAG_BYTES as u64)?;
    (rest > 0 || last == 0).then_some(last * CHUNK_BYTES as u64 + rest)
}

/// The key of a payload, and whether it seals or opens. It is wiped on drop.
pub struct Payload {
    aead: ChaCha20Poly1305,
    direction: Direction,
}

impl Payload {
    /// Derives the key of the payload after `nonce` from the file key.
    pub fn new(
        file_key: &FileKey,
        nonce: &[u8; NONCE_BYTES],
        direction: Direction,
        cpu: Cpu,
    ) -> Self {
        let key = Zeroizing::new(hkdf(nonce, b"payload", file_key.expose_secret()));
        let backend = oarlock_kernels::chacha20::Backend::preferred(cpu);
        let mut payload = Self {
            aead: ChaCha20Poly1305::unkeyed(backend),
            direction,
        };
        // A key of 32 bytes is always accepted.
        let _ = payload.aead.set_key(&key[..]);
        payload
    }

    /// Seals a chunk in place. The buffer has room for the tag after the plaintext.
    ///
    /// # Errors
    /// [`Error::TooLong`].
    pub fn seal(&self, number: u64, is_last: bool, chunk: &mut [u8]) -> Result<(), Error> {
        let (data, tag) = chunk
            .split_last_chunk_mut::<TAG_BYTES>()
            .ok_or(Error::TooLong)?;
        let nonce = nonce(number, is_last);
        let sealed = self.aead.seal(&nonce, b"", data.into());
        *tag = sealed.map_err(|_| Error::TooLong)?;
        Ok(())
    }

    /// Opens a chunk in place; the tag stays after the plaintext. A chunk that is not authentic reveals no plaintext.
    ///
    /// # Errors
    /// [`Error::Authentication`]; [`Error::Incomplete`] if this is the last chunk and was not sealed as the last;
    /// [`Error::Trailing`] if it is another chunk and was sealed as the last.
    pub fn open(&self, number: u64, is_last: bool, chunk: &mut [u8]) -> Result<(), Error> {
        let Some((data, tag)) = chunk.split_last_chunk_mut::<TAG_BYTES>() else {
            return Err(Error::Incomplete { chunk: number });
        };
        self.open_apart(number, is_last, data, tag)
    }

    /// Opens a chunk whose tag is in another place, like [`open`](Self::open).
    ///
    /// # Errors
    /// Those of [`open`](Self::open).
    pub fn open_apart(
        &self,
        number: u64,
        is_last: bool,
        data: &mut [u8],
        tag: &[u8; TAG_BYTES],
    ) -> Result<(), Error> {
        // Only an empty file has an empty chunk.
        if data.is_empty() && number > 0 {
            return Err(Error::Authentication { chunk: number });
        }
        let mut open = |is_last| {
            let nonce = nonce(number, is_last);
            self.aead.open(&nonce, b"", (&mut *data).into(), tag)
        };
        if open(is_last).is_ok() {
            return Ok(());
        }
        // Find out what is wrong. The chunk stays refused.
        match open(!is_last) {
            Ok(()) if is_last => Err(Error::Incomplete { chunk: number }),
            Ok(()) => Err(Error::Trailing { chunk: number }),
            Err(_) => Err(Error::Authentication { chunk: number }),
        }
    }

    /// Authenticates the length of the plaintext and returns it. The chunks are in `input` from byte `start` to byte `end`.
    /// Only the last one is read, which shows whether something is missing or was appended. A reader of a range must call
    /// this first, because the other chunks do not show it.
    ///
    /// # Errors
    /// Those of [`open`](Self::open) for the last chunks; [`Error::CutShort`], [`Error::Read`].
    pub fn check_length(&self, input: &File, start: u64, end: u64) -> Result<u64, Error> {
        let sealed = end.saturating_sub(start);
        let last = sealed.div_ceil(SEALED_CHUNK_BYTES as u64).max(1) - 1;
        let rest = sealed - last * SEALED_CHUNK_BYTES as u64;
        let mut buffer = Zeroizing::new([0; SEALED_CHUNK_BYTES]);
        let mut open = |number: u64, bytes: u64| {
            // At most the length of the buffer.
            let chunk = &mut buffer[..bytes as usize];
            let at = start + number * SEALED_CHUNK_BYTES as u64;
            input
                .read_exact_at(chunk, at)
                .map_err(|error| match error.kind() {
                    io::ErrorKind::UnexpectedEof => Error::CutShort { at },
                    _ => Error::Read { at, error },
                })?;
            self.open(number, true, chunk)
        };
        match open(last, rest) {
            Ok(()) => Ok(last * CHUNK_BYTES as u64 + rest - TAG_BYTES as u64),
            // Find out what is wrong, as when all chunks are read. The file stays refused.
            Err(Error::Authentication { .. } | Error::Incomplete { .. })
                if last > 0 && open(last - 1, SEALED_CHUNK_BYTES as u64).is_ok() =>
            {
                Err(Error::Trailing { chunk: last - 1 })
            }
            Err(error) => Err(error),
        }
    }
}

impl Format for Payload {
    fn direction(&self) -> Direction {
        self.direction
    }

    fn plain_bytes(&self) -> usize {
        CHUNK_BYTES
    }

    fn sealed_bytes(&self) -> usize {
        SEALED_CHUNK_BYTES
    }

    fn run(&self, run: &mut Run<'_>) -> Done {
        run.each(self, |number, is_last, chunk| match self.direction {
            Direction::Encrypt => self.seal(number, is_last, chunk),
            Direction::Decrypt => self.open(number, is_last, chunk),
        })
    }
}

fn nonce(number: u64, is_last: bool) -> [u8; 12] {
    let mut nonce = [0; 12];
    nonce[3..11].copy_from_slice(&number.to_be_bytes());
    nonce[11] = is_last.into();
    nonce
}
