//! Which way a request goes: by expected time, not by bytes.
//!
//! ```text
//! inline                      setup + bytes / rate
//! stripe, helpers awake       hand-off + inline / (helpers + 1)
//! stripe, helpers asleep      wake-up  + (inline - wake-up) / (helpers + 1)
//! keystream made ahead        see docs/prefetch.md
//! ```
//!
//! What these cost is told by [`costs`]; from there it follows the session's own figures, the
//! hand-off as well as the rate. Not every request is looked at: a look at clock and pool takes
//! 50 ns when these are in the cache and up to 2 µs when not.

mod costs;
mod report;
mod tables;

use std::sync::Arc;
use std::time::{Duration, Instant};

pub use self::costs::CostSource;
pub(crate) use self::costs::{Cost, Costs, LiveMachine, Machine, kernel_backend, kernel_cost};
#[cfg(feature = "software")]
pub(crate) use self::costs::{software_backend, software_cost};
pub use self::report::{MadeAhead, PlanReport};
use crate::accelerator::Inner;
use crate::device::{Offer, Operation, Registration};
use crate::prefetch::Shape;

/// The way of one request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    Inline,
    Stripe { helpers: usize },
}

/// What a session knows of its own speed and rhythm.
#[derive(Debug)]
pub(crate) struct Pace {
    cost: Cost,
    /// As the last look found it.
    machine: Machine,
    /// When the last request that was looked at ended.
    last_end: Option<Instant>,
    /// Bytes since then that were not looked at.
    unseen_bytes: usize,
    /// Requests that are inline without a look at clock and pool: those after one that stood
    /// alone, and short ones that helpers do not gain for.
    passed_over: u32,
    /// Looks in a row with less than a watch between them.
    streak: u32,
    waking: Waking,
    stripes: Stripes,
    ahead: Ahead,
}

/// Sleeping helpers that are woken ahead of gain, by a streak.
#[derive(Debug)]
struct Waking {
    /// A streak from this length on does so.
    streak_to_wake: u32,
    /// When one did so last, if nothing is known of the outcome.
    since: Option<Instant>,
}

/// What stripes turned out to gain with helpers awake.
#[derive(Debug, Default)]
struct Stripes {
    /// By the last look.
    are_in_use: bool,
    /// What they take beyond a fair share of the inline time, on average; `None` before the first.
    handoff_ns: Option<f64>,
    /// Inline and stripe share of this look, if helpers that were awake have been sent for.
    expected_ns: Option<(f64, f64)>,
    /// Whether the helpers of this look, if any, were awake.
    sent_for_awake: Option<bool>,
    /// Looks until they are tried again, after they were found to gain nothing.
    barred: u32,
    /// So many the last time.
    bar: u32,
    /// Looks since then at which they gained.
    rewarded: u32,
}

/// What is known about making keystream ahead.
#[derive(Debug)]
struct Ahead {
    /// Of the streams; 0 where there is no keystream to be made ahead.
    ring_bytes: usize,
    /// What keystream of other cores is used at, from requests of this session; `None` before the
    /// first that all of it was there for.
    bytes_per_ns: Option<f64>,
    /// When the last request that was timed ended.
    timed: Option<Instant>,
    /// From the end of a request to the start of the next, on average.
    gap_ns: f64,
    /// Requests that were looked at under this key.
    looks: u32,
    /// As many there must be before keystream is made ahead; more where that was of no use.
    looks_needed: u32,
    /// The last look found that it should be, by so many.
    is_wanted: bool,
    helpers: usize,
}

/// What [`Pace::choose`] asks about the pool; asked in this order, only as far as needed.
pub(crate) trait Helpers {
    /// Helpers that a core is there for.
    fn available(&self) -> usize;
    /// Helpers that would start at once.
    fn awake(&self) -> usize;
    /// What they cost.
    fn machine(&self) -> Machine;
}

/// The pool, as the plan sees it.
pub(crate) struct HelpersOf<'a> {
    inner: &'a Inner,
    most: usize,
}

impl<'a> HelpersOf<'a> {
    /// Up to `most` of them.
    pub(crate) fn of(inner: &'a Inner, most: usize) -> Self {
        Self { inner, most }
    }
}

impl Helpers for HelpersOf<'_> {
    fn available(&self) -> usize {
        self.inner.cores_free().min(self.most)
    }

    fn awake(&self) -> usize {
        self.inner.helpers_awake()
    }

    fn machine(&self) -> Machine {
        self.inner.machine.get()
    }
}

impl Pace {
    /// Of a session without keystream to be made ahead.
    pub(crate) fn new(cost: Cost) -> Self {
        Self {
            cost,
            machine: Costs::default().machine().0,
            last_end: None,
            unseen_bytes: 0,
            passed_over: 0,
            streak: 0,
            waking: Waking {
                streak_to_wake: STREAK_TO_WAKE,
                since: None,
            },
            stripes: Stripes::default(),
            ahead: Ahead {
                ring_bytes: 0,
                bytes_per_ns: None,
                timed: None,
                gap_ns: 0.0,
                looks: 0,
                looks_needed: LOOKS_TO_PREFETCH,
                is_wanted: false,
                helpers: 0,
            },
        }
    }

