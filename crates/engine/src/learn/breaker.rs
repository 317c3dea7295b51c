//! Circuit breakers: they keep requests from a failing device for a while, then admit one trial at a time.
//!
//! ```text
//! closed     everything is admitted. `failures_max` failures in a row open it
//! open       nothing is admitted until a pause is over, which grows with every opening
//! half open  one trial at a time. `trials` that succeed close it, one that fails opens it
//! ```
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
    /// Openings since it last closed.
    openings: AtomicU32,
    /// Trials that succeeded since it opened.
    succeeded: AtomicU32,
    is_on_trial: AtomicBool,
    /// Nanoseconds until the next trial may begin; 0 while it is closed.
    until_ns: AtomicU64,
}

/// Whether a request is admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// The breaker is open, or a trial is under way.
    No,
    /// The breaker is closed.
    Yes,
    /// A trial is due, and has to [begin](Breaker::begin_trial).
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

    /// Begins a trial if one is due, and returns whether it did. If its result is never recorded, the next one is due
    /// after `limit`.
    pub fn begin_trial(&self, now: Duration, limit: Duration) -> bool {
        let until = self.until_ns.load(Ordering::Relaxed);
        let next = ns(now.saturating_add(limit));
        let order = Ordering::Relaxed;
        // Of several threads, one begins the trial.
        let begins = until != 0
            && ns(now) >= until
            && self
                .until_ns
                .compare_exchange(until, next, order, order)
                .is_ok();
        if begins {
            self.is_on_trial.store(true, Ordering::Relaxed);
        }
        begins
    }

    /// Records that a trial did not take place, so that another may begin.
    pub fn refused(&self) {
        if self.is_on_trial.swap(false, Ordering::Relaxed) {
            self.until_ns.store(AT_ONCE, Ordering::Relaxed);
        }
    }

    /// Records a success. Returns whether it closed the breaker.
    pub fn succeeded(&self, rule: BreakerRule) -> bool {
        // Usually there are no failures, and nothing is written.
        if self.failures.load(Ordering::Relaxed) != 0 {
            self.failures.store(0, Ordering::Relaxed);
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

    /// Records a failure. Returns whether it opened the breaker.
    pub fn failed(&self, now: Duration, rule: BreakerRule) -> bool {
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

    #[test]
    fn failures_in_a_row_open_it_and_trials_close_it() {
        let breaker = Breaker::default();
        assert!(!breaker.failed(MS, RULE) && !breaker.failed(MS, RULE));
        assert!(!breaker.succeeded(RULE), "it was closed");
        assert!(!breaker.failed(MS, RULE) && !breaker.failed(MS, RULE));
        assert_eq!(breaker.admission(MS), Admission::Yes);
        assert!(breaker.failed(MS, RULE));
        assert_eq!(breaker.state(), BreakerState::Open);
        assert!(!breaker.failed(MS, RULE), "one that was on its way");
        assert_eq!(breaker.admission(50 * MS), Admission::No);
        assert!(!breaker.begin_trial(50 * MS, LONG));
        for closes in [false, true] {
            assert_eq!(breaker.admission(51 * MS), Admission::Trial);
            assert!(breaker.begin_trial(51 * MS, LONG));
            assert_eq!(breaker.state(), BreakerState::HalfOpen);
            assert!(!breaker.begin_trial(51 * MS, LONG), "one at a time");
            assert_eq!(breaker.succeeded(RULE), closes);
        }
        assert_eq!(breaker.state(), BreakerState::Closed);
    }

    #[test]
    fn each_trial_that_fails_makes_the_pause_longer_up_to_a_bound() {
        let breaker = Breaker::default();
        let mut now = Duration::ZERO;
        for _ in 0..RULE.failures_max {
            breaker.failed(now, RULE);
        }
        for pause in [50, 100, 200, 200] {
            now += pause * MS;
            assert!(!breaker.begin_trial(now - MS, LONG), "{pause}");
            assert!(breaker.begin_trial(now, LONG), "{pause}");
            breaker.refused();
            assert!(
                breaker.begin_trial(now, LONG),
                "one that was refused is none"
            );
            assert!(breaker.failed(now, RULE));
        }
        breaker.close();
        assert!(breaker.is_closed());
        assert!(!breaker.failed(now, RULE), "it has forgotten");
    }

    #[test]
    fn a_trial_that_nobody_ends_is_followed_by_another() {
        let breaker = Breaker::default();
        let once = BreakerRule {
            failures_max: 1,
            ..RULE
        };
        assert!(breaker.failed(Duration::ZERO, once));
        assert!(breaker.begin_trial(50 * MS, 10 * MS));
        assert!(!breaker.begin_trial(59 * MS, 10 * MS));
        assert!(breaker.begin_trial(60 * MS, 10 * MS));
    }

    /// A peer that is down for a minute gets some 300 trials, and serves again soon after the longest pause.
    #[test]
    fn a_minute_without_an_answer_costs_few_trials() {
        let breaker = Breaker::default();
        let (mut tried, mut back) = (0, None);
        for ms in 0..120_000 {
            let now = ms * MS;
            let admitted = match breaker.admission(now) {
                Admission::Yes => true,
                Admission::Trial => breaker.begin_trial(now, LONG),
                Admission::No => false,
            };
            if !admitted {
                continue;
            }
            match ms < 60_000 {
                true => {
                    tried += 1;
                    breaker.failed(now, RULE);
                }
                false => {
                    breaker.succeeded(RULE);
                    back = back.or(breaker.is_closed().then_some(ms));
                }
            }
        }
        assert!((290..320).contains(&tried), "{tried}");
        assert!(back.is_some_and(|ms| ms < 60_250), "{back:?}");
    }
}
