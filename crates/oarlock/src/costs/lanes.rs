//! What public-key requests take alone and in lanes, and which of the two pays.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use oarlock_kernels::modexp::{LANES, Width};

use super::median;
use crate::work::shape::{BatchKey, BatchKind};

/// By batch key, in ns; medians that follow what requests take.
pub(crate) struct LaneCosts {
    costs: [LaneCost; BatchKey::COUNT],
    /// How many lanes take no longer than one.
    at_once: usize,
}

struct LaneCost {
    /// One alone, by aws-lc.
    alone: AtomicU32,
    /// By how often so many as go at once are computed: once, twice and four times. Both primes of a
    /// private operation lie beside each other in the lanes, if there is room for those of all.
    lanes: [AtomicU32; 3],
}

impl LaneCosts {
    /// For kernels that compute so many lanes at once, 8 or 4.
    pub(crate) fn new(at_once: usize) -> Self {
        let costs = std::array::from_fn(|number| {
            let key = BatchKey::numbered(number);
            let alone = 1000 * key.alone_us();
            let is_shortest = key == BatchKey::of(BatchKind::Private, Width::Bits512);
            let once = match key.kind() {
                BatchKind::Private if is_shortest && at_once == LANES => 7 * (alone / 10),
                BatchKind::Private => 5 * (alone / 4),
                _ => 5 * (alone / 2),
            };
            LaneCost {
                alone: AtomicU32::new(alone),
                lanes: [1, 2, 4].map(|times| AtomicU32::new(times * once)),
            }
        });
        Self { costs, at_once }
    }

    /// Of one alone.
    pub(crate) fn alone(&self, key: BatchKey) -> Duration {
        let ns = self.costs[key.number()].alone.load(Ordering::Relaxed);
        Duration::from_nanos(ns.into())
    }

    /// Takes note of what one alone, or some, took.
    pub(crate) fn learn_alone(&self, key: BatchKey, took: Duration) {
        median::learn(&self.costs[key.number()].alone, took);
    }

    /// Takes note of what so many took in lanes.
    pub(crate) fn learn_lanes(&self, key: BatchKey, size: usize, took: Duration) {
        median::learn(self.in_lanes(key, size), took);
    }

    /// Whether so many at once, which may be one, are better computed in lanes.
    pub(crate) fn pays(&self, key: BatchKey, size: usize) -> bool {
        let alone = u64::from(self.costs[key.number()].alone.load(Ordering::Relaxed));
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
        let ns = self.in_lanes(key, LANES).load(Ordering::Relaxed);
        Duration::from_nanos(ns.into())
    }

    /// Of so many in lanes.
    fn in_lanes(&self, key: BatchKey, size: usize) -> &AtomicU32 {
        let exponentiations = match key.kind() {
            // One after the other, each in all lanes.
            BatchKind::Private if 2 * size > LANES => 2 * LANES,
            BatchKind::Private => 2 * size,
            _ => size,
        };
        let times = exponentiations.div_ceil(self.at_once).next_power_of_two();
        &self.costs[key.number()].lanes[times.ilog2().min(2) as usize]
    }

    /// As if so many in lanes were the slowest there is.
    #[cfg(test)]
    pub(crate) fn spoil(&self, key: BatchKey, size: usize) {
        self.in_lanes(key, size).store(u32::MAX, Ordering::Relaxed);
    }
}
