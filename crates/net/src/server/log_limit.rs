//! A bound on the log lines that clients can cause.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A limiter that logs the first few events of a kind in every ten seconds and counts the others, so that no client can fill
/// a disk.
#[derive(Default)]
pub(super) struct LogLimit(Mutex<Window>);

#[derive(Default)]
struct Window {
    since: Option<Instant>,
    told: u32,
    untold: u64,
}

impl LogLimit {
    /// Calls `say` unless the limit is reached. Its argument tells how many events were not logged.
    pub(super) fn tell(&self, say: impl FnOnce(String)) {
        let mut window = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if window
            .since
            .is_none_or(|since| now - since >= LOGGED_WITHIN)
        {
            window.since = Some(now);
            window.told = 0;
        }
        if window.told == LOGGED_MAX {
            window.untold += 1;
            return;
        }
        window.told += 1;
        let untold = match std::mem::take(&mut window.untold) {
            0 => String::new(),
            untold => format!(" ({untold} earlier ones were not logged)"),
        };
        drop(window);
        say(untold);
    }
}

const LOGGED_MAX: u32 = 10;
const LOGGED_WITHIN: Duration = Duration::from_secs(10);

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_thousand_events_make_ten_lines_and_a_count() {
        let limit = LogLimit::default();
        let mut lines = Vec::new();
        for _ in 0..1000 {
            limit.tell(|untold| lines.push(untold));
        }
        assert_eq!(lines, [""; 10]);
        // Ten seconds later.
        limit.0.lock().unwrap().since = Instant::now().checked_sub(LOGGED_WITHIN);
        for _ in 0..11 {
            limit.tell(|untold| lines.push(untold));
        }
        assert_eq!(lines[10], " (990 earlier ones were not logged)");
        assert_eq!(lines[11..], [""; 9]);
        limit.0.lock().unwrap().since = Instant::now().checked_sub(LOGGED_WITHIN);
        limit.tell(|untold| lines.push(untold));
        assert_eq!(lines[20], " (1 earlier ones were not logged)");
    }
}
