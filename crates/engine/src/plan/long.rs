//! A long request, of any kind of session: how it is served, how threads share it, and what is counted.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use inout::InOutBuf;

use super::cores::Busy;
use super::cut::STRIPE_NS_MIN;
use super::engine::Engine;
use super::helpers::HelpersOf;
use super::pace::{Pace, Way};
use crate::costs::stats::AlgorithmStats;
use crate::options::Strategy;
use oarlock_threads::pool::Role;
use oarlock_threads::pool::Stripes;
use oarlock_threads::process;

/// A request that is under way and timed. Its caller counts as busy until it ends.
pub(crate) struct LongRequest<'a> {
    engine: &'a Engine,
    bytes: usize,
    helpers_max: usize,
    helpers: usize,
    stripe_bytes: usize,
    run_bytes_min: usize,
    began: Instant,
    /// The time from `began` to a helper's first piece; the greatest number while none has begun.
    first_help_ns: AtomicU64,
    shared: Cell<Option<Shared>>,
    counts: Cell<AlgorithmStats>,
    _busy: Busy<'a>,
}

/// The outcome of a request's stripes.
#[derive(Clone, Copy)]
struct Shared {
    /// The time of one of the caller's stripes, times the number of stripes of helpers.
    theirs: Duration,
    /// Whether helpers ran on the caller's CPU, in time that the caller lacked.
    was_on_callers_cpu: bool,
    /// The time at which the caller had no stripes left to compute.
    caller_done: Instant,
}

impl<'a> LongRequest<'a> {
    /// Returns the most helpers that a request may have. If it is 0, the request need not be timed.
    pub(crate) fn helpers_max(engine: &Engine) -> usize {
        engine.helpers_max().min(engine.live.cipher_threads())
    }

    pub(crate) fn begin(engine: &'a Engine, bytes: usize) -> Self {
        Self {
            engine,
            bytes,
            helpers_max: Self::helpers_max(engine),
            helpers: 0,
            stripe_bytes: bytes,
            run_bytes_min: 0,
            began: Instant::now(),
            first_help_ns: AtomicU64::new(u64::MAX),
            shared: Cell::new(None),
            counts: Cell::default(),
            _busy: engine.enter(),
        }
    }

    /// Begins a request of `bytes`, inline or in stripes as the strategy says, with at most the number of helpers that
    /// `helpers_max` returns, if it is called. Returns `None` for one that is inline and need not be timed.
    pub(super) fn plan(
        engine: &'a Engine,
        strategy: Strategy,
        pace: &mut Pace,
        bytes: usize,
        helpers_max: impl FnOnce(&Engine) -> usize,
    ) -> Option<(Self, Way)> {
        if matches!(strategy, Strategy::Inline | Strategy::Prefetch) {
            return None;
        }
        let helpers_max = helpers_max(engine);
        if helpers_max == 0 {
            return None;
        }
        let mut request = Self {
            helpers_max,
            ..Self::begin(engine, bytes)
        };
        let way = request.choose(strategy, pace);
        if let Way::Stripe { helpers } = way {
            request.cut(pace, helpers);
        }
        Some((request, way))
    }

    /// Divides it among `helpers` others and the caller.
    pub(crate) fn cut(&mut self, pace: &Pace, helpers: usize) {
        self.helpers = helpers;
        self.stripe_bytes = pace.stripe_bytes(self.bytes, helpers + 1);
        self.run_bytes_min = pace.bytes_in_ns(STRIPE_NS_MIN);
    }

    /// Returns the number of threads that share it, including the caller.
    pub(crate) fn threads(&self) -> usize {
        self.helpers + 1
    }

    /// Returns the length of its stripes, a multiple of 64 if it is cut. A request that is no longer than that should
    /// not be cut.
    pub(crate) fn stripe_bytes(&self) -> usize {
        self.stripe_bytes
    }

    /// Returns the bytes that a thread should take at once, in whole messages.
    pub(crate) fn run_bytes_min(&self) -> usize {
        self.run_bytes_min
    }

