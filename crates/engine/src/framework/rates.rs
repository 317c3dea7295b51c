//! The time a device takes for a request: its offer, corrected by measurements for each kind of service, size and depth.
//! A measurement slower than the offer [fades](Fading).

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::device::interface::QueueOffer;
use crate::learn::{Fading, Median};
use crate::work::operation::Service;

/// Measured times by kind of service and size.
pub(super) struct Rates([[Times; SIZES]; Service::ROWS]);

struct Times {
    /// The time from submission to answer on an otherwise idle device.
    alone: Median,
    alone_fading: Fading,
    /// Measured time under full load, in 1024ths of the offered time.
    correction: AtomicU32,
    correction_fading: Fading,
}

impl Times {
    /// Returns the measured time under full load as a multiple of the offered time.
    fn correction(&self, now: Duration) -> f64 {
        let correction = f64::from(self.correction.load(Ordering::Relaxed));
        self.correction_fading
            .by(now, correction / f64::from(AS_OFFERED))
    }
}

/// The expected times of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Expected {
    pub(super) alone: Duration,
    /// The time by which it delays later requests.
    pub(super) share: Duration,
}

impl Rates {
    pub(super) fn new() -> Self {
        Self(std::array::from_fn(|_| {
            std::array::from_fn(|_| Times {
                alone: Median::new(0),
                alone_fading: Fading::default(),
                correction: AtomicU32::new(AS_OFFERED),
                correction_fading: Fading::default(),
            })
        }))
    }

    /// Returns the expected times. Where a size was never measured, the offer counts.
    pub(super) fn expected(
        &self,
        now: Duration,
        (service, bytes): (Service, usize),
        offer: &QueueOffer,
    ) -> Expected {
        let times = &self.0[service.row()][size(bytes)];
        let offered = offer.service_time(bytes);
        let alone_offered = offered + offer.latency;
        Expected {
            alone: match times.alone.ns() {
                0 => alone_offered,
                ns => {
                    let offered_ns = alone_offered.as_nanos().max(1) as f64;
                    let times_offered = f64::from(ns) / offered_ns;
                    let ns = times.alone_fading.by(now, times_offered) * offered_ns;
                    Duration::from_nanos(ns.round() as u64)
                }
            },
            share: offered.mul_f64(times.correction(now)),
        }
    }

    pub(super) fn learn_alone(
        &self,
        now: Duration,
        (service, bytes): (Service, usize),
        took: Duration,
    ) {
        let times = &self.0[service.row()][size(bytes)];
        times.alone.learn(took);
        times.alone_fading.measured(now);
    }

    /// Corrects the times of these classes, which took `took` together under full load where `expected` was expected. Many
    /// devices answer in bunches, so the time between two answers says nothing. All classes get the same correction; as
    /// mixtures change, each converges to its own.
    fn correct(
        &self,
        now: Duration,
        classes: &[(usize, usize)],
        expected: Duration,
        took: Duration,
    ) {
        let ratio = took.as_secs_f64() / expected.as_secs_f64().max(1e-9);
        let step = 1.0 + (ratio.clamp(0.25, 4.0) - 1.0) / (4.0 * classes.len() as f64);
        for (row, size) in classes {
            let times = &self.0[*row][*size];
            let corrected = times.correction(now) * f64::from(AS_OFFERED) * step;
            let corrected = corrected.clamp(CORRECTION_MIN, CORRECTION_MAX);
            times
                .correction
                .store(corrected.round() as u32, Ordering::Relaxed);
            times.correction_fading.measured(now);
        }
    }
}

/// Consecutive answers of a device that always has more to do.
#[derive(Default)]
pub(super) struct Window {
    began: Option<Duration>,
    classes: Vec<(usize, usize)>,
    expected: Duration,
}

impl Window {
    /// Records an answer at `now`. `is_busy` says that the device has more to do.
    pub(super) fn answered(
        &mut self,
        rates: &Rates,
        now: Duration,
        is_busy: bool,
        (service, bytes): (Service, usize),
        share: Duration,
    ) {
        let Some(began) = self.began.filter(|_| is_busy) else {
            *self = Self {
                began: is_busy.then_some(now),
                ..Self::default()
            };
            return;
        };
        self.classes.push((service.row(), size(bytes)));
        self.expected += share;
        let took = now.saturating_sub(began);
        if self.classes.len() >= WINDOW && took >= WINDOW_MIN {
            rates.correct(now, &self.classes, self.expected, took);
            *self = Self {
                began: Some(now),
                ..Self::default()
            };
        }
    }
}

/// Returns the size class, a power of two: sizes in one class differ by a factor of at most two.
fn size(bytes: usize) -> usize {
    (bytes.max(1).ilog2() as usize).clamp(SMALLEST, SMALLEST + SIZES - 1) - SMALLEST
}

