//! Samples of ours beside those of another.

use super::bench::Taken;
use crate::programs::compared::{Compared, Figure};

/// Ours, by number of threads, beside one of the others.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point<'a> {
    /// Of a file.
    pub(super) bytes: usize,
    pub(super) vs: &'static str,
    pub(super) threads: Option<usize>,
    pub(super) ours: &'a [Taken],
    pub(super) theirs: &'a [Taken],
}

impl Point<'_> {
    pub(super) fn compared(&self, figure: Figure, sample: impl Fn(&Taken) -> f64) -> Compared {
        Compared {
            figure,
            bytes: self.bytes,
            vs: self.vs,
            threads: self.threads,
            ours: self.ours.iter().map(&sample).collect(),
            theirs: self.theirs.iter().map(&sample).collect(),
        }
    }

    /// Speed, CPU time and memory with a file of `self.bytes`.
    pub(super) fn with_file(&self) -> [Compared; 3] {
        let bytes = self.bytes as f64;
        let gib = bytes / f64::from(1 << 30);
        [
            self.compared(Figure::Rate, |taken| bytes / taken.seconds / 1e9),
            self.compared(Figure::CpuSeconds, |taken| taken.cpu_seconds / gib),
            self.resident(),
        ]
    }

    pub(super) fn resident(&self) -> Compared {
        self.compared(Figure::ResidentMib, |taken| {
            taken.resident_bytes as f64 / f64::from(1 << 20)
        })
    }
}
