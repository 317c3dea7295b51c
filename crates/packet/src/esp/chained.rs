//! A cipher followed by an HMAC of the ciphertext, computed in the lanes of [`oarlock_kernels::batch`].
//!
//! The upper half of an extended sequence number is authenticated after the ciphertext (RFC 4303, 3.3.2.1). While the
//! HMAC is computed, it occupies the place of the ICV, which has at least 12 bytes, so the authenticated bytes are
//! contiguous.

use std::hint::black_box;

use inout::InOutBuf;
use oarlock_kernels::aes::{self, Ctr};
use oarlock_kernels::batch::{
    self, CbcHmac, CtrPacket, Hash, HashBackend, HmacKey, Mac, Md5, Sha1, Sha256, Sha384, Sha512,
    apply_ctr, encrypt_then_mac, hmac,
};
use oarlock_kernels::cbc::Cbc;
use oarlock_kernels::cpu::Cpu;
use oarlock_kernels::tdes;
use smallvec::SmallVec;

use super::frame::{Frame, UPPER_HALF_BYTES};
use super::inbound_packet::InboundPacket;
use super::outbound_packet::{Ivs, OutboundPacket};
use super::suite::{COUNTER_IV_BYTES, Cipher, HEADER_BYTES, ICV_BYTES_MAX, Integrity, SALT_BYTES};
use crate::PacketError;
use oarlock_engine::Algorithm;
use oarlock_engine::Error;
use oarlock_engine::costs::Cost;
use oarlock_engine::plan::Engine;

/// The keys of a cipher and an HMAC. The kernels wipe them on drop.
pub(super) struct EncryptThenMac {
    cipher: Cipher,
    key: CipherKey,
    mac: MacKey,
    integrity: Integrity,
    aes: aes::Backend,
    cpu: Cpu,
}

enum CipherKey {
    Null,
    Cbc(Box<Cbc>),
    Ctr {
        key: Box<Ctr>,
        salt: [u8; SALT_BYTES],
    },
    Tdes(Box<tdes::Cbc>, tdes::CbcBackend),
}

enum MacKey {
    Md5(Box<HmacKey<Md5>>),
    Sha1(Box<HmacKey<Sha1>>),
    Sha256(Box<HmacKey<Sha256>>),
    Sha384(Box<HmacKey<Sha384>>),
    Sha512(Box<HmacKey<Sha512>>),
}

/// Evaluates `$run` with the key of whichever hash function is in use.
macro_rules! with_mac {
    ($mac:expr, $key:ident => $run:expr) => {
        match $mac {
            MacKey::Md5($key) => $run,
            MacKey::Sha1($key) => $run,
            MacKey::Sha256($key) => $run,
            MacKey::Sha384($key) => $run,
            MacKey::Sha512($key) => $run,
        }
    };
}

impl EncryptThenMac {
    /// The number of packets that fills the lanes of the widest registers.
    pub(super) const RUN_MIN: usize = 16;

