//! Decides whether keystream is made ahead of its use.

use std::time::Instant;

use super::engine::Engine;
use super::wake::WATCH;
use crate::costs::cost::Machine;
use crate::costs::lookup::kernel_cost;
use crate::learn::{BackOff, decayed};
use crate::work::algorithm::Algorithm;

/// What is known about making keystream ahead.
#[derive(Debug)]
pub(super) struct Ahead {
    /// The total bytes of all streams; 0 if no keystream can be made ahead.
    pub(super) ring_bytes: usize,
    /// The rate at which keystream from other cores is used, from requests of this session. `None` before the first
    /// request that found all of its keystream.
    pub(super) bytes_per_ns: Option<f64>,
    /// The average ratio of actual to expected time of a request: what the model does not cover.
    pub(super) over_expected: f64,
    /// Requests that are timed before one tells what streams gain: the streams start empty, and the threads that fill
    /// them have to wake up first.
    pub(super) unsettled: u32,
    /// The end of the last request that was timed.
    pub(super) timed: Option<Instant>,
    /// The average time from the end of a request to the start of the next; negative if requests took longer than those
    /// that were timed.
    pub(super) gap_ns: f64,
    /// Sampled requests since the last pause.
    since_pause: u32,
    /// Requests that were sampled under this key.
    pub(super) looks: u32,
    /// The samples that are needed before keystream is made ahead; more after it was of no use.
    pub(super) looks_needed: u32,
    /// Whether the last sample found that keystream should be made ahead, by `helpers` helpers.
    pub(super) is_wanted: bool,
    pub(super) helpers: usize,
    /// Whether streams gain, but stripes promise more.
    pub(super) are_beaten: bool,
}

impl Default for Ahead {
    fn default() -> Self {
        Self {
            ring_bytes: 0,
            bytes_per_ns: None,
            over_expected: 1.0,
            unsettled: UNSETTLED,
            timed: None,
            gap_ns: 0.0,
            since_pause: BURST_LOOKS_MAX,
            looks: 0,
            looks_needed: LOOKS.least as u32,
            is_wanted: false,
            helpers: 0,
            are_beaten: false,
        }
    }
}

impl Ahead {
    /// Records the pause before a request.
    pub(super) fn paused(&mut self, ns: f64) {
        if ns >= WATCH.as_nanos() as f64 {
            self.since_pause = 0;
        } else {
            self.since_pause = self.since_pause.saturating_add(1);
        }
        self.gap_ns = decayed(self.gap_ns, ns.min(GAP_NS_MAX), 8.0);
    }

    /// Whether requests come in bursts. After the next pause all keystream is ready, and helpers for stripes are
    /// asleep.
    pub(super) fn comes_in_bursts(&self) -> bool {
        self.since_pause < BURST_LOOKS_MAX
    }

    pub(super) fn gap_ns(&self) -> f64 {
        self.gap_ns.max(0.0)
    }

    /// Decays what was learned, so that keystream that was slow once is tried again later.
    pub(super) fn forget_a_little(&mut self, machine: &Machine) {
        let known = self.taken_bytes_per_ns(machine);
        let hoped = hoped_bytes_per_ns(machine);
        if let Some(rate) = &mut self.bytes_per_ns {
            *rate = decayed(known, hoped.max(known), FORGOTTEN);
        }
        self.over_expected = decayed(self.over_expected, 1.0, FORGOTTEN);
    }

    /// Whether keystream may be made ahead as soon as there were enough requests.
    pub(super) fn is_undecided(&self) -> bool {
        self.ring_bytes > 0 && self.looks < LOOKS.least as u32
    }

    /// Whether streams have been in use.
    pub(super) fn is_known(&self) -> bool {
        self.bytes_per_ns.is_some()
    }

    /// Returns the length beyond which stripes are better, whatever is ready: the streams hold less than half of such a
    /// request.
    pub(super) fn request_bytes_max(&self) -> usize {
        self.ring_bytes.saturating_mul(RINGS_PER_REQUEST_MAX)
    }

    /// Returns the expected time of a request of `bytes`, which takes `inline_ns` inline, while `helpers` make
    /// keystream ahead.
    ///
    /// In a period P of one request and one gap g, k helpers make k P / T of a request's keystream, where T is
    /// `inline_ns`. If that is less than all, the rest is computed inline: P = g + (1 - f) T + f x with f = k P / T,
    /// and x the time to take what is ready. There is no more than the streams hold.
    pub(super) fn expected_ns(
        &self,
        machine: &Machine,
        bytes: usize,
        inline_ns: f64,
        helpers: usize,
    ) -> f64 {
        let taking_ns = self.taking_ns(machine, bytes);
        let helpers = helpers as f64;
        let gap_ns = self.gap_ns();
        let period_ns =
            (gap_ns + inline_ns) * inline_ns / (inline_ns + helpers * (inline_ns - taking_ns));
        let held = (self.ring_bytes as f64 / bytes.max(1) as f64).min(1.0);
        let least_ns = (1.0 - held) * inline_ns + held * taking_ns;
        (period_ns - gap_ns).max(least_ns)
    }

