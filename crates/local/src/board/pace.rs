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
const WAIT_MAX: u64 = 2_000_000;
/// A longer pause says no more about the pace.
const GAP_MAX: u64 = 4_000_000;
/// So many times that time may pass between two of a batch.
const GAPS: u64 = 4;
/// So long a request waits that came when none were due.
const CHANCE: u64 = 300_000;
/// After so many batches that were not full, fewer are waited for.
const MISSED_MAX: u32 = 4;
/// And after so many more again for full lanes.
const AGAIN: u32 = 16;

impl<'a> Pace<'a> {
    pub(super) fn new(shared: &'a SharedPace, full: u32) -> Self {
        Self { shared, full }
    }

    /// One came, before which none waited or some did.
    pub(super) fn came(&self, now: u64, is_first: bool) {
        let shared = self.shared;
        let since = now.saturating_sub(shared.last.swap(now, Relaxed)).min(GAP_MAX);
        let gap = shared.gap.load(Relaxed).min(GAP_MAX);
        shared.gap.store((7 * gap + since) / 8, Relaxed);
        if is_first {
            shared.first.store(now, Relaxed);
        }
    }

    /// So many were taken at once.
    pub(super) fn taken(&self, count: u32) {
        let shared = self.shared;
        let add = |count: &std::sync::atomic::AtomicU32| count.fetch_add(1, Relaxed).saturating_add(1);
        let since_full = add(&shared.since_full);
        if count >= self.target() {
            shared.missed.store(0, Relaxed);
            if since_full >= AGAIN {
                shared.target.store(0, Relaxed);
                shared.since_full.store(0, Relaxed);
            }
        } else if add(&shared.missed) >= MISSED_MAX {
            shared.target.store(count, Relaxed);
            shared.missed.store(0, Relaxed);
            shared.since_full.store(0, Relaxed);
        }
    }

    /// As many are worth waiting for; 0 in the memory stands for full lanes.
    fn target(&self) -> u32 {
        match self.shared.target.load(Relaxed) {
            0 => self.full,
            target => target.min(self.full),
        }
    }

    /// How much longer so many wait for others.
    pub(super) fn left(&self, now: u64, waiting: u32) -> Duration {
        let missing = self.target().saturating_sub(waiting);
        // One that is alone may be the first of many.
        if missing == 0 && waiting > 1 {
            return Duration::ZERO;
        }
        let [first, last, gap] =
            [&self.shared.first, &self.shared.last, &self.shared.gap].map(|ns| ns.load(Relaxed));
        let gap = gap.min(GAP_MAX);
        let is_near = gap * u64::from(missing) <= WAIT_MAX;
        let patience = if is_near { GAPS * gap } else { CHANCE };
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
        pace.came(now + 1900 * US, false);
        assert_eq!(pace.left(now + 1900 * US, 2), us(100));
    }

    #[test]
    fn where_none_are_due_they_wait_by_chance() {
        let shared = SharedPace::default();
        let (pace, now) = paced(&shared, 900 * US);
        assert_eq!(pace.left(now, 1), us(300));
        assert!(pace.left(now, 3) > us(1000));
        let (pace, now) = paced(&shared, 10_000_000 * US);
        assert_eq!(pace.left(now, 3), us(300));
    }

    #[test]
    fn what_never_comes_is_not_waited_for() {
        let shared = SharedPace::default();
        let (pace, now) = paced(&shared, 100 * US);
        for _ in 0..MISSED_MAX {
            assert!(pace.left(now, 3) > us(300));
            pace.taken(3);
        }
        assert_eq!(pace.left(now, 3), Duration::ZERO);
        assert!(pace.left(now, 2) > us(300));
        // Now and then it is tried again.
        for _ in 0..AGAIN {
            pace.taken(3);
        }
        assert!(pace.left(now, 3) > us(300));
        // One alone waits for a second one, however few came.
        for _ in 0..MISSED_MAX {
            pace.taken(1);
        }
        assert!(pace.left(now, 1) > us(300));
    }

    #[test]
    fn whatever_the_memory_says_no_wait_is_long() {
        let shared = SharedPace::default();
        let pace = Pace::new(&shared, 4);
        for value in [0, 1, u64::MAX / 2, u64::MAX] {
            for of in [&shared.first, &shared.last, &shared.gap] {
                of.store(value, Relaxed);
                shared.target.store(value as u32, Relaxed);
                shared.missed.store(value as u32, Relaxed);
                pace.taken(2);
                for now in [0, 1, u64::MAX] {
                    assert!(pace.left(now, 1) <= us(2000));
                    pace.came(now, false);
                }
            }
        }
    }
}
