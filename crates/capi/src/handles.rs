//! Handles: numbers that represent objects.
//!
//! A program gets them as pointers to incomplete types, so that its compiler tells one kind from another. They are never
//! dereferenced. The lowest 24 bits are the index of a slot in a table; the others are a tag: the kind of the object and the
//! generation of the slot. The generation changes with each object, and the first one is random, so a handle that was freed,
//! is of another kind or process, or never was a handle differs from what the table has in that slot. One slot can hold 2^35
//! objects before a handle repeats. (A forked child counts as the same process.)
//!
//! The table has no lock, so a forked child inherits it intact.

use std::hash::{BuildHasher as _, RandomState};
use std::marker::PhantomData;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

use crate::failure::{Code, Failure};

/// An object as a C program refers to it.
#[repr(transparent)]
pub(crate) struct Handle<T>(usize, PhantomData<*const T>);

impl<T> Clone for Handle<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Handle<T> {}

/// A type that can have handles.
pub(crate) trait Object: Send + 'static {
    /// Unique for each type, and not 0, which marks a free slot.
    const KIND: u64;
    /// The name in messages.
    const NAME: &'static str;
}

/// An object that one call at a time uses.
pub(crate) trait OneCall: Object {}

/// An object that any number of calls use at once.
pub(crate) trait ManyCalls: Object + Sync {}

/// An object that this call uses alone.
pub(crate) struct Exclusive<T: OneCall> {
    slot: &'static Slot,
    index: u32,
    /// The state of the slot when no call uses it.
    idle: u64,
    object: *mut T,
}

/// An object that this call shares with others.
pub(crate) struct Shared<T: ManyCalls> {
    slot: &'static Slot,
    index: u32,
    object: *const T,
}

struct Slot {
    /// The tag of the handle. Below it are [`TAKEN`], or [`CLOSING`] and the number of calls that use the object.
    state: AtomicU64,
    object: AtomicPtr<()>,
    /// The free list: in a free slot, the index of the next free one plus 1, or 0 if there is none.
    next: AtomicU32,
}

const INDEX_BITS: u32 = 24;
const INDEX_MASK: u64 = (1 << INDEX_BITS) - 1;
const KIND_BITS: u32 = 5;
/// Set if the object was freed while calls share it: the last of them drops it.
const CLOSING: u64 = 1 << 23;
/// Set while one call uses the object alone.
const TAKEN: u64 = 1;

/// The chunks of slots. A chunk is allocated when one of its slots is first needed, and never freed.
static CHUNKS: [AtomicPtr<Slot>; CHUNKS_MAX] =
    [const { AtomicPtr::new(ptr::null_mut()) }; CHUNKS_MAX];
const CHUNK: usize = 256;
const CHUNKS_MAX: usize = (1 << INDEX_BITS) / CHUNK;
/// The number of slots that were ever used, at most those of all chunks.
static USED: AtomicU32 = AtomicU32::new(0);
const PLACES_MAX: u32 = 1 << INDEX_BITS;
/// The top of the stack of free slots: its index plus 1, below a counter that each change increments, so that a stale value
/// never compares equal.
static FREE: AtomicU64 = AtomicU64::new(0);

const _: () = assert!(usize::BITS == 64);

impl<T: Object> Handle<T> {
    pub(crate) const NULL: Self = Self(0, PhantomData);

    /// Puts `object` into the table and returns its handle.
    pub(crate) fn new(object: T) -> Result<Self, Failure> {
        let Some((index, slot)) = free_place() else {
            return Err(Failure::new(
                Code::Memory,
                "there are 16 million objects already",
            ));
        };
        slot.object
            .store(Box::into_raw(Box::new(object)).cast(), Ordering::Relaxed);
        // The generation is above the kind, which is 0 in a free slot.
        let tag = slot.state.load(Ordering::Relaxed) >> INDEX_BITS | T::KIND;
        slot.state.store(tag << INDEX_BITS, Ordering::Release);
        Ok(Self(
            (tag << INDEX_BITS | u64::from(index)) as usize,
            PhantomData,
        ))
    }

