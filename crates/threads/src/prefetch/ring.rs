//! Keystream made ahead: the memory of a ring, and how it is filled and read.
//!
//! A ring is shared by its reader and the threads that fill it. The reader may be dropped at any time: the ring lives until
//! the last thread has left it, and is then wiped.
#![allow(unsafe_code)]

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
use std::time::{Duration, Instant};

use super::budget::Budget;
use super::slots::{Cursor, Slots};
use crate::pool::board::Background;

/// Computes the contents of granules.
pub trait Source: Send + Sync {
    /// Overwrites `granule`, the `index`-th from `base` on.
    fn make(&self, base: u128, index: u64, granule: &mut [u8]);
}

/// The dimensions of a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingSize {
    /// The unit in which the ring is filled and read.
    pub granule_bytes: usize,
    /// Granules in a stream.
    pub segment: usize,
    /// Streams, which are filled one after the other.
    pub streams: usize,
}

impl RingSize {
    /// Returns the size of the ring's memory, or `None` on overflow.
    #[inline]
    pub fn bytes(self) -> Option<usize> {
        self.granule_bytes
            .checked_mul(self.segment)?
            .checked_mul(self.streams)
    }
}

/// Memory for keystream, which helpers fill and one [`Reader`](super::Reader) reads.
pub struct Ring {
    slots: Slots,
    granule_bytes: usize,
    memory: Memory,
    source: Box<dyn Source>,
    /// Threads that fill the ring or are about to.
    fillers: AtomicUsize,
    closed: AtomicBool,
    budget: Arc<Budget>,
    /// The fork generation in which the ring took its memory from the budget.
    generation: u64,
}

// SAFETY: `memory` is the only part that is not Sync by itself. `Slots` hands each granule to one thread at a time for
// writing, and to the reader between writes.
unsafe impl Sync for Ring {}

impl Ring {
    /// Creates a ring; `None` if `budget` has no room for it under `bytes_max`.
    pub(super) fn new(
        size: RingSize,
        source: Box<dyn Source>,
        budget: &Arc<Budget>,
        bytes_max: usize,
    ) -> Option<Arc<Self>> {
        let bytes = size.bytes()?;
        let generation = budget.take(bytes, bytes_max)?;
        let Some(memory) = Memory::new(bytes) else {
            budget.give_back(bytes, generation);
            return None;
        };
        Some(Arc::new(Self {
            slots: Slots::new(size.segment * size.streams, size.segment),
            granule_bytes: size.granule_bytes,
            memory,
            source,
            fillers: AtomicUsize::new(0),
            closed: AtomicBool::new(false),
            budget: Arc::clone(budget),
            generation,
        }))
    }

    /// Returns the unit in which the ring is filled and read.
    #[inline]
    pub fn granule_bytes(&self) -> usize {
        self.granule_bytes
    }

    /// Returns the number of granules that the ring holds.
    #[inline]
    pub fn granules(&self) -> u64 {
        self.slots.count()
    }

    /// Returns the size of the ring's memory in bytes.
    pub fn bytes(&self) -> usize {
        self.memory.lines.len()
    }

    /// See [`Slots::restart`]. Only the reader calls it.
    pub(super) fn restart(&self, base: u128) -> u64 {
        self.slots.restart(base)
    }

    /// See [`Slots::claim`]. Only the reader calls it.
    #[inline]
    pub(super) fn claim(&self, end: u64) {
        self.slots.claim(end);
    }

    /// See [`Slots::release`]. Only the reader calls it.
    #[inline]
    pub(super) fn release(&self, end: u64) {
        self.slots.release(end);
    }

    /// Returns granule `number`, if it is ready.
    ///
    /// # Safety
    /// The caller is the reader; `number` is not released, and will not be while the slice lives.
    #[inline]
    pub(super) unsafe fn granule(&self, number: u64) -> Option<&[u8]> {
        if !self.slots.is_ready(number) {
            return None;
        }
        let granule = self.place(self.slots.slot(number));
        // SAFETY: the granule lies in the memory, which is initialized. It is ready and, as the caller promises, not
        // released: no helper takes its slot, so nobody writes to it.
        Some(unsafe { std::slice::from_raw_parts(granule, self.granule_bytes) })
    }

