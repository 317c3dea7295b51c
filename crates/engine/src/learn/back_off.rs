//! Steps that grow while something fails.

use std::sync::atomic::{AtomicU32, Ordering};

/// The distance between tries: a number of requests, or a time in the caller's unit.
#[derive(Clone, Copy, Debug)]
pub struct BackOff {
    /// The first step.
    pub least: u64,
    /// The longest step.
    pub most: u64,
    /// The factor from one step to the next.
    pub factor: u64,
}

impl BackOff {
    /// Creates steps that double from `least` to `most`.
    pub const fn doubling(least: u64, most: u64) -> Self {
        Self {
            least,
            most,
            factor: 2,
        }
    }

    /// Returns the step after the one of `failures` failures: `least` for none.
    pub fn after(&self, failures: u32) -> u64 {
        let times = self.factor.saturating_pow(failures);
        self.least.saturating_mul(times).min(self.most)
    }

    /// Returns the step that follows `step` after a failure. `most` has to fit its type.
    pub fn longer<N: Copy + Into<u64> + TryFrom<u64>>(&self, step: N) -> N {
        let longer = step.into().saturating_mul(self.factor);
        N::try_from(longer.clamp(self.least, self.most)).unwrap_or(step)
    }

    /// Returns the step that follows `step` after a first success: a quarter of it.
    pub fn shorter<N: Copy + Into<u64> + TryFrom<u64>>(&self, step: N) -> N {
        N::try_from((step.into() / 4).max(self.least)).unwrap_or(step)
    }
}

/// Counts the requests to skip until the next try.
#[derive(Debug, Default)]
pub struct Skips {
    failures: AtomicU32,
    left: AtomicU32,
}

impl Skips {
    /// Whether this request is a try. If not, one request less is left to skip.
    pub fn take_turn(&self) -> bool {
        let order = Ordering::Relaxed;
        let skip = |left: u32| left.checked_sub(1);
        self.left.fetch_update(order, order, skip).is_err()
    }

    /// Records a successful try.
    pub fn succeeded(&self) {
        self.failures.store(0, Ordering::Relaxed);
        self.left.store(0, Ordering::Relaxed);
    }

    /// Records a failed try. The first `free` failures cost no skip; then the steps of `by` follow, whose first is 1.
    pub fn failed(&self, free: u32, by: BackOff) {
        let before = self.failures.load(Ordering::Relaxed);
        let failures = before.saturating_add(1);
        self.failures.store(failures, Ordering::Relaxed);
        let step = by.after(failures.saturating_sub(free));
        let left = u32::try_from(step.saturating_sub(1)).unwrap_or(u32::MAX);
        self.left.store(left, Ordering::Relaxed);
    }

    /// Returns the number of failed tries in a row.
    pub fn failures(&self) -> u32 {
        self.failures.load(Ordering::Relaxed)
    }
}

impl Clone for Skips {
    fn clone(&self) -> Self {
        Self {
            failures: AtomicU32::new(self.failures()),
            left: AtomicU32::new(self.left.load(Ordering::Relaxed)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_grow_up_to_a_bound_and_shrink_down_to_one() {
        let by = BackOff::doubling(8, 1024);
        assert_eq!(
            [0, 1, 7, 8, u32::MAX].map(|n| by.after(n)),
            [8, 16, 1024, 1024, 1024]
        );
        assert_eq!(
            [0, 8, 600, u32::MAX].map(|step| by.longer(step)),
            [8, 16, 1024, 1024]
        );
        assert_eq!([8_u64, 32, 100].map(|step| by.shorter(step)), [8, 8, 25]);
    }

    #[test]
    fn tries_without_success_get_rare_and_one_success_brings_them_back() {
        const BY: BackOff = BackOff::doubling(1, 64);
        let skips = Skips::default();
        let tries = |skips: &Skips, count: usize, succeed: bool| {
            let tried = |_: &usize| {
                let tries = skips.take_turn();
                match (tries, succeed) {
                    (true, true) => skips.succeeded(),
                    (true, false) => skips.failed(3, BY),
                    (false, _) => {}
                }
                tries
            };
            (0..count).filter(tried).count()
        };
        assert_eq!(
            tries(&skips, 4, false),
            4,
            "the free ones, and the first that is not"
        );
        let rare = tries(&skips, 6400, false);
        assert!((100..110).contains(&rare), "{rare}");
        while !skips.take_turn() {}
        skips.succeeded();
        assert_eq!(tries(&skips, 100, true), 100);
    }
}
