//! RustCrypto's ciphers.

use aes::{Aes128, Aes192, Aes256};
use aes_gcm::AesGcm;
use aes_gcm::aead::AeadInOut;
use camellia::Camellia128;
use chacha20::ChaCha20;
use chacha20poly1305::ChaCha20Poly1305;
use cipher::array::Array;
use cipher::consts::{U12, U16};
use cipher::{
    BlockCipherDecrypt, BlockCipherEncrypt, BlockModeDecrypt, BlockModeEncrypt, InnerIvInit,
    KeyInit, KeyIvInit, StreamCipher,
};
use ctr::{Ctr32BE, Ctr64BE, Ctr128BE, CtrCore};
use des::TdesEde3;
use inout::InOutBuf;
use oarlock_measure::Error;
use oarlock_measure::cases::{Algorithm, Case, Direction};
use oarlock_measure::cpu_class;
use oarlock_measure::peers::{Aead, Peer, PeerFactory, Presence, Sealed, Stream, Subject};

/// The peer `rustcrypto`.
pub(crate) const PEER: PeerFactory = PeerFactory {
    name: "rustcrypto",
    presence: Presence::Always,
    open: |_| {
        cpu_class::refuse_shown("RustCrypto")?;
        Ok(Box::new(RustCrypto))
    },
};

/// Creates a counter mode of a cipher.
macro_rules! ctr {
    ($mode:ident, $cipher:ident, $key:expr) => {
        ctr($key, |cipher: &$cipher, iv| {
            let iv = Array::from_fn(|byte| iv[byte]);
            $mode::from_core(CtrCore::inner_iv_init(cipher.clone(), &iv))
        })
    };
}

struct RustCrypto;

impl Peer for RustCrypto {
    fn version(&self) -> String {
        "RustCrypto aes 0.9, ctr 0.10 (Ctr32BE), aes-gcm 0.11, chacha20 0.10".to_owned()
    }

    fn subject(&self, case: &Case, key: &[u8]) -> Result<Subject, Error> {
        match (case.algorithm, case.direction) {
            // With a 32-bit counter: on some CPUs it is 1.5 times as fast as a 128-bit one, and streams here do not exceed
            // 2^32 blocks.
            (Algorithm::AesCtr { key_bytes: 16 }, _) => ctr!(Ctr32BE, Aes128, key),
            (Algorithm::AesCtr { key_bytes: 24 }, _) => ctr!(Ctr32BE, Aes192, key),
            (Algorithm::AesCtr { .. }, _) => ctr!(Ctr32BE, Aes256, key),
            (Algorithm::Camellia128Ctr, _) => ctr!(Ctr128BE, Camellia128, key),
            (Algorithm::TripleDesCtr, _) => ctr!(Ctr64BE, TdesEde3, key),
            (Algorithm::ChaCha20, _) => Subject::stream(RustCryptoChaCha20 {
                stream: ChaCha20::new_from_slices(key, &[0; 12]).map_err(failed)?,
                key: key.try_into().map_err(failed)?,
            }),
            (Algorithm::AesCbc { key_bytes: 16 }, Direction::Encrypt) => encryptor::<Aes128>(key),
            (Algorithm::AesCbc { .. }, Direction::Encrypt) => encryptor::<Aes256>(key),
            (Algorithm::AesCbc { key_bytes: 16 }, Direction::Decrypt) => decryptor::<Aes128>(key),
            (Algorithm::AesCbc { .. }, Direction::Decrypt) => decryptor::<Aes256>(key),
            (Algorithm::AesGcm { key_bytes: 16 }, _) => aead::<AesGcm<Aes128, U12>>(key),
            (Algorithm::AesGcm { .. }, _) => aead::<AesGcm<Aes256, U12>>(key),
            (Algorithm::ChaCha20Poly1305, _) => aead::<ChaCha20Poly1305>(key),
        }
    }
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error::Failed(format!("rustcrypto: {error}"))
}

fn keyed<C: KeyInit>(key: &[u8]) -> Result<C, Error> {
    C::new_from_slice(key).map_err(failed)
}

