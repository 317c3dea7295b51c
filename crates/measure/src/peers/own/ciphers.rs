//! Keys set up in an accelerator's ciphers.

use std::time::Duration;

use cipher::StreamCipher;
use inout::InOutBuf;
use oarlock::aead::AcceleratedAead;
use oarlock::cipher::{AcceleratedCbc, AcceleratedCtr, AnyStream};
use oarlock::{Accelerator, Algorithm, Kind};

use crate::cases::{self, Case, Direction};
use crate::error::Error;
use crate::peers::subject::{Aead, Sealed, Stream, Subject};

/// Sets up `key` for `case`.
pub(super) fn subject(ciphers: &Accelerator, case: &Case, key: &[u8]) -> Result<Subject, Error> {
    let aead = |algorithm| Subject::aead(ciphers.aead(algorithm, key).map_err(no_device)?);
    let stream = |algorithm| any_stream(ciphers, algorithm, key);
    match case.algorithm {
        cases::Algorithm::AesCtr { .. } => Subject::stream(ciphers.ctr(key, &[0; 16])?),
        cases::Algorithm::ChaCha20 => stream(Algorithm::ChaCha20),
        cases::Algorithm::Camellia128Ctr => stream(Algorithm::Camellia128Ctr),
        cases::Algorithm::TripleDesCtr => stream(Algorithm::TripleDesCtr),
        cases::Algorithm::AesGcm { key_bytes: 16 } => aead(Algorithm::Aes128Gcm),
        cases::Algorithm::AesGcm { .. } => aead(Algorithm::Aes256Gcm),
        cases::Algorithm::ChaCha20Poly1305 => aead(Algorithm::ChaCha20Poly1305),
        cases::Algorithm::AesCbc { .. } => Subject::stream(Cbc {
            chain: ciphers.cbc(key, &[0; 16])?,
            direction: case.direction,
        }),
    }
}

fn any_stream(ciphers: &Accelerator, algorithm: Algorithm, key: &[u8]) -> Result<Subject, Error> {
    let Kind::Stream { iv_bytes, .. } = algorithm.kind() else {
        return Err(Error::Failed(format!("{algorithm} is no stream cipher")));
    };
    let stream = ciphers
        .stream(algorithm, key, &[0; 16][..iv_bytes])
        .map_err(no_device)?;
    Subject::stream(OfAnyBlock { stream, iv_bytes })
}

impl Stream for AcceleratedCtr {
    #[inline]
    fn set_iv(&mut self, iv: &[u8; 16]) {
        let accepted = AcceleratedCtr::set_iv(self, iv);
        debug_assert!(accepted.is_ok(), "16 bytes are an IV");
    }

    #[inline]
    fn apply(&mut self, data: &mut [u8]) {
        self.apply_keystream(data);
    }

    fn prefill(&mut self, budget: Duration) {
        AcceleratedCtr::prefill(self, budget);
    }
}

/// CBC in one direction.
struct Cbc {
    chain: AcceleratedCbc,
    direction: Direction,
}

impl Stream for Cbc {
    #[inline]
    fn set_iv(&mut self, iv: &[u8; 16]) {
        let accepted = self.chain.set_iv(iv);
        debug_assert!(accepted.is_ok(), "16 bytes are an IV");
    }

    #[inline]
    fn apply(&mut self, data: &mut [u8]) {
        let done = match self.direction {
            Direction::Encrypt => self.chain.encrypt(data.into()),
            Direction::Decrypt => self.chain.decrypt(data.into()),
        };
        assert!(done.is_ok(), "the harness hands whole blocks");
    }
}

impl Aead for AcceleratedAead {
    #[inline]
    fn seal(&mut self, nonce: &[u8; 12], aad: &[u8], data: &mut [u8]) -> [u8; 16] {
        AcceleratedAead::seal(self, nonce, aad, data.into())
            .unwrap_or_else(|error| panic!("a message of this length is sealed: {error}"))
    }

    #[inline]
    fn open(&mut self, message: &Sealed, aad: &[u8], data: &mut [u8]) -> bool {
        InOutBuf::new(&message.data, data).is_ok_and(|data| {
            AcceleratedAead::open(self, &message.nonce, aad, data, &message.tag).is_ok()
        })
    }
}

fn no_device(error: oarlock::Error) -> Error {
    match error {
        oarlock::Error::DeviceFailed { .. } => Error::Unavailable(error.to_string()),
        other => other.into(),
    }
}

/// A stream cipher that uses the first bytes of the harness's IV.
struct OfAnyBlock {
    stream: AcceleratedCtr<AnyStream>,
    iv_bytes: usize,
}

impl Stream for OfAnyBlock {
    #[inline]
    fn set_iv(&mut self, iv: &[u8; 16]) {
        let accepted = self.stream.set_iv(&iv[..self.iv_bytes]);
        debug_assert!(accepted.is_ok(), "as many bytes as it takes");
    }

    #[inline]
    fn apply(&mut self, data: &mut [u8]) {
        self.stream.apply_keystream(data);
    }

    fn prefill(&mut self, budget: Duration) {
        self.stream.prefill(budget);
    }
}
