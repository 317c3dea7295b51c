//! Tracks a session's speed and rhythm, and chooses how the next request is served.

use std::time::{Duration, Instant};

use super::ahead::Ahead;
use super::cut;
use super::fan_out::{FanOut, WAKE_CALL_NS};
use super::helpers::Helpers;
use super::stripe::{HANDOFF_NS_HOPED, STILL_WORTHWHILE, SentFor, StripeGain, WORTHWHILE};
use super::wake::{STREAK, WATCH, Waking};
use crate::costs::cost::{Cost, Machine};
use crate::costs::live::LiveMachine;
use crate::costs::lookup::Costs;
use crate::learn::decayed;
use oarlock_threads::prefetch::RingSize;

/// How one request is served.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    Inline,
    Stripe { helpers: usize },
}

/// A session's speed and rhythm.
#[derive(Debug)]
pub(crate) struct Pace {
    cost: Cost,
    /// The machine's costs at the last sample.
    machine: Machine,
    /// The end of the last sampled request.
    last_end: Option<Instant>,
    /// The bytes since then that were not sampled.
    unseen_bytes: usize,
    /// Requests still to be served inline without reading the clock or the pool: those after an isolated request, and
    /// short ones that helpers do not speed up.
    passed_over: u32,
    /// Consecutive samples less than `WATCH` apart.
    streak: u32,
    waking: Waking,
    stripes: StripeGain,
    pub(super) ahead: Ahead,
}

impl Pace {
    /// Makes the pace of a session whose keystream is not made ahead.
    pub(crate) fn new(cost: Cost) -> Self {
        Self {
            cost,
            machine: Costs::default().machine().0,
            last_end: None,
            unseen_bytes: 0,
            passed_over: 0,
            streak: 0,
            waking: Waking::default(),
            stripes: StripeGain::default(),
            ahead: Ahead::default(),
        }
    }

    /// Starts over with another key.
    pub(crate) fn begin_anew(&mut self, cost: Cost) {
        let ring_bytes = self.ahead.ring_bytes;
        *self = Self::new(cost);
        self.ahead.ring_bytes = ring_bytes;
    }

    /// Allows keystream to be made ahead, in streams of `ring_bytes` in total.
    pub(crate) fn may_make_ahead(&mut self, ring_bytes: usize) {
        self.ahead.ring_bytes = ring_bytes;
    }

    /// Returns the length below which requests gain nothing from stripes.
    pub(crate) fn long_bytes(&self) -> usize {
        self.bytes_in(LONG_NS)
    }

    /// Returns how many bytes a stream may serve inline before its next sample; the stream counts them.
    pub(crate) fn unseen_bytes_max(&self) -> usize {
        self.bytes_in(if self.stripes.are_in_use {
            LONG_NS
        } else {
            UNSEEN_NS
        })
    }

    /// Returns how many bytes streams may fail to serve before they count as useless: the threads that fill them have
    /// to be woken, or made, first.
    pub(crate) fn bytes_before_streams_tell(&self) -> usize {
        self.bytes_in(FILLED_NS)
    }

    fn bytes_in(&self, ns: f64) -> usize {
        let ns = (ns - self.cost.setup_ns).max(ns / 2.0);
        ((self.cost.bytes_per_ns * ns) as usize).max(1)
    }

    /// Whether a request is worth reading the clock and the pool.
    pub(crate) fn looks_at(&self, bytes: usize) -> bool {
        self.passed_over == 0 || self.cost.ns(bytes) > self.asleep_ns_min()
    }

    /// Records a request that was not sampled.
    pub(crate) fn pass_over(&mut self) {
        // None are left to pass over if the session has since moved and started over.
        self.passed_over = self.passed_over.saturating_sub(1);
        if self.passed_over == 0 {
            // The next request, which is sampled, can then tell whether it follows this one.
            self.last_end = Some(Instant::now());
            self.unseen_bytes = 0;
        }
    }

    /// Records bytes that were not sampled.
    pub(crate) fn add_unseen(&mut self, bytes: usize) {
        self.unseen_bytes = self.unseen_bytes.saturating_add(bytes);
    }

