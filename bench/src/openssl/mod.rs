//! The machine's OpenSSL, loaded at run time: what is measured is what programs here get, and the
//! harness builds without its headers.
#![allow(unsafe_code)]

mod library;
mod provided;
mod public_key;

pub use provided::{Provided, Rates, Request};

use std::sync::Arc;

use crate::Error;
use crate::case::{Algorithm, Case, Direction};
use crate::peer::{Aead, Peer, PeerFactory, Presence, Sealed, Stream, Subject};
use crate::public_key::{Line, PublicKey, Tasks};
use library::{Context, Libcrypto};

/// The peer `openssl`.
pub const PEER: PeerFactory = PeerFactory {
    name: "openssl",
    presence: Presence::Always,
    open: |_| Ok(Box::new(OpenSsl(Arc::new(Libcrypto::load()?)))),
};

struct OpenSsl(Arc<Libcrypto>);

impl Peer for OpenSsl {
    fn version(&self) -> String {
        self.0.version()
    }

    fn subject(&self, case: &Case, key: &[u8]) -> Result<Subject, Error> {
        debug_assert_eq!(
            key.len(),
            case.algorithm.key_bytes(),
            "the case says how long its key is"
        );
        let context = |cipher: &str, direction| Context::new(&self.0, cipher, direction, key);
        let stream = |cipher| Subject::stream(OpenSslStream(context(cipher, case.direction)?));
        let aead = |cipher| {
            Subject::aead(OpenSslAead {
                sealing: context(cipher, Direction::Encrypt)?,
                opening: context(cipher, Direction::Decrypt)?,
            })
        };
        match case.algorithm {
            Algorithm::AesCtr { key_bytes: 16 } => stream("EVP_aes_128_ctr"),
            Algorithm::AesCtr { key_bytes: 24 } => stream("EVP_aes_192_ctr"),
            Algorithm::AesCtr { .. } => stream("EVP_aes_256_ctr"),
            Algorithm::AesCbc { key_bytes: 16 } => stream("EVP_aes_128_cbc"),
            Algorithm::AesCbc { .. } => stream("EVP_aes_256_cbc"),
            Algorithm::AesGcm { key_bytes: 16 } => aead("EVP_aes_128_gcm"),
            Algorithm::AesGcm { .. } => aead("EVP_aes_256_gcm"),
            Algorithm::ChaCha20Poly1305 => aead("EVP_chacha20_poly1305"),
            Algorithm::ChaCha20 => {
                let context = context("EVP_chacha20", Direction::Encrypt)?;
                Subject::stream(OpenSslChaCha20(context))
            }
            Algorithm::Camellia128Ctr => stream("EVP_camellia_128_ctr"),
            Algorithm::TripleDesCtr => Subject::stream(TripleDesCtr {
                blocks: context("EVP_des_ede3_ecb", Direction::Encrypt)?,
                counter: 0,
                keystream: [0; KEYSTREAM_BYTES],
                unused: 0,
            }),
        }
    }

    fn public_key(&self, tasks: &Tasks, _: usize) -> Result<Box<dyn PublicKey>, Error> {
        match tasks {
            Tasks::Rsa(tasks) => Ok(Line::before(public_key::Rsa::new(&self.0, tasks)?)),
            Tasks::ModExp(tasks) => Ok(Line::before(public_key::ModExp::new(&self.0, tasks)?)),
        }
    }
}

struct OpenSslStream(Context);

impl Stream for OpenSslStream {
    fn set_iv(&mut self, iv: &[u8; 16]) {
        self.0.set_iv(iv);
    }

    fn apply(&mut self, data: &mut [u8]) {
        self.0.update(data);
    }
}

/// Its IV is the block counter, little endian, and the nonce.
struct OpenSslChaCha20(Context);

impl Stream for OpenSslChaCha20 {
    fn set_iv(&mut self, iv: &[u8; 16]) {
        let mut counter_and_nonce = [0; 16];
        counter_and_nonce[4..].copy_from_slice(&iv[..12]);
        self.0.set_iv(&counter_and_nonce);
    }

