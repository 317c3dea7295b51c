//! The key of a cipher whose key and position are set apart.

use zeroize::Zeroize;

use super::algorithm::Operation;
use crate::Error;

#[cold]
pub(crate) fn no_key() -> Error {
    Error::InvalidInput("the context has no key: call set_key first".into())
}

/// A key of up to 32 bytes, kept for the session that may be opened and for copies. Wiped on drop.
#[derive(Default)]
pub(crate) struct KeyBytes {
    /// Words, which are wiped in fewer steps than bytes.
    words: [u128; 2],
    bytes: usize,
}

impl KeyBytes {
    /// Takes `key`, if it is as long as the operation's keys are.
    #[inline]
    pub(crate) fn set(&mut self, operation: Operation, key: &[u8]) -> Result<(), Error> {
        if key.len() != operation.key_bytes() {
            return Err(Error::InvalidKey(format!(
                "a key of {operation} has {} bytes, this one has {}",
                operation.key_bytes(),
                key.len()
            )));
        }
        let (head, tail) = key.split_at(key.len().min(16));
        self.words = [head, tail].map(|part| {
            let mut word = [0; 16];
            word[..part.len()].copy_from_slice(part);
            u128::from_ne_bytes(word)
        });
        self.bytes = key.len();
        Ok(())
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
