//! What every session keeps around its key, once: how its requests are served, and their counts.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::engine::{Engine, Reserved};
use super::long::LongRequest;
use super::pace::{Pace, Way};
use super::strategy::FollowedStrategy;
use crate::Error;
use crate::costs::cost::Cost;
use crate::costs::published::{Other, Shown};
use crate::costs::stats::AlgorithmStats;
use crate::device::keyed::Keyed;
use crate::device::session::Session;
use crate::options::{Options, Strategy};
use crate::work::algorithm::{Algorithm, Direction};
use oarlock_threads::process;

/// How a session's requests are served, for any number of threads at once.
pub(crate) struct Route {
    /// The accelerator, and the threads that it reserves for this route. `None` for a route without an accelerator,
    /// which is always inline.
    reserved: Option<Reserved>,
    strategy: FollowedStrategy,
    /// Locked only briefly, and only with `try_lock`: a request that finds it locked goes inline, as does one in a
    /// child that was forked while it was locked.
    pace: Mutex<Pace>,
    /// Requests below this are inline, without reading the clock or the pool.
    long_bytes: AtomicUsize,
    /// Half the length from which on [`Strategy::Stripe`] samples requests; its stripes have a page and more.
    stripe_bytes_min: usize,
    counts: Counts,
    /// The counters that other processes see.
    shown: Shown,
}

/// Opens a session on the device that the plan expects to be fastest, with a route of its own. [`Strategy::Stripe`]
/// samples requests of twice `stripe_bytes_min` and more.
pub(crate) fn open<K: Keyed>(
    engine: &Arc<Engine>,
    algorithm: Algorithm,
    key: &[u8],
    stripe_bytes_min: usize,
) -> Result<(Session<K>, Route), Error> {
    // A context that gets no threads asks again and again, so this comes before everything that takes time.
    let reserved = engine.reserve()?;
    let session = Session::open(&engine.ciphers, algorithm, key)?;
    let route = Route::new(Some(reserved), session.cost, stripe_bytes_min);
    Ok((session, route))
}

impl Route {
    /// Makes the route of a session of the cost `cost`. It does not follow the options yet.
    pub(crate) fn new(reserved: Option<Reserved>, cost: Cost, stripe_bytes_min: usize) -> Self {
        Self {
            strategy: FollowedStrategy::default(),
            pace: Mutex::new(Pace::new(cost)),
            long_bytes: AtomicUsize::new(usize::MAX),
            stripe_bytes_min,
            counts: Counts::default(),
            shown: reserved
                .as_ref()
                .map_or_else(Shown::default, |it| it.engine().shown),
            reserved,
        }
    }

    #[inline]
    pub(crate) fn engine(&self) -> Option<&Arc<Engine>> {
        self.reserved.as_ref().map(Reserved::engine)
    }

    /// Whether a request of `bytes` is inline without reading the clock or the pool.
    #[inline]
    pub(crate) fn is_short(&self, bytes: usize) -> bool {
        bytes < self.long_bytes()
    }

    /// Returns the length from which on a request is sampled.
    #[inline]
    pub(crate) fn long_bytes(&self) -> usize {
        self.long_bytes.load(Ordering::Relaxed)
    }

    pub(crate) fn strategy(&self) -> Strategy {
        self.strategy.get()
    }

    /// Whether the strategy was set, and no longer follows the options.
    pub(crate) fn is_strategy_set(&self) -> bool {
        self.strategy.is_set()
    }

    pub(crate) fn set_strategy(&self, strategy: Strategy) {
        self.strategy.set(strategy);
        self.look_again();
    }

    /// Whether the accelerator's options have changed since they were followed.
    pub(crate) fn has_new_options(&self) -> bool {
        self.engine()
            .is_some_and(|engine| engine.live.version() != self.strategy.version())
    }

    /// Follows the accelerator's options if they have changed. Returns them if they have.
    pub(crate) fn follow_options(&self) -> Option<Options> {
        let engine = self.engine()?;
        let version = engine.live.version();
        if version == self.strategy.version() {
            return None;
        }
        // These are of that version or newer.
        let options = engine.options();
        self.strategy.follow(version, options.strategy);
        self.look_again();
        Some(options)
    }

