//! Circuit breakers: they keep requests from a failing device for a while, then admit one trial at a time.
//!
//! ```text
//! closed     everything is admitted. `failures_max` failures in a row open it
//! open       nothing is admitted until a pause is over, which grows with every opening
//! half open  one trial at a time. `trials` that succeed close it, one that fails opens it
//! ```
//!
//! A result counts only for the [`Period`] in which its request was admitted.
//!
//! The caller chooses the origin of times. Each call passes the rule, which may depend on the kind of failure.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use super::BackOff;

/// When a breaker opens, for how long, and when it closes.
#[derive(Clone, Copy, Debug)]
pub struct BreakerRule {
    /// The number of failures in a row that open it.
    pub failures_max: u32,
    /// The number of successful trials that close it.
    pub trials: u32,
    /// The time that it stays open, in nanoseconds, by the number of openings without closing.
    pub pause_ns: BackOff,
}

/// A breaker, closed at first.
#[derive(Debug, Default)]
pub struct Breaker {
    /// Failures in a row while it is closed.
    failures: AtomicU32,
    /// Openings since a success closed it.
    openings: AtomicU32,
    /// Trials that succeeded since it opened.
    succeeded: AtomicU32,
    is_on_trial: AtomicBool,
    /// Nanoseconds until the next trial may begin; 0 while it is closed.
    until_ns: AtomicU64,
    period: AtomicU32,
}

/// The period of a breaker in which a request was admitted: until it opens, or one trial. The result of a request counts
/// only if it arrives within its period. So one that was under way when the breaker opened ends no trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Period(u32);

/// Whether a request is admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// The breaker is open, or a trial is under way.
    No,
    /// The breaker is closed.
    Yes,
    /// A trial is due. It begins with a request that is [admitted](Breaker::admit).
    Trial,
}

/// The state of a breaker, in listings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BreakerState {
    /// Everything is admitted.
    Closed,
    /// Nothing is admitted.
    Open,
    /// One trial at a time is admitted.
    HalfOpen,
}

impl Breaker {
    /// Whether it is closed, without reading the clock.
    pub fn is_closed(&self) -> bool {
        self.until_ns.load(Ordering::Relaxed) == 0
    }

    /// Returns whether a request would be admitted at `now`.
    pub fn admission(&self, now: Duration) -> Admission {
        match self.until_ns.load(Ordering::Relaxed) {
            0 => Admission::Yes,
            until if ns(now) < until => Admission::No,
            _ => Admission::Trial,
        }
    }

    /// Admits a request, which begins a trial if one is due. Returns the period that its result is recorded with, or
    /// `None` if it is not admitted. If the result of a trial is never recorded, the next trial is due after `limit`.
    pub fn admit(&self, now: Duration, limit: Duration) -> Option<Period> {
        // The period is read first, so that it is never later than the state. It changes after the state.
        let period = self.period.load(Ordering::Acquire);
        let until = self.until_ns.load(Ordering::Relaxed);
        if until == 0 {
            return Some(Period(period));
        }
        let next = ns(now.saturating_add(limit));
        let order = Ordering::Relaxed;
        // Of several threads, one begins the trial.
        let begins = ns(now) >= until
            && self
                .until_ns
                .compare_exchange(until, next, order, order)
                .is_ok();
        begins.then(|| {
            self.is_on_trial.store(true, order);
            let before = self.period.fetch_add(1, Ordering::AcqRel);
            Period(before.wrapping_add(1))
        })
    }

    /// Records that a request has no result, or one that says nothing. A trial did not take place then, and another may
    /// begin.
    pub fn refused(&self, period: Period) {
        if self.is_current(period) && self.is_on_trial.swap(false, Ordering::Relaxed) {
            self.until_ns.store(AT_ONCE, Ordering::Relaxed);
        }
    }

    /// Records a success. Returns whether it closed the breaker.
    pub fn succeeded(&self, period: Period, rule: BreakerRule) -> bool {
        if !self.is_current(period) {
            return false;
        }
        if self.is_closed() {
            // Usually there are no failures, and nothing is written.
            for count in [&self.failures, &self.openings] {
                if count.load(Ordering::Relaxed) != 0 {
                    count.store(0, Ordering::Relaxed);
                }
            }
            return false;
        }
        if !self.is_on_trial.swap(false, Ordering::Relaxed) {
            return false;
        }
        let succeeded = self.succeeded.fetch_add(1, Ordering::Relaxed) + 1;
        if succeeded < rule.trials {
            self.until_ns.store(AT_ONCE, Ordering::Relaxed);
            return false;
        }
        self.close();
        true
    }

