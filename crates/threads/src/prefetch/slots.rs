//! Which thread may access which part of a ring of keystream, and when: the protocol without the memory.
//! model/tests/model.rs checks it with loom.
//!
//! A ring has slots, each for one granule of keystream. Granules are numbered through the ring's whole life, so a number is
//! never used for two contents; granule n goes to slot n mod slots.
//!
//! ```text
//! consumer   restart(base)     a new IV: continue the numbers beyond all that could have been asked for so
//!                              far, which makes every granule that is ready or being filled stale
//!            claim(end)        helpers must skip what is before `end`: the request will be there
//!            is_ready(n)       granule n may be read until it is released; if not, compute it inline
//!            release(end)      slots of granules before `end` may be filled again
//! helper     next()            takes a slot: by compare-and-swap, from an older granule that is released
//!            publish(claim)    the granule may be read
//! ```
//!
//! The consumer never waits: each of its steps is a handful of loads and stores. A helper that a restart left behind fills a
//! slot with a stale granule, and only a slot whose tag is older: it never touches granules of the new epoch.
//!
//! Order of filling: granules of the segments beyond the consumer's, from the front; then those of the segment that the
//! consumer is in, from the back. So a consumer that has caught up and computes inline meets a helper once a segment, not at
//! every granule.

use crate::pool::sync::{AtomicU64, Ordering, fence};

pub(crate) struct Slots {
    /// The number of the granule in each slot, and whether it is being filled.
    tags: Box<[AtomicU64]>,
    segment: u64,
    /// The first granule of this epoch; [`RESTARTING`] while the base changes.
    first: AtomicU64,
    base: [AtomicU64; 2],
    /// The first granule that helpers may fill.
    claimed: AtomicU64,
    /// The first granule that has not been released.
    released: AtomicU64,
}

/// A slot that a helper holds.
pub(crate) struct Claim {
    number: u64,
    /// The slot's number.
    pub slot: usize,
    /// The position at which the epoch began.
    pub base: u128,
    /// The distance of the granule from `base`, in granules.
    pub index: u64,
}

/// The place where a helper continues its search.
#[derive(Default)]
pub(crate) struct Cursor {
    first: u64,
    next: u64,
}

impl Slots {
    /// Creates slots; `slots` is a multiple of `segment`.
    pub(crate) fn new(slots: usize, segment: usize) -> Self {
        Self {
            // No tag is newer than the first granule, which has number `slots`.
            tags: (0..slots).map(|_| AtomicU64::new(0)).collect(),
            segment: segment as u64,
            first: AtomicU64::new(slots as u64),
            base: [const { 0 }; 2].map(AtomicU64::new),
            claimed: AtomicU64::new(slots as u64),
            released: AtomicU64::new(slots as u64),
        }
    }

    #[inline]
    pub(crate) fn count(&self) -> u64 {
        self.tags.len() as u64
    }

    #[inline]
    pub(crate) fn slot(&self, number: u64) -> usize {
        (number % self.count()) as usize
    }

    /// Begins an epoch at `base` and returns the number of its first granule. Only the consumer calls it.
    pub(crate) fn restart(&self, base: u128) -> u64 {
        // Any granule that a helper may have taken is before this.
        let first = self.released.load(Ordering::Relaxed) + self.count();
        self.first.store(RESTARTING, Ordering::Relaxed);
        // A reader that sees a new half of the base also sees that it is changing (Boehm, "Can Seqlocks Get Along With
        // Programming Language Memory Models?", MSPC 2012).
        fence(Ordering::Release);
        self.base[0].store(base as u64, Ordering::Relaxed);
        self.base[1].store((base >> 64) as u64, Ordering::Relaxed);
        self.claimed.store(first, Ordering::Relaxed);
        // Release: the consumer no longer reads anything of the old epoch.
        self.released.store(first, Ordering::Release);
        self.first.store(first, Ordering::Release);
        first
    }

