//! Contexts and keys of libcrypto: what a program pays for each.

use oarlock_measure::Error;
use oarlock_measure::cases::{Direction, RsaKey};
use oarlock_measure::peers::openssl::{Use, Way};
use oarlock_measure::run::provided::{Provided, Request};

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

/// A message whose context lives no longer than it, or gets a key for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Message {
    pub(super) cipher: &'static str,
    pub(super) direction: Direction,
    pub(super) way: Way,
}

impl Message {
    /// Nanoseconds, of either provider in one library context.
    pub(super) fn measure(&self, setup: &Setup) -> Result<Vec<Compared>, Error> {
        let provided = Provided::open(&setup.configuration(Side::Oarlock))?;
        let rounds = setup.rounds(101, 31);
        let at = |bytes| {
            let request = Request {
                operation: operation(self.cipher)?,
                direction: self.direction,
                bytes,
            };
            let (ours, theirs) = provided.message_ns(&request, self.way, rounds)?;
            Ok(Compared {
                bytes,
                ..Compared::new(Quantity::Nanoseconds, STOCK, ours, theirs)
            })
        };
        MESSAGE_BYTES.into_iter().map(at).collect()
    }
}

const MESSAGE_BYTES: [usize; 3] = [16, 64, 1024];
