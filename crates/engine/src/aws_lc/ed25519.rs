//! Ed25519 (RFC 8032, 5.1).

use aws_lc_sys::{ED25519_keypair_from_seed, ED25519_sign, ED25519_verify, ERR_clear_error};
use zeroize::Zeroizing;

use super::failed;
use super::random::drawn;
use crate::Error;

/// The length in bytes of seeds and public keys.
pub const KEY_BYTES: usize = 32;
/// The length in bytes of signatures.
pub const SIGNATURE_BYTES: usize = 64;
/// The length in bytes of a seed and the public key after it.
const PAIR_BYTES: usize = 2 * KEY_BYTES;

/// A private key, with its public key. Wiped on drop.
pub struct Ed25519PrivateKey {
    /// The seed, and the public key, as aws-lc takes them; twice, for the check of [`sign`](Self::sign).
    pairs: Zeroizing<[[u8; PAIR_BYTES]; 2]>,
    public: Ed25519PublicKey,
}

impl Ed25519PrivateKey {
    /// Generates a key pair.
    pub fn generate() -> Self {
        Self::from_seed(&drawn())
    }

    /// Takes the seed that RFC 8032, 5.1.5 calls the private key, and computes the public key.
    pub fn from_seed(seed: &[u8; KEY_BYTES]) -> Self {
        let mut pairs = Zeroizing::new([[0; PAIR_BYTES]; 2]);
        let mut public = [0; KEY_BYTES];
        // SAFETY: places of 32 and 64 bytes, and a seed of 32.
        unsafe {
            ED25519_keypair_from_seed(public.as_mut_ptr(), pairs[0].as_mut_ptr(), seed.as_ptr());
        }
        let [first, second] = &mut *pairs;
        second.copy_from_slice(first);
        Self {
            pairs,
            public: Ed25519PublicKey(public),
        }
    }

    /// Returns the seed.
    pub fn seed(&self) -> &[u8; KEY_BYTES] {
        let seed = self.pairs[0].first_chunk();
        #[allow(clippy::expect_used)] // A pair is twice as long.
        seed.expect("a pair begins with its seed")
    }

    /// Returns the public key.
    pub fn public_key(&self) -> &Ed25519PublicKey {
        &self.public
    }

    /// Signs a message (RFC 8032, 5.1.6): twice, by two copies of the key, and releases the signature if both are the same.
    ///
    /// The nonce depends on key and message alone, so that two signatures of one message, of which a fault has changed one,
    /// give the key away: by a wrong hash, a wrong point, or a wrong bit of the public key in memory. To verify the signature
    /// would find a point that is wrong each time, too, but it takes four times as long as to sign, and it makes no difference
    /// to a hash that is wrong each time.
    ///
    /// # Errors
    /// [`Error::DeviceFailed`] where the machine computes wrongly.
    pub fn sign(&self, message: &[u8]) -> Result<[u8; SIGNATURE_BYTES], Error> {
        let [one, other] = self.pairs.each_ref().map(|pair| signed(message, pair));
        if one == other {
            return Ok(one);
        }
        Err(failed(
            "Ed25519: two signatures of one message differ: the machine computes wrongly",
        ))
    }

    /// Signs once: for programs whose OpenSSL does no more.
    pub fn sign_unchecked(&self, message: &[u8]) -> [u8; SIGNATURE_BYTES] {
        signed(message, &self.pairs[0])
    }
}

fn signed(message: &[u8], pair: &[u8; PAIR_BYTES]) -> [u8; SIGNATURE_BYTES] {
    let mut signature = [0; SIGNATURE_BYTES];
    // SAFETY: `signature` has 64 bytes, `message` its length, and `pair` 64 bytes.
    unsafe {
        ED25519_sign(
            signature.as_mut_ptr(),
            message.as_ptr(),
            message.len(),
            pair.as_ptr(),
        );
    }
    signature
}

/// A public key: an encoded point (RFC 8032, 5.1.2). Whether it is one is seen when a signature is verified, of which it
/// verifies none otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ed25519PublicKey([u8; KEY_BYTES]);

impl Ed25519PublicKey {
    /// Takes a public key.
    pub fn from_bytes(bytes: &[u8; KEY_BYTES]) -> Self {
        Self(*bytes)
    }

    /// Returns the public key, as it was given or computed.
    pub fn as_bytes(&self) -> &[u8; KEY_BYTES] {
        &self.0
    }

    /// Verifies a signature of a message (RFC 8032, 5.1.7, without the cofactor).
    ///
    /// # Errors
    /// [`Error::InvalidSignature`] where it is another's, or not 64 bytes.
    pub fn verify(&self, message: &[u8], signature: &[u8]) -> Result<(), Error> {
        let signature: &[u8; SIGNATURE_BYTES] =
            signature.try_into().map_err(|_| Error::InvalidSignature)?;
        // SAFETY: `message` has its length, `signature` 64 bytes, and the key 32.
        let is_valid = unsafe {
            ED25519_verify(
                message.as_ptr(),
                message.len(),
                signature.as_ptr(),
                self.0.as_ptr(),
            )
        };
        if is_valid == 1 {
            return Ok(());
        }
        // SAFETY: it empties this thread's queue, which nobody reads.
        unsafe { ERR_clear_error() };
        Err(Error::InvalidSignature)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A bit of either copy of the key changes, as by a fault of memory.
    #[test]
    fn a_signature_that_was_computed_wrongly_is_not_released() {
        for copy in 0..2 {
            for place in 0..PAIR_BYTES {
                let mut key = Ed25519PrivateKey::from_seed(&[7; KEY_BYTES]);
                let right = key.sign(b"message");
                assert!(right.is_ok());
                key.pairs[copy][place] ^= 1 << (place % 8);
                let said = key.sign(b"message").map_err(|error| error.to_string());
                assert!(matches!(said, Err(said) if said.contains("computes wrongly")));
                key.pairs[copy][place] ^= 1 << (place % 8);
                assert_eq!(key.sign(b"message"), right);
            }
        }
    }
}
