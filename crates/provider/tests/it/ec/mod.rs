//! Elliptic-curve keys: this provider behaves like the default one, call by call.

mod calls;
mod commands;
pub mod keys;
mod managed;
mod wycheproof;

use std::ffi::c_void;
use std::fmt::Write as _;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use self::calls::{Call, Contexts, SIDES, Side, program};
use self::keys::{keys, on_every_side};
use crate::driver::rsa::{KEYPAIR, RsaKey, functions, provider_name};
use crate::driver::{Param, libcrypto, rounds};

#[test]
fn every_call_does_what_the_default_provider_does() {
    let rounds = rounds(3000);
    let keys = on_every_side();
    libcrypto().errors();
    let (mut signed, mut verified) = (0, 0);
    for round in 0..rounds {
        let mut rng = StdRng::seed_from_u64(round);
        let (name, keys) = &keys[rng.random_range(0..keys.len())];
        let calls = program(&mut rng);
        let mut sides: Vec<_> = SIDES
            .iter()
            .zip(keys)
            .map(|(side, key)| (side, key, Contexts::new(side, key)))
            .collect();
        // Signatures for all sides to verify: of the first bytes as a digest, and of a message.
        let made = keys[round as usize % SIDES.len()].signatures(rng.random_range(0..4));
        for (.., contexts) in &mut sides {
            contexts.signatures = made.clone();
        }
        let mut before = String::new();
        for (number, call) in calls.iter().enumerate() {
            let seen: Vec<_> = sides
                .iter_mut()
                .map(|(side, key, contexts)| contexts.call(call, side, key))
                .collect();
            for (side, seen_there) in SIDES.iter().zip(&seen).skip(1) {
                assert_eq!(
                    *seen_there, seen[0],
                    "round {round}, key {name}, {}: call {number} of {calls:?}, after{before}",
                    side.name
                );
            }
            // Earlier releases use a message that failed to begin, through null pointers.
            let begins = matches!(call, Call::DigestSignInit(_) | Call::DigestVerifyInit(_));
            if begins && !seen[0].starts_with("1 [") {
                break;
            }
            let _ = write!(before, "\n{call:?} {}", seen[0]);
            let is_done = seen[0].contains("1 []");
            signed += u64::from(is_done && matches!(call, Call::Sign(..) | Call::Final(_)));
            verified += u64::from(is_done && matches!(call, Call::Verify(..) | Call::VerifyFinal));
        }
    }
    assert!(signed > rounds / 6, "{signed} signatures");
    assert!(verified > rounds / 20, "{verified} signatures verified");
}

/// Each hash function, with a digest and with a message, in one piece and in several.
#[test]
fn what_one_side_signs_every_side_verifies() {
    let keys = on_every_side();
    let mut made = 0;
    for (name, keys) in &keys {
        for digest in [
            "SHA224",
            "SHA256",
            "SHA384",
            "SHA512",
            "SHA512-256",
            "SHA1",
            "SHA3-256",
        ] {
            for (signer, key) in SIDES.iter().zip(keys) {
                let mut contexts = Contexts::new(signer, key);
                let calls = [
                    Call::DigestSignInit(Some(digest)),
                    Call::Update(60),
                    Call::Update(40),
                    Call::Final(0),
                ];
                let seen: Vec<_> = calls
                    .iter()
                    .map(|call| contexts.call(call, signer, key))
                    .collect();
                if name.ends_with("public") {
                    assert!(!seen[3].contains("1 []"), "{name} {seen:?}");
                    continue;
                }
                assert!(
                    seen[3].contains("1 []"),
                    "{name} {digest} {}: {seen:?}",
                    signer.name
                );
                let signature = contexts.signatures.of_message.clone();
                for (verifier, key) in SIDES.iter().zip(keys) {
                    let mut contexts = Contexts::new(verifier, key);
                    contexts.signatures.of_message.clone_from(&signature);
                    for (call, expected) in [
                        (Call::DigestVerifyInit(Some(digest)), 1),
                        (Call::Update(60), 1),
                        (Call::Update(40), 1),
                        (Call::VerifyFinal, 1),
                        (Call::Update(1), 1),
                        (Call::VerifyFinal, 0),
                    ] {
                        let seen = contexts.call(&call, verifier, key);
                        let place = format!(
                            "{name} {digest} {} {}: {call:?} {seen}",
                            signer.name, verifier.name
                        );
                        assert!(seen.starts_with(&expected.to_string()), "{place}");
                        made += expected;
                    }
                }
            }
        }
    }
    libcrypto().errors();
    assert!(made > 1500, "{made}");
}

