//! `oarlock encrypt` and `decrypt` beside those who do the same, and beside who only copies.
//!
//! ```text
//! tools.rs   who they are, and their command lines     one.rs      a large file
//! bench.rs   where they work: keys, files, the clock   many.rs     small ones
//! unlock.rs  a passphrase                              pipe.rs     a stream
//! ```
//!
//! Everything lies in memory and is gone afterwards. Outputs are removed before each run, outside of
//! the clock, so that everybody writes to fresh pages. What takes part in a case does it once before
//! anything counts; with that run, what came out is compared.

mod bench;
mod many;
mod one;
mod pipe;
mod tools;
mod unlock;

use oarlock_bench::Error;

use super::compared::{Compared, Figure};
use super::setup::Setup;
use bench::Taken;
pub(super) use tools::{Tool, Way, oarlock, versions};

/// What is worked on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Files {
    /// One large file.
    One(Way),
    /// Many small files in one folder.
    Many(Way),
    /// A stream.
    Pipe(Way),
    /// A small file under a passphrase.
    Unlock,
}

impl Files {
    /// Measures it for the case `name`.
    pub(super) fn measure(self, setup: &Setup, name: &str) -> Result<Vec<Compared>, Error> {
        match self {
            Self::One(way) => one::measure(setup, name, way),
            Self::Many(way) => many::measure(setup, name, way),
            Self::Pipe(way) => pipe::measure(setup, name, way),
            Self::Unlock => unlock::measure(setup, name),
        }
    }
}

/// Ours, by number of threads, beside one of the others.
#[derive(Clone, Copy, Debug)]
struct Point<'a> {
    /// Of a file.
    bytes: usize,
    vs: &'static str,
    threads: Option<usize>,
    ours: &'a [Taken],
    theirs: &'a [Taken],
}

impl Point<'_> {
    fn compared(&self, figure: Figure, sample: impl Fn(&Taken) -> f64) -> Compared {
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
    fn with_file(&self) -> [Compared; 3] {
        let bytes = self.bytes as f64;
        let gib = bytes / f64::from(1 << 30);
        [
            self.compared(Figure::Rate, |taken| bytes / taken.seconds / 1e9),
            self.compared(Figure::CpuSeconds, |taken| taken.cpu_seconds / gib),
            self.resident(),
        ]
    }

    fn resident(&self) -> Compared {
        self.compared(Figure::ResidentMib, |taken| {
            taken.resident_bytes as f64 / f64::from(1 << 20)
        })
    }
}