    /// Of another key, or on another device.
    pub(crate) fn begin_anew(&mut self, cost: Cost) {
        let ring_bytes = self.ahead.ring_bytes;
        *self = Self::new(cost);
        self.ahead.ring_bytes = ring_bytes;
    }

    /// Keystream may be made ahead, in streams of `ring_bytes` together.
    pub(crate) fn may_make_ahead(&mut self, ring_bytes: usize) {
        self.ahead.ring_bytes = ring_bytes;
    }

    /// Requests below this gain nothing from stripes.
    pub(crate) fn long_bytes(&self) -> usize {
        self.bytes_in(LONG_NS)
    }

    /// Bytes that a stream may serve inline before its next look: it counts them.
    pub(crate) fn unseen_bytes_max(&self) -> usize {
        self.bytes_in(if self.stripes.are_in_use {
            LONG_NS
        } else {
            UNSEEN_NS
        })
    }

    fn bytes_in(&self, ns: f64) -> usize {
        let ns = (ns - self.cost.setup_ns).max(ns / 2.0);
        (self.cost.bytes_per_ns * ns) as usize
    }

    /// Whether a request is worth a look at clock and pool.
    pub(crate) fn looks_at(&self, bytes: usize) -> bool {
        self.passed_over == 0 || self.cost.ns(bytes) > self.asleep_ns_min()
    }

    /// Takes note of a request that was not looked at.
    pub(crate) fn pass_over(&mut self) {
        // None are left to pass over if the session has moved meanwhile and begun anew.
        self.passed_over = self.passed_over.saturating_sub(1);
        if self.passed_over == 0 {
            // So that the next one, which is looked at, can tell whether it follows.
            self.last_end = Some(Instant::now());
            self.unseen_bytes = 0;
        }
    }

    /// Takes note of bytes that were not looked at.
    pub(crate) fn add_unseen(&mut self, bytes: usize) {
        self.unseen_bytes = self.unseen_bytes.saturating_add(bytes);
    }

    pub(crate) fn choose(&mut self, bytes: usize, now: Instant, pool: &impl Helpers) -> Way {
        self.machine = pool.machine();
        self.stripes.sent_for_awake = None;
        self.stripes.expected_ns = None;
        self.ahead.is_wanted = false;
        let inline_ns = self.cost.ns(bytes);
        let follows = self.take_in_pause(bytes, inline_ns, now);
        let available = pool.available();
        let way = match available {
            0 => Way::Inline,
            _ => self.by_stripes_or_not(bytes, inline_ns, now, available, pool),
        };
        if available > 0
            && bytes <= self.ahead.ring_bytes
            && self.ahead.looks >= self.ahead.looks_needed
            && self.is_better_made_ahead(bytes, inline_ns, available, way)
        {
            self.ahead.is_wanted = true;
            self.ahead.helpers = available;
        }
        self.passed_over = match way {
            Way::Inline if !follows => PASSED_OVER,
            // A stream counts bytes instead.
            Way::Inline if self.ahead.ring_bytes == 0 => (UNSEEN_NS / inline_ns) as u32,
            _ => 0,
        };
        self.stripes.are_in_use = way != Way::Inline;
        way
    }

    /// Whether the last look found that the next requests should find keystream made ahead. Tells
    /// it once.
    pub(crate) fn wants_keystream_ahead(&mut self) -> bool {
        std::mem::take(&mut self.ahead.is_wanted)
    }

    /// The time since the last look; whether it was spent on requests for the most part.
    fn take_in_pause(&mut self, bytes: usize, inline_ns: f64, now: Instant) -> bool {
        // Those that were not looked at are taken to be like this one.
        let unseen = self.unseen_bytes as f64 / bytes.max(1) as f64;
        self.unseen_bytes = 0;
        let pause_ns = self.last_end.map(|end| {
            let ns = now.duration_since(end).as_nanos() as f64;
            (ns - unseen * inline_ns).max(0.0)
        });
        let follows = pause_ns.is_some_and(|ns| ns < WATCH.as_nanos() as f64);
        self.streak = if follows {
            self.streak.saturating_add(1)
        } else {
            0
        };
        self.ahead.looks = self.ahead.looks.saturating_add(1);
        // What was slow once is tried again some day.
        let known = self.taken_bytes_per_ns();
        let hoped = self.hoped_bytes_per_ns();
        if let Some(rate) = &mut self.ahead.bytes_per_ns {
            *rate = known + (hoped - known).max(0.0) / 1024.0;
        }
        if let Some(pause_ns) = pause_ns {
            self.ahead.paused(pause_ns / (unseen + 1.0));
        }
        follows
    }

