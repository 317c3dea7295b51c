//! Jobs of OpenSSL (ASYNC_start_job(3)), and what they hold while they are paused.
//!
//! If a connection is closed while its job is paused, the job never continues: OpenSSL frees the job's wait context and
//! forgets the job, and nothing on its stack is ever dropped. So the wait context, not the stack, holds everything that
//! must be released (descriptors, requests, places in a count). There is one kind of entry for that, [`Waiting`], and
//! one function that empties it when the wait context is freed.
//!
//! A TLS connection has one wait context for all of its jobs. It gets one descriptor for each kind of wait, which stays
//! as long as the wait context and is quiet between requests: a server that gets a new descriptor for each request may
//! poll one that is already closed.
//!
//! A job has a stack of 32 KiB. Lanes need less than 16 (`a_job_of_openssl_has_stack_enough` of the library's tests).
#![allow(unsafe_code)]

use std::ffi::{CStr, c_int, c_void};
use std::marker::PhantomData;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};
use std::ptr::null_mut;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::stacks::{Opened, Place};
use crate::libcrypto::Libcrypto;

/// The functions of libcrypto for jobs.
pub(super) struct Fibers {
    get_current_job: GetCurrentJob,
    pause_job: PauseJob,
    get_wait_ctx: GetWaitCtx,
    set_wait_fd: SetWaitFd,
    get_fd: GetFd,
}

type GetCurrentJob = unsafe extern "C" fn() -> *mut c_void;
type PauseJob = unsafe extern "C" fn() -> c_int;
type GetWaitCtx = unsafe extern "C" fn(*mut c_void) -> *mut c_void;
type SetWaitFd =
    unsafe extern "C" fn(*mut c_void, *const c_void, c_int, *mut c_void, Cleanup) -> c_int;
type GetFd =
    unsafe extern "C" fn(*mut c_void, *const c_void, *mut c_int, *mut *mut c_void) -> c_int;
/// Is called with the arguments of `set_wait_fd` when the wait context is freed.
type Cleanup = unsafe extern "C" fn(*mut c_void, *const c_void, c_int, *mut c_void);

/// The job that this code runs in.
#[derive(Clone, Copy)]
pub(super) struct Fiber(*mut c_void);

/// A result that a job is paused for.
pub(super) trait Awaited: Send + Sized + 'static {
    /// Opens the descriptor that becomes readable when the job should continue.
    fn open(&self) -> Option<OwnedFd>;

    /// Reuses the descriptor that an earlier value of this kind has opened. Returns whether that was possible.
    fn reuse(&self, _descriptor: BorrowedFd<'_>) -> bool {
        true
    }

    /// Returns the key that identifies entries of this kind.
    fn key() -> &'static Key<Self>;
}

/// A key whose address identifies entries in a wait context. Each kind of wait has its own.
pub(super) struct Key<T> {
    /// Without this byte, keys could share an address.
    _byte: u8,
    _kind: PhantomData<fn() -> T>,
}

/// A wait context's entry of one kind.
pub(super) struct Waiting<T> {
    /// `None` once the wait context is freed.
    descriptor: Mutex<Option<Opened>>,
    /// What the job waits for, until that ends or the wait context is freed.
    held: Mutex<Option<(T, Place)>>,
}

/// The current job's value in its wait context. Dropping this takes the value out.
pub(super) struct Held<T: Awaited>(Arc<Waiting<T>>);

/// After this many resumptions without a reason, a job waits for its result without pausing: jobs may be forbidden to
/// pause (ASYNC_block_pause(3)), and no function reports that.
pub(super) const RESUMED_MAX: u32 = 64;