    /// Lends the pace, unless another request is using it.
    pub(crate) fn with_pace<T>(&self, run: impl FnOnce(&mut Pace) -> T) -> Option<T> {
        self.pace.try_lock().ok().map(|mut pace| run(&mut pace))
    }

    /// Determines again from which length on a request reads the clock and the pool.
    pub(crate) fn look_again(&self) {
        self.look_by(self.pace.try_lock().ok().as_deref());
    }

    fn look_by(&self, pace: Option<&Pace>) {
        if let Some(long_bytes) = self.looked_at_from(pace, Pace::long_bytes) {
            self.long_bytes.store(long_bytes, Ordering::Relaxed);
        }
    }

    /// Records `unseen` bytes that a stream served without sampling. Returns after how many bytes it samples next.
    pub(crate) fn look_at_stream(&self, unseen: usize) -> usize {
        let mut pace = self.pace.try_lock().ok();
        if let Some(pace) = &mut pace {
            pace.add_unseen(unseen);
        }
        self.looked_at_from(pace.as_deref(), Pace::unseen_bytes_max)
            .unwrap_or(usize::MAX)
    }

    /// Returns what `pace` says, if it is available; some strategies do not need it.
    fn looked_at_from(&self, pace: Option<&Pace>, by: fn(&Pace) -> usize) -> Option<usize> {
        match self.strategy() {
            _ if self.reserved.is_none() => Some(usize::MAX),
            Strategy::Stripe => Some(2 * self.stripe_bytes_min),
            _ => pace.map(by),
        }
    }

    /// Opens a session with another key, to replace the previous one.
    pub(crate) fn reopen<K: Keyed>(
        &self,
        algorithm: Algorithm,
        key: &[u8],
    ) -> Result<Session<K>, Error> {
        match self.engine() {
            Some(engine) => Session::open(&engine.ciphers, algorithm, key),
            None => Ok(Session::on_kernels(algorithm, key)),
        }
    }

    /// Starts over with another key.
    pub(crate) fn begin_anew(&self, cost: Cost) {
        self.with_pace(|pace| pace.begin_anew(cost));
    }

