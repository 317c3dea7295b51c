//! Signatures, encryption and the bare operation.

use oarlock::rsa::{EncryptionScheme, Hash, PssSalt, SignatureScheme, tls_premaster_secret};
use oarlock::{Accelerator, Error};

use super::{HASHES, KEYS, key, said};
use crate::common::accelerator;
use crate::common::keys::RSA2048;

#[test]
fn what_is_signed_verifies_and_nothing_else_does() {
    for pem in KEYS {
        let key = key(pem);
        let rsa = accelerator().rsa(&key);
        for hash in HASHES {
            for scheme in [SignatureScheme::Pkcs1(hash), SignatureScheme::Pss(hash)] {
                let what = format!("{scheme:?}, {} bits", key.public_key().bits());
                let signature = match rsa.sign(scheme, b"message") {
                    Err(Error::InvalidInput(said)) => {
                        assert_eq!(
                            said,
                            "a key of 1024 bits is too short for PSS with SHA-512 and a salt of 64 bytes"
                        );
                        assert_eq!(scheme, SignatureScheme::Pss(Hash::Sha512));
                        continue;
                    }
                    signature => signature.unwrap(),
                };
                assert_eq!(signature.len(), key.public_key().bytes(), "{what}");
                let public = rsa.public();
                assert_eq!(
                    public.verify(scheme, b"message", &signature),
                    Ok(()),
                    "{what}"
                );
                let wrong = Err(Error::InvalidSignature);
                assert_eq!(
                    public.verify(scheme, b"massage", &signature),
                    wrong,
                    "{what}"
                );
                for at in [0, 1, signature.len() / 2, signature.len() - 1] {
                    let mut altered = signature.clone();
                    altered[at] ^= 1;
                    assert_eq!(public.verify(scheme, b"message", &altered), wrong, "{what}");
                }
                assert_eq!(public.verify(scheme, b"message", &signature[1..]), wrong);
                assert_eq!(public.verify(scheme, b"message", &[]), wrong);
            }
        }
    }
}

#[test]
fn a_digest_is_as_good_as_its_message_and_has_its_length() {
    let rsa = accelerator().rsa(&key(KEYS[1]));
    let scheme = SignatureScheme::Pkcs1(Hash::Sha256);
    // SHA-256 of "abc" (FIPS 180-4, examples).
    let digest = b"\xba\x78\x16\xbf\x8f\x01\xcf\xea\x41\x41\x40\xde\x5d\xae\x22\x23\
                   \xb0\x03\x61\xa3\x96\x17\x7a\x9c\xb4\x10\xff\x61\xf2\x00\x15\xad";
    let signature = rsa.sign_digest(scheme, digest).unwrap();
    assert_eq!(signature, rsa.sign(scheme, b"abc").unwrap());
    let public = rsa.public();
    assert_eq!(public.verify_digest(scheme, digest, &signature), Ok(()));
    let wrong = "a digest of 31 bytes: those of this scheme have 32";
    assert_eq!(said(rsa.sign_digest(scheme, &digest[1..])), wrong);
    assert_eq!(
        said(public.verify_digest(scheme, &digest[1..], &signature)),
        wrong
    );
}

