//! Project Wycheproof's sets for Ed25519 and ML-DSA, and NIST's for ML-DSA, through EVP: each side accepts what it must, and
//! nothing else.

use std::collections::HashMap;
use std::ffi::CStr;

use oarlock_vectors::{acvp, kat, wycheproof};

use super::calls::{Call, Contexts, SIDES, Setting};
use super::types;
use crate::driver::rsa::{PUBLIC_KEY, RsaKey};
use crate::driver::{Param, libcrypto};

/// Creates a public key in the provider that `query` requires; `None` if it is invalid.
fn public(name: &CStr, query: &CStr, octets: &[u8]) -> Option<RsaKey> {
    let mut params = [Param::octets(c"pub", octets), Param::END];
    let key = RsaKey::made(name, query, PUBLIC_KEY, &mut params);
    libcrypto().errors();
    key
}

#[test]
fn signatures_are_taken_or_refused() {
    let mut keys: HashMap<Vec<u8>, [Option<RsaKey>; SIDES.len()]> = HashMap::new();
    let mut vectors = wycheproof::ed25519().unwrap();
    if types().len() > 1 {
        vectors.extend(wycheproof::ml_dsa_signatures().unwrap());
        let published = [acvp::ml_dsa().unwrap(), kat::ml_dsa().unwrap()].concat();
        // Questions about keys have no signatures, and questions about signatures no public keys.
        let whole = published.into_iter().map(|vector| vector.signed);
        vectors.extend(whole.filter(|it| !it.signature.is_empty() && !it.public_key.is_empty()));
    }
    let mut counts = [0, 0];
    for vector in &vectors {
        let mut all = types().iter().copied();
        let is_it = |name: &&CStr| {
            name.to_bytes()
                .eq_ignore_ascii_case(vector.algorithm.as_bytes())
        };
        let name = all.find(is_it).unwrap();
        let keys = keys.entry(vector.public_key.clone()).or_insert_with(|| {
            SIDES
                .each_ref()
                .map(|side| public(name, side.key, &vector.public_key))
        });
        let seen = [0, 1, 2].map(|at| {
            let (side, key) = (&SIDES[at], keys[at].as_ref()?);
            let mut contexts = Contexts::new(name, side, key);
            let begun = match vector.context.is_empty() {
                true => contexts.call(Call::DigestVerifyInit(Setting::None), side, key)?,
                false => contexts.begin_verifying_under(&vector.context, side, key),
            };
            // A context may have up to 255 bytes.
            if vector.context.len() > 255 {
                return Some(begun);
            }
            assert_eq!(begun, "1 []", "{}", vector.source);
            Some(contexts.verified(&vector.message, &vector.signature))
        });
        for (side, seen_there) in SIDES.iter().zip(&seen) {
            let place = format!("{}, {}", vector.source, side.name);
            assert_eq!(*seen_there, seen[0], "{place}");
            let is_taken = seen_there.as_deref() == Some("1 []");
            assert_eq!(is_taken, vector.is_valid, "{place}");
        }
        counts[usize::from(vector.is_valid)] += 1;
    }
    assert!(counts[0] > 50 && counts[1] > 50, "{counts:?}");
    assert_eq!(libcrypto().errors(), []);
}