    /// Whether requests like this one are done sooner if helpers make keystream meanwhile.
    ///
    /// In a period of one request and one gap g, k helpers make k P / T of a request's keystream.
    /// Where that is less than all, the rest f is computed inline: P = g + (1 - f) T + f x with
    /// f = k P / T, and x the time to take what is there.
    fn is_better_made_ahead(
        &self,
        bytes: usize,
        inline_ns: f64,
        helpers: usize,
        otherwise: Way,
    ) -> bool {
        let taking_ns = self.taking_ns(bytes);
        if taking_ns > WORTHWHILE * inline_ns {
            return false;
        }
        let otherwise_ns = match otherwise {
            Way::Stripe { helpers } => self.striped_ns(inline_ns, helpers),
            // In a stream that helpers would soon be awake for.
            Way::Inline
                if self.streak > 0
                    && self.stripes.barred == 0
                    && self.may_be_cut(bytes, helpers) =>
            {
                self.striped_ns(inline_ns, helpers).min(inline_ns)
            }
            Way::Inline => inline_ns,
        };
        let gap_ns = self.ahead.gap_ns;
        let helpers = helpers as f64;
        let period_ns =
            (gap_ns + inline_ns) * inline_ns / (inline_ns + helpers * (inline_ns - taking_ns));
        let ahead_ns = (period_ns - gap_ns).max(taking_ns);
        // What is there is there after a pause as well: of equals it is the better.
        let is_much_slower = taking_ns < inline_ns / 4.0;
        let is_in_use = self.ahead.bytes_per_ns.is_some();
        let share = match (is_much_slower, is_in_use) {
            (true, _) => EQUAL,
            (false, true) => STILL_WORTHWHILE,
            (false, false) => WORTHWHILE,
        };
        ahead_ns < share * otherwise_ns
    }

    /// To use keystream of another core.
    fn taking_ns(&self, bytes: usize) -> f64 {
        TAKING_NS + bytes as f64 / self.taken_bytes_per_ns()
    }

    fn taken_bytes_per_ns(&self) -> f64 {
        let known = self.ahead.bytes_per_ns;
        known.unwrap_or_else(|| self.hoped_bytes_per_ns())
    }

    fn hoped_bytes_per_ns(&self) -> f64 {
        RING_SHARE_HOPED * self.machine.other_core_bytes_per_ns
    }

    /// Takes note of a request, one in [`REQUESTS_PER_TIMED`], that keystream was there for, but for
    /// the bytes that were done `inline`; whether the streams still gain.
    pub(crate) fn learn_taking(
        &mut self,
        bytes: usize,
        inline: usize,
        began: Instant,
        ended: Instant,
    ) -> bool {
        let ns = ended.duration_since(began).as_nanos() as f64;
        if let Some(last_end) = self.ahead.timed.replace(ended) {
            // As many pauses as requests, of which this one is not in there.
            let requests = f64::from(REQUESTS_PER_TIMED);
            let since_ns = began.duration_since(last_end).as_nanos() as f64;
            self.ahead
                .paused((since_ns - (requests - 1.0) * ns) / requests);
        }
        if inline > bytes / 2 {
            return true;
        }
        let ns = ns - inline as f64 / self.cost.bytes_per_ns;
        let seen = (bytes - inline) as f64 / (ns - TAKING_NS).max(ns / 2.0).max(1.0);
        let known = self.taken_bytes_per_ns();
        self.ahead.bytes_per_ns = Some(known + (seen - known) / 8.0);
        let inline_ns = self.cost.ns(bytes);
        self.is_better_made_ahead(bytes, inline_ns, self.ahead.helpers, Way::Inline)
    }

    /// A request from here on is worth the waking of helpers.
    fn asleep_ns_min(&self) -> f64 {
        (ASLEEP_PER_WAKE * self.machine.wake_ns).max(ASLEEP_NS_MIN)
    }

    /// Little of what was made ahead was there when it was asked for, or there is no room for it.
    pub(crate) fn prefetch_failed(&mut self) {
        self.ahead.looks = 0;
        self.ahead.timed = None;
        self.ahead.looks_needed = self.ahead.looks_needed.saturating_mul(4);
    }

