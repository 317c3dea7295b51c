//! RSA: keys and signatures of this provider behave like those of the default one, call by call.

pub mod calls;
pub mod commands;
mod decryption;
mod keys;
mod parameters;
mod reading;
mod wycheproof;

use std::ffi::c_void;
use std::fmt::Write as _;
use std::process::Command;

use oarlock::Accelerator;
use oarlock::rsa::RsaPrivateKey;
use oarlock_testing::lossy;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use self::calls::{Call, Contexts, SIDES, Side, program};
use self::keys::{keys, on_every_side};
use crate::driver::rsa::{RsaKey, functions, provider_name};
use crate::driver::{libcrypto, rounds};
use crate::host::{Accelerated, TEST_OPTIONS, has_lanes, run_with};

fn shortened(seen: &str) -> String {
    match seen.len() {
        0..200 => seen.to_owned(),
        bytes => format!("{}...{}", &seen[..60], &seen[bytes - 40..]),
    }
}

/// Earlier releases crash by themselves: a context's copy has no key management and shares the original's label, which is
/// freed twice; a message that did not begin has no functions. These are the first tested releases without these faults.
const SURVIVES: [[u32; 3]; 2] = [[3, 0, 19], [3, 5, 5]];

#[test]
fn every_call_does_what_the_default_provider_does() {
    if !has_lanes() {
        return;
    }
    let rounds = rounds(1500);
    let keys = on_every_side();
    libcrypto().errors();
    let mut signed = 0;
    for round in 0..rounds {
        let mut rng = StdRng::seed_from_u64(round);
        let (name, keys) = &keys[rng.random_range(0..keys.len())];
        let mut calls = program(&mut rng);
        let copies = calls.iter().any(|call| matches!(call, Call::Copy));
        if copies && !libcrypto().has(&SURVIVES) {
            calls.retain(|call| !matches!(call, Call::Mgf1(_)));
        }
        let mut sides: Vec<_> = SIDES
            .iter()
            .zip(keys)
            .map(|(side, key)| (side, key, Contexts::new(side, key)))
            .collect();
        // One signature for all sides to verify.
        let mut common = vec![0u8; keys[0].bytes()];
        rng.fill(&mut common[1..]);
        for (.., contexts) in &mut sides {
            contexts.signature = common.clone();
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
            if begins && !seen[0].starts_with("1 [") && !libcrypto().has(&SURVIVES) {
                break;
            }
            // The default provider keeps a padding that it has refused, and even signs with it.
            if matches!(call, Call::Padding(_)) && seen[0].starts_with("0 [") {
                break;
            }
            let _ = write!(before, "\n{call:?} {}", shortened(&seen[0]));
            if matches!(call, Call::Sign(..) | Call::Final(_)) && seen[0].contains(" 1 []") {
                signed += 1;
                // All sides verify what one has signed.
                let made = sides[round as usize % sides.len()].2.signature.clone();
                for (.., contexts) in &mut sides {
                    contexts.signature.clone_from(&made);
                }
            }
        }
    }
    assert!(signed > rounds / 6, "{signed} signatures");
}

/// Runs this module's tests again, in a process where every private operation uses the lanes.
#[test]
fn all_of_it_with_every_operation_in_lanes() {
    if !has_lanes() || std::env::var_os(TEST_OPTIONS).is_some() {
        return;
    }
    let mut again = Command::new(std::env::current_exe().unwrap());
    // Commands have configurations of their own.
    again.args(["rsa::", "--skip", "rsa::commands", "--skip", "rsa::reading"]);
    again.env(TEST_OPTIONS, "lanes=always");
    again.env("OARLOCK_DIFFERENTIAL_ROUNDS", rounds(400).to_string());
    let output = again.output().unwrap();
    assert!(
        output.status.success(),
        "{}{}",
        lossy(&output.stdout),
        lossy(&output.stderr)
    );
}

