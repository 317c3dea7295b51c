//! Recent request times of devices without known rates.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::blocking::PublicKeyOffer;
use crate::learn::Median;

/// The medians of a device, by kind of request and length of the modulus.
pub(crate) struct Rates<const KINDS: usize> {
    under_way: AtomicUsize,
    medians: [[Medians; LENGTHS]; KINDS],
}

#[derive(Default)]
struct Medians {
    /// The time of a request that ran alone.
    alone: Median,
    /// The time of other requests, divided by the number under way.
    share: Median,
    /// The number of doublings of the expected time: each failure adds one, each success removes one.
    doublings: AtomicU32,
    /// The longest time of a failure, in ns.
    failed: AtomicU32,
}

impl<const KINDS: usize> Rates<KINDS> {
    pub(crate) fn new() -> Self {
        Self {
            under_way: AtomicUsize::new(0),
            medians: std::array::from_fn(|_| std::array::from_fn(|_| Medians::default())),
        }
    }

    /// Returns the measured rate. Until there is one, `first` is a request's latency, and `parallel` the number of
    /// requests that run at once.
    pub(crate) fn offer(
        &self,
        kind: usize,
        bits: usize,
        first: Duration,
        parallel: usize,
    ) -> PublicKeyOffer {
        let medians = &self.medians[kind][length(bits)];
        let latency = medians.alone.known().unwrap_or(first);
        let share = medians
            .share
            .known()
            .unwrap_or(latency / u32::try_from(parallel).unwrap_or(1));
        let slowed = |time: Duration| match medians.doublings.load(Ordering::Relaxed) {
            0 => time,
            doublings => {
                let failed = medians.failed.load(Ordering::Relaxed);
                let time = time.max(Duration::from_nanos(failed.into()));
                time.saturating_mul(1 << doublings.min(DOUBLINGS_MAX))
            }
        };
        let share = slowed(share).max(Duration::from_nanos(1));
        PublicKeyOffer {
            latency: slowed(latency),
            per_second: share.as_secs_f64().recip(),
        }
    }

    /// Runs a request and learns its time. Failures are often quick: by time alone, a device that serves nothing would be
    /// the fastest.
    pub(crate) fn time<T, E>(
        &self,
        kind: usize,
        bits: usize,
        run: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        struct UnderWay<'a>(&'a AtomicUsize);
        impl Drop for UnderWay<'_> {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Ordering::Relaxed);
            }
        }
        let began = Instant::now();
        let before = self.under_way.fetch_add(1, Ordering::Relaxed);
        let _under_way = UnderWay(&self.under_way);
        let result = run();
        let took = began.elapsed();
        let medians = &self.medians[kind][length(bits)];
        medians.count(result.is_ok(), took);
        let result = result?;
        // Requests that came later also ran at the same time.
        let beside = before.max(self.under_way.load(Ordering::Relaxed) - 1);
        match u32::try_from(beside) {
            Ok(0) => medians.alone.learn(took),
            Ok(beside) => medians.share.learn(took / (beside + 1)),
            Err(_) => {}
        }
        Ok(result)
    }
}

impl Medians {
    fn count(&self, is_ok: bool, took: Duration) {
        let before = self.doublings.load(Ordering::Relaxed);
        // If two threads count at once, one count may be lost.
        if !is_ok {
            let took = u32::try_from(took.as_nanos()).unwrap_or(u32::MAX);
            self.failed.fetch_max(took, Ordering::Relaxed);
            let doublings = (before + 1).min(DOUBLINGS_MAX);
            self.doublings.store(doublings, Ordering::Relaxed);
        } else if before > 0 {
            self.doublings.store(before - 1, Ordering::Relaxed);
            if before == 1 {
                self.failed.store(0, Ordering::Relaxed);
            }
        }
    }
}

/// Returns the class of a modulus: up to 512, 1024, 2048 and 3072 bits, and more.
fn length(bits: usize) -> usize {
    match bits {
        0..=512 => 0,
        513..=1024 => 1,
        1025..=2048 => 2,
        2049..=3072 => 3,
        _ => 4,
    }
}

const LENGTHS: usize = 5;
/// 65,536 times the time: 1 us becomes 66 ms.
const DOUBLINGS_MAX: u32 = 16;

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Duration = Duration::from_micros(1);

    fn fail(rates: &Rates<1>) {
        rates.time(0, 2048, || Err::<(), _>(())).unwrap_err();
    }

    #[test]
    fn what_fails_looks_slower_each_time_up_to_a_bound() {
        let rates = Rates::<1>::new();
        let offer = || rates.offer(0, 2048, FIRST, 1);
        let mut before = offer();
        assert_eq!(before.latency, FIRST);
        for failures in 1..=DOUBLINGS_MAX {
            fail(&rates);
            let now = offer();
            assert!(now.latency >= FIRST * (1 << failures), "{now:?}");
            assert!(now.latency >= 2 * before.latency, "{before:?}, {now:?}");
            assert!(now.per_second <= before.per_second / 1.9, "{now:?}");
            before = now;
        }
        let median = &rates.medians[0][length(2048)];
        fail(&rates);
        assert_eq!(median.doublings.load(Ordering::Relaxed), DOUBLINGS_MAX);
        // Other lengths are not affected.
        assert_eq!(rates.offer(0, 1024, FIRST, 1).latency, FIRST);
    }

    #[test]
    fn a_failure_counts_for_as_long_as_it_took() {
        let rates = Rates::<1>::new();
        let place = &rates.medians[0][length(2048)];
        place.count(false, Duration::from_millis(30));
        place.count(false, Duration::from_millis(10));
        let offer = rates.offer(0, 2048, FIRST, 1);
        assert_eq!(offer.latency, Duration::from_millis(120));
    }

    #[test]
    fn as_many_successes_as_failures_make_up_for_them() {
        let rates = Rates::<1>::new();
        for _ in 0..3 {
            fail(&rates);
        }
        for _ in 0..3 {
            rates.time(0, 2048, || Ok::<_, ()>(())).unwrap();
        }
        let median = &rates.medians[0][length(2048)];
        let known = median.alone.ns();
        let latency = rates.offer(0, 2048, FIRST, 1).latency;
        assert_eq!(latency, Duration::from_nanos(known.into()));
    }
}
