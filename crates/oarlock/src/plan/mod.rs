//! Which way a request goes: by expected time, not by bytes.
//!
//! ```text
//! inline                      setup + bytes / rate
//! stripe, helpers awake       hand-off + inline / (helpers + 1)
//! stripe, helpers asleep      wake-up  + (inline - wake-up) / (helpers + 1)
//! ```
//!
//! What these cost is told by [`costs`]; from there it follows the session's own figures. Requests
//! shorter than [`Pace::long_bytes`] never come here: they are inline.

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
    Stripe {
        helpers: usize,
    },
    /// Inline this time; the next ones are to find keystream made ahead.
    Prefetch,
}

/// What a session knows of its own speed and rhythm.
#[derive(Debug)]
pub(crate) struct Pace {
    cost: Cost,
    /// As the last look found it.
    machine: Machine,
    /// Whether the helpers that the last look sent for were awake; `None` if it sent for none.
    sent_for_awake: Option<bool>,
    /// When the last long request ended.
    last_end: Option<Instant>,
    /// Long requests in a row with less than a watch between them.
    streak: u32,
    /// A streak from this length on wakes sleeping helpers ahead of gain.
    streak_to_wake: u32,
    woke_ahead: bool,
    /// Requests that are inline without a look at clock and pool, because the last one that was
    /// looked at stood alone.
    passed_over: u32,
    /// From the end of a request to the start of the next, on average.
    gap_ns: f64,
    /// Requests that were looked at under this key.
    looks: u32,
    /// As many there must be before keystream is made ahead; more where that was of no use.
    looks_to_prefetch: u32,
    /// The operation makes keystream.
    makes_keystream: bool,
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
    pub(crate) fn new(cost: Cost) -> Self {
        Self {
            cost,
            machine: Costs::default().machine().0,
            sent_for_awake: None,
            last_end: None,
            streak: 0,
            streak_to_wake: STREAK_TO_WAKE,
            woke_ahead: false,
            passed_over: 0,
            gap_ns: 0.0,
            looks: 0,
            looks_to_prefetch: LOOKS_TO_PREFETCH,
            makes_keystream: true,
        }
    }

    /// There is no keystream to be made ahead.
    pub(crate) fn makes_nothing_ahead(&mut self) {
        self.makes_keystream = false;
    }

    /// Requests below this are inline without a look at clock or pool.
    pub(crate) fn long_bytes(&self) -> usize {
        let ns = (LONG_NS - self.cost.setup_ns).max(LONG_NS / 2.0);
        (self.cost.bytes_per_ns * ns) as usize
    }

