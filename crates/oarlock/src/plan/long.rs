//! A long request, of any kind of session: which way it goes, who does what of it, and what of that
//! is counted.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::cores::Busy;
use super::engine::Engine;
use super::helpers::HelpersOf;
use super::pace::{Pace, Way};
use crate::costs::stats::OperationStats;
use crate::options::Strategy;
use crate::threads::pool::tickets::{Role, Tickets};

/// A request that is under way and timed. While it is, its caller counts as busy.
pub(crate) struct LongRequest<'a> {
    engine: &'a Engine,
    bytes: usize,
    helpers_max: usize,
    began: Instant,
    /// From there to a helper's first piece; the most there is while none has begun.
    first_help_ns: AtomicU64,
    _busy: Busy<'a>,
}

impl<'a> LongRequest<'a> {
    /// Most helpers that one may have. Where there are none, it need not be timed.
    pub(crate) fn helpers_max(engine: &Engine) -> usize {
        engine.helpers_max().min(engine.live.cipher_threads())
    }

    pub(crate) fn begin(engine: &'a Engine, bytes: usize) -> Self {
        Self {
            engine,
            bytes,
            helpers_max: Self::helpers_max(engine),
            began: Instant::now(),
            first_help_ns: AtomicU64::new(u64::MAX),
            _busy: engine.enter(),
        }
    }

    /// The way to go.
    pub(crate) fn choose(&self, strategy: Strategy, pace: &mut Pace) -> Way {
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

    /// Has `piece` do each number from 0 to `count` - 1 once, here and on up to `helpers` other
    /// threads, and takes note of who did how many.
    pub(crate) fn share(
        &self,
        helpers: usize,
        count: u32,
        counts: &mut OperationStats,
        piece: &(impl Fn(u32) + Sync),
    ) {
        let tickets = Tickets::new(count);
        let helper_stripes = AtomicU64::new(0);
        let (began, first_help_ns) = (self.began, &self.first_help_ns);
        let pool = self.engine.pool();
        pool.run(helpers, &|role| {
            let mut done = 0;
            while let Some(ticket) = tickets.take(role) {
                if role == Role::Helper && done == 0 {
                    let waited = began.elapsed().as_nanos() as u64;
                    first_help_ns.fetch_min(waited, Ordering::Relaxed);
                }
                done += 1;
                piece(ticket);
                // The caller does the rest.
                if role == Role::Helper && pool.has_jobs() {
                    break;
                }
            }
            if role == Role::Helper {
                helper_stripes.fetch_add(done, Ordering::Relaxed);
            }
        });
        counts.striped_requests += 1;
        counts.helper_stripes += helper_stripes.into_inner();
        if let Some(waited) = self.first_help() {
            counts.joined_requests += 1;
            counts.queue_wait += waited;
        }
    }

    fn first_help(&self) -> Option<Duration> {
        let ns = self.first_help_ns.load(Ordering::Relaxed);
        (ns != u64::MAX).then(|| Duration::from_nanos(ns))
    }

    /// Takes note of the time it took.
    pub(crate) fn end(self, way: Way, pace: &mut Pace, counts: &mut OperationStats) {
        let ended = Instant::now();
        if let Some(waited) = self.first_help() {
            pace.joined(&self.engine.machine, waited);
        }
        pace.learn(way, self.bytes, self.began, ended);
        counts.timed_requests += 1;
        counts.service += ended.duration_since(self.began);
    }
}