    /// Expands both keys: `key` is the cipher's key material, then the HMAC's key.
    pub(super) fn new(
        cpu: Cpu,
        cipher: Cipher,
        integrity: Integrity,
        key: &[u8],
    ) -> Result<Self, Error> {
        let invalid = |error: &dyn ToString| Error::InvalidKey(error.to_string());
        let (cipher_key, mac_key) = key
            .split_at_checked(cipher.key_bytes())
            .ok_or_else(|| invalid(&"too short"))?;
        let backend = aes::Backend::preferred(cpu);
        // Expand in place, so that no copy stays on the stack.
        let key = match cipher {
            Cipher::Null => CipherKey::Null,
            Cipher::Aes128Cbc | Cipher::Aes192Cbc | Cipher::Aes256Cbc => {
                let mut cbc = Box::new(Cbc::unkeyed(backend));
                cbc.set_key(cipher_key).map_err(|error| invalid(&error))?;
                CipherKey::Cbc(cbc)
            }
            Cipher::Aes128Ctr | Cipher::Aes192Ctr | Cipher::Aes256Ctr => {
                let (cipher_key, salt) = cipher_key
                    .split_last_chunk()
                    .ok_or_else(|| invalid(&"too short"))?;
                let mut ctr = Box::new(Ctr::unkeyed(backend));
                ctr.set_key(cipher_key).map_err(|error| invalid(&error))?;
                CipherKey::Ctr {
                    key: ctr,
                    salt: *salt,
                }
            }
            Cipher::TripleDesCbc => {
                let mut cbc = Box::new(tdes::Cbc::unkeyed());
                cbc.set_key(cipher_key.try_into().map_err(|error| invalid(&error))?);
                CipherKey::Tdes(cbc, tdes::CbcBackend::preferred(cpu))
            }
        };
        let mac = match integrity {
            Integrity::HmacMd5_96 => MacKey::Md5(Box::new(HmacKey::new(mac_key))),
            Integrity::HmacSha1_96 => MacKey::Sha1(Box::new(HmacKey::new(mac_key))),
            Integrity::HmacSha256_128 => MacKey::Sha256(Box::new(HmacKey::new(mac_key))),
            Integrity::HmacSha384_192 => MacKey::Sha384(Box::new(HmacKey::new(mac_key))),
            Integrity::HmacSha512_256 => MacKey::Sha512(Box::new(HmacKey::new(mac_key))),
        };
        Ok(Self {
            cipher,
            key,
            mac,
            integrity,
            aes: backend,
            cpu,
        })
    }

    pub(super) fn wants_random_ivs(&self) -> bool {
        matches!(self.key, CipherKey::Cbc(_) | CipherKey::Tdes(..))
    }

    pub(super) fn algorithm(&self) -> Option<Algorithm> {
        self.cipher.algorithm()
    }

    /// Estimates the cost of a packet in a large batch. Measurements correct it.
    pub(super) fn cost(&self, engine: &Engine) -> Cost {
        let algorithm = match self.cipher {
            Cipher::TripleDesCbc => Some(Algorithm::TripleDesCtr),
            other => other.algorithm(),
        };
        let cipher = algorithm.map(|it| engine.kernel_cost(it));
        let lanes = match HashBackend::preferred(self.cpu).name() {
            "avx512" => 1.0,
            "avx2" => 0.35,
            _ => 0.1,
        };
        // With 16 lanes of 512 bits (docs/internals/packets.md).
        let mac_bytes_per_ns = lanes
            * match self.integrity {
                Integrity::HmacMd5_96 => 6.0,
                Integrity::HmacSha1_96 => 10.0,
                Integrity::HmacSha256_128 => 5.5,
                Integrity::HmacSha384_192 | Integrity::HmacSha512_256 => 4.8,
            };
        let cipher_ns = cipher.map_or(0.0, |cipher| 1.0 / cipher.bytes_per_ns);
        Cost {
            // Padding, the outer block, and switching lanes.
            setup_ns: 30.0 + 2.0 * 64.0 / mac_bytes_per_ns,
            bytes_per_ns: 1.0 / (cipher_ns + 1.0 / mac_bytes_per_ns),
        }
    }