    pub(crate) fn choose(&mut self, bytes: usize, now: Instant, pool: &impl Helpers) -> Way {
        self.machine = pool.machine();
        self.stripes.sent_for_awake = None;
        self.stripes.sent_for = None;
        self.ahead.is_wanted = false;
        let inline_ns = self.cost.ns(bytes);
        let stands_alone = self.take_in_pause(bytes, inline_ns, now);
        let available = pool.available();
        let way = match available {
            0 => Way::Inline,
            _ => self.by_stripes_or_not(bytes, inline_ns, now, available, pool),
        };
        if available > 0
            && bytes <= self.ahead.request_bytes_max()
            && self.ahead.looks >= self.ahead.looks_needed
            && self.is_better_made_ahead(bytes, inline_ns, available, way)
        {
            self.ahead.is_wanted = true;
            self.ahead.helpers = available;
        }
        self.passed_over = match way {
            // A stream's first requests decide whether its keystream is made ahead.
            Way::Inline if stands_alone && self.ahead.is_undecided() => 0,
            Way::Inline if stands_alone => PASSED_OVER,
            // A stream counts bytes instead.
            Way::Inline if self.ahead.ring_bytes == 0 => (UNSEEN_NS / inline_ns) as u32,
            _ => 0,
        };
        self.stripes.are_in_use = way != Way::Inline;
        way
    }

    /// Returns once whether the last sample found that the next requests should find keystream made ahead.
    pub(crate) fn wants_keystream_ahead(&mut self) -> bool {
        std::mem::take(&mut self.ahead.is_wanted)
    }

    /// Records the time since the last sample. Returns whether there was one and most of that time was idle; for the
    /// first request this is unknown.
    fn take_in_pause(&mut self, bytes: usize, inline_ns: f64, now: Instant) -> bool {
        // Requests that were not sampled are assumed to be like this one.
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
        self.ahead.forget_a_little(&self.machine);
        if let Some(pause_ns) = pause_ns {
            self.ahead.paused(pause_ns / (unseen + 1.0));
        }
        pause_ns.is_some() && !follows
    }

    /// Returns whether requests like this one finish sooner if helpers make keystream ahead.
    fn is_better_made_ahead(
        &self,
        bytes: usize,
        inline_ns: f64,
        helpers: usize,
        otherwise: Way,
    ) -> bool {
        let taking_ns = self.ahead.taking_ns(&self.machine, bytes);
        if taking_ns > WORTHWHILE * inline_ns {
            return false;
        }
        // Helpers that are asleep would soon be awake for the next request.
        let is_a_stream = self.streak > 0 || self.ahead.gap_ns() < WATCH.as_nanos() as f64;
        let in_bursts = self.ahead.comes_in_bursts() && taking_ns < inline_ns / 2.0;
        let otherwise_ns = match otherwise {
            _ if in_bursts => self
                .asleep(inline_ns, helpers)
                .map_or(inline_ns, |it| it.ns),
            Way::Stripe { .. } => self.awake(inline_ns, helpers).ns,
            Way::Inline
                if is_a_stream && self.stripes.are_hopeful() && self.may_be_cut(bytes, helpers) =>
            {
                self.awake(inline_ns, helpers).ns.min(inline_ns)
            }
            Way::Inline => inline_ns,
        };
        // Ready keystream is still ready after a pause, so it wins if both are equal.
        let is_much_slower = taking_ns < inline_ns / 4.0;
        // Streams are not left for stripes that were never measured.
        let is_left_for_hope = otherwise_ns < inline_ns && !self.stripes.are_known();
        let share = match (is_much_slower, self.ahead.is_known()) {
            _ if in_bursts => IN_BURSTS,
            (true, _) => EQUAL,
            (false, true) if is_left_for_hope => EQUAL,
            (false, true) => STILL_WORTHWHILE,
            (false, false) => WORTHWHILE,
        };
        let expected_ns = self
            .ahead
            .expected_ns(&self.machine, bytes, inline_ns, helpers);
        self.ahead.over_expected * expected_ns < share * otherwise_ns
    }