    /// Records a success that proves little. It clears no failure. As a trial it closes the breaker, but the next failure
    /// opens it again, and for longer. Returns whether it closed the breaker.
    pub fn succeeded_once(&self, period: Period, rule: BreakerRule) -> bool {
        let is_trial = self.is_current(period) && !self.is_closed();
        if !is_trial || !self.is_on_trial.swap(false, Ordering::Relaxed) {
            return false;
        }
        let failures = rule.failures_max.saturating_sub(1);
        self.failures.store(failures, Ordering::Relaxed);
        self.until_ns.store(0, Ordering::Relaxed);
        true
    }

    /// Records a failure. Returns whether it opened the breaker.
    pub fn failed(&self, period: Period, now: Duration, rule: BreakerRule) -> bool {
        if !self.is_current(period) {
            return false;
        }
        let was_on_trial = self.is_on_trial.swap(false, Ordering::Relaxed);
        if !was_on_trial && !self.is_closed() {
            return false;
        }
        let failures = self.failures.fetch_add(1, Ordering::Relaxed) + 1;
        if !was_on_trial && failures < rule.failures_max {
            return false;
        }
        let openings = self.openings.load(Ordering::Relaxed);
        let pause = Duration::from_nanos(rule.pause_ns.after(openings));
        let next = openings.saturating_add(1);
        self.openings.store(next, Ordering::Relaxed);
        self.failures.store(0, Ordering::Relaxed);
        self.succeeded.store(0, Ordering::Relaxed);
        let until = ns(now.saturating_add(pause));
        self.until_ns.store(until, Ordering::Relaxed);
        self.period.fetch_add(1, Ordering::AcqRel);
        true
    }

    /// Closes it, and forgets how often it opened.
    pub fn close(&self) {
        for count in [&self.failures, &self.openings, &self.succeeded] {
            count.store(0, Ordering::Relaxed);
        }
        self.is_on_trial.store(false, Ordering::Relaxed);
        self.until_ns.store(0, Ordering::Relaxed);
    }

    fn is_current(&self, period: Period) -> bool {
        self.period.load(Ordering::Relaxed) == period.0
    }

    /// Returns its state. It is half open from the first trial on.
    pub fn state(&self) -> BreakerState {
        let has_tried =
            self.is_on_trial.load(Ordering::Relaxed) || self.succeeded.load(Ordering::Relaxed) > 0;
        match self.is_closed() {
            true => BreakerState::Closed,
            false if has_tried => BreakerState::HalfOpen,
            false => BreakerState::Open,
        }
    }
}

/// A time in the past, for a trial that may begin at once.
const AT_ONCE: u64 = 1;

/// Returns nanoseconds, but at least 1: 0 means closed.
fn ns(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX).max(1)
}

