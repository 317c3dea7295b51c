//! Decides how long requests that do not fill the lanes wait for others: as long as more are due soon, judging by the pace
//! of the last ones.
//!
//! The figures it uses are shared, and any process may change them. They only decide how long to wait, within bounds.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use oarlock_engine::learn::decayed;

use super::memory::SharedPace;

/// The times of requests, and how many were taken together.
pub(super) struct Pace<'a> {
    shared: &'a SharedPace,
    /// The number of requests that fills the lanes.
    full: u32,
    /// The longest time that a request waits, in ns.
    wait_max: u64,
}

/// `wait_max` for keys of up to 2048 bits, in ns. It grows with the square of the key's width.
const WAIT_MAX: u64 = 4_000_000;
/// The number of mean gaps between requests for which a batch waits for the next one.
const GAPS: u64 = 4;
/// The divisor of `wait_max` for a wait when no requests are due: 300 us of 4 ms.
const CHANCE: u64 = 13;
/// The number of consecutive partial batches after which requests wait only the short time of [`CHANCE`].
const MISSED_MAX: u32 = 4;
/// The number of batches for which this lasts.
const AGAIN: u32 = 16;

impl<'a> Pace<'a> {
    /// Creates the pace for requests with keys of `bits` bits.
    pub(super) fn new(shared: &'a SharedPace, full: u32, bits: usize) -> Self {
        let times = bits.div_ceil(2048).clamp(1, 4) as u64;
        Self {
            shared,
            full,
            wait_max: WAIT_MAX * times * times,
        }
    }

    /// Returns the longest gap that counts, in ns; a longer pause says nothing about the pace.
    fn gap_max(&self) -> u64 {
        2 * self.wait_max
    }

    /// Records that a request has arrived.
    pub(super) fn came(&self, now: u64) {
        let shared = self.shared;
        let since = now
            .saturating_sub(shared.last.swap(now, Relaxed))
            .min(self.gap_max());
        let gap = shared.gap.load(Relaxed).min(self.gap_max());
        let gap = decayed(gap as f64, since as f64, 8.0);
        shared.gap.store(gap as u64, Relaxed);
    }

    /// Records that a process computes a batch. The processes that it serves come back after that.
    pub(super) fn begins(&self, now: u64) {
        let until = now.saturating_add(self.wait_max);
        self.shared.busy.fetch_max(until, Relaxed);
    }

    /// Records that the computation has ended.
    pub(super) fn ends(&self, now: u64) {
        self.shared.busy.store(now, Relaxed);
    }

    /// Records that `count` requests were taken at once.
    pub(super) fn taken(&self, count: u32) {
        let missed = match count >= self.full {
            true => 0,
            false => self.shared.missed.load(Relaxed).wrapping_add(1) % (MISSED_MAX + AGAIN),
        };
        self.shared.missed.store(missed, Relaxed);
    }

    /// Returns how much longer a request that came at `began` waits for others, if `waiting` requests wait.
    pub(super) fn left(&self, began: u64, now: u64, waiting: u32) -> Duration {
        let missing = self.full.saturating_sub(waiting);
        let shared = self.shared;
        let [last, busy, gap] =
            [&shared.last, &shared.busy, &shared.gap].map(|ns| ns.load(Relaxed));
        let gap = gap.min(self.gap_max());
        let is_near = gap * u64::from(missing) <= self.wait_max;
        let is_of_use = self.shared.missed.load(Relaxed) < MISSED_MAX;
        let patience = if is_near && is_of_use {
            GAPS * gap
        } else {
            self.wait_max / CHANCE
        };
        // Times in the memory may come from another clock, or be wrong.
        let until =
            (last.max(busy).saturating_add(patience)).min(began.saturating_add(self.wait_max));
        Duration::from_nanos(until.saturating_sub(now))
    }

