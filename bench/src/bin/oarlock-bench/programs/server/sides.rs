//! The sides that servers are compared with.

use oarlock_measure::Error;

use crate::programs::compared::in_turn;
use crate::system::interrupt;

/// Like [`in_turn`], but stops at a signal.
pub(super) fn turns<T>(
    rounds: usize,
    sides: usize,
    mut work: impl FnMut(usize) -> Result<T, Error>,
) -> Result<Vec<Vec<T>>, Error> {
    in_turn(rounds, sides, |side| {
        interrupt::check()?;
        work(side)
    })
}

/// The names of the other sides.
pub(crate) const LIBRARY: &str = "the library";
pub(crate) const PLAINTEXT: &str = "plaintext";
pub(crate) const PAPER: &str = "the paper";
pub(crate) const ALL: &str = "all";
pub(crate) const HONEST: &str = "an honest client";
pub(crate) const AT_FIRST: &str = "at first";
pub(crate) const PEAK: &str = "the peak";
pub(crate) const FULL_QUEUE: &str = "a full queue";
pub(crate) const TWO_THIRDS: &str = "two thirds of before";
pub(crate) const CLIENT: &str = "the server's own client";
pub(crate) const SOFTHSM: &str = "SoftHSM";