    pub(crate) fn is_null(self) -> bool {
        self.0 == 0
    }

    /// Returns the state of the slot while no call uses the object.
    #[inline]
    fn idle(self) -> u64 {
        self.0 as u64 & !INDEX_MASK
    }

    #[inline(always)]
    fn slot(self) -> Result<(&'static Slot, u32), Failure> {
        let index = (self.0 as u64 & INDEX_MASK) as u32;
        // NULL and other invalid handles have no kind, or no slot.
        match slot(index) {
            Some(slot) if (self.0 as u64 >> INDEX_BITS) % (1 << KIND_BITS) == T::KIND => {
                Ok((slot, index))
            }
            _ => Err(self.unknown()),
        }
    }

    #[cold]
    fn unknown(self) -> Failure {
        let what = match self.0 {
            0 => "is NULL",
            _ => "was freed, is of another kind or process, or was never given",
        };
        Failure::new(Code::Handle, format!("the {} {what}", T::NAME))
    }
}

impl<T: OneCall> Handle<T> {
    /// Returns the object for this call alone.
    // Inlined because a call would pass the result through memory: 3 ns of 12.
    #[inline(always)]
    pub(crate) fn exclusive(self) -> Result<Exclusive<T>, Failure> {
        let (slot, index) = self.slot()?;
        let idle = self.idle();
        let taken =
            slot.state
                .compare_exchange(idle, idle | TAKEN, Ordering::Acquire, Ordering::Relaxed);
        match taken {
            Ok(_) => Ok(Exclusive {
                slot,
                index,
                idle,
                object: slot.object.load(Ordering::Relaxed).cast(),
            }),
            Err(state) if state == idle | TAKEN => Err(is_busy::<T>()),
            Err(_) => Err(self.unknown()),
        }
    }

    /// Frees the handle, unless another call uses its object.
    pub(crate) fn free(self) -> Result<(), Failure> {
        let object = self.exclusive()?.taken_out();
        // SAFETY: the pointer came from a box of a `T`, and this call owns it. The object is dropped in place: a move would
        // leave a copy of its key behind.
        drop(unsafe { Box::from_raw(object) });
        Ok(())
    }
}

impl<T: ManyCalls> Handle<T> {
    /// Returns the object, which other calls may use at the same time.
    #[inline(always)]
    pub(crate) fn shared(self) -> Result<Shared<T>, Failure> {
        let (slot, index) = self.slot()?;
        let idle = self.idle();
        let one_more = |state: u64| is_open(state, idle).then(|| state + 1);
        match slot
            .state
            .fetch_update(Ordering::Acquire, Ordering::Relaxed, one_more)
        {
            Ok(_) => Ok(Shared {
                slot,
                index,
                object: slot.object.load(Ordering::Relaxed).cast(),
            }),
            Err(_) => Err(self.unknown()),
        }
    }

    /// Frees the handle. Its object is dropped now, or by the last call that uses it.
    pub(crate) fn free_shared(self) -> Result<(), Failure> {
        let (slot, index) = self.slot()?;
        let idle = self.idle();
        let close = |state: u64| is_open(state, idle).then_some(state | CLOSING);
        match slot
            .state
            .fetch_update(Ordering::Acquire, Ordering::Relaxed, close)
        {
            Ok(state) => {
                if state == idle {
                    give_back::<T>(slot, index);
                }
                Ok(())
            }
            Err(_) => Err(self.unknown()),
        }
    }
}

/// Returns all live objects of a kind.
pub(crate) fn all<T: ManyCalls>() -> impl Iterator<Item = (Handle<T>, Shared<T>)> {
    (0..USED.load(Ordering::Relaxed)).filter_map(|index| {
        let state = slot(index)?.state.load(Ordering::Relaxed);
        if (state >> INDEX_BITS) % (1 << KIND_BITS) != T::KIND {
            return None;
        }
        let handle: Handle<T> = Handle(
            (state & !INDEX_MASK | u64::from(index)) as usize,
            PhantomData,
        );
        Some((handle, handle.shared().ok()?))
    })
}

