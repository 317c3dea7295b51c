//! Lulls: times in which no request is in the server.
//!
//! A thread that sleeps takes tens of microseconds to wake on a virtual machine, as much as it takes
//! to read a request. A client that asks again as soon as it is answered comes back before that; so
//! after a lull that was short the runtime's thread looks for the next request for a while, instead of
//! sleeping. One that was long ends this, so that an idle server sleeps (as Linux's haltpoll does for
//! CPUs).

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

/// What is known of the lulls.
#[derive(Debug)]
pub(super) struct Spin {
    epoch: Instant,
    /// Nanoseconds from `epoch` to the beginning of the one that is on; [`NONE`] without one.
    since: AtomicU64,
    /// Whether the last one was short.
    was_short: AtomicBool,
    begun: Notify,
}

impl Spin {
    pub(super) fn new() -> Self {
        Self {
            epoch: Instant::now(),
            since: AtomicU64::new(0),
            was_short: AtomicBool::new(false),
            begun: Notify::new(),
        }
    }

    /// A request has come.
    pub(super) fn end(&self, now: Instant) {
        let since = self.since.swap(NONE, Ordering::Relaxed);
        if since != NONE {
            let lasted = self.nanoseconds(now).saturating_sub(since);
            let is_short = u128::from(lasted) < SHORT.as_nanos();
            self.was_short.store(is_short, Ordering::Relaxed);
        }
    }

    /// All have been answered. Not before the answers are on their way; may be said again.
    pub(super) fn begin(&self, now: Instant) {
        let now = self.nanoseconds(now);
        let begun = self
            .since
            .compare_exchange(NONE, now, Ordering::Relaxed, Ordering::Relaxed);
        if begun.is_ok() && self.was_short.load(Ordering::Relaxed) {
            self.begun.notify_one();
        }
    }

    /// Waits for a lull that may be short.
    pub(super) async fn next(&self) {
        self.begun.notified().await;
    }

    /// Whether there is one, and it is still short.
    pub(super) fn is_young(&self, now: Instant) -> bool {
        let since = self.since.load(Ordering::Relaxed);
        since != NONE && u128::from(self.nanoseconds(now).saturating_sub(since)) < SHORT.as_nanos()
    }

    fn nanoseconds(&self, now: Instant) -> u64 {
        let nanoseconds = now.saturating_duration_since(self.epoch).as_nanos();
        u64::try_from(nanoseconds).unwrap_or(NONE - 1)
    }
}

const NONE: u64 = u64::MAX;
/// What Linux looks for work at most before a virtual CPU halts.
const SHORT: Duration = Duration::from_micros(200);

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn after_a_short_lull_the_next_is_watched_and_after_a_long_one_not() {
        let spin = Spin::new();
        let at = |us| spin.epoch + Duration::from_micros(us);
        let is_watched = || spin.next().now_or_never().is_some();
        // The first one is as long as it takes the first request to come.
        spin.end(at(1000));
        spin.begin(at(1400));
        assert!(!is_watched());
        spin.end(at(1500));
        assert!(!spin.is_young(at(1500)), "requests are there");
        spin.begin(at(1900));
        spin.begin(at(1910));
        assert!(is_watched() && !is_watched());
        assert!(spin.is_young(at(2050)) && !spin.is_young(at(2100)));
        spin.end(at(2500));
        spin.begin(at(2900));
        assert!(!is_watched());
    }
}
