//! What requests have taken lately, for devices that nothing is known of before.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::public_key::PublicKeyOffer;
use crate::costs::median::learn;

/// Medians of a device, by what is asked for and by the length of the modulus.
pub(crate) struct Rates<const KINDS: usize> {
    under_way: AtomicUsize,
    medians: [[Medians; LENGTHS]; KINDS],
}

/// In ns; 0 until there has been a request.
#[derive(Default)]
struct Medians {
    /// Of a request that was alone.
    alone: AtomicU32,
    /// Of others, divided by how many were under way.
    share: AtomicU32,
}

impl<const KINDS: usize> Rates<KINDS> {
    pub(crate) fn new() -> Self {
        Self {
            under_way: AtomicUsize::new(0),
            medians: std::array::from_fn(|_| std::array::from_fn(|_| Medians::default())),
        }
    }

    /// `first` is a request's latency and `parallel` how many run beside each other, until that is
    /// known better.
    pub(crate) fn offer(
        &self,
        kind: usize,
        bits: usize,
        first: Duration,
        parallel: usize,
    ) -> PublicKeyOffer {
        let medians = &self.medians[kind][length(bits)];
        let known = |median: &AtomicU32| match median.load(Ordering::Relaxed) {
            0 => None,
            ns => Some(Duration::from_nanos(ns.into())),
        };
        let latency = known(&medians.alone).unwrap_or(first);
        let share = known(&medians.share).unwrap_or(latency / u32::try_from(parallel).unwrap_or(1));
        PublicKeyOffer {
            latency,
            per_second: share.max(Duration::from_nanos(1)).as_secs_f64().recip(),
        }
    }

    /// Runs a request, and learns from it if it succeeds.
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
        let result = run()?;
        let took = began.elapsed();
        let medians = &self.medians[kind][length(bits)];
        // Whoever came later has been beside it, too.
        let beside = before.max(self.under_way.load(Ordering::Relaxed) - 1);
        match u32::try_from(beside) {
            Ok(0) => learn(&medians.alone, took),
            Ok(beside) => learn(&medians.share, took / (beside + 1)),
            Err(_) => {}
        }
        Ok(result)
    }
}

/// Moduli of up to 512 bits, 1024, 2048, 3072, and more.
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
