//! Project Wycheproof's sets for RSA private keys, including keys of three primes, through EVP: each side returns what the
//! set requires.

use std::collections::HashMap;
use std::ffi::c_int;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use oarlock_vectors::{RsaEncryptionVector, wycheproof};

use super::calls::{Call, Contexts, SIDES, Side};
use super::decryption::{Call as Decryption, Decrypter, OAEP, PKCS1};
use crate::driver::libcrypto;
use crate::driver::rsa::RsaKey;

/// Keys that every side has read, by their encoding.
type Keys = HashMap<Vec<u8>, [RsaKey; SIDES.len()]>;

fn on_every_side<'a>(keys: &'a mut Keys, pkcs8: &[u8]) -> &'a [RsaKey; SIDES.len()] {
    keys.entry(pkcs8.to_vec()).or_insert_with(|| {
        let text = BASE64_STANDARD.encode(pkcs8);
        let lines: Vec<&str> = (0..text.len())
            .step_by(64)
            .map(|at| &text[at..text.len().min(at + 64)])
            .collect();
        let pem = format!(
            "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n",
            lines.join("\n")
        );
        let context = libcrypto().library_context();
        SIDES
            .each_ref()
            .map(|side: &Side| RsaKey::read(context, &pem, side.key))
    })
}

/// Returns OpenSSL's name of a hash.
fn digest(hash: &str) -> &'static str {
    match hash {
        "SHA-1" => "SHA1",
        "SHA-224" => "SHA224",
        "SHA-256" => "SHA256",
        "SHA-384" => "SHA384",
        "SHA-512" => "SHA512",
        "SHA-512/224" => "SHA512-224",
        "SHA-512/256" => "SHA512-256",
        other => panic!("no hash is called {other}"),
    }
}

/// Decrypts all vectors on all sides. Returns the number of valid and of invalid vectors.
fn check(vectors: Vec<RsaEncryptionVector>, padding: c_int) -> (usize, usize) {
    let mut keys = Keys::new();
    let [mut valid, mut invalid] = [0, 0];
    for vector in vectors {
        let keys = on_every_side(&mut keys, &vector.private_key);
        let seen: Vec<_> = SIDES
            .iter()
            .zip(keys)
            .map(|(side, key)| {
                let mut decrypter = Decrypter::new(side, key);
                decrypter.call(&Decryption::DecryptInit, &[]);
                decrypter.call(&Decryption::Padding(padding), &[]);
                if padding == OAEP {
                    decrypter.call(&Decryption::Digest(digest(vector.hash)), &[]);
                    decrypter.call(&Decryption::Mgf1(digest(vector.mgf1)), &[]);
                    decrypter.label(&vector.label);
                }
                let message = decrypter.decrypt(&vector.ciphertext);
                libcrypto().errors();
                message
            })
            .collect();
        for (side, message) in SIDES.iter().zip(&seen) {
            let place = format!("{}, {}", vector.source, side.name);
            if vector.is_valid {
                assert_eq!(message.as_deref(), Some(&vector.message[..]), "{place}");
            } else {
                assert_ne!(message.as_deref(), Some(&vector.message[..]), "{place}");
                // A made-up message (implicit rejection) is the same everywhere.
                assert_eq!(*message, seen[0], "{place}");
            }
        }
        if vector.is_valid {
            valid += 1;
        } else {
            invalid += 1;
        }
    }
    (valid, invalid)
}

#[test]
fn messages_of_oaep() {
    let (valid, invalid) = check(wycheproof::rsa_oaep().unwrap(), OAEP);
    assert!(valid > 500 && invalid > 300, "{valid} and {invalid}");
}

#[test]
fn messages_of_oaep_under_three_primes() {
    let (valid, invalid) = check(wycheproof::rsa_oaep_three_primes().unwrap(), OAEP);
    assert!(valid > 30 && invalid > 30, "{valid} and {invalid}");
}

#[test]
fn messages_of_pkcs1() {
    let (valid, invalid) = check(wycheproof::rsa_pkcs1_messages().unwrap(), PKCS1);
    assert!(valid > 10 && invalid > 30, "{valid} and {invalid}");
}

#[test]
fn signatures_that_are_made() {
    let mut keys = Keys::new();
    let vectors = wycheproof::rsa_pkcs1_signing().unwrap();
    assert!(vectors.len() > 100, "{}", vectors.len());
    for vector in vectors {
        let keys = on_every_side(&mut keys, &vector.private_key);
        for (side, key) in SIDES.iter().zip(keys) {
            let mut contexts = Contexts::new(side, key);
            contexts.call(&Call::DigestSignInit(digest(vector.hash)), side, key);
            let result = contexts.update(&vector.message);
            assert_eq!(result, 1, "{}, {}", vector.source, side.name);
            contexts.call(&Call::Final(0), side, key);
            let place = format!("{}, {}", vector.source, side.name);
            assert_eq!(contexts.signature, vector.signature, "{place}");
        }
    }
}
