//! Jobs of OpenSSL that are paused until one of them computes the requests of all.
//!
//! A job's wait context gets one eventfd(2), which is readable when the job can continue. At first it is readable at
//! once: a thread that serves many connections then resumes the job after it has served all others that were ready.
#![allow(unsafe_code)]

use std::future::Future as _;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use oarlock::Error;
use oarlock::job::{Job, JobOptions, Start};
use oarlock::rsa::AcceleratedRsa;
use zeroize::Zeroizing;

use super::batch::Visit;
use super::fibers::{Awaited, Fiber, Fibers, Held, Key, RESUMED_MAX, Waiting};
use super::stacks::Place;

type Outcome = Result<Zeroizing<Vec<u8>>, Error>;

/// A request that waits for others.
struct Gathered {
    /// `None` once it is done.
    request: Option<Job<Zeroizing<Vec<u8>>>>,
    _visit: Visit,
}

/// Where a request is stored: on the stack before its job's first pause, and in the wait context from then on.
enum Stage {
    Begun(Gathered, Place),
    Held(Held<Gathered>),
    /// Only during the move from one to the other.
    Moving,
}

impl Fibers {
    /// Returns the power of `number`. `fiber`, which the caller runs in, is paused until enough others have joined the
    /// jobs that `visit` meets; `None` if that was not possible, or no others joined.
    pub(super) fn wait(
        &self,
        fiber: Fiber,
        place: Place,
        visit: Visit,
        key: &AcceleratedRsa,
        number: &[u8],
    ) -> Option<Zeroizing<Vec<u8>>> {
        let options = JobOptions {
            start: Start::WhenAsked,
            ..JobOptions::default()
        };
        let request = Some(key.submit_raw_private(number, options).ok()?);
        let company = Arc::clone(visit.company());
        let gathered = Gathered {
            request,
            _visit: visit,
        };
        let mut stage = Stage::Begun(gathered, place);
        let are_several = company.gather(|| {
            let Some(held) = self.held(fiber, &mut stage) else {
                return true;
            };
            // Readable at once, so that the job is resumed after a turn of its thread.
            held.waiting().make_readable();
            self.pause_until_drained(held);
            held.with(|gathered| gathered.is_finished()).unwrap_or(true)
        });
        if !are_several && stage.with(Gathered::cancel) == Some(true) {
            return None;
        }
        // Computes this request, and others that wait, unless another thread is doing so.
        if let Stage::Begun(gathered, _) = &mut stage
            && let Some(result) = gathered.request.as_mut().and_then(Job::try_wait)
        {
            return result.ok();
        }
        if self.held(fiber, &mut stage).is_none() {
            let request = stage.with(|gathered| gathered.request.take())??;
            return request.wait().ok();
        }
        let Stage::Held(held) = &stage else {
            return None;
        };
        let waker = Waker::from(Arc::clone(held.waiting()));
        let mut resumed = 0;
        loop {
            if let Poll::Ready(result) = held.with(|gathered| gathered.poll(&waker))? {
                return result?.ok();
            }
            if !self.pause_until_drained(held) || resumed > RESUMED_MAX {
                held.waiting().until_readable();
            }
            resumed += 1;
        }
    }

    /// Returns what the wait context of `fiber` holds, and moves it there at first; `None` if it cannot hold anything.
    fn held<'a>(&self, fiber: Fiber, stage: &'a mut Stage) -> Option<&'a Held<Gathered>> {
        *stage = match std::mem::replace(stage, Stage::Moving) {
            Stage::Begun(gathered, place) => match self.hold(fiber, gathered, place) {
                Ok(held) => Stage::Held(held),
                Err((gathered, place)) => Stage::Begun(gathered, place),
            },
            stage => stage,
        };
        match stage {
            Stage::Held(held) => Some(held),
            _ => None,
        }
    }

    /// Pauses the current job and resets its descriptor. Returns whether the job was paused.
    fn pause_until_drained(&self, held: &Held<Gathered>) -> bool {
        let is_done = self.pause(held);
        held.waiting().drain();
        is_done
    }
}

impl Stage {
    fn with<R>(&mut self, with: impl FnOnce(&mut Gathered) -> R) -> Option<R> {
        match self {
            Self::Begun(gathered, _) => Some(with(gathered)),
            Self::Held(held) => held.with(with),
            Self::Moving => None,
        }
    }
}

impl Gathered {
    fn is_finished(&self) -> bool {
        self.request.as_ref().is_none_or(Job::is_finished)
    }

    /// Cancels the request. Returns whether nothing had started it, so nothing will.
    fn cancel(&mut self) -> bool {
        let is_cancelled = self.request.as_ref().is_some_and(Job::cancel);
        if is_cancelled {
            self.request = None;
        }
        is_cancelled
    }

    /// Polls the request. `None` once it has been taken or cancelled.
    fn poll(&mut self, waker: &Waker) -> Poll<Option<Outcome>> {
        let Some(request) = &mut self.request else {
            return Poll::Ready(None);
        };
        let polled = Pin::new(request).poll(&mut Context::from_waker(waker));
        if polled.is_ready() {
            self.request = None;
        }
        polled.map(Some)
    }
}

impl Awaited for Gathered {
    fn open(&self) -> Option<OwnedFd> {
        // SAFETY: takes numbers alone.
        let number = unsafe { libc::eventfd(0, libc::EFD_NONBLOCK | libc::EFD_CLOEXEC) };
        // SAFETY: the eventfd is new, and nothing else owns it.
        (number >= 0).then(|| unsafe { OwnedFd::from_raw_fd(number) })
    }

    fn key() -> &'static Key<Self> {
        static KEY: Key<Gathered> = Key::new();
        &KEY
    }
}

impl Waiting<Gathered> {
    fn make_readable(&self) {
        let one = 1u64;
        self.with_descriptor(|descriptor| {
            // SAFETY: eight bytes. The counter does not overflow: it is drained before each wait.
            unsafe {
                libc::write(
                    descriptor.as_raw_fd(),
                    std::ptr::from_ref(&one).cast(),
                    size_of::<u64>(),
                )
            }
        });
    }

    fn drain(&self) {
        let mut count = 0u64;
        self.with_descriptor(|descriptor| {
            // SAFETY: a place of eight bytes. There may be nothing to read.
            unsafe {
                libc::read(
                    descriptor.as_raw_fd(),
                    std::ptr::from_mut(&mut count).cast(),
                    size_of::<u64>(),
                )
            }
        });
    }

    fn until_readable(&self) {
        // Another thread may wake this one during the wait, so the descriptor is not kept locked.
        let descriptor = self.with_descriptor(|descriptor| descriptor.as_raw_fd());
        let mut polled = libc::pollfd {
            fd: descriptor.unwrap_or(-1),
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: one descriptor. If interrupted, the caller checks and waits again.
        unsafe { libc::poll(&mut polled, 1, PATIENCE_MS) };
    }
}

impl Wake for Waiting<Gathered> {
    fn wake(self: Arc<Self>) {
        self.make_readable();
    }
}

/// The time after which a waiting job checks for itself.
const PATIENCE_MS: i32 = 20;
