//! Limits the memory of one accelerator's rings.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::process;

/// The memory that the rings of one accelerator have taken. A forked child counts from zero: the threads that would release
/// its parent's rings do not exist there.
#[derive(Debug, Default)]
pub struct Budget {
    /// The fork generation above [`BYTES_BITS`], and below it the bytes taken in that generation. They share one word, so
    /// that no thread of a child resets the count after another has taken from it.
    taken: AtomicU64,
}

impl Budget {
    /// Returns the bytes taken now.
    pub fn taken(&self) -> usize {
        bytes_of(generation(), self.taken.load(Ordering::Relaxed)) as usize
    }

    /// Takes `bytes` and returns the generation to give them back in; `None` if the sum would exceed `most`.
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

/// Returns the bytes in `taken`, the value of a [`Budget`], that belong to this generation.
fn bytes_of(generation: u64, taken: u64) -> u64 {
    if taken >> BYTES_BITS == generation {
        taken & BYTES_MAX
    } else {
        0
    }
}

/// Returns the low bits of this process's fork generation, as [`Budget`] keeps them.
fn generation() -> u64 {
    process::fork_generation() as u64 & (u64::MAX >> BYTES_BITS)
}

/// Enough for 256 TiB, more than the memory of any machine; the upper bits hold the generation.
const BYTES_BITS: u32 = 48;
const BYTES_MAX: u64 = (1 << BYTES_BITS) - 1;
