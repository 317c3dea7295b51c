//! What the plan asks about the pool.

use std::time::Instant;

use super::engine::Engine;
use crate::costs::cost::Machine;

/// What a choice asks about the pool; asked in this order, only as far as needed.
pub(crate) trait Helpers {
    /// Helpers that a core is there for.
    fn available(&self) -> usize;
    /// Whether helpers cost more of late than they gained.
    fn are_crowded(&self, now: Instant) -> bool;
    /// Helpers that would start at once.
    fn awake(&self) -> usize;
    /// What they cost.
    fn machine(&self) -> Machine;
}

/// The pool, as the plan sees it.
pub(crate) struct HelpersOf<'a> {
    engine: &'a Engine,
    most: usize,
}

impl<'a> HelpersOf<'a> {
    /// Up to `most` of them.
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
