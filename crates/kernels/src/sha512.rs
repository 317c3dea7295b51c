//! The compression of SHA-512 and SHA-384 (FIPS 180-4, section 6.4.2) for one message.

#[cfg(debug_assertions)]
#[doc(hidden)]
pub use crate::dispatch::sha512 as dispatch;
use crate::x86_64::{Avx2, sha512};

/// Absorbs whole blocks of one message into the state, on CPUs with AVX2 and BMI2.
#[derive(Clone, Copy, Debug)]
pub struct Compression(Avx2);

impl Compression {
    /// Creates the compression for a CPU with AVX2.
    pub const fn new(token: Avx2) -> Self {
        Self(token)
    }

    /// Absorbs `blocks` into `state`, in a time that depends only on their number.
    #[inline]
    pub fn absorb(self, state: &mut [u64; 8], blocks: &[[u8; BLOCK_BYTES]]) {
        sha512::absorb(self.0, state, blocks);
    }
}

/// The length in bytes of a block.
pub const BLOCK_BYTES: usize = 128;