    /// Whether a request is worth a look at clock and pool. After an idle time these are out of the
    /// cache and the look costs 0.3 to 2 µs; so of requests that stand alone most are spared it.
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
        }
    }

    pub(crate) fn choose(&mut self, bytes: usize, now: Instant, pool: &impl Helpers) -> Way {
        self.machine = pool.machine();
        self.sent_for_awake = None;
        let inline_ns = self.cost.ns(bytes);
        let follows = self
            .last_end
            .is_some_and(|end| now.duration_since(end) < WATCH);
        self.streak = if follows {
            self.streak.saturating_add(1)
        } else {
            0
        };
        self.passed_over = if follows { 0 } else { PASSED_OVER };
        self.looks = self.looks.saturating_add(1);
        if let Some(end) = self.last_end {
            let gap_ns = now.duration_since(end).as_nanos() as f64;
            self.gap_ns += (gap_ns.min(GAP_NS_MAX) - self.gap_ns) / 8.0;
        }
        let available = pool.available();
        if available == 0 {
            return Way::Inline;
        }
        let way = self.by_stripes_or_not(inline_ns, available, pool);
        if self.is_better_made_ahead(bytes, inline_ns, available, way) {
            return Way::Prefetch;
        }
        way
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
        if !self.makes_keystream
            || self.looks < self.looks_to_prefetch
            || taking_ns > inline_ns / 2.0
        {
            return false;
        }
        let otherwise_ns = match otherwise {
            Way::Stripe { helpers } => self.machine.handoff_ns + inline_ns / (helpers + 1) as f64,
            _ => inline_ns,
        };
        let helpers = helpers as f64;
        let period_ns =
            (self.gap_ns + inline_ns) * inline_ns / (inline_ns + helpers * (inline_ns - taking_ns));
        let ahead_ns = (period_ns - self.gap_ns).max(taking_ns);
        ahead_ns < WORTHWHILE * otherwise_ns
    }

    /// To use keystream of another core.
    fn taking_ns(&self, bytes: usize) -> f64 {
        TAKING_NS + bytes as f64 / (RING_SHARE * self.machine.other_core_bytes_per_ns)
    }

    /// A request from here on is worth the waking of helpers.
    fn asleep_ns_min(&self) -> f64 {
        (ASLEEP_PER_WAKE * self.machine.wake_ns).max(ASLEEP_NS_MIN)
    }

    /// Little of what was made ahead was there when it was asked for.
    pub(crate) fn prefetch_failed(&mut self) {
        self.looks = 0;
        self.looks_to_prefetch = self.looks_to_prefetch.saturating_mul(4);
    }

    fn by_stripes_or_not(&mut self, inline_ns: f64, available: usize, pool: &impl Helpers) -> Way {
        let awake = pool.awake().min(available);
        if awake > 0 {
            self.streak_to_wake = STREAK_TO_WAKE;
            self.woke_ahead = false;
            // A longer request is worth waking the rest.
            let helpers = if inline_ns > self.asleep_ns_min() {
                available
            } else {
                awake
            };
            let striped_ns = self.machine.handoff_ns + inline_ns / (awake + 1) as f64;
            return if striped_ns < WORTHWHILE * inline_ns {
                self.sent_for_awake = Some(true);
                Way::Stripe { helpers }
            } else {
                Way::Inline
            };
        }
        if inline_ns > self.asleep_ns_min() {
            self.sent_for_awake = Some(false);
            return Way::Stripe { helpers: available };
        }
        if std::mem::take(&mut self.woke_ahead) {
            // Woken, and asleep again before it could help: not so soon next time.
            self.streak_to_wake = self.streak_to_wake.saturating_mul(2);
            self.streak = 0;
        }
        if self.streak >= self.streak_to_wake {
            self.woke_ahead = true;
            self.sent_for_awake = Some(false);
            return Way::Stripe { helpers: available };
        }
        Way::Inline
    }

    /// Takes note of a long request that went `way`.
    pub(crate) fn learn(&mut self, way: Way, bytes: usize, began: Instant, ended: Instant) {
        self.last_end = Some(ended);
        let ns = ended.duration_since(began).as_nanos();
        if way == Way::Inline && ns > 0 {
            // A clock that jumps, or a setup that is less than told, shall not make it endless.
            let ns = (ns as f64 - self.cost.setup_ns).max(ns as f64 / 2.0);
            let rate = &mut self.cost.bytes_per_ns;
            *rate += (bytes as f64 / ns - *rate) / 8.0;
        }
    }

    /// Takes note of how long after the request the first helper began.
    pub(crate) fn joined(&mut self, live: &LiveMachine, waited: Duration) {
        if let Some(was_awake) = self.sent_for_awake.take() {
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

/// Orders devices: the one expected to be done first comes first.
/// Where this library's kernels are within a few hundredths of the best they come first, as their
/// preference says: one more implementation is not worth that.
pub(crate) fn order_offers(offers: &mut [(Offer, Cost, Arc<Registration>)]) {
    let ns = |cost: &Cost| cost.ns(TYPICAL_BYTES);
    offers.sort_by(|(_, one, _), (_, other, _)| ns(one).total_cmp(&ns(other)));
    let best_ns = offers.first().map_or(0.0, |(_, cost, _)| ns(cost));
    let near = offers.partition_point(|(_, cost, _)| ns(cost) <= NEARLY * best_ns);
    offers[..near].sort_by_key(|(offer, ..)| std::cmp::Reverse(offer.preference));
}

/// Whether keystream of `operation` is made more slowly than it comes over from another core.
pub(crate) fn keystream_is_slower_than_its_way(inner: &Inner, operation: Operation) -> bool {
    let cost = kernel_cost(&inner.costs, inner.cpu, operation);
    cost.bytes_per_ns < RING_SHARE * inner.machine.get().other_core_bytes_per_ns / 2.0
}

/// Shorter requests gain little from a helper that is awake, and the look at clock and pool, 50 ns
/// when these are in the cache and 200 ns when not, would show.
const LONG_NS: f64 = 8_000.0;
/// Requests that end sooner wake nobody, however fast a wake-up was when it was measured: beside
/// others on a virtual machine it takes 55 to 80 µs.
const ASLEEP_NS_MIN: f64 = 100_000.0;
/// A wake-up takes now half and now twice what it takes on average, and costs the caller a system
/// call.
const ASLEEP_PER_WAKE: f64 = 2.0;
/// A stripe must promise this share of the inline time.
const WORTHWHILE: f64 = 0.9;
/// How long helpers watch.
const WATCH: Duration = Duration::from_micros(50);
const STREAK_TO_WAKE: u32 = 4;
const PASSED_OVER: u32 = 6;
/// While keystream is taken more is made, over the same way, and then 9 to 19 GB/s are left of the 43
/// that are measured without.
const RING_SHARE: f64 = 0.25;
/// To find keystream that was made ahead.
const TAKING_NS: f64 = 100.0;
/// A session of a few requests is not worth the memory.
const LOOKS_TO_PREFETCH: u32 = 3;
/// Times that are as good as equal.
const NEARLY: f64 = 1.05;
/// Of a message, when devices are compared.
const TYPICAL_BYTES: usize = 4096;
/// Longer gaps say no more.
const GAP_NS_MAX: f64 = 1e9;
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

    const HANDOFF_NS: f64 = 600.0;
    const MACHINE: Machine = Machine {
        handoff_ns: HANDOFF_NS,
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
    const SHORT: usize = (ASLEEP_NS_MIN / 2.0) as usize;
    const LONG: usize = (ASLEEP_NS_MIN * 2.0) as usize;

    /// A session's requests, at times of their own making.
    struct Session {
        pace: Pace,
        now: Instant,
    }

    impl Session {
        /// Of a cipher whose keystream is not to be made ahead.
        fn new() -> Self {
            let mut session = Self::of_rate(RATE);
            session.pace.makes_keystream = false;
            session
        }

        fn of_rate(bytes_per_second: u64) -> Self {
            Self {
                pace: pace(bytes_per_second),
                now: Instant::now(),
            }
        }

        /// One request `gap` after the last, which takes as long as the rate says.
        fn request(&mut self, gap: Duration, bytes: usize, pool: &Told) -> Way {
            let began = self.now + gap;
            let way = self.pace.choose(bytes, began, pool);
            let ns = bytes as f64 / self.pace.cost.bytes_per_ns;
            self.now = began + Duration::from_nanos(ns as u64);
            self.pace.learn(way, bytes, began, self.now);
            way
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
        // 600 ns of handing over cost what two helpers save.
        assert_eq!(choose(&mut session, HANDOFF_NS as usize), Way::Inline);
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
        let until_woken = |session: &mut Session| {
            (1..=1000)
                .find(|_| session.request(close, SHORT, &ASLEEP) != Way::Inline)
                .unwrap()
        };
        let first = until_woken(&mut session);
        let second = until_woken(&mut session);
        let third = until_woken(&mut session);
        assert_eq!(first, STREAK_TO_WAKE + 1);
        assert_eq!(second, 2 * STREAK_TO_WAKE + 1);
        assert_eq!(third, 4 * STREAK_TO_WAKE + 1);
        session.request(close, SHORT, &AWAKE);
        session.request(WATCH, SHORT, &ASLEEP);
        assert_eq!(until_woken(&mut session), STREAK_TO_WAKE);
    }

    #[test]
    fn the_back_off_has_no_end_to_overflow_at() {
        let mut session = Session::new();
        session.pace.streak_to_wake = u32::MAX;
        session.pace.streak = u32::MAX;
        for _ in 0..4 {
            session.request(WATCH / 2, SHORT, &ASLEEP);
        }
        assert_eq!(session.pace.streak_to_wake, u32::MAX);
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
        let mut session = Session::of_rate(RATE / 8);
        let pause = Duration::from_millis(1);
        for _ in 1..LOOKS_TO_PREFETCH {
            assert_eq!(session.request(pause, 4096, &ASLEEP), Way::Inline);
        }
        assert_eq!(session.request(pause, 4096, &ASLEEP), Way::Prefetch);
        session.pace.prefetch_failed();
        let more = (0..100)
            .take_while(|_| session.request(pause, 4096, &ASLEEP) != Way::Prefetch)
            .count();
        assert_eq!(more as u32, 4 * LOOKS_TO_PREFETCH - 1, "not so soon again");
    }

    #[test]
    fn a_consumer_with_other_work_finds_keystream_and_one_without_shares_its_requests() {
        let one = Told {
            available: 1,
            awake: 1,
        };
        for (gap_us, expected) in [(20, Way::Prefetch), (0, Way::Stripe { helpers: 1 })] {
            // 32 KiB packets at 1 GB/s.
            let mut session = Session::of_rate(RATE);
            let way = (0..50)
                .map(|_| session.request(Duration::from_micros(gap_us), 32 << 10, &one))
                .last();
            assert_eq!(way, Some(expected), "{gap_us}");
        }
    }

    #[test]
    fn a_cipher_as_fast_as_the_way_between_cores_is_not_made_ahead() {
        let mut session = Session::of_rate(20 * RATE);
        for _ in 0..50 {
            let way = session.request(Duration::from_millis(1), 1 << 20, &AWAKE);
            assert_ne!(way, Way::Prefetch);
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
        let twice_as_fast = began + Duration::from_nanos(500);
        pace.learn(Way::Stripe { helpers: 1 }, 1000, began, twice_as_fast);
        assert_eq!(pace.cost.bytes_per_ns, 1.0);
        for _ in 0..100 {
            pace.learn(Way::Inline, 1000, began, twice_as_fast);
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
