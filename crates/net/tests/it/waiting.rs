//! `oarlock_testing::until` for asynchronous tasks.

use std::time::{Duration, Instant};

use oarlock_testing::LIMIT;

/// Waits until `is_so` holds.
pub async fn until(what: &str, is_so: impl Fn() -> bool) {
    until_some(what, async || is_so().then_some(())).await;
}

/// Calls `ask` repeatedly until it returns something.
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