/// Creates a cipher whose `start` begins a stream at an IV. A stream's IV cannot be reset, so copying the schedule is the
/// cheapest way.
fn ctr<C, S>(key: &[u8], start: impl Fn(&C, &[u8; 16]) -> S + 'static) -> Result<Subject, Error>
where
    C: KeyInit + 'static,
    S: StreamCipher + 'static,
{
    let cipher: C = keyed(key)?;
    let stream = start(&cipher, &[0; 16]);
    Subject::stream(RustCryptoCtr {
        cipher,
        stream,
        start,
    })
}

struct RustCryptoCtr<C, S, Start> {
    cipher: C,
    stream: S,
    start: Start,
}

impl<C, S, Start> Stream for RustCryptoCtr<C, S, Start>
where
    S: StreamCipher,
    Start: Fn(&C, &[u8; 16]) -> S,
{
    fn set_iv(&mut self, iv: &[u8; 16]) {
        self.stream = (self.start)(&self.cipher, iv);
    }

    fn apply(&mut self, data: &mut [u8]) {
        self.stream.apply_keystream(data);
    }
}

/// The key is copied into each stream: there is no schedule to expand.
struct RustCryptoChaCha20 {
    stream: ChaCha20,
    key: [u8; 32],
}

impl Stream for RustCryptoChaCha20 {
    fn set_iv(&mut self, iv: &[u8; 16]) {
        let nonce: Array<u8, U12> = Array::from_fn(|byte| iv[byte]);
        self.stream = ChaCha20::new(&self.key.into(), &nonce);
    }

    fn apply(&mut self, data: &mut [u8]) {
        self.stream.apply_keystream(data);
    }
}

fn encryptor<C>(key: &[u8]) -> Result<Subject, Error>
where
    C: BlockCipherEncrypt<BlockSize = U16> + KeyInit + Clone + 'static,
{
    let cipher: C = keyed(key)?;
    let mode = cbc::Encryptor::inner_iv_init(cipher.clone(), &[0; 16].into());
    Subject::stream(Encryptor { cipher, mode })
}

struct Encryptor<C: BlockCipherEncrypt<BlockSize = U16>> {
    cipher: C,
    mode: cbc::Encryptor<C>,
}

impl<C: BlockCipherEncrypt<BlockSize = U16> + Clone> Stream for Encryptor<C> {
    fn set_iv(&mut self, iv: &[u8; 16]) {
        self.mode = cbc::Encryptor::inner_iv_init(self.cipher.clone(), &(*iv).into());
    }

    fn apply(&mut self, data: &mut [u8]) {
        self.mode.encrypt_blocks(Array::slice_as_chunks_mut(data).0);
    }
}

fn decryptor<C>(key: &[u8]) -> Result<Subject, Error>
where
    C: BlockCipherDecrypt<BlockSize = U16> + KeyInit + Clone + 'static,
{
    let cipher: C = keyed(key)?;
    let mode = cbc::Decryptor::inner_iv_init(cipher.clone(), &[0; 16].into());
    Subject::stream(Decryptor { cipher, mode })
}

struct Decryptor<C: BlockCipherDecrypt<BlockSize = U16>> {
    cipher: C,
    mode: cbc::Decryptor<C>,
}

impl<C: BlockCipherDecrypt<BlockSize = U16> + Clone> Stream for Decryptor<C> {
    fn set_iv(&mut self, iv: &[u8; 16]) {
        self.mode = cbc::Decryptor::inner_iv_init(self.cipher.clone(), &(*iv).into());
    }

    fn apply(&mut self, data: &mut [u8]) {
        self.mode.decrypt_blocks(Array::slice_as_chunks_mut(data).0);
    }
}

fn aead<A>(key: &[u8]) -> Result<Subject, Error>
where
    A: AeadInOut<NonceSize = U12, TagSize = U16> + KeyInit + 'static,
{
    Subject::aead(RustCryptoAead::<A>(keyed(key)?))
}

struct RustCryptoAead<A>(A);

impl<A: AeadInOut<NonceSize = U12, TagSize = U16>> Aead for RustCryptoAead<A> {
    fn seal(&mut self, nonce: &[u8; 12], aad: &[u8], data: &mut [u8]) -> [u8; 16] {
        let sealed = self
            .0
            .encrypt_inout_detached(&(*nonce).into(), aad, data.into());
        sealed.map_or_else(
            |error| panic!("a message of this length is sealed: {error}"),
            Into::into,
        )
    }

    fn open(&mut self, message: &Sealed, aad: &[u8], data: &mut [u8]) -> bool {
        let (nonce, tag) = (message.nonce.into(), message.tag.into());
        InOutBuf::new(&message.data, data)
            .map_err(|_| ())
            .and_then(|data| {
                self.0
                    .decrypt_inout_detached(&nonce, aad, data, &tag)
                    .map_err(|_| ())
            })
            .is_ok()
    }
}
