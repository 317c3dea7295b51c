//! Public-key operations: requests that take long, many of them in flight at once.
//!
//! An implementation that computes one at a time leaves the others waiting, which costs no throughput; one that
//! computes several at once takes what is waiting.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::cases::{RsaKey, RsaOperation, RsaRequest, RsaTasks};
use crate::error::Error;

/// The interface of an implementation for one thread.
pub trait PublicKey: Send {
    /// Submits the request with this number. It may start now, or when its result is requested.
    fn submit(&mut self, request: usize);

    /// Completes the oldest submitted request, and returns its result and those of any after it that are done by then,
    /// in order. At least one request has been submitted.
    fn finish(&mut self, results: &mut Results);

    /// Drops the submitted requests. None of them is under way afterwards.
    fn abandon(&mut self);
}

/// The results by number of request. The result of a verification is one byte: 1 for right, 0 for wrong.
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

    /// Records that a request is done, and returns room for the `bytes` bytes of its result.
    pub fn done(&mut self, request: usize, bytes: usize) -> &mut [u8] {
        self.done.push(request);
        let slot = &mut self.slots[request];
        slot.resize(bytes, 0);
        slot
    }

    /// Records that a request is done, like [`done`](Self::done), with a result that has its own memory.
    pub fn done_with(&mut self, request: usize, result: Vec<u8>) {
        self.done.push(request);
        self.slots[request] = result;
    }

    /// Returns the first request whose result is present and differs from that in `answers`.
    pub(crate) fn first_wrong(&self, answers: &[Vec<u8>]) -> Option<usize> {
        let mut pairs = self.slots.iter().zip(answers);
        pairs.position(|(result, answer)| !result.is_empty() && result != answer)
    }

    /// Returns the number of requests done since the last call.
    pub(crate) fn count(&mut self) -> usize {
        let count = self.done.len();
        self.done.clear();
        count
    }
}

/// An implementation that computes up to [`LANES`](Self::LANES) requests in one call.
pub trait Lanes: Send {
    /// The most requests of a call.
    const LANES: usize;

    /// Computes these requests, from one up to [`LANES`](Self::LANES).
    fn run(&mut self, requests: &[usize], results: &mut Results);
}

/// A queue of submitted requests in front of lanes, which take them in order.
#[derive(Debug)]
pub struct LaneQueue<L> {
    lanes: L,
    waiting: VecDeque<usize>,
}

impl<L: Lanes + 'static> LaneQueue<L> {
    /// Creates an empty queue.
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

/// An RSA key set up in an implementation that computes one request at a time.
pub trait SingleRsaKey: Send {
    /// Applies the private key to the request's number, or signs its digest, depending on `operation`.
    fn sign(&mut self, operation: RsaOperation, request: &RsaRequest, result: &mut [u8]);

    /// Whether the request's signature is right.
    fn verify(&mut self, request: &RsaRequest) -> bool;
}

/// The keys of one implementation, for all requests of a case.
#[derive(Debug)]
pub struct SingleRsa<K> {
    tasks: Arc<RsaTasks>,
    keys: Vec<K>,
}

impl<K: SingleRsaKey + 'static> SingleRsa<K> {
    /// Sets up all keys.
    ///
    /// # Errors
    /// The error of `key` for one that it cannot set up.
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
