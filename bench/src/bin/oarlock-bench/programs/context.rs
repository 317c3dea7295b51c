//! libcrypto's contexts and keys: their cost for a program.

use oarlock_measure::Error;
use oarlock_measure::cases::{Direction, RsaKey};
use oarlock_measure::peers::openssl::{Use, Way};
use oarlock_measure::run::provided::{Provided, Request};

use super::compared::{Compared, Quantity, STOCK};
use super::setup::{Setup, Side};
use super::speed::operation;

/// Measures nanoseconds to create, key and free a context, with either provider in one library context.
pub(super) fn measure(setup: &Setup, cipher: &str) -> Result<Vec<Compared>, Error> {
    let provided = Provided::open(&setup.configuration(Side::Oarlock))?;
    let (ours, theirs) = provided.context_ns(operation(cipher)?, setup.rounds(101, 31))?;
    let figure = Quantity::Nanoseconds;
    Ok(vec![Compared::new(figure, STOCK, ours, theirs)])
}

/// Measures nanoseconds to read, use once and free an RSA-2048 key, in a library context that has loaded the configuration
/// and in one that has not.
pub(super) fn measure_key(setup: &Setup, what: Use) -> Result<Vec<Compared>, Error> {
    let provided = Provided::open(&setup.configuration(Side::Oarlock))?;
    let key = RsaKey::of_bits(2048)?;
    let (ours, theirs) = provided.key_ns(key.der.as_bytes(), what, setup.rounds(101, 31))?;
    let figure = Quantity::Nanoseconds;
    Ok(vec![Compared::new(figure, STOCK, ours, theirs)])
}

/// A message with a context of its own, or a context that gets a key for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Message {
    pub(super) cipher: &'static str,
    pub(super) direction: Direction,
    pub(super) way: Way,
}

impl Message {
    /// Measures nanoseconds with either provider in one library context.
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
