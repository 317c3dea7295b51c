//! Decides when a client meets others, and when it computes alone.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use oarlock_engine::learn::{BackOff, Breaker, BreakerRule, Skips};

/// The results of the last visits.
#[derive(Default)]
pub(crate) struct Visits {
    /// Requests to compute alone because the last visits met nobody.
    alone: Skips,
    /// Visits without success, while the client makes one for 64 requests.
    in_vain: AtomicU32,
    /// Opens when something fails.
    breaker: Breaker,
    began: OnceLock<Instant>,
}

/// After no more visits in a row than this that met nobody, others may still be there.
const ALONE_FREE: u32 = 3;
/// A client without others makes one visit for 64 requests, since each costs some 300 us without success.
const APART: BackOff = BackOff::doubling(1, 64);
/// The number of visits in a row that met nobody after which they are that rare.
const ALONE_MAX: u32 = ALONE_FREE + 6;
/// After this many of those, some 1000 requests, it may look elsewhere.
const IN_VAIN: u32 = 16;
/// After a failed visit there is none for 200 ms, and twice as long after each further one, up to 51 s.
const FAILURES: BreakerRule = BreakerRule {
    failures_max: 1,
    trials: 1,
    pause_ns: BackOff::doubling(200_000_000, 200_000_000 << 8),
};
/// No visit takes longer.
const VISIT_MAX: Duration = Duration::from_secs(1);

impl Visits {
    /// Whether the next request is one; `is_awaited` says that somebody waits for others now.
    pub(crate) fn is_next(&self, is_awaited: bool) -> bool {
        if !is_awaited && !self.alone.take_turn() {
            return false;
        }
        self.breaker.is_closed() || self.breaker.begin_trial(self.now(), VISIT_MAX)
    }

    /// Others were met, or nobody was.
    pub(crate) fn met(&self, was_together: bool) {
        if !self.breaker.is_closed() {
            self.breaker.close();
        }
        match was_together {
            true => self.alone.succeeded(),
            false => self.alone.failed(ALONE_FREE, APART),
        }
    }

    /// Whether others may be where this client is not: nobody was met for long. Says so once in a while.
    pub(crate) fn are_in_vain(&self) -> bool {
        self.alone.failures() >= ALONE_MAX
            && self.in_vain.fetch_add(1, Ordering::Relaxed) % IN_VAIN == IN_VAIN - 1
    }

    /// There is no server, or a process did not go on.
    pub(crate) fn failed(&self) {
        self.breaker.failed(self.now(), FAILURES);
    }

    /// There was no room on the board, which says nothing.
    pub(crate) fn refused(&self) {
        self.breaker.refused();
    }

    fn now(&self) -> Duration {
        self.began.get_or_init(Instant::now).elapsed()
    }
}

impl Clone for Visits {
    fn clone(&self) -> Self {
        Self {
            alone: self.alone.clone(),
            in_vain: AtomicU32::new(0),
            breaker: self.breaker.clone(),
            began: self.began.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAUSE: Duration = Duration::from_millis(200);

    fn asked(visits: &Visits, count: usize, mut visit: impl FnMut(&Visits)) -> usize {
        let mut asked = 0;
        for _ in 0..count {
            if visits.is_next(false) {
                asked += 1;
                visit(visits);
            }
        }
        asked
    }

    #[test]
    fn one_that_meets_nobody_tries_ever_less_often_until_it_meets_others() {
        let visits = Visits::default();
        let lonely = asked(&visits, 1000, |visits| visits.met(false));
        assert!((10..30).contains(&lonely), "{lonely}");
        while !visits.is_next(false) {}
        visits.met(true);
        assert_eq!(asked(&visits, 1000, |visits| visits.met(true)), 1000);
    }

    #[test]
    fn one_that_meets_nobody_for_long_may_look_elsewhere() {
        let visits = Visits::default();
        let mut elsewhere = 0;
        asked(&visits, 10_000, |visits| {
            visits.met(false);
            elsewhere += u32::from(visits.are_in_vain());
        });
        assert!((6..12).contains(&elsewhere), "{elsewhere}");
        visits.met(true);
        assert!(!visits.are_in_vain());
    }

    #[test]
    fn what_fails_is_tried_again_later() {
        let visits = Visits::default();
        assert!(visits.is_next(false));
        visits.failed();
        assert!(!visits.is_next(false));
        std::thread::sleep(PAUSE);
        assert!(visits.is_next(false));
        assert!(!visits.is_next(false), "one at a time");
        visits.refused();
        assert!(visits.is_next(false));
        visits.failed();
        std::thread::sleep(PAUSE);
        assert!(!visits.is_next(false), "longer");
        visits.met(true);
        assert!(visits.is_next(false));
        visits.failed();
        std::thread::sleep(PAUSE);
        assert!(visits.is_next(false));
    }
}
