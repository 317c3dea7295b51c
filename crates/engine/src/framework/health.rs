//! Whether a device is given requests: a circuit breaker, and how long an answer may take.
//!
//! ```text
//! closed     requests go there. FAILURES_MAX failures in a row, or one breach of contract, open it
//! open       no request goes there until a time is over that doubles with every opening
//! half open  one request at a time is tried. TRIALS that succeed close it, one that fails opens it
//! ```
//!
//! How long an answer may take is measured against the device's own history, as the retransmission
//! timer of TCP is (RFC 6298): mean and deviation of what requests took, as a multiple of what was
//! expected of each, so that one history serves all sizes and all depths of the queue. A time-out
//! doubles until a request succeeds (Karn and Partridge 1987), since a device that is merely slower
//! than it was would otherwise never be seen to answer.
//!
//! Nothing here looks at a clock: times count from whenever the caller likes.

use std::time::Duration;

use crate::costs::published::{DeviceState, ShownDevice};
use oarlock_threads::page::DeviceFigure;

/// The health of one device, under its lock.
#[derive(Debug)]
pub(super) struct Health {
    breaker: Breaker,
    in_a_row: u32,
    /// What requests took, relative to what was expected. `None` before the first.
    history: Option<History>,
    /// How often time-outs are doubled.
    doublings: u32,
    /// How often it has opened without closing in between.
    openings: u32,
    pub(super) counts: Counts,
}

#[derive(Clone, Copy, Debug)]
struct History {
    mean: f64,
    deviation: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Breaker {
    Closed,
    Open { until: Duration },
    HalfOpen { on_trial: bool, succeeded: u32 },
}

/// What a device has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Requests that were given to it.
    pub given: u64,
    /// Requests that it completed.
    pub done: u64,
    /// Requests that it failed, or did wrong.
    pub failed: u64,
    /// Requests that were taken away because it had stalled.
    pub stalled: u64,
    /// Answers to requests that had been taken away, and second answers.
    pub late: u64,
    /// Results that were not right, and writes past the end.
    pub breaches: u64,
    /// How often the breaker opened.
    pub opened: u64,
}

/// Whether a request may go to a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    No,
    Yes,
    /// As the trial of one that is half open.
    Trial,
}

/// What was wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// It said so.
    Failed,
    /// It did not answer in time.
    Stalled,
    /// It broke the contract: a wrong result, or a write past the end.
    Breach,
}

/// The state of a breaker, in listings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BreakerState {
    /// It gets requests.
    Closed,
    /// It gets none.
    Open,
    /// It gets one at a time.
    HalfOpen,
}

/// How many times what is expected of a request it may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience(f64);

impl Patience {
    pub(super) fn of(self, expected: Duration) -> Duration {
        (expected.mul_f64(self.0) + PATIENCE_MIN).min(PATIENCE_MAX)
    }
}

impl Default for Health {
    fn default() -> Self {
        Self {
            breaker: Breaker::Closed,
            in_a_row: 0,
            history: None,
            doublings: 0,
            openings: 0,
            counts: Counts::default(),
        }
    }
}

impl Health {
    /// Whether a request may go there; asked without giving it one.
    pub(super) fn admits(&mut self, now: Duration) -> Admission {
        if let Breaker::Open { until } = self.breaker
            && now >= until
        {
            self.breaker = Breaker::HalfOpen {
                on_trial: false,
                succeeded: 0,
            };
        }
        match self.breaker {
            Breaker::Closed => Admission::Yes,
            Breaker::HalfOpen {
                on_trial: false, ..
            } => Admission::Trial,
            _ => Admission::No,
        }
    }

    /// A request goes there.
    pub(super) fn given(&mut self) {
        self.counts.given += 1;
        if let Breaker::HalfOpen { on_trial, .. } = &mut self.breaker {
            *on_trial = true;
        }
    }

    /// A request that was given came back whole, since there was no room.
    pub(super) fn refused(&mut self) {
        self.counts.given -= 1;
        if let Breaker::HalfOpen { on_trial, .. } = &mut self.breaker {
            *on_trial = false;
        }
    }

    pub(super) fn succeeded(&mut self, expected: Duration, took: Duration) {
        self.counts.done += 1;
        self.in_a_row = 0;
        self.doublings = 0;
        let ratio = took.as_secs_f64() / expected.as_secs_f64().max(1e-9);
        self.history = Some(match self.history {
            None => History {
                mean: ratio,
                deviation: ratio / 2.0,
            },
            Some(History { mean, deviation }) => History {
                deviation: 0.75 * deviation + 0.25 * (mean - ratio).abs(),
                mean: 0.875 * mean + 0.125 * ratio,
            },
        });
        if let Breaker::HalfOpen { succeeded, .. } = self.breaker {
            let succeeded = succeeded + 1;
            if succeeded == TRIALS {
                self.breaker = Breaker::Closed;
                self.openings = 0;
            } else {
                self.breaker = Breaker::HalfOpen {
                    on_trial: false,
                    succeeded,
                };
            }
        }
    }

