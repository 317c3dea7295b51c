//! Decides whether a device gets requests, by a [breaker](crate::learn::Breaker), and how long an answer may take.
//!
//! The time limit follows the device's own history, like TCP's retransmission timer (RFC 6298): the mean and deviation of
//! measured times as a multiple of the expected time, so one history serves all sizes and queue depths. A time-out doubles
//! the limit until a request succeeds (Karn and Partridge 1987); without that, a device that has become slower would never
//! be seen to answer.
//!
//! Numbers that a client sent can make any device fail: composite "primes" produce a result that fails its check. The
//! dispatcher and the framework record such a result as [unproven](Health::unproven).
//!
//! Nothing here reads a clock: the caller chooses the origin of all times.

use std::time::Duration;

use crate::costs::published::{Counts, DeviceState, ShownDevice};
use crate::learn::{Admission, Breaker, BreakerRule, BreakerState, Period, decayed};
use oarlock_threads::page::DeviceFigure;

/// When a device gets no more requests.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// For errors that it reports.
    pub failures: BreakerRule,
    /// For requests that it does not answer in time.
    pub stalls: BreakerRule,
    /// For breaches of the contract.
    pub breaches: BreakerRule,
    /// The shortest time limit of a request.
    pub limit_min: Duration,
    /// How often time-outs in a row double the limit.
    pub doublings_max: u32,
}

/// The health of one device, under its lock.
#[derive(Debug)]
pub struct Health {
    /// Its rules, which may change at any time.
    pub rules: Rules,
    breaker: Breaker,
    /// Measured over expected times of requests. `None` before the first.
    history: Option<History>,
    /// The number of doublings of the time limit, after time-outs.
    doublings: u32,
    /// The device's successes, failures and time-outs.
    pub counts: Counts,
}

#[derive(Clone, Copy, Debug)]
struct History {
    mean: f64,
    deviation: f64,
}

/// The way in which a device failed a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It reported an error.
    Failed,
    /// It did not answer in time.
    Stalled,
    /// It broke the contract: a wrong result, or a write past the end.
    Breach,
}

/// A request that was given to a device, or several together.
#[derive(Clone, Copy, Debug)]
pub struct Given {
    /// `None` for one that another took the trial from: its result does not count.
    period: Option<Period>,
    at: Duration,
    expected: Duration,
    /// It is not overdue before this time.
    due_min: Duration,
}

impl Given {
    /// Returns the time that it has taken by now.
    pub fn took(&self, now: Duration) -> Duration {
        now.saturating_sub(self.at)
    }

    /// Returns when it is overdue.
    pub fn due(&self, patience: Patience) -> Duration {
        self.due_min.max(self.at + patience.of(self.expected))
    }
}

/// The time limit of a request, as a multiple of its expected time.
#[derive(Clone, Copy, Debug)]
pub struct Patience(f64);

impl Patience {
    fn of(self, expected: Duration) -> Duration {
        let limit = expected.mul_f64(self.0) + PATIENCE_MIN;
        limit.min(longest(expected))
    }
}

impl Health {
    /// Creates the health of a device of which nothing is known.
    pub fn new(rules: Rules) -> Self {
        Self {
            rules,
            breaker: Breaker::default(),
            history: None,
            doublings: 0,
            counts: Counts::default(),
        }
    }

    /// Whether the device gets requests without trial.
    pub fn is_trusted(&self) -> bool {
        self.breaker.is_closed()
    }

    /// Returns whether the device admits a request. [`given`](Self::given) then records it.
    pub fn admits(&self, now: Duration) -> Admission {
        self.breaker.admission(now)
    }

    /// Counts a request as given, to be answered after `expected`, and begins a trial if one is due.
    pub fn given(&mut self, now: Duration, expected: Duration) -> Given {
        self.counts.given += 1;
        let once = self.patience().of(expected);
        let limit = once
            .saturating_mul(1 << self.doublings)
            .min(longest(expected))
            .max(self.rules.limit_min);
        Given {
            // The time limit of the request detects a trial that stalls.
            period: self.breaker.admit(now, Duration::MAX),
            at: now,
            expected,
            due_min: now.saturating_add(limit),
        }
    }

    /// Takes back a request that the device had no room for.
    pub fn refused(&mut self, given: Given) {
        self.counts.given -= 1;
        self.in_period(given, |breaker, period| breaker.refused(period));
    }

    /// Records the success of a request. Returns whether it closed the breaker.
    pub fn succeeded(&mut self, now: Duration, given: Given) -> bool {
        self.counts.done += 1;
        self.doublings = 0;
        let ratio = given.took(now).as_secs_f64() / given.expected.as_secs_f64().max(1e-9);
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
        let rule = self.rules.failures;
        self.in_period(given, |breaker, period| breaker.succeeded(period, rule))
    }

    /// Records the result of a request with numbers of a client: a failure is the client's, and a success clears no
    /// failure. Returns whether it closed the breaker.
    pub fn unproven(&mut self, given: Given, was_right: bool) -> bool {
        let rule = self.rules.failures;
        self.in_period(given, |breaker, period| match was_right {
            true => breaker.succeeded_once(period, rule),
            false => {
                breaker.refused(period);
                false
            }
        })
    }

