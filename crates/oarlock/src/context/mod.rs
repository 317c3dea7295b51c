//! Ciphers for programs that set key and IV apart, change either at any time, copy a cipher in the
//! middle of a message and make many that live for a packet: the contexts of OpenSSL and its like.
//!
//! A context is one kernel and a position. It costs what the plain library's costs: nothing is
//! locked, asked or allocated to set a key. Only one that has served more than a few microseconds of
//! work, or gets a long request, opens a session, and with it all that sessions can do.

mod aead;
mod cbc;
mod spare;
mod stream;

pub use aead::AeadContext;
pub use cbc::CbcContext;
pub use stream::StreamContext;

use zeroize::Zeroize;

use crate::Error;
use crate::device::Operation;

#[cold]
fn no_key() -> Error {
    Error::InvalidInput("the context has no key: call set_key first".into())
}

/// A key of up to 32 bytes, kept for the session that may be opened and for copies. Wiped on drop.
#[derive(Default)]
struct KeyBytes {
    /// Words, which are wiped in fewer steps than bytes.
    words: [u128; 2],
    bytes: usize,
}

impl KeyBytes {
    /// Takes `key`, if it is as long as the operation's keys are.
    #[inline]
    fn set(&mut self, operation: Operation, key: &[u8]) -> Result<(), Error> {
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
    fn with<T>(&self, run: impl FnOnce(&[u8]) -> T) -> T {
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
