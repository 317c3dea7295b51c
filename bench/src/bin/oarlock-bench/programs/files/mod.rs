//! `oarlock encrypt` and `decrypt` compared with similar programs, and with programs that only copy.
//!
//! ```text
//! tools.rs   programs and their command lines          one.rs      a large file
//! bench.rs   where they work: keys, files, the clock   many.rs     small ones
//! unlock.rs  a passphrase                              pipe.rs     a stream
//! point.rs   ours and another's
//! ```
//!
//! Everything lies in memory and is removed afterwards. Outputs are removed before each run, outside the measured time, so
//! that every program writes to fresh pages. Each participant of a case runs once before anything counts; the outputs of
//! that run are compared.

mod bench;
mod many;
mod one;
mod pipe;
mod point;
pub(crate) mod tools;
mod unlock;

use oarlock_measure::Error;
use oarlock_measure::cases::Direction;

use super::compared::Compared;
use super::setup::Setup;
pub(crate) use tools::versions;

/// The files of a case.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Files {
    /// One large file.
    One(Direction),
    /// Many small files in one folder.
    Many(Direction),
    /// A stream.
    Pipe(Direction),
    /// A small file under a passphrase.
    Unlock,
}

impl Files {
    /// Measures the case `name`.
    pub(super) fn measure(self, setup: &Setup, name: &str) -> Result<Vec<Compared>, Error> {
        match self {
            Self::One(direction) => one::measure(setup, name, direction),
            Self::Many(direction) => many::measure(setup, name, direction),
            Self::Pipe(direction) => pipe::measure(setup, name, direction),
            Self::Unlock => unlock::measure(setup, name),
        }
    }
}
