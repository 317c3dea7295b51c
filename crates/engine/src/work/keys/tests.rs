mod encodings;
mod vectors;

use super::scheme::Scheme;
use super::*;
use crate::work::rsa::padding::Hash;

const RSA_PEM: &str = include_str!("../../../../oarlock/tests/keys/rsa2048.pem");

/// Returns a new key of every type but RSA, which has no raw form and other parameters.
fn generated() -> impl Iterator<Item = PrivateKey> {
    let types = KeyType::ALL.into_iter().filter(|one| *one != KeyType::Rsa);
    types.map(|one| PrivateKey::generate(one).unwrap())
}

/// Returns a key of every type, and two of RSA.
fn keys() -> impl Iterator<Item = PrivateKey> {
    let rsa = PrivateKey::from_bytes(RSA_PEM.as_bytes()).unwrap();
    let new = PrivateKey::generate(KeyType::Rsa).unwrap();
    [rsa, new].into_iter().chain(generated())
}

fn said<T: fmt::Debug>(result: Result<T, Error>) -> String {
    match result.unwrap_err() {
        Error::InvalidKey(said) | Error::InvalidInput(said) => said,
        other => panic!("{other:?}"),
    }
}

#[test]
fn types_are_found_by_their_names() {
    for one in KeyType::ALL {
        assert_eq!(KeyType::named(one.name()), Some(one));
        assert_eq!(KeyType::named(&one.name().to_lowercase()), Some(one));
        assert_eq!(one.to_string(), one.name());
        assert_eq!(one.signs(), Scheme::usual(one).is_some());
        assert!(one == KeyType::Rsa || one.signs() || one.agrees() || one.encapsulates());
    }
    assert_eq!(KeyType::named("P-224"), None);
}

#[test]
fn keys_are_read_as_they_were_written() {
    for key in keys() {
        let pem = key.to_pkcs8_pem().unwrap();
        let der = key.to_pkcs8_der().unwrap();
        for bytes in [pem.as_bytes(), &der, format!("\n{}\0", *pem).as_bytes()] {
            let read = PrivateKey::from_bytes(bytes).unwrap();
            assert_eq!(read.key_type(), key.key_type());
            assert_eq!(read.public_key(), key.public_key());
            assert_eq!(read.to_pkcs8_der().unwrap(), der);
        }
        let public = key.public_key();
        let pem = public.to_spki_pem().unwrap();
        let der = public.to_spki_der().unwrap();
        for bytes in [pem.as_bytes(), &der] {
            assert_eq!(PublicKey::from_bytes(bytes).as_ref(), Ok(public));
        }
        if key.key_type() == KeyType::Rsa {
            assert!(key.to_raw().is_err() && public.to_raw().is_err());
            continue;
        }
        let raw = key.to_raw().unwrap();
        let again = PrivateKey::from_raw(key.key_type(), &raw).unwrap();
        assert_eq!(again.public_key(), public);
        let raw = public.to_raw().unwrap();
        assert_eq!(
            PublicKey::from_raw(key.key_type(), &raw).as_ref(),
            Ok(public)
        );
    }
}

#[test]
fn keys_of_different_types_differ() {
    let keys: Vec<_> = keys().collect();
    for (i, one) in keys.iter().enumerate() {
        for (j, other) in keys.iter().enumerate() {
            assert_eq!(one.public_key() == other.public_key(), i == j);
        }
    }
}

#[test]
fn signatures_verify_by_their_key_message_and_scheme_alone() {
    for key in keys().filter(|key| key.key_type().signs()) {
        let key_type = key.key_type();
        let scheme = Scheme::usual(key_type).unwrap();
        let other = match key_type {
            KeyType::Rsa => None,
            other => Some(PrivateKey::generate(other).unwrap()),
        };
        for message in [&b""[..], b"message", &[7; 5000]] {
            let mut signature = key.sign(&scheme, message).unwrap();
            let public = key.public_key();
            assert_eq!(public.verify(&scheme, message, &signature), Ok(()));
            let wrong = Err(Error::InvalidSignature);
            assert_eq!(public.verify(&scheme, b"another", &signature), wrong);
            for length in [0, 1, signature.len() - 1] {
                assert_eq!(public.verify(&scheme, message, &signature[..length]), wrong);
            }
            if let Some(other) = &other {
                let public = other.public_key();
                assert_eq!(public.verify(&scheme, message, &signature), wrong);
            }
            let last = signature.len() - 1;
            signature[last] ^= 1;
            assert_eq!(public.verify(&scheme, message, &signature), wrong);
            signature[last] ^= 1;
            signature.push(0);
            assert_eq!(public.verify(&scheme, message, &signature), wrong);
        }
    }
}

