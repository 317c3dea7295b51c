//! Spinning: after a short lull, the runtime's thread polls for the next request instead of sleeping.
//!
//! A sleeping thread takes tens of microseconds to wake on a virtual machine, as long as it takes to read a request. A
//! client that sends its next request as soon as it is answered returns sooner than that. A long lull ends the spinning, so
//! an idle server sleeps (as Linux's haltpoll does for CPUs).

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

/// The current lull, and whether the previous one was short.
#[derive(Debug)]
pub(super) struct Spin {
    epoch: Instant,
    /// Nanoseconds from `epoch` to the start of the current lull; [`NONE`] while there is none.
    since: AtomicU64,
    /// Whether the previous lull was short.
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

    /// Ends the lull, because a request has arrived.
    pub(super) fn end(&self, now: Instant) {
        let since = self.since.swap(NONE, Ordering::Relaxed);
        if since != NONE {
            let lasted = self.nanoseconds(now).saturating_sub(since);
            let is_short = u128::from(lasted) < SHORT.as_nanos();
            self.was_short.store(is_short, Ordering::Relaxed);
        }
    }

    /// Begins a lull, because all requests are answered. Call it after the answers are on their way; further calls do no
    /// harm.
    pub(super) fn begin(&self, now: Instant) {
        let now = self.nanoseconds(now);
        let begun = self
            .since
            .compare_exchange(NONE, now, Ordering::Relaxed, Ordering::Relaxed);
        if begun.is_ok() && self.was_short.load(Ordering::Relaxed) {
            self.begun.notify_one();
        }
    }

    /// Waits for a lull that is likely to be short.
    pub(super) async fn next(&self) {
        self.begun.notified().await;
    }

    /// Whether there is a lull that is still short.
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
/// The longest short lull: the time that Linux polls for work before it halts a virtual CPU.
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
        // The first lull lasts until the first request arrives.
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
