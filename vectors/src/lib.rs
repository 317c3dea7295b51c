//! Published test vectors of AES, for tests.
//!
//! [`short`] holds vectors typed in from the standards; [`cavp`] reads larger sets from the files
//! that `cargo xtask vectors` fetches. Reading nothing is an error: a test cannot pass because its
//! vectors are missing.

pub mod cavp;
pub mod short;

/// A message under AES-CTR.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CtrVector {
    /// Where it is from, to be named when it fails.
    pub source: String,
    /// 16, 24 or 32 bytes.
    pub key: Vec<u8>,
    /// The first counter block.
    pub counter_block: [u8; 16],
    /// As long as the ciphertext; not always whole blocks.
    pub plaintext: Vec<u8>,
    /// What AES-CTR makes of the plaintext.
    pub ciphertext: Vec<u8>,
}

/// One block under AES.
///
/// It tests CTR too: with `plaintext` as the counter block, `ciphertext` is the keystream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockVector {
    /// Where it is from, to be named when it fails.
    pub source: String,
    /// 16, 24 or 32 bytes.
    pub key: Vec<u8>,
    /// The block before encryption.
    pub plaintext: [u8; 16],
    /// The block after it.
    pub ciphertext: [u8; 16],
}

#[cfg(test)]
mod tests {
    use aes::{Aes128, Aes192, Aes256};
    use cipher::{BlockCipherEncrypt, KeyInit, KeyIvInit, StreamCipher};

    use super::*;

    #[test]
    fn typed_in_vectors_hold() {
        let vectors = short::sp_800_38a().into_iter().chain(short::rfc_3686());
        assert_eq!(vectors.map(|vector| check_ctr(&vector)).count(), 3 + 9);
    }

    #[test]
    fn read_vectors_hold() {
        let vectors = cavp::aes_ctr().unwrap();
        vectors.iter().for_each(check_ctr);
        assert_eq!(vectors.len(), 9);
    }

    #[test]
    fn read_blocks_hold() {
        let vectors = cavp::aes_blocks().unwrap();
        vectors.iter().for_each(check_block);
        for bytes in [16, 24, 32] {
            let of_size = vectors
                .iter()
                .filter(|vector| vector.key.len() == bytes)
                .count();
            // VarTxt and VarKey alone have 128 + bits, each encrypted and decrypted.
            assert!(
                of_size > 2 * (128 + 8 * bytes),
                "{of_size} of {bytes} bytes"
            );
        }
    }

    fn check_ctr(vector: &CtrVector) {
        let CtrVector {
            source,
            key,
            counter_block,
            plaintext,
            ciphertext,
        } = vector;
        let mut data = plaintext.clone();
        match key.len() {
            16 => apply::<ctr::Ctr128BE<Aes128>>(key, counter_block, &mut data),
            24 => apply::<ctr::Ctr128BE<Aes192>>(key, counter_block, &mut data),
            _ => apply::<ctr::Ctr128BE<Aes256>>(key, counter_block, &mut data),
        }
        assert_eq!(hex::encode(&data), hex::encode(ciphertext), "{source}");
    }

    fn apply<C: KeyIvInit + StreamCipher>(key: &[u8], iv: &[u8], data: &mut [u8]) {
        C::new_from_slices(key, iv).unwrap().apply_keystream(data);
    }

    fn check_block(vector: &BlockVector) {
        let mut block = vector.plaintext.into();
        match vector.key.len() {
            16 => Aes128::new_from_slice(&vector.key)
                .unwrap()
                .encrypt_block(&mut block),
            24 => Aes192::new_from_slice(&vector.key)
                .unwrap()
                .encrypt_block(&mut block),
            _ => Aes256::new_from_slice(&vector.key)
                .unwrap()
                .encrypt_block(&mut block),
        }
        assert_eq!(
            hex::encode(block),
            hex::encode(vector.ciphertext),
            "{}",
            vector.source
        );
    }
}