#[cold]
fn is_busy<T: Object>() -> Failure {
    let text = format!("another call uses this {} just now", T::NAME);
    Failure::new(Code::Busy, text)
}

/// Whether a slot has the object of this tag, and it was not freed.
#[inline]
fn is_open(state: u64, idle: u64) -> bool {
    (state ^ idle) & !(CLOSING - 1) == 0
}

impl<T: OneCall> std::ops::Deref for Exclusive<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: `object` came from a box of a `T`, since the kind of the handle was that of the slot, and no other call
        // uses it while the slot is taken, which it is until this is dropped.
        unsafe { &*self.object }
    }
}

impl<T: OneCall> std::ops::DerefMut for Exclusive<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as in `deref`.
        unsafe { &mut *self.object }
    }
}

impl<T: OneCall> Exclusive<T> {
    /// Frees the handle and returns its object.
    pub(crate) fn into_inner(self) -> T {
        // SAFETY: the pointer came from a box of a `T`, and no other call uses it.
        *unsafe { Box::from_raw(self.taken_out()) }
    }

    /// Frees the handle. The caller owns the object, which came from a box: the slot was taken until now, and no longer has
    /// it.
    fn taken_out(self) -> *mut T {
        let (slot, index, object) = (self.slot, self.index, self.object);
        std::mem::forget(self);
        release(slot, index);
        object
    }
}

impl<T: OneCall> Drop for Exclusive<T> {
    #[inline]
    fn drop(&mut self) {
        // No other call changes the state of a slot that is taken.
        self.slot.state.store(self.idle, Ordering::Release);
    }
}

impl<T: ManyCalls> std::ops::Deref for Shared<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: `object` came from a box of a `T`, since the kind of the handle was that of the slot, and is not dropped
        // while calls that use it are counted; this is one of them.
        unsafe { &*self.object }
    }
}

impl<T: ManyCalls> Drop for Shared<T> {
    #[inline]
    fn drop(&mut self) {
        let before = self.slot.state.fetch_sub(1, Ordering::AcqRel);
        if before & (2 * CLOSING - 1) == CLOSING | 1 {
            give_back::<T>(self.slot, self.index);
        }
    }
}

/// Drops the object of a slot that was freed and that no call uses, after releasing the slot.
#[cold]
fn give_back<T: ManyCalls>(slot: &'static Slot, index: u32) {
    let object = slot.object.load(Ordering::Relaxed).cast::<T>();
    release(slot, index);
    // SAFETY: the pointer came from a box of a `T`, since a handle of that kind was freed, which happens once. No call uses
    // it.
    drop(unsafe { Box::from_raw(object) });
}

/// Returns a slot whose object was taken out to the free list.
fn release(slot: &'static Slot, index: u32) {
    slot.object.store(ptr::null_mut(), Ordering::Relaxed);
    let generation = slot.state.load(Ordering::Relaxed) >> (INDEX_BITS + KIND_BITS);
    let next = generation.wrapping_add(1) << (INDEX_BITS + KIND_BITS);
    slot.state.store(next, Ordering::Release);
    let mut top = FREE.load(Ordering::Relaxed);
    loop {
        slot.next.store(top as u32, Ordering::Relaxed);
        let changed = changed(top, index + 1);
        match FREE.compare_exchange_weak(top, changed, Ordering::Release, Ordering::Relaxed) {
            Ok(_) => return,
            Err(now) => top = now,
        }
    }
}