    /// Counts a failure and returns whether it opened the breaker.
    pub fn failed(&mut self, now: Duration, given: Given, fault: Fault) -> bool {
        let rule = match fault {
            Fault::Failed => {
                self.counts.failed += 1;
                self.rules.failures
            }
            Fault::Stalled => {
                self.counts.stalled += 1;
                self.doublings = (self.doublings + 1).min(self.rules.doublings_max);
                self.rules.stalls
            }
            Fault::Breach => {
                self.counts.breaches += 1;
                self.rules.breaches
            }
        };
        let opens = self.in_period(given, |breaker, period| breaker.failed(period, now, rule));
        self.counts.opened += u64::from(opens);
        opens
    }

    /// Returns the limit by requests answered up to now, so a device that answers steadily but more slowly has not stalled.
    /// It has no doublings, which only apply to later requests: requests that stalled together are taken away together.
    pub fn patience(&self) -> Patience {
        let factor = match self.history {
            None => FACTOR_AT_FIRST,
            Some(History { mean, deviation }) => mean + 4.0 * deviation,
        };
        Patience(factor.clamp(FACTOR_MIN, FACTOR_MAX))
    }

    fn in_period<T: Default>(&self, given: Given, f: impl FnOnce(&Breaker, Period) -> T) -> T {
        given
            .period
            .map_or_else(T::default, |period| f(&self.breaker, period))
    }

    /// Writes the figures to the shared page.
    pub(crate) fn show(&self, shown: ShownDevice) {
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

    /// Returns the state of its breaker.
    pub fn state(&self) -> BreakerState {
        self.breaker.state()
    }
}

/// Returns the longest time limit of a request.
fn longest(expected: Duration) -> Duration {
    PATIENCE_MAX.max(expected.mul_f64(FACTOR_MIN))
}

const FACTOR_AT_FIRST: f64 = 8.0;
/// Twice the expected time is no stall, however regular the device has been.
const FACTOR_MIN: f64 = 2.0;
const FACTOR_MAX: f64 = 64.0;
/// The polling thread may be delayed this long on a busy machine.
const PATIENCE_MIN: Duration = Duration::from_millis(20);
/// The longest time limit of a request that is expected to take no more than half of it.
const PATIENCE_MAX: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learn::BackOff;

    const MS: Duration = Duration::from_millis(1);
    const OPEN_MIN: Duration = Duration::from_nanos(OPEN_NS_MIN);
    const OPEN_NS_MIN: u64 = 50_000_000;
    const FAILURES: BreakerRule = BreakerRule {
        failures_max: 3,
        trials: 3,
        pause_ns: BackOff::doubling(OPEN_NS_MIN, OPEN_NS_MIN << 10),
    };
    const BREACHES: BreakerRule = BreakerRule {
        failures_max: 1,
        trials: 3,
        pause_ns: BackOff::doubling(20 * OPEN_NS_MIN, 20 * (OPEN_NS_MIN << 10)),
    };

    fn healthy() -> Health {
        Health::new(Rules {
            failures: FAILURES,
            stalls: FAILURES,
            breaches: BREACHES,
            limit_min: Duration::ZERO,
            doublings_max: 10,
        })
    }

    fn give(health: &mut Health, now: Duration, expected: Admission) -> Given {
        assert_eq!(health.admits(now), expected);
        health.given(now, MS)
    }

    /// Records a request that was expected to take `expected` and took `took`.
    fn answer(health: &mut Health, expected: Duration, took: Duration) {
        let given = health.given(Duration::ZERO, expected);
        health.succeeded(took, given);
    }

    /// Returns the time limit of a request that is given now.
    fn limit(health: &mut Health, expected: Duration) -> Duration {
        let given = health.given(Duration::ZERO, expected);
        given.due(health.patience())
    }

    #[test]
    fn three_failures_in_a_row_open_it_and_three_trials_close_it() {
        let mut health = healthy();
        for _ in 0..2 {
            let given = give(&mut health, MS, Admission::Yes);
            assert!(!health.failed(MS, given, Fault::Failed));
        }
        let given = give(&mut health, MS, Admission::Yes);
        health.succeeded(2 * MS, given);
        for round in 0..3 {
            let given = give(&mut health, MS, Admission::Yes);
            assert_eq!(health.failed(MS, given, Fault::Failed), round == 2);
        }
        assert_eq!(health.state(), BreakerState::Open);
        assert_eq!(
            health.admits(MS + OPEN_MIN - Duration::from_nanos(1)),
            Admission::No
        );
        for round in 0..FAILURES.trials {
            let trial = give(&mut health, MS + OPEN_MIN, Admission::Trial);
            assert_eq!(health.admits(MS + OPEN_MIN), Admission::No, "one at a time");
            // A request that came between the trial's admission and the trial.
            let other = health.given(MS + OPEN_MIN, MS);
            assert!(!health.succeeded(MS + OPEN_MIN, other));
            assert_eq!(health.admits(MS + OPEN_MIN), Admission::No);
            assert_eq!(health.succeeded(MS + OPEN_MIN, trial), round == 2);
        }
        assert_eq!(health.state(), BreakerState::Closed);
    }

