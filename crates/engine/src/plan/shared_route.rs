//! The same as a [`Route`](super::route::Route), for a session that several threads use at once.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use super::engine::{Engine, Reserved};
use super::pace::Pace;
use super::strategy::FollowedStrategy;
use crate::Error;
use crate::costs::published::Shown;
use crate::costs::stats::AlgorithmStats;
use crate::device::keyed::Keyed;
use crate::device::session::Session;
use crate::options::Strategy;
use crate::work::algorithm::{Algorithm, Direction};
use oarlock_threads::process;

/// A session and its ways, for any number of threads at once.
pub(crate) struct SharedRoute<K> {
    session: Session<K>,
    /// Where it lives since its device failed or was withdrawn.
    elsewhere: RwLock<Option<Arc<Session<K>>>>,
    has_moved: AtomicBool,
    /// Requests below this are inline without a look at clock or pool.
    long_bytes: AtomicUsize,
    /// The least length of a stripe.
    stripe_bytes_min: usize,
    counts: SharedCounts,
    /// What others see of it.
    shown: Shown,
    strategy: FollowedStrategy,
    /// Locked only briefly, and only with `try_lock`: a request that finds it locked goes inline, and so does one of a
    /// child that was forked while it was locked.
    pace: Mutex<Pace>,
    engine: Option<Arc<Engine>>,
    _reserved: Option<Reserved>,
}

/// Why a device did not do a request.
pub(crate) enum Undone<E> {
    /// It is the request's fault; elsewhere it would be the same.
    Refused(E),
    /// The device's; the data are as they were.
    Device,
}

impl<K: Keyed> SharedRoute<K> {
    /// Opens a session where the plan expects it to be served soonest. It keeps what was reserved for it, which is
    /// nothing where it is a part of something that has a reservation.
    pub(crate) fn open(
        engine: &Arc<Engine>,
        algorithm: Algorithm,
        key: &[u8],
        stripe_bytes_min: usize,
        reserved: Option<Reserved>,
    ) -> Result<Self, Error> {
        let session = super::route::open(engine, algorithm, key)?;
        let engine = Some(Arc::clone(engine));
        Ok(Self::new(session, engine, reserved, stripe_bytes_min))
    }

    /// One that belongs to no accelerator has no engine, and is always inline.
    pub(crate) fn new(
        session: Session<K>,
        engine: Option<Arc<Engine>>,
        reserved: Option<Reserved>,
        stripe_bytes_min: usize,
    ) -> Self {
        let route = Self {
            strategy: FollowedStrategy::default(),
            pace: Mutex::new(Pace::new(session.cost)),
            session,
            elsewhere: RwLock::new(None),
            has_moved: AtomicBool::new(false),
            long_bytes: AtomicUsize::new(usize::MAX),
            stripe_bytes_min,
            counts: SharedCounts::default(),
            shown: engine
                .as_ref()
                .map_or_else(Shown::default, |engine| engine.shown),
            engine,
            _reserved: reserved,
        };
        route.follow_options();
        route
    }

    pub(crate) fn engine(&self) -> Option<&Arc<Engine>> {
        self.engine.as_ref()
    }

    /// The session that it began as.
    #[inline]
    pub(crate) fn session(&self) -> &Session<K> {
        &self.session
    }

    /// The key, if its device still serves it.
    #[inline]
    pub(crate) fn at_home(&self) -> Option<&K> {
        let is_at_home =
            !self.session.has_lost_its_device() && !self.has_moved.load(Ordering::Relaxed);
        is_at_home.then_some(&self.session.keyed)
    }

    /// Whether a request of `bytes` is inline without a look at clock or pool.
    #[inline]
    pub(crate) fn is_short(&self, bytes: usize) -> bool {
        bytes < self.long_bytes.load(Ordering::Relaxed)
    }

    /// The device that serves this session now.
    pub(crate) fn device(&self) -> String {
        match self.moved() {
            Some(session) => session.device().into(),
            None => self.session.device().into(),
        }
    }

    pub(crate) fn strategy(&self) -> Strategy {
        self.strategy.get()
    }

    pub(crate) fn set_strategy(&self, strategy: Strategy) {
        self.strategy.set(strategy);
        self.look_again();
    }

    /// Follows the accelerator's options if they have changed.
    pub(crate) fn follow_options(&self) {
        if let Some(engine) = &self.engine {
            let version = engine.live.version();
            if version != self.strategy.version() {
                // Of that version or newer.
                self.strategy.follow(version, engine.options().strategy);
                self.look_again();
            }
        }
    }

