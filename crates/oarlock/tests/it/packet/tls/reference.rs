//! Records put together byte by byte, with RustCrypto's AEADs, HMAC and block ciphers.

use aead::{AeadInOut, Key, KeyInit, Nonce};
use aes::cipher::BlockCipherEncrypt;
use chacha20::ChaCha20;
use chacha20::cipher::{KeyIvInit, StreamCipher, StreamCipherSeek};
use hmac::{Hmac, Mac};
use oarlock::packet::tls::Suite;

/// Returns a traffic secret for the suite.
pub fn secret(suite: Suite) -> Vec<u8> {
    (1..=suite.secret_bytes() as u8).collect()
}

/// Computes HKDF-Expand-Label without a context (RFC 8446, 7.1), with the prefix of either protocol.
pub fn expand(suite: Suite, prefix: &str, secret: &[u8], label: &str, bytes: usize) -> Vec<u8> {
    let label = [prefix, label].concat();
    let mut info = vec![(bytes >> 8) as u8, bytes as u8, label.len() as u8];
    info.extend_from_slice(label.as_bytes());
    info.extend([0, 1]);
    let mut made = match suite {
        Suite::Aes256GcmSha384 => hmac_of::<Hmac<sha2::Sha384>>(secret, &info),
        _ => hmac_of::<Hmac<sha2::Sha256>>(secret, &info),
    };
    made.truncate(bytes);
    made
}

fn hmac_of<M: Mac + KeyInit>(key: &[u8], message: &[u8]) -> Vec<u8> {
    let mut mac = <M as KeyInit>::new_from_slice(key).unwrap();
    mac.update(message);
    mac.finalize().into_bytes().to_vec()
}

/// Returns the key and IV of a traffic secret.
pub fn key_and_iv(suite: Suite, prefix: &str, secret: &[u8]) -> (Vec<u8>, [u8; 12]) {
    let key = expand(suite, prefix, secret, "key", suite.key_bytes());
    let iv = expand(suite, prefix, secret, "iv", 12);
    (key, iv.try_into().unwrap())
}

/// Returns an inner plaintext sealed under the header `aad`, with its tag.
pub fn sealed(
    suite: Suite,
    key: &[u8],
    iv: &[u8; 12],
    sequence: u64,
    aad: &[u8],
    inner: &[u8],
) -> Vec<u8> {
    fn seal<A: KeyInit + AeadInOut>(nonce: &[u8], aad: &[u8], key: &[u8], inner: &[u8]) -> Vec<u8> {
        let aead = A::new(&Key::<A>::try_from(key).unwrap());
        let nonce = Nonce::<A>::try_from(nonce).unwrap();
        let mut sealed = inner.to_vec();
        let tag = aead.encrypt_inout_detached(&nonce, aad, (&mut sealed[..]).into());
        sealed.extend_from_slice(&tag.unwrap());
        sealed
    }
    let mut nonce = *iv;
    for (byte, of_number) in nonce[4..].iter_mut().zip(sequence.to_be_bytes()) {
        *byte ^= of_number;
    }
    match suite {
        Suite::Aes128GcmSha256 => seal::<aes_gcm::Aes128Gcm>(&nonce, aad, key, inner),
        Suite::Aes256GcmSha384 => seal::<aes_gcm::Aes256Gcm>(&nonce, aad, key, inner),
        _ => seal::<chacha20poly1305::ChaCha20Poly1305>(&nonce, aad, key, inner),
    }
}

/// Returns a TLS 1.3 record with any inner plaintext.
pub fn record(suite: Suite, secret: &[u8], sequence: u64, inner: &[u8]) -> Vec<u8> {
    let (key, iv) = key_and_iv(suite, "tls13 ", secret);
    let bytes = (inner.len() + 16) as u16;
    let header = [&[23, 3, 3], &bytes.to_be_bytes()[..]].concat();
    let sealed = sealed(suite, &key, &iv, sequence, &header, inner);
    [header, sealed].concat()
}

/// The header of a DTLS 1.3 record.
#[derive(Clone, Copy, Debug)]
pub struct Look<'a> {
    pub id: &'a [u8],
    pub long_numbers: bool,
    pub length: bool,
}

/// Returns a DTLS 1.3 record with any inner plaintext (RFC 9147, 4).
pub fn datagram(
    suite: Suite,
    secret: &[u8],
    look: Look<'_>,
    (epoch, sequence): (u64, u64),
    inner: &[u8],
) -> Vec<u8> {
    let (key, iv) = key_and_iv(suite, "dtls13", secret);
    let mut first = 0b0010_0000 | (epoch & 3) as u8;
    first |= u8::from(!look.id.is_empty()) << 4;
    first |= u8::from(look.long_numbers) << 3;
    first |= u8::from(look.length) << 2;
    let mut header = vec![first];
    header.extend_from_slice(look.id);
    let number = header.len();
    if look.long_numbers {
        header.push((sequence >> 8) as u8);
    }
    header.push(sequence as u8);
    let end = header.len();
    if look.length {
        header.extend_from_slice(&((inner.len() + 16) as u16).to_be_bytes());
    }
    let sealed = sealed(suite, &key, &iv, sequence, &header, inner);
    let sn_key = expand(suite, "dtls13", secret, "sn", suite.key_bytes());
    let mask = mask(suite, &sn_key, sealed[..16].try_into().unwrap());
    for (byte, mask) in header[number..end].iter_mut().zip(mask) {
        *byte ^= mask;
    }
    [header, sealed].concat()
}

/// Returns the mask of the sequence number (RFC 9147, 4.2.3).
fn mask(suite: Suite, key: &[u8], sample: [u8; 16]) -> [u8; 16] {
    let mut block = sample.into();
    match suite {
        Suite::Aes128GcmSha256 => {
            aes::Aes128::new_from_slice(key)
                .unwrap()
                .encrypt_block(&mut block);
        }
        Suite::Aes256GcmSha384 => {
            aes::Aes256::new_from_slice(key)
                .unwrap()
                .encrypt_block(&mut block);
        }
        _ => {
            let counter = u32::from_le_bytes(sample[..4].try_into().unwrap());
            let mut stream = ChaCha20::new_from_slices(key, &sample[4..]).unwrap();
            stream.seek(u64::from(counter) * 64);
            let mut keystream = [0; 16];
            stream.apply_keystream(&mut keystream);
            return keystream;
        }
    }
    block.into()
}
