//! Every vector against RustCrypto: what is handed to the tests of others is what was published.

use aes::cipher::consts::U16;
use aes::{Aes128, Aes192, Aes256};
use chacha20::ChaCha20;
use chacha20poly1305::ChaCha20Poly1305;
use chacha20poly1305::aead::AeadInOut;
use cipher::block_padding::Pkcs7;
use cipher::{
    BlockCipherDecrypt, BlockCipherEncrypt, BlockModeDecrypt, BlockModeEncrypt, InnerIvInit,
    KeyInit, KeyIvInit, StreamCipher, StreamCipherSeek,
};
use ghash::GHash;
use ghash::universal_hash::UniversalHash;

use super::age::{AgeExpectation, AgeVector};
use super::*;

/// Calls a function with the AES that a key is for.
macro_rules! with_aes {
    ($key:expr, $function:ident($($argument:expr),*)) => {
        match $key.len() {
            16 => $function::<Aes128>($($argument),*),
            24 => $function::<Aes192>($($argument),*),
            _ => $function::<Aes256>($($argument),*),
        }
    };
}

trait Aes: KeyInit + BlockCipherEncrypt<BlockSize = U16> + BlockCipherDecrypt {}
impl<A: KeyInit + BlockCipherEncrypt<BlockSize = U16> + BlockCipherDecrypt> Aes for A {}

#[test]
fn typed_in_ctr_holds() {
    let vectors = short::sp_800_38a().into_iter().chain(short::rfc_3686());
    assert_eq!(vectors.map(|vector| check_ctr(&vector)).count(), 3 + 9);
}

#[test]
fn read_ctr_holds() {
    let vectors = cavp::aes_ctr().unwrap();
    vectors.iter().for_each(check_ctr);
    assert_eq!(vectors.len(), 9);
}