    /// Records the ratio of a request's actual to its expected time.
    pub(super) fn took(&mut self, share: f64) {
        // One that the kernel interrupted says little about the next.
        let share = share.clamp(0.0, OVER_EXPECTED_MAX);
        self.over_expected = decayed(self.over_expected, share, 16.0);
    }

    /// Returns the time to use keystream of another core.
    pub(super) fn taking_ns(&self, machine: &Machine, bytes: usize) -> f64 {
        TAKING_NS + bytes as f64 / self.taken_bytes_per_ns(machine)
    }

    /// Records that `bytes` were taken in `ns`.
    pub(super) fn taken(&mut self, machine: &Machine, bytes: usize, ns: f64) {
        let seen = bytes as f64 / (ns - TAKING_NS).max(ns / 2.0).max(1.0);
        let known = self.taken_bytes_per_ns(machine);
        self.bytes_per_ns = Some(decayed(known, seen, 8.0));
    }

    /// Records the timed request that is the last of `requests`.
    pub(super) fn timed(&mut self, requests: u32, began: Instant, ended: Instant) {
        let ns = ended.duration_since(began).as_nanos() as f64;
        if let Some(last_end) = self.timed.replace(ended) {
            // One pause precedes each request; the time of this last request is not included.
            let requests = f64::from(requests);
            let since_ns = began.duration_since(last_end).as_nanos() as f64;
            // A request above the average is followed by one below it; but one that the kernel interrupted is not that
            // much longer than the others.
            let ns = ns.min(2.0 * since_ns / requests);
            self.paused((since_ns - (requests - 1.0) * ns) / requests);
        }
    }

    /// Records that streams were given up: little was ready in time, there was no room for them, or stripes promise
    /// more. In the last case they are tried again once enough samples tell what stripes cost.
    pub(super) fn failed(&mut self) {
        self.looks = 0;
        self.timed = None;
        self.unsettled = UNSETTLED;
        self.looks_needed = match std::mem::take(&mut self.are_beaten) {
            true => self.looks_needed.max(LOOKS_FOR_STRIPES),
            false => LOOKS.longer(self.looks_needed),
        };
    }

    fn taken_bytes_per_ns(&self, machine: &Machine) -> f64 {
        let known = self.bytes_per_ns;
        known.unwrap_or_else(|| hoped_bytes_per_ns(machine))
    }
}

fn hoped_bytes_per_ns(machine: &Machine) -> f64 {
    RING_SHARE_HOPED * machine.other_core_bytes_per_ns
}

/// Returns whether keystream of `algorithm` is made more slowly than it is transferred from another core.
pub(crate) fn keystream_is_slower_than_its_way(engine: &Engine, algorithm: Algorithm) -> bool {
    let cost = kernel_cost(&engine.ciphers.costs, engine.cpu, algorithm);
    cost.bytes_per_ns < RING_SHARE * engine.machine.get().other_core_bytes_per_ns / 2.0
}

/// While keystream is taken, more is made, and both share the transfer between the cores: 9 to 19 GB/s are left of the
/// 43 that are measured without.
pub(super) const RING_SHARE: f64 = 0.25;
/// The most that was seen. The session's measurements decide.
const RING_SHARE_HOPED: f64 = 0.6;
const UNSETTLED: u32 = 2;
/// The largest ratio that one request counts as.
const OVER_EXPECTED_MAX: f64 = 2.0;
/// A request of two rings takes half its time, as with two threads, and needs no helper awake.
pub(crate) const RINGS_PER_REQUEST_MAX: usize = 2;
/// The time to find keystream that was made ahead.
const TAKING_NS: f64 = 40.0;
/// The number of samples before keystream is made ahead, since a session of a few requests is not worth the memory; after
/// streams were given up, four times as many each time.
pub(super) const LOOKS: BackOff = BackOff {
    least: 3,
    most: u32::MAX as u64,
    factor: 4,
};
/// Each sample removes one part in this many of what was learned against streams.
const FORGOTTEN: f64 = 1024.0;
/// The number of samples in which helpers wake up and the cost of stripes is measured, three times the number that its
/// average counts.
pub(super) const LOOKS_FOR_STRIPES: u32 = 48;
/// A longer row of samples is no burst.
const BURST_LOOKS_MAX: u32 = 64;
/// Longer gaps have no further effect.
const GAP_NS_MAX: f64 = 1e9;
/// The number of short requests with keystream that share one measurement; each long one is timed. It is odd because
/// streams and most requests are a power of two long: every eighth request would find the streams at the same place and
/// would not represent the others.
pub(crate) const REQUESTS_PER_TIMED: u32 = 7;
