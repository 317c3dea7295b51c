//! Contexts, with keys, positions and pieces in any order, against RustCrypto.

use std::sync::LazyLock;

use aead::KeyInit;
use aead::consts::U12;
use aes::{Aes128, Aes192, Aes256};
use aes_gcm::AesGcm;
use arbitrary::Arbitrary;
use chacha20::variants::Ietf;
use chacha20::{ChaChaCore, R20};
use chacha20poly1305::ChaCha20Poly1305;
use cipher::{BlockCipherDecrypt, BlockCipherEncrypt, KeyIvInit, StreamCipherCore};
use inout::InOutBuf;
use oarlock::Accelerator;
use oarlock::Algorithm;
use oarlock_engine::aead::AeadContext;
use oarlock_engine::cipher::CbcContext;
use oarlock_engine::cipher::StreamContext;

use crate::rustcrypto::{apply, seal};

fuzz_target!(|input: Input| {
    match &input.subject {
        Subject::Stream { is_chacha, steps } => input.stream(*is_chacha, steps),
        Subject::Cbc(steps) => input.cbc(steps),
        Subject::Aead {
            is_chacha,
            messages,
        } => input.aead(*is_chacha, messages),
    }
});

#[derive(Arbitrary, Debug)]
struct Input {
    key: [u8; 32],
    size: Size,
    server: Server,
    in_place: bool,
    misalignment: u8,
    subject: Subject,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Size {
    Aes128,
    Aes192,
    Aes256,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Server {
    Nothing,
    Face,
    Avx512,
    Vaes,
    Aes,
    Portable,
}

#[derive(Arbitrary, Debug)]
enum Subject {
    Stream {
        is_chacha: bool,
        steps: Vec<StreamStep>,
    },
    Cbc(Vec<CbcStep>),
    Aead {
        is_chacha: bool,
        messages: Vec<Message>,
    },
}

#[derive(Arbitrary, Debug)]
enum StreamStep {
    Counter {
        counter: u128,
        skip: u8,
    },
    /// A counter that wraps after `blocks` blocks.
    NearWrap {
        blocks: u8,
    },
    Apply {
        bytes: u16,
        times: u8,
    },
    Key(u8),
    Clone,
}

#[derive(Arbitrary, Debug)]
enum CbcStep {
    Iv([u8; 16]),
    Encrypt(u8),
    Decrypt(u8),
    Long { decrypts: bool, blocks: u16 },
    Key(u8),
    Clone,
}

#[derive(Arbitrary, Debug)]
struct Message {
    nonce: [u8; 12],
    key: Option<u8>,
    opens: bool,
    aad: Vec<Vec<u8>>,
    /// Lengths of pieces, over and over.
    pieces: Vec<u16>,
    count: u8,
    is_cloned_at: u8,
    is_given_up: bool,
}

impl Input {
    fn stream(&self, is_chacha: bool, steps: &[StreamStep]) {
        let (operation, block_bytes) = match self.size {
            _ if is_chacha => (Algorithm::ChaCha20, 64),
            Size::Aes128 => (Algorithm::Aes128Ctr, 16),
            Size::Aes192 => (Algorithm::Aes192Ctr, 16),
            Size::Aes256 => (Algorithm::Aes256Ctr, 16),
        };
        let mut key = self.key;
        let accelerator = self.server.accelerator();
        let mut ours = StreamContext::new(
            accelerator.as_ref(),
            operation,
            &key[..operation.key_bytes()],
        )
        .unwrap();
        let (mut counter, mut skip) = (0, 0);
        for step in steps.iter().take(STEPS_MAX) {
            match step {
                StreamStep::Counter {
                    counter: to,
                    skip: by,
                } => {
                    (counter, skip) = (*to, usize::from(*by) % block_bytes);
                    ours.set_counter(counter, skip);
                }
                StreamStep::NearWrap { blocks } => {
                    (counter, skip) = (u128::MAX - u128::from(*blocks), 0);
                    ours.set_counter(counter, skip);
                }
                StreamStep::Apply { bytes, times } => {
                    for _ in 0..times % 20 + 1 {
                        let bytes = usize::from(*bytes);
                        let plaintext = plaintext(bytes);
                        let mut keystream = Vec::new();
                        let mut at = counter;
                        while keystream.len() < skip + bytes {
                            keystream.extend(self.block(is_chacha, &key, at));
                            at = next(is_chacha, at);
                        }
                        let expected: Vec<u8> = plaintext
                            .iter()
                            .zip(&keystream[skip..])
                            .map(|(a, b)| a ^ b)
                            .collect();
                        let found = self.apply(&plaintext, |data| ours.apply(data));
                        assert!(found == expected, "{bytes} bytes at {counter:x}: {self:?}");
                        for _ in 0..(skip + bytes) / block_bytes {
                            counter = next(is_chacha, counter);
                        }
                        skip = (skip + bytes) % block_bytes;
                        assert_eq!(ours.counter(), (counter, skip), "{self:?}");
                    }
                }
                StreamStep::Key(other) => {
                    key[0] = *other;
                    ours.set_key(&key[..operation.key_bytes()]).unwrap();
                }
                StreamStep::Clone => ours = ours.clone(),
            }
        }
    }

    /// Keystream of one block.
    fn block(&self, is_chacha: bool, key: &[u8; 32], counter: u128) -> Vec<u8> {
        if is_chacha {
            let bytes = counter.to_be_bytes();
            let nonce: &[u8; 12] = bytes[..12].try_into().unwrap();
            // Not by `ChaCha20`, which refuses the last block before its counter wraps.
            let mut cipher = ChaChaCore::<R20, Ietf>::new(key.into(), nonce.into());
            cipher.set_block_pos(counter as u32);
            let mut block = cipher::Block::<ChaChaCore<R20, Ietf>>::default();
            cipher.write_keystream_block(&mut block);
            return block.to_vec();
        }
        self.aes(key, counter.to_be_bytes(), false).to_vec()
    }

    fn aes(&self, key: &[u8; 32], block: [u8; 16], decrypts: bool) -> [u8; 16] {
        fn crypt<C: KeyInit + BlockCipherEncrypt + BlockCipherDecrypt>(
            key: &[u8],
            block: [u8; 16],
            decrypts: bool,
        ) -> [u8; 16] {
            let cipher = C::new_from_slice(key).unwrap();
            let mut block = cipher::Block::<C>::try_from(&block[..]).unwrap();
            if decrypts {
                cipher.decrypt_block(&mut block);
            } else {
                cipher.encrypt_block(&mut block);
            }
            block[..].try_into().unwrap()
        }
        match self.size {
            Size::Aes128 => crypt::<Aes128>(&key[..16], block, decrypts),
            Size::Aes192 => crypt::<Aes192>(&key[..24], block, decrypts),
            Size::Aes256 => crypt::<Aes256>(key, block, decrypts),
        }
    }

    fn cbc(&self, steps: &[CbcStep]) {
        let operation = match self.size {
            Size::Aes128 => Algorithm::Aes128Cbc,
            Size::Aes192 => Algorithm::Aes192Cbc,
            Size::Aes256 => Algorithm::Aes256Cbc,
        };
        let mut key = self.key;
        let accelerator = self.server.accelerator();
        let mut ours = CbcContext::new(
            accelerator.as_ref(),
            operation,
            &key[..operation.key_bytes()],
        )
        .unwrap();
        let mut iv = [0; 16];
        for step in steps.iter().take(STEPS_MAX) {
            let (decrypts, blocks) = match step {
                CbcStep::Encrypt(blocks) => (false, usize::from(*blocks)),
                CbcStep::Decrypt(blocks) => (true, usize::from(*blocks)),
                CbcStep::Long { decrypts, blocks } => (*decrypts, usize::from(*blocks) % 10_000),
                CbcStep::Iv(to) => {
                    iv = *to;
                    ours.set_iv(iv);
                    continue;
                }
                CbcStep::Key(other) => {
                    key[0] = *other;
                    ours.set_key(&key[..operation.key_bytes()]).unwrap();
                    continue;
                }
                CbcStep::Clone => {
                    ours = ours.clone();
                    continue;
                }
            };
            let from = plaintext(16 * blocks);
            let mut expected = Vec::new();
            for block in from.as_chunks::<16>().0 {
                if decrypts {
                    let block_before = std::mem::replace(&mut iv, *block);
                    expected.extend(xor(self.aes(&key, *block, true), block_before));
                } else {
                    iv = self.aes(&key, xor(*block, iv), false);
                    expected.extend(iv);
                }
            }
            let found = self.apply(&from, |data| {
                match decrypts {
                    true => ours.decrypt(data),
                    false => ours.encrypt(data),
                }
                .unwrap();
            });
            assert!(found == expected, "{blocks} blocks: {self:?}");
            assert_eq!(ours.iv(), iv, "{self:?}");
        }
    }

    fn aead(&self, is_chacha: bool, messages: &[Message]) {
        let operation = match self.size {
            _ if is_chacha => Algorithm::ChaCha20Poly1305,
            Size::Aes128 => Algorithm::Aes128Gcm,
            Size::Aes192 => Algorithm::Aes192Gcm,
            Size::Aes256 => Algorithm::Aes256Gcm,
        };
        let mut key = self.key;
        let accelerator = self.server.accelerator();
        let mut ours = AeadContext::new(
            accelerator.as_ref(),
            operation,
            &key[..operation.key_bytes()],
        )
        .unwrap();
        for message in messages.iter().take(STEPS_MAX) {
            if let Some(other) = message.key {
                key[0] = other;
                ours.set_key(&key[..operation.key_bytes()]).unwrap();
            }
            let lengths = message.pieces.iter().map(|bytes| usize::from(*bytes));
            let lengths: Vec<usize> = lengths.cycle().take(message.count.into()).collect();
            let plaintext = plaintext(lengths.iter().sum());
            let aad = message.aad.concat();
            let key = &key[..operation.key_bytes()];
            let seal = match operation {
                Algorithm::Aes128Gcm => seal::<AesGcm<Aes128, U12>>,
                Algorithm::Aes192Gcm => seal::<AesGcm<Aes192, U12>>,
                Algorithm::Aes256Gcm => seal::<AesGcm<Aes256, U12>>,
                _ => seal::<ChaCha20Poly1305>,
            };
            let (sealed, tag) = seal(key, &message.nonce, &aad, &plaintext);
            let (from, to) = match message.opens {
                true => (&sealed, &plaintext),
                false => (&plaintext, &sealed),
            };
            ours.begin(&message.nonce).unwrap();
            for piece in &message.aad {
                ours.aad(piece).unwrap();
            }
            let mut at = 0;
            for (i, bytes) in lengths.iter().enumerate() {
                if i == usize::from(message.is_cloned_at) {
                    ours = ours.clone();
                }
                let end = at + bytes;
                let found = self.apply(&from[at..end], |data| {
                    match message.opens {
                        true => ours.open_next(data),
                        false => ours.seal_next(data),
                    }
                    .unwrap();
                });
                assert!(found == to[at..end], "{bytes} at {at}: {self:?}");
                at = end;
            }
            if !message.is_given_up {
                assert!(ours.finish().unwrap() == tag, "tag: {self:?}");
            }
        }
    }

    fn apply(&self, from: &[u8], run: impl FnOnce(InOutBuf<'_, '_, u8>)) -> Vec<u8> {
        apply(self.in_place, self.misalignment, from, run)
    }
}

/// The counter block after `counter`: that of ChaCha20 goes on in the first word of the nonce, as
/// OpenSSL's does.
fn next(is_chacha: bool, counter: u128) -> u128 {
    if !is_chacha {
        return counter.wrapping_add(1);
    }
    let (count, carry) = (counter as u32).overflowing_add(1);
    let word = (counter >> 96) as u32;
    let word = word.swap_bytes().wrapping_add(carry.into()).swap_bytes();
    let middle = counter & (u128::MAX >> 32) & !u128::from(u32::MAX);
    u128::from(word) << 96 | middle | u128::from(count)
}

fn xor(one: [u8; 16], other: [u8; 16]) -> [u8; 16] {
    (u128::from_ne_bytes(one) ^ u128::from_ne_bytes(other)).to_ne_bytes()
}

fn plaintext(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|i| (i * 31 % 251) as u8).collect()
}

impl Server {
    /// Made once each: their threads outlive the input.
    fn accelerator(self) -> &'static Accelerator {
        static ALL: LazyLock<Vec<Accelerator>> = LazyLock::new(|| {
            let masks = ["", "-face", "-avx512", "-vaes", "-aes", "-aes,-avx2"];
            let build = |mask| {
                Accelerator::builder()
                    .max_threads(2)
                    .cpu_mask(mask)
                    .build()
                    .unwrap()
            };
            masks.map(build).into()
        });
        &ALL[self as usize]
    }
}

const STEPS_MAX: usize = 16;
