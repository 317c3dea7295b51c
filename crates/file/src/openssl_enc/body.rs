//! The ciphertext. A chunk is one byte for a stream cipher, and one block for CBC.

use std::sync::{Mutex, PoisonError};

use cipher::{StreamCipher as _, StreamCipherSeek as _};
use oarlock::cipher::{AcceleratedCbc, AcceleratedCtr};
use oarlock::{Accelerator, Direction, Strategy};
use oarlock::{Algorithm, Kind};
use oarlock_kernels::chacha20::{Backend, ChaCha20};
use zeroize::Zeroizing;

use super::passphrase::IV_BYTES;
use crate::Error;
use crate::pipeline::{Done, Format, Run};

/// Everything after a file's header: AES in counter mode, ChaCha20, or AES in CBC with padding as in PKCS #7. Keys are wiped
/// on drop.
pub struct Body {
    direction: Direction,
    cipher: Cipher,
}

enum Cipher {
    Ctr(Sessions<AcceleratedCtr>),
    ChaCha20(ChaChaStream),
    Cbc {
        sessions: Sessions<AcceleratedCbc>,
        iv: [u8; IV_BYTES],
    },
}

impl Body {
    /// Creates the format of `openssl enc` for the cipher that has the same name there.
    ///
    /// # Errors
    /// [`Error::Engine`] if the key has another length, or if the cipher is none of these: `aes-{128,192,256}-{ctr,cbc}`,
    /// `chacha20`.
    pub fn new(
        accelerator: &Accelerator,
        cipher: Algorithm,
        key: &[u8],
        iv: &[u8; IV_BYTES],
        direction: Direction,
    ) -> Result<Self, Error> {
        let refused = |error| Error::Engine(error);
        if key.len() != cipher.key_bytes() {
            return Err(refused(oarlock::Error::InvalidKey(format!(
                "a key of {cipher} has {} bytes, this one has {}",
                cipher.key_bytes(),
                key.len()
            ))));
        }
        let cipher = match cipher {
            Algorithm::ChaCha20 => Cipher::ChaCha20(ChaChaStream::new(accelerator, key, iv)),
            Algorithm::Aes128Ctr | Algorithm::Aes192Ctr | Algorithm::Aes256Ctr => Cipher::Ctr(
                Sessions::new(accelerator, key, iv, |accelerator, key, iv| {
                    let mut ctr = accelerator.ctr(key, iv)?;
                    ctr.set_strategy(Strategy::Inline);
                    Ok(ctr)
                }),
            ),
            other if other.kind() == Kind::Cbc => Cipher::Cbc {
                sessions: Sessions::new(accelerator, key, iv, |accelerator, key, iv| {
                    let mut cbc = accelerator.cbc(key, iv)?;
                    cbc.set_strategy(Strategy::Inline);
                    Ok(cbc)
                }),
                iv: *iv,
            },
            other => {
                return Err(refused(oarlock::Error::InvalidInput(format!(
                    "{other} is not a supported cipher of openssl enc"
                ))));
            }
        };
        Ok(Self { direction, cipher })
    }
}

impl Format for Body {
    fn direction(&self) -> Direction {
        self.direction
    }

    fn plain_bytes(&self) -> usize {
        match self.cipher {
            Cipher::Ctr(_) | Cipher::ChaCha20(_) => 1,
            Cipher::Cbc { .. } => BLOCK_BYTES,
        }
    }

    fn sealed_bytes(&self) -> usize {
        self.plain_bytes()
    }

    fn has_last_chunk(&self) -> bool {
        matches!(self.cipher, Cipher::Cbc { .. })
    }

    fn overlap_bytes(&self) -> usize {
        match (&self.cipher, self.direction) {
            (Cipher::Cbc { .. }, Direction::Decrypt) => BLOCK_BYTES,
            _ => 0,
        }
    }

    fn is_chained(&self) -> bool {
        matches!(self.cipher, Cipher::Cbc { .. }) && self.direction == Direction::Encrypt
    }

    fn run(&self, run: &mut Run<'_>) -> Done {
        let (number, bytes) = (run.number(), run.bytes());
        let done = match &self.cipher {
            Cipher::Ctr(sessions) => sessions.with(|ctr| {
                ctr.seek(number);
                ctr.apply_keystream(&mut run.whole()[..bytes]);
                Ok(bytes)
            }),
            Cipher::ChaCha20(stream) => {
                stream.apply(number, &mut run.whole()[..bytes]);
                Ok(bytes)
            }
            Cipher::Cbc { sessions, .. } if self.direction == Direction::Encrypt => {
                // Runs come in order, so there is one session, which holds the chain.
                sessions.with(|cbc| encrypt(cbc, run))
            }
            Cipher::Cbc { sessions, iv } => {
                return decrypt(sessions, iv, run);
            }
        };
        match done {
            Ok(bytes) => Done {
                bytes,
                failure: None,
            },
            Err(error) => Done {
                bytes: 0,
                failure: Some(error),
            },
        }
    }
}

/// Encrypts a run. Returns the length of the ciphertext in bytes.
fn encrypt(cbc: &mut AcceleratedCbc, run: &mut Run<'_>) -> Result<usize, Error> {
    let (bytes, is_end) = (run.bytes(), run.is_end());
    let data = run.whole();
    let blocks_bytes = bytes - bytes % BLOCK_BYTES;
    let (blocks, rest) = data.split_at_mut(blocks_bytes);
    cbc.encrypt(blocks.into()).map_err(Error::Engine)?;
    if !is_end {
        return Ok(blocks_bytes);
    }
    let mut last = Zeroizing::new(Vec::with_capacity(BLOCK_BYTES));
    last.extend_from_slice(&rest[..bytes - blocks_bytes]);
    cbc.encrypt_padded(&mut last).map_err(Error::Engine)?;
    rest[..BLOCK_BYTES].copy_from_slice(&last);
    Ok(blocks_bytes + BLOCK_BYTES)
}