    /// Records a request, the last of `requests`, that found all its keystream ready, or not even half: `inline` of its
    /// bytes were computed inline. It ended before the streams were refilled, since that may wake a helper. Returns
    /// whether the streams still gain.
    pub(crate) fn learn_taking(
        &mut self,
        requests: u32,
        bytes: usize,
        inline: usize,
        began: Instant,
        ended: Instant,
    ) -> bool {
        let ns = ended.duration_since(began).as_nanos() as f64;
        self.ahead.timed(requests, began, ended);
        if self.ahead.gap_ns() >= WATCH.as_nanos() as f64 {
            self.streak = 0;
        }
        // These count as samples, too, since the cost of stripes changes.
        self.stripes.barred = self.stripes.barred.saturating_sub(requests);
        self.stripes.forget_a_little();
        if self.ahead.unsettled > 0 {
            // If keystream never becomes ready, the streams' bytes show that they are useless.
            self.ahead.unsettled -= u32::from(inline < bytes);
            return true;
        }
        let inline_ns = self.cost.ns(bytes);
        let helpers = self.ahead.helpers;
        let expected_ns = self
            .ahead
            .expected_ns(&self.machine, bytes, inline_ns, helpers);
        self.ahead.took(ns / expected_ns);
        if inline <= bytes / 2 {
            let ns = ns - inline as f64 / self.cost.bytes_per_ns;
            self.ahead.taken(&self.machine, bytes - inline, ns);
        }
        let gains = self.is_better_made_ahead(bytes, inline_ns, helpers, Way::Inline);
        let is_better_than_inline =
            self.ahead.over_expected * expected_ns < STILL_WORTHWHILE * inline_ns;
        self.ahead.are_beaten = !gains && is_better_than_inline && self.stripes.are_known();
        gains
    }

    /// Returns the inline time from which on a request is worth waking one helper: the wake-up takes no more than
    /// [`WORTHWHILE`] of the inline time, which the helper halves.
    fn asleep_ns_min(&self) -> f64 {
        let fixed_ns = WAKE_CALL_NS + self.machine.wake_ns / 2.0;
        (fixed_ns / (WORTHWHILE - 0.5)).max(ASLEEP_NS_MIN)
    }

    /// Returns how many of `available` helpers, all asleep, are worth waking for a request, if any.
    fn asleep(&self, inline_ns: f64, available: usize) -> Option<FanOut> {
        let best = FanOut::asleep(inline_ns, &self.machine, available);
        let is_worth_it = inline_ns > ASLEEP_NS_MIN && best.ns < WORTHWHILE * inline_ns;
        is_worth_it.then_some(best)
    }

    /// Returns how many of `available` helpers, all awake, finish a request soonest.
    fn awake(&self, inline_ns: f64, available: usize) -> FanOut {
        // Until the cost is known, assume half of its upper limit: trying costs less than not trying.
        let hoped_ns = (self.machine.handoff_ns / 2.0).min(HANDOFF_NS_HOPED);
        self.stripes.best(inline_ns, hoped_ns, available)
    }

    /// Records that streams are given up: little was ready in time, there was no room for them, or stripes promise
    /// more.
    pub(crate) fn prefetch_failed(&mut self) {
        self.ahead.failed();
        // The requests since the last sample were not sampled, and are no pause.
        self.last_end = None;
        self.unseen_bytes = 0;
        self.streak = 0;
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
        if pool.are_crowded(now) {
            return Way::Inline;
        }
        let awake = pool.awake().min(available);
        let asleep = self.asleep(inline_ns, available);
        if self.stripes.barred > 0 && asleep.is_none() {
            self.stripes.barred -= 1;
            return Way::Inline;
        }
        if awake > 0 {
            if self.waking.is_overdue(now) {
                self.waking.since = None;
            }
            let worthwhile = if self.stripes.are_known() {
                STILL_WORTHWHILE
            } else {
                WORTHWHILE
            };
            let there = self.awake(inline_ns, awake);
            if asleep.is_none() && there.ns >= worthwhile * inline_ns {
                return Way::Inline;
            }
            let helpers = self.or_more(there, asleep, inline_ns, now, available);
            self.stripes.sent_for_awake = Some(true);
            if helpers <= awake {
                self.stripes.sent_for = Some(SentFor {
                    inline_ns,
                    helpers,
                    available,
                });
            }
            return Way::Stripe { helpers };
        }
        if let Some(FanOut { helpers, .. }) = asleep {
            self.stripes.sent_for_awake = Some(false);
            return Way::Stripe { helpers };
        }
        let wanted = self.awake(inline_ns, available);
        let helpers = wanted.helpers;
        if self.waking.since.is_some() {
            if !self.waking.is_overdue(now) {
                // A helper is waking; between two requests it spins for less than a long request takes, so keep
                // striping to give it work.
                return if inline_ns > WATCH.as_nanos() as f64 / 4.0 {
                    Way::Stripe { helpers }
                } else {
                    Way::Inline
                };
            }
            // The helper woke, and slept again before it could help: wake it later next time.
            self.waking.came_too_late();
            self.streak = 0;
        }
        if self.streak >= self.waking.streak_to_wake && wanted.ns < WORTHWHILE * inline_ns {
            self.waking.since = Some(now);
            self.stripes.sent_for_awake = Some(false);
            return Way::Stripe { helpers };
        }
        Way::Inline
    }

