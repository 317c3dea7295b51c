//! Medians of what requests take, that follow what changes.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Moves a median, in ns: how far off a sample is does not count, since what takes far longer was
/// interrupted. The first sample is taken as it is.
pub(crate) fn learn(median: &AtomicU32, took: Duration) {
    let took = u32::try_from(took.as_nanos()).unwrap_or(u32::MAX).max(1);
    let before = median.load(Ordering::Relaxed);
    let step = before / 32 + 1;
    let after = if before == 0 {
        took
    } else if took > before {
        before.saturating_add(step)
    } else {
        before - step.min(before - 1)
    };
    // Of two threads that measure at once one may be lost.
    median.store(after, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_settles_where_as_many_samples_are_above_as_below() {
        let median = AtomicU32::new(0);
        learn(&median, Duration::from_nanos(700));
        assert_eq!(median.load(Ordering::Relaxed), 700, "the first one");
        for round in 0..10_000 {
            // Nine of ten take 1 us; one is interrupted.
            let took = if round % 10 == 9 { 1_000_000 } else { 1000 };
            learn(&median, Duration::from_nanos(took));
        }
        let settled = median.load(Ordering::Relaxed);
        assert!((930..1100).contains(&settled), "{settled} ns");
    }
}