    pub(super) fn seal(&self, frame: Frame, ivs: Ivs<'_>, run: &mut [OutboundPacket<'_>]) {
        for group in run.chunks_mut(GROUP) {
            with_mac!(&self.mac, mac => self.seal_group(mac, frame, ivs, group));
        }
    }

    fn seal_group<H: Hash>(
        &self,
        mac: &HmacKey<H>,
        frame: Frame,
        ivs: Ivs<'_>,
        group: &mut [OutboundPacket<'_>],
    ) {
        let icv_bytes = frame.layout.icv_bytes;
        for packet in &mut *group {
            frame.write(ivs, packet);
            let upper = upper_half(packet.sequence());
            if let Some(sealed) = packet.numbered() {
                let end = sealed.len() - icv_bytes;
                sealed[end..][..UPPER_HALF_BYTES].copy_from_slice(&upper);
            }
        }
        let mut tags = [[0; ICV_BYTES_MAX]; GROUP];
        match &self.key {
            CipherKey::Cbc(cbc) => {
                let iv = |sequence| ivs.random(sequence);
                let mut packets = chained(&**cbc, mac, frame, iv, group, &mut tags);
                encrypt_then_mac(self.aes, self.after_cbc::<H>(packets.len()), &mut packets);
            }
            CipherKey::Tdes(cbc, backend) => {
                let iv = |sequence| ivs.random(sequence)?.first_chunk();
                let mut packets = chained(&**cbc, mac, frame, iv, group, &mut tags);
                encrypt_then_mac(*backend, self.after_cbc::<H>(packets.len()), &mut packets);
            }
            key => {
                if let CipherKey::Ctr { key, salt } = key {
                    let packets = group.iter_mut().map(|packet| {
                        let sequence = packet.sequence();
                        Some((sequence.to_be_bytes(), packet.numbered()?))
                    });
                    self.apply_ctr(key, *salt, frame, packets);
                }
                let packets = group.iter_mut().map(OutboundPacket::numbered);
                self.authenticate(mac, frame, packets, &mut tags);
            }
        }
        for (packet, tag) in group.iter_mut().zip(&tags) {
            if let Some(sealed) = packet.numbered() {
                let end = sealed.len() - icv_bytes;
                sealed[end..].copy_from_slice(&tag[..icv_bytes]);
            }
        }
    }

    pub(super) fn open(&self, frame: Frame, run: &mut [InboundPacket<'_>]) {
        for group in run.chunks_mut(GROUP) {
            with_mac!(&self.mac, mac => self.open_group(mac, frame, group));
        }
    }

    fn open_group<H: Hash>(&self, mac: &HmacKey<H>, frame: Frame, group: &mut [InboundPacket<'_>]) {
        let icv_bytes = frame.layout.icv_bytes;
        let mut received = [[0; ICV_BYTES_MAX]; GROUP];
        for (packet, received) in group.iter_mut().zip(&mut received) {
            if let Some((sequence, sealed)) = packet.candidate() {
                let end = sealed.len() - icv_bytes;
                let icv = &mut sealed[end..];
                received[..icv_bytes].copy_from_slice(icv);
                icv[..UPPER_HALF_BYTES].copy_from_slice(&upper_half(sequence));
            }
        }
        let mut tags = [[0; ICV_BYTES_MAX]; GROUP];
        let packets = group.iter_mut().map(|packet| Some(packet.candidate()?.1));
        self.authenticate(mac, frame, packets, &mut tags);
        for (packet, (tag, received)) in group.iter_mut().zip(tags.iter().zip(&received)) {
            // Both are zero after the ICV, and for packets refused earlier.
            if !is_same(tag, received) {
                packet.refuse(PacketError::AuthenticationFailed);
            }
        }
        // Packets that failed are no candidates now, and are not decrypted.
        match &self.key {
            CipherKey::Null => {}
            CipherKey::Cbc(cbc) => {
                each_body(frame, group, |iv, body| cbc.decrypt(iv, body.into()));
            }
            CipherKey::Tdes(cbc, backend) => each_body(frame, group, |iv, body| {
                cbc.decrypt(*backend, iv, body.into());
            }),
            CipherKey::Ctr { key, salt } => {
                let packets = group.iter_mut().map(|packet| {
                    let (_, sealed) = packet.candidate()?;
                    let iv = sealed[HEADER_BYTES..].first_chunk().copied()?;
                    Some((iv, sealed))
                });
                self.apply_ctr(key, *salt, frame, packets);
            }
        }
    }

    /// Computes the tag of each packet present, including the upper half of an extended number.
    fn authenticate<'p, H: Hash>(
        &self,
        key: &HmacKey<H>,
        frame: Frame,
        packets: impl Iterator<Item = Option<&'p mut [u8]>>,
        tags: &mut [[u8; ICV_BYTES_MAX]],
    ) {
        let icv_bytes = frame.layout.icv_bytes;
        let mut macs: SmallVec<[_; GROUP]> = packets
            .zip(tags)
            .filter_map(|(packet, tag)| {
                let packet = packet?;
                let end = packet.len() - icv_bytes + frame.hidden_bytes();
                Some(Mac {
                    key,
                    message: &packet[..end],
                    tag: &mut tag[..icv_bytes],
                })
            })
            .collect();
        hmac(
            HashBackend::preferred_for::<H>(self.cpu, macs.len()),
            &mut macs,
        );
    }

    fn after_cbc<H: Hash>(&self, packets: usize) -> HashBackend {
        HashBackend::preferred_after_cbc::<H>(self.cpu, packets)
    }

    /// Applies AES-CTR with counter blocks of salt, IV and a count from 1 (RFC 3686, 4).
    fn apply_ctr<'p>(
        &self,
        key: &Ctr,
        salt: [u8; SALT_BYTES],
        frame: Frame,
        packets: impl Iterator<Item = Option<([u8; COUNTER_IV_BYTES], &'p mut [u8])>>,
    ) {
        let salt = u128::from(u32::from_be_bytes(salt)) << 96;
        let mut packets: SmallVec<[_; GROUP]> = packets
            .flatten()
            .map(|(iv, packet)| {
                let end = packet.len() - frame.layout.icv_bytes;
                let iv = u128::from(u64::from_be_bytes(iv)) << 32;
                CtrPacket {
                    key,
                    counter: salt | iv | 1,
                    data: InOutBuf::from(&mut packet[frame.layout.before()..end]),
                }
            })
            .collect();
        apply_ctr(self.aes, &mut packets);
    }
}

/// Returns requests to encrypt and authenticate the numbered packets of `group`.
fn chained<'p, H: Hash, C: batch::Cipher>(
    cipher: &'p C,
    mac: &'p HmacKey<H>,
    frame: Frame,
    iv_of: impl Fn(u64) -> Option<&'p C::Block>,
    group: &'p mut [OutboundPacket<'_>],
    tags: &'p mut [[u8; ICV_BYTES_MAX]],
) -> SmallVec<[CbcHmac<'p, H, C>; GROUP]> {
    let icv_bytes = frame.layout.icv_bytes;
    (group.iter_mut().zip(tags))
        .filter_map(|(packet, tag)| {
            let iv = iv_of(packet.sequence())?;
            let sealed = packet.numbered()?;
            let end = sealed.len() - icv_bytes;
            Some(CbcHmac {
                cipher,
                iv,
                mac,
                packet: &mut sealed[..end + frame.hidden_bytes()],
                encrypted: frame.layout.before()..end,
                tag: &mut tag[..icv_bytes],
            })
        })
        .collect()
}

/// Calls `run` with the IV and ciphertext of each packet that may be authentic.
fn each_body<const IV_BYTES: usize>(
    frame: Frame,
    group: &mut [InboundPacket<'_>],
    mut run: impl FnMut(&mut [u8; IV_BYTES], &mut [u8]),
) {
    for packet in group {
        if let Some((_, sealed)) = packet.candidate() {
            let end = sealed.len() - frame.layout.icv_bytes;
            if let Some((iv, body)) = sealed[HEADER_BYTES..end].split_first_chunk_mut() {
                run(iv, body);
            }
        }
    }
}

fn upper_half(sequence: u64) -> [u8; UPPER_HALF_BYTES] {
    ((sequence >> 32) as u32).to_be_bytes()
}

/// Compares in a time that does not depend on where they differ.
fn is_same(a: &[u8; ICV_BYTES_MAX], b: &[u8; ICV_BYTES_MAX]) -> bool {
    let differing = a.iter().zip(b).fold(0, |bits, (a, b)| bits | (a ^ b));
    black_box(differing) == 0
}

/// Twice the number of lanes, so that a lane whose packet ends finds another.
const GROUP: usize = 32;
