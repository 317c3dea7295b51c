//! Seals: MACs over the content of a board, by processes that have the key.
//!
//! ```text
//! number    HMAC(use of the slot | place | length | number)
//! power     HMAC(use of the slot | no place | seal of the number | power)
//! ```
//!
//! So the seal of a power is valid for one number only, and neither process reads the number again to compute it.

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use zeroize::Zeroizing;

/// The first half of an HMAC-SHA-256 (RFC 2104, 5).
pub(super) type Seal = [u64; 2];

/// Computes seals with a secret, whose blocks are hashed in advance. Wiped on drop.
pub(super) struct Sealer(Hmac<Sha256>);

/// A place that no slot has.
const NO_PLACE: u32 = u32::MAX;

impl Sealer {
    pub(super) fn new(secret: &[u8; 32]) -> Self {
        // HMAC itself pads a shorter key with zeros (RFC 2104, 2); a key of block length is never refused.
        let mut block = Zeroizing::new([0; 64]);
        block[..secret.len()].copy_from_slice(secret);
        Self(Hmac::new((&*block).into()))
    }

    /// Returns the seal of `number`, in use `count` of the slot at `place`.
    pub(super) fn number(&self, count: u32, place: usize, number: &[u8]) -> Seal {
        let length = (number.len() as u32).to_le_bytes();
        self.seal(count, place as u32, &length, number)
    }

    /// Returns the seal of the power of the number with the seal `number`, in the same use.
    pub(super) fn power(&self, count: u32, number: Seal, power: &[u8]) -> Seal {
        let number = number.map(u64::to_le_bytes);
        self.seal(count, NO_PLACE, number.as_flattened(), power)
    }

    fn seal(&self, count: u32, place: u32, of: &[u8], bytes: &[u8]) -> Seal {
        let mut mac = self.0.clone();
        mac.update(&count.to_le_bytes());
        mac.update(&place.to_le_bytes());
        mac.update(of);
        mac.update(bytes);
        let mac = mac.finalize().into_bytes();
        [0, 8].map(|at| u64::from_le_bytes(std::array::from_fn(|byte| mac[at + byte])))
    }
}
