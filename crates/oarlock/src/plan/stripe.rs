//! What stripes turn out to gain while helpers are awake.

/// What stripes turned out to gain with helpers awake.
#[derive(Debug, Default)]
pub(super) struct StripeGain {
    /// By the last look.
    pub(super) are_in_use: bool,
    /// What they take beyond a fair share of the inline time, on average; `None` before the first.
    pub(super) handoff_ns: Option<f64>,
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
    /// A request of `inline_ns`, of which `share_ns` were this thread's, took `ns` in stripes.
    pub(super) fn learn(&mut self, inline_ns: f64, share_ns: f64, ns: f64) {
        // One request that the kernel interrupted says little of the next.
        let seen_ns = (ns - share_ns).clamp(0.0, inline_ns);
        let known_ns = self.handoff_ns.get_or_insert(seen_ns);
        *known_ns += (seen_ns - *known_ns) / 16.0;
        if *known_ns + share_ns < STILL_WORTHWHILE * inline_ns {
            self.rewarded = self.rewarded.saturating_add(1);
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
        self.handoff_ns = None;
    }
}

/// Another way must promise this share of the inline time.
pub(super) const WORTHWHILE: f64 = 0.94;
/// Of a way that is in use, so that it is not left and taken up again all the time.
pub(super) const STILL_WORTHWHILE: f64 = 0.98;
/// What posting work costs a caller at least, with the helper on a core that shares its cache.
pub(super) const HANDOFF_NS_HOPED: f64 = 500.0;
/// Stripes that gained nothing are tried again after so many looks, the first time and at most.
const BAR_MIN: u32 = 16;
const BAR_MAX: u32 = 4096;
/// Looks at which stripes must gain before a loss counts as the first.
const REWARDED_MIN: u32 = 64;
