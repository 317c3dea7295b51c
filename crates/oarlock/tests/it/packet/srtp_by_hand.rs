//! SRTP and SRTCP packets put together byte by byte with RustCrypto's ciphers, without state between packets.

use aead::{AeadInOut, KeyInit};
use hmac::{Hmac, Mac};
use oarlock::packet::srtp::Suite;
use sha1::Sha1;

use crate::common::apply_reference;

/// Returns keying material for a suite.
pub fn key_of(suite: Suite, seed: u8) -> Vec<u8> {
    (0..suite.key_bytes() as u8)
        .map(|i| i.wrapping_mul(31).wrapping_add(seed))
        .collect()
}

/// The cipher's key, the MAC's key and the salt (RFC 3711, 4.3).
struct Keys {
    cipher: Vec<u8>,
    mac: Vec<u8>,
    salt: Vec<u8>,
}

impl Keys {
    fn derive(suite: Suite, key: &[u8], first_label: u8) -> Self {
        let (cipher_bytes, salt_bytes, _) = sizes(suite);
        let (master, salt) = key.split_at(cipher_bytes);
        let derive = |label: u8, bytes: usize| {
            let mut iv = [0; 16];
            iv[..salt.len()].copy_from_slice(salt);
            iv[7] ^= label;
            let mut derived = vec![0; bytes];
            apply_reference(master, &iv, 0, &mut derived);
            derived
        };
        Self {
            cipher: derive(first_label, cipher_bytes),
            mac: derive(first_label + 1, 20),
            salt: derive(first_label + 2, salt_bytes),
        }
    }

    /// Applies AES-CM (RFC 3711, 4.1.1).
    fn apply(&self, ssrc: &[u8], index: u64, data: &mut [u8]) {
        let mut iv = [0; 16];
        iv[..14].copy_from_slice(&self.salt);
        let index = index.to_be_bytes();
        (iv[4..8].iter_mut().zip(ssrc)).for_each(|(byte, other)| *byte ^= other);
        (iv[8..14].iter_mut().zip(&index[2..])).for_each(|(byte, other)| *byte ^= other);
        apply_reference(&self.cipher, &iv, 0, data);
    }

    fn tag(&self, message: &[u8], bytes: usize) -> Vec<u8> {
        let mut mac = Hmac::<Sha1>::new_from_slice(&self.mac).unwrap();
        mac.update(message);
        mac.finalize().into_bytes()[..bytes].to_vec()
    }

    /// Seals with AES-GCM and returns the tag (RFC 7714, 8.1).
    fn seal(&self, ssrc: &[u8], index: u64, aad: &[u8], data: &mut [u8]) -> Vec<u8> {
        fn seal<A: KeyInit + AeadInOut>(
            key: &[u8],
            nonce: &[u8],
            aad: &[u8],
            data: &mut [u8],
        ) -> Vec<u8> {
            let aead = A::new_from_slice(key).unwrap();
            let nonce = nonce.try_into().unwrap();
            let tag = aead.encrypt_inout_detached(&nonce, aad, data.into());
            tag.unwrap().to_vec()
        }
        let mut nonce = self.salt.clone();
        let index = index.to_be_bytes();
        (nonce[2..6].iter_mut().zip(ssrc)).for_each(|(byte, other)| *byte ^= other);
        (nonce[6..12].iter_mut().zip(&index[2..])).for_each(|(byte, other)| *byte ^= other);
        match self.cipher.len() {
            16 => seal::<aes_gcm::Aes128Gcm>(&self.cipher, &nonce, aad, data),
            _ => seal::<aes_gcm::Aes256Gcm>(&self.cipher, &nonce, aad, data),
        }
    }
}

/// Returns the bytes of the cipher's key, of the salt and of SRTP's tag.
fn sizes(suite: Suite) -> (usize, usize, usize) {
    match suite {
        Suite::AesCm128HmacSha1_80 | Suite::NullHmacSha1_80 => (16, 14, 10),
        Suite::AesCm128HmacSha1_32 | Suite::NullHmacSha1_32 => (16, 14, 4),
        Suite::AesCm192HmacSha1_80 => (24, 14, 10),
        Suite::AesCm192HmacSha1_32 => (24, 14, 4),
        Suite::AesCm256HmacSha1_80 => (32, 14, 10),
        Suite::AesCm256HmacSha1_32 => (32, 14, 4),
        Suite::Aes128Gcm => (16, 12, 16),
        Suite::Aes256Gcm => (32, 12, 16),
        other => panic!("{other:?} is new"),
    }
}

pub fn is_gcm(suite: Suite) -> bool {
    matches!(suite, Suite::Aes128Gcm | Suite::Aes256Gcm)
}

pub fn encrypts(suite: Suite) -> bool {
    !matches!(suite, Suite::NullHmacSha1_80 | Suite::NullHmacSha1_32)
}

/// Returns the bytes of SRTP's tag.
pub fn tag_bytes(suite: Suite) -> usize {
    sizes(suite).2
}

/// Returns the SRTP packet of `packet`, whose payload begins at `header`.
pub fn rtp(
    suite: Suite,
    key: &[u8],
    mki: &[u8],
    index: u64,
    packet: &[u8],
    header: usize,
) -> Vec<u8> {
    let keys = Keys::derive(suite, key, 0);
    let ssrc = packet[8..12].to_vec();
    let (head, payload) = packet.split_at(header);
    let mut payload = payload.to_vec();
    if is_gcm(suite) {
        let tag = keys.seal(&ssrc, index, head, &mut payload);
        return [head, &payload, &tag, mki].concat();
    }
    if encrypts(suite) {
        keys.apply(&ssrc, index, &mut payload);
    }
    let roc = ((index >> 16) as u32).to_be_bytes();
    let sent = [head, &payload].concat();
    let tag = keys.tag(&[&sent[..], &roc].concat(), tag_bytes(suite));
    [&sent[..], mki, &tag].concat()
}

/// Returns the SRTCP packet of `packet`.
pub fn rtcp(
    suite: Suite,
    key: &[u8],
    mki: &[u8],
    index: u32,
    encrypted: bool,
    packet: &[u8],
) -> Vec<u8> {
    let keys = Keys::derive(suite, key, 3);
    let ssrc = packet[4..8].to_vec();
    let encrypted = encrypted && encrypts(suite);
    let word = (index | u32::from(encrypted) << 31).to_be_bytes();
    let (head, body) = packet.split_at(8);
    let mut body = body.to_vec();
    let index = u64::from(index);
    if is_gcm(suite) {
        let tag = if encrypted {
            keys.seal(&ssrc, index, &[head, &word].concat(), &mut body)
        } else {
            keys.seal(&ssrc, index, &[packet, &word].concat(), &mut [])
        };
        return [head, &body, &tag, &word, mki].concat();
    }
    if encrypted {
        keys.apply(&ssrc, index, &mut body);
    }
    let sent = [head, &body, &word].concat();
    let tag = keys.tag(&sent, 10);
    [&sent[..], mki, &tag].concat()
}