    /// Announces a request that ends before granule `end`. Only the consumer calls it.
    #[inline]
    pub(crate) fn claim(&self, end: u64) {
        self.claimed.store(end, Ordering::Relaxed);
    }

    /// Whether granule `number`, which is not released, may be read. Only the consumer calls it.
    #[inline]
    pub(crate) fn is_ready(&self, number: u64) -> bool {
        // Acquire: the helper's writes are visible.
        self.tags[self.slot(number)].load(Ordering::Acquire) == ready(number)
    }

    /// Releases the granules before `end`. Only the consumer calls it.
    #[inline]
    pub(crate) fn release(&self, end: u64) {
        // Release: the consumer's reads come before a helper's writes.
        self.released.store(end, Ordering::Release);
    }

    /// Takes a slot to fill; `None` if there is none for now. A helper calls it, and keeps `cursor`.
    pub(crate) fn next(&self, cursor: &mut Cursor) -> Option<Claim> {
        let first = self.first.load(Ordering::Acquire);
        let base = u128::from(self.base[1].load(Ordering::Relaxed)) << 64
            | u128::from(self.base[0].load(Ordering::Relaxed));
        let claimed = self.claimed.load(Ordering::Relaxed);
        let released = self.released.load(Ordering::Acquire);
        fence(Ordering::Acquire);
        if first == RESTARTING || self.first.load(Ordering::Relaxed) != first {
            return None;
        }
        // `claimed` is of another epoch only if the consumer is far ahead: then there is nothing to do.
        let claimed = claimed.max(first);
        let end = released.max(first) + self.count();
        let segment_end = first + ((claimed - first) / self.segment + 1) * self.segment;
        if cursor.first != first {
            *cursor = Cursor { first, next: 0 };
        }
        let from = cursor.next.max(segment_end);
        let take = |number| self.take(number).then_some(number);
        let number = (from..end).find_map(take).or_else(|| {
            let left_behind = (segment_end..from.min(end)).find_map(take);
            left_behind.or_else(|| (claimed..segment_end.min(end)).rev().find_map(take))
        })?;
        if number >= segment_end {
            cursor.next = number + 1;
        }
        Some(Claim {
            number,
            slot: self.slot(number),
            base,
            index: number - first,
        })
    }

    /// Takes the slot of granule `number` from an older granule.
    fn take(&self, number: u64) -> bool {
        let tag = &self.tags[self.slot(number)];
        let seen = tag.load(Ordering::Relaxed);
        // The slot holds this or a newer granule, or another helper is filling it.
        if is_filling(seen) || seen >= ready(number) {
            return false;
        }
        // Acquire: this comes after the previous helper's writes. `released` shows that the consumer has read them: the
        // older granule is at least `count` before this one.
        tag.compare_exchange(seen, filling(number), Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }

    /// Marks the granule of `claim` as ready.
    pub(crate) fn publish(&self, claim: &Claim) {
        self.tags[claim.slot].store(ready(claim.number), Ordering::Release);
    }

    /// Whether the last `wanted` slots are released and not refilled, as far as the consumer can tell cheaply.
    #[inline]
    pub(crate) fn lacks(&self, wanted: u64) -> bool {
        let number = self.released.load(Ordering::Relaxed) + self.count() - wanted;
        // A helper skips claimed granules: in a ring of one slot that may be all there is, and a helper that was called for
        // it would search forever.
        if number < self.claimed.load(Ordering::Relaxed) {
            return false;
        }
        let seen = self.tags[self.slot(number)].load(Ordering::Relaxed);
        seen < ready(number) && !is_filling(seen)
    }
}

const RESTARTING: u64 = u64::MAX;

const fn ready(number: u64) -> u64 {
    number << 1
}

const fn filling(number: u64) -> u64 {
    number << 1 | 1
}

const fn is_filling(tag: u64) -> bool {
    tag & 1 == 1
}