#[test]
fn keys_stay_where_they_were_made_and_signatures_come_here() {
    let context = libcrypto().library_context();
    let functions = functions();
    for (name, pem) in keys() {
        for (side, key_in, signs_in) in [
            (0, "default", "default"),
            (1, "default", "oarlock"),
            (2, "oarlock", "oarlock"),
        ] {
            let side = &SIDES[side];
            let key = RsaKey::read(context, pem, side.key);
            assert_eq!(key.provider(), key_in, "{name} {}", side.name);
            let contexts = Contexts::new(side, &key);
            // SAFETY: the context was created above, and is live.
            unsafe {
                assert_eq!((functions.EVP_PKEY_sign_init)(contexts.context), 1);
                let provider = (functions.EVP_PKEY_CTX_get0_provider)(contexts.context);
                let provider = provider_name(provider);
                assert_eq!(provider, signs_in, "{name} {}", side.name);
            }
        }
    }
}

/// Generation, copies, comparison, checks, and moves to the default provider and back.
#[test]
fn a_key_of_ours_is_whole() {
    let functions = functions();
    for group in [c"P-256", c"secp384r1", c"P-521", c"secp256k1"] {
        let params = [Param::text(c"group", group), Param::END];
        // SAFETY: the context is that of a new generation, and the array is terminated.
        let key = RsaKey::generated(c"EC", c"provider=oarlock", |generator| unsafe {
            (functions.EVP_PKEY_CTX_set_params)(generator, params.as_ptr())
        });
        assert_eq!(key.provider(), "oarlock");
        let copy = key.copy_of_ours();
        let contexts = Contexts::new(&SIDES[2], &copy);
        // To the default provider, and back.
        let mut there = key.copied(c"provider=default", KEYPAIR);
        for (query, provider) in [
            (c"provider=oarlock", "oarlock"),
            (c"provider=default", "default"),
        ] {
            there = there.copied(query, KEYPAIR);
            assert_eq!(there.provider(), provider);
            assert!(key.equals(&there));
            assert_eq!(there.bytes(), key.bytes());
        }
        let other = Contexts::new(&SIDES[0], &there);
        for contexts in [contexts, other] {
            // SAFETY: the context is live.
            let checked = unsafe { (functions.EVP_PKEY_check)(contexts.context) };
            assert_eq!(checked, 1);
        }
    }
    assert_eq!(libcrypto().errors(), []);
}

/// The longest signature is the one that the default provider reports.
#[test]
fn sizes_are_those_of_the_default_provider() {
    for (name, [stock, ours, all_ours]) in on_every_side() {
        let expected = stock.bytes();
        let size = |side: &Side, key: &RsaKey| {
            let mut contexts = Contexts::new(side, key);
            contexts.call(&Call::SignInit, side, key);
            let of_digest = contexts.call(&Call::Size, side, key);
            contexts.call(&Call::DigestSignInit(Some("SHA256")), side, key);
            let of_message = contexts.call(&Call::Size, side, key);
            assert_eq!(of_digest, of_message);
            of_digest
        };
        for (side, key) in SIDES.iter().zip([&stock.0, &ours.0, &all_ours.0]) {
            assert_eq!(key.bytes(), expected, "{name}");
            assert_eq!(
                size(side, key),
                format!("{expected} 1 []"),
                "{name} {}",
                side.name
            );
        }
        match name {
            "P-256" => assert_eq!(expected, 72),
            "P-384" => assert_eq!(expected, 104),
            "P-521" => assert_eq!(expected, 139),
            _ => {}
        }
    }
}

/// A copy made in the middle of a message continues independently.
#[test]
fn copies_made_in_the_middle_of_a_message_are_whole() {
    for (name, keys) in on_every_side() {
        if name.ends_with("public") {
            continue;
        }
        for (side, key) in SIDES.iter().zip(&keys) {
            let mut contexts = Contexts::new(side, key);
            for call in [
                Call::DigestSignInit(Some("SHA384")),
                Call::Update(70),
                Call::Replace,
                Call::Update(30),
                Call::Copy,
                Call::Final(0),
            ] {
                let seen = contexts.call(&call, side, key);
                assert!(
                    seen.contains("1 []"),
                    "{name} {}: {call:?} {seen}",
                    side.name
                );
            }
            let signature = contexts.signatures.of_message.clone();
            let mut contexts = Contexts::new(&SIDES[0], &keys[0]);
            contexts.signatures.of_message = signature;
            for call in [
                Call::DigestVerifyInit(Some("SHA384")),
                Call::Update(70),
                Call::Update(30),
                Call::VerifyFinal,
            ] {
                let seen = contexts.call(&call, &SIDES[0], &keys[0]);
                assert_eq!(seen, "1 []", "{name} {}: {call:?}", side.name);
            }
        }
    }
}

