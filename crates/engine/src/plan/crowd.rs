//! Detects contention: whether others want the CPUs that helpers run on.
//!
//! A helper that loses its CPU in the middle of a stripe keeps its caller waiting for a scheduler slice, 3 ms and more,
//! which undoes the gains of a hundred requests. The pool's state does not show that in advance: the helper is awake,
//! or comes at once. So gains and losses of stripes are recorded as time, request by request:
//!
//! ```text
//! gain    stripes of helpers * what one of the caller's took
//! loss    from the caller's last stripe to the helpers'
//! ```
//!
//! Stripes that a helper did on the caller's own CPU are a loss: a program may have been bound to one CPU since it
//! started.
//!
//! When losses exceed gains, no helpers are asked for a multiple of the lost time. The multiple doubles each time, so
//! the share of time that is lost to trials falls to 1 / 512, or to the loss itself in four seconds if that is more. It
//! starts over once stripes have gained several times the last loss. The account belongs to the engine, not to a session: what one session has learned serves the next.

use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::learn::BackOff;

/// The account of gains and losses. If two threads change it at once, one change may get lost.
pub(crate) struct Crowd {
    began: Instant,
    /// Gains less losses, in nanoseconds, without gains beyond [`CREDIT_NS`].
    balance_ns: AtomicI64,
    /// All gains less losses since the last bar.
    earned_ns: AtomicI64,
    /// The debt that led to the last bar.
    last_debt_ns: AtomicI64,
    /// The factor of the next bar.
    factor: AtomicU32,
    /// The end of the last bar, from `began`.
    barred_until_ns: AtomicU64,
}

impl Default for Crowd {
    fn default() -> Self {
        Self {
            began: Instant::now(),
            balance_ns: AtomicI64::new(0),
            earned_ns: AtomicI64::new(0),
            last_debt_ns: AtomicI64::new(0),
            factor: AtomicU32::new(FACTOR.least as u32),
            barred_until_ns: AtomicU64::new(0),
        }
    }
}

impl Crowd {
    /// Returns whether no helpers may be asked at present.
    pub(crate) fn bars(&self, now: Instant) -> bool {
        let until = self.barred_until_ns.load(Ordering::Relaxed);
        until > 0 && self.since_began_ns(now) < until
    }

    /// Records how much time helpers saved the caller of a request, and how long it waited for them.
    pub(crate) fn learn(&self, gain: Duration, loss: Duration, now: Instant) {
        let gain_ns = signed_ns(gain) - signed_ns(loss);
        let earned_ns = (self.earned_ns.load(Ordering::Relaxed)).saturating_add(gain_ns);
        let balance_ns = (self.balance_ns.load(Ordering::Relaxed) + gain_ns).min(CREDIT_NS);
        if earned_ns > EARNED_PER_DEBT * self.last_debt_ns.load(Ordering::Relaxed) {
            self.factor.store(FACTOR.least as u32, Ordering::Relaxed);
        }
        if balance_ns >= -DEBT_NS {
            self.earned_ns.store(earned_ns, Ordering::Relaxed);
            self.balance_ns.store(balance_ns, Ordering::Relaxed);
            return;
        }
        let factor = self.factor.load(Ordering::Relaxed);
        self.factor.store(FACTOR.longer(factor), Ordering::Relaxed);
        self.balance_ns.store(0, Ordering::Relaxed);
        self.earned_ns.store(0, Ordering::Relaxed);
        self.last_debt_ns.store(-balance_ns, Ordering::Relaxed);
        let bar_ns = (-balance_ns).saturating_mul(factor.into()).min(BAR_NS_MAX);
        let until = self.since_began_ns(now).saturating_add(bar_ns as u64);
        self.barred_until_ns.store(until, Ordering::Relaxed);
    }

    fn since_began_ns(&self, now: Instant) -> u64 {
        now.duration_since(self.began).as_nanos() as u64
    }
}

fn signed_ns(time: Duration) -> i64 {
    // More than this cannot come from one request.
    time.as_nanos().min(BAR_NS_MAX as u128) as i64
}

/// One interruption among many requests that gained is no reason to stop striping.
const CREDIT_NS: i64 = 1_000_000;
/// Less than a scheduler slice, more than a wait for a stripe.
const DEBT_NS: i64 = 200_000;
/// The multiple of the last loss that stripes must gain to start over. A helper next to a busy thread mostly has one
/// slice before it loses the CPU: gains of several slices show that the machine has changed since the loss.
const EARNED_PER_DEBT: i64 = 8;
/// The bar's length relative to the time that was lost, at first and at most.
const FACTOR: BackOff = BackOff::doubling(16, 512);
/// After this time, the machine's load may have changed.
const BAR_NS_MAX: i64 = 4_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    const US: Duration = Duration::from_micros(1);
    const SLICE: Duration = Duration::from_millis(4);

    /// Loses a slice after each `gains` requests that gain 30 µs. Returns the share of `seconds` that is lost in total,
    /// if requests take 60 µs, the same as inline.
    fn lost_share(crowd: &Crowd, gains: u32, seconds: u32) -> f64 {
        let began = Instant::now();
        let end = began + seconds * Duration::from_secs(1);
        let (mut now, mut gained_ns, mut lost_ns, mut requests) = (began, 0.0, 0.0, 0);
        while now < end {
            now += 60 * US;
            if crowd.bars(now) {
                continue;
            }
            requests += 1;
            let loss = if requests % gains == 0 {
                SLICE
            } else {
                Duration::ZERO
            };
            now += loss;
            gained_ns += 30_000.0;
            lost_ns += loss.as_nanos() as f64;
            crowd.learn(30 * US, loss, now);
        }
        (lost_ns - gained_ns) / (f64::from(seconds) * 1e9)
    }

    #[test]
    fn beside_a_busy_thread_hardly_anything_is_lost() {
        for gains in [1, 10, 100] {
            let crowd = Crowd::default();
            let lost = lost_share(&crowd, gains, 10);
            assert!((0.0..0.01).contains(&lost), "{gains}: {lost}");
        }
    }

    #[test]
    fn an_interruption_now_and_then_costs_little_of_the_gain() {
        let crowd = Crowd::default();
        // One interruption per second of requests.
        let lost = lost_share(&crowd, 16_000, 20);
        assert!(lost < -0.4, "{lost}");
    }

    #[test]
    fn a_neighbour_that_goes_away_is_forgotten() {
        let crowd = Crowd::default();
        lost_share(&crowd, 1, 10);
        assert!(crowd.factor.load(Ordering::Relaxed) > 8 * FACTOR.least as u32);
        let later = Instant::now() + Duration::from_secs(60);
        assert!(!crowd.bars(later));
        for _ in 0..10_000 {
            crowd.learn(30 * US, Duration::ZERO, later);
        }
        assert_eq!(crowd.factor.load(Ordering::Relaxed), FACTOR.least as u32);
        crowd.learn(Duration::ZERO, SLICE, later);
        assert!(crowd.bars(later) && !crowd.bars(later + 20 * SLICE));
    }

    #[test]
    fn no_figure_overflows() {
        let crowd = Crowd::default();
        let now = Instant::now();
        for _ in 0..100 {
            crowd.learn(Duration::MAX, Duration::ZERO, now);
            crowd.learn(Duration::ZERO, Duration::MAX, now);
        }
        assert!(crowd.bars(now));
        assert!(!crowd.bars(now + Duration::from_secs(3600)));
    }
}