    /// Returns the pace, unless another request is using it.
    pub(crate) fn pace(&self) -> Option<MutexGuard<'_, Pace>> {
        self.pace.try_lock().ok()
    }

    /// Determines again from which length on a request reads the clock and asks the pool.
    pub(crate) fn look_again(&self) {
        let long_bytes = match self.strategy.get() {
            _ if self.engine.is_none() => usize::MAX,
            Strategy::Stripe => 2 * self.stripe_bytes_min,
            _ => match self.pace() {
                Some(pace) => pace.long_bytes(),
                None => return,
            },
        };
        self.long_bytes.store(long_bytes, Ordering::Relaxed);
    }

    /// Counts a message.
    #[inline(always)]
    pub(crate) fn count(&self, direction: Direction, bytes: usize) {
        self.count_many(direction, 1, bytes);
    }

    /// Counts messages that were done together.
    #[inline(always)]
    pub(crate) fn count_many(&self, direction: Direction, requests: usize, bytes: usize) {
        self.counts.add_many(requests, bytes);
        let algorithm = self.session.params().algorithm;
        self.shown.count_many(algorithm, direction, requests, bytes);
    }

    /// Counts how a long message went.
    pub(crate) fn count_long(&self, counts: AlgorithmStats) {
        self.counts.add_long(counts);
    }

    /// Hands in what was counted.
    pub(crate) fn hand_in(&self) {
        if let Some(engine) = &self.engine {
            let counts = self.counts.take();
            if counts != AlgorithmStats::default() {
                let algorithm = self.session.params().algorithm;
                engine.totals.add(&self.device(), algorithm, counts);
            }
        }
    }

    /// Runs `request` on the device, or on one after the other until one has done it; at the end are
    /// the kernels, which cannot fail.
    pub(crate) fn by_a_device<T, E: From<Error>>(
        &self,
        mut request: impl FnMut(&K) -> Result<T, Undone<E>>,
    ) -> Result<T, E> {
        // No device is asked twice, or two that fail would send the request to and fro without end.
        let mut failed = Vec::new();
        let mut moved = self.moved();
        loop {
            let session = moved.as_deref().unwrap_or(&self.session);
            if !session.has_lost_its_device() {
                match request(&session.keyed) {
                    Ok(done) => return Ok(done),
                    Err(Undone::Refused(error)) => return Err(error),
                    Err(Undone::Device) => {}
                }
            }
            self.hand_in();
            let Some(next) = session.elsewhere(&mut failed) else {
                return Err(E::from(Error::DeviceFailed {
                    device: session.device().into(),
                    reason: "and no kernel takes its place".into(),
                }));
            };
            let next = Arc::new(next);
            process::undivided(|| {
                let mut elsewhere = self
                    .elsewhere
                    .write()
                    .unwrap_or_else(PoisonError::into_inner);
                *elsewhere = Some(Arc::clone(&next));
            });
            self.has_moved.store(true, Ordering::Relaxed);
            moved = Some(next);
        }
    }

    fn moved(&self) -> Option<Arc<Session<K>>> {
        process::undivided(|| {
            let elsewhere = self
                .elsewhere
                .read()
                .unwrap_or_else(PoisonError::into_inner);
            elsewhere.clone()
        })
    }
}

/// Counts of a session that several threads may use. Without a locked addition, which would show in
/// a short message: of two that add at the same moment one may get lost.
#[derive(Default)]
pub(crate) struct SharedCounts {
    requests: AtomicU64,
    bytes: AtomicU64,
    /// The counts of long messages, which are few.
    long: Mutex<AlgorithmStats>,
}

impl SharedCounts {
    #[inline]
    fn add_many(&self, requests: usize, bytes: usize) {
        let add = |count: &AtomicU64, more| {
            count.store(
                count.load(Ordering::Relaxed).wrapping_add(more),
                Ordering::Relaxed,
            );
        };
        add(&self.requests, requests as u64);
        add(&self.bytes, bytes as u64);
    }

    /// Adds those of a long message.
    fn add_long(&self, counts: AlgorithmStats) {
        self.with_long(|long| *long += counts);
    }

    /// All since the last time.
    fn take(&self) -> AlgorithmStats {
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
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::costs::lookup::Costs;
    use crate::device::{CpuDevice, keyed::aead::AeadKey};
    use crate::options::Options;

    #[test]
    fn a_strategy_that_is_set_stays_while_another_thread_follows_options() {
        let cpu = oarlock_kernels::cpu::Cpu::detect();
        let engine = Arc::new(Engine::new(
            Options::default(),
            cpu,
            Costs::default(),
            #[cfg(feature = "rsa")]
            1,
        ));
        engine
            .registry
            .register(Arc::new(CpuDevice::new(cpu)))
            .unwrap();
        let route: SharedRoute<AeadKey> =
            SharedRoute::open(&engine, Algorithm::Aes128Gcm, &[7; 16], 64, None).unwrap();
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
                // The other has found that they changed, and sleeps until they can be read.
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
