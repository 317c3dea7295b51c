//! SRTP as RFC 3711 and RFC 7714 say it, a packet at a time, with RustCrypto's ciphers. What is not accepted
//! is `None`, for whatever reason.

use std::collections::{BTreeMap, BTreeSet};

use cipher::{KeyIvInit, StreamCipher};
use hmac::{Hmac, KeyInit, Mac};
use oarlock::packet::srtp::Suite;

use crate::rustcrypto::seal;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    Rtp,
    Rtcp,
}

impl Protocol {
    pub fn of(is_rtcp: bool) -> Self {
        if is_rtcp { Self::Rtcp } else { Self::Rtp }
    }
}

pub struct Plain {
    suite: Suite,
    encrypted_rtcp: bool,
    window: u64,
    streams_max: usize,
    /// MKI and keying material.
    keys: Vec<(Vec<u8>, Vec<u8>)>,
    /// The indices that were seen of SRTP and of SRTCP.
    streams: BTreeMap<u32, [BTreeSet<u64>; 2]>,
}

impl Plain {
    pub fn new(
        suite: Suite,
        encrypted_rtcp: bool,
        window: u64,
        streams_max: usize,
        keys: Vec<(Vec<u8>, Vec<u8>)>,
    ) -> Self {
        Self {
            suite,
            encrypted_rtcp: encrypted_rtcp && !is_null(suite),
            window,
            streams_max,
            keys,
            streams: BTreeMap::new(),
        }
    }

    /// The SRTP or SRTCP packet of this index under one of the keys.
    pub fn seal(
        &self,
        protocol: Protocol,
        key: usize,
        index: u64,
        plain: &[u8],
    ) -> Option<Vec<u8>> {
        let (ssrc, _, header) = parse(protocol, plain)?;
        let (mki, key) = &self.keys[key % self.keys.len()];
        let keys = Keys::derive(self.suite, key, protocol);
        let encrypts = self.encrypts(protocol);
        let word = self.word(protocol, index);
        let mut packet = plain.to_vec();
        if is_gcm(self.suite) {
            let nonce = keys.nonce(ssrc, index);
            let (aad, start) = self.aad(protocol, plain, header, word);
            let (sealed, tag) = keys.gcm(&nonce, &aad, &packet[start..]);
            packet[start..].copy_from_slice(&sealed);
            packet.extend(tag);
            if protocol == Protocol::Rtcp {
                packet.extend(word);
            }
            packet.extend(mki);
            return Some(packet);
        }
        if encrypts {
            keys.cm(ssrc, index, &mut packet[header..]);
        }
        let tag = keys.tag(&[&packet[..], &word].concat());
        if protocol == Protocol::Rtcp {
            packet.extend(word);
        }
        packet.extend(mki);
        packet.extend(&tag[..tag_bytes(self.suite, protocol)]);
        Some(packet)
    }

    /// As a sender: with the next number.
    pub fn protect(&mut self, protocol: Protocol, plain: &[u8]) -> Option<Vec<u8>> {
        let (ssrc, sequence, _) = parse(protocol, plain)?;
        let index = match protocol {
            Protocol::Rtp => self.index(ssrc, sequence)?,
            Protocol::Rtcp => match self.streams.get(&ssrc) {
                Some([_, seen]) => seen.last().map_or(0, |last| last + 1),
                None => 0,
            },
        };
        self.accept(protocol, ssrc, index)?;
        self.seal(protocol, 0, index, plain)
    }

