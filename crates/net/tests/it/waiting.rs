//! `oarlock_testing::until`, for what is asked in a task.

use std::time::{Duration, Instant};

use oarlock_testing::LIMIT;

/// Returns when `is_so`.
pub async fn until(what: &str, is_so: impl Fn() -> bool) {
    until_some(what, async || is_so().then_some(())).await;
}

/// Asks again and again, until `ask` gives something.
pub async fn until_some<T>(what: &str, mut ask: impl AsyncFnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = ask().await {
            return found;
        }
        assert!(began.elapsed() < LIMIT, "never: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
