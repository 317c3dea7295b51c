//! Keystream at any position.

use inout::InOutBuf;

/// A key that makes keystream at any position, for any thread.
pub(crate) trait Keystream: Send + Sync {
    /// XORs keystream onto `data`, from byte `skip` of the block at `counter` on.
    fn apply(&self, counter: u128, skip: usize, data: InOutBuf<'_, '_, u8>);
}
