//! Jobs of OpenSSL's (ASYNC_start_job(3)): paused until one of them computes what all of them need.
//!
//! A wait context, which a TLS connection has for all of its jobs, is given one eventfd(2) that is readable when there
//! is something to go on with. It is so at once at first: a thread that serves many connections then comes back after a
//! turn over all that had something to do. It is closed when both the wait context and the last thread that writes to it
//! are done with it: a connection may be closed with its job paused, and the number of the descriptor be another's then.
//!
//! A job has a stack of 32 KiB. Lanes need less than 16 (`a_job_of_openssl_has_stack_enough` of the library's tests).
#![allow(unsafe_code)]

use std::ffi::{CStr, c_int, c_void};
use std::future::Future;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::pin::Pin;
use std::ptr::null_mut;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use oarlock::job::{JobOptions, Start};
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
type Cleanup = unsafe extern "C" fn(*mut c_void, *const c_void, c_int, *mut c_void);

/// A job that this code runs in.
#[derive(Clone, Copy)]
pub(super) struct Fiber(*mut c_void);

/// A descriptor that is readable once something was written to it.
struct Readable(OwnedFd);

/// Resumed so often without a reason, a job waits for its result without a pause: jobs may be forbidden to pause
/// (ASYNC_block_pause(3)), which nothing tells.
const RESUMED_MAX: u32 = 64;

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
    /// `company`; `None` where that was not possible.
    pub(super) fn wait(
        &self,
        fiber: Fiber,
        company: &Company,
        key: &AcceleratedRsa,
        number: &[u8],
    ) -> Option<Zeroizing<Vec<u8>>> {
        let options = JobOptions {
            start: Start::WhenAsked,
            ..JobOptions::default()
        };
        let mut job = key.submit_raw_private(number, options).ok()?;
        let mut readable = None;
        company.gather(|| {
            // Readable at once, so that it comes back after a turn of its thread.
            match self.readable(fiber, &mut readable) {
                Some(readable) => Wake::wake_by_ref(readable),
                None => return true,
            }
            self.pause(readable.as_deref());
            job.is_finished()
        });
        // Computes it, and others that wait, unless another thread is at it.
        if let Some(result) = job.try_wait() {
            return result.ok();
        }
        let waker = Waker::from(Arc::clone(self.readable(fiber, &mut readable)?));
        let mut resumed = 0;
        loop {
            if let Poll::Ready(result) = Pin::new(&mut job).poll(&mut Context::from_waker(&waker)) {
                return result.ok();
            }
            if !self.pause(readable.as_deref()) || resumed > RESUMED_MAX {
                readable.as_deref()?.wait();
            }
            resumed += 1;
        }
    }

    /// Whether the current job was paused.
    fn pause(&self, readable: Option<&Readable>) -> bool {
        // SAFETY: takes nothing.
        let is_done = unsafe { (self.pause_job)() } == 1;
        if let Some(readable) = readable {
            readable.drain();
        }
        is_done
    }

    /// That of the wait context of `fiber`, before its first pause. Not sooner: a server that finds a descriptor which no
    /// pause has told it of may take it for a fault (haproxy 2.6 ends there).
    fn readable<'a>(
        &self,
        fiber: Fiber,
        readable: &'a mut Option<Arc<Readable>>,
    ) -> Option<&'a Arc<Readable>> {
        if readable.is_none() {
            *readable = self.found_or_made(fiber);
        }
        readable.as_ref()
    }

    fn found_or_made(&self, fiber: Fiber) -> Option<Arc<Readable>> {
        let key = std::ptr::from_ref(&KEY).cast();
        let (mut descriptor, mut data) = (-1, null_mut());
        // SAFETY: the job is the current one; a wait context of it has under our key what is put there below.
        unsafe {
            let wait_ctx = (self.get_wait_ctx)(fiber.0);
            if wait_ctx.is_null() {
                return None;
            }
            if (self.get_fd)(wait_ctx, key, &mut descriptor, &mut data) == 1 && !data.is_null() {
                let readable = data.cast::<Readable>().cast_const();
                Arc::increment_strong_count(readable);
                return Some(Arc::from_raw(readable));
            }
            let readable = Arc::new(Readable::new()?);
            let owned = Arc::into_raw(Arc::clone(&readable)).cast_mut().cast();
            let descriptor = readable.0.as_raw_fd();
            if (self.set_wait_fd)(wait_ctx, key, descriptor, owned, cleanup) != 1 {
                drop(Arc::from_raw(owned.cast::<Readable>().cast_const()));
                return None;
            }
            Some(readable)
        }
    }
}

unsafe extern "C" fn cleanup(
    _wait_ctx: *mut c_void,
    _key: *const c_void,
    _descriptor: c_int,
    data: *mut c_void,
) {
    // SAFETY: of `Fibers::readable`, and this is the wait context's last use of it.
    drop(unsafe { Arc::from_raw(data.cast::<Readable>().cast_const()) });
}

impl Readable {
    fn new() -> Option<Self> {
        // SAFETY: takes numbers alone.
        let descriptor = unsafe { libc::eventfd(0, libc::EFD_NONBLOCK | libc::EFD_CLOEXEC) };
        // SAFETY: a new descriptor, if it is one, that nobody else has.
        (descriptor >= 0).then(|| Self(unsafe { OwnedFd::from_raw_fd(descriptor) }))
    }

    fn drain(&self) {
        let mut count = 0u64;
        // SAFETY: a place of eight bytes. There may be nothing to read.
        unsafe {
            libc::read(
                self.0.as_raw_fd(),
                std::ptr::from_mut(&mut count).cast(),
                size_of::<u64>(),
            )
        };
    }

    fn wait(&self) {
        let mut polled = libc::pollfd {
            fd: self.0.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: one descriptor. Interrupted, the caller looks and waits again.
        unsafe { libc::poll(&mut polled, 1, PATIENCE_MS) };
    }
}

impl Wake for Readable {
    fn wake(self: Arc<Self>) {
        let one = 1u64;
        // SAFETY: eight bytes. It does not fill up: it is drained before it is waited for.
        unsafe {
            libc::write(
                self.0.as_raw_fd(),
                std::ptr::from_ref(&one).cast(),
                size_of::<u64>(),
            )
        };
    }
}

/// Then it looks for itself.
const PATIENCE_MS: c_int = 20;
