//! Signatures with keys other than RSA.
//!
//! aws-lc computes them one after the other, since curves and ML-DSA have no lanes here. [`PrivateKey::sign`] verifies a
//! signature before releasing it if a computation fault in it could reveal the key.

use std::fmt;
use std::time::Duration;

use oarlock::Error;
use oarlock::device::PublicKeyOffer;
use oarlock::keys::{Curve, KeyType, MlDsa, PrivateKey, Scheme};
use zeroize::Zeroizing;

/// A signature to compute, with a scheme that fits its key.
pub struct Signature {
    key: PrivateKey,
    scheme: Scheme,
    /// The digest, or the message if the scheme has no hash function.
    input: Zeroizing<Vec<u8>>,
}

impl Signature {
    /// Creates the task from a digest of the length of the scheme's hash function, or, for a scheme without one, from the
    /// message of at most [`MESSAGE_BYTES_MAX`].
    ///
    /// # Errors
    /// [`Error::InvalidInput`] for another length, and for a scheme that does not fit the key.
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

    /// Returns the type of its key.
    pub fn key_type(&self) -> KeyType {
        self.key.key_type()
    }

    /// Computes the signature.
    ///
    /// # Errors
    /// [`Error::DeviceFailed`] in the name of `device` if the machine computes wrongly, or memory has run out.
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

/// Returns the offer of this machine's CPUs for signatures with keys of a type.
pub(super) fn offer(key_type: KeyType) -> PublicKeyOffer {
    let latency = Duration::from_micros(alone_us(key_type));
    PublicKeyOffer {
        latency,
        per_second: latency.as_secs_f64().recip(),
    }
}

/// Returns the most signatures that a worker takes at once: several short ones take about as long as a long one.
pub(super) fn batch_max(key_type: KeyType) -> usize {
    (BATCH_US / alone_us(key_type)).clamp(1, 8) as usize
}

/// Returns the microseconds of one signature, within a factor of two on CPUs since 2020. Clients pay for the measured time
/// of their own requests.
fn alone_us(key_type: KeyType) -> u64 {
    match key_type {
        KeyType::Ec(Curve::P256) => 15,
        KeyType::Ec(Curve::P384) => 70,
        KeyType::Ec(Curve::P521) => 110,
        // aws-lc signs twice.
        KeyType::Ed25519 => 20,
        KeyType::MlDsa(MlDsa::MlDsa44) => 80,
        KeyType::MlDsa(MlDsa::MlDsa65) => 130,
        _ => 160,
    }
}

/// The longest message of a scheme that signs whole messages, in bytes.
pub const MESSAGE_BYTES_MAX: usize = 65_536;
const BATCH_US: u64 = 150;