    /// Chooses between the awake helpers, `there`, and more of them if waking the rest pays for this request or for
    /// those that follow.
    fn or_more(
        &mut self,
        there: FanOut,
        asleep: Option<FanOut>,
        inline_ns: f64,
        now: Instant,
        available: usize,
    ) -> usize {
        let wanted = self.awake(inline_ns, available);
        if wanted.helpers <= there.helpers {
            self.waking.are_enough();
            return there.helpers;
        }
        let for_this = asleep.map_or(0, |it| it.helpers.min(wanted.helpers));
        let gains = wanted.ns < WORTHWHILE * there.ns;
        if gains && self.waking.may_wake_more(self.streak, now) {
            return wanted.helpers;
        }
        there.helpers.max(for_this)
    }

    /// Whether the request has more than one stripe.
    fn may_be_cut(&self, bytes: usize, helpers: usize) -> bool {
        bytes > self.stripe_bytes(bytes, helpers + 1)
    }

    /// Records a sampled request that was served in the given `way`.
    pub(crate) fn learn(&mut self, way: Way, bytes: usize, began: Instant, ended: Instant) {
        self.last_end = Some(ended);
        let ns = ended.duration_since(began).as_nanos() as f64;
        match way {
            // Shorter ones cannot be measured by a clock of 20 to 40 ns.
            Way::Inline if ns > LONG_NS / 2.0 => {
                // A setup time that is less than stated must not make the rate infinite.
                let ns = (ns - self.cost.setup_ns).max(ns / 2.0);
                let rate = &mut self.cost.bytes_per_ns;
                *rate = decayed(*rate, bytes as f64 / ns, 8.0);
            }
            Way::Inline => {}
            Way::Stripe { .. } => {
                // A thread that is being made counts as awake.
                let is_under_way = self.waking.since.is_some();
                if let Some(sent_for) = self.stripes.sent_for.take()
                    && !is_under_way
                {
                    self.stripes.learn(sent_for, ns);
                }
            }
        }
    }

    /// Records how long after the start of the request the first helper began. Call this before [`learn`](Self::learn).
    pub(crate) fn joined(&mut self, live: &LiveMachine, waited: Duration) {
        self.waking.since = None;
        self.waking.streak_to_wake = STREAK.least as u32;
        if let Some(was_awake) = self.stripes.sent_for_awake.take() {
            live.joined(was_awake, waited);
        }
    }

    /// Returns how streams of `stream_bytes` are divided.
    pub(crate) fn ring_size(&self, stream_bytes: usize, streams: usize) -> RingSize {
        cut::ring_size(self.cost.bytes_per_ns, stream_bytes, streams)
    }

    /// Returns the number of bytes that one thread computes in `ns`.
    pub(crate) fn bytes_in_ns(&self, ns: f64) -> usize {
        (self.cost.bytes_per_ns * ns) as usize
    }

    /// Returns the stripe length of a request of `bytes` for `threads`.
    pub(crate) fn stripe_bytes(&self, bytes: usize, threads: usize) -> usize {
        cut::stripe_bytes(self.cost.bytes_per_ns, bytes, threads)
    }
}

/// Shorter requests gain little from a helper that is awake.
const LONG_NS: f64 = 1_600.0;
/// At this distance, samples take less than a hundredth of the time.
const UNSEEN_NS: f64 = 16_000.0;
/// Shorter requests wake no helper, however fast a wake-up was when it was measured. On virtual machines of Zen 5,
/// stripes after a pause of 2 ms reached 0.72 to 0.95 of the inline speed for requests of 22 to 36 µs, 1.0 for 38 µs,
/// 1.1 to 1.25 for 80 to 86 µs; for 59 µs up to 1.2 after 2 ms, and up to 1.0 after 20.
const ASLEEP_NS_MIN: f64 = 60_000.0;
/// The ratio up to which a slightly longer time still counts as equal.
const EQUAL: f64 = 1.02;
/// What streams lose in a burst they gain at the start of the next one, when helpers for stripes are asleep.
const IN_BURSTS: f64 = 1.1;
/// Waking a helper takes a tenth of this; making a thread takes at worst all of it.
const FILLED_NS: f64 = 2_000_000.0;
/// The number of unsampled requests after an isolated one.
const PASSED_OVER: u32 = 6;

#[cfg(test)]
mod tests;
