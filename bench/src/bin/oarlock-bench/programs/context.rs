//! Contexts and keys of libcrypto: what a program pays for each.

use oarlock_bench::Error;
use oarlock_bench::cases::RsaKey;
use oarlock_bench::peers::openssl::Use;
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

/// Nanoseconds of an RSA-2048 key that is read, used once and freed, in a library context that has loaded the
/// configuration and in one that has not.
pub(super) fn measure_key(setup: &Setup, what: Use) -> Result<Vec<Compared>, Error> {
    let provided = Provided::open(&setup.configuration(Side::Oarlock))?;
    let key = RsaKey::of_bits(2048)?;
    let (ours, theirs) = provided.key_ns(key.der.as_bytes(), what, setup.rounds(101, 31))?;
    let figure = Quantity::Nanoseconds;
    Ok(vec![Compared::new(figure, STOCK, ours, theirs)])
}