impl Clone for Breaker {
    fn clone(&self) -> Self {
        let count = |of: &AtomicU32| AtomicU32::new(of.load(Ordering::Relaxed));
        Self {
            failures: count(&self.failures),
            openings: count(&self.openings),
            succeeded: count(&self.succeeded),
            is_on_trial: AtomicBool::new(false),
            until_ns: AtomicU64::new(self.until_ns.load(Ordering::Relaxed)),
            period: count(&self.period),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);
    const RULE: BreakerRule = BreakerRule {
        failures_max: 3,
        trials: 2,
        pause_ns: BackOff::doubling(50_000_000, 200_000_000),
    };
    const LONG: Duration = Duration::from_secs(60);

    /// Returns the period of a breaker that admits a request, or the next trial, at `now`.
    fn admitted(breaker: &Breaker, now: Duration) -> Period {
        breaker.admit(now, LONG).unwrap()
    }

    #[test]
    fn failures_in_a_row_open_it_and_trials_close_it() {
        let breaker = Breaker::default();
        let first = admitted(&breaker, MS);
        let fails = || breaker.failed(first, MS, RULE);
        assert!(!fails() && !fails());
        assert!(!breaker.succeeded(first, RULE), "it was closed");
        assert!(!fails() && !fails());
        assert_eq!(breaker.admission(MS), Admission::Yes);
        assert!(fails());
        assert_eq!(breaker.state(), BreakerState::Open);
        assert_eq!(breaker.admission(50 * MS), Admission::No);
        assert_eq!(breaker.admit(50 * MS, LONG), None);
        for closes in [false, true] {
            assert_eq!(breaker.admission(51 * MS), Admission::Trial);
            let trial = admitted(&breaker, 51 * MS);
            assert_eq!(breaker.state(), BreakerState::HalfOpen);
            assert_eq!(breaker.admit(51 * MS, LONG), None, "one at a time");
            assert_eq!(breaker.succeeded(trial, RULE), closes);
        }
        assert_eq!(breaker.state(), BreakerState::Closed);
    }

    #[test]
    fn a_late_result_of_a_request_from_before_it_opened_ends_no_trial() {
        let breaker = Breaker::default();
        let early = admitted(&breaker, MS);
        for _ in 0..RULE.failures_max {
            breaker.failed(early, MS, RULE);
        }
        assert!(!breaker.failed(early, MS, RULE), "it is open already");
        let trial = admitted(&breaker, 51 * MS);
        // None of these is the result of the trial, which is under way.
        assert!(!breaker.failed(early, 51 * MS, RULE));
        assert!(!breaker.succeeded(early, RULE));
        assert!(!breaker.succeeded_once(early, RULE));
        breaker.refused(early);
        assert_eq!(breaker.admission(51 * MS), Admission::No);
        assert_eq!(breaker.state(), BreakerState::HalfOpen);
        breaker.succeeded(trial, RULE);
        // Nor does a trial count that was given up in favour of the next one.
        let given_up = breaker.admit(51 * MS, MS).unwrap();
        let last = admitted(&breaker, 52 * MS);
        assert!(!breaker.succeeded(given_up, RULE));
        assert!(breaker.succeeded(last, RULE));
        // After it has closed, only requests admitted since then count.
        for _ in 0..RULE.failures_max {
            assert!(!breaker.failed(early, 52 * MS, RULE));
        }
    }

    #[test]
    fn a_success_that_proves_little_closes_it_until_the_next_failure() {
        let breaker = Breaker::default();
        let first = admitted(&breaker, Duration::ZERO);
        breaker.failed(first, Duration::ZERO, RULE);
        assert!(!breaker.succeeded_once(first, RULE));
        breaker.failed(first, Duration::ZERO, RULE);
        assert!(
            breaker.failed(first, Duration::ZERO, RULE),
            "three in a row"
        );
        let mut now = 50 * MS;
        for pause in [100, 200] {
            assert!(breaker.succeeded_once(admitted(&breaker, now), RULE));
            assert!(breaker.failed(admitted(&breaker, now), now, RULE));
            assert_eq!(breaker.admission(now + (pause - 1) * MS), Admission::No);
            now += pause * MS;
            assert_eq!(breaker.admission(now), Admission::Trial);
        }
        // A success that proves more clears all of that.
        assert!(breaker.succeeded_once(admitted(&breaker, now), RULE));
        let next = admitted(&breaker, now);
        breaker.succeeded(next, RULE);
        assert!(!breaker.failed(next, now, RULE) && !breaker.failed(next, now, RULE));
        assert!(breaker.failed(next, now, RULE));
        assert_eq!(breaker.admission(now + 50 * MS), Admission::Trial);
    }

    #[test]
    fn each_trial_that_fails_makes_the_pause_longer_up_to_a_bound() {
        let breaker = Breaker::default();
        let mut now = Duration::ZERO;
        let mut admitted_now = admitted(&breaker, now);
        for _ in 0..RULE.failures_max {
            breaker.failed(admitted_now, now, RULE);
        }
        for pause in [50, 100, 200, 200] {
            now += pause * MS;
            assert_eq!(breaker.admit(now - MS, LONG), None, "{pause}");
            breaker.refused(admitted(&breaker, now));
            // One that was refused is none.
            admitted_now = admitted(&breaker, now);
            assert!(breaker.failed(admitted_now, now, RULE));
        }
        breaker.close();
        assert!(breaker.is_closed());
        let next = admitted(&breaker, now);
        assert!(!breaker.failed(next, now, RULE), "it has forgotten");
    }

    #[test]
    fn a_trial_that_nobody_ends_is_followed_by_another() {
        let breaker = Breaker::default();
        let once = BreakerRule {
            failures_max: 1,
            ..RULE
        };
        let first = admitted(&breaker, Duration::ZERO);
        assert!(breaker.failed(first, Duration::ZERO, once));
        let is_admitted = |ms| breaker.admit(ms * MS, 10 * MS).is_some();
        assert!(is_admitted(50) && !is_admitted(59) && is_admitted(60));
    }

    /// A peer that is down for a minute gets some 300 trials, and serves again soon after the longest pause.
    #[test]
    fn a_minute_without_an_answer_costs_few_trials() {
        let breaker = Breaker::default();
        let (mut tried, mut back) = (0, None);
        for ms in 0..120_000 {
            let now = ms * MS;
            let Some(admitted) = breaker.admit(now, LONG) else {
                continue;
            };
            match ms < 60_000 {
                true => {
                    tried += 1;
                    breaker.failed(admitted, now, RULE);
                }
                false => {
                    breaker.succeeded(admitted, RULE);
                    back = back.or(breaker.is_closed().then_some(ms));
                }
            }
        }
        assert!((290..320).contains(&tried), "{tried}");
        assert!(back.is_some_and(|ms| ms < 60_250), "{back:?}");
    }
}
