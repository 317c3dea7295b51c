//! The times of public-key requests alone and in lanes, and which of the two is faster.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use oarlock_kernels::modexp::{LANES, Width};

use crate::learn::{BackOff, Median};
use crate::work::shape::{BatchKey, BatchKind};

/// The costs by batch key in nanoseconds, as running medians.
pub(crate) struct LaneCosts {
    costs: [LaneCost; BatchKey::COUNT],
    /// The number of lanes that take no longer than one.
    at_once: usize,
}

struct LaneCost {
    /// The time of one request alone, by aws-lc.
    alone: Median,
    /// The time of requests in lanes, by the number of kernel passes: one, two or four. The two primes of a private
    /// operation use adjacent lanes if all requests of the batch fit.
    lanes: [InLanes; 3],
}

struct InLanes {
    ns: Median,
    /// Requests that were computed alone since they were last tried in lanes.
    skipped: AtomicU32,
    /// The approximate number of requests computed alone before the next try in lanes.
    apart: AtomicU32,
}

/// Requests computed alone between two tries in lanes, since unused lanes are not measured. The first tries come soon
/// because the table may be wrong; later ones may cost at most a thousandth of the time.
const APART: BackOff = BackOff::doubling(8, 1024);

impl LaneCosts {
    /// Creates costs for kernels that compute `at_once` lanes at once, 8 or 4.
    pub(crate) fn new(at_once: usize) -> Self {
        let costs = std::array::from_fn(|number| {
            let key = BatchKey::numbered(number);
            let alone = 1000 * key.alone_us();
            let is_shortest = key == BatchKey::of(BatchKind::Private, Width::Bits512);
            let once = match key.kind() {
                BatchKind::Private if is_shortest && at_once == LANES => 7 * (alone / 10),
                BatchKind::Private if is_shortest => 9 * (alone / 10),
                BatchKind::Private => 5 * (alone / 4),
                _ => 5 * (alone / 2),
            };
            LaneCost {
                alone: Median::new(alone),
                lanes: [1, 2, 4].map(|times| InLanes {
                    ns: Median::new(times * once),
                    skipped: AtomicU32::new(0),
                    apart: AtomicU32::new(4 * APART.least as u32),
                }),
            }
        });
        Self { costs, at_once }
    }

    /// Returns the expected time of one request alone.
    pub(crate) fn alone(&self, key: BatchKey) -> Duration {
        Duration::from_nanos(self.costs[key.number()].alone.ns().into())
    }