fn decrypt(sessions: &Sessions<AcceleratedCbc>, iv: &[u8; IV_BYTES], run: &mut Run<'_>) -> Done {
    let (bytes, is_end) = (run.bytes(), run.is_end());
    let mut before = *iv;
    if run.number() > 0 {
        before.copy_from_slice(run.overlap());
    }
    // At the end of the file, the last whole block has the padding. What follows it is less than a block.
    let whole_bytes = bytes - bytes % BLOCK_BYTES;
    let plain_bytes = if is_end {
        whole_bytes.saturating_sub(BLOCK_BYTES)
    } else {
        whole_bytes
    };
    let (data, rest) = run.whole().split_at_mut(plain_bytes);
    let last_bytes = sessions.with(|cbc| {
        cbc.set_iv(&before).map_err(Error::Engine)?;
        cbc.decrypt(data.into()).map_err(Error::Engine)?;
        if !is_end {
            return Ok(0);
        }
        if bytes == 0 || bytes != whole_bytes {
            return Err(Error::PartialBlock);
        }
        let mut last = Zeroizing::new(rest[..BLOCK_BYTES].to_vec());
        cbc.decrypt_padded(&mut last).map_err(|error| match error {
            oarlock::Error::InvalidPadding => Error::Padding,
            other => Error::Engine(other),
        })?;
        rest[..last.len()].copy_from_slice(&last);
        Ok(last.len())
    });
    match last_bytes {
        Ok(last_bytes) => Done {
            bytes: plain_bytes + last_bytes,
            failure: None,
        },
        Err(failure @ (Error::Padding | Error::PartialBlock)) => Done {
            bytes: plain_bytes,
            failure: Some(failure),
        },
        Err(failure) => Done {
            bytes: 0,
            failure: Some(failure),
        },
    }
}

/// Sessions of one key. Each serves one thread at a time, so there is one for each working thread.
struct Sessions<C> {
    accelerator: Accelerator,
    key: Zeroizing<Vec<u8>>,
    iv: [u8; IV_BYTES],
    open: Open<C>,
    idle: Mutex<Vec<C>>,
}

type Open<C> = fn(&Accelerator, &[u8], &[u8]) -> Result<C, oarlock::Error>;

impl<C> Sessions<C> {
    fn new(accelerator: &Accelerator, key: &[u8], iv: &[u8; IV_BYTES], open: Open<C>) -> Self {
        Self {
            accelerator: accelerator.clone(),
            key: Zeroizing::new(key.to_vec()),
            iv: *iv,
            open,
            idle: Mutex::default(),
        }
    }

    fn with<T>(&self, work: impl FnOnce(&mut C) -> Result<T, Error>) -> Result<T, Error> {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = idle().pop();
        let mut session = match taken {
            Some(session) => session,
            None => (self.open)(&self.accelerator, &self.key, &self.iv).map_err(Error::Engine)?,
        };
        let result = work(&mut session);
        idle().push(session);
        result
    }
}

/// ChaCha20 as in OpenSSL: the counter of 32 bits carries into the first word of the nonce
/// (`providers/implementations/ciphers/cipher_chacha20.c`), where RFC 8439 ends. An IV derived from a passphrase may begin
/// right before that point.
struct ChaChaStream {
    key: ChaCha20,
    counter: u32,
    /// The nonce in little-endian words.
    nonce: [u32; 3],
}

impl ChaChaStream {
    fn new(accelerator: &Accelerator, key: &[u8], iv: &[u8; IV_BYTES]) -> Self {
        let word = |i: usize| u32::from_le_bytes([iv[i], iv[i + 1], iv[i + 2], iv[i + 3]]);
        let mut stream = Self {
            key: ChaCha20::unkeyed(Backend::preferred(accelerator.cpu())),
            counter: word(0),
            nonce: [word(4), word(8), word(12)],
        };
        // The caller has checked its length.
        let _ = stream.key.set_key(key);
        stream
    }

    /// Applies keystream to `data` at byte `position`.
    fn apply(&self, position: u64, mut data: &mut [u8]) {
        let mut at = (u128::from(self.counter) << BLOCK_SHIFT) + u128::from(position);
        while !data.is_empty() {
            let block = at >> BLOCK_SHIFT;
            let skip = at as usize % (1 << BLOCK_SHIFT);
            let left = (1 << (32 + BLOCK_SHIFT)) - at % (1 << (32 + BLOCK_SHIFT));
            let bytes = usize::try_from(left).map_or(data.len(), |left| left.min(data.len()));
            let (piece, rest) = data.split_at_mut(bytes);
            let [first, second, third] = self.nonce;
            let first = first.wrapping_add((block >> 32) as u32);
            // The kernel's form: the bytes of the nonce in order, as a big-endian number, and the counter.
            let counter = [first, second, third].iter().fold(0, |number, word| {
                number << 32 | u128::from(word.swap_bytes())
            }) << 32
                | u128::from(block as u32);
            self.key.apply(counter, skip, piece.into());
            at += bytes as u128;
            data = rest;
        }
    }
}

const BLOCK_BYTES: usize = 16;
/// The binary logarithm of ChaCha20's block length in bytes.
const BLOCK_SHIFT: u32 = 6;
