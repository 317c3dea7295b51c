//! Project Wycheproof's sets for ECDSA, through EVP: each side accepts what it must, and nothing else.

use std::collections::HashMap;
use std::ffi::CStr;

use oarlock_vectors::wycheproof;

use super::calls::{Call, Contexts, SIDES};
use super::keys::made_of;
use crate::driver::libcrypto;
use crate::driver::rsa::RsaKey;

fn group(curve: &str) -> &'static CStr {
    match curve {
        "secp256r1" => c"P-256",
        "secp384r1" => c"P-384",
        "secp521r1" => c"P-521",
        other => panic!("no curve is called {other}"),
    }
}

fn digest(hash: &str) -> &'static str {
    match hash {
        "SHA-256" => "SHA256",
        "SHA-384" => "SHA384",
        "SHA-512" => "SHA512",
        other => panic!("no hash of these vectors is called {other}"),
    }
}

#[test]
fn signatures_are_taken_or_refused() {
    let mut keys: HashMap<Vec<u8>, [RsaKey; SIDES.len()]> = HashMap::new();
    let mut counts = [0, 0];
    for vector in wycheproof::ecdsa().unwrap() {
        let keys = keys.entry(vector.public_key.clone()).or_insert_with(|| {
            let make = |query| made_of(query, group(&vector.curve), &vector.public_key, None);
            SIDES.each_ref().map(|side| make(side.key).unwrap())
        });
        let seen = [0, 1, 2].map(|at| {
            let (side, key) = (&SIDES[at], &keys[at]);
            let mut contexts = Contexts::new(side, key);
            contexts.signatures.of_message.clone_from(&vector.signature);
            contexts.call(
                &Call::DigestVerifyInit(Some(digest(vector.hash))),
                side,
                key,
            );
            assert_eq!(contexts.update(&vector.message), 1, "{}", vector.source);
            contexts.call(&Call::VerifyFinal, side, key)
        });
        for (side, seen_there) in SIDES.iter().zip(&seen) {
            let place = format!("{}, {}", vector.source, side.name);
            assert_eq!(*seen_there, seen[0], "{place}");
            assert_eq!(seen_there == "1 []", vector.is_valid, "{place}");
        }
        counts[usize::from(vector.is_valid)] += 1;
    }
    assert_eq!(counts, [1862, 1236]);
    assert_eq!(libcrypto().errors(), []);
}