impl Fibers {
    /// Looks the functions up; `None` if libcrypto exports no symbols or has no jobs. `of_core` is a function in it.
    pub(super) fn of(of_core: *const c_void) -> Option<Self> {
        let libcrypto = Libcrypto::of(of_core)?;
        let symbol = |name: &CStr| libcrypto.symbol(name);
        // SAFETY: libcrypto's functions of these names have had these types since OpenSSL 1.1.
        unsafe {
            use std::mem::transmute;
            type Symbol = *mut c_void;
            Some(Self {
                get_current_job: transmute::<Symbol, GetCurrentJob>(symbol(
                    c"ASYNC_get_current_job",
                )?),
                pause_job: transmute::<Symbol, PauseJob>(symbol(c"ASYNC_pause_job")?),
                get_wait_ctx: transmute::<Symbol, GetWaitCtx>(symbol(c"ASYNC_get_wait_ctx")?),
                set_wait_fd: transmute::<Symbol, SetWaitFd>(symbol(c"ASYNC_WAIT_CTX_set_wait_fd")?),
                get_fd: transmute::<Symbol, GetFd>(symbol(c"ASYNC_WAIT_CTX_get_fd")?),
            })
        }
    }

    /// Returns the job that the caller runs in.
    #[inline]
    pub(super) fn current(&self) -> Option<Fiber> {
        // SAFETY: `ASYNC_get_current_job` takes nothing, on any thread.
        let job = unsafe { (self.get_current_job)() };
        (!job.is_null()).then_some(Fiber(job))
    }

    /// Pauses the current job, whose wait context holds what it waits for. Returns whether that was possible.
    pub(super) fn pause<T: Awaited>(&self, _held: &Held<T>) -> bool {
        // SAFETY: `ASYNC_pause_job` takes nothing, and returns at once outside of a job.
        unsafe { (self.pause_job)() == 1 }
    }

    /// Makes the wait context of `fiber`, which the caller runs in, hold `what` from now on. After this the caller must
    /// pause before it does anything else: a server that finds a descriptor which no pause has announced may take that
    /// for an error (haproxy 2.6 aborts).
    ///
    /// # Errors
    /// Returns both if that is not possible.
    pub(super) fn hold<T: Awaited>(
        &self,
        fiber: Fiber,
        what: T,
        mut place: Place,
    ) -> Result<Held<T>, (T, Place)> {
        place.pauses(true);
        self.hold_paused(fiber, what, place)
            .map_err(|(what, mut place)| {
                place.pauses(false);
                (what, place)
            })
    }

    fn hold_paused<T: Awaited>(
        &self,
        fiber: Fiber,
        what: T,
        place: Place,
    ) -> Result<Held<T>, (T, Place)> {
        let key = std::ptr::from_ref(T::key()).cast();
        let (mut descriptor, mut data) = (-1, null_mut());
        // SAFETY: the job is the current one, so it has a wait context or none.
        let wait_ctx = unsafe { (self.get_wait_ctx)(fiber.0) };
        if wait_ctx.is_null() {
            return Err((what, place));
        }
        // SAFETY: a wait context of the current job, and two places for what it has.
        let is_there = unsafe { (self.get_fd)(wait_ctx, key, &mut descriptor, &mut data) == 1 };
        if is_there && !data.is_null() {
            let found = data.cast::<Waiting<T>>().cast_const();
            // SAFETY: the code below stored this under the same key, so it has this type, and the wait context keeps
            // one count of it.
            let waiting = unsafe {
                Arc::increment_strong_count(found);
                Arc::from_raw(found)
            };
            return waiting.take_up(what, place);
        }
        let opened = what.open().and_then(|descriptor| place.keep(descriptor));
        let Some(opened) = opened else {
            return Err((what, place));
        };
        let descriptor = opened.as_fd().as_raw_fd();
        let waiting = Arc::new(Waiting {
            descriptor: Mutex::new(Some(opened)),
            held: Mutex::new(Some((what, place))),
        });
        let owned = Arc::into_raw(Arc::clone(&waiting));
        let data = owned.cast_mut().cast();
        // SAFETY: a wait context of the current job, an open descriptor, and a count of `waiting` for `cleanup`.
        if unsafe { (self.set_wait_fd)(wait_ctx, key, descriptor, data, cleanup::<T>) == 1 } {
            return Ok(Held(waiting));
        }
        // SAFETY: the count from above, which the wait context has not taken.
        drop(unsafe { Arc::from_raw(owned) });
        let held = locked(&waiting.held).take();
        held.map_or_else(|| Ok(Held(waiting)), Err)
    }
}

