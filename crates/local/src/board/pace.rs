//! How long requests that do not fill the lanes wait for others: as long as the next ones are due soon, by the pace of
//! the last ones.
//!
//! What it goes by is shared, and anybody may change it: it says how long to wait, within bounds, and nothing else.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use super::memory::SharedPace;

/// When requests came, and how many were taken together.
pub(super) struct Pace<'a> {
    shared: &'a SharedPace,
    /// As many fill the lanes.
    full: u32,
}

/// No request waits longer, in ns.
const WAIT_MAX: u64 = 4_000_000;
/// A longer pause says no more about the pace.
const GAP_MAX: u64 = 8_000_000;
/// So many times that time may pass between two of a batch.
const GAPS: u64 = 4;
/// So long a request waits that came when none were due.
const CHANCE: u64 = 300_000;
/// After so many batches in a row that were not full, it is no use to wait.
const MISSED_MAX: u32 = 4;
/// And for so many more it is not tried again.
const AGAIN: u32 = 16;

impl<'a> Pace<'a> {
    pub(super) fn new(shared: &'a SharedPace, full: u32) -> Self {
        Self { shared, full }
    }

    /// One came, before which none waited or some did.
    pub(super) fn came(&self, now: u64, is_first: bool) {
        let shared = self.shared;
        let since = now
            .saturating_sub(shared.last.swap(now, Relaxed))
            .min(GAP_MAX);
        let gap = shared.gap.load(Relaxed).min(GAP_MAX);
        shared.gap.store((7 * gap + since) / 8, Relaxed);
        if is_first {
            shared.first.store(now, Relaxed);
        }
    }

    /// So many were taken at once.
    pub(super) fn taken(&self, count: u32) {
        let missed = match count >= self.full {
            true => 0,
            false => self.shared.missed.load(Relaxed).wrapping_add(1) % (MISSED_MAX + AGAIN),
        };
        self.shared.missed.store(missed, Relaxed);
    }

    /// How much longer so many wait for others.
    pub(super) fn left(&self, now: u64, waiting: u32) -> Duration {
        let missing = self.full.saturating_sub(waiting);
        let [first, last, gap] =
            [&self.shared.first, &self.shared.last, &self.shared.gap].map(|ns| ns.load(Relaxed));
        let gap = gap.min(GAP_MAX);
        let is_near = gap * u64::from(missing) <= WAIT_MAX;
        let is_of_use = self.shared.missed.load(Relaxed) < MISSED_MAX;
        let patience = if is_near && is_of_use {
            GAPS * gap
        } else {
            CHANCE
        };
        let until = first
            .saturating_add(WAIT_MAX)
            .min(last.saturating_add(patience));
        Duration::from_nanos(until.saturating_sub(now).min(WAIT_MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: u64 = 1000;

    fn us(us: u64) -> Duration {
        Duration::from_micros(us)
    }

    /// After requests that came so far apart; and when the last one did.
    fn paced(shared: &SharedPace, gap: u64) -> (Pace<'_>, u64) {
        let pace = Pace::new(shared, 4);
        for number in 0..64 {
            pace.came(1_000_000_000 + number * gap, true);
        }
        (pace, 1_000_000_000 + 63 * gap)
    }

    #[test]
    fn they_wait_for_those_that_are_due_soon_and_not_without_end() {
        let shared = SharedPace::default();
        let (pace, now) = paced(&shared, 100 * US);
        let left = pace.left(now, 1);
        assert!((us(390)..us(440)).contains(&left), "{left:?}");
        assert_eq!(pace.left(now + 500 * US, 1), Duration::ZERO);
        pace.came(now + 3900 * US, false);
        assert_eq!(pace.left(now + 3900 * US, 2), us(100));
    }

    #[test]
    fn where_none_are_due_they_wait_by_chance() {
        let shared = SharedPace::default();
        let (pace, now) = paced(&shared, 1900 * US);
        assert_eq!(pace.left(now, 1), us(300));
        assert!(pace.left(now, 3) > us(2000));
        let (pace, now) = paced(&shared, 10_000_000 * US);
        assert_eq!(pace.left(now, 3), us(300));
    }

    #[test]
    fn where_waiting_is_of_no_use_they_wait_by_chance_for_a_while() {
        let shared = SharedPace::default();
        let (pace, now) = paced(&shared, 100 * US);
        let is_patient = || pace.left(now, 3) > us(300);
        for _ in 0..3 {
            for _ in 0..MISSED_MAX {
                assert!(is_patient());
                pace.taken(3);
            }
            for _ in 0..AGAIN {
                assert!(!is_patient());
                pace.taken(3);
            }
        }
        // Full lanes make up for all that was missed.
        for _ in 0..MISSED_MAX {
            pace.taken(1);
        }
        pace.taken(4);
        assert!(is_patient());
    }

    #[test]
    fn whatever_the_memory_says_no_wait_is_long() {
        let shared = SharedPace::default();
        let pace = Pace::new(&shared, 4);
        for value in [0, 1, u64::MAX / 2, u64::MAX] {
            for of in [&shared.first, &shared.last, &shared.gap] {
                of.store(value, Relaxed);
                shared.missed.store(value as u32, Relaxed);
                pace.taken(2);
                for now in [0, 1, u64::MAX] {
                    assert!(pace.left(now, 1) <= us(4000));
                    pace.came(now, false);
                }
            }
        }
    }
}
