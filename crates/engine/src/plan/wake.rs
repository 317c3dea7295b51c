//! Decides when sleeping helpers are woken for requests still to come.

use std::time::{Duration, Instant};

use crate::learn::BackOff;

/// The state of waking helpers during a streak, before one request alone would pay for it.
#[derive(Debug)]
pub(super) struct Waking {
    /// The length from which on a streak wakes helpers.
    pub(super) streak_to_wake: u32,
    /// When a streak last did so, while the outcome is unknown.
    pub(super) since: Option<Instant>,
    /// When a streak last woke more helpers than were awake.
    more_since: Option<Instant>,
    /// The least time between two such attempts.
    more_apart: Duration,
}

impl Default for Waking {
    fn default() -> Self {
        Self {
            streak_to_wake: STREAK.least as u32,
            since: None,
            more_since: None,
            more_apart: WAKING,
        }
    }
}

impl Waking {
    pub(super) fn is_overdue(&self, now: Instant) -> bool {
        self.since
            .is_some_and(|since| now.duration_since(since) >= WAKING)
    }

    /// Whether a streak of `streak` requests may wake more helpers when too few are awake. After each time without
    /// success, it waits twice as long before the next.
    pub(super) fn may_wake_more(&mut self, streak: u32, now: Instant) -> bool {
        let is_too_soon = self
            .more_since
            .is_some_and(|since| now.duration_since(since) < self.more_apart);
        if streak < self.streak_to_wake || is_too_soon {
            return false;
        }
        if self.more_since.replace(now).is_some() {
            let ns = MORE_APART_NS.longer(self.more_apart.as_nanos() as u64);
            self.more_apart = Duration::from_nanos(ns);
        }
        true
    }

    /// Records that helpers were woken and asleep again before they could help: the next streak has to be longer.
    pub(super) fn came_too_late(&mut self) {
        self.since = None;
        self.streak_to_wake = STREAK.longer(self.streak_to_wake);
    }

    /// Records that enough helpers are awake.
    pub(super) fn are_enough(&mut self) {
        self.more_since = None;
        self.more_apart = WAKING;
    }
}

/// How long helpers spin for work before they sleep.
pub(super) const WATCH: Duration = Duration::from_micros(50);
/// A helper that has not come within this time after it was woken is not coming.
const WAKING: Duration = Duration::from_micros(400);
/// At this distance, system calls that wake helpers without success cost next to nothing compared with the requests.
const MORE_APART_NS: BackOff = BackOff::doubling(WAKING.as_nanos() as u64, 100_000_000);
/// The number of requests in a row that count as a stream, at first and at most.
pub(super) const STREAK: BackOff = BackOff::doubling(4, u32::MAX as u64);

#[cfg(test)]
mod tests {
    use super::*;

    const STREAK_TO_WAKE: u32 = STREAK.least as u32;

    #[test]
    fn more_are_woken_less_and_less_often_while_it_is_in_vain() {
        let mut waking = Waking::default();
        let began = Instant::now();
        let woken = |waking: &mut Waking, from_ms: u64| {
            let asked = (0..1000).map(|ms| began + Duration::from_millis(from_ms + ms));
            asked
                .filter(|now| waking.may_wake_more(STREAK_TO_WAKE, *now))
                .count()
        };
        assert!(!waking.may_wake_more(STREAK_TO_WAKE - 1, began));
        let in_vain = woken(&mut waking, 0);
        assert!((8..=20).contains(&in_vain), "{in_vain}");
        waking.are_enough();
        assert!(waking.may_wake_more(STREAK_TO_WAKE, began + Duration::from_secs(2)));
    }
}