#[test]
fn digests_are_signed_as_their_messages_where_the_scheme_has_a_hash() {
    for key in keys().filter(|key| key.key_type().signs()) {
        let scheme = Scheme::usual(key.key_type()).unwrap();
        let public = key.public_key();
        let Some(hash) = scheme.hash() else {
            let refused = said(key.sign_digest(&scheme, &[7; 32]));
            assert!(refused.contains("whole messages"), "{refused}");
            let refused = said(public.verify_digest(&scheme, &[7; 32], &[7; 64]));
            assert!(refused.contains("whole messages"), "{refused}");
            continue;
        };
        let digest = hash.digest(&[b"mess", b"age"]);
        let signature = key.sign_digest(&scheme, &digest).unwrap();
        assert_eq!(public.verify(&scheme, b"message", &signature), Ok(()));
        let signature = key.sign(&scheme, b"message").unwrap();
        assert_eq!(public.verify_digest(&scheme, &digest, &signature), Ok(()));
        let refused = said(key.sign_digest(&scheme, &digest[1..]));
        assert!(refused.contains("a digest of"), "{refused}");
        let refused = said(public.verify_digest(&scheme, &digest[1..], &signature));
        assert!(refused.contains("a digest of"), "{refused}");
    }
}

#[test]
fn schemes_of_other_keys_are_refused_by_name() {
    let schemes: Vec<_> = KeyType::ALL.into_iter().filter_map(Scheme::usual).collect();
    for key in keys() {
        for scheme in &schemes {
            let fits = match scheme {
                Scheme::Rsa(_) => key.key_type() == KeyType::Rsa,
                Scheme::Ecdsa(_) => matches!(key.key_type(), KeyType::Ec(_)),
                Scheme::Ed25519 => key.key_type() == KeyType::Ed25519,
                Scheme::MlDsa { .. } => matches!(key.key_type(), KeyType::MlDsa(_)),
            };
            assert_eq!(key.sign(scheme, b"message").is_ok(), fits);
            if !fits {
                let refused = said(key.sign(scheme, b"message"));
                assert!(refused.contains(&scheme.to_string()), "{refused}");
                assert!(refused.contains(key.key_type().name()), "{refused}");
                let refused = said(key.public_key().verify(scheme, b"message", b""));
                assert!(refused.contains(&scheme.to_string()), "{refused}");
            }
        }
    }
    let key = PrivateKey::generate(KeyType::Ec(Curve::P256)).unwrap();
    let refused = said(key.sign(&Scheme::Ecdsa(Hash::Sha1), b"message"));
    assert!(refused.starts_with("ECDSA with SHA-1:"), "{refused}");
}

#[test]
fn a_context_is_part_of_what_ml_dsa_signs() {
    for set in MlDsa::ALL {
        let key = PrivateKey::generate(KeyType::MlDsa(set)).unwrap();
        let public = key.public_key();
        let with = |context: &[u8]| Scheme::MlDsa {
            context: context.to_vec(),
        };
        let longest = with(&[7; 255]);
        let signature = key.sign(&longest, b"message").unwrap();
        assert_eq!(signature.len(), set.signature_bytes());
        assert_eq!(public.verify(&longest, b"message", &signature), Ok(()));
        let wrong = Err(Error::InvalidSignature);
        assert_eq!(
            public.verify(&with(&[7; 254]), b"message", &signature),
            wrong
        );
        assert_eq!(
            public.verify(&Scheme::ML_DSA, b"message", &signature),
            wrong
        );
        let refused = said(key.sign(&with(&[7; 256]), b"message"));
        assert!(refused.contains("256 bytes"), "{refused}");
        // Hedged signatures never repeat.
        assert_ne!(key.sign(&longest, b"message").unwrap(), signature);
    }
}

