//! A queue of a shared board without what computes behind it, in whatever time it is told: for the fuzzer.

use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use super::{Figures, Queue, create};
use crate::Error;

/// No part of the interface.
#[doc(hidden)]
pub struct BareQueue(Queue);

impl BareQueue {
    /// Makes the file.
    pub fn create(path: &Path, units: usize, queues: usize) -> Result<(), Error> {
        create(path, &figures(units), queues)
    }

    /// The first queue that is free.
    pub fn open(path: &Path, units: usize) -> Result<Self, Error> {
        Queue::open(path, &figures(units)).map(Self)
    }

    /// Submits a request; returns whether there was room.
    pub fn push(&mut self, now_ns: u64, time: Duration) -> bool {
        self.0.push(now_ns, time)
    }

    /// Starts what waits in any of the queues, as far as units are free.
    pub fn look(&self, now_ns: u64) {
        self.0.advance(now_ns);
    }

    /// The end of the oldest request, if it has been started. None in `Err`: the queue was written over, and what was in
    /// it is lost.
    pub fn next_started(&mut self, now_ns: u64) -> Option<Option<u64>> {
        let next = self.0.next_started(now_ns);
        if next.is_err() {
            self.0.begin_anew();
        }
        next.ok()
    }

    /// Returns when to poll again.
    pub fn next_end_min(&self, now_ns: u64) -> Option<u64> {
        self.0.next_end_min(now_ns)
    }

    /// All that the file holds, as any process that maps it can change it.
    pub fn file(&self) -> &[AtomicU64] {
        self.0.file.numbers()
    }

    /// Where the queue begins in it, and how long it is.
    pub fn place(&self) -> (usize, usize) {
        let place = super::place(self.0.number);
        (place.start, place.len())
    }
}

fn figures(units: usize) -> Figures {
    Figures {
        units,
        depth: 128,
        others: [1, 2, 3, 4, 5],
    }
}
