//! Measures what stripes gain while helpers are awake.

use super::fan_out::{FanOut, LEVELS, handoffs, level, share_ns};
use crate::learn::{BackOff, decayed};

/// What stripes have gained with awake helpers.
#[derive(Debug, Default)]
pub(super) struct StripeGain {
    /// Whether the last sampled request used stripes.
    pub(super) are_in_use: bool,
    handoffs: [Handoff; LEVELS],
    /// What this request is striped over, if only awake helpers were asked.
    pub(super) sent_for: Option<SentFor>,
    /// Whether the helpers of this request, if any, were awake.
    pub(super) sent_for_awake: Option<bool>,
    /// Sampled requests until stripes are tried again, after they were found to gain nothing.
    pub(super) barred: u32,
    /// The value of `barred` when it was last set.
    pub(super) bar: u32,
    /// Sampled requests since then for which stripes gained.
    pub(super) rewarded: u32,
}

/// The time that stripes take beyond a fair share of the inline time, over [`handoffs`], with a level of helpers.
#[derive(Clone, Copy, Debug, Default)]
struct Handoff {
    /// The average.
    ns: f64,
    /// The number of samples in the average, up to a limit.
    seen: u32,
    /// Samples at other levels since the last one at this level.
    passed: u32,
}

impl Handoff {
    fn is_known(&self) -> bool {
        self.seen >= SEEN_MIN
    }
}

/// The inputs of a striped request's measurement.
#[derive(Clone, Copy, Debug)]
pub(super) struct SentFor {
    /// The time that the request takes inline.
    pub(super) inline_ns: f64,
    pub(super) helpers: usize,
    /// The number of helpers that there are.
    pub(super) available: usize,
}

impl StripeGain {
    /// Whether stripes may be the best choice, as far as is known: active streams are not left for stripes that have
    /// failed.
    pub(super) fn are_hopeful(&self) -> bool {
        self.barred == 0 && (self.are_known() || self.bar == 0)
    }

    /// Whether there were enough samples to tell what stripes cost.
    pub(super) fn are_known(&self) -> bool {
        self.handoffs.iter().any(Handoff::is_known)
    }

    /// Decays old samples, since the cost of stripes changes: while streams are active no stripes are measured, and in
    /// the few samples before that helpers had to wake.
    pub(super) fn forget_a_little(&mut self) {
        for handoff in &mut self.handoffs {
            handoff.ns = decayed(handoff.ns, HANDOFF_NS_HOPED.min(handoff.ns), FORGOTTEN);
        }
    }

    /// Returns the cost of one helper beyond a fair share of the inline time, with helpers of a level: as measured at
    /// that level, or with fewer of them, or with more. `None` before there were enough samples.
    pub(super) fn handoff_ns(&self, level: usize) -> Option<f64> {
        let (below, above) = self.handoffs.split_at(level + 1);
        let mut by_distance = below.iter().rev().chain(above);
        by_distance
            .find(|handoff| handoff.is_known())
            .map(|handoff| handoff.ns)
    }

    /// Returns the best number of up to `available` awake helpers. One costs `hoped_ns` until its cost is known.
    pub(super) fn best(&self, inline_ns: f64, hoped_ns: f64, available: usize) -> FanOut {
        let handoff_ns = |level| self.handoff_ns(level).unwrap_or(hoped_ns);
        FanOut::awake(inline_ns, handoff_ns, available)
    }

