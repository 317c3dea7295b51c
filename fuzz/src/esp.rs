//! ESP: packets of any bytes, genuine ones and damaged ones, in calls of any size, compared with a receiver that
//! follows RFC 4303 one packet at a time with RustCrypto's ciphers and a set of the numbers seen.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use aes::{Aes128, Aes192, Aes256};
use aes_gcm::AesGcm;
use arbitrary::Arbitrary;
use chacha20poly1305::ChaCha20Poly1305;
use cipher::{BlockModeDecrypt, BlockModeEncrypt, KeyIvInit, StreamCipher};
use des::TdesEde3;
use hmac::{Hmac, Mac};
use oarlock::Accelerator;
use oarlock::packet::esp::{Association, Cipher, InboundPacket, Integrity, OutboundPacket, Suite};
use oarlock::packet::{PacketError, ReplayWindow};

use crate::rustcrypto::{crypt, for_packets};

fuzz_target!(|input: Input| {
    let case = Case::of(&input);
    let accelerator = &ACCELERATORS[usize::from(input.accelerator) % ACCELERATORS.len()];
    let association = Association::new(SPI, case.suite, &case.key)
        .extended_sequence_numbers(case.extended)
        .replay_window(input.window.into());
    let mut outbound = accelerator.esp_outbound(&association).unwrap();
    let mut inbound = accelerator.esp_inbound(&association).unwrap();
    let mut window = ReplayWindow::new(input.window.into());
    let mut receiver = Receiver {
        case: &case,
        size: window.size(),
        seen: BTreeSet::new(),
    };
    if input.highest > 0 {
        window.insert(input.highest);
        receiver.seen.insert(input.highest);
    }
    inbound.set_window(window);

    for call in input.calls.iter().take(4) {
        let mut packets: Vec<_> = (call.iter().take(40))
            .map(|packet| case.packet(&mut outbound, &receiver, packet))
            .collect();
        // Numbers are judged as at the beginning of the call, then again in their turn.
        let before = receiver.seen.clone();
        let expected: Vec<_> = (packets.iter())
            .map(|packet| receiver.receive(&before, packet))
            .collect();
        let mut found: Vec<_> = packets
            .iter_mut()
            .map(|it| InboundPacket::new(it))
            .collect();
        inbound.open(&mut found);
        for (found, expected) in found.iter().zip(&expected) {
            let found =
                (found.opened()).map(|it| (it.payload.to_vec(), it.next_header, it.sequence));
            assert_eq!(&found, expected, "{:?}", case.suite);
        }
        drop(found);
        for (packet, expected) in packets.iter().zip(&expected) {
            if let Err(PacketError::AuthenticationFailed | PacketError::InvalidPadding) = expected {
                assert!(packet[8..].iter().all(|byte| *byte == 0));
            }
        }
        assert_eq!(inbound.window().highest(), receiver.highest());
    }
});

#[derive(Arbitrary, Debug)]
struct Input {
    suite: u8,
    accelerator: u8,
    key: [u8; 8],
    extended: bool,
    window: u16,
    highest: u64,
    calls: Vec<Vec<Packet>>,
}

#[derive(Arbitrary, Debug)]
enum Packet {
    /// These bytes.
    Any(Vec<u8>),
    /// Behind the header of this association.
    OfThis { low: u32, rest: Vec<u8> },
    /// What our sender makes.
    Sealed {
        sequence: u64,
        payload: Vec<u8>,
        tfc: u8,
    },
    /// What another sender makes, of a body that need not be padded well.
    Odd { near: i8, iv: u8, body: Vec<u8> },
    /// The same with a bit that is not as it was.
    Damaged {
        near: i8,
        payload: Vec<u8>,
        bit: u16,
    },
    /// The same, too short or too long.
    Cut { near: i8, payload: Vec<u8>, by: i8 },
}

struct Case {
    suite: Suite,
    key: Vec<u8>,
    extended: bool,
}

impl Case {
    fn of(input: &Input) -> Self {
        let suite = Suite::ALL[usize::from(input.suite) % Suite::ALL.len()];
        let key = input.key.iter().copied().cycle().take(suite.key_bytes());
        Self {
            suite,
            key: key.collect(),
            // Without them there is no upper half to go on from.
            extended: input.extended || input.highest > u32::MAX.into(),
        }
    }

