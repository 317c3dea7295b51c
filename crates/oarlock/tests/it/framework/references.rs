//! Other implementations of the framework's services.

use aes_gcm::aead::{AeadInOut, KeyInit};
use cbc::cipher::{BlockModeEncrypt, KeyIvInit, StreamCipher};
use hmac::{Hmac, Mac};
use oarlock::Algorithm;
use oarlock::framework::HashAlgorithm;
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha384, Sha512};

use crate::common::apply_reference;

/// Encrypts `data` from an IV on; a stream cipher XORs its keystream.
pub fn encrypt(algorithm: Algorithm, key: &[u8], iv: &[u8], data: &mut [u8]) {
    match algorithm {
        Algorithm::ChaCha20 => {
            let mut cipher = chacha20::ChaCha20::new_from_slices(key, iv).unwrap();
            cipher.apply_keystream(data);
        }
        Algorithm::TripleDesCtr => {
            let mut cipher = ctr::Ctr64BE::<des::TdesEde3>::new_from_slices(key, iv).unwrap();
            cipher.apply_keystream(data);
        }
        Algorithm::Aes128Cbc => cbc_by::<cbc::Encryptor<aes::Aes128>>(key, iv, data),
        Algorithm::Aes192Cbc => cbc_by::<cbc::Encryptor<aes::Aes192>>(key, iv, data),
        Algorithm::Aes256Cbc => cbc_by::<cbc::Encryptor<aes::Aes256>>(key, iv, data),
        _ => apply_reference(key, iv.try_into().unwrap(), 0, data),
    }
}

fn cbc_by<C: KeyIvInit + BlockModeEncrypt>(key: &[u8], iv: &[u8], data: &mut [u8]) {
    let mut cipher = C::new_from_slices(key, iv).unwrap();
    for block in data.chunks_exact_mut(16) {
        let block: &mut cbc::cipher::Block<C> = block.try_into().unwrap();
        cipher.encrypt_block(block);
    }
}

/// Encrypts `data` and returns the tag.
pub fn seal(
    algorithm: Algorithm,
    key: &[u8],
    nonce: &[u8],
    aad: &[u8],
    data: &mut [u8],
) -> Vec<u8> {
    fn by<A: KeyInit + AeadInOut>(
        key: &[u8],
        nonce: &[u8],
        aad: &[u8],
        data: &mut [u8],
    ) -> Vec<u8> {
        let cipher = A::new_from_slice(key).unwrap();
        let nonce = nonce.try_into().unwrap();
        let tag = cipher.encrypt_inout_detached(nonce, aad, data.into());
        tag.unwrap().to_vec()
    }
    type Aes192Gcm = aes_gcm::AesGcm<aes::Aes192, aead::consts::U12>;
    match algorithm {
        Algorithm::Aes128Gcm => by::<aes_gcm::Aes128Gcm>(key, nonce, aad, data),
        Algorithm::Aes192Gcm => by::<Aes192Gcm>(key, nonce, aad, data),
        Algorithm::Aes256Gcm => by::<aes_gcm::Aes256Gcm>(key, nonce, aad, data),
        _ => by::<chacha20poly1305::ChaCha20Poly1305>(key, nonce, aad, data),
    }
}

pub fn hmac(hash: HashAlgorithm, key: &[u8], message: &[u8]) -> Vec<u8> {
    fn by<M: Mac + hmac::KeyInit>(key: &[u8], message: &[u8]) -> Vec<u8> {
        let mut mac = <M as hmac::KeyInit>::new_from_slice(key).unwrap();
        mac.update(message);
        mac.finalize().into_bytes().to_vec()
    }
    match hash {
        HashAlgorithm::Sha1 => by::<Hmac<Sha1>>(key, message),
        HashAlgorithm::Sha256 => by::<Hmac<Sha256>>(key, message),
        HashAlgorithm::Sha384 => by::<Hmac<Sha384>>(key, message),
        HashAlgorithm::Sha512 => by::<Hmac<Sha512>>(key, message),
        HashAlgorithm::Md5 => panic!("no other implementation is here"),
    }
}

pub fn digest(hash: HashAlgorithm, message: &[u8]) -> Vec<u8> {
    match hash {
        HashAlgorithm::Sha1 => Sha1::digest(message).to_vec(),
        HashAlgorithm::Sha256 => Sha256::digest(message).to_vec(),
        HashAlgorithm::Sha384 => Sha384::digest(message).to_vec(),
        HashAlgorithm::Sha512 => Sha512::digest(message).to_vec(),
        HashAlgorithm::Md5 => panic!("no other implementation is here"),
    }
}
