//! The clock that times requests in lanes.

use std::time::{Duration, Instant};

use oarlock_threads::process;

/// The start of a timed computation.
pub(crate) enum Began {
    Wall(Instant),
    OnThread(Duration),
}

impl Began {
    /// Starts timing a computation of `requests` requests. Several requests take milliseconds, during which other
    /// processes may run on the CPU. Their time excludes that; otherwise a batch would look slower than its requests
    /// one by one whenever all threads contend for CPUs.
    pub(crate) fn now(requests: usize) -> Self {
        if requests > 1 && !process::is_sandboxed() {
            Self::OnThread(process::thread_time())
        } else {
            Self::Wall(Instant::now())
        }
    }

    pub(crate) fn elapsed(&self) -> Duration {
        match self {
            Self::Wall(began) => began.elapsed(),
            Self::OnThread(began) => process::thread_time().saturating_sub(*began),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_without_the_cpu_counts_for_one_request_alone() {
        const PAUSE: Duration = Duration::from_millis(50);
        let [one, several] = [1, 4].map(Began::now);
        std::thread::sleep(PAUSE);
        assert!(one.elapsed() >= PAUSE);
        assert!(process::is_sandboxed() || several.elapsed() < PAUSE);
    }
}
