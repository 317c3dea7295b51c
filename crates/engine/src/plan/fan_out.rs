//! Decides how many helpers a request is worth: each takes a part of it, and each has a cost.
//!
//! Helpers join and leave one after the other, under one lock, and data and results cross from core to core. So with h
//! of them, all awake, a request takes `hand-off * (h + 1) / 2 + inline / (h + 1)`: on an Intel Xeon of 16 CPUs (family
//! 6, model 207) 64 KiB to 4 MiB of AES-CTR and ChaCha20 took 2.5 to 4 µs beyond their share with one helper, 5 to 7
//! with 4, 14 to 18 with 8 and 26 to 40 with 15. That is roughly linear, so each of the [`LEVELS`] has a hand-off cost
//! of its own once it was measured. Each sleeping helper costs a system call, and the caller waits for the last one to
//! wake up.

use std::ops::RangeInclusive;

use crate::costs::cost::Machine;

/// A number of helpers, and the time of a request with them.
#[derive(Clone, Copy, Debug)]
pub(super) struct FanOut {
    pub(super) helpers: usize,
    pub(super) ns: f64,
}

impl FanOut {
    /// Returns the best number of awake helpers, at least one and at most `most`. `handoff_ns` returns the cost of one
    /// helper at each level.
    pub(super) fn awake(inline_ns: f64, handoff_ns: impl Fn(usize) -> f64, most: usize) -> Self {
        let most = most.max(1);
        let of_level = |level| {
            let handoff_ns = handoff_ns(level);
            let from = if level == 0 {
                1
            } else {
                (1 << (level - 1)) + 1
            };
            let to = if level + 1 == LEVELS {
                most
            } else {
                1 << level
            };
            let range = from..=to.min(most);
            Self::best(2.0 * inline_ns / handoff_ns.max(1.0), &range, |helpers| {
                awake_ns(inline_ns, handoff_ns, helpers)
            })
        };
        let least = |one: Self, other: Self| if other.ns < one.ns { other } else { one };
        (1..=level(most)).map(of_level).fold(of_level(0), least)
    }

    /// Returns the best number of sleeping helpers, at least one and at most `most`.
    pub(super) fn asleep(inline_ns: f64, machine: &Machine, most: usize) -> Self {
        let at_work_ns = (inline_ns - machine.wake_ns).max(0.0);
        Self::best(at_work_ns / WAKE_CALL_NS, &(1..=most.max(1)), |helpers| {
            asleep_ns(inline_ns, machine, helpers)
        })
    }

    /// Returns the best number in `range`. `threads_squared` is the square of the number of threads at which `ns` is
    /// least, taken as a real number.
    fn best(
        threads_squared: f64,
        range: &RangeInclusive<usize>,
        ns: impl Fn(usize) -> f64,
    ) -> Self {
        let below = (threads_squared.sqrt() - 1.0) as usize;
        let of = |helpers: usize| {
            let helpers = helpers.clamp(*range.start(), *range.end());
            let ns = ns(helpers);
            Self { helpers, ns }
        };
        let (one, other) = (of(below), of(below.saturating_add(1)));
        if other.ns < one.ns { other } else { one }
    }
}

/// The number of levels: 1 helper, 2, 3 to 4, 5 to 8, and so on; the last one has no upper end.
pub(super) const LEVELS: usize = 8;

/// Returns the level of `helpers` helpers, at least one.
pub(super) fn level(helpers: usize) -> usize {
    let level = usize::BITS - (helpers.max(1) - 1).leading_zeros();
    (level as usize).min(LEVELS - 1)
}

/// Returns the time of a request with `helpers` helpers that are awake.
pub(super) fn awake_ns(inline_ns: f64, handoff_ns: f64, helpers: usize) -> f64 {
    handoff_ns * handoffs(helpers) + share_ns(inline_ns, helpers)
}

/// Returns the cost of `helpers` helpers in hand-offs to one helper.
pub(super) fn handoffs(helpers: usize) -> f64 {
    (helpers + 1) as f64 / 2.0
}

/// Returns the time of the caller's own part.
pub(super) fn share_ns(inline_ns: f64, helpers: usize) -> f64 {
    inline_ns / (helpers + 1) as f64
}

fn asleep_ns(inline_ns: f64, machine: &Machine, helpers: usize) -> f64 {
    let helpers = helpers as f64;
    helpers * WAKE_CALL_NS + (helpers * machine.wake_ns + inline_ns) / (helpers + 1.0)
}

/// The system call that wakes a helper: 1 µs on the Xeon, 5 and more on virtual machines of Zen 5.
pub(super) const WAKE_CALL_NS: f64 = 3_000.0;

#[cfg(test)]
mod tests {
    use super::*;

    const MACHINE: Machine = Machine {
        handoff_ns: 600.0,
        wake_ns: 20_000.0,
        other_core_bytes_per_ns: 36.0,
        own_core_bytes_per_ns: 30.0,
    };

    #[test]
    fn no_other_number_of_helpers_takes_less() {
        for inline_ns in [
            0.0,
            1.0,
            1e3,
            4650.0,
            17_900.0,
            71_000.0,
            298_000.0,
            1e9,
            f64::MAX,
        ] {
            for most in [1, 2, 3, 15, 127, 1023] {
                for handoff_ns in [0.0, 200.0, 2700.0, 40_000.0] {
                    let best = FanOut::awake(inline_ns, |_| handoff_ns, most);
                    let others = (1..=most).map(|h| awake_ns(inline_ns, handoff_ns.max(1.0), h));
                    let least = others.fold(f64::MAX, f64::min);
                    assert!((1..=most).contains(&best.helpers), "{best:?}");
                    assert!(
                        best.ns <= least * 1.001,
                        "{inline_ns} {most} {handoff_ns}: {best:?}"
                    );
                }
                let best = FanOut::asleep(inline_ns, &MACHINE, most);
                let others = (1..=most).map(|h| asleep_ns(inline_ns, &MACHINE, h));
                let least = others.fold(f64::MAX, f64::min);
                assert!((1..=most).contains(&best.helpers), "{best:?}");
                assert!(best.ns <= least * 1.001, "{inline_ns} {most}: {best:?}");
            }
        }
    }

    /// Checks that the choices agree with a measured machine, where 1, 4 and 8 helpers were the best of 1, 2, 4, 8 and
    /// 15.
    #[test]
    fn as_many_as_were_measured_to_be_best() {
        for (inline_us, handoff_us, expected) in
            [(4.7, 2.7, 1..=1), (71.0, 4.0, 3..=5), (298.0, 5.0, 7..=10)]
        {
            let best = FanOut::awake(inline_us * 1e3, |_| handoff_us * 1e3, 15);
            assert!(expected.contains(&best.helpers), "{inline_us}: {best:?}");
        }
    }

    #[test]
    fn a_level_that_costs_less_than_those_below_is_taken() {
        let handoff_ns = |level| if level < 3 { 11_000.0 } else { 6_000.0 };
        let best = FanOut::awake(298_000.0, handoff_ns, 15);
        assert!((7..=9).contains(&best.helpers), "{best:?}");
        assert_eq!(FanOut::awake(298_000.0, handoff_ns, 4).helpers, 4);
        for (helpers, expected) in [
            (1, 0),
            (2, 1),
            (3, 2),
            (4, 2),
            (5, 3),
            (9, 4),
            (16, 4),
            (1000, 7),
        ] {
            assert_eq!(level(helpers), expected, "{helpers}");
        }
    }
}
