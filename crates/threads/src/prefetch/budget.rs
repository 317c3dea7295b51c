//! How much memory the rings of one accelerator may take.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::process;

/// Memory that rings of one accelerator may take, and what they have taken. A forked child counts from zero: the
/// threads that would release its parent's rings are not there.
#[derive(Debug, Default)]
pub struct Budget {
    /// Above [`BYTES_BITS`]: the fork generation that the bytes, below, are taken in. In one word,
    /// so that of two threads of a child none begins after the other has taken.
    taken: AtomicU64,
}

impl Budget {
    /// Bytes taken now.
    pub fn taken(&self) -> usize {
        bytes_of(generation(), self.taken.load(Ordering::Relaxed)) as usize
    }

    /// Returns the generation to give them back in; `None` where that would be more than `most`.
    pub(super) fn take(&self, bytes: usize, most: usize) -> Option<u64> {
        let generation = generation();
        let most = (most as u64).min(BYTES_MAX);
        let room = |taken| {
            let sum = bytes_of(generation, taken).checked_add(bytes as u64);
            let sum = sum.filter(|sum| *sum <= most)?;
            Some(generation << BYTES_BITS | sum)
        };
        self.taken
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, room)
            .is_ok()
            .then_some(generation)
    }

    pub(super) fn give_back(&self, bytes: usize, generation: u64) {
        let less = |taken| {
            let is_ours = taken >> BYTES_BITS == generation;
            is_ours.then(|| taken - bytes as u64)
        };
        let _ = self
            .taken
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }
}

/// Returns the bytes of `taken`, the value of a [`Budget`], that belong to this generation.
fn bytes_of(generation: u64, taken: u64) -> u64 {
    if taken >> BYTES_BITS == generation {
        taken & BYTES_MAX
    } else {
        0
    }
}

/// Returns the fork generation of this process, as far as [`Budget`] keeps it.
fn generation() -> u64 {
    process::fork_generation() as u64 & (u64::MAX >> BYTES_BITS)
}

/// 256 TiB, more than any machine has memory; the rest is for generations.
const BYTES_BITS: u32 = 48;
const BYTES_MAX: u64 = (1 << BYTES_BITS) - 1;