/// Empties the entry when the wait context is freed: its job has ended, or will never continue.
///
/// # Safety
/// libcrypto calls, with the `data` that `Fibers::hold` gave it, for the last time.
unsafe extern "C" fn cleanup<T: Awaited>(
    _wait_ctx: *mut c_void,
    _key: *const c_void,
    _descriptor: c_int,
    data: *mut c_void,
) {
    // SAFETY: the data came from `Fibers::hold`, and this is the wait context's last use of it.
    let waiting = unsafe { Arc::from_raw(data.cast::<Waiting<T>>().cast_const()) };
    let held = locked(&waiting.held).take();
    let descriptor = locked(&waiting.descriptor).take();
    drop(descriptor);
    if let Some((what, place)) = held {
        drop(what);
        place.lose();
    }
}

impl<T: Awaited> Waiting<T> {
    fn take_up(self: Arc<Self>, what: T, place: Place) -> Result<Held<T>, (T, Place)> {
        {
            let descriptor = locked(&self.descriptor);
            let mut held = locked(&self.held);
            let is_free = held.is_none();
            let is_ready = || descriptor.as_ref().is_some_and(|it| what.reuse(it.as_fd()));
            if !is_free || !is_ready() {
                return Err((what, place));
            }
            *held = Some((what, place));
        }
        Ok(Held(self))
    }

    /// Calls `with` with the descriptor, if it is still open.
    pub(super) fn with_descriptor<R>(&self, with: impl FnOnce(BorrowedFd<'_>) -> R) -> Option<R> {
        locked(&self.descriptor).as_ref().map(|it| with(it.as_fd()))
    }
}

impl<T: Awaited> Held<T> {
    /// Calls `with` with the held value; `None` if the wait context was freed, and the connection with it.
    pub(super) fn with<R>(&self, with: impl FnOnce(&mut T) -> R) -> Option<R> {
        locked(&self.0.held).as_mut().map(|(what, _)| with(what))
    }

    /// Takes the held value out of the wait context.
    pub(super) fn take(self) -> Option<(T, Place)> {
        locked(&self.0.held).take()
    }

    pub(super) fn waiting(&self) -> &Arc<Waiting<T>> {
        &self.0
    }
}

impl<T: Awaited> Drop for Held<T> {
    fn drop(&mut self) {
        let held = locked(&self.0.held).take();
        drop(held);
    }
}

impl<T> Key<T> {
    pub(super) const fn new() -> Self {
        Self {
            _byte: 0,
            _kind: PhantomData,
        }
    }
}

fn locked<T>(place: &Mutex<T>) -> MutexGuard<'_, T> {
    place.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::cell::{Cell, RefCell};
    use std::os::fd::FromRawFd as _;

    use super::super::stacks::Stacks;
    use super::*;

    /// A wait context's entry: key, descriptor, data and cleanup function.
    type Entry = (*const c_void, c_int, *mut c_void, Cleanup);

    thread_local! {
        static ENTRIES: RefCell<Vec<Entry>> = const { RefCell::new(Vec::new()) };
        static HAS_ROOM: Cell<bool> = const { Cell::new(true) };
    }

    /// Makes a libcrypto with one job and one wait context for each thread.
    fn fibers() -> Fibers {
        extern "C" fn get_current_job() -> *mut c_void {
            std::ptr::dangling_mut()
        }
        extern "C" fn pause_job() -> c_int {
            1
        }
        extern "C" fn get_wait_ctx(job: *mut c_void) -> *mut c_void {
            job
        }
        extern "C" fn set_wait_fd(
            _wait_ctx: *mut c_void,
            key: *const c_void,
            descriptor: c_int,
            data: *mut c_void,
            cleanup: Cleanup,
        ) -> c_int {
            if HAS_ROOM.get() {
                ENTRIES.with_borrow_mut(|all| all.push((key, descriptor, data, cleanup)));
            }
            c_int::from(HAS_ROOM.get())
        }
        /// # Safety
        /// `descriptor` and `data` are places for what is found.
        unsafe extern "C" fn get_fd(
            _wait_ctx: *mut c_void,
            key: *const c_void,
            descriptor: *mut c_int,
            data: *mut *mut c_void,
        ) -> c_int {
            let found = ENTRIES.with_borrow(|all| all.iter().find(|it| it.0 == key).copied());
            if let Some(found) = found {
                // SAFETY: places of the caller's.
                unsafe { (*descriptor, *data) = (found.1, found.2) };
            }
            c_int::from(found.is_some())
        }
        Fibers {
            get_current_job,
            pause_job,
            get_wait_ctx,
            set_wait_fd,
            get_fd,
        }
    }

