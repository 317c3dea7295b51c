//! Many short messages in a call: which way they go, and how threads share them.
//!
//! A thread takes runs of messages, the caller from the front and helpers from the back, so each comes
//! back to the buffers that its cache may hold from the last call. Whatever touches a message belongs into
//! the work that is shared: what the caller writes first, a helper must fetch from the caller's cache.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::engine::{Engine, Reserved};
use super::long::{LongRequest, Look, look_within};
use super::pace::{Pace, Way};
use super::strategy::FollowedStrategy;
use crate::Error;
use crate::costs::cost::Cost;
use crate::costs::published::Other;
use crate::costs::stats::AlgorithmStats;
use crate::options::Strategy;
use crate::work::algorithm::{Algorithm, Direction};
use oarlock_threads::pool::Slots;

/// How many pool threads may help with the packets of an association. Set at any time, from any thread,
/// by any of its clones; a call that is under way ends as it began.
///
/// Until it is set, the accelerator's option `cipher_threads` counts. It is an upper bound: the plan wakes
/// nobody for packets that one thread has done sooner, and there are never more helpers than
/// `max_threads` and other CPUs.
#[derive(Clone, Debug)]
pub struct Workers(Arc<AtomicUsize>);

impl Workers {
    pub(crate) fn automatic() -> Self {
        Self(Arc::new(AtomicUsize::new(AUTOMATIC)))
    }

    /// With `Some(0)` the calling thread does everything; with `None` the options count again.
    pub fn set(&self, workers: impl Into<Option<usize>>) {
        let workers = workers.into().map_or(AUTOMATIC, |it| it.min(AUTOMATIC - 1));
        self.0.store(workers, Ordering::Relaxed);
    }

    /// What was set.
    pub fn get(&self) -> Option<usize> {
        let workers = self.0.load(Ordering::Relaxed);
        (workers != AUTOMATIC).then_some(workers)
    }

    fn helpers_max(&self, engine: &Engine) -> usize {
        match self.get() {
            None => LongRequest::helpers_max(engine),
            Some(workers) => workers.min(engine.helpers_max()),
        }
    }
}

const AUTOMATIC: usize = usize::MAX;

/// What is known of a flow of messages that one thread at a time hands in.
pub struct Flow {
    engine: Arc<Engine>,
    strategy: FollowedStrategy,
    pace: Pace,
    workers: Workers,
    /// The fixed cost of a message, on top of that of its bytes, expressed in bytes.
    setup_bytes: usize,
    /// Calls with less are inline without reading the clock or asking the pool.
    long_bytes: usize,
    /// Messages that one thread should have at once.
    run_min: usize,
    counts: AlgorithmStats,
    /// What others see its messages as; a cipher and an HMAC where it is none.
    algorithm: Option<Algorithm>,
    direction: Direction,
    _reserved: Option<Reserved>,
}

impl Flow {
    /// Opens a flow of messages with the cost `cost`; `run_min` of them gain by being computed together. Keeps threads
    /// where the options ask for that: the sessions of its keys, whichever they are, keep none.
    pub fn open(engine: &Arc<Engine>, cost: Cost, run_min: usize) -> Result<Self, Error> {
        let mut flow = Self {
            engine: Arc::clone(engine),
            strategy: FollowedStrategy::default(),
            pace: Pace::new(cost),
            workers: Workers::automatic(),
            setup_bytes: (cost.setup_ns * cost.bytes_per_ns) as usize,
            long_bytes: 0,
            run_min,
            counts: AlgorithmStats::default(),
            algorithm: None,
            direction: Direction::Encrypt,
            _reserved: engine.reserve()?,
        };
        flow.follow_options();
        Ok(flow)
    }

    /// Says what others see its messages as.
    pub fn show_as(&mut self, algorithm: Option<Algorithm>, direction: Direction) {
        (self.algorithm, self.direction) = (algorithm, direction);
    }

    /// How many helpers it may have.
    pub fn workers(&self) -> &Workers {
        &self.workers
    }

    /// Has `work` do `messages`, which have `bytes` together, in runs: here and, where that is expected
    /// to gain, on helpers too.
    pub fn run<T: Send>(
        &mut self,
        bytes: usize,
        messages: &mut [T],
        work: &(impl Fn(&mut [T]) + Sync),
    ) {
        self.counts.requests += messages.len() as u64;
        self.counts.bytes += bytes as u64;
        let shown = self.engine.shown;
        match self.algorithm {
            Some(algorithm) => {
                shown.count_many(algorithm, self.direction, messages.len(), bytes);
            }
            None => {
                let count = messages.len() as u64;
                shown.count_other(Other::Chained, self.direction, count, bytes as u64);
            }
        }
        let setup_bytes = messages.len().saturating_mul(self.setup_bytes);
        let bytes = bytes.saturating_add(setup_bytes);
        if bytes < self.long_bytes || messages.len() <= self.run_min {
            return work(messages);
        }
        self.follow_options();
        self.run_long(bytes, messages, work);
        self.look_again();
    }

    fn run_long<T: Send>(
        &mut self,
        bytes: usize,
        messages: &mut [T],
        work: &(impl Fn(&mut [T]) + Sync),
    ) {
        let (engine, workers, strategy) = (&*self.engine, &self.workers, self.strategy.get());
        let helpers_max = |engine: &Engine| workers.helpers_max(engine);
        match look_within(engine, strategy, &mut self.pace, bytes, helpers_max) {
            Look::Inline => work(messages),
            Look::PassOver => {
                work(messages);
                self.pace.pass_over();
            }
            Look::At(request, way) => {
                match way {
                    Way::Inline => work(messages),
                    Way::Stripe { helpers } => {
                        let run = self.run_of(bytes, messages.len(), helpers + 1);
                        let slots = Slots::new(messages, run);
                        let take = |role| slots.take(role);
                        let counts = &mut self.counts;
                        request.share_out(helpers, counts, &take, &|run: &mut [T]| work(run));
                    }
                }
                request.end(way, &mut self.pace, &mut self.counts);
            }
        }
    }

    /// Hands in what was counted.
    pub fn hand_in(&mut self, device: &str, algorithm: Algorithm) {
        let counts = std::mem::take(&mut self.counts);
        if counts != AlgorithmStats::default() {
            self.engine.totals.add(device, algorithm, counts);
        }
    }

    /// Whether helpers have been at work since the counts were handed in.
    pub fn has_shared(&self) -> bool {
        self.counts.striped_requests > 0
    }

    /// Messages in a run: enough runs that the end is even.
    fn run_of(&self, bytes: usize, messages: usize, threads: usize) -> usize {
        let each_bytes = (bytes / messages).max(1);
        let least = self.pace.bytes_in_ns(RUN_NS_MIN) / each_bytes;
        (messages / (RUNS_PER_THREAD * threads))
            .max(least)
            .max(self.run_min)
            .max(1)
    }

    fn follow_options(&mut self) {
        let version = self.engine.live.version();
        if version != self.strategy.version() {
            self.strategy
                .follow(version, self.engine.options().strategy);
            self.look_again();
        }
    }

    fn look_again(&mut self) {
        self.long_bytes = match self.strategy.get() {
            Strategy::Stripe => 0,
            _ => self.pace.long_bytes(),
        };
    }
}

/// Each begins with lines of the cache that another core has written. On two virtual CPUs that were far apart, 256
/// packets of 1,400 bytes took 0.91 of the time with 4 that they took with 16, which was as long when they were near.
const RUNS_PER_THREAD: usize = 4;
/// A ticket and what goes with it take 20 to 50 ns.
const RUN_NS_MIN: f64 = 500.0;
