//! Intel's multi-buffer library, in the library that `cargo xtask peers` builds (`bench/peers/ipsec_mb.c`). Building this
//! needs neither its header nor the library.
#![allow(unsafe_code)]

mod library;
pub(crate) mod packets;

use std::sync::Arc;

use oarlock_measure::Error;
use oarlock_measure::cases::{Algorithm, Case, Direction};
use oarlock_measure::peers::{Peer, PeerFactory, Presence, Sealed, Stream, Subject};

use super::pieces::{Pieces, WholeBlocks};
use library::{Aes, Functions, Gcm, Key, Manager, Message};

/// The peer `ipsec-mb`.
pub(crate) const PEER: PeerFactory = PeerFactory {
    name: "ipsec-mb",
    presence: Presence::WhereAvailable,
    open: |_| Ok(Box::new(IpsecMb(Arc::new(Functions::load()?)))),
};

struct IpsecMb(Arc<Functions>);

impl Peer for IpsecMb {
    fn version(&self) -> String {
        self.0.version()
    }

    fn subject(&self, case: &Case, key: &[u8]) -> Result<Subject, Error> {
        let manager = Manager::new(&self.0)?;
        match case.algorithm {
            Algorithm::AesCtr { .. } => Subject::stream(Pieces::of(Ctr {
                key: manager.aes_key(key)?,
                manager,
                counter: 0,
            })),
            Algorithm::AesCbc { .. } => Subject::stream(Cbc {
                key: manager.aes_key(key)?,
                manager,
                direction: case.direction,
                iv: [0; 16],
            }),
            Algorithm::AesGcm { .. } => Subject::aead(Aead {
                key: manager.gcm_key(key)?,
                manager,
                run: |manager: &mut Manager,
                      key: &Key<Gcm>,
                      message: Message<'_>,
                      data: &mut [u8]| { manager.gcm(key, message, data) },
            }),
            Algorithm::ChaCha20Poly1305 => Subject::aead(Aead {
                key: <[u8; 32]>::try_from(key)
                    .map_err(|_| Error::Failed("ipsec-mb: a key of 32 bytes is due".to_owned()))?,
                manager,
                run: |manager: &mut Manager,
                      key: &[u8; 32],
                      message: Message<'_>,
                      data: &mut [u8]| {
                    manager.chacha20_poly1305(key, message, data)
                },
            }),
            Algorithm::ChaCha20 => Err(Error::Unavailable(
                "its ChaCha20 cannot go on from one request to the next".to_owned(),
            )),
            Algorithm::Camellia128Ctr | Algorithm::TripleDesCtr => {
                Err(Error::Unavailable("it has no such counter mode".to_owned()))
            }
        }
    }
}

struct Ctr {
    manager: Manager,
    key: Key<Aes>,
    /// The counter block of the next block. The library adds modulo 2^32; the harness lets no request cross 2^32.
    counter: u128,
}

impl WholeBlocks<16> for Ctr {
    fn set_iv(&mut self, iv: &[u8; 16]) {
        self.counter = u128::from_be_bytes(*iv);
    }

    #[inline]
    fn apply(&mut self, data: &mut [u8]) {
        self.manager
            .ctr(&self.key, &self.counter.to_be_bytes(), data);
        self.counter = self.counter.wrapping_add((data.len() / 16) as u128);
    }
}

struct Cbc {
    manager: Manager,
    key: Key<Aes>,
    direction: Direction,
    iv: [u8; 16],
}

impl Stream for Cbc {
    fn set_iv(&mut self, iv: &[u8; 16]) {
        self.iv = *iv;
    }

    fn apply(&mut self, data: &mut [u8]) {
        let most = match self.direction {
            Direction::Encrypt => CBC_ENCRYPT_BYTES_MAX,
            Direction::Decrypt => usize::MAX,
        };
        for data in data.chunks_mut(most) {
            self.job(data);
        }
    }
}

impl Cbc {
    #[inline]
    fn job(&mut self, data: &mut [u8]) {
        let last = |data: &[u8]| data.last_chunk().copied();
        let iv = self.iv;
        // The next IV is the last ciphertext block, which is in the input when decrypting and in the output when encrypting.
        let before = last(data);
        if before.is_some() {
            self.manager.cbc(&self.key, self.direction, &iv, data);
        }
        let ciphertext = match self.direction {
            Direction::Encrypt => last(data),
            Direction::Decrypt => before,
        };
        self.iv = ciphertext.unwrap_or(iv);
    }
}

struct Aead<K, Run> {
    manager: Manager,
    key: K,
    run: Run,
}

impl<K, Run> oarlock_measure::peers::Aead for Aead<K, Run>
where
    Run: Fn(&mut Manager, &K, Message<'_>, &mut [u8]) -> [u8; 16],
{
    fn seal(&mut self, nonce: &[u8; 12], aad: &[u8], data: &mut [u8]) -> [u8; 16] {
        let message = Message {
            direction: Direction::Encrypt,
            nonce,
            aad,
            input: None,
        };
        (self.run)(&mut self.manager, &self.key, message, data)
    }

    fn open(&mut self, message: &Sealed, aad: &[u8], data: &mut [u8]) -> bool {
        let of_library = Message {
            direction: Direction::Decrypt,
            nonce: &message.nonce,
            aad,
            input: Some(&message.data),
        };
        (self.run)(&mut self.manager, &self.key, of_library, data) == message.tag
    }
}

/// The longest CBC encryption: its lanes have 16-bit lengths.
const CBC_ENCRYPT_BYTES_MAX: usize = 0xfff0;
