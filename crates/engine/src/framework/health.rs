//! Decides whether a device gets requests, by a [breaker](crate::learn::Breaker), and how long an answer may take.
//!
//! One breach of contract opens the breaker, as [`FAILURES_MAX`] failures in a row do, and keeps it open for longer.
//!
//! The time limit follows the device's own history, like TCP's retransmission timer (RFC 6298): the mean and deviation of
//! measured times as a multiple of the expected time, so one history serves all sizes and queue depths. A time-out doubles
//! the limit until a request succeeds (Karn and Partridge 1987); without that, a device that has become slower would never
//! be seen to answer.
//!
//! Nothing here reads a clock: the caller chooses the origin of all times.

use std::time::Duration;

use crate::costs::published::{Counts, DeviceState, ShownDevice};
pub(super) use crate::learn::Admission;
use crate::learn::{BackOff, Breaker, BreakerRule, BreakerState, decayed};
use oarlock_threads::page::DeviceFigure;

/// The health of one device, under its lock.
#[derive(Debug, Default)]
pub(super) struct Health {
    breaker: Breaker,
    /// Measured over expected times of requests. `None` before the first.
    history: Option<History>,
    /// The number of doublings of the time limit, after time-outs.
    doublings: u32,
    pub(super) counts: Counts,
}

#[derive(Clone, Copy, Debug)]
struct History {
    mean: f64,
    deviation: f64,
}

/// The way in which a device failed a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// It reported an error.
    Failed,
    /// It did not answer in time.
    Stalled,
    /// It broke the contract: a wrong result, or a write past the end.
    Breach,
}

/// The time limit of a request, as a multiple of its expected time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience(f64);

impl Patience {
    pub(super) fn of(self, expected: Duration) -> Duration {
        (expected.mul_f64(self.0) + PATIENCE_MIN).min(PATIENCE_MAX)
    }
}

impl Health {
    /// Returns whether the device admits a request. [`given`](Self::given) then records it.
    pub(super) fn admits(&self, now: Duration) -> Admission {
        self.breaker.admission(now)
    }

    /// Counts a request as given and begins a trial if the breaker is half open.
    pub(super) fn given(&mut self, now: Duration) {
        self.counts.given += 1;
        // The deadline of the request detects a trial that stalls.
        self.breaker.begin_trial(now, Duration::MAX);
    }

    /// Takes back the count of a request that the device had no room for.
    pub(super) fn refused(&mut self) {
        self.counts.given -= 1;
        self.breaker.refused();
    }

    pub(super) fn succeeded(&mut self, expected: Duration, took: Duration) {
        self.counts.done += 1;
        self.doublings = 0;
        let ratio = took.as_secs_f64() / expected.as_secs_f64().max(1e-9);
        self.history = Some(match self.history {
            None => History {
                mean: ratio,
                deviation: ratio / 2.0,
            },
            Some(History { mean, deviation }) => History {
                deviation: decayed(deviation, (mean - ratio).abs(), 4.0),
                mean: decayed(mean, ratio, 8.0),
            },
        });
        self.breaker.succeeded(FAILURES);
    }

    /// Counts a failure and returns whether it opened the breaker.
    pub(super) fn failed(&mut self, now: Duration, fault: Fault) -> bool {
        match fault {
            Fault::Failed => self.counts.failed += 1,
            Fault::Stalled => {
                self.counts.stalled += 1;
                self.doublings = (self.doublings + 1).min(DOUBLINGS_MAX);
            }
            Fault::Breach => self.counts.breaches += 1,
        }
        let opens = match fault {
            Fault::Breach => self.breaker.failed(now, BREACHES),
            _ => self.breaker.failed(now, FAILURES),
        };
        self.counts.opened += u64::from(opens);
        opens
    }

    /// Returns how long a request of `expected` time may take, including doublings.
    pub(super) fn patience(&self, expected: Duration) -> Duration {
        self.patience_by_now()
            .of(expected)
            .saturating_mul(1 << self.doublings)
            .min(PATIENCE_MAX)
    }

    /// Returns the limit by requests answered up to now, so a device that answers steadily but more slowly has not stalled.
    /// It has no doublings, which only apply to later requests: requests that stalled together are taken away together.
    pub(super) fn patience_by_now(&self) -> Patience {
        let factor = match self.history {
            None => FACTOR_AT_FIRST,
            Some(History { mean, deviation }) => mean + 4.0 * deviation,
        };
        Patience(factor.clamp(FACTOR_MIN, FACTOR_MAX))
    }

    /// Writes the figures to the shared page.
    pub(super) fn show(&self, shown: ShownDevice) {
        shown.set(DeviceFigure::Given, self.counts.given);
        shown.set(DeviceFigure::Done, self.counts.done);
        shown.set(DeviceFigure::Failed, self.counts.failed);
        shown.set(DeviceFigure::Stalled, self.counts.stalled);
        shown.set(DeviceFigure::Late, self.counts.late);
        shown.set(DeviceFigure::Breaches, self.counts.breaches);
        shown.set(DeviceFigure::Opened, self.counts.opened);
        shown.set_state(match self.state() {
            BreakerState::Closed => DeviceState::Closed,
            BreakerState::Open => DeviceState::Open,
            BreakerState::HalfOpen => DeviceState::HalfOpen,
        });
    }

    pub(super) fn state(&self) -> BreakerState {
        self.breaker.state()
    }
}

