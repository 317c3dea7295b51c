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
    /// The seed followed by the public key, as aws-lc expects them. There are two copies, for the check of
    /// [`sign`](Self::sign).
    pairs: Zeroizing<[[u8; PAIR_BYTES]; 2]>,
    public: Ed25519PublicKey,
}

impl Ed25519PrivateKey {
    /// Generates a key pair.
    pub fn generate() -> Self {
        Self::from_seed(&drawn())
    }

    /// Creates a key from its seed, which RFC 8032, 5.1.5 calls the private key, and computes the public key.
    pub fn from_seed(seed: &[u8; KEY_BYTES]) -> Self {
        let mut pairs = Zeroizing::new([[0; PAIR_BYTES]; 2]);
        let mut public = [0; KEY_BYTES];
        // SAFETY: the outputs have 32 and 64 bytes, and the seed has 32.
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

    /// Signs a message (RFC 8032, 5.1.6) twice, with two copies of the key, and returns the signature if both results
    /// are equal.
    ///
    /// The nonce depends only on key and message. If a fault changes one of two signatures of a message, the two reveal
    /// the key, whether the fault is in a hash, a point or a bit of the public key in memory. Verifying the signature
    /// would also find a point that is wrong each time, but it takes four times as long as signing, and does not find a
    /// hash that is wrong each time.
    ///
    /// # Errors
    /// [`Error::DeviceFailed`] if the machine computes wrongly.
    pub fn sign(&self, message: &[u8]) -> Result<[u8; SIGNATURE_BYTES], Error> {
        let [one, other] = self.pairs.each_ref().map(|pair| signed(message, pair));
        if one == other {
            return Ok(one);
        }
        Err(failed(
            "Ed25519: two signatures of one message differ: the machine computes wrongly",
        ))
    }

    /// Signs once, without a check, for programs whose OpenSSL does no more.
    pub fn sign_unchecked(&self, message: &[u8]) -> [u8; SIGNATURE_BYTES] {
        signed(message, &self.pairs[0])
    }
}

fn signed(message: &[u8], pair: &[u8; PAIR_BYTES]) -> [u8; SIGNATURE_BYTES] {
    let mut signature = [0; SIGNATURE_BYTES];
    // SAFETY: `signature` and `pair` have 64 bytes each, and `message` is passed with its length.
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

/// A public key: an encoded point (RFC 8032, 5.1.2). It is decoded only when a signature is verified; bytes that
/// encode no point verify no signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ed25519PublicKey([u8; KEY_BYTES]);

impl Ed25519PublicKey {
    /// Creates a key from its encoding, without checking it.
    pub fn from_bytes(bytes: &[u8; KEY_BYTES]) -> Self {
        Self(*bytes)
    }

    /// Returns the encoded key.
    pub fn as_bytes(&self) -> &[u8; KEY_BYTES] {
        &self.0
    }

    /// Verifies a signature of a message (RFC 8032, 5.1.7, without the cofactor).
    ///
    /// # Errors
    /// [`Error::InvalidSignature`] if it was made for another key or message, or does not have 64 bytes.
    pub fn verify(&self, message: &[u8], signature: &[u8]) -> Result<(), Error> {
        let signature: &[u8; SIGNATURE_BYTES] =
            signature.try_into().map_err(|_| Error::InvalidSignature)?;
        // SAFETY: `message` is passed with its length, `signature` has 64 bytes, and the key has 32.
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
        // SAFETY: this empties only the error queue of this thread, which no code reads.
        unsafe { ERR_clear_error() };
        Err(Error::InvalidSignature)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Flips a bit in either copy of the key, as a memory fault would.
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