    fn by_stripes_or_not(
        &mut self,
        bytes: usize,
        inline_ns: f64,
        now: Instant,
        available: usize,
        pool: &impl Helpers,
    ) -> Way {
        if !self.may_be_cut(bytes, available) {
            return Way::Inline;
        }
        let awake = pool.awake().min(available);
        let is_worth_waking = inline_ns > self.asleep_ns_min();
        if self.stripes.barred > 0 && !is_worth_waking {
            self.stripes.barred -= 1;
            return Way::Inline;
        }
        if awake > 0 {
            if self.waking.is_overdue(now) {
                self.waking.since = None;
            }
            // A longer request is worth waking the rest.
            let helpers = if is_worth_waking { available } else { awake };
            let worthwhile = if self.stripes.handoff_ns.is_some() {
                STILL_WORTHWHILE
            } else {
                WORTHWHILE
            };
            if !is_worth_waking && self.striped_ns(inline_ns, awake) >= worthwhile * inline_ns {
                return Way::Inline;
            }
            self.stripes.sent_for_awake = Some(true);
            if helpers == awake {
                self.stripes.expected_ns = Some((inline_ns, inline_ns / (awake + 1) as f64));
            }
            return Way::Stripe { helpers };
        }
        if is_worth_waking {
            self.stripes.sent_for_awake = Some(false);
            return Way::Stripe { helpers: available };
        }
        if self.waking.since.is_some() {
            if !self.waking.is_overdue(now) {
                // On its way: who comes between two requests watches for less than a long one
                // takes, and is to find something.
                return if inline_ns > WATCH.as_nanos() as f64 / 4.0 {
                    Way::Stripe { helpers: available }
                } else {
                    Way::Inline
                };
            }
            // Woken, and asleep again before it could help: not so soon next time.
            self.waking.since = None;
            self.waking.streak_to_wake = self.waking.streak_to_wake.saturating_mul(2);
            self.streak = 0;
        }
        if self.streak >= self.waking.streak_to_wake
            && self.striped_ns(inline_ns, available) < WORTHWHILE * inline_ns
        {
            self.waking.since = Some(now);
            self.stripes.sent_for_awake = Some(false);
            return Way::Stripe { helpers: available };
        }
        Way::Inline
    }

    /// Whether there is more than one stripe in it.
    fn may_be_cut(&self, bytes: usize, helpers: usize) -> bool {
        bytes > self.stripe_bytes(bytes, helpers + 1)
    }

    /// With so many helpers, who are awake.
    fn striped_ns(&self, inline_ns: f64, helpers: usize) -> f64 {
        // Until it is known, it may well be half of what it is at most: to find out costs less
        // than not to.
        let handoff_ns = self
            .stripes
            .handoff_ns
            .unwrap_or((self.machine.handoff_ns / 2.0).min(HANDOFF_NS_HOPED));
        handoff_ns + inline_ns / (helpers + 1) as f64
    }

    /// Takes note of a request that was looked at and went `way`.
    pub(crate) fn learn(&mut self, way: Way, bytes: usize, began: Instant, ended: Instant) {
        self.last_end = Some(ended);
        let ns = ended.duration_since(began).as_nanos() as f64;
        match way {
            // Shorter ones are not measured by a clock of 20 to 40 ns.
            Way::Inline if ns > LONG_NS / 2.0 => {
                // A setup that is less than told shall not make the rate endless.
                let ns = (ns - self.cost.setup_ns).max(ns / 2.0);
                let rate = &mut self.cost.bytes_per_ns;
                *rate += (bytes as f64 / ns - *rate) / 8.0;
            }
            Way::Inline => {}
            Way::Stripe { .. } => {
                // A thread that is being made counts as awake.
                let is_under_way = self.waking.since.is_some();
                if let Some((inline_ns, share_ns)) = self.stripes.expected_ns.take()
                    && !is_under_way
                {
                    self.stripes.learn(inline_ns, share_ns, ns);
                }
            }
        }
    }

    /// Takes note of how long after the request the first helper began; before
    /// [`learn`](Self::learn).
    pub(crate) fn joined(&mut self, live: &LiveMachine, waited: Duration) {
        self.waking.since = None;
        self.waking.streak_to_wake = STREAK_TO_WAKE;
        if let Some(was_awake) = self.stripes.sent_for_awake.take() {
            live.joined(was_awake, waited);
        }
    }

    /// How streams of `stream_bytes` are cut: a granule takes a few microseconds to make, so that a
    /// helper is soon there for others and a consumer that runs into it has lost little.
    pub(crate) fn ring_shape(&self, stream_bytes: usize, streams: usize) -> Shape {
        let wanted = (self.cost.bytes_per_ns * GRANULE_NS) as usize;
        let mut granule_bytes = wanted.clamp(GRANULE_BYTES_MIN, PAGE).next_power_of_two();
        while !stream_bytes.is_multiple_of(granule_bytes) {
            granule_bytes /= 2;
        }
        Shape {
            granule_bytes,
            segment: stream_bytes / granule_bytes,
            streams,
        }
    }

    /// How a request of `bytes` is cut for `threads`: enough stripes that the end is even, none so
    /// short that its ticket counts or so long that it leaves the cache.
    pub(crate) fn stripe_bytes(&self, bytes: usize, threads: usize) -> usize {
        let least = (self.cost.bytes_per_ns * STRIPE_NS_MIN) as usize;
        (bytes / (8 * threads))
            .max(least.min(STRIPE_BYTES_MAX))
            .next_multiple_of(PAGE)
            .clamp(PAGE, STRIPE_BYTES_MAX)
    }
}

impl Ahead {
    /// Takes note of the pause before a request.
    fn paused(&mut self, ns: f64) {
        self.gap_ns += (ns.clamp(0.0, GAP_NS_MAX) - self.gap_ns) / 8.0;
    }
}

impl Waking {
    fn is_overdue(&self, now: Instant) -> bool {
        self.since
            .is_some_and(|since| now.duration_since(since) >= WAKING)
    }
}

