//! A job from its submission to its result.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use crate::Error;
use crate::pool::sync::{self, Mutex};
use crate::process;

use super::batcher::{Batcher, Outcome};
use super::options::{JobOptions, Priority};

/// What a job is to its handle and to the queue.
pub struct Entry<B: Batcher> {
    state: Mutex<State<B>>,
    pub(super) class: usize,
    pub(super) priority: Priority,
    pub(super) deadline: Option<Instant>,
    /// What it adds to the load of the queue.
    pub(super) cost: Duration,
    /// Its place among all jobs of the queue.
    pub(super) number: u64,
    /// Whether a caller waits for it at once, and has not submitted it to be waited for later.
    pub(super) is_call: bool,
    /// [`process::fork_generation`] of the process that submitted it.
    fork_generation: usize,
}

struct State<B: Batcher> {
    stage: Stage<B>,
    waker: Option<Waker>,
    /// Whether it is among the sleepers of the queue: the thread that waits for it would lead.
    is_sleeping: bool,
}

enum Stage<B: Batcher> {
    Queued(B::Work),
    Running,
    Done(Outcome<B::Output>),
    Taken,
}

impl<B: Batcher> Entry<B> {
    /// Makes an entry for `work` that has not begun. The queue numbers it.
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

    /// The work, for a thread that does it now. None where the job is in another stage, or is now,
    /// since its deadline has passed.
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

    /// Returns what wakes a thread that waits for it.
    #[must_use]
    pub(super) fn finish(&self, outcome: Outcome<B::Output>) -> Option<Waker> {
        self.locked(|state| {
            state.stage = Stage::Done(outcome);
            state.waker.take()
        })
    }

    /// Answers a job that nobody has begun. Returns whether there was one.
    pub(super) fn resolve_queued(&self, error: Error) -> bool {
        let resolved = self.locked(|state| {
            if !matches!(state.stage, Stage::Queued(_)) {
                return None;
            }
            let stage = std::mem::replace(&mut state.stage, Stage::Done(Err(error)));
            Some((stage, state.waker.take()))
        });
        // Drop what was asked, and wake the waiting thread, without the lock.
        let Some((_work, waker)) = resolved else {
            return false;
        };
        if let Some(waker) = waker {
            wake(waker);
        }
        true
    }

    /// The outcome; or it leaves `waker`, for when it is there.
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
        // The waker before, if any, is dropped here, without the lock.
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

    /// Wakes the thread that waits, to look again.
    pub(super) fn wake(&self) {
        if let Some(waker) = self.locked(|state| state.waker.take()) {
            wake(waker);
        }
    }

    /// What wakes the thread that sleeps for this job, if that still waits. Called with the backlog
    /// locked, as are the two below.
    pub(super) fn rouse(&self) -> Option<Waker> {
        let mut state = sync::lock(&self.state);
        state.is_sleeping = false;
        let is_waiting = matches!(state.stage, Stage::Queued(_));
        if is_waiting { state.waker.take() } else { None }
    }

    /// Returns what was before.
    pub(super) fn set_sleeping(&self, is_sleeping: bool) -> bool {
        std::mem::replace(&mut sync::lock(&self.state).is_sleeping, is_sleeping)
    }

    pub(super) fn is_queued(&self) -> bool {
        matches!(sync::lock(&self.state).stage, Stage::Queued(_))
    }

    /// In a forked child, nobody does what its parent had begun or queued.
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

/// Wakes by a waker that a caller brought. It may panic, which must not end the thread that computes,
/// cancels or drops jobs of others.
pub(super) fn wake(waker: Waker) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| waker.wake())) {
        // Its drop may panic in its turn.
        std::mem::forget(panic);
    }
}
