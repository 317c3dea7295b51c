//! Arranges the lines for charts and tables.

use crate::output::{Entry, Rate, Ratio};

/// All lines, by chapter.
#[derive(Default)]
pub(super) struct Report {
    /// One thread, by size, against every peer.
    pub(super) speed: Vec<Entry>,
    /// Consecutive long requests, by threads, against one thread.
    pub(super) scaling: Vec<Entry>,
    /// Bursts after idleness, by size, against other strategies and OpenSSL.
    pub(super) bursts: Vec<Entry>,
    /// Public-key operations on one core, by requests in flight, against every peer.
    pub(super) public_key: Vec<Entry>,
}

/// The quantity that distinguishes rows of figures.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Along {
    /// The bytes of a request, or of a burst.
    Bytes,
    /// The number of requests in flight.
    Depth,
}

/// The measurements of one case in one mode: implementations across, sizes or depths down.
pub(super) struct CaseFigures<'a> {
    pub(super) along: Along,
    pub(super) case: &'a str,
    pub(super) unit: &'a str,
    pub(super) idle_ms: Option<u64>,
    rates: Vec<&'a Rate>,
    ratios: Vec<&'a Ratio>,
}

impl<'a> CaseFigures<'a> {
    /// Groups `lines` by case and pause, in their order.
    pub(super) fn of(lines: &'a [Entry], along: Along) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        for line in lines {
            match line {
                Entry::Rate(rate) => {
                    let at = all
                        .iter()
                        .position(|one| one.is_of(&rate.case, rate.conditions.idle_ms));
                    let at = at.unwrap_or_else(|| {
                        all.push(Self {
                            along,
                            case: &rate.case,
                            unit: &rate.unit,
                            idle_ms: rate.conditions.idle_ms,
                            rates: Vec::new(),
                            ratios: Vec::new(),
                        });
                        all.len() - 1
                    });
                    all[at].rates.push(rate);
                }
                Entry::Ratio(ratio) => {
                    let mut of = all.iter_mut();
                    if let Some(one) =
                        of.find(|one| one.is_of(&ratio.case, ratio.conditions.idle_ms))
                    {
                        one.ratios.push(ratio);
                    }
                }
            }
        }
        all
    }

    fn is_of(&self, case: &str, idle_ms: Option<u64>) -> bool {
        self.case == case && self.idle_ms == idle_ms
    }

    /// Returns the implementations, Oarlock first.
    pub(super) fn implementations(&self) -> Vec<&'a str> {
        let mut names = Vec::new();
        for rate in &self.rates {
            if !names.contains(&rate.implementation.as_str()) {
                names.push(rate.implementation.as_str());
            }
        }
        names
    }

    /// Returns the sizes or depths in ascending order.
    pub(super) fn points(&self) -> Vec<usize> {
        let rates = self.rates.iter();
        let mut points: Vec<_> = rates
            .map(|rate| self.at(rate.bytes, rate.conditions.depth))
            .collect();
        points.sort_unstable();
        points.dedup();
        points
    }

    pub(super) fn rate(&self, implementation: &str, point: usize) -> Option<f64> {
        self.line(implementation, point).map(|rate| rate.median)
    }

    /// Returns the 50th, 90th and 99th percentiles of latencies.
    pub(super) fn latency_us(&self, implementation: &str, point: usize) -> Option<[f64; 3]> {
        let rate = self.line(implementation, point)?;
        Some([
            rate.latency_us_p50?,
            rate.latency_us_p90?,
            rate.latency_us_p99?,
        ])
    }

    pub(super) fn ratio(&self, vs: &str, point: usize) -> Option<f64> {
        let mut ratios = self.ratios.iter();
        ratios
            .find(|ratio| {
                let at = self.at(ratio.bytes, ratio.conditions.depth);
                ratio.vs == vs && at == point && ratio.vs_depth.is_none()
            })
            .map(|ratio| ratio.ratio_median)
    }

    fn line(&self, implementation: &str, point: usize) -> Option<&'a Rate> {
        let mut rates = self.rates.iter().copied();
        rates.find(|rate| {
            rate.implementation == implementation
                && self.at(rate.bytes, rate.conditions.depth) == point
        })
    }

    fn at(&self, bytes: usize, depth: Option<usize>) -> usize {
        match self.along {
            Along::Bytes => bytes,
            Along::Depth => depth.unwrap_or(1),
        }
    }
}

/// The speed of several threads relative to one, in one case.
pub(super) struct Scaling<'a> {
    pub(super) case: &'a str,
    pub(super) bytes: usize,
    /// The ratios by number of threads.
    pub(super) over_one: Vec<(usize, f64)>,
}

impl<'a> Scaling<'a> {
    /// Groups `lines` by case, in their order.
    pub(super) fn of(lines: &'a [Entry]) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        for line in lines {
            let Entry::Ratio(ratio) = line else { continue };
            let figure = (ratio.threads, ratio.ratio_median);
            match all.iter_mut().find(|one| one.case == ratio.case) {
                Some(one) => one.over_one.push(figure),
                None => all.push(Self {
                    case: &ratio.case,
                    bytes: ratio.bytes,
                    over_one: vec![figure],
                }),
            }
        }
        all
    }
}
