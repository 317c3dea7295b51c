//! Jobs of OpenSSL's (ASYNC_start_job(3)): paused until one of them computes what all of them need.
//!
//! A wait context, which a TLS connection has for all of its jobs, is given one eventfd(2) that is readable when there
//! is something to go on with. It is so at once at first: a thread that serves many connections then comes back after a
//! turn over all that had something to do. The descriptor is closed with the wait context, even while another thread
//! may still wake its job.
//!
//! A job has a stack of 32 KiB. Lanes need less than 16 (`a_job_of_openssl_has_stack_enough` of the library's tests).
#![allow(unsafe_code)]

use std::ffi::{CStr, c_int, c_void};
use std::future::Future;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::pin::Pin;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use oarlock::Error;
use oarlock::job::{Job, JobOptions, Start};
use oarlock::rsa::AcceleratedRsa;
use zeroize::Zeroizing;

use super::company::Company;
use crate::libcrypto::Libcrypto;

/// What libcrypto has for jobs.
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

/// Is called with what was given to `set_wait_fd` when the wait context goes.
pub(super) type Cleanup = unsafe extern "C" fn(*mut c_void, *const c_void, c_int, *mut c_void);

/// A job that this code runs in.
#[derive(Clone, Copy)]
pub(super) struct Fiber(*mut c_void);

type Outcome = Result<Zeroizing<Vec<u8>>, Error>;
type Request = Job<Zeroizing<Vec<u8>>>;

/// What a wait context and the jobs of it share.
struct Waiting {
    /// An eventfd(2), until the wait context goes.
    descriptor: Mutex<Option<OwnedFd>>,
    /// What the job waits for.
    request: Mutex<Option<Request>>,
    is_paused: AtomicBool,
    company: Arc<Company>,
}

/// Resumed so often without a reason, a job waits for its result without a pause: jobs may be forbidden to pause
/// (ASYNC_block_pause(3)), which nothing tells.
pub(super) const RESUMED_MAX: u32 = 64;

/// By its address wait contexts know whose a descriptor is.
static KEY: u8 = 0;

impl Fibers {
    /// `None` where libcrypto shows no symbols or has no jobs. `of_core` is a function of it.
    pub(super) fn of(of_core: *const c_void) -> Option<Self> {
        let libcrypto = Libcrypto::of(of_core)?;
        let symbol = |name: &CStr| libcrypto.symbol(name);
        // SAFETY: what libcrypto has under these names is of these types since OpenSSL 1.1.
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

    /// The job that the caller runs in.
    #[inline]
    pub(super) fn current(&self) -> Option<Fiber> {
        // SAFETY: takes nothing.
        let job = unsafe { (self.get_current_job)() };
        (!job.is_null()).then_some(Fiber(job))
    }

    /// The power of `number`, for which `fiber`, which the caller runs in, is paused until enough others have joined
    /// `company`; `None` where that was not possible, or none have.
    pub(super) fn wait(
        &self,
        fiber: Fiber,
        company: &Arc<Company>,
        key: &AcceleratedRsa,
        number: &[u8],
    ) -> Option<Zeroizing<Vec<u8>>> {
        let options = JobOptions {
            start: Start::WhenAsked,
            ..JobOptions::default()
        };
        let mut request = Some(key.submit_raw_private(number, options).ok()?);
        let mut waiting = None;
        let are_several = company.gather(|| {
            let Some(waiting) = self.begun(fiber, company, &mut request, &mut waiting) else {
                return true;
            };
            // Readable at once, so that it comes back after a turn of its thread.
            Wake::wake_by_ref(waiting);
            self.pause(waiting);
            waiting.is_finished()
        });
        if !are_several {
            let is_cancelled = match (&request, &waiting) {
                (Some(request), _) => request.cancel(),
                (None, Some(waiting)) => waiting.cancel(),
                (None, None) => false,
            };
            if is_cancelled {
                return None;
            }
        }
        // Computes it, and others that wait, unless another thread is at it.
        if let Some(result) = request.as_mut().and_then(Job::try_wait) {
            return result.ok();
        }
        let waiting = self.begun(fiber, company, &mut request, &mut waiting)?;
        let waker = Waker::from(Arc::clone(waiting));
        let mut resumed = 0;
        loop {
            if let Poll::Ready(result) = waiting.poll(&waker) {
                return result?.ok();
            }
            if !self.pause(waiting) || resumed > RESUMED_MAX {
                waiting.until_readable();
            }
            resumed += 1;
        }
    }

    /// Whether the current job was paused.
    fn pause(&self, waiting: &Waiting) -> bool {
        waiting.is_paused.store(true, Ordering::Relaxed);
        let is_done = self.pauses();
        waiting.is_paused.store(false, Ordering::Relaxed);
        waiting.drain();
        is_done
    }

    /// Pauses the current job, whatever it waits for. Returns whether that was possible.
    pub(super) fn pauses(&self) -> bool {
        // SAFETY: takes nothing.
        unsafe { (self.pause_job)() == 1 }
    }

    /// What the wait context of `fiber` has, with the request, before the first pause. Not sooner: a server that finds a
    /// descriptor which no pause has told it of may take it for a fault (haproxy 2.6 ends there).
    fn begun<'a>(
        &self,
        fiber: Fiber,
        company: &Arc<Company>,
        request: &mut Option<Request>,
        waiting: &'a mut Option<Arc<Waiting>>,
    ) -> Option<&'a Arc<Waiting>> {
        if waiting.is_none() {
            let make = || Waiting::new(company);
            let found = self.found_or_made(fiber, &KEY, cleanup, make)?;
            found.hold(request.take()?);
            *waiting = Some(found);
        }
        waiting.as_ref()
    }

    /// What the wait context of `fiber` has under `key`. It is the first time what `make` makes, with a descriptor in it that
    /// is to be waited for, and `cleanup` is given it at the end.
    pub(super) fn found_or_made<T>(
        &self,
        fiber: Fiber,
        key: &'static u8,
        cleanup: Cleanup,
        make: impl FnOnce() -> Option<(T, c_int)>,
    ) -> Option<Arc<T>> {
        let key = std::ptr::from_ref(key).cast();
        let (mut descriptor, mut data) = (-1, null_mut());
        // SAFETY: the job is the current one; a wait context of it has under a key of ours what is put there below, of
        // one type for each key.
        unsafe {
            let wait_ctx = (self.get_wait_ctx)(fiber.0);
            if wait_ctx.is_null() {
                return None;
            }
            if (self.get_fd)(wait_ctx, key, &mut descriptor, &mut data) == 1 && !data.is_null() {
                let found = data.cast::<T>().cast_const();
                Arc::increment_strong_count(found);
                return Some(Arc::from_raw(found));
            }
            let (made, descriptor) = make()?;
            let made = Arc::new(made);
            let owned = Arc::into_raw(Arc::clone(&made)).cast_mut().cast();
            if (self.set_wait_fd)(wait_ctx, key, descriptor, owned, cleanup) != 1 {
                drop(Arc::from_raw(owned.cast::<T>().cast_const()));
                return None;
            }
            Some(made)
        }
    }
}

