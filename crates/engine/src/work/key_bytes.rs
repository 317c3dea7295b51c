//! The key of a cipher whose key and position are set apart.

use zeroize::Zeroize;

use super::algorithm::Algorithm;
use crate::Error;

/// Makes a context that gets its key in the place where it stays, which is empty before and after an error.
/// One that is moved with its key leaves a copy of it behind, which nobody wipes.
#[inline(always)]
pub(crate) fn put<C>(
    place: &mut Option<C>,
    unkeyed: impl FnOnce() -> C,
    take_key: impl FnOnce(&mut C) -> Result<(), Error>,
) -> Result<(), Error> {
    // Not by `insert`, which would make it elsewhere and copy it.
    let taken = take_key(place.get_or_insert_with(unkeyed));
    if taken.is_err() {
        *place = None;
    }
    taken
}

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

/// What a kernel says of a key.
#[cold]
pub(crate) fn refused(error: impl ToString) -> Error {
    Error::InvalidKey(error.to_string())
}

/// A key of up to 32 bytes, kept for the session that may be opened and for copies. Wiped on drop.
#[derive(Default)]
pub(crate) struct KeyBytes {
    /// Words, which are wiped in fewer steps than bytes.
    words: [u128; 2],
    bytes: usize,
}

impl KeyBytes {
    /// Takes `key`, if it is as long as the algorithm's keys are.
    #[inline]
    pub(crate) fn set(&mut self, algorithm: Algorithm, key: &[u8]) -> Result<(), Error> {
        check(algorithm, key)?;
        let (head, tail) = key.split_at(key.len().min(16));
        self.words = [head, tail].map(|part| {
            let mut word = [0; 16];
            word[..part.len()].copy_from_slice(part);
            u128::from_ne_bytes(word)
        });
        self.bytes = key.len();
        Ok(())
    }

    /// Takes the key of another.
    #[inline]
    pub(crate) fn set_as(&mut self, other: &Self) {
        (self.words, self.bytes) = (other.words, other.bytes);
    }

    /// Lends the key.
    pub(crate) fn with<T>(&self, run: impl FnOnce(&[u8]) -> T) -> T {
        let mut bytes = [[0; 16]; 2];
        bytes[0] = self.words[0].to_ne_bytes();
        bytes[1] = self.words[1].to_ne_bytes();
        let result = run(&bytes.as_flattened()[..self.bytes]);
        bytes.zeroize();
        result
    }
}

impl Drop for KeyBytes {
    #[inline]
    fn drop(&mut self) {
        self.words.zeroize();
    }
}