    fn free_wait_ctx() {
        for (key, descriptor, data, cleanup) in ENTRIES.take() {
            // SAFETY: the arguments of `set_wait_fd`, used once.
            unsafe { cleanup(null_mut(), key, descriptor, data) };
        }
    }

    struct Probe(#[allow(dead_code)] Arc<()>);

    impl Awaited for Probe {
        fn open(&self) -> Option<OwnedFd> {
            // SAFETY: takes numbers alone, and the descriptor is new.
            unsafe {
                let number = libc::eventfd(0, libc::EFD_CLOEXEC);
                (number >= 0).then(|| OwnedFd::from_raw_fd(number))
            }
        }

        fn key() -> &'static Key<Self> {
            static KEY: Key<Probe> = Key::new();
            &KEY
        }
    }

    /// Covers jobs that end, that never continue, that find no room, and that share a wait context with another.
    #[test]
    fn whatever_becomes_of_a_job_all_is_given_back() {
        let fibers = fibers();
        let stacks = Arc::new(Stacks::default());
        let (token, fiber) = (Arc::new(()), fibers.current().unwrap());
        let begin = || {
            let place = stacks.place().unwrap();
            fibers.hold(fiber, Probe(Arc::clone(&token)), place)
        };
        let descriptor = |held: &Held<Probe>| {
            let number = held.waiting().with_descriptor(|it| it.as_raw_fd());
            number.unwrap()
        };
        let is_open = |number: c_int| {
            // SAFETY: takes numbers alone.
            unsafe { libc::fcntl(number, libc::F_GETFD) >= 0 }
        };
        // A job that ends: its descriptor stays for the next one.
        let first = begin().ok().unwrap();
        assert!(fibers.pause(&first));
        assert!(first.with(|_| ()).is_some());
        assert_eq!(Arc::strong_count(&token), 2);
        let number = descriptor(&first);
        drop(first);
        assert_eq!((Arc::strong_count(&token), stacks.counts()), (1, (0, 0)));
        let second = begin().ok().unwrap();
        assert_eq!(descriptor(&second), number);
        // Another job, started while that one lives, gets back its arguments.
        assert!(begin().is_err());
        assert_eq!((Arc::strong_count(&token), stacks.counts()), (2, (1, 0)));
        let (_probe, place) = second.take().unwrap();
        assert_eq!(stacks.counts(), (1, 0));
        drop((_probe, place));
        // A job that never continues: nothing on its stack is ever dropped.
        let dead = begin().ok().unwrap();
        std::mem::forget(dead);
        assert_eq!((Arc::strong_count(&token), stacks.counts()), (2, (1, 0)));
        free_wait_ctx();
        assert_eq!((Arc::strong_count(&token), stacks.counts()), (1, (0, 1)));
        // Other tests of this process open descriptors, usually of other kinds.
        let is_ours = || {
            let link = std::fs::read_link(format!("/proc/self/fd/{number}"));
            link.is_ok_and(|link| link.to_string_lossy().contains("eventfd"))
        };
        assert!(!is_open(number) || !is_ours());
        // A wait context that is freed after its job has ended does not count as a loss.
        drop(begin().ok().unwrap());
        free_wait_ctx();
        assert_eq!((Arc::strong_count(&token), stacks.counts()), (1, (0, 1)));
        HAS_ROOM.set(false);
        assert!(begin().is_err());
        assert_eq!((Arc::strong_count(&token), stacks.counts()), (1, (0, 1)));
    }
}
