//! The key of a cipher whose key and position are set separately.

use zeroize::Zeroize;

use super::algorithm::Algorithm;
use crate::Error;

/// Checks the length of a key.
///
/// # Errors
/// [`Error::InvalidKey`], if `key` is not as long as the algorithm's keys are.
#[inline(always)]
pub(crate) fn check(algorithm: Algorithm, key: &[u8]) -> Result<(), Error> {
    if key.len() != algorithm.key_bytes() {
        return Err(wrong_length(algorithm, key.len()));
    }
    Ok(())
}

#[cold]
fn wrong_length(algorithm: Algorithm, bytes: usize) -> Error {
    Error::InvalidKey(format!(
        "a key of {algorithm} has {} bytes, this one has {bytes}",
        algorithm.key_bytes()
    ))
}

/// Turns a kernel's refusal of a key into an error.
#[cold]
pub(crate) fn refused(error: impl ToString) -> Error {
    Error::InvalidKey(error.to_string())
}

/// A key of up to 32 bytes, kept for a session that may be opened later. Wiped on drop.
#[derive(Default)]
pub(crate) struct KeyBytes {
    /// Words, which are copied and wiped in fewer steps than bytes.
    words: [u64; 4],
    bytes: usize,
}

impl KeyBytes {
    /// Stores `key`, which has passed [`check`].
    #[inline(always)]
    pub(crate) fn set(&mut self, key: &[u8]) {
        // Constant lengths: a loop would compile to a call of memcpy.
        if let Ok(key) = <&[u8; 16]>::try_from(key) {
            self.words[..2].copy_from_slice(&words::<16, 2>(key));
        } else if let Ok(key) = <&[u8; 24]>::try_from(key) {
            self.words[..3].copy_from_slice(&words::<24, 3>(key));
        } else if let Ok(key) = <&[u8; 32]>::try_from(key) {
            self.words = words(key);
        } else {
            let mut bytes = [0; 32];
            bytes[..key.len()].copy_from_slice(key);
            self.words = words(&bytes);
            bytes.zeroize();
        }
        self.bytes = key.len();
    }

    /// Calls `run` with the key.
    pub(crate) fn with<T>(&self, run: impl FnOnce(&[u8]) -> T) -> T {
        let mut bytes = self.words.map(u64::to_ne_bytes);
        let result = run(&bytes.as_flattened()[..self.bytes]);
        bytes.zeroize();
        result
    }
}

#[inline(always)]
fn words<const BYTES: usize, const WORDS: usize>(bytes: &[u8; BYTES]) -> [u64; WORDS] {
    let (words, _) = bytes.as_chunks();
    std::array::from_fn(|at| u64::from_ne_bytes(words[at]))
}

impl Drop for KeyBytes {
    #[inline]
    fn drop(&mut self) {
        self.words.zeroize();
    }
}
