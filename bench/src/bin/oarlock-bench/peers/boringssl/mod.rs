//! BoringSSL, in the library that `cargo xtask peers boringssl` builds (`bench/peers/boringssl.c`). Building this needs
//! neither its headers nor the library. It reads `OPENSSL_ia32cap` as OpenSSL does.
#![allow(unsafe_code)]

mod library;

use std::sync::Arc;

use oarlock_measure::Error;
use oarlock_measure::cases::{Algorithm, Case, Direction, RsaKey, RsaOperation, RsaRequest, Tasks};
use oarlock_measure::peers::{
    Aead, Peer, PeerFactory, Presence, PublicKey, Sealed, SingleRsa, SingleRsaKey, Stream, Subject,
};

use super::pieces::{Pieces, WholeBlocks};
use crate::system::fetched;
use library::{AeadContext, AesKey, Functions, Rsa};

/// The peer `boringssl`.
pub(crate) const PEER: PeerFactory = PeerFactory {
    name: NAME,
    presence: Presence::WhereAvailable,
    open: |_| Ok(Box::new(BoringSsl(Arc::new(Functions::load()?)))),
};

/// The peer's name on the command line and in targets.
pub(crate) const NAME: &str = "boringssl";

/// Whether the library has been built.
pub(crate) fn is_here() -> bool {
    fetched::find(library::FILE).is_some()
}

struct BoringSsl(Arc<Functions>);

impl Peer for BoringSsl {
    fn version(&self) -> String {
        self.0.version()
    }

    fn subject(&self, case: &Case, key: &[u8]) -> Result<Subject, Error> {
        let functions = &self.0;
        match case.algorithm {
            Algorithm::AesCtr { .. } => Subject::stream(Ctr {
                key: AesKey::new(functions, key, Direction::Encrypt)?,
                counter: [0; 16],
                keystream: [0; 16],
                used: 0,
            }),
            Algorithm::AesCbc { .. } => Subject::stream(Cbc {
                key: AesKey::new(functions, key, case.direction)?,
                iv: [0; 16],
            }),
            Algorithm::ChaCha20 => Subject::stream(Pieces::of(ChaCha20 {
                functions: Arc::clone(functions),
                key: key
                    .try_into()
                    .map_err(|_| Error::Failed("boringssl: a key of 32 bytes is due".to_owned()))?,
                nonce: [0; 12],
                counter: 0,
            })),
            Algorithm::AesGcm { .. } => Subject::aead(AeadContext::gcm(functions, key)?),
            Algorithm::ChaCha20Poly1305 => {
                Subject::aead(AeadContext::chacha20_poly1305(functions, key)?)
            }
            Algorithm::Camellia128Ctr | Algorithm::TripleDesCtr => {
                Err(Error::Unavailable("it has no such counter mode".to_owned()))
            }
        }
    }

    fn public_key(&self, tasks: &Tasks, _: usize) -> Result<Box<dyn PublicKey>, Error> {
        match tasks {
            Tasks::Rsa(tasks) => {
                SingleRsa::set_up(tasks, |key: &RsaKey| Rsa::new(&self.0, key.der.as_bytes()))
            }
            Tasks::ModExp(_) => Err(Error::Unavailable(
                "its powers without a key are not measured".to_owned(),
            )),
        }
    }
}

struct Ctr {
    key: AesKey,
    counter: [u8; 16],
    keystream: [u8; 16],
    used: u32,
}

impl Stream for Ctr {
    fn set_iv(&mut self, iv: &[u8; 16]) {
        self.counter = *iv;
        self.used = 0;
    }

    fn apply(&mut self, data: &mut [u8]) {
        let (counter, keystream) = (&mut self.counter, &mut self.keystream);
        self.key.ctr(counter, keystream, &mut self.used, data);
    }
}

struct Cbc {
    key: AesKey,
    iv: [u8; 16],
}

impl Stream for Cbc {
    fn set_iv(&mut self, iv: &[u8; 16]) {
        self.iv = *iv;
    }

    fn apply(&mut self, data: &mut [u8]) {
        self.key.cbc(&mut self.iv, data);
    }
}

struct ChaCha20 {
    functions: Arc<Functions>,
    key: [u8; 32],
    nonce: [u8; 12],
    counter: u32,
}

impl WholeBlocks<64> for ChaCha20 {
    fn set_iv(&mut self, iv: &[u8; 16]) {
        self.nonce.copy_from_slice(&iv[..12]);
        self.counter = 0;
    }

    fn apply(&mut self, data: &mut [u8]) {
        (self.functions).chacha20(&self.key, &self.nonce, self.counter, data);
        self.counter = self.counter.wrapping_add((data.len() / 64) as u32);
    }
}

impl Aead for AeadContext {
    fn seal(&mut self, nonce: &[u8; 12], aad: &[u8], data: &mut [u8]) -> [u8; 16] {
        AeadContext::seal(self, nonce, aad, data)
    }

    fn open(&mut self, message: &Sealed, aad: &[u8], data: &mut [u8]) -> bool {
        AeadContext::open(self, message, aad, data)
    }
}

impl SingleRsaKey for Rsa {
    fn sign(&mut self, operation: RsaOperation, request: &RsaRequest, result: &mut [u8]) {
        match operation {
            RsaOperation::Private => self.private(&request.number, result),
            RsaOperation::Sign | RsaOperation::Verify => self.sign_digest(&request.digest, result),
        }
    }

    fn verify(&mut self, request: &RsaRequest) -> bool {
        self.verify_digest(&request.digest, &request.signature)
    }
}
