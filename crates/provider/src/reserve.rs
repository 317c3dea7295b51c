//! Memory for when the C library has none.
//!
//! A Rust program aborts when an allocation fails, but this library must not abort a program that is not its own:
//! OpenSSL reports that memory is short and continues. Large allocations (rings, threads, messages) are fallible, and
//! the code does without them. Many small ones remain: a context, a handle, an entry of a list. If the C library
//! refuses one of them, it comes from a reserve inside this library, which takes addresses, but no memory until it is
//! used (.bss).
//!
//! ```text
//! 64 slots of  256 bytes   handles, nodes, entries
//! 64 slots of 4096 bytes   contexts, keys, lists
//! ```
//!
//! One bit of a word represents each slot, so taking and returning a slot needs no lock and works after a fork. When no
//! slot is left, the allocation fails as it would without the reserve.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::UnsafeCell;
use std::ptr::{copy_nonoverlapping, null_mut, write_bytes};
use std::sync::atomic::{AtomicU64, Ordering};

#[global_allocator]
static ALLOCATOR: Reserved<System> = Reserved::new(System);

/// An allocator with a reserve for small requests that it refuses.
struct Reserved<A> {
    allocator: A,
    small: Slots<256>,
    large: Slots<4096>,
}

/// Slots of `BYTES` bytes, a multiple of [`ALIGNMENT`].
struct Slots<const BYTES: usize> {
    /// One bit for each slot in use.
    taken: AtomicU64,
    memory: UnsafeCell<[Slot<BYTES>; SLOTS]>,
}

#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Slot<const BYTES: usize>([u8; BYTES]);

// SAFETY: `memory` is only handed out, each slot to one owner at a time: the thread that has set its bit in `taken`.
unsafe impl<const BYTES: usize> Sync for Slots<BYTES> {}

impl<A> Reserved<A> {
    const fn new(allocator: A) -> Self {
        Self {
            allocator,
            small: Slots::new(),
            large: Slots::new(),
        }
    }

    /// Takes a slot. Returns null if none is free.
    fn take(&self, layout: Layout) -> *mut u8 {
        let slot = self.small.take(layout);
        if slot.is_null() {
            self.large.take(layout)
        } else {
            slot
        }
    }

    /// Returns the size of the slot at an address; `None` if no slot is there.
    fn room(&self, address: *mut u8) -> Option<usize> {
        if self.small.place(address).is_some() {
            Some(256)
        } else {
            self.large.place(address).map(|_| 4096)
        }
    }

    /// Returns a slot. Returns whether `address` was a slot's.
    ///
    /// # Safety
    /// If it is, the caller owns the slot and no longer uses it.
    unsafe fn give(&self, address: *mut u8) -> bool {
        // SAFETY: the caller owns the slot, if it is one, and no longer uses it.
        unsafe { self.small.give(address) || self.large.give(address) }
    }
}

// SAFETY: memory comes from the allocator, or is a slot that has the size and the alignment and no other owner until it
// is returned. The address tells which: slots lie in `self`, which the allocator cannot hand out. Nothing here panics.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Reserved<A> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the layout is the caller's, whose duties are the same as here.
        let memory = unsafe { self.allocator.alloc(layout) };
        if memory.is_null() {
            self.take(layout)
        } else {
            memory
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the layout is the caller's, whose duties are those of `alloc_zeroed`.
        let memory = unsafe { self.allocator.alloc_zeroed(layout) };
        if !memory.is_null() {
            return memory;
        }
        let slot = self.take(layout);
        if !slot.is_null() {
            // SAFETY: the slot is as long as the layout and has no other owner.
            unsafe { write_bytes(slot, 0, layout.size()) };
        }
        slot
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller returns what it owns; if that is no slot, the allocator made it.
        unsafe {
            if !self.give(memory) {
                self.allocator.dealloc(memory, layout);
            }
        }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        let room = self.room(memory);
        if room.is_some_and(|room| bytes <= room) {
            return memory;
        }
        // SAFETY: the caller's duties are those of `realloc`: `bytes` rounded up to the alignment does not overflow,
        // and is not 0. What is not in a slot is the allocator's.
        unsafe {
            if room.is_none() {
                let moved = self.allocator.realloc(memory, layout, bytes);
                if !moved.is_null() {
                    return moved;
                }
            }
            let wanted = Layout::from_size_align_unchecked(bytes, layout.align());
            let moved = match room {
                Some(_) => self.alloc(wanted),
                None => self.take(wanted),
            };
            if !moved.is_null() {
                // The old memory is as long as its layout, the new memory has `bytes` bytes, and the two are disjoint.
                copy_nonoverlapping(memory, moved, bytes.min(layout.size()));
                self.dealloc(memory, layout);
            }
            moved
        }
    }
}

