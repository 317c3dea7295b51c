//! What kernels see of the requests of a batch ([`crate::batch`]).

use inout::InOutBuf;

use crate::aes::Backend;
use crate::key::{BLOCK_BYTES, KeySize, Schedule};

/// Data under a key of AES.
pub(crate) trait Request {
    fn schedule(&self) -> &Schedule;
    fn bytes(&self) -> usize;
    fn data(&mut self) -> InOutBuf<'_, '_, u8>;

    /// Whether there is anything to do under a key of this size.
    #[inline(always)]
    fn fits(&self, size: KeySize) -> bool {
        self.schedule().size == size && self.bytes() > 0
    }
}

/// A request that chains from block to block.
pub(crate) trait Chained: Request {
    /// The ciphertext block before the next.
    fn chain(&mut self) -> &mut [u8; BLOCK_BYTES];
    /// What the kernel for one stream takes.
    fn parts(&mut self) -> (&Schedule, &mut [u8; BLOCK_BYTES], InOutBuf<'_, '_, u8>);
}

/// A request in counter mode.
pub(crate) trait Counted: Request {
    /// The first counter block.
    fn counter(&self) -> u128;
    /// Whether the low 32 bits of its counter do not wrap.
    fn is_one_run(&self) -> bool;
    /// Applies keystream by the kernel for one.
    fn apply_alone(&mut self, backend: Backend);
}
