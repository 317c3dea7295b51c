//! Tells people what the numbers of the standard cannot: which line of the configuration is wrong, or which file is no key.

use std::io::Write as _;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Writes a line to standard error: at most twenty at once, and then one a second, so that no caller fills a log.
pub(crate) fn tell(what: &str) {
    // A forked child may find the lock held by a thread that it does not have; then nothing is told.
    let Ok(mut told) = TOLD.try_lock() else {
        return;
    };
    let (count, since) = told.get_or_insert_with(|| (0, Instant::now()));
    if since.elapsed() >= APART {
        (*count, *since) = (
            count.saturating_sub(since.elapsed().as_secs()),
            Instant::now(),
        );
    }
    if *count < AT_ONCE_MAX {
        *count += 1;
        let what: String = what
            .chars()
            .map(|char| if char.is_control() { ' ' } else { char })
            .take(TEXT_CHARS_MAX)
            .collect();
        let _ = writeln!(std::io::stderr(), "oarlock-pkcs11: {what}");
    }
}

static TOLD: Mutex<Option<(u64, Instant)>> = Mutex::new(None);
const AT_ONCE_MAX: u64 = 20;
const APART: Duration = Duration::from_secs(1);
const TEXT_CHARS_MAX: usize = 1000;
