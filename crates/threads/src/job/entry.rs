//! A job from its submission to its result.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use crate::Error;
use crate::pool::sync::{self, Mutex};
use crate::process;

use super::batcher::{Batcher, Outcome};
use super::options::{JobOptions, Priority};

/// A job as its handle and the queue share it.
pub struct Entry<B: Batcher> {
    state: Mutex<State<B>>,
    pub(super) class: usize,
    pub(super) priority: Priority,
    pub(super) deadline: Option<Instant>,
    /// The time that it adds to the load of the queue.
    pub(super) cost: Duration,
    /// Its number in the order in which jobs entered the queue.
    pub(super) number: u64,
    /// Whether a caller waits for it at once, as opposed to submitting it and taking the result later.
    pub(super) is_call: bool,
    /// [`process::fork_generation`] of the process that submitted it.
    fork_generation: usize,
}

struct State<B: Batcher> {
    stage: Stage<B>,
    waker: Option<Waker>,
    /// Whether it is among the sleepers of the queue: the thread that waits for it could lead.
    is_sleeping: bool,
}

enum Stage<B: Batcher> {
    Queued(B::Work),
    Running,
    Done(Outcome<B::Output>),
    Taken,
}

impl<B: Batcher> Entry<B> {
    /// Creates an entry for `work` that no thread has begun. The queue numbers it.
    pub(super) fn new(
        work: B::Work,
        class: usize,
        cost: Duration,
        options: JobOptions,
        is_call: bool,
    ) -> Self {
        Self {
            state: Mutex::new(State {
                stage: Stage::Queued(work),
                waker: None,
                is_sleeping: false,
            }),
            class,
            priority: options.priority,
            deadline: options.deadline,
            cost,
            number: 0,
            is_call,
            fork_generation: process::fork_generation(),
        }
    }

    /// Takes the work, for a thread that computes it now. `None` if the job is not queued, or was just resolved because its
    /// deadline has passed.
    pub(super) fn begin(&self) -> Option<B::Work> {
        self.cancel_inherited();
        if self.is_late() {
            self.resolve_queued(Error::DeadlinePassed);
        }
        self.locked(|state| match state.stage {
            Stage::Queued(_) => match std::mem::replace(&mut state.stage, Stage::Running) {
                Stage::Queued(work) => Some(work),
                _ => None,
            },
            _ => None,
        })
    }

    pub(super) fn is_late(&self) -> bool {
        self.deadline
            .is_some_and(|deadline| deadline <= Instant::now())
    }

    /// Stores the outcome and returns the waker of the waiting thread, if any.
    #[must_use]
    pub(super) fn finish(&self, outcome: Outcome<B::Output>) -> Option<Waker> {
        self.locked(|state| {
            state.stage = Stage::Done(outcome);
            state.waker.take()
        })
    }

    /// Resolves the job with `error` if no thread has begun it. Returns whether it did.
    pub(super) fn resolve_queued(&self, error: Error) -> bool {
        let resolved = self.locked(|state| {
            if !matches!(state.stage, Stage::Queued(_)) {
                return None;
            }
            let stage = std::mem::replace(&mut state.stage, Stage::Done(Err(error)));
            Some((stage, state.waker.take()))
        });
        // Drop the work, and wake the waiting thread, without the lock.
        let Some((_work, waker)) = resolved else {
            return false;
        };
        if let Some(waker) = waker {
            wake(waker);
        }
        true
    }

    /// Takes the outcome, or stores `waker` to be woken when there is one.
    pub fn take_or_leave(&self, waker: &Waker) -> Poll<Outcome<B::Output>> {
        self.cancel_inherited();
        let mut fresh = Some(waker.clone());
        let outcome = self.locked(|state| match &state.stage {
            Stage::Done(_) => match std::mem::replace(&mut state.stage, Stage::Taken) {
                Stage::Done(outcome) => Poll::Ready(outcome),
                _ => Poll::Pending,
            },
            Stage::Taken => Poll::Ready(Err(Error::InvalidInput(
                "the job's result has been taken already".into(),
            ))),
            Stage::Queued(_) | Stage::Running => {
                std::mem::swap(&mut state.waker, &mut fresh);
                Poll::Pending
            }
        });
        // Drop the previous waker, if any, without the lock.
        drop(fresh);
        outcome
    }

    pub fn take(&self) -> Option<Outcome<B::Output>> {
        self.cancel_inherited();
        self.locked(|state| {
            if !matches!(state.stage, Stage::Done(_)) {
                return None;
            }
            match std::mem::replace(&mut state.stage, Stage::Taken) {
                Stage::Done(outcome) => Some(outcome),
                _ => None,
            }
        })
    }

    pub fn is_finished(&self) -> bool {
        self.cancel_inherited();
        self.locked(|state| matches!(state.stage, Stage::Done(_) | Stage::Taken))
    }

    /// Wakes the waiting thread, which then looks again.
    pub(super) fn wake(&self) {
        if let Some(waker) = self.locked(|state| state.waker.take()) {
            wake(waker);
        }
    }

    /// Takes the waker of the thread that sleeps for this job, if the job still waits. Called with the backlog locked, as
    /// are the two functions below.
    pub(super) fn rouse(&self) -> Option<Waker> {
        let mut state = sync::lock(&self.state);
        state.is_sleeping = false;
        let is_waiting = matches!(state.stage, Stage::Queued(_));
        if is_waiting { state.waker.take() } else { None }
    }

    /// Returns the previous value.
    pub(super) fn set_sleeping(&self, is_sleeping: bool) -> bool {
        std::mem::replace(&mut sync::lock(&self.state).is_sleeping, is_sleeping)
    }

    pub(super) fn is_queued(&self) -> bool {
        matches!(sync::lock(&self.state).stage, Stage::Queued(_))
    }

    /// Cancels a job that a forked child inherits: no thread of the child computes what the parent had queued or begun.
    fn cancel_inherited(&self) {
        if self.fork_generation == process::fork_generation() {
            return;
        }
        let before = self.locked(|state| {
            matches!(state.stage, Stage::Queued(_) | Stage::Running)
                .then(|| std::mem::replace(&mut state.stage, Stage::Done(Err(Error::Cancelled))))
        });
        drop(before);
    }

    fn locked<R>(&self, change: impl FnOnce(&mut State<B>) -> R) -> R {
        process::undivided(|| change(&mut sync::lock(&self.state)))
    }
}

/// Calls a caller's waker. It may panic, which must not end the thread that computes, cancels or drops jobs of others.
pub(super) fn wake(waker: Waker) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| waker.wake())) {
        // Dropping the payload may panic in turn.
        std::mem::forget(panic);
    }
}
