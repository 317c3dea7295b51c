//! The answer to a request that several threads may try to give, only one of which succeeds.
//!
//! ```text
//! held      one thread has the request: it submits it, moves it, or answers it
//! running   attempt n is under way on a device; the request waits here for its end
//! done      the answer is here
//! ```
//!
//! An attempt that ends must [`claim`](Slot::claim) the request by its number. A thread that takes the request away from an
//! attempt (the attempt stalled, its device has left, the caller cancelled) claims it too, so only one of two threads gets
//! it, and the other learns that it is late. The thread that claimed a request either finishes it or [puts it
//! back](Slot::put) under the next number, so a second answer, or one for a request that has moved on, finds nothing to
//! claim. `model/tests/model.rs` checks this with loom.

use std::task::{Poll, Waker};

use super::pool::sync::{self, Mutex};

/// A request of type `R` and its answer `A`.
pub struct Slot<R, A>(Mutex<State<R, A>>);

struct State<R, A> {
    stage: Stage<R, A>,
    /// The number of the last attempt.
    attempt: u32,
    waker: Option<Waker>,
}

enum Stage<R, A> {
    Held,
    Running(R),
    Done(A),
    Taken,
}

impl<R, A> Default for Slot<R, A> {
    /// Creates a slot whose request the caller holds.
    fn default() -> Self {
        Self(Mutex::new(State {
            stage: Stage::Held,
            attempt: 0,
            waker: None,
        }))
    }
}

impl<R, A> Slot<R, A> {
    /// Begins an attempt with `request`, which the caller holds, and returns the attempt's number.
    pub fn put(&self, request: R) -> u32 {
        self.locked(|state| {
            state.stage = Stage::Running(request);
            state.attempt += 1;
            state.attempt
        })
    }

    /// Takes the request for the attempt of this number, or returns `None` if that attempt is late.
    pub fn claim(&self, attempt: u32) -> Option<R> {
        self.claim_if(|current| current == attempt)
    }

    /// Takes the request, whichever attempt is in progress.
    pub fn claim_any(&self) -> Option<R> {
        self.claim_if(|_| true)
    }

    fn claim_if(&self, is_asked: impl FnOnce(u32) -> bool) -> Option<R> {
        self.locked(|state| {
            if !matches!(state.stage, Stage::Running(_)) || !is_asked(state.attempt) {
                return None;
            }
            match std::mem::replace(&mut state.stage, Stage::Held) {
                Stage::Running(request) => Some(request),
                _ => None,
            }
        })
    }

    /// Whether that attempt is in progress and has not been claimed.
    #[cfg_attr(loom, allow(dead_code))]
    pub fn is_running(&self, attempt: u32) -> bool {
        self.locked(|state| matches!(state.stage, Stage::Running(_)) && state.attempt == attempt)
    }

    /// Answers the request, which the caller holds. Returns the waker of a thread that waits for it.
    #[must_use]
    pub fn finish(&self, answer: A) -> Option<Waker> {
        self.locked(|state| {
            state.stage = Stage::Done(answer);
            state.waker.take()
        })
    }

    /// Takes the answer, or stores `waker` to be woken when there is one. `None` if the answer was taken before.
    pub fn take_or_leave(&self, waker: &Waker) -> Poll<Option<A>> {
        let mut fresh = Some(waker.clone());
        let outcome = self.locked(|state| match &state.stage {
            Stage::Done(_) => match std::mem::replace(&mut state.stage, Stage::Taken) {
                Stage::Done(answer) => Poll::Ready(Some(answer)),
                _ => Poll::Pending,
            },
            Stage::Taken => Poll::Ready(None),
            Stage::Held | Stage::Running(_) => {
                std::mem::swap(&mut state.waker, &mut fresh);
                Poll::Pending
            }
        });
        // Drop the previous waker, if any, without the lock.
        drop(fresh);
        outcome
    }

    /// Takes the answer, if there is one.
    pub fn take(&self) -> Option<A> {
        self.locked(|state| {
            if !matches!(state.stage, Stage::Done(_)) {
                return None;
            }
            match std::mem::replace(&mut state.stage, Stage::Taken) {
                Stage::Done(answer) => Some(answer),
                _ => None,
            }
        })
    }

    /// Whether there is an answer, or one was taken.
    #[inline]
    pub fn is_finished(&self) -> bool {
        self.locked(|state| matches!(state.stage, Stage::Done(_) | Stage::Taken))
    }

    /// Takes the waker of the waiting thread, which then looks again.
    pub fn rouse(&self) -> Option<Waker> {
        self.locked(|state| state.waker.take())
    }

    fn locked<T>(&self, change: impl FnOnce(&mut State<R, A>) -> T) -> T {
        change(&mut sync::lock(&self.0))
    }
}