#[test]
fn secrets_are_agreed_on_with_keys_of_the_same_type() {
    let (ours, peers): (Vec<_>, Vec<_>) = (keys().collect(), keys().collect());
    for one in &ours {
        for peer in &peers {
            let agrees = one.key_type().agrees() && one.key_type() == peer.key_type();
            let secret = one.agree(peer.public_key());
            assert_eq!(secret.is_ok(), agrees);
            match secret {
                Ok(secret) => assert_eq!(peer.agree(one.public_key()).unwrap(), secret),
                refused => assert!(said(refused).contains(one.key_type().name())),
            }
        }
    }
    let key = PrivateKey::generate(KeyType::X25519).unwrap();
    let zero = PublicKey::from_raw(KeyType::X25519, &[0; 32]).unwrap();
    assert!(said(key.agree(&zero)).contains("small order"));
}

#[test]
fn secrets_are_carried_by_ml_kem_alone() {
    for key in keys() {
        let Ok((ciphertext, secret)) = key.public_key().encapsulate() else {
            assert!(!key.key_type().encapsulates());
            assert!(said(key.decapsulate(&[0; 768])).contains("carries no secrets"));
            continue;
        };
        assert_eq!(key.decapsulate(&ciphertext).unwrap(), secret);
        assert_eq!(secret.len(), 32);
        let mut altered = ciphertext.clone();
        altered[0] ^= 1;
        assert_ne!(key.decapsulate(&altered).unwrap(), secret);
        assert!(said(key.decapsulate(&ciphertext[1..])).contains("bytes"));
    }
}

#[test]
fn raw_keys_of_another_length_are_refused_by_it() {
    for key in generated() {
        let key_type = key.key_type();
        for length in [0, 1, 31, 33, 63, 65, 100, 5000] {
            let refused = PrivateKey::from_raw(key_type, &vec![1; length]);
            let fits = key.to_raw().unwrap().len() == length;
            assert!(
                fits || said(refused).starts_with(&format!("{length} bytes:")),
                "{key_type}: {length}"
            );
            if key.public_key().to_raw().unwrap().len() != length {
                assert!(PublicKey::from_raw(key_type, &vec![1; length]).is_err());
            }
        }
    }
    assert!(said(PrivateKey::from_raw(KeyType::Rsa, &[1; 32])).contains("RSA"));
    assert!(said(PublicKey::from_raw(KeyType::Rsa, &[1; 32])).contains("RSA"));
    for bits in [0, 1024, 2049, 8192] {
        assert!(said(RsaPrivateKey::generate(bits)).contains("2048, 3072 or 4096"));
    }
}

/// RFC 8032, 7.1: a seed, its public key, a message and its signature.
#[test]
fn signatures_of_rfc_8032_are_made_and_taken() {
    for (seed, public, message, signature) in RFC_8032 {
        let key = PrivateKey::from_raw(KeyType::Ed25519, &hex(seed)).unwrap();
        assert_eq!(key.public_key().to_raw().unwrap(), hex(public));
        let (message, signature) = (hex(message), hex(signature));
        assert_eq!(key.sign(&Scheme::Ed25519, &message).unwrap(), signature);
        let public = key.public_key();
        assert_eq!(
            public.verify(&Scheme::Ed25519, &message, &signature),
            Ok(())
        );
    }
}

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<_> = text.chars().filter_map(|one| one.to_digit(16)).collect();
    let bytes = digits.chunks(2);
    bytes.map(|pair| (pair[0] * 16 + pair[1]) as u8).collect()
}

const RFC_8032: [(&str, &str, &str, &str); 3] = [
    (
        "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
    ),
    (
        "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
    ),
    (
        "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
    ),
];