    /// Records the time of a request computed alone, which is one more request since the last try in lanes.
    pub(crate) fn learn_alone(&self, key: BatchKey, took: Duration) {
        let cost = &self.costs[key.number()];
        cost.alone.learn(took);
        for lanes in &cost.lanes {
            lanes.skipped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Records that a batch of `size` is computed in lanes now, whether or not lanes are faster.
    pub(crate) fn begin_lanes(&self, key: BatchKey, size: usize) {
        self.in_lanes(key, size).skipped.store(0, Ordering::Relaxed);
    }

    /// Records the time of a batch of `size` requests in lanes.
    pub(crate) fn learn_lanes(&self, key: BatchKey, size: usize, took: Duration) {
        let lanes = self.in_lanes(key, size);
        lanes.ns.learn(took);
        // A try that was fast is repeated soon, because a median needs several samples.
        let is_fast = took.as_nanos() < u128::from(self.limit(key, size));
        let apart = lanes.apart.load(Ordering::Relaxed);
        let next = match is_fast {
            true => APART.shorter(apart),
            false => APART.longer(apart),
        };
        lanes.apart.store(next, Ordering::Relaxed);
    }

    /// Whether to compute a batch of `size` requests, which may be 1, in lanes: because lanes are faster, or because
    /// they are due to be tried again. Asking changes nothing.
    pub(crate) fn pays(&self, key: BatchKey, size: usize) -> bool {
        self.are_faster(key, size) || self.is_due(key, size)
    }

    /// Whether lanes are due to be tried again for a batch of `size`.
    fn is_due(&self, key: BatchKey, size: usize) -> bool {
        let lanes = self.in_lanes(key, size);
        let cost = u64::from(lanes.ns.ns());
        let apart = u64::from(lanes.apart.load(Ordering::Relaxed));
        let skipped = u64::from(lanes.skipped.load(Ordering::Relaxed));
        // The more a try costs, the less often it is made.
        skipped >= apart * cost / self.limit(key, size).max(1)
    }

    /// Whether lanes are expected to be faster for a batch of `size`.
    pub(crate) fn are_faster(&self, key: BatchKey, size: usize) -> bool {
        u64::from(self.in_lanes(key, size).ns.ns()) < self.limit(key, size)
    }

    /// Returns the most nanoseconds that a batch of `size` may take in lanes. If it takes more, its requests are
    /// computed alone.
    fn limit(&self, key: BatchKey, size: usize) -> u64 {
        let alone = u64::from(self.costs[key.number()].alone.ns());
        // A single request moves to lanes only for a clear gain.
        match size {
            1 => 15 * alone / 16,
            size => size as u64 * alone,
        }
    }

    /// Returns the expected time of a full batch of [`LANES`] requests.
    pub(crate) fn full(&self, key: BatchKey) -> Duration {
        Duration::from_nanos(self.in_lanes(key, LANES).ns.ns().into())
    }

    /// Returns the entry for a batch of `size` requests in lanes.
    fn in_lanes(&self, key: BatchKey, size: usize) -> &InLanes {
        let exponentiations = match key.kind() {
            // The two primes one after the other, each in all lanes.
            BatchKind::Private if 2 * size > LANES => 2 * LANES,
            BatchKind::Private => 2 * size,
            _ => size,
        };
        let times = exponentiations.div_ceil(self.at_once).next_power_of_two();
        &self.costs[key.number()].lanes[times.ilog2().min(2) as usize]
    }

    /// Sets the time of `size` requests in lanes to the maximum.
    #[cfg(test)]
    pub(crate) fn spoil(&self, key: BatchKey, size: usize) {
        self.in_lanes(key, size).ns.set(u32::MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_pay_is_tried_ever_less_often_and_cheaply() {
        let costs = LaneCosts::new(8);
        let key = BatchKey::of(BatchKind::Private, Width::Bits1024);
        let us = Duration::from_micros;
        let tried = |requests: u32| {
            let ask = |_| {
                costs.learn_alone(key, us(230));
                let pays = costs.pays(key, 1);
                if pays {
                    costs.begin_lanes(key, 1);
                    costs.learn_lanes(key, 1, us(490));
                }
                pays
            };
            (0..requests).map(ask).filter(|pays| *pays).count()
        };
        // Tries are frequent until the medians settle, then rarer than one in a thousand requests.
        assert!((3..40).contains(&tried(2000)));
        tried(20_000);
        let later = tried(100_000);
        assert!((20..100).contains(&later), "{later}");
    }

    #[test]
    fn what_begins_to_pay_is_found() {
        let costs = LaneCosts::new(8);
        let key = BatchKey::of(BatchKind::Private, Width::Bits1024);
        let mut in_lanes = 0;
        for _ in 0..20_000 {
            costs.learn_alone(key, Duration::from_micros(500));
            if costs.pays(key, 1) {
                costs.begin_lanes(key, 1);
                costs.learn_lanes(key, 1, Duration::from_micros(100));
                in_lanes += 1;
            }
        }
        assert!(in_lanes > 10_000, "{in_lanes}");
    }

    /// Asking changes nothing, whatever the batch size: a batch is tried only after requests were computed alone.
    #[test]
    fn a_question_changes_nothing() {
        let key = BatchKey::of(BatchKind::Private, Width::Bits1024);
        let costs = LaneCosts::new(8);
        let alone = costs.alone(key);
        for size in [1, 2, LANES] {
            costs.spoil(key, size);
        }
        let mut until_tried = 0;
        while !costs.pays(key, LANES) {
            costs.learn_alone(key, alone);
            until_tried += 1;
        }
        assert!(until_tried > 1000, "{until_tried}");
        let ask = |costs: &LaneCosts| {
            for size in 1..=LANES {
                let first = costs.pays(key, size);
                let all_say = (0..9).all(|_| costs.pays(key, size) == first);
                assert!(all_say, "{size}");
                let _ = (
                    costs.are_faster(key, size),
                    costs.full(key),
                    costs.alone(key),
                );
            }
        };
        // A try stays due until it is made, however often callers ask.
        ask(&costs);
        assert!(costs.pays(key, LANES));
        costs.begin_lanes(key, LANES);
        assert!(!costs.pays(key, LANES));
        // Asking does not bring it forward, apart from drift in the median of single requests.
        for _ in 0..until_tried - until_tried / 8 {
            ask(&costs);
            assert!(!costs.pays(key, LANES));
            costs.learn_alone(key, alone);
        }
        for _ in 0..until_tried / 4 {
            costs.learn_alone(key, alone);
        }
        assert!(costs.pays(key, LANES));
    }
}