const AS_OFFERED: u32 = 1 << 10;
const CORRECTION_MIN: f64 = 16.0;
const CORRECTION_MAX: f64 = 1e9;
const WINDOW: usize = 32;
/// Longer than the polling thread's pauses, so that bunched answers average out.
const WINDOW_MIN: Duration = Duration::from_millis(2);
/// Class 0 has requests below 64 bytes.
const SMALLEST: usize = 5;
/// The last class has requests of 1 MiB and more.
const SIZES: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offer_counts_until_its_size_was_measured() {
        let rates = Rates::new();
        let offer = QueueOffer {
            latency: Duration::from_micros(100),
            per_request: Duration::from_micros(5),
            key_setup: Duration::ZERO,
            bytes_per_second: 1_000_000_000,
        };
        let of = |bytes| rates.expected(Duration::ZERO, (Service::Random, bytes), &offer);
        let us = Duration::from_micros;
        assert_eq!((of(1000).alone, of(1000).share), (us(106), us(6)));
        rates.learn_alone(Duration::ZERO, (Service::Random, 1000), us(300));
        assert_eq!(
            (of(600).alone, of(600).share),
            (us(300), Duration::from_nanos(5600))
        );
        assert_eq!(
            of(1100).alone,
            Duration::from_nanos(106_100),
            "another class"
        );
        assert_eq!(size(0), 0);
        assert_eq!(size(usize::MAX), SIZES - 1);
    }

    #[test]
    fn under_full_load_two_sizes_come_to_their_own_figures() {
        let rates = Rates::new();
        let offer = QueueOffer {
            latency: Duration::ZERO,
            per_request: Duration::from_micros(100),
            key_setup: Duration::ZERO,
            bytes_per_second: u64::MAX,
        };
        let of = |now, bytes| rates.expected(now, (Service::Random, bytes), &offer).share;
        // Small requests really take 50 us and large ones 400 us, in a changing mixture.
        let mut window = Window::default();
        let mut now = Duration::ZERO;
        for round in 0..100_000_usize {
            let is_large = round / 100 % 3 == 0 || round % 7 == 0;
            let (bytes, took) = if is_large { (9000, 400) } else { (100, 50) };
            now += Duration::from_micros(took);
            window.answered(&rates, now, true, (Service::Random, bytes), of(now, bytes));
        }
        let (small, large) = (of(now, 100).as_micros(), of(now, 9000).as_micros());
        assert!((37..=63).contains(&small), "{small}");
        assert!((300..=500).contains(&large), "{large}");
        // An idle device proves nothing.
        window.answered(&rates, now, false, (Service::Random, 100), of(now, 100));
        window.answered(&rates, now * 2, true, (Service::Random, 100), of(now, 100));
        assert_eq!(of(now, 100).as_micros(), small);
    }

    #[test]
    fn a_neighbour_is_noticed_within_windows_and_forgotten_within_seconds() {
        let rates = Rates::new();
        let offer = QueueOffer {
            latency: Duration::ZERO,
            per_request: Duration::from_micros(100),
            key_setup: Duration::ZERO,
            bytes_per_second: u64::MAX,
        };
        let what = (Service::Random, 1000);
        let of = |now| rates.expected(now, what, &offer);
        let mut now = Duration::ZERO;
        let mut window = Window::default();
        let mut busy = |took_us: u64, answers: usize| {
            for _ in 0..answers {
                now += Duration::from_micros(took_us);
                window.answered(&rates, now, true, what, of(now).share);
            }
            of(now).share.as_micros()
        };
        assert!((95..=105).contains(&busy(100, 1000)));
        // One neighbour takes half of the device; three take three quarters.
        let half = busy(200, 6 * WINDOW);
        assert!((170..=210).contains(&half), "{half}");
        let quarter = busy(400, 8 * WINDOW);
        assert!((350..=420).contains(&quarter), "{quarter}");
        // The neighbours go while the device stays busy.
        let whole = busy(100, 12 * WINDOW);
        assert!((95..=120).contains(&whole), "{whole}");
        // The neighbours go, but the device gets no requests that would show it.
        let slow = busy(400, 20 * WINDOW);
        assert!((380..=420).contains(&slow), "{slow}");
        let measured = now;
        let share_after = |seconds| {
            of(measured + Duration::from_secs(seconds))
                .share
                .as_micros()
        };
        assert_eq!(share_after(0), slow);
        let (soon, later) = (share_after(2), share_after(10));
        assert!(
            (190..=210).contains(&soon) && later == 100,
            "{soon}, {later}"
        );

        // The same holds for lone requests; a time better than the offer does not decay.
        let us = Duration::from_micros;
        rates.learn_alone(now, what, us(400));
        assert_eq!(of(now).alone, us(400));
        let later = now + Duration::from_secs(10);
        assert_eq!(of(later).alone.as_micros(), 100);
        let better = Rates::new();
        better.learn_alone(now, what, us(50));
        assert_eq!(better.expected(later, what, &offer).alone, us(50));
    }
}
