//! A relay's answers, which jobs of OpenSSL wait for.
//!
//! A job's wait context gets one epoll(7) descriptor. It is readable when the connection in it is: when there is an
//! answer, or when the relay has gone.
#![allow(unsafe_code)]

use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};

use oarlock_local::relay::{Asked, NoAnswer};
use zeroize::Zeroizing;

use super::fibers::{Awaited, Fiber, Fibers, Key, RESUMED_MAX};
use super::stacks::Place;

impl Fibers {
    /// Returns the answer. `fiber`, which the caller runs in, is paused until it arrives. If that is not possible, `wait`
    /// waits for it.
    pub(super) fn until_answered(
        &self,
        fiber: Fiber,
        place: Place,
        asked: Asked,
        wait: impl FnOnce(Asked) -> Result<Zeroizing<Vec<u8>>, NoAnswer>,
    ) -> Result<Zeroizing<Vec<u8>>, NoAnswer> {
        // The answer may have arrived already.
        if let Some(answer) = asked.try_take() {
            return answer;
        }
        let held = match self.hold(fiber, asked, place) {
            Ok(held) => held,
            Err((asked, _place)) => return wait(asked),
        };
        for _ in 0..RESUMED_MAX {
            // Paused before it checks again.
            if !self.pause(&held) {
                break;
            }
            match held.with(|asked| asked.try_take()) {
                Some(None) => {}
                Some(Some(answer)) => return answer,
                None => return Err(NoAnswer::Late),
            }
        }
        // Paused too often without an answer, or not at all: wait here.
        let asked = held.take();
        asked.map_or(Err(NoAnswer::Late), |(asked, _place)| wait(asked))
    }
}

impl Awaited for Asked {
    fn open(&self) -> Option<OwnedFd> {
        // SAFETY: takes a number alone.
        let number = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        if number < 0 {
            return None;
        }
        // SAFETY: a new descriptor that nothing else owns.
        let epoll = unsafe { OwnedFd::from_raw_fd(number) };
        self.reuse(epoll.as_fd()).then_some(epoll)
    }

    /// Adds the connection to the epoll. The connection leaves the epoll when it is closed.
    fn reuse(&self, epoll: BorrowedFd<'_>) -> bool {
        let mut event = libc::epoll_event {
            events: libc::EPOLLIN as u32,
            u64: 0,
        };
        let (epoll, connection) = (epoll.as_raw_fd(), self.as_fd().as_raw_fd());
        // SAFETY: two open descriptors, and an event of ours.
        unsafe { libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, connection, &mut event) == 0 }
    }

    fn key() -> &'static Key<Self> {
        static KEY: Key<Asked> = Key::new();
        &KEY
    }
}