#[test]
fn what_is_encrypted_decrypts_and_what_is_altered_does_not() {
    for pem in KEYS {
        let key = key(pem);
        let bytes = key.public_key().bytes();
        let rsa = accelerator().rsa(&key);
        let mut schemes = vec![(EncryptionScheme::Pkcs1, 11)];
        for hash in HASHES {
            schemes.push((EncryptionScheme::oaep(hash), 2 * hash.bytes() + 2));
            let label = b"label".to_vec();
            let mgf1 = Hash::Sha1;
            schemes.push((
                EncryptionScheme::Oaep { hash, mgf1, label },
                2 * hash.bytes() + 2,
            ));
        }
        for (scheme, overhead) in schemes {
            let Some(bytes_max) = bytes.checked_sub(overhead) else {
                assert_eq!(
                    said(rsa.public().encrypt(&scheme, b"")),
                    "a key of 128 bytes is too short for OAEP with this hash"
                );
                assert_eq!(
                    rsa.decrypt(&scheme, &[1; 128]),
                    Err(Error::DecryptionFailed)
                );
                continue;
            };
            for length in [0, 1, bytes_max / 2, bytes_max] {
                let message: Vec<u8> = (0..length).map(|i| i as u8).collect();
                let ciphertext = rsa.public().encrypt(&scheme, &message).unwrap();
                assert_eq!(
                    **rsa.decrypt(&scheme, &ciphertext).unwrap(),
                    message,
                    "{scheme:?}"
                );
                let failed = Err(Error::DecryptionFailed);
                assert_eq!(rsa.decrypt(&scheme, &ciphertext[1..]), failed);
                let mut altered = ciphertext;
                altered[bytes - 1] ^= 1;
                let result = rsa.decrypt(&scheme, &altered);
                if scheme == EncryptionScheme::Pkcs1 {
                    assert!(result.is_ok());
                    assert_eq!(rsa.decrypt(&scheme, &altered), result);
                } else {
                    assert_eq!(result, failed);
                }
            }
            let too_long = said(rsa.public().encrypt(&scheme, &vec![0; bytes_max + 1]));
            assert!(
                too_long.contains(&format!("takes {bytes_max} at most")),
                "{too_long}"
            );
        }
        let label = EncryptionScheme::Oaep {
            hash: Hash::Sha256,
            mgf1: Hash::Sha256,
            label: b"other".to_vec(),
        };
        let scheme = EncryptionScheme::oaep(Hash::Sha256);
        let ciphertext = rsa.public().encrypt(&scheme, b"message").unwrap();
        assert_eq!(
            rsa.decrypt(&label, &ciphertext),
            Err(Error::DecryptionFailed)
        );
    }
}

/// RFC 5246, 7.4.7.1: nothing is refused, and an invalid ciphertext yields different bytes each time.
#[test]
fn a_premaster_secret_of_tls_is_found_or_made_up() {
    let mut secret = [9; 48];
    secret[..2].copy_from_slice(&[3, 3]);
    for bytes in [128, 255, 256, 512] {
        let mut right = vec![0x5a; bytes];
        right[..2].copy_from_slice(&[0, 2]);
        right[bytes - 49] = 0;
        right[bytes - 48..].copy_from_slice(&secret);
        let found = |power: &[u8], versions: &[u16]| tls_premaster_secret(power, versions).unwrap();
        for versions in [&[0x0303][..], &[0x0301, 0x0303], &[0x0303, 0x0301]] {
            assert_eq!(**found(&right, versions), secret);
        }
        for versions in [&[][..], &[0x0302], &[0x0301, 0x0203]] {
            assert_ne!(found(&right, versions), found(&right, versions));
            assert_ne!(**found(&right, versions), secret);
        }
        for at in 0..bytes - 46 {
            let mut wrong = right.clone();
            wrong[at] = match right[at] {
                0x5a => 0,
                byte => byte ^ 0x80,
            };
            let made_up = found(&wrong, &[0x0303]);
            assert_ne!(**made_up, secret, "{at} of {bytes}");
            assert_ne!(made_up, found(&wrong, &[0x0303]));
        }
    }
    assert_eq!(
        said(tls_premaster_secret(&[0; 127], &[0x0303])),
        "a power of 127 bytes: a modulus has at least 128"
    );
}