    /// Records that a request took `ns` with what was sent for.
    pub(super) fn learn(&mut self, sent_for: SentFor, ns: f64) {
        let SentFor {
            inline_ns,
            helpers,
            available,
        } = sent_for;
        let level = level(helpers);
        let beyond_ns = (ns - share_ns(inline_ns, helpers)).clamp(0.0, inline_ns);
        let seen_ns = beyond_ns / handoffs(helpers);
        for other in &mut self.handoffs {
            other.passed += 1;
            // The cost may have changed since then.
            if other.passed > PASSED_MAX {
                *other = Handoff::default();
            }
        }
        let handoff = &mut self.handoffs[level];
        handoff.passed = 0;
        // One request that the kernel interrupted says little about the next.
        let most_ns = if handoff.is_known() {
            (INTERRUPTED * handoff.ns).max(HANDOFF_NS_HOPED)
        } else {
            f64::MAX
        };
        handoff.seen = (handoff.seen + 1).min(SEEN_MAX);
        // The first ones, while helpers and caches warm up, soon lose their weight.
        let count_as = handoff.seen.div_ceil(2);
        handoff.ns = decayed(handoff.ns, seen_ns.min(most_ns), count_as.into());
        let Handoff { ns: hoped_ns, .. } = *handoff;
        let is_known = handoff.is_known();
        let best = self.best(inline_ns, hoped_ns, available);
        if best.ns < STILL_WORTHWHILE * inline_ns {
            self.rewarded = self.rewarded.saturating_add(1);
            return;
        }
        // The first one after a while finds neither its data nor its code in the helper's caches.
        if !is_known {
            return;
        }
        let has_just_begun = self.rewarded < REWARDED_MIN;
        self.bar = match has_just_begun {
            true => BAR.longer(self.bar),
            false => BAR.least as u32,
        };
        self.barred = self.bar;
        self.rewarded = 0;
        self.handoffs = Default::default();
    }
}

/// Another strategy must promise at most this share of the inline time.
pub(super) const WORTHWHILE: f64 = 0.94;
/// The share for a strategy in use, so that the plan does not alternate.
pub(super) const STILL_WORTHWHILE: f64 = 0.98;
/// The least cost of posting work for a caller, with the helper on a core that shares its cache.
pub(super) const HANDOFF_NS_HOPED: f64 = 500.0;
/// The number of samples after which stripes that gained nothing are tried again, at first and at most.
const BAR: BackOff = BackOff::doubling(64, 4096);
/// The number of samples that tell whether stripes gain.
const SEEN_MIN: u32 = 4;
/// Each new sample has at least the weight of one among half this many.
const SEEN_MAX: u32 = 32;
/// A level that this many samples have passed over is tried again if the levels next to it promise enough.
const PASSED_MAX: u32 = 1024;
/// Each request with streams removes one part in this many of the cost above [`HANDOFF_NS_HOPED`].
const FORGOTTEN: f64 = 4096.0;
/// A sample counts as at most this many times the average.
const INTERRUPTED: f64 = 4.0;
/// The number of samples for which stripes must gain before a loss counts as the first.
const REWARDED_MIN: u32 = 64;

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a request of 2 µs.
    fn sent_for(helpers: usize, available: usize) -> SentFor {
        SentFor {
            inline_ns: 2000.0,
            helpers,
            available,
        }
    }

    #[test]
    fn one_slow_look_tells_nothing() {
        let mut gain = StripeGain::default();
        gain.learn(sent_for(1, 1), 4000.0);
        for _ in 0..100 {
            gain.learn(sent_for(1, 1), 1400.0);
            assert_eq!(gain.barred, 0);
        }
        assert!(gain.handoff_ns(0).is_some_and(|ns| ns < 410.0));
        gain.learn(sent_for(1, 1), 1e6);
        assert!(gain.handoff_ns(0).is_some_and(|ns| ns < 510.0));
    }

    #[test]
    fn streams_are_not_left_for_stripes_that_have_failed() {
        let mut gain = StripeGain::default();
        assert!(gain.are_hopeful());
        for _ in 0..SEEN_MIN {
            gain.learn(sent_for(1, 1), 2000.0);
        }
        assert_eq!(gain.barred, BAR.least as u32);
        gain.barred = 0;
        assert!(!gain.are_hopeful());
        for _ in 0..SEEN_MIN {
            gain.learn(sent_for(1, 1), 1400.0);
        }
        assert!(gain.are_hopeful());
    }

    #[test]
    fn too_many_helpers_are_no_reason_to_do_without() {
        let mut gain = StripeGain::default();
        // 15 cost as much as they gain; one of them would cost an eighth of that.
        for _ in 0..100 {
            gain.learn(sent_for(15, 15), 2000.0);
        }
        assert_eq!(gain.barred, 0);
        assert!(gain.handoff_ns(0).is_some_and(|ns| ns < 250.0));
        // If there is only one, and it costs as much as the 15, none is asked.
        for _ in 0..100 {
            gain.learn(sent_for(1, 1), 3000.0);
        }
        assert!(gain.bar > 0);
    }
}
