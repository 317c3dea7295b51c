//! Samples of our command and of another tool.

use super::bench::RunCost;
use crate::programs::compared::{Compared, Quantity};

/// Our samples for a number of threads, and those of one other tool.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pairing<'a> {
    /// The bytes of a file.
    pub(super) bytes: usize,
    pub(super) vs: &'static str,
    pub(super) threads: Option<usize>,
    pub(super) ours: &'a [RunCost],
    pub(super) theirs: &'a [RunCost],
}

impl Pairing<'_> {
    pub(super) fn compared(&self, figure: Quantity, sample: impl Fn(&RunCost) -> f64) -> Compared {
        Compared {
            figure,
            bytes: self.bytes,
            vs: self.vs,
            threads: self.threads,
            ours: self.ours.iter().map(&sample).collect(),
            theirs: self.theirs.iter().map(&sample).collect(),
        }
    }

    /// Returns speed, CPU time and memory with a file of `self.bytes`.
    pub(super) fn with_file(&self) -> [Compared; 3] {
        let bytes = self.bytes as f64;
        let gib = bytes / f64::from(1 << 30);
        [
            self.compared(Quantity::Rate, |taken| bytes / taken.seconds / 1e9),
            self.compared(Quantity::CpuSeconds, |taken| taken.cpu_seconds / gib),
            self.resident(),
        ]
    }

    pub(super) fn resident(&self) -> Compared {
        self.compared(Quantity::ResidentMib, |taken| {
            taken.resident_bytes as f64 / f64::from(1 << 20)
        })
    }
}
