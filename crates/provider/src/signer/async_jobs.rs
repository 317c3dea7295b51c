//! Jobs of OpenSSL's that are paused until one of them computes what all of them need.
//!
//! A job's wait context is given one eventfd(2) that is readable when there is something to go on with. It is so at once at
//! first: a thread that serves many connections then comes back after a turn over all that had something to do.
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
    /// Until it is done.
    request: Option<Job<Zeroizing<Vec<u8>>>>,
    _visit: Visit,
}

/// Where a request is: on the stack before its job's first pause, and in the wait context from then on.
enum Stage {
    Begun(Gathered, Place),
    Held(Held<Gathered>),
    /// Only while it goes from one to the other.
    Moving,
}

impl Fibers {
    /// The power of `number`, for which `fiber`, which the caller runs in, is paused until enough others have joined those
    /// that `visit` meets; `None` where that was not possible, or none have.
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
            // Readable at once, so that it comes back after a turn of its thread.
            held.waiting().make_readable();
            self.pause_until_drained(held);
            held.with(|gathered| gathered.is_finished()).unwrap_or(true)
        });
        if !are_several && stage.with(Gathered::cancel) == Some(true) {
            return None;
        }
        // Computes it, and others that wait, unless another thread is at it.
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

    /// What the wait context of `fiber` holds, from before the first pause on; `None` if it cannot hold anything.
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

    /// Whether the current job was paused.
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

    /// Whether nobody has begun it, and so nobody will.
    fn cancel(&mut self) -> bool {
        let is_cancelled = self.request.as_ref().is_some_and(Job::cancel);
        if is_cancelled {
            self.request = None;
        }
        is_cancelled
    }

    /// `None` once the request has been taken or cancelled.
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
        // SAFETY: a new descriptor that nobody else has.
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
            // SAFETY: eight bytes. It does not fill up: it is drained before it is waited for.
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
        // Another thread may wake it during the wait, so the descriptor is not kept locked.
        let descriptor = self.with_descriptor(|descriptor| descriptor.as_raw_fd());
        let mut polled = libc::pollfd {
            fd: descriptor.unwrap_or(-1),
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: one descriptor. Interrupted, the caller looks and waits again.
        unsafe { libc::poll(&mut polled, 1, PATIENCE_MS) };
    }
}

impl Wake for Waiting<Gathered> {
    fn wake(self: Arc<Self>) {
        self.make_readable();
    }
}

/// Then it looks for itself.
const PATIENCE_MS: i32 = 20;
