//! Decides when a client meets others, and when it computes alone.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use oarlock_engine::learn::{BackOff, Breaker, BreakerRule, Period, Skips};

/// The results of the last visits.
#[derive(Default)]
pub(crate) struct Visits {
    /// The requests to compute alone because the last visits met no other process.
    alone: Skips,
    /// The number of unsuccessful visits since the client makes only one per 64 requests.
    in_vain: AtomicU32,
    /// The breaker, which opens when a visit fails.
    breaker: Breaker,
    began: OnceLock<Instant>,
}

/// The most consecutive visits without another process after which others are still expected.
const ALONE_FREE: u32 = 3;
/// The spacing of visits without other processes: up to one per 64 requests, since each costs some 300 us.
const APART: BackOff = BackOff::doubling(1, 64);
/// The number of consecutive visits without another process after which they are that rare.
const ALONE_MAX: u32 = ALONE_FREE + APART.most.ilog2();
/// The number of those visits, some 1000 requests, after which the client may look for another board.
const IN_VAIN: u32 = 16;
/// The pause after a failed visit: 200 ms, doubled by each further failure, up to 51 s.
const FAILURES: BreakerRule = BreakerRule {
    failures_max: 1,
    trials: 1,
    pause_ns: BackOff::doubling(200_000_000, 200_000_000 << 8),
};
/// The longest time of a visit.
const VISIT_MAX: Duration = Duration::from_secs(1);

impl Visits {
    /// Returns the period of a visit if the next request makes one. `is_awaited` says that another process waits now.
    pub(crate) fn next(&self, is_awaited: bool) -> Option<Period> {
        if !is_awaited && !self.alone.take_turn() {
            return None;
        }
        self.breaker.admit(self.now(), VISIT_MAX)
    }

    /// Records whether a visit met other processes.
    pub(crate) fn met(&self, was_together: bool) {
        if !self.breaker.is_closed() {
            self.breaker.close();
        }
        match was_together {
            true => self.alone.succeeded(),
            false => self.alone.failed(ALONE_FREE, APART),
        }
    }

    /// Whether other processes may be on another board, because visits have met none for long. Returns true only now and
    /// then.
    pub(crate) fn are_in_vain(&self) -> bool {
        self.alone.failures() >= ALONE_MAX
            && self.in_vain.fetch_add(1, Ordering::Relaxed) % IN_VAIN == IN_VAIN - 1
    }

    /// Records a failure: there is no server, or a process did not continue.
    pub(crate) fn failed(&self, visit: Period) {
        self.breaker.failed(visit, self.now(), FAILURES);
    }

    /// Records that the board was full, which says nothing about other processes.
    pub(crate) fn refused(&self, visit: Period) {
        self.breaker.refused(visit);
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
            if visits.next(false).is_some() {
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
        while visits.next(false).is_none() {}
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
        let (first, late) = (visits.next(false).unwrap(), visits.next(false).unwrap());
        visits.failed(first);
        assert_eq!(visits.next(false), None);
        std::thread::sleep(PAUSE);
        let trial = visits.next(false).unwrap();
        assert_eq!(visits.next(false), None, "one at a time");
        // The end of a visit that began earlier ends no trial.
        visits.failed(late);
        visits.refused(trial);
        let trial = visits.next(false).unwrap();
        visits.failed(trial);
        std::thread::sleep(PAUSE);
        assert_eq!(visits.next(false), None, "longer");
        visits.met(true);
        visits.failed(visits.next(false).unwrap());
        std::thread::sleep(PAUSE);
        assert!(visits.next(false).is_some());
    }
}