impl<const BYTES: usize> Slots<BYTES> {
    const fn new() -> Self {
        Self {
            taken: AtomicU64::new(0),
            memory: UnsafeCell::new([Slot([0; BYTES]); SLOTS]),
        }
    }

    fn take(&self, layout: Layout) -> *mut u8 {
        if layout.size() > BYTES || layout.align() > ALIGNMENT {
            return null_mut();
        }
        // Acquire: the last owner's accesses to the slot happen before this.
        let taken = self
            .taken
            .fetch_update(Ordering::Acquire, Ordering::Relaxed, |taken| {
                (taken != u64::MAX).then(|| taken | (taken + 1))
            });
        match taken {
            Ok(before) => {
                let place = before.trailing_ones() as usize;
                self.first().wrapping_add(place * BYTES)
            }
            Err(_) => null_mut(),
        }
    }

    /// Returns the number of the slot that contains an address.
    fn place(&self, address: *mut u8) -> Option<usize> {
        let offset = (address as usize).wrapping_sub(self.first() as usize);
        (offset < SLOTS * BYTES).then_some(offset / BYTES)
    }

    /// Returns a slot. Returns whether `address` was one of its slots.
    ///
    /// # Safety
    /// If it was, the caller owns that slot and no longer uses it.
    unsafe fn give(&self, address: *mut u8) -> bool {
        let Some(place) = self.place(address) else {
            return false;
        };
        // Release: the owner's accesses to the slot happen before those of its next owner.
        self.taken.fetch_and(!(1 << place), Ordering::Release);
        true
    }

    fn first(&self) -> *mut u8 {
        self.memory.get().cast()
    }
}

