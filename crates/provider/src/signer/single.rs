//! Which implementation computes a request alone.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What takes less time for one request alone, by the width of the modulus.
#[derive(Default)]
pub(crate) struct Alone([Width; WIDTHS]);

/// Steps of 512 bits up to 4096.
const WIDTHS: usize = 8;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Who {
    Default,
    Library,
}

#[derive(Default)]
pub(crate) struct Width {
    requests: AtomicU32,
    /// What either takes; 0 if that is not known yet.
    ns: [AtomicU64; 2],
}

/// The number of first operations that the two do in turn, to measure the time of each.
const TRIED: u32 = 6;
/// After those, one operation in this many goes to the slower one: which one that is may change.
const TRIED_AGAIN: u32 = 256;

impl Alone {
    pub(crate) fn of(&self, bits: usize) -> &Width {
        let width = bits.div_ceil(4096 / WIDTHS).saturating_sub(1);
        &self.0[width.min(WIDTHS - 1)]
    }
}

impl Width {
    pub(crate) fn next(&self) -> Who {
        let number = self.requests.fetch_add(1, Ordering::Relaxed);
        let [default, library] = self.known();
        // The program's own stays unless the gain is clear.
        let (best, other) = if library + library / 8 < default {
            (Who::Library, Who::Default)
        } else {
            (Who::Default, Who::Library)
        };
        if number < TRIED {
            [Who::Default, Who::Library][number as usize % 2]
        } else if number.is_multiple_of(TRIED_AGAIN) {
            other
        } else {
            best
        }
    }

    fn known(&self) -> [u64; 2] {
        [0, 1].map(|who| self.ns[who].load(Ordering::Relaxed))
    }

    pub(crate) fn timed<T>(&self, who: Who, run: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = run();
        self.learn(who, start.elapsed());
        result
    }

    /// As a mean of the last ones, in which an interruption counts no more than twice what is usual.
    fn learn(&self, who: Who, took: Duration) {
        let place = &self.ns[who as usize];
        let known = place.load(Ordering::Relaxed);
        let took = (took.as_nanos() as u64).max(1);
        let now = match known {
            0 => took,
            known => (15 * known + took.min(2 * known)) / 16,
        };
        place.store(now.max(1), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_faster_one_computes_alone() {
        for (default, library, faster) in [
            (300, 200, Who::Library),
            (200, 300, Who::Default),
            (200, 195, Who::Default),
        ] {
            let alone = Alone::default();
            let width = alone.of(2048);
            for _ in 0..TRIED {
                let who = width.next();
                let us = if who == Who::Default {
                    default
                } else {
                    library
                };
                width.learn(who, Duration::from_micros(us));
            }
            // An interruption changes nothing.
            width.learn(faster, Duration::from_millis(50));
            let next: Vec<_> = (TRIED..1000).map(|_| width.next()).collect();
            let chosen = next.iter().filter(|who| **who == faster).count();
            assert!(chosen >= 990, "{chosen}");
        }
    }

    #[test]
    fn widths_do_not_share_what_they_know() {
        let alone = Alone::default();
        for (one, other, is_same) in [(1024, 1025, false), (2047, 2048, true), (3584, 4096, false)]
        {
            assert_eq!(std::ptr::eq(alone.of(one), alone.of(other)), is_same);
        }
        let _ = (alone.of(0), alone.of(16384));
    }
}