    #[test]
    fn a_trial_that_fails_doubles_the_pause_and_one_that_was_refused_is_none() {
        let mut health = healthy();
        for _ in 0..FAILURES.failures_max {
            let given = give(&mut health, Duration::ZERO, Admission::Yes);
            health.failed(Duration::ZERO, given, Fault::Failed);
        }
        let mut now = OPEN_MIN;
        let trial = give(&mut health, now, Admission::Trial);
        health.refused(trial);
        let trial = give(&mut health, now, Admission::Trial);
        assert!(health.failed(now, trial, Fault::Stalled));
        assert_eq!(health.admits(now + OPEN_MIN), Admission::No);
        now += 2 * OPEN_MIN;
        assert_eq!(health.admits(now), Admission::Trial);
    }

    #[test]
    fn one_breach_opens_it_for_long() {
        let mut health = healthy();
        let given = give(&mut health, Duration::ZERO, Admission::Yes);
        assert!(health.failed(Duration::ZERO, given, Fault::Breach));
        assert_eq!(health.admits(OPEN_MIN * 19), Admission::No);
        assert_eq!(health.admits(OPEN_MIN * 20), Admission::Trial);
    }

    #[test]
    fn numbers_of_a_client_neither_open_it_nor_hide_failures() {
        let mut health = healthy();
        let fails = |health: &mut Health, now| {
            let given = health.given(now, MS);
            health.failed(now, given, Fault::Failed)
        };
        for round in 0..3 {
            for was_right in [false, true] {
                let given = give(&mut health, MS, Admission::Yes);
                assert!(!health.unproven(given, was_right));
            }
            assert_eq!(fails(&mut health, MS), round == 2);
        }
        // A trial that fails with them is none; one that succeeds lets requests in until the next failure.
        let now = MS + OPEN_MIN;
        let trial = give(&mut health, now, Admission::Trial);
        assert!(!health.unproven(trial, false));
        let trial = give(&mut health, now, Admission::Trial);
        assert!(health.unproven(trial, true));
        assert!(health.is_trusted());
        assert!(fails(&mut health, now));
        assert_eq!(health.admits(now + OPEN_MIN), Admission::No, "longer");
        assert_eq!(health.counts.failed, 4);
    }

    #[test]
    fn a_limit_is_no_shorter_than_the_rule_and_twice_the_expected_time() {
        let mut health = healthy();
        let hour = Duration::from_secs(3600);
        assert_eq!(limit(&mut health, hour), 2 * hour);
        health.rules.limit_min = 100 * MS;
        for _ in 0..100 {
            answer(&mut health, MS, MS);
        }
        assert_eq!(limit(&mut health, MS), 100 * MS);
        assert!(limit(&mut health, 80 * MS) > 160 * MS);
    }

    #[test]
    fn patience_follows_a_devices_own_history() {
        let mut health = healthy();
        let before = limit(&mut health, 10 * MS);
        for _ in 0..100 {
            answer(&mut health, MS, MS);
        }
        let regular = limit(&mut health, 10 * MS);
        assert!(regular < before);
        for _ in 0..100 {
            answer(&mut health, MS, 5 * MS);
        }
        let slower = limit(&mut health, 10 * MS);
        let beyond = |patience: Duration| patience - PATIENCE_MIN;
        assert!(
            beyond(slower) > 2 * beyond(regular),
            "{slower:?}, {regular:?}"
        );
        let given = health.given(Duration::ZERO, MS);
        health.failed(MS, given, Fault::Stalled);
        assert_eq!(limit(&mut health, 10 * MS), 2 * slower);
        answer(&mut health, MS, 5 * MS);
        assert!(limit(&mut health, 10 * MS) < 2 * slower);
    }

    #[test]
    fn a_device_that_others_slow_down_at_once_has_not_stalled_until_it_answers_no_more() {
        for times in [2, 4, 16] {
            let mut health = healthy();
            let share = MS / 10;
            // Full queues of 512 requests, each expected to wait for the 511 ahead of it.
            let expected = 512 * share;
            for _ in 0..1000 {
                answer(&mut health, expected, expected);
            }
            // The youngest of those under way.
            let first = health.given(Duration::ZERO, expected);
            // From now on other clients take turns between the requests under way, the youngest of which was just sent.
            for place in 1..=400 {
                let now = place * times * share;
                let sent_before = (512 - place) * share;
                answer(&mut health, expected, now + sent_before);
                // The next requests; the youngest of them has waited no longer.
                let waited = now + times * share + sent_before;
                let patience = first.due(health.patience());
                assert!(
                    waited < patience,
                    "{times}, {place}: {waited:?}, {patience:?}"
                );
            }
            // No further answer arrives.
            let waited = 400 * times * share + 111 * share;
            let patience = first.due(health.patience());
            assert!(patience < 4 * waited, "{times}: {patience:?}");
        }
    }
}
