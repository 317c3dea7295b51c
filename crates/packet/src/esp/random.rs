//! Unpredictable IVs (RFC 3602, 2.1; SP 800-38A, appendix C).

use zeroize::Zeroize;

use super::suite::BLOCK_BYTES;
use oarlock_engine::fill_random;
use oarlock_threads::process;

/// IVs for the next packets, fetched many at a time: each request to the generator takes as long as
/// hundreds of bytes.
pub(super) struct RandomIvs {
    ivs: Vec<[u8; BLOCK_BYTES]>,
    used: usize,
    /// The process that fetched the IVs: a child that was forked since then does not use its parent's.
    fork_generation: usize,
}

impl RandomIvs {
    pub(super) fn new() -> Self {
        process::watch_forks();
        Self {
            ivs: vec![[0; BLOCK_BYTES]; FETCHED],
            used: FETCHED,
            fork_generation: process::fork_generation(),
        }
    }

    /// The next `count`, which nobody has had.
    pub(super) fn take(&mut self, count: usize) -> &[[u8; BLOCK_BYTES]] {
        let is_inherited = self.fork_generation != process::fork_generation();
        if is_inherited || self.ivs.len() - self.used < count {
            self.fetch(count);
        }
        let taken = &self.ivs[self.used..][..count];
        self.used += count;
        taken
    }

    #[cold]
    fn fetch(&mut self, count: usize) {
        if self.ivs.len() < count {
            self.ivs.zeroize();
            self.ivs = vec![[0; BLOCK_BYTES]; count];
        }
        fill_random(self.ivs.as_flattened_mut());
        self.used = 0;
        self.fork_generation = process::fork_generation();
    }
}

impl Drop for RandomIvs {
    fn drop(&mut self) {
        self.ivs.zeroize();
    }
}

/// At least: 4 KiB.
const FETCHED: usize = 256;
