//! The reading side of a ring.
#![allow(unsafe_code)]

use std::sync::Arc;

use super::budget::Budget;
use super::ring::{Ring, RingSize, Source};

/// The only reader of a ring. Dropping it closes the ring.
pub struct Reader {
    ring: Arc<Ring>,
    /// The first granule that has not been released.
    released: u64,
}

impl Reader {
    /// Creates a ring and its reader; `None` if `budget` has no room for it under `bytes_max`.
    pub fn new(
        size: RingSize,
        source: Box<dyn Source>,
        budget: &Arc<Budget>,
        bytes_max: usize,
    ) -> Option<Self> {
        let ring = Ring::new(size, source, budget, bytes_max)?;
        // Nothing has been released and nothing filled: `restart` begins an epoch.
        let released = ring.granules();
        Some(Self { ring, released })
    }

    /// Returns the ring, for the threads that fill it.
    #[inline]
    pub fn ring(&self) -> &Arc<Ring> {
        &self.ring
    }

    /// Begins an epoch at `base` and returns the number of its first granule.
    pub fn restart(&mut self, base: u128) -> u64 {
        self.released = self.ring.restart(base);
        self.released
    }

    /// Announces a request that ends before granule `end`: helpers skip the granules before it.
    #[inline]
    pub fn claim(&self, end: u64) {
        self.ring.claim(end);
    }

    /// Returns granule `number`, if it is ready and has not been released.
    #[inline]
    pub fn granule(&self, number: u64) -> Option<&[u8]> {
        if number < self.released {
            return None;
        }
        // SAFETY: `new` created the ring and gave it no other reader; the number is not released, and cannot be while the
        // slice lives, since `release` and `restart` borrow the reader mutably.
        unsafe { self.ring.granule(number) }
    }

    /// Releases the granules before `end` to be filled again.
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
