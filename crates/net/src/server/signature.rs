//! Signatures by keys that are no RSA keys.
//!
//! aws-lc makes them, one after the other: curves and ML-DSA have no lanes here. Whatever a fault of the machine could
//! give a key away by is checked there before it is released ([`PrivateKey::sign`]).

use std::fmt;
use std::time::Duration;

use oarlock::Error;
use oarlock::device::PublicKeyOffer;
use oarlock::keys::{KeyType, PrivateKey, Scheme};
use zeroize::Zeroizing;

/// A signature to be made, by a scheme that fits its key.
pub struct Signature {
    key: PrivateKey,
    scheme: Scheme,
    /// A digest, or the message where the scheme has no hash function.
    input: Zeroizing<Vec<u8>>,
}

impl Signature {
    /// Takes a digest of the length that the scheme's hash function has; for a scheme without one the message, of at most
    /// [`MESSAGE_BYTES_MAX`].
    ///
    /// # Errors
    /// [`Error::InvalidInput`] for another length, and a scheme that does not fit the key.
    pub fn new(key: &PrivateKey, scheme: Scheme, input: &[u8]) -> Result<Self, Error> {
        let wrong = |what: String| Err(Error::InvalidInput(what));
        match scheme.hash() {
            Some(hash) if input.len() != hash.bytes() => {
                return wrong(format!(
                    "a digest of {} bytes: {scheme} takes one of {}",
                    input.len(),
                    hash.bytes()
                ));
            }
            None if input.len() > MESSAGE_BYTES_MAX => {
                return wrong(format!(
                    "a message of {} bytes: this server signs at most {MESSAGE_BYTES_MAX} by {scheme}",
                    input.len()
                ));
            }
            _ => {}
        }
        Ok(Self {
            key: key.clone(),
            scheme,
            input: Zeroizing::new(input.to_vec()),
        })
    }

    /// The type of its key.
    pub fn key_type(&self) -> KeyType {
        self.key.key_type()
    }

    /// Makes it.
    ///
    /// # Errors
    /// [`Error::DeviceFailed`] in the name of `device` where the machine computes wrongly, or memory has run out.
    pub fn make(&self, device: &str) -> Result<Zeroizing<Vec<u8>>, Error> {
        let made = match self.scheme.hash() {
            Some(_) => self.key.sign_digest(&self.scheme, &self.input),
            None => self.key.sign(&self.scheme, &self.input),
        };
        made.map(Zeroizing::new).map_err(|error| match error {
            Error::DeviceFailed { reason, .. } => Error::DeviceFailed {
                device: device.to_owned(),
                reason,
            },
            other => other,
        })
    }
}

impl fmt::Debug for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signature")
            .field("key_type", &self.key_type())
            .finish_non_exhaustive()
    }
}

/// Returns the offer of a device of this machine's CPUs for signatures by keys of a type.
pub(super) fn offer(key_type: KeyType) -> PublicKeyOffer {
    let latency = Duration::from_micros(alone_us(key_type));
    PublicKeyOffer {
        latency,
        per_second: latency.as_secs_f64().recip(),
    }
}

/// How many signatures a worker takes at once at most: of the shorter ones some, which together take little more than a
/// long one.
pub(super) fn batch_max(key_type: KeyType) -> usize {
    (BATCH_US / alone_us(key_type)).clamp(1, 8) as usize
}

/// Microseconds that one takes: on a Xeon of 2023, as on others within a factor of two. A client pays for what its own have
/// taken.
fn alone_us(key_type: KeyType) -> u64 {
    match key_type.name() {
        "P-256" => 15,
        "P-384" => 70,
        "P-521" => 110,
        "Ed25519" => 60,
        "ML-DSA-44" => 80,
        "ML-DSA-65" => 130,
        _ => 160,
    }
}

/// The longest message of a scheme that signs whole messages.
pub const MESSAGE_BYTES_MAX: usize = 65_536;
const BATCH_US: u64 = 150;