    /// Returns the most that the request still waits.
    pub(super) fn most_left(&self, began: u64, now: u64) -> Duration {
        let until = began.saturating_add(self.wait_max);
        Duration::from_nanos(until.saturating_sub(now).min(self.wait_max))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: u64 = 1000;

    fn us(us: u64) -> Duration {
        Duration::from_micros(us)
    }

    /// Returns a pace after requests with this gap, and the time of the last one.
    fn paced(shared: &SharedPace, gap: u64) -> (Pace<'_>, u64) {
        let pace = Pace::new(shared, 4, 2048);
        for number in 0..64 {
            pace.came(1_000_000_000 + number * gap);
        }
        (pace, 1_000_000_000 + 63 * gap)
    }

    #[test]
    fn they_wait_for_those_that_are_due_soon_and_not_without_end() {
        let shared = SharedPace::default();
        let (pace, now) = paced(&shared, 100 * US);
        let left = pace.left(now, now, 1);
        assert!((us(390)..us(440)).contains(&left), "{left:?}");
        assert_eq!(pace.left(now, now + 500 * US, 1), Duration::ZERO);
        pace.came(now + 3900 * US);
        assert_eq!(pace.left(now, now + 3900 * US, 2), us(100));
    }

    #[test]
    fn where_none_are_due_they_wait_by_chance() {
        let shared = SharedPace::default();
        let (pace, now) = paced(&shared, 1900 * US);
        assert_eq!(
            pace.left(now, now, 1),
            Duration::from_nanos(WAIT_MAX / CHANCE)
        );
        assert!(pace.left(now, now, 3) > us(2000));
        let (pace, now) = paced(&shared, 10_000_000 * US);
        assert_eq!(
            pace.left(now, now, 3),
            Duration::from_nanos(WAIT_MAX / CHANCE)
        );
    }

    /// The next requests are expected from the processes that come back.
    #[test]
    fn while_one_computes_others_wait_on() {
        let shared = SharedPace::default();
        let (pace, now) = paced(&shared, 100 * US);
        pace.begins(now);
        assert!(pace.left(now, now + 3000 * US, 1) > us(900));
        pace.ends(now + 3000 * US);
        let left = pace.left(now, now + 3000 * US, 1);
        assert!((us(390)..us(440)).contains(&left), "{left:?}");
        // A process that is killed while it computes delays no other.
        pace.begins(now);
        assert_eq!(pace.left(now, now + 4000 * US, 1), Duration::ZERO);
    }

    #[test]
    fn the_most_there_is_ends_with_the_wait() {
        let shared = SharedPace::default();
        let (pace, now) = paced(&shared, 100 * US);
        assert_eq!(pace.most_left(now, now), us(4000));
        assert_eq!(pace.most_left(now, now + 3900 * US), us(100));
        assert_eq!(pace.most_left(now, now + 4000 * US), Duration::ZERO);
        assert_eq!(pace.most_left(u64::MAX, 0), us(4000));
    }

    #[test]
    fn requests_of_longer_keys_wait_longer() {
        let shared = SharedPace::default();
        let waits = [512, 2048, 2049, 4096].map(|bits| Pace::new(&shared, 4, bits).wait_max);
        assert_eq!(waits, [1, 1, 4, 4].map(|times| times * WAIT_MAX));
    }

    #[test]
    fn where_waiting_is_of_no_use_they_wait_by_chance_for_a_while() {
        let shared = SharedPace::default();
        let (pace, now) = paced(&shared, 100 * US);
        let is_patient = || pace.left(now, now, 3) > us(350);
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
        // A full batch resets the count of missed ones.
        for _ in 0..MISSED_MAX {
            pace.taken(1);
        }
        pace.taken(4);
        assert!(is_patient());
    }

    #[test]
    fn whatever_the_memory_says_no_wait_is_long() {
        let shared = SharedPace::default();
        let pace = Pace::new(&shared, 4, 2048);
        for value in [0, 1, u64::MAX / 2, u64::MAX] {
            for of in [&shared.last, &shared.gap, &shared.busy] {
                of.store(value, Relaxed);
                shared.missed.store(value as u32, Relaxed);
                pace.taken(2);
                for now in [0, 1, u64::MAX] {
                    assert!(pace.left(now, now, 1) <= us(4000));
                    pace.came(now);
                    pace.begins(now);
                    pace.ends(now);
                }
            }
        }
    }
}
