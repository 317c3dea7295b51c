//! Counts of requests by device and algorithm.

use std::collections::BTreeMap;
use std::ops::AddAssign;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::work::algorithm::Algorithm;
use oarlock_threads::page::Gauge;
use oarlock_threads::process;

/// The totals of an accelerator, from `Accelerator::stats`.
///
/// Sessions keep counts of their own and add them to the totals with every striped request and on drop;
/// [`AcceleratedCtr::hand_in_stats`](crate::cipher::AcceleratedCtr::hand_in_stats) does so at any time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Counts by device name and algorithm.
    pub algorithms: BTreeMap<(String, Algorithm), AlgorithmStats>,
    /// Counts of public-key requests. They stay zero without lanes, where each request goes to aws-lc alone.
    pub public_key: PublicKeyStats,
}

/// Counts of public-key requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PublicKeyStats {
    /// Requests computed alone, by aws-lc.
    pub alone: u64,
    /// Groups computed in lanes, each of one to eight requests.
    pub groups: u64,
    /// Requests in those groups.
    pub in_groups: u64,
    /// Nanoseconds that groups saved over the same requests alone, by times measured here; negative if lanes were
    /// slower.
    pub saved_ns: i64,
    /// Private-operation results that failed their check and were computed again elsewhere. Any such result means that
    /// the machine miscomputes or that a prime of a key is composite.
    pub faults: u64,
    /// Waiting jobs.
    pub waiting: usize,
}

impl PublicKeyStats {
    /// Returns the counts that `gauge` has, which are those that processes show to each other.
    pub(crate) fn of(gauge: impl Fn(Gauge) -> u64) -> Self {
        Self {
            alone: gauge(Gauge::Alone),
            groups: gauge(Gauge::Groups),
            in_groups: gauge(Gauge::InGroups),
            faults: gauge(Gauge::Faults),
            ..Self::default()
        }
    }
}

/// Counts of one algorithm on one device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AlgorithmStats {
    /// Requests.
    pub requests: u64,
    /// Bytes of all requests.
    pub bytes: u64,
    /// Requests computed in stripes.
    pub striped_requests: u64,
    /// Stripes computed by helpers; the calling thread computed the others.
    pub helper_stripes: u64,
    /// Striped requests with at least one helper.
    pub joined_requests: u64,
    /// The time from the beginning of a request to a helper's first stripe, summed over all joined requests.
    pub queue_wait: Duration,
    /// Bytes whose keystream was ready when requested.
    pub prefetched_bytes: u64,
    /// Requests that were timed, which are the long ones.
    pub timed_requests: u64,
    /// The time of all timed requests.
    pub service: Duration,
}

impl AddAssign for AlgorithmStats {
    fn add_assign(&mut self, other: Self) {
        self.requests += other.requests;
        self.bytes += other.bytes;
        self.striped_requests += other.striped_requests;
        self.helper_stripes += other.helper_stripes;
        self.joined_requests += other.joined_requests;
        self.queue_wait += other.queue_wait;
        self.prefetched_bytes += other.prefetched_bytes;
        self.timed_requests += other.timed_requests;
        self.service += other.service;
    }
}

#[derive(Default)]
pub(crate) struct Totals(Mutex<Stats>);

impl Totals {
    pub(crate) fn add(&self, device: &str, algorithm: Algorithm, counts: AlgorithmStats) {
        process::undivided(|| {
            let mut stats = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            *stats
                .algorithms
                .entry((device.into(), algorithm))
                .or_default() += counts;
        });
    }

    #[cfg(test)]
    pub(crate) fn with_lock_held<T>(&self, run: impl FnOnce() -> T) -> T {
        let _held = self.0.lock();
        run()
    }

    pub(crate) fn get(&self) -> Stats {
        process::undivided(|| {
            self.0
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone()
        })
    }
}
