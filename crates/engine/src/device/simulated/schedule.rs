//! The model: one host, and behind it a number of coprocessors, each first come, first served. No request overtakes another,
//! so its end is known when it arrives.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use super::board::SimulatedBoard;
use crate::work::shape::Shape;

/// The times at which the host and the coprocessors become free, since the creation of the board.
pub(super) struct Schedule {
    host: Duration,
    coprocessors: BinaryHeap<Reverse<Duration>>,
    /// The number of requests so far.
    pub(super) admitted: u64,
}

/// A request in the schedule.
pub(super) struct Admitted {
    /// The request's number, from 1.
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

    /// Admits the next request. `now` must not decrease between calls.
    pub(super) fn admit(
        &mut self,
        board: &SimulatedBoard,
        now: Duration,
        shape: &Shape,
    ) -> Admitted {
        self.admitted += 1;
        let number = self.admitted;
        self.host = self.host.max(now) + board.host_time(number, shape);
        // A board has at least one coprocessor, so one is always the first to be free.
        let free = self.coprocessors.pop().map_or(now, |Reverse(free)| free);
        let done_at = self.host.max(free) + board.coprocessor_time_of(number, shape);
        self.coprocessors.push(Reverse(done_at));
        Admitted { number, done_at }
    }
}
