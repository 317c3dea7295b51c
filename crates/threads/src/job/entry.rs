//! A job from its submission to its result.

use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use crate::Error;
use crate::once::{Slot, wake};
use crate::process;

use super::batcher::{Batcher, Outcome, taken};
use super::options::{JobOptions, Priority};

/// A job as its handle and the queue share it. Its slot is locked in undivided sections.
pub struct Entry<B: Batcher> {
    slot: Slot<B::Work, Outcome<B::Output>>,
    /// Whether it is among the sleepers of the queue: the thread that waits for it could lead. Changed with the backlog
    /// locked.
    is_sleeping: AtomicBool,
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
            slot: Slot::waiting(work),
            is_sleeping: AtomicBool::new(false),
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
        self.claim()
    }

    pub(super) fn is_late(&self) -> bool {
        self.deadline
            .is_some_and(|deadline| deadline <= Instant::now())
    }

    /// Stores the outcome and returns the waker of the waiting thread, if any.
    #[must_use]
    pub(super) fn finish(&self, outcome: Outcome<B::Output>) -> Option<Waker> {
        process::undivided(|| self.slot.finish(outcome))
    }

    /// Resolves the job with `error` if no thread has begun it. Returns whether it did.
    pub(super) fn resolve_queued(&self, error: Error) -> bool {
        let work = self.claim();
        if work.is_some()
            && let Some(waker) = self.finish(Err(error))
        {
            wake(waker);
        }
        work.is_some()
    }

    /// Takes the outcome, or stores `waker` to be woken when there is one.
    pub fn take_or_leave(&self, waker: &Waker) -> Poll<Outcome<B::Output>> {
        self.cancel_inherited();
        let mut waker = Some(waker.clone());
        // The previous waker, if any, is dropped outside of the section.
        process::undivided(|| self.slot.take_or_leave(&mut waker))
            .map(|outcome| outcome.unwrap_or_else(|| Err(taken())))
    }

    pub fn take(&self) -> Option<Outcome<B::Output>> {
        self.cancel_inherited();
        process::undivided(|| self.slot.take())
    }

    pub fn is_finished(&self) -> bool {
        self.cancel_inherited();
        process::undivided(|| self.slot.is_finished())
    }

    /// Wakes the waiting thread of a job that no thread has begun. It then looks again.
    pub(super) fn wake(&self) {
        process::undivided(|| self.slot.rouse())
            .into_iter()
            .for_each(wake);
    }

    /// Takes the waker of the thread that sleeps for this job, if the job still waits. Called with the backlog locked, as
    /// are the two functions below.
    pub(super) fn rouse(&self) -> Option<Waker> {
        self.set_sleeping(false);
        self.slot.rouse()
    }

    /// Returns the previous value.
    pub(super) fn set_sleeping(&self, is_sleeping: bool) -> bool {
        self.is_sleeping.swap(is_sleeping, Ordering::Relaxed)
    }

    pub(super) fn is_queued(&self) -> bool {
        self.slot.is_waiting()
    }

    fn claim(&self) -> Option<B::Work> {
        process::undivided(|| self.slot.claim_any())
    }

    /// Cancels a job that a forked child inherits: no thread of the child computes what the parent had queued or begun.
    fn cancel_inherited(&self) {
        if self.fork_generation != process::fork_generation() {
            // The request is dropped outside of the section.
            drop(process::undivided(|| {
                self.slot.give_up(Err(Error::Cancelled))
            }));
        }
    }
}
