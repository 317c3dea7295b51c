//! Which way a request goes: by expected time, not by bytes.
//!
//! ```text
//! inline                      bytes / rate
//! stripe, helpers awake       HANDOFF + bytes / rate / (helpers + 1)
//! stripe, helpers asleep      WAKE    + (bytes / rate - WAKE) / (helpers + 1)
//! ```
//!
//! Rates start from the tables below and follow the session's own figures. Requests shorter than
//! [`Pace::long_bytes`] never come here: they are inline.

use std::sync::Arc;
use std::time::{Duration, Instant};

use oarlock_kernels::cpu::{Cpu, Feature};

use crate::device::{Offer, Operation, Registration};

/// The way of one request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    Inline,
    Stripe { helpers: usize },
}

/// What a session knows of its own speed and rhythm.
#[derive(Debug)]
pub(crate) struct Pace {
    bytes_per_ns: f64,
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
}

/// What [`Pace::choose`] asks about the pool; asked in this order, only as far as needed.
pub(crate) trait Helpers {
    /// Helpers that a core is there for.
    fn available(&self) -> usize;
    /// Helpers that would start at once.
    fn awake(&self) -> usize;
}

impl Pace {
    pub(crate) fn new(bytes_per_second: u64) -> Self {
        Self {
            bytes_per_ns: (bytes_per_second as f64 / 1e9).max(1e-3),
            last_end: None,
            streak: 0,
            streak_to_wake: STREAK_TO_WAKE,
            woke_ahead: false,
            passed_over: 0,
        }
    }

    /// Requests below this are inline without a look at clock or pool.
    pub(crate) fn long_bytes(&self) -> usize {
        (self.bytes_per_ns * LONG_NS) as usize
    }

    /// Whether a request is worth a look at clock and pool. After an idle time these are out of the
    /// cache and the look costs 0.3 to 2 µs; so of requests that stand alone most are spared it.
    pub(crate) fn looks_at(&mut self, bytes: usize) -> bool {
        self.passed_over == 0 || bytes as f64 > ASLEEP_NS_MIN * self.bytes_per_ns
    }

    /// Takes note of a request that was not looked at.
    pub(crate) fn pass_over(&mut self) {
        self.passed_over -= 1;
        if self.passed_over == 0 {
            // So that the next one, which is looked at, can tell whether it follows.
            self.last_end = Some(Instant::now());
        }
    }

    pub(crate) fn choose(&mut self, bytes: usize, now: Instant, pool: &impl Helpers) -> Way {
        let inline_ns = bytes as f64 / self.bytes_per_ns;
        let follows = self
            .last_end
            .is_some_and(|end| now.duration_since(end) < WATCH);
        self.streak = if follows {
            self.streak.saturating_add(1)
        } else {
            0
        };
        self.passed_over = if follows { 0 } else { PASSED_OVER };
        let available = pool.available();
        if available == 0 {
            return Way::Inline;
        }
        let awake = pool.awake().min(available);
        if awake > 0 {
            self.streak_to_wake = STREAK_TO_WAKE;
            self.woke_ahead = false;
            // A longer request is worth waking the rest.
            let helpers = if inline_ns > ASLEEP_NS_MIN {
                available
            } else {
                awake
            };
            let striped_ns = HANDOFF_NS + inline_ns / (awake + 1) as f64;
            return if striped_ns < WORTHWHILE * inline_ns {
                Way::Stripe { helpers }
            } else {
                Way::Inline
            };
        }
        if inline_ns > ASLEEP_NS_MIN {
            return Way::Stripe { helpers: available };
        }
        if std::mem::take(&mut self.woke_ahead) {
            // Woken, and asleep again before it could help: not so soon next time.
            self.streak_to_wake = self.streak_to_wake.saturating_mul(2);
            self.streak = 0;
        }
        if self.streak >= self.streak_to_wake {
            self.woke_ahead = true;
            return Way::Stripe { helpers: available };
        }
        Way::Inline
    }

    /// Takes note of a long request that went `way`.
    pub(crate) fn learn(&mut self, way: Way, bytes: usize, began: Instant, ended: Instant) {
        self.last_end = Some(ended);
        let ns = ended.duration_since(began).as_nanos();
        if way == Way::Inline && ns > 0 {
            let seen = bytes as f64 / ns as f64;
            self.bytes_per_ns += (seen - self.bytes_per_ns) / 8.0;
        }
    }
}

/// How a request of `bytes` is cut for `threads`: enough stripes that the end is even, none so
/// short that its ticket counts or so long that it leaves the cache.
pub(crate) fn stripe_bytes(bytes: usize, threads: usize) -> usize {
    (bytes / (8 * threads))
        .next_multiple_of(PAGE)
        .clamp(STRIPE_BYTES_MIN, STRIPE_BYTES_MAX)
}

/// Orders devices: the one expected to be done first comes first.
pub(crate) fn order_offers(offers: &mut [(Offer, Arc<Registration>)]) {
    offers.sort_by_key(|(offer, _)| std::cmp::Reverse((offer.bytes_per_second, offer.preference)));
}

/// Bytes a second of this library's kernels on one thread.
pub(crate) fn kernel_rate(cpu: Cpu, operation: Operation) -> u64 {
    let aes_128 = if cpu.has(Feature::Face) {
        27_000
    } else if cpu.has(Feature::Vaes) {
        22_000
    } else if cpu.has(Feature::Aes) {
        10_000
    } else {
        40
    };
    of_key_size(aes_128, operation)
}

/// Bytes a second of aws-lc on one thread.
#[cfg(feature = "software")]
pub(crate) fn software_rate(cpu: Cpu, operation: Operation) -> u64 {
    let aes_128 = if cpu.has(Feature::Aes) { 9_500 } else { 480 };
    of_key_size(aes_128, operation)
}

/// From megabytes a second at ten rounds.
fn of_key_size(aes_128: u64, operation: Operation) -> u64 {
    let rounds = match operation {
        Operation::Aes128Ctr => 10,
        Operation::Aes192Ctr => 12,
        Operation::Aes256Ctr => 14,
    };
    aes_128 * 1_000_000 * 10 / rounds
}

/// Shorter requests gain little from a helper that is awake, and the look at clock and pool, 50 ns
/// when these are in the cache and 200 ns when not, would show.
const LONG_NS: f64 = 8_000.0;
/// Posting, the helper's start and the end, measured.
const HANDOFF_NS: f64 = 600.0;
/// Twice what a sleeping helper takes to start, which is 17 to 50 µs.
const ASLEEP_NS_MIN: f64 = 100_000.0;
/// A stripe must promise this share of the inline time.
const WORTHWHILE: f64 = 0.9;
/// How long helpers watch.
const WATCH: Duration = Duration::from_micros(50);
const STREAK_TO_WAKE: u32 = 4;
const PASSED_OVER: u32 = 6;
const PAGE: usize = 4096;
const STRIPE_BYTES_MIN: usize = 16 << 10;
const STRIPE_BYTES_MAX: usize = 128 << 10;
