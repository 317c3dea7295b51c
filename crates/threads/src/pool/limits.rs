//! The resources that a pool may use.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The resources that a pool may use, and how its threads behave.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Threads that are kept while they have nothing to do.
    pub min_threads: usize,
    /// The most threads that may exist.
    pub max_threads: usize,
    /// Whether an idle thread watches for work before it sleeps.
    pub spin: bool,
    /// How the kernel schedules them.
    pub scheduling: Scheduling,
    /// The pool is a guest in another vendor's program: threads give up their rights as they begin, and those above
    /// `min_threads` end 10 ms after their work, so that a program with one thread has one again.
    pub is_guest: bool,
    /// Called by each thread before it ends.
    pub at_end: fn(),
}

/// How the kernel schedules helpers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scheduling {
    /// Like any thread, on other CPUs than the caller's.
    Normal,
    /// On the caller's CPU, when no other thread wants it.
    Idle,
}

/// [`Limits`] that can change while helpers work.
pub(super) struct LiveLimits {
    pub(super) min_threads: AtomicUsize,
    pub(super) max_threads: AtomicUsize,
    pub(super) spin: AtomicBool,
    pub(super) scheduling: Scheduling,
    pub(super) is_guest: bool,
    pub(super) at_end: fn(),
}

impl LiveLimits {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            min_threads: AtomicUsize::new(limits.min_threads),
            max_threads: AtomicUsize::new(limits.max_threads),
            spin: AtomicBool::new(limits.spin),
            scheduling: limits.scheduling,
            is_guest: limits.is_guest,
            at_end: limits.at_end,
        }
    }

    #[inline]
    pub(super) fn min_threads(&self) -> usize {
        self.min_threads.load(Ordering::Relaxed)
    }

    pub(super) fn max_threads(&self) -> usize {
        self.max_threads.load(Ordering::Relaxed)
    }
}
