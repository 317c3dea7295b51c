//! Published vectors of AEADs and of AES-CBC (CAVP, RFC 8439, Wycheproof) through every mask and strategy of the engine;
//! crates/kernels/tests/it/published runs them through every entry point of the kernels.

use oarlock::Algorithm;
use oarlock::{Accelerator, Error, Strategy};
use oarlock_vectors::{AeadVector, CbcVector, Padding, cavp, short, wycheproof};

const MASKS: [&str; 8] = [
    "",
    "-face",
    "-avx512",
    "-vaes",
    "-aes",
    "-aes,-gfni",
    "-aes,-gfni,-avx512",
    "-aes,-avx2",
];

fn every_way(mut check: impl FnMut(&Accelerator, &str)) {
    for mask in MASKS {
        for strategy in [Strategy::Inline, Strategy::Stripe, Strategy::Prefetch] {
            let accelerator = Accelerator::builder()
                .cpu_mask(mask)
                .max_threads(2)
                .strategy(strategy)
                .build()
                .unwrap();
            check(&accelerator, &format!("{mask:?} {strategy:?}"));
        }
    }
}

fn check_aead(
    accelerator: &Accelerator,
    way: &str,
    vector: &AeadVector,
    operation: Algorithm,
) -> bool {
    let AeadVector {
        source,
        key,
        nonce,
        aad,
        plaintext,
        ciphertext,
        tag,
        is_valid,
    } = vector;
    let what = format!("{source}, {way}");
    let aead = accelerator.aead(operation, key).unwrap();
    let mut data = ciphertext.clone();
    if tag.len() != 16 {
        // A shorter tag is the beginning of the full one, so only that much is compared.
        if let (Some(plaintext), true) = (plaintext, *is_valid) {
            let mut data = plaintext.clone();
            let whole = aead.seal(nonce, aad, (&mut data[..]).into()).unwrap();
            assert_eq!(
                (&data, &whole[..tag.len()]),
                (ciphertext, &tag[..]),
                "{what}"
            );
        }
        let opened = aead.open(nonce, aad, (&mut data[..]).into(), tag);
        assert!(matches!(opened, Err(Error::InvalidInput(_))), "{what}");
        return false;
    }
    let opened = aead.open(nonce, aad, (&mut data[..]).into(), tag);
    if !is_valid {
        assert!(opened.is_err(), "{what}");
        assert_eq!(&data, ciphertext, "{what}: released");
        return true;
    }
    assert_eq!(opened, Ok(()), "{what}");
    let plaintext = plaintext.as_ref().unwrap();
    assert_eq!(&data, plaintext, "{what}");
    let sealed = aead.seal(nonce, aad, (&mut data[..]).into()).unwrap();
    assert_eq!((&data, &sealed[..]), (ciphertext, &tag[..]), "{what}");
    true
}

fn gcm(vector: &AeadVector) -> Algorithm {
    match vector.key.len() {
        16 => Algorithm::Aes128Gcm,
        24 => Algorithm::Aes192Gcm,
        _ => Algorithm::Aes256Gcm,
    }
}

#[test]
fn aes_gcm() {
    let cavp = cavp::aes_gcm().unwrap();
    let wycheproof = wycheproof::aes_gcm().unwrap();
    every_way(|accelerator, way| {
        // An odd share of the many vectors, so that all lengths occur.
        let some = cavp.iter().step_by(13);
        let checked = wycheproof
            .iter()
            .chain(some)
            .filter(|vector| check_aead(accelerator, way, vector, gcm(vector)))
            .count();
        assert!(checked > 700, "{checked}");
    });
}

#[test]
fn chacha20_poly1305() {
    let vectors: Vec<_> = short::rfc_8439()
        .into_iter()
        .chain(cavp::chacha20_poly1305().unwrap())
        .chain(wycheproof::chacha20_poly1305().unwrap())
        .collect();
    every_way(|accelerator, way| {
        let checked = vectors
            .iter()
            .filter(|vector| check_aead(accelerator, way, vector, Algorithm::ChaCha20Poly1305))
            .count();
        assert!(checked > 300, "{checked}");
    });
}

#[test]
fn aes_cbc() {
    let blocks = cavp::aes_cbc().unwrap();
    let padded = wycheproof::aes_cbc_pkcs7().unwrap();
    assert!(blocks.len() > 2000 && padded.len() > 200);
    every_way(|accelerator, way| {
        for vector in short::sp_800_38a_cbc()
            .iter()
            .chain(blocks.iter().step_by(7))
            .chain(&padded)
        {
            check_cbc(accelerator, way, vector);
        }
    });
}

fn check_cbc(accelerator: &Accelerator, way: &str, vector: &CbcVector) {
    let what = format!("{}, {way}", vector.source);
    let mut cbc = accelerator.cbc(&vector.key, &vector.iv).unwrap();
    let mut data = vector.ciphertext.clone();
    match vector.padding {
        Padding::Pkcs7 => {
            let opened = cbc.decrypt_padded(&mut data);
            assert_eq!(opened.is_ok(), vector.is_valid, "{what}");
            if !vector.is_valid {
                return;
            }
            assert_eq!(data, vector.plaintext, "{what}");
            cbc.set_iv(&vector.iv).unwrap();
            cbc.encrypt_padded(&mut data).unwrap();
        }
        Padding::None => {
            cbc.decrypt((&mut data[..]).into()).unwrap();
            assert_eq!(data, vector.plaintext, "{what}");
            cbc.set_iv(&vector.iv).unwrap();
            cbc.encrypt((&mut data[..]).into()).unwrap();
        }
    }
    assert_eq!(data, vector.ciphertext, "{what}");
}