#[test]
fn blocks_hold() {
    let vectors = cavp::aes_blocks().unwrap();
    for vector in &vectors {
        let block = with_aes!(vector.key, block(&vector.key, vector.plaintext));
        assert_same(&block, &vector.ciphertext, &vector.source);
    }
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

#[test]
fn cbc_holds() {
    let cavp = cavp::aes_cbc().unwrap();
    let wycheproof = wycheproof::aes_cbc_pkcs7().unwrap();
    let short = short::sp_800_38a_cbc();
    assert_eq!((cavp.len(), wycheproof.len(), short.len()), (2138, 216, 3));
    assert_eq!(wycheproof.iter().filter(|v| v.is_valid).count(), 72);
    for vector in cavp.iter().chain(&wycheproof).chain(&short) {
        with_aes!(vector.key, check_cbc(vector));
    }
}

#[test]
fn monte_carlo_holds() {
    let vectors = short::cbc_monte_carlo();
    assert_eq!(vectors.len(), 6);
    for vector in vectors {
        let output = with_aes!(vector.key, monte_carlo(&vector));
        assert_same(&output, &vector.output, &vector.source);
    }
}

#[test]
fn gcm_holds() {
    let cavp = cavp::aes_gcm().unwrap();
    let wycheproof = wycheproof::aes_gcm().unwrap();
    assert_eq!((cavp.len(), wycheproof.len()), (6 * 7875, 316));
    let forged = |vectors: &[AeadVector]| vectors.iter().filter(|v| !v.is_valid).count();
    assert_eq!((forged(&cavp), forged(&wycheproof)), (11_908, 87));
    for bits in [32, 64, 96, 104, 112, 120, 128] {
        let count = cavp.iter().filter(|v| v.tag_bits() == bits).count();
        assert_eq!(count, 6 * 7875 / 7, "{bits}");
    }
    for vector in cavp.iter().chain(&wycheproof) {
        if vector.nonce.is_empty() {
            assert!(!vector.is_valid, "{}", vector.source);
        } else {
            with_aes!(vector.key, check_gcm(vector));
        }
    }
}

#[test]
fn chacha20_poly1305_holds() {
    let read = cavp::chacha20_poly1305().unwrap();
    let wycheproof = wycheproof::chacha20_poly1305().unwrap();
    let short = short::rfc_8439();
    assert_eq!((read.len(), wycheproof.len(), short.len()), (71, 325, 2));
    assert_eq!(wycheproof.iter().filter(|v| v.is_valid).count(), 256);
    assert_eq!(read.iter().filter(|v| v.is_valid).count(), 70);
    read.iter()
        .chain(&wycheproof)
        .chain(&short)
        .for_each(check_chacha20_poly1305);
}

#[test]
fn chacha20_holds() {
    let vectors = cavp::chacha20().unwrap();
    assert_eq!(vectors.len(), 3);
    for vector in vectors {
        let mut data = vector.plaintext.clone();
        let mut cipher = ChaCha20::new_from_slices(&vector.key, &vector.nonce).unwrap();
        cipher.seek(64 * u64::from(vector.counter));
        cipher.apply_keystream(&mut data);
        assert_same(&data, &vector.ciphertext, &vector.source);
    }
}

/// Only the readers of age files can check whether they hold.
#[test]
fn age_files_are_all_there() {
    use AgeExpectation::*;
    let vectors = age::all().unwrap();
    let count = |expect| vectors.iter().filter(|v| v.expect == expect).count();
    let ends = [
        Success,
        NoMatch,
        HmacFailure,
        HeaderFailure,
        ArmorFailure,
        PayloadFailure,
    ];
    assert_eq!(ends.map(count), [26, 13, 1, 62, 26, 19]);
    assert_eq!(vectors.iter().filter(|v| v.is_hybrid()).count(), 19);
    assert_eq!(vectors.iter().filter(|v| v.is_armored).count(), 37);
    for AgeVector {
        source,
        expect,
        payload_sha256,
        file,
        ..
    } in &vectors
    {
        let releases = matches!(expect, Success | PayloadFailure);
        assert_eq!(payload_sha256.is_some(), releases, "{source}");
        assert_eq!(file.is_empty(), source == "empty", "{source}");
    }
}

fn check_ctr(vector: &CtrVector) {
    let mut data = vector.plaintext.clone();
    let CtrVector {
        key, counter_block, ..
    } = vector;
    match key.len() {
        16 => apply::<ctr::Ctr128BE<Aes128>>(key, counter_block, &mut data),
        24 => apply::<ctr::Ctr128BE<Aes192>>(key, counter_block, &mut data),
        _ => apply::<ctr::Ctr128BE<Aes256>>(key, counter_block, &mut data),
    }
    assert_same(&data, &vector.ciphertext, &vector.source);
}

fn apply<C: KeyIvInit + StreamCipher>(key: &[u8], iv: &[u8], data: &mut [u8]) {
    C::new_from_slices(key, iv).unwrap().apply_keystream(data);
}

fn block<A: Aes>(key: &[u8], plaintext: [u8; 16]) -> [u8; 16] {
    let mut block = plaintext.into();
    A::new_from_slice(key).unwrap().encrypt_block(&mut block);
    block.into()
}

fn check_cbc<A: Aes>(vector: &CbcVector) {
    let CbcVector {
        source,
        key,
        iv,
        plaintext,
        ciphertext,
        ..
    } = vector;
    let decryptor = cbc::Decryptor::<A>::inner_iv_init(A::new_from_slice(key).unwrap(), iv.into());
    let encryptor = cbc::Encryptor::<A>::inner_iv_init(A::new_from_slice(key).unwrap(), iv.into());
    let mut data = ciphertext.clone();
    match vector.padding {
        Padding::None => {
            let (blocks, rest) = data.as_chunks_mut::<16>();
            assert!(rest.is_empty(), "{source}");
            let mut decryptor = decryptor;
            blocks
                .iter_mut()
                .for_each(|block| decryptor.decrypt_block(block.into()));
            assert_same(&data, plaintext, source);
            let mut encryptor = encryptor;
            let (blocks, _) = data.as_chunks_mut::<16>();
            blocks
                .iter_mut()
                .for_each(|block| encryptor.encrypt_block(block.into()));
        }
        Padding::Pkcs7 => {
            let decrypted = decryptor.decrypt_padded::<Pkcs7>(&mut data);
            assert_eq!(decrypted.is_ok(), vector.is_valid, "{source}");
            let Ok(decrypted) = decrypted else { return };
            assert_same(decrypted, plaintext, source);
            let bytes = plaintext.len();
            data.resize(bytes / 16 * 16 + 16, 0);
            encryptor.encrypt_padded::<Pkcs7>(&mut data, bytes).unwrap();
        }
    }
    assert_same(&data, ciphertext, source);
}

fn monte_carlo<A: Aes>(vector: &MonteCarloVector) -> [u8; 16] {
    let encrypts = vector.encrypts;
    vector.run(|key, iv| {
        let cipher = || A::new_from_slice(key).unwrap();
        let mut encryptor = cbc::Encryptor::<A>::inner_iv_init(cipher(), (&iv).into());
        let mut decryptor = cbc::Decryptor::<A>::inner_iv_init(cipher(), (&iv).into());
        move |mut block: [u8; 16]| {
            if encrypts {
                encryptor.encrypt_block((&mut block).into());
            } else {
                decryptor.decrypt_block((&mut block).into());
            }
            block
        }
    })
}

fn check_gcm<A: Aes>(vector: &AeadVector) {
    let AeadVector {
        source,
        tag,
        ciphertext,
        ..
    } = vector;
    let (plaintext, whole_tag) = open_gcm::<A>(vector);
    assert_eq!(whole_tag.starts_with(tag), vector.is_valid, "{source}");
    if vector.is_valid {
        assert_same(&plaintext, vector.plaintext.as_ref().unwrap(), source);
        assert_eq!(plaintext.len(), ciphertext.len());
    }
}

/// SP 800-38D, section 7.2, all but the comparison: the plaintext, and the tag there should be.
fn open_gcm<A: Aes>(vector: &AeadVector) -> (Vec<u8>, [u8; 16]) {
    let aes = A::new_from_slice(&vector.key).unwrap();
    let mut h = [0; 16];
    aes.encrypt_block((&mut h).into());
    let hash = |first: &[u8], second: &[u8], lengths: [u64; 2]| -> [u8; 16] {
        let mut hash = GHash::new((&h).into());
        hash.update_padded(first);
        hash.update_padded(second);
        let lengths = lengths.map(|bytes| (8 * bytes).to_be_bytes()).concat();
        hash.update_padded(&lengths);
        hash.finalize().into()
    };
    let mut first = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
    if let Ok(nonce) = <[u8; 12]>::try_from(&vector.nonce[..]) {
        first[..12].copy_from_slice(&nonce);
    } else {
        first = hash(&vector.nonce, &[], [0, vector.nonce.len() as u64]);
    }
    let lengths = [vector.aad.len() as u64, vector.ciphertext.len() as u64];
    let mut tag = hash(&vector.aad, &vector.ciphertext, lengths);
    let mut keystream = ctr::Ctr32BE::<A>::new_from_slices(&vector.key, &first).unwrap();
    keystream.apply_keystream(&mut tag);
    let mut plaintext = vector.ciphertext.clone();
    keystream.apply_keystream(&mut plaintext);
    (plaintext, tag)
}

fn check_chacha20_poly1305(vector: &AeadVector) {
    let AeadVector {
        source,
        aad,
        ciphertext,
        ..
    } = vector;
    let Ok(nonce) = <[u8; 12]>::try_from(&vector.nonce[..]) else {
        assert!(!vector.is_valid, "{source}");
        return;
    };
    let cipher = ChaCha20Poly1305::new_from_slice(&vector.key).unwrap();
    let tag = vector.tag[..].try_into().unwrap();
    let mut data = ciphertext.clone();
    let opened =
        cipher.decrypt_inout_detached((&nonce).into(), aad, data.as_mut_slice().into(), tag);
    assert_eq!(opened.is_ok(), vector.is_valid, "{source}");
    if opened.is_ok() {
        assert_same(&data, vector.plaintext.as_ref().unwrap(), source);
    }
}

fn assert_same(bytes: &[u8], expected: &[u8], source: &str) {
    assert_eq!(hex::encode(bytes), hex::encode(expected), "{source}");
}
