//! Finds the faster of two implementations of an operation, from the times of single operations.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::decayed;

/// Chooses between two implementations of one operation.
#[derive(Debug, Default)]
pub struct Faster {
    operations: AtomicU32,
    /// The mean time of each in ns; 0 before the first measurement.
    ns: [AtomicU64; 2],
}

/// One of two implementations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// The one that is kept unless the other is clearly faster.
    First,
    /// The other.
    Second,
}

/// The number of initial operations that alternate between the two, to measure both.
const TRIED: u32 = 6;
/// Afterwards, one operation in this many goes to the slower one, since the order may change.
const TRIED_AGAIN: u32 = 256;

impl Faster {
    /// Returns the implementation for the operation that begins.
    pub fn next(&self) -> Which {
        let number = self.operations.fetch_add(1, Ordering::Relaxed);
        let [first, second] = [0, 1].map(|which| self.ns[which].load(Ordering::Relaxed));
        let (best, worse) = if second + second / 8 < first {
            (Which::Second, Which::First)
        } else {
            (Which::First, Which::Second)
        };
        if number < TRIED {
            [Which::First, Which::Second][number as usize % 2]
        } else if number.is_multiple_of(TRIED_AGAIN) {
            worse
        } else {
            best
        }
    }

    /// Runs an operation, and learns its time.
    pub fn timed<T>(&self, which: Which, run: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = run();
        self.learn(which, start.elapsed());
        result
    }

    /// Records the time of an operation. An interrupted one counts at most twice the mean.
    pub fn learn(&self, which: Which, took: Duration) {
        let place = &self.ns[which as usize];
        let took = (took.as_nanos() as u64).max(1);
        let now = match place.load(Ordering::Relaxed) {
            0 => took,
            known => decayed(known as f64, took.min(2 * known) as f64, 16.0) as u64,
        };
        place.store(now.max(1), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_faster_one_computes() {
        for (first, second, faster) in [
            (300, 200, Which::Second),
            (200, 300, Which::First),
            (200, 195, Which::First),
        ] {
            let ways = Faster::default();
            for _ in 0..TRIED {
                let which = ways.next();
                let us = match which {
                    Which::First => first,
                    Which::Second => second,
                };
                ways.learn(which, Duration::from_micros(us));
            }
            // An interruption changes nothing.
            ways.learn(faster, Duration::from_millis(50));
            let next: Vec<_> = (TRIED..1000).map(|_| ways.next()).collect();
            let chosen = next.iter().filter(|which| **which == faster).count();
            assert!(chosen >= 990, "{chosen}");
        }
    }
}
