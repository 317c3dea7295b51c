//! Running medians of request times.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// A running median in nanoseconds, 0 until the first sample. How far a sample lies from the median does not matter,
/// since a far longer time means an interruption.
#[derive(Debug, Default)]
pub struct Median(AtomicU32);

impl Median {
    /// Creates a median that expects `ns` nanoseconds before the first sample; 0 expects nothing.
    pub const fn new(ns: u32) -> Self {
        Self(AtomicU32::new(ns))
    }

    /// Moves the median by one sample. The first sample replaces 0.
    pub fn learn(&self, took: Duration) {
        let took = u32::try_from(took.as_nanos()).unwrap_or(u32::MAX).max(1);
        let before = self.ns();
        let step = before / 32 + 1;
        let after = if before == 0 {
            took
        } else if took > before {
            before.saturating_add(step)
        } else {
            before - step.min(before - 1)
        };
        self.0.store(after, Ordering::Relaxed);
    }

    /// Returns the median in nanoseconds, or 0 if nothing is known.
    pub fn ns(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    /// Returns the median, if there was a sample or an expectation.
    pub fn known(&self) -> Option<Duration> {
        match self.ns() {
            0 => None,
            ns => Some(Duration::from_nanos(ns.into())),
        }
    }

    /// Replaces the median.
    #[cfg(test)]
    pub(crate) fn set(&self, ns: u32) {
        self.0.store(ns, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_settles_where_as_many_samples_are_above_as_below() {
        let median = Median::default();
        assert_eq!(median.known(), None);
        median.learn(Duration::from_nanos(700));
        assert_eq!(median.ns(), 700, "the first one");
        for round in 0..10_000 {
            // Nine of ten take 1 us; one is interrupted.
            let took = if round % 10 == 9 { 1_000_000 } else { 1000 };
            median.learn(Duration::from_nanos(took));
        }
        let settled = median.ns();
        assert!((930..1100).contains(&settled), "{settled} ns");
    }
}
