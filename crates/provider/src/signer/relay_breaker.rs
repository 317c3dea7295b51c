//! Limits how often a program waits for remote keys that do not answer.
//!
//! A thread that waits for one handshake serves no other, not even one whose key is on this machine. So after a wait
//! without an answer, the next questions fail at once, for twice as long as that wait, and for longer each time. Then
//! one question may wait again.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use oarlock_engine::learn::{BackOff, Breaker, BreakerRule};

#[derive(Default)]
pub(super) struct RelayBreaker {
    breaker: Breaker,
    began: OnceLock<Instant>,
}

/// A shorter wait does not count.
const WAIT_MIN: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_secs(30);

impl RelayBreaker {
    /// Whether the caller may wait now.
    pub(super) fn allows(&self) -> bool {
        self.breaker.is_closed() || self.allows_at(self.now())
    }

    fn allows_at(&self, now: Duration) -> bool {
        self.breaker.is_closed() || self.breaker.begin_trial(now, PAUSE_MAX)
    }

    /// Records an answer.
    pub(super) fn succeeded(&self) {
        if !self.breaker.is_closed() {
            self.breaker.close();
        }
    }

    /// Records that a question had no answer after `waited`.
    pub(super) fn failed(&self, waited: Duration) {
        if waited >= WAIT_MIN {
            self.failed_at(self.now(), waited);
        } else {
            // No caller had to wait for it.
            self.succeeded();
        }
    }

    fn failed_at(&self, now: Duration, waited: Duration) {
        let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let rule = BreakerRule {
            failures_max: 1,
            trials: 1,
            pause_ns: BackOff::doubling(ns(waited).saturating_mul(2), ns(PAUSE_MAX)),
        };
        self.breaker.failed(now, rule);
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
        breaker.failed(Duration::from_millis(300));
        assert!(breaker.allows());
        let mut now = Duration::from_secs(1);
        let ms = Duration::from_millis;
        for pause in [4000, 8000, 16_000, 30_000, 30_000] {
            breaker.failed_at(now, ms(2000));
            assert!(!breaker.allows_at(now) && !breaker.allows_at(now + ms(pause - 1)));
            now += ms(pause);
            assert!(breaker.allows_at(now));
            assert!(!breaker.allows_at(now), "one alone");
        }
        breaker.failed(ms(300));
        assert!(breaker.allows());
        breaker.failed_at(now, ms(2000));
        assert!(breaker.allows_at(now + ms(4000)));
    }
}
