//! Contexts of libcrypto: what a program pays for each key.

use oarlock_bench::Error;
use oarlock_bench::run::provided::Provided;

use super::compared::{Compared, Quantity, STOCK};
use super::setup::{Setup, Side};
use super::speed::operation;

/// Nanoseconds of a context that is made, keyed and freed, of either provider in one library
/// context.
pub(super) fn measure(setup: &Setup, cipher: &str) -> Result<Vec<Compared>, Error> {
    let provided = Provided::open(&setup.configuration(Side::Oarlock))?;
    let (ours, theirs) = provided.context_ns(operation(cipher)?, setup.rounds(101, 31))?;
    let figure = Quantity::Nanoseconds;
    Ok(vec![Compared::new(figure, STOCK, ours, theirs)])
}
