//! Packets put together byte by byte: AEADs by RustCrypto, the other suites by aws-lc's EVP and HMAC.
#![allow(unsafe_code)]

use aead::{AeadInOut, Key, KeyInit, Nonce};
use oarlock::packet::esp::Suite;

use super::SPI;

/// Returns a packet with `body`: the payload, its padding and the trailer. `iv` has the length of the suite's IVs.
pub fn by_hand(
    suite: Suite,
    key: &[u8],
    extended: bool,
    sequence: u64,
    iv: &[u8],
    body: &[u8],
) -> Vec<u8> {
    let header = [SPI.to_be_bytes(), (sequence as u32).to_be_bytes()].concat();
    let upper = ((sequence >> 32) as u32).to_be_bytes();
    let upper = if extended { &upper[..] } else { &[] };
    match suite {
        #[cfg(feature = "aws-lc")]
        Suite::EncryptThenMac(cipher, integrity) => {
            let (cipher_key, mac_key) = key.split_at(cipher.key_bytes());
            let encrypted = evp::encrypt(cipher, cipher_key, iv, body);
            let packet = [&header, iv, &encrypted].concat();
            let icv = evp::hmac(integrity, mac_key, &[&packet, upper].concat());
            [packet, icv].concat()
        }
        _ => {
            let (key, salt) = key.split_last_chunk::<4>().unwrap();
            let aad = [&header[..4], upper, &header[4..]].concat();
            let sealed = by_aead(suite, key, &[salt, iv].concat(), &aad, body);
            [&header, iv, &sealed].concat()
        }
    }
}

/// Returns a payload with the padding and trailer that a sender adds.
pub fn body_of(suite: Suite, payload: &[u8], next_header: u8) -> Vec<u8> {
    let align = super::align(suite);
    let mut body = payload.to_vec();
    let padding = (align - (payload.len() + 2) % align) % align;
    body.extend((1..).take(padding));
    body.extend([padding as u8, next_header]);
    body
}

fn by_aead(suite: Suite, key: &[u8], nonce: &[u8], aad: &[u8], body: &[u8]) -> Vec<u8> {
    fn seal<A: KeyInit + AeadInOut>(nonce: &[u8], aad: &[u8], key: &[u8], body: &mut Vec<u8>) {
        let aead = A::new(&Key::<A>::try_from(key).unwrap());
        let nonce = Nonce::<A>::try_from(nonce).unwrap();
        let tag = aead.encrypt_inout_detached(&nonce, aad, (&mut body[..]).into());
        body.extend_from_slice(&tag.unwrap());
    }
    type Aes192Gcm = aes_gcm::AesGcm<aes::Aes192, aead::consts::U12>;
    let mut sealed = body.to_vec();
    match suite {
        Suite::Aes128Gcm => seal::<aes_gcm::Aes128Gcm>(nonce, aad, key, &mut sealed),
        Suite::Aes192Gcm => seal::<Aes192Gcm>(nonce, aad, key, &mut sealed),
        Suite::Aes256Gcm => seal::<aes_gcm::Aes256Gcm>(nonce, aad, key, &mut sealed),
        Suite::ChaCha20Poly1305 => {
            seal::<chacha20poly1305::ChaCha20Poly1305>(nonce, aad, key, &mut sealed);
        }
        other => unreachable!("{other:?}"),
    }
    sealed
}

#[cfg(feature = "aws-lc")]
pub use evp::hmac;

#[cfg(feature = "aws-lc")]
mod evp {
    use std::ptr::{null, null_mut};

    use aws_lc_sys::{
        EVP_CIPHER_CTX_free, EVP_CIPHER_CTX_new, EVP_CIPHER_CTX_set_padding, EVP_EncryptInit_ex,
        EVP_EncryptUpdate, EVP_aes_128_cbc, EVP_aes_128_ctr, EVP_aes_192_cbc, EVP_aes_192_ctr,
        EVP_aes_256_cbc, EVP_aes_256_ctr, EVP_des_ede3_cbc, EVP_md5, EVP_sha1, EVP_sha256,
        EVP_sha384, EVP_sha512, HMAC,
    };
    use oarlock::packet::esp::{Cipher, Integrity};

    /// Encrypts whole blocks, or any length with AES-CTR.
    pub fn encrypt(cipher: Cipher, key: &[u8], iv: &[u8], body: &[u8]) -> Vec<u8> {
        let (key_bytes, is_ctr) = match cipher {
            Cipher::Null => return body.to_vec(),
            Cipher::Aes128Ctr | Cipher::Aes192Ctr | Cipher::Aes256Ctr => (key.len() - 4, true),
            _ => (key.len(), false),
        };
        let (key, salt) = key.split_at(key_bytes);
        let iv = match is_ctr {
            true => [salt, iv, &[0, 0, 0, 1]].concat(),
            false => iv.to_vec(),
        };
        let is_tdes = cipher == Cipher::TripleDesCbc;
        assert_eq!(iv.len(), if is_tdes { 8 } else { 16 });
        let mut encrypted = vec![0; body.len()];
        let mut written = 0;
        // SAFETY: a fresh context, freed at the end; key and IV have the cipher's lengths, and the output has room for the
        // input's length, which is the output's length without padding.
        unsafe {
            let evp = match (key.len(), is_ctr) {
                _ if is_tdes => EVP_des_ede3_cbc(),
                (16, false) => EVP_aes_128_cbc(),
                (24, false) => EVP_aes_192_cbc(),
                (32, false) => EVP_aes_256_cbc(),
                (16, true) => EVP_aes_128_ctr(),
                (24, true) => EVP_aes_192_ctr(),
                _ => EVP_aes_256_ctr(),
            };
            let context = EVP_CIPHER_CTX_new();
            let (key, iv) = (key.as_ptr(), iv.as_ptr());
            assert_eq!(EVP_EncryptInit_ex(context, evp, null_mut(), key, iv), 1);
            EVP_CIPHER_CTX_set_padding(context, 0);
            let (to, from, bytes) = (encrypted.as_mut_ptr(), body.as_ptr(), body.len() as i32);
            assert_eq!(EVP_EncryptUpdate(context, to, &mut written, from, bytes), 1);
            EVP_CIPHER_CTX_free(context);
        }
        assert_eq!(written as usize, body.len());
        encrypted
    }

    /// Returns the ICV.
    pub fn hmac(integrity: Integrity, key: &[u8], message: &[u8]) -> Vec<u8> {
        let mut tag = vec![0; 64];
        // SAFETY: key and message are passed with their lengths, and `tag` has room for the longest digest.
        let made = unsafe {
            let digest = match integrity {
                Integrity::HmacMd5_96 => EVP_md5(),
                Integrity::HmacSha1_96 => EVP_sha1(),
                Integrity::HmacSha256_128 => EVP_sha256(),
                Integrity::HmacSha384_192 => EVP_sha384(),
                _ => EVP_sha512(),
            };
            let (key, key_bytes) = (key.as_ptr().cast(), key.len());
            let (message, bytes) = (message.as_ptr(), message.len());
            let to = tag.as_mut_ptr();
            let length: *const u32 = null();
            HMAC(
                digest,
                key,
                key_bytes,
                message,
                bytes,
                to,
                length.cast_mut(),
            )
        };
        assert!(!made.is_null());
        tag.truncate(integrity.icv_bytes());
        tag
    }
}
