//! When sleeping helpers are woken ahead of gain.

use std::time::{Duration, Instant};

/// Sleeping helpers that are woken ahead of gain, by a streak.
#[derive(Debug)]
pub(super) struct Waking {
    /// A streak from this length on does so.
    pub(super) streak_to_wake: u32,
    /// When one did so last, if nothing is known of the outcome.
    pub(super) since: Option<Instant>,
}

impl Default for Waking {
    fn default() -> Self {
        Self {
            streak_to_wake: STREAK_TO_WAKE,
            since: None,
        }
    }
}

impl Waking {
    pub(super) fn is_overdue(&self, now: Instant) -> bool {
        self.since
            .is_some_and(|since| now.duration_since(since) >= WAKING)
    }
}

/// How long helpers watch.
pub(super) const WATCH: Duration = Duration::from_micros(50);
/// A helper that does not come within this time after it was woken comes no more.
const WAKING: Duration = Duration::from_micros(400);
/// So many requests in a row are a stream.
pub(super) const STREAK_TO_WAKE: u32 = 4;
