//! Limits how often a program waits for remote keys that do not answer.
//!
//! A thread that waits for one handshake serves no other, not even one whose key is on this machine. So after a wait
//! without an answer, the next questions fail at once, for twice as long as that wait, and for longer each time. Then
//! one question may wait again.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use oarlock_engine::learn::{BackOff, Breaker, BreakerRule, Period};

/// Admits questions that a caller waits for.
#[derive(Debug, Default)]
pub struct RelayBreaker {
    breaker: Breaker,
    began: OnceLock<Instant>,
}

/// A shorter wait does not count.
const WAIT_MIN: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_secs(30);

impl RelayBreaker {
    /// Returns the period of a wait that may begin now, or `None` if the caller must not wait.
    pub fn admit(&self) -> Option<Period> {
        self.breaker.admit(self.now(), PAUSE_MAX)
    }

    /// Records an answer. Whenever its question was asked, the keys answer now.
    pub fn succeeded(&self) {
        if !self.breaker.is_closed() {
            self.breaker.close();
        }
    }

    /// Records that a question had no answer after `waited`.
    pub fn failed(&self, period: Period, waited: Duration) {
        if waited >= WAIT_MIN {
            self.failed_at(period, self.now(), waited);
        } else {
            // No caller had to wait for it.
            self.succeeded();
        }
    }

    fn failed_at(&self, period: Period, now: Duration, waited: Duration) {
        let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let rule = BreakerRule {
            failures_max: 1,
            trials: 1,
            pause_ns: BackOff::doubling(ns(waited).saturating_mul(2), ns(PAUSE_MAX)),
        };
        self.breaker.failed(period, now, rule);
    }

    fn now(&self) -> Duration {
        self.began.get_or_init(Instant::now).elapsed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_without_an_answer_are_followed_by_longer_pauses_and_one_trial_each() {
        let breaker = RelayBreaker::default();
        let admit_at = |now| breaker.breaker.admit(now, PAUSE_MAX);
        let ms = Duration::from_millis;
        let mut now = Duration::from_secs(1);
        let first = admit_at(now).unwrap();
        breaker.failed(first, ms(300));
        let mut last = admit_at(now).unwrap();
        for pause in [4000, 8000, 16_000, 30_000, 30_000] {
            breaker.failed_at(last, now, ms(2000));
            assert_eq!(admit_at(now), None);
            assert_eq!(admit_at(now + ms(pause - 1)), None);
            now += ms(pause);
            last = admit_at(now).unwrap();
            assert_eq!(admit_at(now), None, "one alone");
            // A wait that began earlier ends late.
            breaker.failed_at(first, now, ms(60_000));
        }
        breaker.failed(last, ms(300));
        let next = admit_at(now).unwrap();
        breaker.failed_at(next, now, ms(2000));
        assert!(admit_at(now + ms(4000)).is_some());
    }
}