    /// Chooses how the request is served.
    fn choose(&self, strategy: Strategy, pace: &mut Pace) -> Way {
        match strategy {
            Strategy::Inline | Strategy::Prefetch => Way::Inline,
            Strategy::Stripe => Way::Stripe {
                helpers: self.helpers_max,
            },
            Strategy::Auto => {
                let pool = HelpersOf::of(self.engine, self.helpers_max);
                pace.choose(self.bytes, self.began, &pool)
            }
        }
    }

    /// Calls `piece` once for each stripe, with its number, here and on the helpers, and counts how many each did.
    pub(crate) fn share(
        &self,
        stripes: &Stripes<'_>,
        piece: &(impl Fn(u32, InOutBuf<'_, '_, u8>) + Sync),
    ) {
        let take = |role| stripes.take(role);
        self.share_out(&take, &|(number, stripe)| piece(number, stripe));
    }

    /// Calls `piece` for everything that `take` returns, as [`share`](Self::share) does for stripes.
    pub(crate) fn share_out<T>(
        &self,
        take: &(impl Fn(Role) -> Option<T> + Sync),
        piece: &(impl Fn(T) + Sync),
    ) {
        let (helper_stripes, caller_stripes) = (AtomicU64::new(0), AtomicU64::new(0));
        let caller_ns = AtomicU64::new(0);
        let callers_cpu = process::cpu();
        let was_on_callers_cpu = AtomicBool::new(false);
        let (began, first_help_ns) = (self.began, &self.first_help_ns);
        let pool = self.engine.pool();
        pool.run(self.helpers, &|role| {
            let mut done = 0;
            while let Some(taken) = take(role) {
                if role == Role::Helper && done == 0 {
                    let waited = began.elapsed().as_nanos() as u64;
                    // Each write takes the cache line from all other cores.
                    if waited < first_help_ns.load(Ordering::Relaxed) {
                        first_help_ns.fetch_min(waited, Ordering::Relaxed);
                    }
                    if process::cpu() == callers_cpu {
                        was_on_callers_cpu.store(true, Ordering::Relaxed);
                    }
                }
                done += 1;
                piece(taken);
                // The caller does the rest.
                if role == Role::Helper && pool.has_jobs() {
                    break;
                }
            }
            if role == Role::Helper {
                helper_stripes.fetch_add(done, Ordering::Relaxed);
            } else {
                caller_stripes.store(done, Ordering::Relaxed);
                let ns = began.elapsed().as_nanos() as u64;
                caller_ns.store(ns, Ordering::Relaxed);
            }
        });
        let helper_stripes = helper_stripes.into_inner();
        let caller_ns = caller_ns.into_inner();
        let each_ns = caller_ns / caller_stripes.into_inner().max(1);
        self.shared.set(Some(Shared {
            theirs: Duration::from_nanos(each_ns.saturating_mul(helper_stripes)),
            was_on_callers_cpu: was_on_callers_cpu.into_inner(),
            caller_done: began + Duration::from_nanos(caller_ns),
        }));
        let mut counts = self.counts();
        counts.striped_requests += 1;
        counts.helper_stripes += helper_stripes;
        if let Some(waited) = self.first_help() {
            counts.joined_requests += 1;
            counts.queue_wait += waited;
        }
        self.counts.set(counts);
    }

    /// Returns what was counted so far.
    pub(super) fn counts(&self) -> AlgorithmStats {
        self.counts.get()
    }

    fn first_help(&self) -> Option<Duration> {
        let ns = self.first_help_ns.load(Ordering::Relaxed);
        (ns != u64::MAX).then(|| Duration::from_nanos(ns))
    }

    /// Records the time that the request took, and returns its counts.
    pub(super) fn end(&self, way: Way, pace: &mut Pace) -> AlgorithmStats {
        let ended = Instant::now();
        if let Some(waited) = self.first_help() {
            pace.joined(&self.engine.machine, waited);
        }
        if let Some(shared) = self.shared.get() {
            let waited = ended.saturating_duration_since(shared.caller_done);
            let (gain, loss) = match shared.was_on_callers_cpu {
                true => (Duration::ZERO, waited.saturating_add(shared.theirs)),
                false => (shared.theirs, waited),
            };
            self.engine.crowd.learn(gain, loss, ended);
        }
        pace.learn(way, self.bytes, self.began, ended);
        let mut counts = self.counts();
        counts.timed_requests += 1;
        counts.service += ended.duration_since(self.began);
        counts
    }
}
