//! Encryption of record numbers (RFC 9147, 4.2.3).

use oarlock_kernels::aes::{Backend, Ctr};
use oarlock_kernels::chacha20::{self, ChaCha20};
use zeroize::Zeroizing;

use crate::tls::keys::{KEY_BYTES_MAX, KeySet, TAG_BYTES};
use crate::tls::suite::Suite;
use oarlock_engine::Error;
use oarlock_engine::plan::Engine;

/// The key that encrypts record numbers. Wiped on drop.
pub(super) enum Mask {
    Aes(Box<Ctr>),
    ChaCha20(Box<ChaCha20>),
}

impl Mask {
    pub(super) fn derive(engine: &Engine, keys: &KeySet) -> Result<Self, Error> {
        let mut key = Zeroizing::new([0; KEY_BYTES_MAX]);
        let key = &mut key[..keys.suite().key_bytes()];
        keys.expand(engine, b"sn", key)?;
        let invalid = |error: &dyn std::fmt::Display| Error::InvalidKey(error.to_string());
        // Expand in the box: moving it would leave a copy behind.
        match keys.suite() {
            Suite::ChaCha20Poly1305Sha256 => {
                let backend = chacha20::Backend::preferred(engine.cpu());
                let mut chacha20 = Box::new(ChaCha20::unkeyed(backend));
                chacha20.set_key(key).map_err(|error| invalid(&error))?;
                Ok(Self::ChaCha20(chacha20))
            }
            _ => {
                let mut ctr = Box::new(Ctr::unkeyed(Backend::preferred(engine.cpu())));
                ctr.set_key(key).map_err(|error| invalid(&error))?;
                Ok(Self::Aes(ctr))
            }
        }
    }

    /// Returns the mask that is XORed onto a number, from the first bytes of the record's ciphertext.
    #[inline]
    pub(super) fn of(&self, sample: &[u8; TAG_BYTES]) -> [u8; 2] {
        let mut block = [0; TAG_BYTES];
        match self {
            // The keystream block of this counter is its encryption.
            Self::Aes(ctr) => ctr.apply(u128::from_be_bytes(*sample), 0, (&mut block[..]).into()),
            Self::ChaCha20(chacha20) => {
                // The block counter is little-endian and comes first.
                let [a, b, c, d, nonce @ ..] = *sample;
                let mut counter = [0; TAG_BYTES];
                counter[..nonce.len()].copy_from_slice(&nonce);
                counter[nonce.len()..].copy_from_slice(&[d, c, b, a]);
                chacha20.apply(u128::from_be_bytes(counter), 0, (&mut block[..]).into());
            }
        }
        [block[0], block[1]]
    }
}
