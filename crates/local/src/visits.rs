//! Decides when a client meets others, and when it computes alone.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The results of the last visits.
#[derive(Default)]
pub(crate) struct Visits {
    /// How many visits in a row ended with the request computed alone.
    lonely: AtomicU32,
    /// The number of requests to compute alone before the next visit.
    skipped: AtomicU32,
    /// Visits without success, while the client makes one for 64 requests.
    in_vain: AtomicU32,
    /// How often in a row something failed.
    failed: AtomicU32,
    /// The time before which there is no visit, in ns since `began`; 0 after one that did not fail.
    not_before: AtomicU64,
    began: OnceLock<Instant>,
}

/// After no more lonely visits in a row than this, others may still be there.
const LONELY_FROM: u32 = 3;
/// A client without others makes one visit for 64 requests, since each costs some 300 us without success.
const LONELY_MAX: u32 = 6;
/// After this many of those, some 1000 requests, it may look elsewhere.
const IN_VAIN: u32 = 16;
/// After a failed visit there is none for this long, and twice as long after each further one.
const PAUSE: Duration = Duration::from_millis(200);
/// 51 s.
const FAILED_MAX: u32 = 8;

impl Visits {
    /// Whether the next request is one; `is_awaited` says that somebody waits for others now.
    pub(crate) fn is_next(&self, is_awaited: bool) -> bool {
        let skip = |left: u32| left.checked_sub(1);
        let order = Ordering::Relaxed;
        if !is_awaited && self.skipped.fetch_update(order, order, skip).is_ok() {
            return false;
        }
        // Without a look at the clock if nothing failed.
        let not_before = self.not_before.load(Ordering::Relaxed);
        not_before == 0 || self.now() >= not_before
    }

    /// Others were met, or nobody was.
    pub(crate) fn met(&self, was_together: bool) {
        if self.failed.load(Ordering::Relaxed) > 0 {
            self.failed.store(0, Ordering::Relaxed);
            self.not_before.store(0, Ordering::Relaxed);
        }
        let lonely = match was_together {
            true => 0,
            false => (self.lonely.load(Ordering::Relaxed) + 1).min(LONELY_FROM + LONELY_MAX),
        };
        self.lonely.store(lonely, Ordering::Relaxed);
        let skipped = (1 << lonely.saturating_sub(LONELY_FROM)) - 1;
        self.skipped.store(skipped, Ordering::Relaxed);
    }

    /// Whether others may be where this client is not: nobody was met for long. Says so once in a while.
    pub(crate) fn are_in_vain(&self) -> bool {
        let is_lonely = self.lonely.load(Ordering::Relaxed) >= LONELY_FROM + LONELY_MAX;
        is_lonely && self.in_vain.fetch_add(1, Ordering::Relaxed) % IN_VAIN == IN_VAIN - 1
    }

    /// There is no server, or a process did not go on.
    pub(crate) fn failed(&self) {
        let failed = self.failed.load(Ordering::Relaxed);
        let pause = PAUSE * (1 << failed);
        self.failed
            .store((failed + 1).min(FAILED_MAX), Ordering::Relaxed);
        self.not_before
            .store(self.now() + pause.as_nanos() as u64, Ordering::Relaxed);
    }

    fn now(&self) -> u64 {
        self.began.get_or_init(Instant::now).elapsed().as_nanos() as u64
    }
}

impl Clone for Visits {
    fn clone(&self) -> Self {
        let [lonely, skipped, failed] = [&self.lonely, &self.skipped, &self.failed]
            .map(|count| AtomicU32::new(count.load(Ordering::Relaxed)));
        Self {
            lonely,
            skipped,
            failed,
            in_vain: AtomicU32::new(0),
            not_before: AtomicU64::new(self.not_before.load(Ordering::Relaxed)),
            began: self.began.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        // However often it fails, the pause has an end.
        for _ in 0..100 {
            visits.failed();
        }
        let pause = visits.not_before.load(Ordering::Relaxed) - visits.now();
        assert!(pause <= 60_000_000_000, "{pause}");
        visits.met(true);
        assert!(visits.is_next(false));
        visits.failed();
        std::thread::sleep(PAUSE);
        assert!(visits.is_next(false));
    }
}