#[test]
fn the_bare_operations_undo_each_other_and_take_every_number_below_the_modulus() {
    for pem in KEYS {
        let rsa = accelerator().rsa(&key(pem));
        let modulus = rsa.public().key().modulus().to_vec();
        let bytes = modulus.len();
        let mut largest = modulus.clone();
        largest[bytes - 1] -= 1;
        let mut before = modulus.clone();
        before[bytes - 1] -= 2 * u8::from(before[bytes - 1] > 1);
        let mut random = vec![0; bytes];
        rand::fill(&mut random[1..]);
        for number in [
            vec![],
            vec![0],
            vec![1],
            vec![2],
            vec![0; 600],
            largest,
            before,
            random,
        ] {
            let mut whole = vec![0; bytes.saturating_sub(number.len())];
            whole.extend(&number[number.len().saturating_sub(bytes)..]);
            if whole >= modulus {
                continue;
            }
            let power = rsa.raw_private(&number).unwrap();
            assert_eq!(power.len(), bytes);
            assert_eq!(rsa.public().raw_public(&power).unwrap(), whole);
            let power = rsa.public().raw_public(&number).unwrap();
            assert_eq!(**rsa.raw_private(&power).unwrap(), whole);
        }
        let too_large = "the number is not less than the modulus";
        let mut longer = vec![0; bytes + 1];
        longer[0] = 1;
        for number in [&modulus, &longer] {
            assert_eq!(said(rsa.raw_private(number)), too_large);
            assert_eq!(said(rsa.public().raw_public(number)), too_large);
        }
    }
}

#[test]
fn a_salt_is_as_long_as_was_said() {
    let rsa = accelerator().rsa(&key(KEYS[0]));
    let public = rsa.public();
    let scheme = |salt| SignatureScheme::PssWith {
        hash: Hash::Sha512,
        mgf1: Hash::Sha256,
        salt,
    };
    let wrong = Err(Error::InvalidSignature);
    for bytes in [0, 1, 20, 62] {
        let salt = PssSalt::Bytes(bytes);
        let signature = rsa.sign(scheme(salt), b"message").unwrap();
        for (other, expected) in [
            (salt, Ok(())),
            (PssSalt::Any, Ok(())),
            (PssSalt::Bytes(bytes + 1), wrong.clone()),
            (PssSalt::Bytes(usize::MAX), wrong.clone()),
            (PssSalt::Digest, wrong.clone()),
        ] {
            assert_eq!(
                public.verify(scheme(other), b"message", &signature),
                expected,
                "{other:?} for {bytes} bytes"
            );
        }
        assert_eq!(
            public.verify(scheme(PssSalt::Any), b"massage", &signature),
            wrong
        );
        let other_mgf = SignatureScheme::PssWith {
            hash: Hash::Sha512,
            mgf1: Hash::Sha512,
            salt,
        };
        assert_eq!(public.verify(other_mgf, b"message", &signature), wrong);
    }
    for bytes in [63, usize::MAX] {
        assert_eq!(
            said(rsa.sign(scheme(PssSalt::Bytes(bytes)), b"message")),
            format!(
                "a key of 1024 bits is too short for PSS with SHA-512 and a salt of {bytes} bytes"
            )
        );
    }
}

#[test]
fn no_signature_is_made_with_sha1() {
    let rsa = accelerator().rsa(&key(KEYS[1]));
    for scheme in [
        SignatureScheme::Pkcs1(Hash::Sha1),
        SignatureScheme::Pss(Hash::Sha1),
    ] {
        assert_eq!(
            said(rsa.sign(scheme, b"message")),
            "signatures of SHA-1 digests are verified, and not made: take SHA-256"
        );
    }
}

/// Lanes may start to pay, which only a try shows.
#[test]
fn one_alone_is_tried_in_lanes_now_and_then() {
    let accelerator = Accelerator::builder().build().unwrap();
    let rsa = accelerator.rsa(&key(RSA2048));
    if rsa.lanes().is_none() {
        return;
    }
    for _ in 0..400 {
        rsa.raw_private(&[2]).unwrap();
    }
    let counted = accelerator.stats().public_key;
    assert!(counted.in_groups > 0, "{counted:?}");
    assert_eq!(counted.alone + counted.in_groups, 400);
}