    fn packet(
        &self,
        outbound: &mut oarlock::packet::esp::Outbound,
        receiver: &Receiver<'_>,
        packet: &Packet,
    ) -> Vec<u8> {
        let near = |near: i8| {
            let sequence = receiver.highest().saturating_add_signed(near.into());
            if self.extended {
                sequence
            } else {
                sequence.min(u32::MAX.into())
            }
        };
        match packet {
            Packet::Any(bytes) => bytes.clone(),
            Packet::OfThis { low, rest } => {
                [&SPI.to_be_bytes()[..], &low.to_be_bytes(), rest].concat()
            }
            Packet::Sealed {
                sequence,
                payload,
                tfc,
            } => {
                outbound.set_sequence(*sequence);
                let before = self.suite.before_bytes();
                let behind = self.suite.behind_bytes_max() + usize::from(*tfc);
                let mut buffer = vec![0xaa; before + payload.len() + behind];
                let range = before..before + payload.len();
                buffer[range.clone()].copy_from_slice(payload);
                let packet = OutboundPacket::new(&mut buffer, range, 4);
                let mut packets = [packet.traffic_flow_padding((*tfc).into())];
                outbound.seal(&mut packets);
                packets[0].sealed().map(<[u8]>::to_vec).unwrap_or_default()
            }
            Packet::Odd {
                near: distance,
                iv,
                body,
            } => {
                let mut body = body.clone();
                let blocks = body.len().div_ceil(self.align()).max(1);
                body.resize(blocks * self.align(), 0);
                self.seal(near(*distance), *iv, &body)
            }
            Packet::Damaged {
                near: distance,
                payload,
                bit,
            } => {
                let mut sealed = self.seal(near(*distance), 7, &self.padded(payload));
                let bit = usize::from(*bit) % (8 * sealed.len());
                sealed[bit / 8] ^= 1 << (bit % 8);
                sealed
            }
            Packet::Cut {
                near: distance,
                payload,
                by,
            } => {
                let mut sealed = self.seal(near(*distance), 7, &self.padded(payload));
                sealed.resize(sealed.len().saturating_add_signed((*by).into()), 0);
                sealed
            }
        }
    }

    fn padded(&self, payload: &[u8]) -> Vec<u8> {
        let padding = (2 * self.align() - (payload.len() + 2) % self.align()) % self.align();
        let mut body = payload.to_vec();
        body.extend((1..).take(padding));
        body.extend([padding as u8, 4]);
        body
    }

    /// RFC 4303, 3.3, with an IV of these bytes.
    fn seal(&self, sequence: u64, iv: u8, body: &[u8]) -> Vec<u8> {
        let header = [SPI.to_be_bytes(), (sequence as u32).to_be_bytes()].concat();
        let iv = vec![iv; self.suite.before_bytes() - 8];
        let Suite::EncryptThenMac(cipher, _) = self.suite else {
            let sealed = self.aead(true, sequence, &iv, body).unwrap();
            return [header, iv, sealed].concat();
        };
        let mut encrypted = body.to_vec();
        self.encrypt(cipher, &iv, &mut encrypted);
        let packet = [header, iv, encrypted].concat();
        let icv = self.icv(sequence, &packet);
        [packet, icv].concat()
    }

    fn align(&self) -> usize {
        match self.suite {
            Suite::EncryptThenMac(Cipher::Aes128Cbc | Cipher::Aes192Cbc | Cipher::Aes256Cbc, _) => {
                16
            }
            Suite::EncryptThenMac(Cipher::TripleDesCbc, _) => 8,
            _ => 4,
        }
    }

    fn icv_bytes(&self) -> usize {
        match self.suite {
            Suite::EncryptThenMac(_, integrity) => integrity.icv_bytes(),
            _ => 16,
        }
    }

