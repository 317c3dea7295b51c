//! Reading a ring.
#![allow(unsafe_code)]

use std::sync::Arc;

use super::budget::Budget;
use super::ring::{Ring, RingSize, Source};

/// The one reader of a ring. It closes the ring when it goes.
pub struct Reader {
    ring: Arc<Ring>,
    /// The first granule that is not released.
    released: u64,
}

impl Reader {
    /// Makes a reader of a new ring; `None` when `budget` has no room for it under `bytes_max`.
    pub fn new(
        size: RingSize,
        source: Box<dyn Source>,
        budget: &Arc<Budget>,
        bytes_max: usize,
    ) -> Option<Self> {
        let ring = Ring::new(size, source, budget, bytes_max)?;
        // Nothing has been released, and nothing made: an epoch begins with `restart`.
        let released = ring.granules();
        Some(Self { ring, released })
    }

    /// Returns the ring, for the threads that fill it.
    #[inline]
    pub fn ring(&self) -> &Arc<Ring> {
        &self.ring
    }

    /// Begins an epoch at `base`; returns the number of its first granule.
    pub fn restart(&mut self, base: u128) -> u64 {
        self.released = self.ring.restart(base);
        self.released
    }

    /// Announces a request that ends before granule `end`: helpers keep off what is before.
    #[inline]
    pub fn claim(&self, end: u64) {
        self.ring.claim(end);
    }

    /// Granule `number`, if it is ready and not released.
    #[inline]
    pub fn granule(&self, number: u64) -> Option<&[u8]> {
        if number < self.released {
            return None;
        }
        // SAFETY: `new` made the ring and gave it no other reader; the number is not released, and
        // cannot be while the slice lives, since `release` and `restart` borrow the reader mutably.
        unsafe { self.ring.granule(number) }
    }

    /// The granules before `end` are done with.
    #[inline]
    pub fn release(&mut self, end: u64) {
        self.released = self.released.max(end);
        self.ring.release(self.released);
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.ring.close();
    }
}
