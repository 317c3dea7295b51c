//! Authenticated ciphers against RustCrypto: whole messages inline and in stripes, in pieces, and
//! under consecutive nonces; nothing is released that is not authentic.

use std::sync::LazyLock;
use std::time::Duration;

use aead::consts::{U8, U12, U16};
use aead::{AeadInOut, KeyInit};
use aes::{Aes128, Aes192, Aes256};
use aes_gcm::AesGcm;
use arbitrary::Arbitrary;
use chacha20poly1305::ChaCha20Poly1305;
use inout::InOutBuf;
use oarlock::Algorithm;
use oarlock::aead::NonceSequence;
use oarlock::device::CipherDevice;
use oarlock::{Accelerator, Error, Strategy};

use crate::rustcrypto::{apply, seal};

fuzz_target!(|input: Input| {
    match &input.subject {
        Subject::Message { way, damage } => input.whole(*way, *damage),
        Subject::Pieces { lengths, damage } => input.in_pieces(lengths, *damage),
        Subject::Sequence { xor, first, steps } => input.in_sequence(*xor, *first, steps),
    }
});

#[derive(Arbitrary, Debug)]
struct Input {
    algorithm: Aead,
    key: [u8; 32],
    nonce: [u8; 16],
    /// ChaCha20-Poly1305 takes 12 bytes.
    nonce_bytes: NonceBytes,
    aad: Vec<u8>,
    length: u16,
    /// Several times as long, for more stripes.
    is_long: bool,
    misalignment: u8,
    in_place: bool,
    server: Server,
    subject: Subject,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Aead {
    Aes128Gcm,
    Aes192Gcm,
    Aes256Gcm,
    ChaCha20Poly1305,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum NonceBytes {
    Twelve,
    Eight,
    Sixteen,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Server {
    Nothing,
    Face,
    Avx512,
    Vaes,
    Aes,
    Portable,
    Software,
}

#[derive(Arbitrary, Debug)]
enum Subject {
    Message {
        way: Way,
        damage: Damage,
    },
    /// Lengths over and over.
    Pieces {
        lengths: Vec<u16>,
        damage: Damage,
    },
    Sequence {
        xor: bool,
        first: u64,
        steps: Vec<Step>,
    },
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Way {
    Auto,
    Inline,
    Stripe,
    Prefetch,
}

/// A bit that is not as it was sealed.
#[derive(Arbitrary, Clone, Copy, Debug)]
enum Damage {
    Tag(u8),
    Ciphertext(u32),
    Aad(u8),
}

#[derive(Arbitrary, Debug)]
enum Step {
    Seal {
        bytes: u16,
    },
    /// Refused first, then taken.
    Open {
        bytes: u16,
        damage: u8,
    },
    Skip(u8),
    Back(u8),
    Prefill {
        microseconds: u8,
    },
}

type Sealed = (Vec<u8>, [u8; 16]);

impl Input {
    fn whole(&self, way: Way, damage: Damage) {
        let aead = self
            .server
            .accelerator(way)
            .aead(self.algorithm(), self.key())
            .unwrap();
        let plaintext = self.plaintext(self.bytes());
        let (expected, expected_tag) = self.by_rustcrypto(self.nonce(), &plaintext);
        let nonce = self.nonce();

        let mut tag = [0; 16];
        let sealed = self.apply(&plaintext, |data| {
            tag = aead.seal(nonce, &self.aad, data).unwrap();
        });
        assert!(sealed == expected && tag == expected_tag, "seal: {self:?}");

        let opened = self.apply(&sealed, |data| {
            aead.open(nonce, &self.aad, data, &tag).unwrap();
        });
        assert!(opened == plaintext, "open: {self:?}");

        let (damaged, aad, tag) = self.damaged(damage, sealed, tag);
        let refused = self.apply(&damaged, |data| {
            let result = aead.open(nonce, &aad, data, &tag);
            assert!(
                matches!(result, Err(Error::AuthenticationFailed)),
                "{self:?}"
            );
        });
        if self.in_place {
            assert!(refused == damaged, "not the ciphertext again: {self:?}");
        } else {
            assert!(refused.iter().all(|byte| *byte == 0), "released: {self:?}");
        }
    }

    fn in_pieces(&self, lengths: &[u16], damage: Damage) {
        let accelerator = self.server.accelerator(Way::Auto);
        let aead = accelerator.aead(self.algorithm(), self.key()).unwrap();
        let plaintext = self.plaintext(self.bytes());
        let (expected, expected_tag) = self.by_rustcrypto(self.nonce(), &plaintext);

        let mut sealer = aead.sealer(self.nonce(), &self.aad).unwrap();
        let sealed = self.apply_in_pieces(&plaintext, lengths, |piece| {
            sealer.update(piece).unwrap();
        });
        let tag = sealer.finish();
        assert!(sealed == expected && tag == expected_tag, "seal: {self:?}");

        let mut opener = aead.opener(self.nonce(), &self.aad).unwrap();
        let opened = self.apply_in_pieces(&sealed, lengths, |piece| {
            opener.update(piece).unwrap();
        });
        assert!(
            opener.finish(&tag).is_ok() && opened == plaintext,
            "open: {self:?}"
        );

        let (damaged, aad, tag) = self.damaged(damage, sealed, tag);
        let mut opener = aead.opener(self.nonce(), &aad).unwrap();
        self.apply_in_pieces(&damaged, lengths, |piece| opener.update(piece).unwrap());
        assert!(opener.finish(&tag).is_err(), "{self:?}");
    }

    fn in_sequence(&self, xor: bool, first: u64, steps: &[Step]) {
        let nonces = if xor {
            NonceSequence::Xor {
                iv: self.nonce[..12].try_into().unwrap(),
            }
        } else {
            NonceSequence::Counter {
                fixed: self.nonce[..4].try_into().unwrap(),
            }
        };
        let mut ours = self
            .server
            .accelerator(Way::Prefetch)
            .sequenced_aead(self.algorithm(), self.key(), nonces, RECORD_BYTES_MAX)
            .unwrap();
        let mut number = first;
        ours.set_sequence(number);
        for step in steps.iter().take(STEPS_MAX) {
            assert_eq!(ours.sequence(), number);
            let nonce = nonces.nonce(number);
            match step {
                Step::Seal { bytes } => {
                    let plaintext = self.plaintext((*bytes).into());
                    let mut result = None;
                    let sealed = self.apply(&plaintext, |data| {
                        result = Some(ours.seal_next(&self.aad, data));
                    });
                    let result = result.unwrap();
                    if number == u64::MAX {
                        assert!(result.is_err(), "{self:?}");
                        continue;
                    }
                    let expected = self.by_rustcrypto_12(&nonce, &plaintext);
                    assert!((sealed, result.unwrap()) == expected, "seal: {self:?}");
                    number += 1;
                }
                Step::Open { bytes, damage } => {
                    let plaintext = self.plaintext((*bytes).into());
                    let (sealed, tag) = self.by_rustcrypto_12(&nonce, &plaintext);
                    let mut wrong = tag;
                    wrong[usize::from(damage % 16)] ^= 1;
                    let refused = self.apply(&sealed, |data| {
                        assert!(ours.open_next(&self.aad, data, &wrong).is_err(), "{self:?}");
                    });
                    if number == u64::MAX {
                        continue;
                    }
                    if self.in_place {
                        assert!(refused == sealed, "not the ciphertext again: {self:?}");
                    } else {
                        assert!(refused.iter().all(|byte| *byte == 0), "released: {self:?}");
                    }
                    let opened = self.apply(&sealed, |data| {
                        ours.open_next(&self.aad, data, &tag).unwrap();
                    });
                    assert!(opened == plaintext, "open: {self:?}");
                    number += 1;
                }
                Step::Skip(by) => {
                    number = number.saturating_add((*by).into());
                    ours.set_sequence(number);
                }
                Step::Back(by) => {
                    number = number.saturating_sub((*by).into());
                    ours.set_sequence(number);
                }
                Step::Prefill { microseconds } => {
                    ours.prefill(Duration::from_micros((*microseconds).into()));
                }
            }
        }
    }

    fn apply(&self, from: &[u8], run: impl FnOnce(InOutBuf<'_, '_, u8>)) -> Vec<u8> {
        apply(self.in_place, self.misalignment, from, run)
    }

    fn apply_in_pieces(
        &self,
        from: &[u8],
        lengths: &[u16],
        mut run: impl FnMut(InOutBuf<'_, '_, u8>),
    ) -> Vec<u8> {
        self.apply(from, |mut data| {
            // Zeros alone would go on without end.
            for length in lengths.iter().cycle().take(PIECES_MAX) {
                let bytes = data.len().min((*length).into());
                let (piece, rest) = data.split_at(bytes);
                run(piece);
                data = rest;
            }
            run(data);
        })
    }

    fn damaged(
        &self,
        damage: Damage,
        mut sealed: Vec<u8>,
        mut tag: [u8; 16],
    ) -> (Vec<u8>, Vec<u8>, [u8; 16]) {
        let mut aad = self.aad.clone();
        match damage {
            Damage::Ciphertext(bit) if !sealed.is_empty() => flip(&mut sealed, bit as usize),
            Damage::Aad(bit) if !aad.is_empty() => flip(&mut aad, bit.into()),
            Damage::Tag(bit) | Damage::Aad(bit) => flip(&mut tag, bit.into()),
            Damage::Ciphertext(bit) => flip(&mut tag, bit as usize),
        }
        (sealed, aad, tag)
    }

    fn by_rustcrypto(&self, nonce: &[u8], plaintext: &[u8]) -> Sealed {
        match nonce.len() {
            8 => self.by_gcm::<U8>(nonce, plaintext),
            16 => self.by_gcm::<U16>(nonce, plaintext),
            _ => self.by_rustcrypto_12(nonce, plaintext),
        }
    }

    fn by_rustcrypto_12(&self, nonce: &[u8], plaintext: &[u8]) -> Sealed {
        match self.algorithm {
            Aead::ChaCha20Poly1305 => self.by::<ChaCha20Poly1305>(nonce, plaintext),
            _ => self.by_gcm::<U12>(nonce, plaintext),
        }
    }

    fn by_gcm<N: aead::array::ArraySize>(&self, nonce: &[u8], plaintext: &[u8]) -> Sealed {
        match self.algorithm {
            Aead::Aes128Gcm => self.by::<AesGcm<Aes128, N>>(nonce, plaintext),
            Aead::Aes192Gcm => self.by::<AesGcm<Aes192, N>>(nonce, plaintext),
            _ => self.by::<AesGcm<Aes256, N>>(nonce, plaintext),
        }
    }

    fn by<A: KeyInit + AeadInOut>(&self, nonce: &[u8], plaintext: &[u8]) -> Sealed {
        seal::<A>(self.key(), nonce, &self.aad, plaintext)
    }

    fn algorithm(&self) -> Algorithm {
        match self.algorithm {
            Aead::Aes128Gcm => Algorithm::Aes128Gcm,
            Aead::Aes192Gcm => Algorithm::Aes192Gcm,
            Aead::Aes256Gcm => Algorithm::Aes256Gcm,
            Aead::ChaCha20Poly1305 => Algorithm::ChaCha20Poly1305,
        }
    }

    fn key(&self) -> &[u8] {
        &self.key[..self.algorithm().key_bytes()]
    }

    fn nonce(&self) -> &[u8] {
        match (self.algorithm, self.nonce_bytes) {
            (Aead::ChaCha20Poly1305, _) | (_, NonceBytes::Twelve) => &self.nonce[..12],
            (_, NonceBytes::Eight) => &self.nonce[..8],
            (_, NonceBytes::Sixteen) => &self.nonce,
        }
    }

    fn bytes(&self) -> usize {
        usize::from(self.length) * if self.is_long { 5 } else { 1 }
    }

    fn plaintext(&self, bytes: usize) -> Vec<u8> {
        (0..bytes).map(|i| (i * 31 % 251) as u8).collect()
    }
}

fn flip(bytes: &mut [u8], bit: usize) {
    let bit = bit % (8 * bytes.len());
    bytes[bit / 8] ^= 1 << (bit % 8);
}

impl Server {
    /// Made once each: their threads outlive the input.
    fn accelerator(self, way: Way) -> &'static Accelerator {
        static ALL: LazyLock<Vec<[Accelerator; 4]>> = LazyLock::new(|| {
            let masks = ["", "-face", "-avx512", "-vaes", "-aes", "-aes,-avx2", ""];
            masks
                .into_iter()
                .enumerate()
                .map(|(server, mask)| WAYS.map(|way| build(server, mask, way)))
                .collect()
        });
        fn build(server: usize, mask: &str, strategy: Strategy) -> Accelerator {
            let device = match server == Server::Software as usize {
                true => CipherDevice::Software,
                false => CipherDevice::Cpu,
            };
            let builder = Accelerator::builder().max_threads(2).cpu_mask(mask);
            let builder = builder.strategy(strategy).cipher_device(device);
            builder.build().unwrap()
        }
        &ALL[self as usize][way as usize]
    }
}

/// In the order of [`Way`].
const WAYS: [Strategy; 4] = [
    Strategy::Auto,
    Strategy::Inline,
    Strategy::Stripe,
    Strategy::Prefetch,
];
/// Some records of a sequence are longer than what is made ahead of them.
const RECORD_BYTES_MAX: usize = 16 << 10;
const STEPS_MAX: usize = 32;
const PIECES_MAX: usize = 1000;
