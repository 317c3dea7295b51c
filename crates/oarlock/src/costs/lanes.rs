//! What public-key requests take alone and in lanes, and which of the two pays.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use oarlock_kernels::modexp::{LANES, Width};

use super::median;
use crate::work::shape::{BatchKey, BatchKind};

/// By batch key, in ns; medians that follow what requests take.
pub(crate) struct LaneCosts([LaneCost; BatchKey::COUNT]);

struct LaneCost {
    /// One alone, by aws-lc.
    alone: AtomicU32,
    /// A few of private operations: both primes lie beside each other in the lanes.
    half: AtomicU32,
    /// A batch of any other size.
    full: AtomicU32,
}

impl LaneCosts {
    pub(crate) fn new() -> Self {
        Self(std::array::from_fn(|number| {
            let key = BatchKey::numbered(number);
            let alone = 1000 * key.alone_us();
            let half = if key == BatchKey::of(BatchKind::Private, Width::Bits512) {
                7 * (alone / 10)
            } else {
                5 * (alone / 4)
            };
            LaneCost {
                alone: AtomicU32::new(alone),
                half: AtomicU32::new(half),
                full: AtomicU32::new(2 * half),
            }
        }))
    }

    /// Of one alone.
    pub(crate) fn alone(&self, key: BatchKey) -> Duration {
        let ns = self.0[key.number()].alone.load(Ordering::Relaxed);
        Duration::from_nanos(ns.into())
    }

    /// Takes note of what one alone, or some, took.
    pub(crate) fn learn_alone(&self, key: BatchKey, took: Duration) {
        median::learn(&self.0[key.number()].alone, took);
    }

    /// Takes note of what so many took in lanes.
    pub(crate) fn learn_lanes(&self, key: BatchKey, size: usize, took: Duration) {
        median::learn(self.in_lanes(key, size), took);
    }

    /// Whether so many at once, which may be one, are better computed in lanes.
    pub(crate) fn pays(&self, key: BatchKey, size: usize) -> bool {
        let alone = u64::from(self.0[key.number()].alone.load(Ordering::Relaxed));
        let lanes = self.in_lanes(key, size);
        let lanes_cost = lanes.load(Ordering::Relaxed);
        // One alone changes sides for a clear gain only.
        let limit = if size == 1 {
            15 * alone / 16
        } else {
            size as u64 * alone
        };
        if u64::from(lanes_cost) < limit {
            return true;
        }
        // What is not done is not measured: it is given another chance by and by.
        lanes.store(lanes_cost - lanes_cost / 1024, Ordering::Relaxed);
        false
    }

    /// Of as many as there are lanes.
    pub(crate) fn full(&self, key: BatchKey) -> Duration {
        let ns = self.0[key.number()].full.load(Ordering::Relaxed);
        Duration::from_nanos(ns.into())
    }

    /// Of so many in lanes.
    fn in_lanes(&self, key: BatchKey, size: usize) -> &AtomicU32 {
        let costs = &self.0[key.number()];
        if key.kind() == BatchKind::Private && 2 * size <= LANES {
            &costs.half
        } else {
            &costs.full
        }
    }

    /// As if a few in lanes were the slowest there is.
    #[cfg(test)]
    pub(crate) fn spoil_half(&self, key: BatchKey) {
        self.0[key.number()].half.store(u32::MAX, Ordering::Relaxed);
    }
}
