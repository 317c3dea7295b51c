//! What stripes turn out to gain while helpers are awake.

/// What stripes turned out to gain with helpers awake.
#[derive(Debug, Default)]
pub(super) struct StripeGain {
    /// By the last look.
    pub(super) are_in_use: bool,
    /// What they take beyond a fair share of the inline time, on average.
    handoff_ns: f64,
    /// Looks that this is the average of, as far as they count.
    seen: u32,
    /// Inline and stripe share of this look, if helpers that were awake have been sent for.
    pub(super) expected_ns: Option<(f64, f64)>,
    /// Whether the helpers of this look, if any, were awake.
    pub(super) sent_for_awake: Option<bool>,
    /// Looks until they are tried again, after they were found to gain nothing.
    pub(super) barred: u32,
    /// So many the last time.
    pub(super) bar: u32,
    /// Looks since then at which they gained.
    pub(super) rewarded: u32,
}

impl StripeGain {
    /// Whether they may be what gains most, as far as is known: streams in use are not left for what has failed.
    pub(super) fn are_hopeful(&self) -> bool {
        self.barred == 0 && (self.handoff_ns().is_some() || self.bar == 0)
    }

    /// What they take beyond a fair share of the inline time; `None` before there were looks enough.
    pub(super) fn handoff_ns(&self) -> Option<f64> {
        (self.seen >= SEEN_MIN).then_some(self.handoff_ns)
    }

    /// A request of `inline_ns`, of which `share_ns` were this thread's, took `ns` in stripes.
    pub(super) fn learn(&mut self, inline_ns: f64, share_ns: f64, ns: f64) {
        // One request that the kernel interrupted says little of the next.
        let seen_ns = (ns - share_ns).clamp(0.0, inline_ns);
        self.seen = (self.seen + 1).min(SEEN_MAX);
        self.handoff_ns += (seen_ns - self.handoff_ns) / f64::from(self.seen);
        if self.handoff_ns + share_ns < STILL_WORTHWHILE * inline_ns {
            self.rewarded = self.rewarded.saturating_add(1);
            return;
        }
        // The first after a while finds neither its data nor its code with the helper.
        if self.seen < SEEN_MIN {
            return;
        }
        let has_just_begun = self.rewarded < REWARDED_MIN;
        self.bar = if has_just_begun {
            (2 * self.bar).clamp(BAR_MIN, BAR_MAX)
        } else {
            BAR_MIN
        };
        self.barred = self.bar;
        self.rewarded = 0;
        self.seen = 0;
    }
}

/// Another way must promise this share of the inline time.
pub(super) const WORTHWHILE: f64 = 0.94;
/// Of a way that is in use, so that it is not left and taken up again all the time.
pub(super) const STILL_WORTHWHILE: f64 = 0.98;
/// What posting work costs a caller at least, with the helper on a core that shares its cache.
pub(super) const HANDOFF_NS_HOPED: f64 = 500.0;
/// Stripes that gained nothing are tried again after so many looks, the first time and at most.
const BAR_MIN: u32 = 64;
const BAR_MAX: u32 = 4096;
/// So many looks tell whether they gain.
const SEEN_MIN: u32 = 4;
/// Each counts as one of so many at least.
const SEEN_MAX: u32 = 16;
/// Looks at which stripes must gain before a loss counts as the first.
const REWARDED_MIN: u32 = 64;

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn one_slow_look_tells_nothing() {
        let mut gain = StripeGain::default();
        gain.learn(2000.0, 1000.0, 4000.0);
        for _ in 0..100 {
            gain.learn(2000.0, 1000.0, 1400.0);
            assert_eq!(gain.barred, 0);
        }
        assert!(gain.handoff_ns().is_some_and(|ns| ns < 410.0));
    }

    #[test]
    fn streams_are_not_left_for_stripes_that_have_failed() {
        let mut gain = StripeGain::default();
        assert!(gain.are_hopeful());
        for _ in 0..SEEN_MIN {
            gain.learn(2000.0, 1000.0, 2000.0);
        }
        assert_eq!(gain.barred, BAR_MIN);
        gain.barred = 0;
        assert!(!gain.are_hopeful());
        for _ in 0..SEEN_MIN {
            gain.learn(2000.0, 1000.0, 1400.0);
        }
        assert!(gain.are_hopeful());
    }
}