    fn apply(&mut self, data: &mut [u8]) {
        self.0.update(data);
    }
}

/// OpenSSL has the block cipher without this mode. Counters are written and keystream is applied
/// here, which takes 1 to 2 % of the time: the rest is OpenSSL's, many blocks a call.
struct TripleDesCtr {
    blocks: Context,
    counter: u64,
    keystream: [u8; KEYSTREAM_BYTES],
    /// Of these, so many at the end are still to be used.
    unused: usize,
}

impl TripleDesCtr {
    /// Of at least as many bytes.
    fn make_keystream(&mut self, bytes: usize) {
        let bytes = bytes.next_multiple_of(8).min(KEYSTREAM_BYTES);
        let made = &mut self.keystream[KEYSTREAM_BYTES - bytes..];
        for block in made.chunks_exact_mut(8) {
            block.copy_from_slice(&self.counter.to_be_bytes());
            self.counter = self.counter.wrapping_add(1);
        }
        self.blocks.update(made);
        self.unused = bytes;
    }
}

impl Stream for TripleDesCtr {
    fn set_iv(&mut self, iv: &[u8; 16]) {
        let [counter @ .., _, _, _, _, _, _, _, _] = *iv;
        self.counter = u64::from_be_bytes(counter);
        self.unused = 0;
    }

    fn apply(&mut self, mut data: &mut [u8]) {
        while !data.is_empty() {
            if self.unused == 0 {
                self.make_keystream(data.len());
            }
            let (now, later) = data.split_at_mut(self.unused.min(data.len()));
            let keystream = &self.keystream[KEYSTREAM_BYTES - self.unused..];
            for (byte, key) in now.iter_mut().zip(keystream) {
                *byte ^= key;
            }
            self.unused -= now.len();
            data = later;
        }
    }
}

/// The key is set once, each way; a message sets its nonce.
struct OpenSslAead {
    sealing: Context,
    opening: Context,
}

impl Aead for OpenSslAead {
    fn seal(&mut self, nonce: &[u8; 12], aad: &[u8], data: &mut [u8]) -> [u8; 16] {
        self.sealing.set_nonce(nonce);
        self.sealing.update_aad(aad);
        self.sealing.update(data);
        assert!(self.sealing.ends(), "EVP_EncryptFinal_ex");
        self.sealing.tag()
    }

    fn open(&mut self, message: &Sealed, aad: &[u8], data: &mut [u8]) -> bool {
        self.opening.set_nonce(&message.nonce);
        self.opening.set_tag(&message.tag);
        self.opening.update_aad(aad);
        self.opening.update_to(&message.data, data);
        self.opening.ends()
    }
}

/// A page: the cost of a call is lost in it.
const KEYSTREAM_BYTES: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::CASES;

    /// SP 800-38A, F.5.1: CTR-AES128.Encrypt, the first block.
    #[test]
    fn the_machines_openssl_loads_and_is_right() {
        let peer = (PEER.open)(1).unwrap();
        assert!(peer.version().starts_with("OpenSSL "), "{}", peer.version());
        let key = 0x2b7e_1516_28ae_d2a6_abf7_1588_09cf_4f3c_u128.to_be_bytes();
        let iv = 0xf0f1_f2f3_f4f5_f6f7_f8f9_fafb_fcfd_feff_u128.to_be_bytes();
        let Subject::Stream(mut subject) = peer.subject(&CASES[0], &key).unwrap() else {
            panic!("CTR is a stream");
        };
        for _ in 0..2 {
            let mut block = 0x6bc1_bee2_2e40_9f96_e93d_7e11_7393_172a_u128.to_be_bytes();
            subject.set_iv(&iv);
            subject.apply(&mut block);
            assert_eq!(
                u128::from_be_bytes(block),
                0x874d_6191_b620_e326_1bef_6864_990d_b6ce
            );
        }
    }
}
