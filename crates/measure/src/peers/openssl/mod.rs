//! The machine's OpenSSL, loaded at run time: the measurement covers the library that programs here use, and the crate
//! builds without its headers.
#![allow(unsafe_code)]

/// Defines a table `Functions` of the functions with these names and types, from the headers of OpenSSL 3.
macro_rules! functions {
    ($($name:ident: fn($($argument:ty),*) $(-> $result:ty)?;)+) => {
        #[allow(non_snake_case)]
        pub(super) struct Functions {
            $(pub(super) $name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)+
        }

        impl Functions {
            pub(super) fn of(library: &libloading::Library) -> Result<Self, $crate::error::Error> {
                let missing = |name: &str| {
                    $crate::error::Error::Unavailable(format!("this OpenSSL has no {name}"))
                };
                Ok(Self {
                    // SAFETY: the types are those of OpenSSL 3's headers; the owner of the table keeps the library.
                    $($name: *unsafe { library.get(stringify!($name)) }
                        .map_err(|_| missing(stringify!($name)))?,)+
                })
            }
        }
    };
}

mod ciphers;
mod handshakes;
mod keys;
mod library;
mod operations;
mod public_key;
mod uses;

use std::sync::Arc;

use super::public_key::{LaneQueue, PublicKey};
use super::subject::{Peer, PeerFactory, Presence, Subject};
use crate::cases::{Algorithm, Case, Direction, Tasks};
use crate::error::Error;
use ciphers::TripleDesCtr;
pub(crate) use ciphers::{OpenSslAead, OpenSslChaCha20, OpenSslStream};
pub(crate) use handshakes::Handshakes;
pub use handshakes::{Ends, Handshake};
pub(crate) use keys::KeyReader;
pub use keys::Use;
pub use library::{Context, Libcrypto};
pub(crate) use library::{Fetched, World};
pub use operations::{Agreement, Call, Operation, Operations, SigningKey};
pub(crate) use operations::{Caller, Material};
pub use uses::Way;
pub(crate) use uses::{Message, Uses};

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
            Algorithm::TripleDesCtr => {
                let context = context("EVP_des_ede3_ecb", Direction::Encrypt)?;
                Subject::stream(TripleDesCtr::new(context))
            }
        }
    }

    fn public_key(&self, tasks: &Tasks, _: usize) -> Result<Box<dyn PublicKey>, Error> {
        match tasks {
            Tasks::Rsa(tasks) => public_key::rsa(&self.0, tasks),
            Tasks::ModExp(tasks) => Ok(LaneQueue::before(public_key::ModExp::new(&self.0, tasks)?)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::CASES;

    /// Tests SP 800-38A, F.5.1: CTR-AES128.Encrypt, the first block.
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