    /// Seals, or opens what its tag follows.
    fn aead(&self, seals: bool, sequence: u64, iv: &[u8], data: &[u8]) -> Option<Vec<u8>> {
        type Gcm<A> = AesGcm<A, aead::consts::U12>;
        let (key, salt) = self.key.split_last_chunk::<4>().unwrap();
        let mut aad = SPI.to_be_bytes().to_vec();
        if self.extended {
            aad.extend(((sequence >> 32) as u32).to_be_bytes());
        }
        aad.extend((sequence as u32).to_be_bytes());
        let crypt = match self.suite {
            Suite::Aes128Gcm => crypt::<Gcm<Aes128>>,
            Suite::Aes192Gcm => crypt::<Gcm<Aes192>>,
            Suite::Aes256Gcm => crypt::<Gcm<Aes256>>,
            _ => crypt::<ChaCha20Poly1305>,
        };
        crypt(seals, key, &[salt, iv].concat(), &aad, data)
    }

    fn icv(&self, sequence: u64, packet: &[u8]) -> Vec<u8> {
        fn run<M: Mac + hmac::KeyInit>(key: &[u8], parts: [&[u8]; 2]) -> Vec<u8> {
            let mut mac = <M as hmac::KeyInit>::new_from_slice(key).unwrap();
            parts.iter().for_each(|part| mac.update(part));
            mac.finalize().into_bytes().to_vec()
        }
        let Suite::EncryptThenMac(cipher, integrity) = self.suite else {
            unreachable!("an AEAD has a tag");
        };
        let upper = ((sequence >> 32) as u32).to_be_bytes();
        let parts = [packet, if self.extended { &upper[..] } else { &[] }];
        let key = &self.key[cipher.key_bytes()..];
        let mut icv = match integrity {
            Integrity::HmacMd5_96 => run::<Hmac<md5::Md5>>(key, parts),
            Integrity::HmacSha1_96 => run::<Hmac<sha1::Sha1>>(key, parts),
            Integrity::HmacSha256_128 => run::<Hmac<sha2::Sha256>>(key, parts),
            Integrity::HmacSha384_192 => run::<Hmac<sha2::Sha384>>(key, parts),
            _ => run::<Hmac<sha2::Sha512>>(key, parts),
        };
        icv.truncate(self.icv_bytes());
        icv
    }

    fn encrypt(&self, cipher: Cipher, iv: &[u8], body: &mut [u8]) {
        fn cbc<C: KeyIvInit + BlockModeEncrypt>(key: &[u8], iv: &[u8], body: &mut [u8]) {
            let mut cipher = C::new_from_slices(key, iv).unwrap();
            for block in body.chunks_exact_mut(iv.len()) {
                cipher.encrypt_block(block.try_into().unwrap());
            }
        }
        let key = &self.key[..cipher.key_bytes()];
        match cipher {
            Cipher::Aes128Cbc => cbc::<cbc::Encryptor<Aes128>>(key, iv, body),
            Cipher::Aes192Cbc => cbc::<cbc::Encryptor<Aes192>>(key, iv, body),
            Cipher::Aes256Cbc => cbc::<cbc::Encryptor<Aes256>>(key, iv, body),
            Cipher::TripleDesCbc => cbc::<cbc::Encryptor<TdesEde3>>(key, iv, body),
            _ => self.apply_ctr(cipher, iv, body),
        }
    }

    fn decrypt(&self, cipher: Cipher, iv: &[u8], body: &mut [u8]) {
        fn cbc<C: KeyIvInit + BlockModeDecrypt>(key: &[u8], iv: &[u8], body: &mut [u8]) {
            let mut cipher = C::new_from_slices(key, iv).unwrap();
            for block in body.chunks_exact_mut(iv.len()) {
                cipher.decrypt_block(block.try_into().unwrap());
            }
        }
        let key = &self.key[..cipher.key_bytes()];
        match cipher {
            Cipher::Aes128Cbc => cbc::<cbc::Decryptor<Aes128>>(key, iv, body),
            Cipher::Aes192Cbc => cbc::<cbc::Decryptor<Aes192>>(key, iv, body),
            Cipher::Aes256Cbc => cbc::<cbc::Decryptor<Aes256>>(key, iv, body),
            Cipher::TripleDesCbc => cbc::<cbc::Decryptor<TdesEde3>>(key, iv, body),
            _ => self.apply_ctr(cipher, iv, body),
        }
    }