/// Takes a free slot for the caller.
fn free_place() -> Option<(u32, &'static Slot)> {
    let mut top = FREE.load(Ordering::Acquire);
    while let Some(index) = (top as u32).checked_sub(1) {
        let slot = slot(index)?;
        let changed = changed(top, slot.next.load(Ordering::Relaxed));
        match FREE.compare_exchange_weak(top, changed, Ordering::Acquire, Ordering::Acquire) {
            Ok(_) => return Some((index, slot)),
            Err(now) => top = now,
        }
    }
    let more = |used: u32| (used < PLACES_MAX).then(|| used + 1);
    let index = USED
        .fetch_update(Ordering::Relaxed, Ordering::Relaxed, more)
        .ok()?;
    let (chunk, _) = place(index);
    if CHUNKS[chunk].load(Ordering::Acquire).is_null() {
        add_chunk(chunk);
    }
    Some((index, slot(index)?))
}

/// Returns the next top of the stack.
fn changed(top: u64, index_and_1: u32) -> u64 {
    (top >> 32).wrapping_add(1) << 32 | u64::from(index_and_1)
}

/// Allocates a chunk, unless another thread was faster.
fn add_chunk(chunk: usize) {
    let slots: Box<[Slot]> = (0..CHUNK)
        .map(|number| Slot {
            state: AtomicU64::new(first_generation(chunk, number) << (INDEX_BITS + KIND_BITS)),
            object: AtomicPtr::new(ptr::null_mut()),
            next: AtomicU32::new(0),
        })
        .collect();
    let slots = Box::into_raw(slots);
    let (null, order) = (ptr::null_mut(), Ordering::Acquire);
    if CHUNKS[chunk]
        .compare_exchange(null, slots.cast(), Ordering::AcqRel, order)
        .is_err()
    {
        // SAFETY: the pointer came from a box, and no other thread has seen it.
        drop(unsafe { Box::from_raw(slots) });
    }
}

/// Returns a random generation that differs between processes, copies of this library and slots.
fn first_generation(chunk: usize, number: usize) -> u64 {
    // Has its own keys, which are random.
    static OF_PROCESS: OnceLock<RandomState> = OnceLock::new();
    OF_PROCESS
        .get_or_init(RandomState::new)
        .hash_one((chunk, number))
}

#[inline(always)]
fn slot(index: u32) -> Option<&'static Slot> {
    let (chunk, offset) = place(index);
    let slots = CHUNKS.get(chunk)?.load(Ordering::Acquire);
    if slots.is_null() {
        return None;
    }
    // SAFETY: an allocated chunk has `CHUNK` slots and is never freed, and `offset` is less than that.
    Some(unsafe { &*slots.add(offset) })
}