    /// Returns whether the breaker opened.
    pub(super) fn failed(&mut self, now: Duration, fault: Fault) -> bool {
        self.in_a_row += 1;
        match fault {
            Fault::Failed => self.counts.failed += 1,
            Fault::Stalled => {
                self.counts.stalled += 1;
                self.doublings = (self.doublings + 1).min(DOUBLINGS_MAX);
            }
            Fault::Breach => self.counts.breaches += 1,
        }
        let opens = match self.breaker {
            Breaker::Open { .. } => false,
            Breaker::HalfOpen { .. } => true,
            Breaker::Closed => fault == Fault::Breach || self.in_a_row >= FAILURES_MAX,
        };
        if opens {
            let pause = OPEN_MIN * (1 << self.openings.min(PAUSE_DOUBLINGS_MAX));
            // A breach may be silent the next time.
            let pause = if fault == Fault::Breach {
                pause * BREACH_PAUSES
            } else {
                pause
            };
            self.breaker = Breaker::Open { until: now + pause };
            self.openings += 1;
            self.in_a_row = 0;
            self.counts.opened += 1;
        }
        opens
    }

    /// How long a request of which so much is expected may take.
    pub(super) fn patience(&self, expected: Duration) -> Duration {
        self.patience_by_now()
            .of(expected)
            .saturating_mul(1 << self.doublings)
            .min(PATIENCE_MAX)
    }

    /// The same by what requests have taken that were answered since: a device that goes on answering, but
    /// slower than it was, has not stalled. Without doublings, which are for requests to come: many that have
    /// stalled together are taken away together.
    pub(super) fn patience_by_now(&self) -> Patience {
        let factor = match self.history {
            None => FACTOR_AT_FIRST,
            Some(History { mean, deviation }) => mean + 4.0 * deviation,
        };
        Patience(factor.clamp(FACTOR_MIN, FACTOR_MAX))
    }

    /// Puts what there is of it where others see it.
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
        match self.breaker {
            Breaker::Closed => BreakerState::Closed,
            Breaker::Open { .. } => BreakerState::Open,
            Breaker::HalfOpen { .. } => BreakerState::HalfOpen,
        }
    }
}

const FAILURES_MAX: u32 = 3;
const TRIALS: u32 = 3;
const OPEN_MIN: Duration = Duration::from_millis(50);
/// Up to 50 s.
const PAUSE_DOUBLINGS_MAX: u32 = 10;
const BREACH_PAUSES: u32 = 20;
const DOUBLINGS_MAX: u32 = 10;
const FACTOR_AT_FIRST: f64 = 8.0;
/// Twice what is expected is no stall, however regular a device has been.
const FACTOR_MIN: f64 = 2.0;
const FACTOR_MAX: f64 = 64.0;
/// What a busy machine may keep the thread from that looks for answers.
const PATIENCE_MIN: Duration = Duration::from_millis(20);
const PATIENCE_MAX: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn give(health: &mut Health, now: Duration, expected: Admission) {
        assert_eq!(health.admits(now), expected);
        health.given();
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
        for _ in 0..TRIALS {
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
        assert_eq!(health.admits(OPEN_MIN * (BREACH_PAUSES - 1)), Admission::No);
        assert_eq!(health.admits(OPEN_MIN * BREACH_PAUSES), Admission::Trial);
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
            // Full queues of 512 requests, each of which was expected behind 511 others.
            let expected = 512 * share;
            for _ in 0..1000 {
                health.succeeded(expected, expected);
            }
            let at_first = health.patience(expected);
            // From now on others have their turns between those under way, the youngest of which was just sent.
            for place in 1..=400 {
                let now = place * times * share;
                let sent_before = (512 - place) * share;
                health.succeeded(expected, now + sent_before);
                // Those that are next, of which the youngest has waited no longer.
                let waited = now + times * share + sent_before;
                let patience = health.patience_by_now().of(expected).max(at_first);
                assert!(
                    waited < patience,
                    "{times}, {place}: {waited:?}, {patience:?}"
                );
            }
            // Nothing is answered any more.
            let waited = 400 * times * share + 111 * share;
            let patience = health.patience_by_now().of(expected).max(at_first);
            assert!(patience < 4 * waited, "{times}: {patience:?}");
        }
    }
}
