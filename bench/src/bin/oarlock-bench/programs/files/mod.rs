//! `oarlock encrypt` and `decrypt` beside those who do the same, and beside who only copies.
//!
//! ```text
//! tools.rs   who they are, and their command lines     one.rs      a large file
//! bench.rs   where they work: keys, files, the clock   many.rs     small ones
//! unlock.rs  a passphrase                              pipe.rs     a stream
//! point.rs   ours beside another
//! ```
//!
//! Everything lies in memory and is gone afterwards. Outputs are removed before each run, outside of
//! the clock, so that everybody writes to fresh pages. What takes part in a case does it once before
//! anything counts; with that run, what came out is compared.

mod bench;
mod many;
mod one;
mod pipe;
mod point;
mod tools;
mod unlock;

use oarlock_bench::Error;

use super::compared::Compared;
use super::setup::Setup;
pub(crate) use tools::{Way, versions};

/// What is worked on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Files {
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