/// Three failures in a row open the breaker, for 50 ms at first and up to 51 s.
const FAILURES: BreakerRule = BreakerRule {
    failures_max: FAILURES_MAX,
    trials: 3,
    pause_ns: BackOff::doubling(OPEN_NS_MIN, OPEN_NS_MIN << 10),
};
/// One breach opens it, for longer: the next one may go unnoticed.
const BREACHES: BreakerRule = BreakerRule {
    failures_max: 1,
    trials: FAILURES.trials,
    pause_ns: BackOff::doubling(20 * OPEN_NS_MIN, 20 * (OPEN_NS_MIN << 10)),
};
const FAILURES_MAX: u32 = 3;
const OPEN_NS_MIN: u64 = 50_000_000;
const DOUBLINGS_MAX: u32 = 10;
const FACTOR_AT_FIRST: f64 = 8.0;
/// Twice the expected time is no stall, however regular the device has been.
const FACTOR_MIN: f64 = 2.0;
const FACTOR_MAX: f64 = 64.0;
/// The polling thread may be delayed this long on a busy machine.
const PATIENCE_MIN: Duration = Duration::from_millis(20);
const PATIENCE_MAX: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);
    const OPEN_MIN: Duration = Duration::from_nanos(OPEN_NS_MIN);

    fn give(health: &mut Health, now: Duration, expected: Admission) {
        assert_eq!(health.admits(now), expected);
        health.given(now);
    }

    #[test]
    fn three_failures_in_a_row_open_it_and_three_trials_close_it() {
        let mut health = Health::default();
        for _ in 0..2 {
            give(&mut health, MS, Admission::Yes);
            assert!(!health.failed(MS, Fault::Failed));
        }
        give(&mut health, MS, Admission::Yes);
        health.succeeded(MS, MS);
        for round in 0..3 {
            give(&mut health, MS, Admission::Yes);
            assert_eq!(health.failed(MS, Fault::Failed), round == 2);
        }
        assert_eq!(health.state(), BreakerState::Open);
        assert_eq!(
            health.admits(MS + OPEN_MIN - Duration::from_nanos(1)),
            Admission::No
        );
        for _ in 0..FAILURES.trials {
            give(&mut health, MS + OPEN_MIN, Admission::Trial);
            assert_eq!(health.admits(MS + OPEN_MIN), Admission::No, "one at a time");
            health.succeeded(MS, MS);
        }
        assert_eq!(health.state(), BreakerState::Closed);
    }

    #[test]
    fn a_trial_that_fails_doubles_the_pause_and_one_that_was_refused_is_none() {
        let mut health = Health::default();
        for _ in 0..FAILURES_MAX {
            health.failed(Duration::ZERO, Fault::Failed);
        }
        let mut now = OPEN_MIN;
        give(&mut health, now, Admission::Trial);
        health.refused();
        give(&mut health, now, Admission::Trial);
        assert!(health.failed(now, Fault::Stalled));
        assert_eq!(health.admits(now + OPEN_MIN), Admission::No);
        now += 2 * OPEN_MIN;
        assert_eq!(health.admits(now), Admission::Trial);
    }

    #[test]
    fn one_breach_opens_it_for_long() {
        let mut health = Health::default();
        assert!(health.failed(Duration::ZERO, Fault::Breach));
        assert_eq!(health.admits(OPEN_MIN * 19), Admission::No);
        assert_eq!(health.admits(OPEN_MIN * 20), Admission::Trial);
    }

    #[test]
    fn patience_follows_a_devices_own_history() {
        let mut health = Health::default();
        let before = health.patience(10 * MS);
        for _ in 0..100 {
            health.succeeded(MS, MS);
        }
        let regular = health.patience(10 * MS);
        assert!(regular < before);
        for _ in 0..100 {
            health.succeeded(MS, 5 * MS);
        }
        let slower = health.patience(10 * MS);
        let beyond = |patience: Duration| patience - PATIENCE_MIN;
        assert!(
            beyond(slower) > 2 * beyond(regular),
            "{slower:?}, {regular:?}"
        );
        health.failed(MS, Fault::Stalled);
        assert_eq!(health.patience(10 * MS), 2 * slower);
        health.succeeded(MS, 5 * MS);
        assert!(health.patience(10 * MS) < 2 * slower);
    }

    #[test]
    fn a_device_that_others_slow_down_at_once_has_not_stalled_until_it_answers_no_more() {
        for times in [2, 4, 16] {
            let mut health = Health::default();
            let share = MS / 10;
            // Full queues of 512 requests, each expected to wait for the 511 ahead of it.
            let expected = 512 * share;
            for _ in 0..1000 {
                health.succeeded(expected, expected);
            }
            let at_first = health.patience(expected);
            // From now on other clients take turns between the requests under way, the youngest of which was just sent.
            for place in 1..=400 {
                let now = place * times * share;
                let sent_before = (512 - place) * share;
                health.succeeded(expected, now + sent_before);
                // The next requests; the youngest of them has waited no longer.
                let waited = now + times * share + sent_before;
                let patience = health.patience_by_now().of(expected).max(at_first);
                assert!(
                    waited < patience,
                    "{times}, {place}: {waited:?}, {patience:?}"
                );
            }
            // No further answer arrives.
            let waited = 400 * times * share + 111 * share;
            let patience = health.patience_by_now().of(expected).max(at_first);
            assert!(patience < 4 * waited, "{times}: {patience:?}");
        }
    }
}