impl Stripes {
    /// A request of `inline_ns`, of which `share_ns` were this thread's, took `ns` in stripes.
    fn learn(&mut self, inline_ns: f64, share_ns: f64, ns: f64) {
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

/// Orders devices: the one expected to be done first comes first.
/// Where this library's kernels are within a few hundredths of the best they come first, as their
/// preference says: one more implementation is not worth that.
pub(crate) fn order_offers(offers: &mut [(Offer, Cost, Arc<Registration>)]) {
    let ns = |cost: &Cost| cost.ns(TYPICAL_BYTES);
    offers.sort_by(|(_, one, _), (_, other, _)| ns(one).total_cmp(&ns(other)));
    let best_ns = offers.first().map_or(0.0, |(_, cost, _)| ns(cost));
    let near = offers.partition_point(|(_, cost, _)| ns(cost) <= EQUAL * best_ns);
    offers[..near].sort_by_key(|(offer, ..)| std::cmp::Reverse(offer.preference));
}

/// Whether keystream of `operation` is made more slowly than it comes over from another core.
pub(crate) fn keystream_is_slower_than_its_way(inner: &Inner, operation: Operation) -> bool {
    let cost = kernel_cost(&inner.costs, inner.cpu, operation);
    cost.bytes_per_ns < RING_SHARE * inner.machine.get().other_core_bytes_per_ns / 2.0
}

/// Shorter requests gain little from a helper that is awake.
const LONG_NS: f64 = 2_000.0;
/// A look at clock and pool every so often is less than a hundredth.
const UNSEEN_NS: f64 = 16_000.0;
/// Requests that end sooner wake nobody, however fast a wake-up was when it was measured: beside
/// others on a virtual machine it takes 55 to 80 µs.
const ASLEEP_NS_MIN: f64 = 100_000.0;
/// A wake-up takes now half and now twice what it takes on average, and costs the caller a system
/// call.
const ASLEEP_PER_WAKE: f64 = 2.0;
/// Another way must promise this share of the inline time.
const WORTHWHILE: f64 = 0.94;
/// Of a way that is in use, so that it is not left and taken up again all the time.
const STILL_WORTHWHILE: f64 = 0.98;
/// Times that may be a little longer and still count as equal.
const EQUAL: f64 = 1.05;
/// What posting work costs a caller at least, with the helper on a core that shares its cache.
const HANDOFF_NS_HOPED: f64 = 500.0;
/// Stripes that gained nothing are tried again after so many looks, the first time and at most.
const BAR_MIN: u32 = 16;
const BAR_MAX: u32 = 4096;
/// Looks at which stripes must gain before a loss counts as the first.
const REWARDED_MIN: u32 = 64;
/// How long helpers watch.
const WATCH: Duration = Duration::from_micros(50);
/// A helper that does not come within this time after it was woken comes no more.
const WAKING: Duration = Duration::from_micros(400);
/// So many requests in a row are a stream.
const STREAK_TO_WAKE: u32 = 4;
/// After one that stood alone.
const PASSED_OVER: u32 = 6;
/// While keystream is taken more is made, over the same way, and then 9 to 19 GB/s are left of the 43
/// that are measured without.
const RING_SHARE: f64 = 0.25;
/// The most that was seen. What a session finds out decides.
const RING_SHARE_HOPED: f64 = 0.6;
/// To find keystream that was made ahead.
const TAKING_NS: f64 = 40.0;
/// A session of a few requests is not worth the memory.
const LOOKS_TO_PREFETCH: u32 = 3;
/// Of a message, when devices are compared.
const TYPICAL_BYTES: usize = 4096;
/// Longer gaps say no more.
const GAP_NS_MAX: f64 = 1e9;
/// Of requests for which keystream is taken.
pub(crate) const REQUESTS_PER_TIMED: u32 = 8;
const GRANULE_NS: f64 = 5_000.0;
const GRANULE_BYTES_MIN: usize = 512;
const PAGE: usize = 4096;
/// A ticket and what goes with it take 20 to 50 ns.
const STRIPE_NS_MIN: f64 = 500.0;
const STRIPE_BYTES_MAX: usize = 128 << 10;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// A pool that is as it is told.
    struct Told {
        available: usize,
        awake: usize,
    }

    impl Helpers for Told {
        fn available(&self) -> usize {
            self.available
        }
        fn awake(&self) -> usize {
            self.awake
        }
        fn machine(&self) -> Machine {
            MACHINE
        }
    }

    const MACHINE: Machine = Machine {
        handoff_ns: 600.0,
        wake_ns: ASLEEP_NS_MIN / ASLEEP_PER_WAKE,
        other_core_bytes_per_ns: 36.0,
        own_core_bytes_per_ns: 30.0,
    };

    /// Without a setup.
    fn pace(bytes_per_second: u64) -> Pace {
        Pace::new(Cost::new(0, bytes_per_second))
    }

    const ASLEEP: Told = Told {
        available: 3,
        awake: 0,
    };
    const AWAKE: Told = Told {
        available: 3,
        awake: 2,
    };
    /// One byte a nanosecond: bytes are nanoseconds.
    const RATE: u64 = 1_000_000_000;
    const RING_BYTES: usize = 128 << 10;
    const SHORT: usize = (ASLEEP_NS_MIN / 2.0) as usize;
    const LONG: usize = (ASLEEP_NS_MIN * 2.0) as usize;

    /// A session's requests, at times of their own making.
    struct Session {
        pace: Pace,
        now: Instant,
        /// Helpers that are awake come; else stripes take as long as inline.
        helpers_come: bool,
    }

    impl Session {
        /// Of a cipher whose keystream is not to be made ahead.
        fn new() -> Self {
            Self {
                pace: pace(RATE),
                now: Instant::now(),
                helpers_come: true,
            }
        }

        fn of_stream(bytes_per_second: u64) -> Self {
            let mut session = Self::new();
            session.pace = pace(bytes_per_second);
            session.pace.may_make_ahead(RING_BYTES);
            session
        }

        /// One request `gap` after the last, which takes as long as the rate and the way say.
        fn request(&mut self, gap: Duration, bytes: usize, pool: &Told) -> Way {
            let began = self.now + gap;
            let way = self.pace.choose(bytes, began, pool);
            let mut ns = bytes as f64 / self.pace.cost.bytes_per_ns;
            if let Way::Stripe { helpers } = way
                && pool.awake > 0
                && self.helpers_come
            {
                ns /= (helpers + 1) as f64;
                let live = LiveMachine::new(MACHINE);
                self.pace.joined(&live, Duration::ZERO);
            }
            self.now = began + Duration::from_nanos(ns as u64);
            self.pace.learn(way, bytes, began, self.now);
            way
        }

        /// The same; whether keystream is to be made ahead.
        fn ahead(&mut self, gap: Duration, bytes: usize, pool: &Told) -> bool {
            self.request(gap, bytes, pool);
            self.pace.wants_keystream_ahead()
        }
    }

    #[test]
    fn where_no_core_is_free_all_is_inline() {
        let mut session = Session::new();
        let pool = Told {
            available: 0,
            awake: 2,
        };
        for bytes in [0, 1, SHORT, LONG, usize::MAX] {
            assert_eq!(
                session.pace.choose(bytes, session.now, &pool),
                Way::Inline,
                "{bytes}"
            );
        }
    }

    #[test]
    fn sleeping_helpers_are_woken_for_a_request_that_outlasts_the_wake_up() {
        let mut session = Session::new();
        let apart = 10 * WATCH;
        assert_eq!(session.request(apart, SHORT, &ASLEEP), Way::Inline);
        assert_eq!(
            session.request(apart, LONG, &ASLEEP),
            Way::Stripe { helpers: 3 }
        );
    }

    #[test]
    fn helpers_awake_are_used_where_they_gain_and_the_rest_woken_where_it_pays() {
        let mut session = Session::new();
        let choose = |session: &mut Session, bytes| session.request(WATCH, bytes, &AWAKE);
        // A page is one stripe.
        assert_eq!(choose(&mut session, PAGE), Way::Inline);
        assert_eq!(choose(&mut session, SHORT), Way::Stripe { helpers: 2 });
        assert_eq!(choose(&mut session, LONG), Way::Stripe { helpers: 3 });
        // No more than a core is there for.
        let pool = Told {
            available: 1,
            awake: 9,
        };
        let way = session.request(WATCH, SHORT, &pool);
        assert_eq!(way, Way::Stripe { helpers: 1 });
    }

    #[test]
    fn a_streak_wakes_helpers_ahead_and_a_pause_ends_it() {
        let mut session = Session::new();
        let close = WATCH / 2;
        // The first follows nothing.
        for _ in 0..STREAK_TO_WAKE {
            assert_eq!(session.request(close, SHORT, &ASLEEP), Way::Inline);
        }
        assert_eq!(session.request(WATCH, SHORT, &ASLEEP), Way::Inline);
        for _ in 1..STREAK_TO_WAKE {
            assert_eq!(session.request(close, SHORT, &ASLEEP), Way::Inline);
        }
        assert_eq!(
            session.request(close, SHORT, &ASLEEP),
            Way::Stripe { helpers: 3 }
        );
    }

    #[test]
    fn waking_ahead_in_vain_backs_off_until_a_helper_is_met_awake() {
        let mut session = Session::new();
        let close = WATCH / 2;
        // How many are inline before, and all that follow until the waking is found to be in vain.
        let until_woken = |session: &mut Session| {
            let mut way = || session.request(close, SHORT, &ASLEEP);
            let inline = (0..1000).take_while(|_| way() == Way::Inline).count();
            (0..1000).find(|_| way() == Way::Inline).unwrap();
            inline as u32
        };
        assert_eq!(until_woken(&mut session), STREAK_TO_WAKE);
        assert_eq!(until_woken(&mut session), 2 * STREAK_TO_WAKE - 1);
        assert_eq!(until_woken(&mut session), 4 * STREAK_TO_WAKE - 1);
        session.request(close, SHORT, &AWAKE);
        session.request(WATCH, SHORT, &ASLEEP);
        assert_eq!(until_woken(&mut session), STREAK_TO_WAKE - 1);
    }

    #[test]
    fn a_thread_under_way_teaches_nothing_about_stripes() {
        let mut session = Session::new();
        session.helpers_come = false;
        for _ in 0..=STREAK_TO_WAKE {
            session.request(WATCH / 2, SHORT, &ASLEEP);
        }
        // Counted as awake while it is being made.
        for _ in 0..4 {
            let way = session.request(Duration::ZERO, SHORT, &AWAKE);
            assert_ne!(way, Way::Inline);
        }
    }

    #[test]
    fn the_back_off_has_no_end_to_overflow_at() {
        let mut session = Session::new();
        session.pace.waking.streak_to_wake = u32::MAX;
        session.pace.streak = u32::MAX;
        for _ in 0..4 {
            session.request(WATCH / 2, SHORT, &ASLEEP);
        }
        assert_eq!(session.pace.waking.streak_to_wake, u32::MAX);
    }

    #[test]
    fn of_requests_that_stand_alone_most_are_spared_the_look() {
        let mut session = Session::new();
        session.request(WATCH, SHORT, &ASLEEP);
        for _ in 0..PASSED_OVER {
            assert!(!session.pace.looks_at(SHORT));
            assert!(session.pace.looks_at(LONG), "worth a wake-up by itself");
            session.pace.pass_over();
        }
        assert!(session.pace.looks_at(SHORT));
        // Of those in a row none is.
        session.now = Instant::now();
        session.request(WATCH / 2, SHORT, &ASLEEP);
        assert!(session.pace.looks_at(SHORT));
        session.pace.pass_over();
        assert!(session.pace.looks_at(SHORT));
    }

    #[test]
    fn a_slow_cipher_with_pauses_is_made_ahead_from_the_third_look_on() {
        let mut session = Session::of_stream(RATE / 8);
        let pause = Duration::from_millis(1);
        for _ in 1..LOOKS_TO_PREFETCH {
            assert!(!session.ahead(pause, 4096, &ASLEEP));
        }
        assert!(session.ahead(pause, 4096, &ASLEEP));
        session.pace.prefetch_failed();
        let more = (0..100)
            .take_while(|_| !session.ahead(pause, 4096, &ASLEEP))
            .count();
        assert_eq!(more as u32, 4 * LOOKS_TO_PREFETCH - 1, "not so soon again");
    }

    #[test]
    fn a_consumer_with_other_work_finds_keystream_and_one_without_shares_its_requests() {
        let one = Told {
            available: 1,
            awake: 1,
        };
        for (gap_us, expected) in [(20, true), (0, false)] {
            // 32 KiB packets at 4 GB/s.
            let mut session = Session::of_stream(4 * RATE);
            let gap = Duration::from_micros(gap_us);
            let is_ahead = (0..50).map(|_| session.ahead(gap, 32 << 10, &one)).last();
            assert_eq!(is_ahead, Some(expected), "{gap_us}");
        }
    }

    #[test]
    fn short_requests_in_a_row_are_seen_by_their_bytes() {
        let mut session = Session::of_stream(RATE / 8);
        let one = Told {
            available: 1,
            awake: 0,
        };
        let bytes = session.pace.unseen_bytes_max();
        for look in 1..=LOOKS_TO_PREFETCH {
            // As many requests of 64 bytes as fit, and the time that they take.
            session.pace.add_unseen(bytes - 64);
            let unseen = Duration::from_nanos(8 * (bytes as u64 - 64));
            let is_ahead = session.ahead(unseen, 64, &one);
            assert_eq!(is_ahead, look == LOOKS_TO_PREFETCH, "{look}");
        }
        assert!(session.pace.streak >= 1, "no pause between them");
    }

    #[test]
    fn keystream_that_comes_slowly_is_made_ahead_no_more() {
        let mut session = Session::of_stream(10 * RATE);
        let (bytes, pause) = (32 << 10, Duration::from_millis(1));
        assert!((0..10).any(|_| session.ahead(pause, bytes, &ASLEEP)));
        let inline_ns = session.pace.cost.ns(bytes);
        // Each timed one after as many others, each with its pause.
        let mut taken = |ns: f64| {
            let others = (pause.as_nanos() as f64 + ns) * f64::from(REQUESTS_PER_TIMED - 1);
            let began = session.now + pause + Duration::from_nanos(others as u64);
            session.now = began + Duration::from_nanos(ns as u64);
            session.pace.learn_taking(bytes, 0, began, session.now)
        };
        assert!((0..100).all(|_| taken(inline_ns / 2.0)));
        // One that was interrupted changes nothing.
        assert!(taken(1e6));
        assert!((0..100).any(|_| !taken(1.5 * inline_ns)));
    }

    #[test]
    fn streams_are_given_up_when_pauses_end_and_stripes_are_better() {
        let mut session = Session::of_stream(6 * RATE);
        let (bytes, pause) = (64 << 10, Duration::from_micros(40));
        let one = Told {
            available: 1,
            awake: 1,
        };
        assert!((0..50).any(|_| session.ahead(pause, bytes, &one)));
        let mut taken = || {
            // Half of a request's keystream is there, and the next follows at once.
            let ns = session.pace.cost.ns(bytes) * 0.75;
            let others = Duration::from_nanos((ns * f64::from(REQUESTS_PER_TIMED - 1)) as u64);
            let began = session.now + others;
            session.now = began + Duration::from_nanos(ns as u64);
            session
                .pace
                .learn_taking(bytes, bytes / 2, began, session.now)
        };
        assert!((0..100).any(|_| !taken()));
    }

    #[test]
    fn requests_longer_than_the_streams_are_not_made_ahead() {
        let mut session = Session::of_stream(RATE / 8);
        for _ in 0..50 {
            let pause = Duration::from_millis(1);
            assert!(!session.ahead(pause, RING_BYTES + 1, &AWAKE));
        }
    }

    #[test]
    fn stripes_that_gain_nothing_are_left_for_a_while_and_tried_again() {
        let mut session = Session::new();
        session.helpers_come = false;
        let pool = Told {
            available: 1,
            awake: 1,
        };
        let bytes = SHORT / 2;
        let ways: Vec<_> = (0..1000)
            .map(|_| session.request(Duration::ZERO, bytes, &pool))
            .collect();
        let is_striped = |way: &Way| *way != Way::Inline;
        let tried = ways.iter().filter(|way| is_striped(way)).count();
        assert!(is_striped(&ways[0]));
        assert!((2..20).contains(&tried), "{tried}");
    }

    #[test]
    fn short_stripes_go_on_where_they_gain() {
        let mut session = Session::new();
        let bytes = 4 * PAGE;
        for _ in 0..1000 {
            let way = session.request(Duration::ZERO, bytes, &AWAKE);
            assert_eq!(way, Way::Stripe { helpers: 2 });
        }
    }

    #[test]
    fn a_cipher_as_fast_as_the_way_between_cores_is_not_made_ahead() {
        let mut session = Session::of_stream(20 * RATE);
        for _ in 0..50 {
            assert!(!session.ahead(Duration::from_millis(1), 64 << 10, &AWAKE));
        }
    }

    #[test]
    fn streams_are_cut_into_granules_that_fit() {
        for rate in [1, 30_000_000, 150_000_000, RATE, u64::MAX] {
            for stream_bytes in [128, 1024, 65536, 16 * 4097, 1 << 22] {
                let shape = pace(rate).ring_shape(stream_bytes, 3);
                assert_eq!(shape.granule_bytes * shape.segment, stream_bytes);
                assert!((128..=PAGE).contains(&shape.granule_bytes) || stream_bytes == 16 * 4097);
                assert!(shape.granule_bytes.is_multiple_of(16), "{shape:?}");
            }
        }
    }

    #[test]
    fn the_rate_follows_inline_requests_alone() {
        let mut pace = pace(RATE);
        let began = Instant::now();
        let twice_as_fast = began + Duration::from_micros(5);
        pace.learn(Way::Stripe { helpers: 1 }, 10_000, began, twice_as_fast);
        assert_eq!(pace.cost.bytes_per_ns, 1.0);
        for _ in 0..100 {
            pace.learn(Way::Inline, 10_000, began, twice_as_fast);
        }
        assert!((pace.cost.bytes_per_ns - 2.0).abs() < 1e-3, "{pace:?}");
        assert!(pace.long_bytes() as f64 >= 1.99 * LONG_NS, "{pace:?}");
        // A clock that stands still teaches nothing.
        pace.learn(Way::Inline, 1000, began, began);
        assert!(pace.cost.bytes_per_ns.is_finite());
    }

    #[test]
    fn no_rate_is_too_low_or_too_high_to_plan_with() {
        for rate in [0, 1, u64::MAX] {
            let mut pace = pace(rate);
            assert!(
                pace.cost.bytes_per_ns > 0.0 && pace.long_bytes() > 0,
                "{rate}"
            );
            for bytes in [0, 1, usize::MAX] {
                pace.choose(bytes, Instant::now(), &AWAKE);
            }
        }
    }

    #[test]
    fn stripes_are_pages_within_their_bounds() {
        for bytes in [0, 1, 63, 16 << 10, 1 << 20, (1 << 20) + 1, 1 << 30, 1 << 45] {
            for threads in [1, 2, 3, 64, 4097] {
                for rate in [40_000_000, 500_000_000, 27_000_000_000, u64::MAX] {
                    let stripe = pace(rate).stripe_bytes(bytes, threads);
                    assert!(
                        stripe.is_multiple_of(PAGE) && (PAGE..=STRIPE_BYTES_MAX).contains(&stripe),
                        "{bytes} {threads} {rate}: {stripe}"
                    );
                }
            }
        }
    }
}
