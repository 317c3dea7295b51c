//! Published vectors, run through the one key type that covers all algorithms.

use oarlock_vectors::{MlDsaVector, SignatureVector, acvp, kat, wycheproof};

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
        let public = signs(&key, signed);
        if !vector.pkcs8.is_empty() {
            let read = PrivateKey::from_bytes(&vector.pkcs8).unwrap();
            assert_eq!(read.public_key(), public, "{source}");
            assert_eq!(*key.to_pkcs8_der().unwrap(), vector.pkcs8, "{source}");
        }
    }
    assert_eq!(counts, [27, 411]);
}

/// Signs a vector's message, and verifies that and the vector's signature. Returns the public key.
fn signs<'a>(key: &'a PrivateKey, signed: &SignatureVector) -> &'a PublicKey {
    let (public, source) = (key.public_key(), &signed.source);
    assert_eq!(public.to_raw().unwrap(), signed.public_key, "{source}");
    assert_eq!(verified(signed), Ok(()), "{source}");
    let made = key.sign(&scheme(signed), &signed.message).unwrap();
    let again = public.verify(&scheme(signed), &signed.message, &made);
    assert_eq!(again, Ok(()), "{source}");
    public
}

/// NIST's vectors (ACVP), and the known answers to a DRBG's bytes: keys expand as theirs, and signatures are accepted or
/// refused.
#[test]
fn published_keys_and_signatures_of_ml_dsa_hold() {
    for (vectors, expected) in [(acvp::ml_dsa(), [3, 6, 3]), (kat::ml_dsa(), [300, 300, 0])] {
        let (mut expanded, mut signed, mut refused) = (0, 0, 0);
        for mut vector in vectors.unwrap() {
            let source = vector.signed.source.clone();
            let has_signature = !vector.signed.signature.is_empty();
            let private = private(&vector);
            if let [Some(of_seed), Some(imported)] = &private {
                for key in [of_seed, imported] {
                    assert_eq!(*key.expanded().unwrap(), vector.private_key, "{source}");
                }
                let [of_seed, imported] = [of_seed, imported].map(PrivateKey::public_key);
                assert_eq!(of_seed, imported, "{source}");
                assert_eq!(
                    of_seed.to_raw().unwrap(),
                    vector.signed.public_key,
                    "{source}"
                );
                expanded += 1;
            }
            for key in private.iter().flatten().filter(|_| has_signature) {
                // Questions about signatures have private keys without the public ones.
                vector.signed.public_key = key.public_key().to_raw().unwrap();
                signs(key, &vector.signed);
            }
            signed += usize::from(has_signature && vector.signed.is_valid);
            if !vector.signed.is_valid {
                assert!(verified(&vector.signed).is_err(), "{source}");
                refused += 1;
            }
        }
        assert_eq!([expanded, signed, refused], expected);
    }
}

/// Returns the keys made from the vector's seed and from its expanded form.
fn private(vector: &MlDsaVector) -> [Option<PrivateKey>; 2] {
    let key_type = KeyType::named(vector.signed.algorithm).unwrap();
    [&vector.seed, &vector.private_key].map(|raw| {
        let key = || PrivateKey::from_raw(key_type, raw).unwrap();
        (!raw.is_empty()).then(key)
    })
}