    /// As a receiver.
    pub fn unprotect(&mut self, protocol: Protocol, packet: &[u8]) -> Option<(Vec<u8>, u64)> {
        let tag_bytes = tag_bytes(self.suite, protocol);
        let mki_bytes = self.keys[0].0.len();
        let word_bytes = if protocol == Protocol::Rtcp { 4 } else { 0 };
        let end = packet
            .len()
            .checked_sub(tag_bytes + mki_bytes + word_bytes)?;
        let (ssrc, sequence, header) = parse(protocol, &packet[..end])?;
        // From the end: MKI and tag, or the MKI alone.
        let mki_end = packet.len() - if is_gcm(self.suite) { 0 } else { tag_bytes };
        let mki = &packet[mki_end - mki_bytes..mki_end];
        let key = self.keys.iter().position(|(known, _)| known == mki)?;
        let index = match protocol {
            Protocol::Rtp => self.index(ssrc, sequence)?,
            Protocol::Rtcp => {
                let word = &packet[mki_end - mki_bytes - 4..mki_end - mki_bytes];
                let word = u32::from_be_bytes(word.try_into().unwrap());
                u64::from(word & 0x7fff_ffff)
            }
        };
        if !self.is_new(protocol, ssrc, index) {
            return None;
        }
        // What the key stream is XORed onto is what came out of the other side: sealing it again decrypts it.
        let mut plain = packet[..end].to_vec();
        let keys = Keys::derive(self.suite, &self.keys[key].1, protocol);
        if self.encrypts(protocol) {
            if is_gcm(self.suite) {
                keys.gcm_keystream(&keys.nonce(ssrc, index), &mut plain[header..]);
            } else {
                keys.cm(ssrc, index, &mut plain[header..]);
            }
        }
        let sealed = self.seal(protocol, key, index, &plain)?;
        if sealed != packet {
            return None;
        }
        self.accept(protocol, ssrc, index)?;
        Some((plain, index))
    }

    fn encrypts(&self, protocol: Protocol) -> bool {
        !is_null(self.suite) && (protocol == Protocol::Rtp || self.encrypted_rtcp)
    }

    /// The roll-over counter of SRTP; E and the index of SRTCP.
    fn word(&self, protocol: Protocol, index: u64) -> [u8; 4] {
        let word = match protocol {
            Protocol::Rtp => (index >> 16) as u32,
            Protocol::Rtcp => index as u32 | u32::from(self.encrypted_rtcp) << 31,
        };
        word.to_be_bytes()
    }

    /// The associated data of AES-GCM, and where the plaintext begins.
    fn aad(
        &self,
        protocol: Protocol,
        plain: &[u8],
        header: usize,
        word: [u8; 4],
    ) -> (Vec<u8>, usize) {
        match protocol {
            Protocol::Rtp => (plain[..header].to_vec(), header),
            Protocol::Rtcp if self.encrypted_rtcp => ([&plain[..8], &word].concat(), 8),
            Protocol::Rtcp => ([plain, &word].concat(), plain.len()),
        }
    }

    /// RFC 3711, appendix A.
    fn index(&self, ssrc: u32, sequence: u16) -> Option<u64> {
        let highest = self.streams.get(&ssrc).and_then(|[seen, _]| seen.last());
        let sequence = i64::from(sequence);
        let Some(highest) = highest else {
            return Some(sequence as u64);
        };
        let (roc, last) = ((highest >> 16) as i64, (highest & 0xffff) as i64);
        let v = if last < 32_768 {
            if sequence - last > 32_768 {
                roc - 1
            } else {
                roc
            }
        } else if last - 32_768 > sequence {
            roc + 1
        } else {
            roc
        };
        Some((v.max(0) << 16 | sequence) as u64)
    }

    fn is_new(&self, protocol: Protocol, ssrc: u32, index: u64) -> bool {
        let Some(streams) = self.streams.get(&ssrc) else {
            return self.streams.len() < self.streams_max;
        };
        let seen = &streams[protocol as usize];
        let is_late = seen
            .last()
            .is_some_and(|highest| index + self.window <= *highest);
        !is_late && !seen.contains(&index)
    }

    fn accept(&mut self, protocol: Protocol, ssrc: u32, index: u64) -> Option<()> {
        if !self.is_new(protocol, ssrc, index) {
            return None;
        }
        let streams = self.streams.entry(ssrc).or_default();
        streams[protocol as usize].insert(index);
        Some(())
    }
}

/// The source, the sequence number, and the bytes of the header (RFC 3550, 5.1).
fn parse(protocol: Protocol, packet: &[u8]) -> Option<(u32, u16, usize)> {
    let word = |at: usize| {
        Some(u32::from_be_bytes(
            packet.get(at..at + 4)?.try_into().unwrap(),
        ))
    };
    let first = *packet.first()?;
    if first >> 6 != 2 {
        return None;
    }
    if protocol == Protocol::Rtcp {
        return Some((word(4)?, 0, 8));
    }
    let ssrc = word(8)?;
    let mut header = 12 + 4 * usize::from(first & 15);
    if first & 0x10 != 0 {
        header += 4 + 4 * (word(header)? & 0xffff) as usize;
    }
    let sequence = word(0)? as u16;
    (header <= packet.len()).then_some((ssrc, sequence, header))
}

