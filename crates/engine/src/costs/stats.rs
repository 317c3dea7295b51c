//! What went where: per device and algorithm.

use std::collections::BTreeMap;
use std::ops::AddAssign;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::work::algorithm::Algorithm;
use oarlock_threads::process;

/// Totals of an accelerator, from `Accelerator::stats`.
///
/// Sessions count for themselves and hand in their counts with every striped request and when they
/// are dropped; [`AcceleratedCtr::hand_in_stats`](crate::cipher::AcceleratedCtr::hand_in_stats) does it at
/// any time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// By device name and algorithm.
    pub algorithms: BTreeMap<(String, Algorithm), AlgorithmStats>,
    /// Public-key requests. Not of accelerators without lanes, on which each goes to aws-lc alone.
    pub public_key: PublicKeyStats,
}

/// Counts of public-key requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PublicKeyStats {
    /// Requests that aws-lc computed alone.
    pub alone: u64,
    /// Groups that were computed in lanes: of one to eight requests.
    pub groups: u64,
    /// Requests in them.
    pub in_groups: u64,
    /// Nanoseconds that groups took less than the same requests alone, by what either took here; negative where lanes
    /// were slower.
    pub saved_ns: i64,
    /// Results of private operations that failed their check, and were computed again elsewhere. If there are any, the
    /// machine computes wrongly, or a prime of a key is not one.
    pub faults: u64,
    /// Jobs that are waiting.
    pub waiting: usize,
}

/// Counts of one algorithm on one device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AlgorithmStats {
    /// Requests.
    pub requests: u64,
    /// Bytes of all requests.
    pub bytes: u64,
    /// Requests that went in stripes.
    pub striped_requests: u64,
    /// Stripes that helpers did; the calling thread did the others.
    pub helper_stripes: u64,
    /// Striped requests that a helper joined.
    pub joined_requests: u64,
    /// The time from the beginning of the request to the first stripe of a helper, over all joined requests.
    pub queue_wait: Duration,
    /// Bytes whose keystream was there when it was asked for.
    pub prefetched_bytes: u64,
    /// Requests that were timed: the long ones.
    pub timed_requests: u64,
    /// Time of all timed requests.
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
