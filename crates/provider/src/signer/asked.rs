//! Answers of a relay that jobs of OpenSSL's wait for (ASYNC_start_job(3)).
//!
//! A wait context is given one epoll(7), which is readable when the connection in it is: when there is an answer, or when
//! the relay has gone. It stays as long as the wait context, and is quiet between questions. A server that is given
//! another descriptor for each question may look at one that is closed by then.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::os::fd::{AsFd as _, AsRawFd as _, FromRawFd as _, OwnedFd};
use std::sync::{Arc, Mutex};

use oarlock_local::relay::{Asked, NoAnswer};
use zeroize::Zeroizing;

use super::paused::{Fiber, Fibers, RESUMED_MAX, locked};

/// What a wait context and the jobs of it share.
struct Watch {
    /// An epoll(7).
    descriptor: OwnedFd,
    /// What a job waits for.
    asked: Mutex<Option<Asked>>,
}

/// By its address wait contexts know whose a descriptor is.
static KEY: u8 = 1;

impl Fibers {
    /// The answer, for which `fiber`, which the caller runs in, is paused.
    pub(super) fn until_answered(
        &self,
        fiber: Fiber,
        asked: Asked,
    ) -> Result<Zeroizing<Vec<u8>>, NoAnswer> {
        // It may be there already.
        if let Some(answer) = asked.try_take() {
            return answer;
        }
        let Some(watch) = self.watch(fiber, &asked) else {
            return asked.wait();
        };
        *locked(&watch.asked) = Some(asked);
        for _ in 0..RESUMED_MAX {
            // The server must hear of a new descriptor, so it is paused before it looks again: haproxy 2.6 ends where it
            // finds one that no pause has told it of.
            if !self.pauses() {
                break;
            }
            let answer = match &*locked(&watch.asked) {
                Some(asked) => asked.try_take(),
                // The wait context is gone.
                None => return Err(NoAnswer::Gone),
            };
            if let Some(answer) = answer {
                // With its connection it leaves the epoll.
                locked(&watch.asked).take();
                return answer;
            }
        }
        // Paused in vain so often, or not at all: it waits here.
        let asked = locked(&watch.asked).take();
        asked.map_or(Err(NoAnswer::Gone), |asked| asked.wait())
    }

    /// What tells when `asked` is answered.
    fn watch(&self, fiber: Fiber, asked: &Asked) -> Option<Arc<Watch>> {
        let mut is_new = false;
        let watch = self.found_or_made(fiber, &KEY, cleanup, || {
            // SAFETY: takes a number alone.
            let number = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
            if number < 0 {
                return None;
            }
            let watch = Watch {
                // SAFETY: a new descriptor that nobody else has.
                descriptor: unsafe { OwnedFd::from_raw_fd(number) },
                asked: Mutex::new(None),
            };
            is_new = true;
            watch.adds(asked).then_some((watch, number))
        })?;
        (is_new || watch.adds(asked)).then_some(watch)
    }
}

impl Watch {
    /// Whether it tells of what comes for `asked` from now on.
    fn adds(&self, asked: &Asked) -> bool {
        let mut event = libc::epoll_event {
            events: libc::EPOLLIN as u32,
            u64: 0,
        };
        let (epoll, connection) = (self.descriptor.as_raw_fd(), asked.as_fd().as_raw_fd());
        // SAFETY: two descriptors that are open, and an event of ours.
        unsafe { libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, connection, &mut event) == 0 }
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
    let watch = unsafe { Arc::from_raw(data.cast::<Watch>().cast_const()) };
    drop(locked(&watch.asked).take());
}
