//! How often a program waits for keys of another machine that do not answer.
//!
//! A thread that waits for one handshake serves no other, not even one whose key is here. So after a wait without an
//! answer the next questions fail at once, for twice as long as that wait, and for longer each time. Then one
//! question may wait again.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

#[derive(Default)]
pub(super) struct Patience {
    /// Waits without an answer, since the last answer.
    in_vain: AtomicU32,
    /// Milliseconds after `began` before which nobody waits.
    paused_until: AtomicU64,
    pause: AtomicU64,
    began: OnceLock<Instant>,
}

/// A shorter wait does not count.
const WAIT_MIN: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_secs(30);

impl Patience {
    /// Whether the caller may wait now.
    pub(super) fn allows(&self) -> bool {
        if self.in_vain.load(Ordering::Relaxed) == 0 {
            return true;
        }
        self.allows_at(self.now())
    }

    fn allows_at(&self, now: u64) -> bool {
        let until = self.paused_until.load(Ordering::Relaxed);
        let next = now + self.pause.load(Ordering::Relaxed);
        // One of those that come after the pause; the others wait for what becomes of it.
        now >= until
            && self
                .paused_until
                .compare_exchange(until, next, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
    }

    /// There was an answer.
    pub(super) fn succeeded(&self) {
        if self.in_vain.load(Ordering::Relaxed) > 0 {
            self.in_vain.store(0, Ordering::Relaxed);
        }
    }

    /// A question had no answer, after so long.
    pub(super) fn failed(&self, waited: Duration) {
        if waited >= WAIT_MIN {
            self.failed_at(self.now(), waited);
        } else {
            // Nobody had to wait for it.
            self.succeeded();
        }
    }

    fn failed_at(&self, now: u64, waited: Duration) {
        let before = self.in_vain.fetch_add(1, Ordering::Relaxed).min(8);
        let pause = waited.saturating_mul(2 << before).min(PAUSE_MAX);
        let pause = pause.as_millis() as u64;
        self.pause.store(pause, Ordering::Relaxed);
        self.paused_until.store(now + pause, Ordering::Relaxed);
    }

    fn now(&self) -> u64 {
        let began = self.began.get_or_init(Instant::now);
        began.elapsed().as_millis() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_in_vain_are_followed_by_ever_longer_pauses_and_one_trial_each() {
        let patience = Patience::default();
        patience.failed(Duration::from_millis(300));
        assert!(patience.allows());
        let mut now = 1000;
        for pause in [4000, 8000, 16_000, 30_000, 30_000] {
            patience.failed_at(now, Duration::from_secs(2));
            assert!(!patience.allows_at(now) && !patience.allows_at(now + pause - 1));
            now += pause;
            assert!(patience.allows_at(now));
            assert!(!patience.allows_at(now), "one alone");
        }
        patience.failed(Duration::from_millis(300));
        assert!(patience.allows());
        patience.failed_at(now, Duration::from_secs(2));
        assert!(patience.allows_at(now + 4000));
    }
}
