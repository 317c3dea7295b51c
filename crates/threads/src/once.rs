//! The answer to a request that several threads may try to give, only one of which succeeds.
//!
//! ```text
//! held      one thread has the request: it submits it, moves it, computes it, or answers it
//! waiting   the request is here, in a queue or while attempt n is under way on a device
//! done      the answer is here
//! ```
//!
//! An attempt that ends must [`claim`](Slot::claim) the request by its number. A thread that takes the request away from an
//! attempt (the attempt stalled, its device has left, the caller cancelled) claims it too, so only one of two threads gets
//! it, and the other learns that it is late. The thread that claimed a request either finishes it or [puts it
//! back](Slot::put) under the next number, so a second answer, or one for a request that has moved on, finds nothing to
//! claim. `model/tests/model.rs` checks this with loom.

use std::task::{Poll, Waker};

use super::caught::caught;
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
    Waiting(R),
    Done(A),
    Taken,
}

impl<R, A> Default for Slot<R, A> {
    /// Creates a slot whose request the caller holds.
    fn default() -> Self {
        Self::of(Stage::Held)
    }
}

impl<R, A> Slot<R, A> {
    /// Creates a slot in which `request` waits.
    pub fn waiting(request: R) -> Self {
        Self::of(Stage::Waiting(request))
    }

    fn of(stage: Stage<R, A>) -> Self {
        Self(Mutex::new(State {
            stage,
            attempt: 0,
            waker: None,
        }))
    }

    /// Begins an attempt with `request`, which the caller holds, and returns the attempt's number.
    pub fn put(&self, request: R) -> u32 {
        self.locked(|state| {
            state.stage = Stage::Waiting(request);
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
            if !matches!(state.stage, Stage::Waiting(_)) || !is_asked(state.attempt) {
                return None;
            }
            match std::mem::replace(&mut state.stage, Stage::Held) {
                Stage::Waiting(request) => Some(request),
                _ => None,
            }
        })
    }

    /// Whether nobody has claimed the request.
    pub fn is_waiting(&self) -> bool {
        self.locked(|state| matches!(state.stage, Stage::Waiting(_)))
    }

    /// Whether that attempt is in progress and has not been claimed.
    #[cfg_attr(loom, allow(dead_code))]
    pub fn is_running(&self, attempt: u32) -> bool {
        self.locked(|state| matches!(state.stage, Stage::Waiting(_)) && state.attempt == attempt)
    }

    /// Answers the request, which the caller holds. Returns the waker of a thread that waits for it.
    #[must_use]
    pub fn finish(&self, answer: A) -> Option<Waker> {
        self.locked(|state| {
            state.stage = Stage::Done(answer);
            state.waker.take()
        })
    }

    /// Answers a request that nobody will answer any more, unless it has an answer. Returns the request if it waits.
    pub fn give_up(&self, answer: A) -> Option<R> {
        let mut answer = Some(answer);
        self.locked(|state| {
            if let Stage::Held | Stage::Waiting(_) = state.stage
                && let Some(answer) = answer.take()
                && let Stage::Waiting(request) =
                    std::mem::replace(&mut state.stage, Stage::Done(answer))
            {
                return Some(request);
            }
            None
        })
    }

    /// Takes the answer, or exchanges `waker` for the one to be woken until now, for the caller to drop. `None` if the answer
    /// was taken before.
    pub fn take_or_leave(&self, waker: &mut Option<Waker>) -> Poll<Option<A>> {
        self.locked(|state| match &state.stage {
            Stage::Done(_) => match std::mem::replace(&mut state.stage, Stage::Taken) {
                Stage::Done(answer) => Poll::Ready(Some(answer)),
                _ => Poll::Pending,
            },
            Stage::Taken => Poll::Ready(None),
            Stage::Held | Stage::Waiting(_) => {
                std::mem::swap(&mut state.waker, waker);
                Poll::Pending
            }
        })
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

    /// Takes the waker of the thread that waits for a request that nobody has claimed. The thread then looks again.
    pub fn rouse(&self) -> Option<Waker> {
        self.locked(|state| match &state.stage {
            Stage::Waiting(_) => state.waker.take(),
            _ => None,
        })
    }

    fn locked<T>(&self, change: impl FnOnce(&mut State<R, A>) -> T) -> T {
        change(&mut sync::lock(&self.0))
    }
}

/// Calls a caller's waker. It may panic, which must not end the thread that computes, cancels or drops requests of others.
pub fn wake(waker: Waker) {
    let _ = caught(|| waker.wake());
}
