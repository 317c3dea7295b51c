//! The plan's view of the pool.

use std::time::Instant;

use super::engine::Engine;
use crate::costs::cost::Machine;

/// What a choice asks about the pool: in this order, and only as far as needed.
pub(crate) trait Helpers {
    /// Returns the number of helpers that have a free core.
    fn available(&self) -> usize;
    /// Returns whether helpers have recently cost more than they gained.
    fn are_crowded(&self, now: Instant) -> bool;
    /// Returns the number of helpers that would start at once.
    fn awake(&self) -> usize;
    /// Returns what helpers cost.
    fn machine(&self) -> Machine;
}

/// The pool, as the plan sees it.
pub(crate) struct HelpersOf<'a> {
    engine: &'a Engine,
    most: usize,
}

impl<'a> HelpersOf<'a> {
    /// Returns a view of at most `most` helpers.
    pub(crate) fn of(engine: &'a Engine, most: usize) -> Self {
        Self { engine, most }
    }
}

impl Helpers for HelpersOf<'_> {
    fn available(&self) -> usize {
        self.engine.cores_free().min(self.most)
    }

    fn are_crowded(&self, now: Instant) -> bool {
        self.engine.crowd.bars(now)
    }

    fn awake(&self) -> usize {
        self.engine.helpers_awake()
    }

    fn machine(&self) -> Machine {
        self.engine.machine.get()
    }
}
