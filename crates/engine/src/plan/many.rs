//! Serves many short messages in one call: decides how, and how threads share them.
//!
//! A thread takes runs of messages, the caller from the front and helpers from the back, so each gets the buffers again
//! that its cache may hold from the last call. Everything that touches a message belongs in the shared work: a helper
//! must fetch what the caller writes first from the caller's cache.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::engine::{AUTO, Engine};
use super::long::LongRequest;
use super::route::Route;
use crate::Error;
use crate::costs::cost::Cost;
use crate::costs::published::Other;
use crate::work::algorithm::{Algorithm, Direction};
use oarlock_threads::pool::Slots;

/// The number of pool threads that may help with the packets of an association. It can be set at any time, from any
/// thread, on any clone; a call that is under way ends as it began.
///
/// Until it is set, the accelerator's option `cipher_threads` applies. It is an upper bound: the plan wakes no thread
/// for packets that one thread finishes sooner, and there are never more helpers than `max_threads` and the other CPUs.
#[derive(Clone, Debug)]
pub struct Workers(Arc<AtomicUsize>);

impl Workers {
    pub(crate) fn automatic() -> Self {
        Self(Arc::new(AtomicUsize::new(AUTO)))
    }

    /// Sets the number. With `Some(0)` the calling thread does everything; with `None` the options apply again.
    pub fn set(&self, workers: impl Into<Option<usize>>) {
        let workers = workers.into().map_or(AUTO, |it| it.min(AUTO - 1));
        self.0.store(workers, Ordering::Relaxed);
    }

    /// Returns the number that was set.
    pub fn get(&self) -> Option<usize> {
        let workers = self.0.load(Ordering::Relaxed);
        (workers != AUTO).then_some(workers)
    }

    fn helpers_max(&self, engine: &Engine) -> usize {
        match self.get() {
            None => LongRequest::helpers_max(engine),
            Some(workers) => workers.min(engine.helpers_max()),
        }
    }
}

/// The state of a flow of messages that one thread at a time passes in.
pub struct Flow {
    route: Route,
    workers: Workers,
    /// The fixed cost of a message, on top of that of its bytes, expressed in bytes.
    setup_bytes: usize,
    /// The least number of messages that one thread should take at once.
    run_min: usize,
    /// The algorithm that its messages are counted as; `None` for a cipher with an HMAC.
    algorithm: Option<Algorithm>,
    direction: Direction,
}

impl Flow {
    /// Opens a flow of messages with the cost `cost`; `run_min` of them gain by being computed together. Reserves
    /// threads if the options ask for it; its keys reserve none.
    ///
    /// # Errors
    /// [`Error::NoThreadsFree`] if the options ask for threads and too few are left.
    pub fn open(engine: &Arc<Engine>, cost: Cost, run_min: usize) -> Result<Self, Error> {
        let route = Route::new(Some(engine.reserve()?), cost, 0);
        route.follow_options();
        Ok(Self {
            route,
            workers: Workers::automatic(),
            setup_bytes: (cost.setup_ns * cost.bytes_per_ns) as usize,
            run_min,
            algorithm: None,
            direction: Direction::Encrypt,
        })
    }

    /// Sets what its messages are counted as.
    pub fn show_as(&mut self, algorithm: Option<Algorithm>, direction: Direction) {
        (self.algorithm, self.direction) = (algorithm, direction);
    }

    /// Returns the limit on helpers.
    pub fn workers(&self) -> &Workers {
        &self.workers
    }

    /// Applies `work` to `messages`, which have `bytes` together, in runs: on this thread and, if that is expected to
    /// be faster, on helpers too.
    pub fn run<T: Send>(
        &self,
        bytes: usize,
        messages: &mut [T],
        work: &(impl Fn(&mut [T]) + Sync),
    ) {
        self.count(messages.len(), bytes);
        let setup_bytes = messages.len().saturating_mul(self.setup_bytes);
        let bytes = bytes.saturating_add(setup_bytes);
        if self.route.is_short(bytes) || messages.len() <= self.run_min {
            return work(messages);
        }
        self.route.follow_options();
        self.route.run(
            bytes,
            |engine| self.workers.helpers_max(engine),
            messages,
            work,
            |messages, request| {
                let slots = Slots::new(messages, self.run_of(bytes, messages.len(), request));
                let take = |role| slots.take(role);
                request.share_out(&take, &|run: &mut [T]| work(run));
            },
        );
    }

    #[inline]
    fn count(&self, messages: usize, bytes: usize) {
        let direction = self.direction;
        match self.algorithm {
            Some(algorithm) => self.route.count(algorithm, direction, messages, bytes),
            None => self
                .route
                .count_other(Other::Chained, direction, messages, bytes),
        }
    }

    /// Adds the counts to the engine's totals, as work of `device`.
    pub fn hand_in(&self, device: &str, algorithm: Algorithm) {
        self.route.hand_in(device, algorithm);
    }

    /// Whether helpers have been at work since the counts were handed in.
    pub fn has_shared(&self) -> bool {
        self.route.has_shared()
    }

    /// Returns the number of messages in a run. There are enough runs that all threads finish together.
    fn run_of(&self, bytes: usize, messages: usize, request: &LongRequest<'_>) -> usize {
        let each_bytes = (bytes / messages).max(1);
        (messages / (RUNS_PER_THREAD * request.threads()))
            .max(request.run_bytes_min() / each_bytes)
            .max(self.run_min)
            .max(1)
    }
}

/// Each run begins with lines of the cache that another core has written. On two virtual CPUs far apart, 256 packets of
/// 1,400 bytes took 0.91 of the time with 4 runs that they took with 16; on near ones they took the same time.
const RUNS_PER_THREAD: usize = 4;
