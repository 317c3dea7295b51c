//! Medians, ratios and percentiles.

use std::time::Duration;

/// The median, minimum and maximum of some samples.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Summary {
    /// The median: the mean of the middle two for an even count.
    pub median: f64,
    /// The minimum.
    pub min: f64,
    /// The maximum.
    pub max: f64,
    /// The number of samples.
    pub runs: usize,
}

impl Summary {
    /// Summarizes at least one sample.
    pub fn of(samples: &[f64]) -> Self {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (below, above) = (sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2]);
        Self {
            median: f64::midpoint(below, above),
            min: sorted[0],
            max: sorted[sorted.len() - 1],
            runs: sorted.len(),
        }
    }

    /// Summarizes the ratios `ours / theirs` of the pairs: a temporary slowdown of the machine slows both of a pair.
    pub(crate) fn of_ratios(ours: &[f64], theirs: &[f64]) -> Self {
        debug_assert_eq!(ours.len(), theirs.len(), "samples come in pairs");
        let ratios: Vec<_> = ours.iter().zip(theirs).map(|(a, b)| a / b).collect();
        Self::of(&ratios)
    }
}

/// Percentiles of latencies, in microseconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Latency {
    pub(crate) us_p50: f64,
    pub(crate) us_p90: f64,
    pub(crate) us_p99: f64,
}

impl Latency {
    /// Returns the percentiles of at least one latency. Each is a measured value, the nearest by rank.
    pub(crate) fn of(latencies: &mut [Duration]) -> Self {
        latencies.sort_unstable();
        let last = latencies.len() - 1;
        let us_at = |part: f64| {
            let rank = (part * last as f64).round() as usize;
            latencies[rank].as_nanos() as f64 / 1e3
        };
        Self {
            us_p50: us_at(0.50),
            us_p90: us_at(0.90),
            us_p99: us_at(0.99),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_of_odd_and_even() {
        for (samples, median, min, max) in [
            (&[3.0][..], 3.0, 3.0, 3.0),
            (&[9.0, 1.0, 2.0], 2.0, 1.0, 9.0),
            (&[4.0, 1.0, 3.0, 2.0], 2.5, 1.0, 4.0),
        ] {
            let runs = samples.len();
            let expected = Summary {
                median,
                min,
                max,
                runs,
            };
            assert_eq!(Summary::of(samples), expected);
        }
    }

    #[test]
    fn percentiles_are_by_rank() {
        let mut hundred_and_one: Vec<_> = (0..=100).rev().map(Duration::from_micros).collect();
        let latency = Latency::of(&mut hundred_and_one);
        let figures = (latency.us_p50, latency.us_p90, latency.us_p99);
        assert_eq!(figures, (50.0, 90.0, 99.0));
        let latency = Latency::of(&mut [Duration::from_nanos(1500)]);
        assert_eq!((latency.us_p50, latency.us_p99), (1.5, 1.5));
    }

    #[test]
    fn ratios_are_taken_pair_by_pair() {
        // The machine's speed was halved in the second pair: the ratio of the medians would be 3.
        let summary = Summary::of_ratios(&[4.0, 2.0, 6.0], &[2.0, 1.0, 1.0]);
        assert_eq!((summary.median, summary.min, summary.max), (2.0, 2.0, 6.0));
    }
}