/// Many threads sign and verify with one key concurrently, from its first use on.
#[test]
fn threads_share_a_key() {
    let context = libcrypto().library_context();
    for (name, pem) in keys().iter().filter(|(name, _)| !name.ends_with("public")) {
        for round in 0..4 {
            let side = &SIDES[1 + round % 2];
            let key = RsaKey::read(context, pem, side.key);
            let pointer = key.key as usize;
            std::thread::scope(|scope| {
                for thread in 0..4 {
                    scope.spawn(move || {
                        let key = std::mem::ManuallyDrop::new(RsaKey {
                            key: pointer as *mut c_void,
                        });
                        let mut contexts = Contexts::new(side, &key);
                        // One thread uses the default provider's key.
                        let digest = if thread == 3 { "SHA1" } else { "SHA256" };
                        for _ in 0..8 {
                            for call in [
                                Call::DigestSignInit(Some(digest)),
                                Call::Update(100),
                                Call::Final(0),
                                Call::DigestVerifyInit(Some(digest)),
                                Call::Update(100),
                                Call::VerifyFinal,
                            ] {
                                let seen = contexts.call(&call, side, &key);
                                assert!(seen.ends_with("1 []"), "{name} {call:?} {seen}");
                            }
                        }
                    });
                }
            });
        }
    }
}

/// The check whether a key may be in a TPM takes a lock: it must not fail while another thread holds the lock.
#[test]
fn threads_import_public_halves_at_once() {
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..1000 {
                    assert!(keys::is_taken_as_pair(SIDES[2].key));
                }
            });
        }
    });
    assert!(keys::is_taken_as_pair(SIDES[0].key));
}

/// Invalid numbers and points are refused as by the default provider.
#[test]
fn parts_that_make_no_key_are_refused() {
    let (point, order) = (keys::POINT, keys::ORDER);
    let mut off = point.to_vec();
    off[64] ^= 1;
    let compressed = [&[2 + (point[64] & 1)], &point[1..33]].concat();
    let number = |number: &[u8]| number.iter().rev().copied().collect::<Vec<u8>>();
    let mut less = order.to_vec();
    less[31] -= 1;
    let points: [(&str, &[u8]); 8] = [
        ("good", point),
        ("compressed", &compressed),
        ("off the curve", &off),
        ("infinity", &[0]),
        ("short", &point[..64]),
        ("form 5", &[&[5], &point[1..]].concat()),
        ("hybrid", &[&[6 + (point[64] & 1)], &point[1..]].concat()),
        ("nothing", &[]),
    ];
    let scalars: [(&str, Option<Vec<u8>>); 6] = [
        ("none", None),
        ("one", Some(number(&[1]))),
        ("n - 1", Some(number(&less))),
        ("n", Some(number(order))),
        ("zero", Some(number(&[0; 32]))),
        ("long", Some(vec![0xff; 70])),
    ];
    for group in [
        c"P-256",
        c"prime256v1",
        c"PRIME256V1",
        c"P-384",
        c"secp256r1",
        c"nonsense",
    ] {
        for (point_name, point) in &points {
            for (scalar_name, scalar) in &scalars {
                let seen = SIDES.each_ref().map(|side| {
                    let seen = keys::made_of(side.key, group, point, scalar.as_deref());
                    let Some(key) = seen else {
                        libcrypto().errors();
                        return "none".to_owned();
                    };
                    let mut contexts = Contexts::new(side, &key);
                    let mut seen = String::new();
                    for call in [
                        Call::SignInit,
                        Call::Sign(32, 0),
                        Call::VerifyInit,
                        Call::Verify(32),
                        Call::DigestVerifyInit(Some("SHA256")),
                        Call::Update(100),
                        Call::VerifyFinal,
                    ] {
                        seen += &contexts.call(&call, side, &key);
                    }
                    seen
                });
                // A value that is too long to export leaves an error behind, and the default provider performs the
                // operation.
                let seen = seen.map(|seen| seen.replace("[(15, 116)]", "[]"));
                let place = format!("{group:?} {point_name} {scalar_name}");
                assert_eq!(seen[1], seen[0], "{place}");
                assert_eq!(seen[2], seen[0], "{place}");
            }
        }
    }
}

/// The settings and lists of a context equal those of the default provider at each moment.
#[test]
fn contexts_describe_themselves_as_the_default_providers_do() {
    for (name, keys) in on_every_side() {
        for moment in [
            &[][..],
            &[Call::SignInit],
            &[Call::VerifyInit, Call::Digest("SHA256")],
            &[Call::DigestSignInit(Some("SHA384"))],
            &[Call::DigestSignInit(None)],
            &[Call::DigestVerifyInit(Some("SHA512")), Call::Update(3)],
            &[
                Call::DigestSignInit(Some("SHA256")),
                Call::Update(3),
                Call::Size,
            ],
        ] {
            let seen: Vec<_> = SIDES
                .iter()
                .zip(&keys)
                .map(|(side, key)| {
                    let mut contexts = Contexts::new(side, key);
                    for call in moment {
                        contexts.call(call, side, key);
                    }
                    (contexts.call(&Call::Get, side, key), contexts.described())
                })
                .collect();
            assert_eq!(seen[1], seen[0], "{name} {moment:?}");
            assert_eq!(seen[2], seen[0], "{name} {moment:?}");
        }
    }
}