    fn apply_ctr(&self, cipher: Cipher, iv: &[u8], body: &mut [u8]) {
        fn run<C: KeyIvInit + StreamCipher>(key: &[u8], iv: &[u8], body: &mut [u8]) {
            C::new_from_slices(key, iv).unwrap().apply_keystream(body);
        }
        // The null cipher has no key.
        let Some((key, salt)) = self.key[..cipher.key_bytes()].split_last_chunk::<4>() else {
            return;
        };
        let counter = [&salt[..], iv, &[0, 0, 0, 1]].concat();
        match cipher {
            Cipher::Aes128Ctr => run::<ctr::Ctr128BE<Aes128>>(key, &counter, body),
            Cipher::Aes192Ctr => run::<ctr::Ctr128BE<Aes192>>(key, &counter, body),
            _ => run::<ctr::Ctr128BE<Aes256>>(key, &counter, body),
        }
    }
}

/// The receiver of RFC 4303, 3.4.
struct Receiver<'a> {
    case: &'a Case,
    size: u64,
    seen: BTreeSet<u64>,
}

type Received = Result<(Vec<u8>, u8, u64), PacketError>;

impl Receiver<'_> {
    fn highest(&self) -> u64 {
        highest(&self.seen)
    }

    fn receive(&mut self, seen_before: &BTreeSet<u64>, packet: &[u8]) -> Received {
        let case = self.case;
        let (before, icv_bytes) = (case.suite.before_bytes(), case.icv_bytes());
        let bytes = packet.len();
        let body_bytes = bytes.checked_sub(before + icv_bytes);
        if body_bytes.is_none_or(|it| it == 0 || it % case.align() != 0) {
            return Err(PacketError::InvalidLength { bytes });
        }
        let word = |at: usize| u32::from_be_bytes(packet[at..at + 4].try_into().unwrap());
        if word(0) != SPI {
            return Err(PacketError::OtherAssociation { spi: word(0) });
        }
        let sequence = self
            .number(highest(seen_before), word(4))
            .filter(|number| self.is_new(seen_before, *number))
            .ok_or(PacketError::Replayed)?;
        let (sealed, icv) = packet.split_at(bytes - icv_bytes);
        let (iv, mut body) = (&sealed[8..before], sealed[before..].to_vec());
        match case.suite {
            Suite::EncryptThenMac(cipher, _) => {
                if case.icv(sequence, sealed) != icv {
                    return Err(PacketError::AuthenticationFailed);
                }
                case.decrypt(cipher, iv, &mut body);
            }
            _ => {
                let opened = case.aead(false, sequence, iv, &packet[before..]);
                body = opened.ok_or(PacketError::AuthenticationFailed)?;
            }
        }
        if !self.is_new(&self.seen, sequence) {
            return Err(PacketError::Replayed);
        }
        self.seen.insert(sequence);
        let next_header = body.pop().unwrap();
        let padding = body.pop().unwrap();
        let payload_bytes =
            (body.len().checked_sub(padding.into())).ok_or(PacketError::InvalidPadding)?;
        let counted: Vec<u8> = (1..=padding).collect();
        if body[payload_bytes..] != counted {
            return Err(PacketError::InvalidPadding);
        }
        body.truncate(payload_bytes);
        Ok((body, next_header, sequence))
    }

    fn is_new(&self, seen: &BTreeSet<u64>, number: u64) -> bool {
        let end = u128::from(number) + u128::from(self.size);
        number > 0 && end > highest(seen).into() && !seen.contains(&number)
    }

    /// The only number with this lower half that lies within the window, or else the next one above it
    /// (RFC 4303, A2.2).
    fn number(&self, highest: u64, low: u32) -> Option<u64> {
        if !self.case.extended {
            return Some(low.into());
        }
        let upper = i128::from(highest >> 32);
        (upper - 1..=upper + 1)
            .map(|upper| upper << 32 | i128::from(low))
            .find(|number| *number > i128::from(highest) - i128::from(self.size))
            .and_then(|number| u64::try_from(number).ok())
    }
}

fn highest(seen: &BTreeSet<u64>) -> u64 {
    seen.last().copied().unwrap_or(0)
}

static ACCELERATORS: LazyLock<Vec<Accelerator>> = LazyLock::new(for_packets);

const SPI: u32 = 0x0102_0304;
