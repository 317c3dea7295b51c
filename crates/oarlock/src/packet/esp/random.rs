//! Unpredictable IVs (RFC 3602, 2.1; SP 800-38A, appendix C).

use zeroize::Zeroize;

use super::suite::BLOCK_BYTES;
use crate::threads::process;

/// IVs for the next packets, fetched many at a time: each request to the generator takes as long as
/// hundreds of bytes.
pub(super) struct RandomIvs {
    bytes: Box<[u8; IVS_BYTES]>,
    used: usize,
    /// A child that was forked meanwhile takes none of its parent's.
    fork_generation: usize,
}

impl RandomIvs {
    pub(super) fn new() -> Self {
        process::watch_forks();
        Self {
            bytes: Box::new([0; IVS_BYTES]),
            used: IVS_BYTES,
            fork_generation: process::fork_generation(),
        }
    }

    #[inline]
    pub(super) fn next(&mut self) -> [u8; BLOCK_BYTES] {
        if self.used == IVS_BYTES || self.fork_generation != process::fork_generation() {
            self.fetch();
        }
        let (ivs, _) = self.bytes.as_chunks();
        let iv = ivs[self.used / BLOCK_BYTES];
        self.used += BLOCK_BYTES;
        iv
    }

    #[cold]
    fn fetch(&mut self) {
        fill(&mut self.bytes[..]);
        self.used = 0;
        self.fork_generation = process::fork_generation();
    }
}

impl Drop for RandomIvs {
    fn drop(&mut self) {
        self.bytes.zeroize();
    }
}

#[cfg(feature = "rsa")]
fn fill(bytes: &mut [u8]) {
    crate::aws_lc::rsa::fill_random(bytes);
}

#[cfg(not(feature = "rsa"))]
fn fill(bytes: &mut [u8]) {
    process::fill_random(bytes);
}

const IVS_BYTES: usize = 256 * BLOCK_BYTES;