    /// Fills one granule; returns false if there is none to fill.
    ///
    /// # Panics
    /// Passes on a panic of the source. The slot then stays taken, and the ring is not filled any more.
    pub(crate) fn fill_one(&self, cursor: &mut Cursor) -> bool {
        if self.is_closed() {
            return false;
        }
        let Some(claim) = self.slots.next(cursor) else {
            return false;
        };
        let granule = self.place(claim.slot);
        // SAFETY: the granule lies in the memory, which is initialized. The claim makes this thread the only one that
        // accesses it.
        let granule = unsafe { std::slice::from_raw_parts_mut(granule, self.granule_bytes) };
        let closing = Closing(self);
        self.source.make(claim.base, claim.index, granule);
        std::mem::forget(closing);
        self.slots.publish(&claim);
        true
    }

    /// Returns the address where a slot begins.
    fn place(&self, slot: usize) -> *mut u8 {
        let start = slot * self.granule_bytes;
        assert!(start + self.granule_bytes <= self.bytes());
        // SAFETY: asserted to be within the allocation.
        unsafe { self.memory.lines.as_ptr().cast::<u8>().add(start) }
    }

    /// Fills granules for up to `budget`, or until there is none to fill. Returns how many it filled.
    pub fn fill_for(&self, budget: Duration) -> u64 {
        // `None` is beyond the range of the clock: no limit.
        let deadline = Instant::now().checked_add(budget);
        let mut cursor = Cursor::default();
        let mut filled = 0;
        while deadline.is_none_or(|deadline| Instant::now() < deadline)
            && self.fill_one(&mut cursor)
        {
            filled += 1;
        }
        filled
    }

    /// Whether another thread should fill the ring, in addition to those that do; if so, it is counted and the caller must
    /// provide it. Only the reader calls it.
    pub fn enlist(&self, fillers_max: usize) -> bool {
        if self.is_closed() || !self.slots.lacks(self.worthwhile()) {
            return false;
        }
        // Pairs with the fence in `leave`: either the filler sees what was released, or this thread sees that the filler has
        // left.
        fence(Ordering::SeqCst);
        let room = |fillers: usize| (fillers < fillers_max).then_some(fillers + 1);
        self.fillers
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, room)
            .is_ok()
    }

    /// Whether the ring has little keystream left. Only the reader calls it.
    #[inline]
    pub fn is_low(&self) -> bool {
        self.slots.lacks((self.slots.count() * 5 / 8).max(1))
    }

    /// Undoes [`enlist`](Self::enlist).
    pub(crate) fn dismiss(&self) {
        self.fillers.fetch_sub(1, Ordering::Relaxed);
    }

    /// Ends a filler that found nothing to fill. Returns false if there is work again and the filler must go on.
    fn leave(&self) -> bool {
        self.fillers.fetch_sub(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        if self.is_closed() || !self.slots.lacks(self.worthwhile()) {
            return true;
        }
        self.fillers.fetch_add(1, Ordering::Relaxed);
        false
    }

    /// Closes the ring, because the reader was dropped or the source has panicked.
    pub(super) fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
    }

    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    /// Returns the number of empty granules that justify another thread.
    fn worthwhile(&self) -> u64 {
        (self.slots.count() / 4).max(1)
    }
}

impl Background for Ring {
    fn work(&self, goes_on: &mut dyn FnMut() -> bool) -> bool {
        let mut cursor = Cursor::default();
        loop {
            while self.fill_one(&mut cursor) {
                if !goes_on() {
                    return true;
                }
            }
            if self.leave() {
                return false;
            }
            // The reader may have been preempted in the middle of a restart: until it resumes there is something to fill
            // that no helper can take.
            if !goes_on() {
                return true;
            }
        }
    }

    fn refused(&self) {
        self.dismiss();
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        self.budget.give_back(self.bytes(), self.generation);
    }
}