/// The option works: a single operation, which no plan would put there, is computed in lanes.
#[test]
fn lanes_always_means_every_operation() {
    if !has_lanes() {
        return;
    }
    let accelerator = Accelerator::builder().max_threads(0).build().unwrap();
    let in_lanes = || accelerator.stats().public_key.in_groups;
    for (name, pem) in &keys()[..4] {
        let key = RsaPrivateKey::from_pem(pem).unwrap();
        let rsa = accelerator.rsa(&key);
        let before = in_lanes();
        let power = rsa.raw_private_in_lanes(&[2]).unwrap();
        assert_eq!(power, rsa.raw_private_alone(&[2]), "{name}");
        assert_eq!(in_lanes(), before + 1, "{name}");
    }
}

#[test]
fn signatures_with_salts_are_verified_by_the_default_provider() {
    if !has_lanes() {
        return;
    }
    let context = libcrypto().library_context();
    let mut made = 0;
    for (name, pem) in keys() {
        let [stock, ours] = [0, 1].map(|side: usize| RsaKey::read(context, pem, SIDES[side].key));
        for digest in ["SHA256", "SHA384", "SHA2-512/256", "SHA1"] {
            for mgf1 in [digest, "SHA224"] {
                for salt in [-1, -3, 0, 11, 32] {
                    let calls = [
                        Call::DigestSignInit(digest),
                        Call::Padding(6),
                        Call::Mgf1(mgf1),
                        Call::Salt(salt),
                        Call::Update(200),
                        Call::Final(0),
                    ];
                    let mut signer = Contexts::new(&SIDES[1], &ours);
                    let seen: Vec<_> = calls
                        .iter()
                        .map(|call| signer.call(call, &SIDES[1], &ours))
                        .collect();
                    if !seen.iter().all(|seen| seen.ends_with("1 []")) {
                        continue; // too short, or restricted to other digests or salts
                    }
                    made += 1;
                    let mut verifier = Contexts::new(&SIDES[0], &stock);
                    verifier.signature = signer.signature.clone();
                    for call in [
                        Call::DigestVerifyInit(digest),
                        Call::Padding(6),
                        Call::Mgf1(mgf1),
                        Call::Salt(salt),
                        Call::Update(200),
                        Call::VerifyFinal,
                    ] {
                        let seen = verifier.call(&call, &SIDES[0], &stock);
                        assert!(
                            seen.ends_with("1 []"),
                            "{name} {digest} {mgf1} {salt}: {call:?} {seen}"
                        );
                    }
                }
            }
        }
        libcrypto().errors();
    }
    assert!(made > 200, "{made}");
}

#[test]
fn keys_stay_where_they_were_made_and_signatures_come_here() {
    if !has_lanes() {
        return;
    }
    let context = libcrypto().library_context();
    let functions = functions();
    let pem = &keys()[0].1;
    for (side, key_in, signs_in) in [
        (0, "default", "default"),
        (1, "default", "oarlock"),
        (2, "oarlock", "oarlock"),
    ] {
        let side = &SIDES[side];
        let key = RsaKey::read(context, pem, side.key);
        assert_eq!(key.provider(), key_in, "{}", side.name);
        let contexts = Contexts::new(side, &key);
        // SAFETY: the contexts are live.
        unsafe {
            assert_eq!((functions.EVP_PKEY_sign_init)(contexts.context), 1);
            let provider = (functions.EVP_PKEY_CTX_get0_provider)(contexts.context);
            assert_eq!(provider_name(provider), signs_in, "{}", side.name);
        }
    }
}