/// The number of slots of each kind: the bits of a word.
const SLOTS: usize = 64;
/// The alignment of a slot: that of the widest register.
const ALIGNMENT: usize = 64;

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;
    use std::thread;

    use super::*;

    /// The C library's allocator, until it has no more memory.
    struct Failing {
        is_spent: AtomicBool,
    }

    // SAFETY: it is `System`, or refuses.
    unsafe impl GlobalAlloc for Failing {
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            if self.is_spent.load(Ordering::Relaxed) {
                return null_mut();
            }
            // SAFETY: the layout is the caller's, whose duties are those of `System`.
            unsafe { System.alloc(layout) }
        }

        unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
            // SAFETY: memory and layout are the caller's, whose duties are the same.
            unsafe { System.dealloc(memory, layout) }
        }
    }

    fn spent() -> Box<Reserved<Failing>> {
        let is_spent = AtomicBool::new(true);
        Box::new(Reserved::new(Failing { is_spent }))
    }

    fn layout(bytes: usize) -> Layout {
        Layout::from_size_align(bytes, 16).unwrap()
    }

    /// Takes everything that a reserve has, and fills each slot with its number.
    fn exhaust(reserve: &Reserved<Failing>, layout: Layout) -> Vec<*mut u8> {
        let mut slots = Vec::new();
        loop {
            // SAFETY: no layout of these tests is empty.
            let slot = unsafe { reserve.alloc(layout) };
            if slot.is_null() {
                return slots;
            }
            // SAFETY: the slot was allocated, as long as the layout.
            unsafe { write_bytes(slot, slots.len() as u8, layout.size()) };
            slots.push(slot);
        }
    }

    /// Whether every byte still has the number.
    fn holds(slot: *mut u8, bytes: usize, number: u8) -> bool {
        // SAFETY: the callers allocated and filled the slot.
        let slot = unsafe { std::slice::from_raw_parts(slot, bytes) };
        slot.iter().all(|byte| *byte == number)
    }

    #[test]
    fn nothing_is_taken_while_there_is_memory() {
        let reserve = Reserved::new(System);
        for bytes in [1, 256, 4096, 100_000] {
            // SAFETY: the memory is returned as it was taken.
            unsafe {
                let memory = reserve.alloc(layout(bytes));
                assert!(reserve.room(memory).is_none());
                let memory = reserve.realloc(memory, layout(bytes), 2 * bytes);
                assert!(reserve.room(memory).is_none());
                reserve.dealloc(memory, layout(2 * bytes));
            }
        }
    }

    #[test]
    fn slots_are_apart_and_come_back() {
        for (bytes, count) in [(1, 128), (256, 128), (257, 64), (4096, 64), (4097, 0)] {
            let reserve = spent();
            for _ in 0..3 {
                let slots = exhaust(&reserve, layout(bytes));
                assert_eq!(slots.len(), count, "{bytes}");
                for (number, slot) in slots.iter().enumerate() {
                    assert!(holds(*slot, bytes, number as u8), "{bytes}");
                    assert_eq!(*slot as usize % ALIGNMENT, 0);
                }
                // SAFETY: these slots were allocated, and each is returned once.
                let give = |slot: &*mut u8| unsafe { reserve.dealloc(*slot, layout(bytes)) };
                // A slot that is returned from the middle is the next to be taken.
                if let Some(slot) = slots.get(count / 3) {
                    give(slot);
                    assert_eq!(exhaust(&reserve, layout(bytes)), [*slot]);
                }
                slots.iter().for_each(give);
            }
        }
    }

    #[test]
    fn what_needs_more_than_a_slot_is_refused() {
        let reserve = spent();
        let wide = Layout::from_size_align(64, 2 * ALIGNMENT).unwrap();
        assert!(exhaust(&reserve, wide).is_empty());
        assert!(exhaust(&reserve, layout(usize::MAX / 4)).is_empty());
    }

    #[test]
    fn zeros_are_zeros_in_a_slot_that_was_used() {
        let reserve = spent();
        let slots = exhaust(&reserve, layout(256));
        // SAFETY: the slots are returned once, and zeroed ones taken for them.
        unsafe {
            for slot in &slots {
                reserve.dealloc(*slot, layout(256));
            }
            for _ in &slots {
                assert!(holds(reserve.alloc_zeroed(layout(200)), 200, 0));
            }
        }
    }

    #[test]
    fn what_grows_keeps_what_it_holds() {
        let reserve = spent();
        // SAFETY: each step continues with the result of the one before.
        unsafe {
            let memory = reserve.alloc(layout(100));
            write_bytes(memory, 7, 100);
            // Within its slot, and into a larger one.
            assert_eq!(reserve.realloc(memory, layout(100), 256), memory);
            let moved = reserve.realloc(memory, layout(256), 2000);
            assert_eq!(reserve.room(moved), Some(4096));
            assert!(holds(moved, 100, 7));
            // No slot is large enough for more; the memory stays as it was.
            assert!(reserve.realloc(moved, layout(2000), 8000).is_null());
            assert!(holds(moved, 100, 7));
            // To the allocator, which has memory again, and back to a slot when it has none.
            reserve.allocator.is_spent.store(false, Ordering::Relaxed);
            let outside = reserve.realloc(moved, layout(2000), 8000);
            assert_eq!(reserve.room(outside), None);
            reserve.allocator.is_spent.store(true, Ordering::Relaxed);
            let inside = reserve.realloc(outside, layout(8000), 50);
            assert_eq!(reserve.room(inside), Some(256));
            assert!(holds(inside, 50, 7));
            reserve.dealloc(inside, layout(50));
        }
        assert_eq!(exhaust(&reserve, layout(1)).len(), 128, "all is back");
    }

    #[test]
    fn threads_never_share_a_slot() {
        let reserve = &*spent();
        let work = |number: u8| {
            let mut held: Vec<(*mut u8, usize)> = Vec::new();
            for round in 0..20_000_usize {
                let bytes = 1 + round * 37 % 4096;
                // SAFETY: what was allocated is filled, checked, and returned once.
                unsafe {
                    let slot = reserve.alloc(layout(bytes));
                    if !slot.is_null() {
                        write_bytes(slot, number, bytes);
                        held.push((slot, bytes));
                    }
                    // The other threads may have all slots.
                    if !held.is_empty() && (slot.is_null() || held.len() > 40) {
                        let (slot, bytes) = held.remove(round % held.len());
                        assert!(holds(slot, bytes, number));
                        reserve.dealloc(slot, layout(bytes));
                    }
                }
            }
            for (slot, bytes) in held {
                // SAFETY: the slot was allocated with this layout, and is returned once.
                unsafe { reserve.dealloc(slot, layout(bytes)) };
            }
        };
        thread::scope(|scope| {
            for number in 1..=4 {
                let work = &work;
                scope.spawn(move || work(number));
            }
        });
        assert_eq!(exhaust(reserve, layout(1)).len(), 128, "all is back");
    }
}