/// Closes the ring on drop, unless it is forgotten.
struct Closing<'a>(&'a Ring);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Zeroed memory, aligned to cache lines and wiped on drop.
struct Memory {
    lines: NonNull<[u8]>,
    layout: Layout,
}

// SAFETY: it owns the plain bytes that it points to.
unsafe impl Send for Memory {}

impl Memory {
    /// Returns `None` if no memory is available. `bytes` is not 0.
    fn new(bytes: usize) -> Option<Self> {
        let layout = Layout::from_size_align(bytes, LINE_BYTES).ok()?;
        // SAFETY: the layout has a size: a ring has at least one granule, of at least one byte.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        Some(Self {
            lines: NonNull::slice_from_raw_parts(start, bytes),
            layout,
        })
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        let bytes = self.lines.len();
        let start = self.lines.as_ptr().cast::<u8>();
        // SAFETY: `bytes` are allocated there, nobody else has them, and they are freed once, as
        // they were allocated.
        unsafe {
            std::ptr::write_bytes(start, 0, bytes);
            // Volatile writes of all of it take ten times as long; passing the address to an opaque function makes the
            // compiler keep them.
            std::hint::black_box(start);
            dealloc(start, self.layout);
        }
    }
}

const LINE_BYTES: usize = 64;
#[cfg(test)]
mod tests {
    use super::*;
    use crate::pool::{Limits, Pool, Scheduling};

    struct Zeros;

    impl Source for Zeros {
        fn make(&self, _: u128, _: u64, granule: &mut [u8]) {
            granule.fill(0);
        }
    }

    /// Works once, then panics.
    struct Broken(AtomicBool);

    impl Source for Broken {
        fn make(&self, _: u128, _: u64, granule: &mut [u8]) {
            assert!(!self.0.swap(true, Ordering::Relaxed), "it is broken");
            granule.fill(7);
        }
    }

    #[test]
    fn a_ring_whose_source_panics_is_filled_no_more_and_holds_no_filler() {
        let size = RingSize {
            granule_bytes: 64,
            segment: 4,
            streams: 2,
        };
        let source = Box::new(Broken(AtomicBool::new(false)));
        let ring = Ring::new(size, source, &Arc::default(), 512).unwrap();
        let first = ring.restart(0);
        let pool = Pool::new(Limits {
            min_threads: 0,
            max_threads: 1,
            spin: false,
            scheduling: Scheduling::Normal,
            is_guest: false,
            at_end: || (),
        });
        assert!(ring.enlist(1));
        pool.in_background(Arc::clone(&ring) as Arc<dyn Background>, true);
        oarlock_testing::until("its filler ends", || {
            ring.is_closed() && ring.fillers.load(Ordering::Relaxed) == 0
        });
        assert!(!ring.enlist(1));
        assert_eq!(ring.fill_for(Duration::MAX), 0);
        // The granule filled before is ready, and the others are not reported as ready.
        // SAFETY: this is the only consumer, and nothing is released.
        let ready = (0..8).filter(|index| unsafe { ring.granule(first + index).is_some() });
        assert_eq!(ready.count(), 1);
        // The helper is still there for others.
        pool.run(1, &|_| {});
        assert_eq!(pool.threads(), 1);
    }

    #[test]
    fn a_ring_of_one_granule_that_is_claimed_keeps_no_filler() {
        let size = RingSize {
            granule_bytes: 64,
            segment: 1,
            streams: 1,
        };
        let ring = Ring::new(size, Box::new(Zeros), &Arc::default(), 64).unwrap();
        let first = ring.restart(0);
        // The consumer is within the granule, and has computed its part of it.
        ring.claim(first + 1);
        assert!(!ring.enlist(1));
        // It continues into the next one while a filler is still on its way.
        ring.release(first + 1);
        assert!(ring.enlist(1));
        ring.claim(first + 2);
        assert!(!ring.work(&mut || true));
        assert_eq!(ring.fillers.load(Ordering::Relaxed), 0);
    }
}