/// Returns the chunk of a slot and the offset in it.
#[inline(always)]
fn place(index: u32) -> (usize, usize) {
    let index = index as usize;
    (index / CHUNK, index % CHUNK)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;

    use super::*;

    /// Counts drops.
    struct Counted<const KIND: u64>(Arc<AtomicUsize>);

    impl<const KIND: u64> Object for Counted<KIND> {
        const KIND: u64 = KIND;
        const NAME: &'static str = "test object";
    }

    type One = Counted<30>;
    type Many = Counted<31>;

    impl OneCall for One {}
    impl ManyCalls for Many {}

    impl<const KIND: u64> Drop for Counted<KIND> {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn counted<const KIND: u64>() -> (Arc<AtomicUsize>, Handle<Counted<KIND>>) {
        let dropped = Arc::new(AtomicUsize::new(0));
        let handle = Handle::new(Counted(Arc::clone(&dropped))).unwrap();
        (dropped, handle)
    }

    fn code<T>(result: Result<T, Failure>) -> Option<Code> {
        result.err().map(|failure| failure.code())
    }

    #[test]
    fn a_handle_is_good_until_it_is_freed_and_never_again() {
        let (dropped, one): (_, Handle<One>) = counted();
        let (_, many): (_, Handle<Many>) = counted();
        drop(one.exclusive().unwrap());
        drop(many.shared().unwrap());
        one.free().unwrap();
        many.free_shared().unwrap();
        assert_eq!(dropped.load(Ordering::Relaxed), 1);
        for _ in 0..1000 {
            // It may get the same slot.
            let (_, other): (_, Handle<One>) = counted();
            assert!(other.0 != one.0 && other.0 != many.0);
            assert_eq!(code(one.exclusive()), Some(Code::Handle));
            assert_eq!(code(one.free()), Some(Code::Handle));
            assert_eq!(code(many.shared()), Some(Code::Handle));
            assert_eq!(code(many.free_shared()), Some(Code::Handle));
            other.free().unwrap();
        }
    }

    #[test]
    fn what_is_no_handle_of_the_kind_is_refused() {
        let (_, one): (_, Handle<One>) = counted();
        let other: Handle<Many> = Handle(one.0, PhantomData);
        assert_eq!(code(other.shared()), Some(Code::Handle));
        let here = 0;
        let numbers = [0, 1, usize::MAX, &raw const here as usize];
        let near = (0..64).map(|bit| one.0 ^ 1 << bit);
        for number in numbers.into_iter().chain(near) {
            let forged: Handle<One> = Handle(number, PhantomData);
            assert_eq!(code(forged.exclusive()), Some(Code::Handle), "{number:x}");
            assert_eq!(code(forged.free()), Some(Code::Handle), "{number:x}");
        }
        one.free().unwrap();
    }

    #[test]
    fn an_object_that_calls_share_goes_with_the_last_of_them() {
        let (dropped, handle): (_, Handle<Many>) = counted();
        let (first, second) = (handle.shared().unwrap(), handle.shared().unwrap());
        handle.free_shared().unwrap();
        assert_eq!(code(handle.shared()), Some(Code::Handle));
        assert_eq!(code(handle.free_shared()), Some(Code::Handle));
        drop(first);
        assert_eq!(dropped.load(Ordering::Relaxed), 0);
        drop(second);
        assert_eq!(dropped.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn an_object_for_one_call_is_busy_in_it() {
        let (dropped, handle): (_, Handle<One>) = counted();
        let taken = handle.exclusive().unwrap();
        assert_eq!(code(handle.exclusive()), Some(Code::Busy));
        assert_eq!(code(handle.free()), Some(Code::Busy));
        drop(taken);
        let object = handle.exclusive().unwrap().into_inner();
        assert_eq!(code(handle.exclusive()), Some(Code::Handle));
        assert_eq!(dropped.load(Ordering::Relaxed), 0);
        drop(object);
        assert_eq!(dropped.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn threads_that_make_use_and_free_lose_and_share_nothing() {
        let dropped = Arc::new(AtomicUsize::new(0));
        let (ones, manys) = (AtomicU64::new(0), AtomicU64::new(0));
        let made = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..5000 {
                        // Another thread may use or free it at the same time.
                        let one: Handle<One> = Handle::new(Counted(Arc::clone(&dropped))).unwrap();
                        let before = ones.swap(one.0 as u64, Ordering::Relaxed);
                        let before: Handle<One> = Handle(before as usize, PhantomData);
                        drop(one.exclusive());
                        // Another thread may be using it; then try again.
                        while code(before.free()) == Some(Code::Busy) {
                            std::hint::spin_loop();
                        }
                        let many: Handle<Many> =
                            Handle::new(Counted(Arc::clone(&dropped))).unwrap();
                        let before = manys.swap(many.0 as u64, Ordering::Relaxed);
                        let before: Handle<Many> = Handle(before as usize, PhantomData);
                        let here = (many.shared(), before.shared());
                        let _ = before.free_shared();
                        drop(here);
                        made.fetch_add(2, Ordering::Relaxed);
                    }
                });
            }
        });
        let one: Handle<One> = Handle(ones.into_inner() as usize, PhantomData);
        one.free().unwrap();
        let many: Handle<Many> = Handle(manys.into_inner() as usize, PhantomData);
        many.free_shared().unwrap();
        assert_eq!(dropped.load(Ordering::Relaxed), made.into_inner());
    }
}
