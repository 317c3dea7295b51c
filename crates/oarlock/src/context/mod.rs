//! Ciphers for programs that set key and IV apart, change either at any time, copy a cipher in the
//! middle of a message and make many that live for a packet: the contexts of OpenSSL and its like.
//!
//! A context is one kernel and a position. It costs what the plain library's costs: nothing is
//! locked, asked or allocated to set a key. Only one that has served more than a few microseconds of
//! work, or gets a long request, opens a session, and with it all that sessions can do.

mod aead;
mod cbc;
mod stream;

pub use aead::AeadContext;
pub use cbc::CbcContext;
pub use stream::StreamContext;

use zeroize::Zeroizing;

use crate::Error;
use crate::device::Operation;

/// A key of up to 32 bytes, kept for the session that may be opened and for copies.
type KeyBytes = Zeroizing<[u8; 32]>;

/// `key` in a place of its own, if it is as long as the operation's keys are.
fn key_bytes(operation: Operation, key: &[u8]) -> Result<KeyBytes, Error> {
    if key.len() != operation.key_bytes() {
        return Err(Error::InvalidKey(format!(
            "a key of {operation} has {} bytes, this one has {}",
            operation.key_bytes(),
            key.len()
        )));
    }
    let mut bytes = Zeroizing::new([0; 32]);
    bytes[..key.len()].copy_from_slice(key);
    Ok(bytes)
}
