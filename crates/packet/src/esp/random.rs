//! Unpredictable IVs (RFC 3602, 2.1; SP 800-38A, appendix C).

use zeroize::Zeroize;

use super::suite::BLOCK_BYTES;
use oarlock_engine::fill_random;
use oarlock_threads::process;

/// IVs for the next packets, fetched many at once: a call of the generator takes as long as hundreds of its bytes.
pub(super) struct RandomIvs {
    ivs: Vec<[u8; BLOCK_BYTES]>,
    used: usize,
    /// The process that fetched the IVs. A forked child must not use its parent's.
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

    /// Returns `count` IVs that have not been used.
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

/// The fewest IVs to fetch: 4 KiB.
const FETCHED: usize = 256;
