//! The strategy of a session.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::options::Strategy;

/// A strategy that follows the options until one is set; several threads may do both at once. All of it is in one word,
/// so that neither overwrites the other: the version of the options, whether the strategy was set, and its place in
/// [`STRATEGIES`]. Version 0 precedes all options.
#[derive(Default)]
pub(crate) struct FollowedStrategy(AtomicU64);

impl FollowedStrategy {
    #[inline]
    pub(crate) fn get(&self) -> Strategy {
        STRATEGIES[self.0.load(Ordering::Relaxed) as usize % STRATEGIES.len()]
    }

    /// Returns the version of the options that were followed last.
    #[inline]
    pub(crate) fn version(&self) -> usize {
        (self.0.load(Ordering::Relaxed) >> VERSION_SHIFT) as usize
    }

    /// Whether it was set, and no longer follows the options.
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed) & IS_SET != 0
    }

    /// Takes `strategy`, of options of `version` or newer, unless a strategy was set or newer options were followed.
    pub(crate) fn follow(&self, version: usize, strategy: Strategy) {
        let version = version as u64;
        let follow = |before: u64| {
            let low = match before & IS_SET {
                0 => place_of(strategy),
                _ => before & ((1 << VERSION_SHIFT) - 1),
            };
            (before >> VERSION_SHIFT < version).then_some(version << VERSION_SHIFT | low)
        };
        let _ = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, follow);
    }

    pub(crate) fn set(&self, strategy: Strategy) {
        let set = |before: u64| {
            let version = before >> VERSION_SHIFT;
            Some(version << VERSION_SHIFT | IS_SET | place_of(strategy))
        };
        let _ = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, set);
    }
}

fn place_of(strategy: Strategy) -> u64 {
    let place = STRATEGIES.iter().position(|one| *one == strategy);
    place.unwrap_or_default() as u64
}

const STRATEGIES: [Strategy; 4] = [
    Strategy::Inline,
    Strategy::Auto,
    Strategy::Stripe,
    Strategy::Prefetch,
];
/// The bit above the places of [`STRATEGIES`].
const IS_SET: u64 = STRATEGIES.len() as u64;
const VERSION_SHIFT: u32 = IS_SET.ilog2() + 1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_strategy_follows_the_newest_options_until_one_is_set() {
        for first in STRATEGIES {
            for second in STRATEGIES {
                let strategy = FollowedStrategy::default();
                assert_eq!(strategy.version(), 0);
                strategy.follow(2, first);
                assert_eq!((strategy.version(), strategy.get()), (2, first));
                // Of two threads that follow, the one with the older options may come second.
                strategy.follow(1, second);
                assert_eq!((strategy.version(), strategy.get()), (2, first));
                strategy.follow(3, second);
                assert_eq!((strategy.version(), strategy.get()), (3, second));
                strategy.set(first);
                strategy.follow(4, second);
                assert_eq!((strategy.version(), strategy.get()), (4, first));
            }
        }
    }
}
