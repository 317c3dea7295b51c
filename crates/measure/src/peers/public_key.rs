//! Public-key operations: requests that take long, many of them in flight at once.
//!
//! An implementation that does one at a time keeps the others waiting, which costs no throughput;
//! one that does several at once takes what is there.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::cases::{RsaKey, RsaOperation, RsaRequest, RsaTasks};
use crate::error::Error;

/// What one thread asks of an implementation.
pub trait PublicKey: Send {
    /// Enters the request with this number. It may start now, or when its result is asked for.
    fn submit(&mut self, request: usize);

    /// Has the oldest of the requests that have entered done, and hands over its result and those
    /// of any after it that are done by then, in order. There is one.
    fn finish(&mut self, results: &mut Results);

    /// Forgets what has entered. Nothing of it is under way afterwards.
    fn abandon(&mut self);
}

/// Results by number of request. Of a verification it is one byte: 1 for right, 0 for wrong.
#[derive(Debug)]
pub struct Results {
    pub(crate) slots: Vec<Vec<u8>>,
    done: Vec<usize>,
}

impl Results {
    pub(crate) fn new(requests: usize) -> Self {
        Self {
            slots: vec![Vec::new(); requests],
            done: Vec::new(),
        }
    }

    /// Says that a request is done. What is returned has room for `bytes` of its result.
    pub fn done(&mut self, request: usize, bytes: usize) -> &mut [u8] {
        self.done.push(request);
        let slot = &mut self.slots[request];
        slot.resize(bytes, 0);
        slot
    }

    /// As [`done`](Self::done), with a result that has its own memory.
    pub fn done_with(&mut self, request: usize, result: Vec<u8>) {
        self.done.push(request);
        self.slots[request] = result;
    }

    /// The first that is there and is not the one of `answers`.
    pub(crate) fn first_wrong(&self, answers: &[Vec<u8>]) -> Option<usize> {
        let mut pairs = self.slots.iter().zip(answers);
        pairs.position(|(result, answer)| !result.is_empty() && result != answer)
    }

    /// How many were done since it was asked last.
    pub(crate) fn count(&mut self) -> usize {
        let count = self.done.len();
        self.done.clear();
        count
    }
}

/// An implementation that does up to [`LANES`](Self::LANES) requests in one call.
pub trait Lanes: Send {
    /// How many at most.
    const LANES: usize;

    /// Does these requests, from one up to [`LANES`](Self::LANES).
    fn run(&mut self, requests: &[usize], results: &mut Results);
}

/// Requests that have entered, in front of lanes that take them as they come.
#[derive(Debug)]
pub struct LaneQueue<L> {
    lanes: L,
    waiting: VecDeque<usize>,
}

impl<L: Lanes + 'static> LaneQueue<L> {
    /// With no request waiting.
    pub fn before(lanes: L) -> Box<dyn PublicKey> {
        let waiting = VecDeque::new();
        Box::new(Self { lanes, waiting })
    }
}

impl<L: Lanes> PublicKey for LaneQueue<L> {
    fn submit(&mut self, request: usize) {
        self.waiting.push_back(request);
    }

    fn finish(&mut self, results: &mut Results) {
        let group = L::LANES.min(self.waiting.len());
        let requests = self.waiting.make_contiguous();
        self.lanes.run(&requests[..group], results);
        self.waiting.drain(..group);
    }

    fn abandon(&mut self) {
        self.waiting.clear();
    }
}

/// An RSA key set up in an implementation that does one request at a time.
pub trait SingleRsaKey: Send {
    /// Applies the private key to the request's number, or signs its digest, as `operation` says.
    fn sign(&mut self, operation: RsaOperation, request: &RsaRequest, result: &mut [u8]);

    /// Whether the request's signature is right.
    fn verify(&mut self, request: &RsaRequest) -> bool;
}

/// Keys of one implementation, for all requests of a case.
#[derive(Debug)]
pub struct SingleRsa<K> {
    tasks: Arc<RsaTasks>,
    keys: Vec<K>,
}

impl<K: SingleRsaKey + 'static> SingleRsa<K> {
    /// Sets all keys up.
    ///
    /// # Errors
    /// What `key` says of one that it cannot set up.
    pub fn set_up(
        tasks: &Arc<RsaTasks>,
        key: impl Fn(&RsaKey) -> Result<K, Error>,
    ) -> Result<Box<dyn PublicKey>, Error> {
        let keys = tasks.keys.iter().map(key).collect::<Result<_, _>>()?;
        let tasks = Arc::clone(tasks);
        Ok(LaneQueue::before(Self { tasks, keys }))
    }
}

impl<K: SingleRsaKey> Lanes for SingleRsa<K> {
    const LANES: usize = 1;

    fn run(&mut self, requests: &[usize], results: &mut Results) {
        for number in requests {
            let request = &self.tasks.requests[*number];
            let key = &mut self.keys[request.key];
            match self.tasks.operation {
                RsaOperation::Verify => {
                    results.done(*number, 1)[0] = u8::from(key.verify(request));
                }
                operation => {
                    let result = results.done(*number, request.number.len());
                    key.sign(operation, request, result);
                }
            }
        }
    }
}