/// The wait context goes: its job has ended, or will never go on. Then nothing on its stack is ever dropped.
unsafe extern "C" fn cleanup(
    _wait_ctx: *mut c_void,
    _key: *const c_void,
    _descriptor: c_int,
    data: *mut c_void,
) {
    // SAFETY: of `Fibers::found_or_made`, and this is the wait context's last use of it.
    let waiting = unsafe { Arc::from_raw(data.cast::<Waiting>().cast_const()) };
    if waiting.is_paused.swap(false, Ordering::Relaxed) {
        waiting.company.abandon();
    }
    drop(locked(&waiting.request).take());
    drop(locked(&waiting.descriptor).take());
}

pub(super) fn locked<T>(place: &Mutex<T>) -> MutexGuard<'_, T> {
    place.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Waiting {
    /// And the number of its descriptor.
    fn new(company: &Arc<Company>) -> Option<(Self, c_int)> {
        // SAFETY: takes numbers alone.
        let number = unsafe { libc::eventfd(0, libc::EFD_NONBLOCK | libc::EFD_CLOEXEC) };
        if number < 0 {
            return None;
        }
        // SAFETY: a new descriptor that nobody else has.
        let descriptor = unsafe { OwnedFd::from_raw_fd(number) };
        let waiting = Self {
            descriptor: Mutex::new(Some(descriptor)),
            request: Mutex::new(None),
            is_paused: AtomicBool::new(false),
            company: Arc::clone(company),
        };
        Some((waiting, number))
    }

    fn hold(&self, request: Request) {
        *locked(&self.request) = Some(request);
    }

    fn is_finished(&self) -> bool {
        locked(&self.request).as_ref().is_none_or(Job::is_finished)
    }

    /// Whether nobody has begun it, and so nobody will.
    fn cancel(&self) -> bool {
        let mut request = locked(&self.request);
        let is_cancelled = request.as_ref().is_some_and(Job::cancel);
        if is_cancelled {
            *request = None;
        }
        is_cancelled
    }

    /// `None` once the request has been taken or cancelled.
    fn poll(&self, waker: &Waker) -> Poll<Option<Outcome>> {
        let mut request = locked(&self.request);
        let polled = match &mut *request {
            None => return Poll::Ready(None),
            Some(request) => Pin::new(request).poll(&mut Context::from_waker(waker)),
        };
        if polled.is_ready() {
            *request = None;
        }
        polled.map(Some)
    }

    fn drain(&self) {
        let mut count = 0u64;
        if let Some(descriptor) = &*locked(&self.descriptor) {
            // SAFETY: a place of eight bytes. There may be nothing to read.
            unsafe {
                libc::read(
                    descriptor.as_raw_fd(),
                    std::ptr::from_mut(&mut count).cast(),
                    size_of::<u64>(),
                )
            };
        }
    }

    fn until_readable(&self) {
        let descriptor = locked(&self.descriptor).as_ref().map(AsRawFd::as_raw_fd);
        let mut polled = libc::pollfd {
            fd: descriptor.unwrap_or(-1),
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: one descriptor. Interrupted, the caller looks and waits again.
        unsafe { libc::poll(&mut polled, 1, PATIENCE_MS) };
    }
}

impl Wake for Waiting {
    fn wake(self: Arc<Self>) {
        let one = 1u64;
        if let Some(descriptor) = &*locked(&self.descriptor) {
            // SAFETY: eight bytes. It does not fill up: it is drained before it is waited for.
            unsafe {
                libc::write(
                    descriptor.as_raw_fd(),
                    std::ptr::from_ref(&one).cast(),
                    size_of::<u64>(),
                )
            };
        }
    }
}

/// Then it looks for itself.
const PATIENCE_MS: c_int = 20;
