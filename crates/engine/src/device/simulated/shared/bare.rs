//! A queue of a shared board for the fuzzer, without the code that computes results, in virtual time.

use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use super::{Figures, Queue, create};
use crate::Error;

/// Not part of the interface.
#[doc(hidden)]
pub struct BareQueue(Queue);

impl BareQueue {
    /// Creates the file.
    pub fn create(path: &Path, units: usize, queues: usize) -> Result<(), Error> {
        create(path, &figures(units), queues)
    }

    /// Opens the first free queue.
    pub fn open(path: &Path, units: usize) -> Result<Self, Error> {
        Queue::open(path, &figures(units)).map(Self)
    }

    /// Submits a request; returns whether there was room.
    pub fn push(&mut self, now_ns: u64, time: Duration) -> bool {
        self.0.push(now_ns, time)
    }

    /// Starts waiting requests of all queues while units are free.
    pub fn look(&self, now_ns: u64) {
        self.0.advance(now_ns);
    }

    /// Returns the end of the oldest request if it has been started. The outer `None`: the queue was overwritten, and its
    /// requests are lost.
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

    /// Returns all of the file, which any process that maps it can change.
    pub fn file(&self) -> &[AtomicU64] {
        self.0.file.numbers()
    }

    /// Returns the queue's offset and length in the file.
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