/// Key generation, copies, comparison, checks and encryption of keys that this provider holds.
#[test]
fn a_key_of_ours_is_whole() {
    if !has_lanes() {
        return;
    }
    let functions = functions();
    for kind in [c"RSA", c"RSA-PSS"] {
        // SAFETY: the context is that of a new generation.
        let key = RsaKey::generated(kind, c"provider=oarlock", |generator| unsafe {
            (functions.EVP_PKEY_CTX_set_rsa_keygen_bits)(generator, 1536)
        });
        assert_eq!((key.provider(), key.bytes()), ("oarlock".to_owned(), 192));
        let copy = key.copy_of_ours();
        // SAFETY: keys and contexts are live, and each length is that of its buffer.
        unsafe {
            let contexts = Contexts::new(&SIDES[2], &copy);
            assert_eq!((functions.EVP_PKEY_check)(contexts.context), 1);
            if kind == c"RSA-PSS" {
                continue;
            }
            let (mut sealed, mut opened) = ([0; 192], [0; 192]);
            let (mut bytes, mut opened_bytes) = (192, 192);
            assert_eq!((functions.EVP_PKEY_encrypt_init)(contexts.context), 1);
            let place = sealed.as_mut_ptr();
            let sent = b"message";
            assert_eq!(
                (functions.EVP_PKEY_encrypt)(contexts.context, place, &mut bytes, sent.as_ptr(), 7),
                1
            );
            let contexts = Contexts::new(&SIDES[2], &key);
            assert_eq!((functions.EVP_PKEY_decrypt_init)(contexts.context), 1);
            assert_eq!(
                (functions.EVP_PKEY_decrypt)(
                    contexts.context,
                    opened.as_mut_ptr(),
                    &mut opened_bytes,
                    sealed.as_ptr(),
                    bytes,
                ),
                1
            );
            assert_eq!(opened[..opened_bytes], *sent);
        }
    }
    assert_eq!(libcrypto().errors(), []);
}

/// Many threads sign with one key and with several, and every signature is right.
#[test]
fn threads_sign_together() {
    if !has_lanes() {
        return;
    }
    let context = libcrypto().library_context() as usize;
    let expected: Vec<Vec<u8>> = keys()[..4]
        .iter()
        .map(|(_, pem)| {
            let key = RsaKey::read(context as *mut c_void, pem, SIDES[0].key);
            signature(&SIDES[0], &key)
        })
        .collect();
    for shares_keys in [true, false] {
        let shared: Vec<_> = keys()[..4]
            .iter()
            .map(|(_, pem)| RsaKey::read(context as *mut c_void, pem, SIDES[1].key))
            .collect();
        let pointers: Vec<usize> = shared.iter().map(|key| key.key as usize).collect();
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let (pointers, expected) = (&pointers, &expected);
                scope.spawn(move || {
                    for round in 0..40 {
                        let number = (thread + round) % 4;
                        let own;
                        let key = if shares_keys {
                            &std::mem::ManuallyDrop::new(RsaKey {
                                key: pointers[number] as *mut c_void,
                            })
                        } else {
                            let pem = &keys()[number].1;
                            let place = context as *mut c_void;
                            own = RsaKey::read(place, pem, SIDES[1].key);
                            &std::mem::ManuallyDrop::new(RsaKey { key: own.key })
                        };
                        assert_eq!(signature(&SIDES[1], key), expected[number]);
                    }
                });
            }
        });
    }
}

fn signature(side: &Side, key: &RsaKey) -> Vec<u8> {
    let mut contexts = Contexts::new(side, key);
    for call in [
        Call::DigestSignInit("SHA256"),
        Call::Update(300),
        Call::Final(0),
    ] {
        contexts.call(&call, side, key);
    }
    contexts.signature.clone()
}

/// Runs enough jobs to fill the lanes, fewer, and more. `handshakes` checks that jobs are batched.
#[test]
fn jobs_of_openssl_speed_end_without_a_fault() {
    if !has_lanes() {
        return;
    }
    let accelerated = Accelerated::new();
    for (size, jobs) in [
        ("rsa2048", "1"),
        ("rsa2048", "2"),
        ("rsa2048", "7"),
        ("rsa4096", "16"),
    ] {
        let mut speed = Command::new("openssl");
        speed.args(["speed", "-seconds", "1", "-async_jobs", jobs, size]);
        let output = run_with(accelerated.apply(&mut speed), b"");
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success() && !text.contains("fail"),
            "{size} {jobs}: {text}"
        );
    }
}