fn is_gcm(suite: Suite) -> bool {
    matches!(suite, Suite::Aes128Gcm | Suite::Aes256Gcm)
}

fn is_null(suite: Suite) -> bool {
    matches!(suite, Suite::NullHmacSha1_80 | Suite::NullHmacSha1_32)
}

fn tag_bytes(suite: Suite, protocol: Protocol) -> usize {
    match suite {
        Suite::Aes128Gcm | Suite::Aes256Gcm => 16,
        Suite::AesCm128HmacSha1_32
        | Suite::AesCm192HmacSha1_32
        | Suite::AesCm256HmacSha1_32
        | Suite::NullHmacSha1_32
            if protocol == Protocol::Rtp =>
        {
            4
        }
        _ => 10,
    }
}

struct Keys {
    cipher: Vec<u8>,
    mac: Vec<u8>,
    salt: Vec<u8>,
}

impl Keys {
    fn derive(suite: Suite, key: &[u8], protocol: Protocol) -> Self {
        let salt_bytes = if is_gcm(suite) { 12 } else { 14 };
        let (master, salt) = key.split_at(key.len() - salt_bytes);
        let first_label = if protocol == Protocol::Rtcp { 3 } else { 0 };
        let derive = |label: u8, bytes: usize| {
            let mut iv = [0; 16];
            iv[..salt_bytes].copy_from_slice(salt);
            iv[7] ^= first_label + label;
            let mut derived = vec![0; bytes];
            ctr(master, &iv, &mut derived);
            derived
        };
        Self {
            cipher: derive(0, master.len()),
            mac: derive(1, 20),
            salt: derive(2, salt_bytes),
        }
    }

    fn cm(&self, ssrc: u32, index: u64, data: &mut [u8]) {
        let mut iv = [0; 16];
        iv[..14].copy_from_slice(&self.salt);
        let iv = u128::from_be_bytes(iv) ^ u128::from(ssrc) << 64 ^ u128::from(index) << 16;
        ctr(&self.cipher, &iv.to_be_bytes(), data);
    }

    fn tag(&self, message: &[u8]) -> Vec<u8> {
        let mut mac = Hmac::<sha1::Sha1>::new_from_slice(&self.mac).unwrap();
        mac.update(message);
        mac.finalize().into_bytes().to_vec()
    }

    fn nonce(&self, ssrc: u32, index: u64) -> [u8; 12] {
        let mut nonce = [0; 12];
        nonce[2..6].copy_from_slice(&ssrc.to_be_bytes());
        nonce[6..].copy_from_slice(&index.to_be_bytes()[2..]);
        (nonce.iter_mut().zip(&self.salt)).for_each(|(byte, salt)| *byte ^= salt);
        nonce
    }

    /// Returns the ciphertext and its tag.
    fn gcm(&self, nonce: &[u8; 12], aad: &[u8], data: &[u8]) -> (Vec<u8>, [u8; 16]) {
        match self.cipher.len() {
            16 => seal::<aes_gcm::Aes128Gcm>(&self.cipher, nonce, aad, data),
            _ => seal::<aes_gcm::Aes256Gcm>(&self.cipher, nonce, aad, data),
        }
    }

    /// SP 800-38D, 7.1: data begin at the counter 2.
    fn gcm_keystream(&self, nonce: &[u8; 12], data: &mut [u8]) {
        let mut iv = [0; 16];
        iv[..12].copy_from_slice(nonce);
        iv[15] = 2;
        ctr(&self.cipher, &iv, data);
    }
}

fn ctr(key: &[u8], iv: &[u8; 16], data: &mut [u8]) {
    fn run<C: KeyIvInit + StreamCipher>(key: &[u8], iv: &[u8; 16], data: &mut [u8]) {
        C::new_from_slices(key, iv).unwrap().apply_keystream(data);
    }
    match key.len() {
        16 => run::<ctr::Ctr128BE<aes::Aes128>>(key, iv, data),
        24 => run::<ctr::Ctr128BE<aes::Aes192>>(key, iv, data),
        _ => run::<ctr::Ctr128BE<aes::Aes256>>(key, iv, data),
    }
}
