//! When a request is done: one host, and behind it so many coprocessors, each first come, first
//! served. Nobody overtakes, so the end is known at the arrival.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use super::board::SimulatedBoard;
use crate::work::shape::Shape;

/// Until when the parts are busy. Times count from the making of the board.
pub(super) struct Schedule {
    host: Duration,
    coprocessors: BinaryHeap<Reverse<Duration>>,
    /// Requests so far.
    pub(super) admitted: u64,
}

/// A request in the schedule.
pub(super) struct Admitted {
    /// From 1.
    pub(super) number: u64,
    pub(super) done_at: Duration,
}

impl Schedule {
    pub(super) fn new(coprocessors: usize) -> Self {
        Self {
            host: Duration::ZERO,
            coprocessors: vec![Reverse(Duration::ZERO); coprocessors].into(),
            admitted: 0,
        }
    }

    /// The next request. `now` is not before that of the last one.
    pub(super) fn admit(
        &mut self,
        board: &SimulatedBoard,
        now: Duration,
        shape: &Shape,
    ) -> Admitted {
        self.admitted += 1;
        let number = self.admitted;
        self.host = self.host.max(now) + board.host_time(number, shape);
        // A board has at least one, so that there is always one that is free first.
        let free = self.coprocessors.pop().map_or(now, |Reverse(free)| free);
        let done_at = self.host.max(free) + board.coprocessor_time_of(number, shape);
        self.coprocessors.push(Reverse(done_at));
        Admitted { number, done_at }
    }
}