    /// Serves a request of `bytes`: by `inline` on the calling thread or, if that should be faster, by `cut` with up to
    /// `helpers_max` others. It is timed if that is worthwhile.
    pub(crate) fn run<D, T>(
        &self,
        bytes: usize,
        helpers_max: impl FnOnce(&Engine) -> usize,
        data: D,
        inline: impl FnOnce(D) -> T,
        cut: impl FnOnce(D, &LongRequest<'_>) -> T,
    ) -> T {
        let mut is_passed_over = false;
        let planned = self.engine().and_then(|engine| {
            let mut pace = self.pace.try_lock().ok()?;
            let strategy = self.strategy();
            is_passed_over = strategy == Strategy::Auto && !pace.looks_at(bytes);
            if is_passed_over {
                pace.add_unseen(bytes);
                return None;
            }
            LongRequest::plan(engine, strategy, &mut pace, bytes, helpers_max)
        });
        let Some((request, way)) = planned else {
            let done = inline(data);
            if is_passed_over {
                self.with_pace(Pace::pass_over);
            }
            return done;
        };
        let done = match way {
            Way::Inline => inline(data),
            Way::Stripe { .. } => cut(data, &request),
        };
        let ended = self.with_pace(|pace| {
            let counts = request.end(way, pace);
            self.look_by(Some(&*pace));
            counts
        });
        self.counts
            .add_long(ended.unwrap_or_else(|| request.counts()));
        done
    }

    /// Counts `requests` that have `bytes` together.
    #[inline(always)]
    pub(crate) fn count(
        &self,
        algorithm: Algorithm,
        direction: Direction,
        requests: usize,
        bytes: usize,
    ) {
        self.counts.add(requests as u64, bytes as u64);
        self.shown.count_many(algorithm, direction, requests, bytes);
    }

    /// Counts requests that other processes see as `what`, not as those of an algorithm.
    pub(crate) fn count_other(
        &self,
        what: Other,
        direction: Direction,
        requests: usize,
        bytes: usize,
    ) {
        let (requests, bytes) = (requests as u64, bytes as u64);
        self.counts.add(requests, bytes);
        self.shown.count_other(what, direction, requests, bytes);
    }

    /// Counts a request of `bytes` that other processes see already.
    pub(crate) fn count_unshown(&self, bytes: usize) {
        self.counts.add(1, bytes as u64);
    }

    /// Counts a request whose bytes are counted later, by [`count_later`](Self::count_later).
    #[inline(always)]
    pub(crate) fn count_begun(&self, algorithm: Algorithm, direction: Direction, bytes: usize) {
        self.counts.add(1, 0);
        self.shown.count(algorithm, direction, bytes);
    }

    /// Counts bytes of requests that have been counted, and how many of these were made ahead.
    pub(crate) fn count_later(&self, bytes: u64, prefetched_bytes: u64) {
        self.counts.add(0, bytes);
        if prefetched_bytes > 0 {
            self.counts.add_long(AlgorithmStats {
                prefetched_bytes,
                ..AlgorithmStats::default()
            });
        }
    }

    /// Whether helpers have been at work since the counts were handed in.
    #[inline]
    pub(crate) fn has_shared(&self) -> bool {
        self.counts.has_shared.load(Ordering::Relaxed)
    }

    /// Adds the counts to the engine's totals, as work of `device`.
    pub(crate) fn hand_in(&self, device: &str, algorithm: Algorithm) {
        if let Some(engine) = self.engine() {
            let counts = self.counts.take();
            if counts != AlgorithmStats::default() {
                engine.totals.add(device, algorithm, counts);
            }
        }
    }
}

/// Counts of a session that several threads may use. Additions are not atomic, since a locked addition would slow down
/// short messages: of two additions at the same moment one may get lost.
#[derive(Default)]
struct Counts {
    requests: AtomicU64,
    bytes: AtomicU64,
    has_shared: AtomicBool,
    /// The counts of long messages, which are few.
    long: Mutex<AlgorithmStats>,
}

impl Counts {
    #[inline(always)]
    fn add(&self, requests: u64, bytes: u64) {
        let add = |count: &AtomicU64, more| {
            let sum = count.load(Ordering::Relaxed).wrapping_add(more);
            count.store(sum, Ordering::Relaxed);
        };
        add(&self.requests, requests);
        add(&self.bytes, bytes);
    }

    /// Adds the counts of a long message.
    fn add_long(&self, counts: AlgorithmStats) {
        self.with_long(|long| *long += counts);
        if counts.striped_requests > 0 {
            self.has_shared.store(true, Ordering::Relaxed);
        }
    }

    /// Returns all counts since the last call.
    fn take(&self) -> AlgorithmStats {
        self.has_shared.store(false, Ordering::Relaxed);
        let mut taken = self.with_long(std::mem::take);
        taken.requests += self.requests.swap(0, Ordering::Relaxed);
        taken.bytes += self.bytes.swap(0, Ordering::Relaxed);
        taken
    }

    fn with_long<T>(&self, run: impl FnOnce(&mut AlgorithmStats) -> T) -> T {
        process::undivided(|| run(&mut self.long.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::keyed::aead::AeadKey;
    use crate::plan::Setup;

    #[test]
    fn a_strategy_that_is_set_stays_while_another_thread_follows_options() {
        let engine = Setup::default().open().unwrap();
        let (_session, route): (Session<AeadKey>, _) =
            open(&engine, Algorithm::Aes128Gcm, &[7; 16], 64).unwrap();
        engine.set_options(Options {
            strategy: Strategy::Stripe,
            ..Options::default()
        });
        std::thread::scope(|scope| {
            engine.with_options_locked(|| {
                let (tell, told) = std::sync::mpsc::channel();
                let route = &route;
                scope.spawn(move || {
                    tell.send(rustix::thread::gettid()).unwrap();
                    route.follow_options();
                });
                // The other thread has found that the options changed, and sleeps until it can read them.
                let stat = format!("/proc/self/task/{}/stat", told.recv().unwrap());
                oarlock_testing::until("it waits for the options", || {
                    std::fs::read_to_string(&stat).unwrap().contains(") S ")
                });
                route.set_strategy(Strategy::Inline);
            });
        });
        assert_eq!(route.strategy(), Strategy::Inline);
    }
}
