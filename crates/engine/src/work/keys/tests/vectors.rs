//! Published vectors, run through the one key type that covers all algorithms.

use oarlock_vectors::{SignatureVector, wycheproof};

use super::*;

fn verified(vector: &SignatureVector) -> Result<(), Error> {
    let key_type = KeyType::named(vector.algorithm).unwrap();
    let key = PublicKey::from_raw(key_type, &vector.public_key)?;
    key.verify(&scheme(vector), &vector.message, &vector.signature)
}

fn scheme(vector: &SignatureVector) -> Scheme {
    match vector.algorithm {
        "Ed25519" => Scheme::Ed25519,
        _ => Scheme::MlDsa {
            context: vector.context.clone(),
        },
    }
}

#[test]
fn signatures_of_wycheproof_are_taken_or_refused() {
    for (vectors, expected) in [
        (wycheproof::ed25519(), [63, 88]),
        (wycheproof::ml_dsa_signatures(), [404, 227]),
    ] {
        let mut counts = [0, 0];
        for vector in vectors.unwrap() {
            let verified = verified(&vector);
            assert_eq!(
                verified.is_ok(),
                vector.is_valid,
                "{}: {verified:?}",
                vector.source
            );
            counts[usize::from(vector.is_valid)] += 1;
        }
        assert_eq!(counts, expected);
    }
}

/// Our signatures are hedged, so the test verifies the published ones and our own.
#[test]
fn keys_of_wycheproof_sign_as_theirs_or_are_refused() {
    let mut counts = [0, 0];
    for vector in wycheproof::ml_dsa_keys().unwrap() {
        let (signed, source) = (&vector.signed, &vector.signed.source);
        let key_type = KeyType::named(signed.algorithm).unwrap();
        let raw = match vector.seed.is_empty() {
            true => &vector.private_key,
            false => &vector.seed,
        };
        counts[usize::from(signed.is_valid)] += 1;
        let key = PrivateKey::from_raw(key_type, raw);
        if !signed.is_valid {
            let made = key.and_then(|key| key.sign(&scheme(signed), &signed.message));
            assert!(made.is_err(), "{source}");
            continue;
        }
        let key = key.unwrap();
        assert_eq!(*key.to_raw().unwrap(), *raw, "{source}");
        let public = key.public_key();
        assert_eq!(public.to_raw().unwrap(), signed.public_key, "{source}");
        assert_eq!(verified(signed), Ok(()), "{source}");
        let made = key.sign(&scheme(signed), &signed.message).unwrap();
        let again = public.verify(&scheme(signed), &signed.message, &made);
        assert_eq!(again, Ok(()), "{source}");
        if !vector.pkcs8.is_empty() {
            let read = PrivateKey::from_bytes(&vector.pkcs8).unwrap();
            assert_eq!(read.public_key(), public, "{source}");
            assert_eq!(*key.to_pkcs8_der().unwrap(), vector.pkcs8, "{source}");
        }
    }
    assert_eq!(counts, [27, 411]);
}
