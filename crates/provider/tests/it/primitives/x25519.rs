//! X25519 keys and secrets (EVP_PKEY-X25519(7)).

use std::ffi::{CStr, c_int, c_void};
use std::ptr::{null, null_mut};

use super::keys::{Context, Key, PAIR, PARAMETERS, PUBLIC, functions};
use super::{SIDES, Script, Seen, TYPES, Values, asked, errors, rounds};
use crate::driver::Param;

/// The selections of pairs, public keys and parameters.
const SELECTIONS: [c_int; 3] = [PAIR, PUBLIC, PARAMETERS];

fn of(side: &CStr, selection: c_int, values: Values) -> (c_int, Key) {
    Key::of(c"X25519", side, selection, values)
}

fn private(side: &CStr, private: &[u8]) -> Key {
    of(side, PAIR, Values::default().octets("priv", private)).1
}

fn generated(side: &CStr, init: unsafe extern "C" fn(*mut c_void) -> c_int) -> Key {
    let context = Context::of_name(c"X25519", side);
    // SAFETY: the context that generates is live.
    assert_eq!(unsafe { init(context.0) }, 1);
    context.generate()
}

/// Returns the result of getting octets, and the octets.
fn octets(key: &Key, name: &CStr) -> (c_int, Vec<u8>) {
    let (done, _, octets) = key.octets(name, 64);
    (done, octets)
}

/// Returns the key's observable properties.
fn seen(key: &Key) -> Vec<(c_int, Vec<u8>)> {
    let names = [c"pub", c"priv", c"encoded-pub-key", c"unknown"];
    let mut seen: Vec<_> = names.map(|name| octets(key, name)).into();
    seen.extend(key.checked());
    seen.extend(SELECTIONS.map(|selection| {
        let (done, parts) = key.exported(selection);
        let parts = parts.into_iter().flat_map(|(name, octets)| [name, octets]);
        (done, parts.flatten().collect())
    }));
    seen
}

fn secret(context: &Context, room: usize) -> Seen {
    let (mut secret, mut bytes) = (vec![0; 64], room);
    let derive = functions().EVP_PKEY_derive;
    // SAFETY: the context is live, the place has 64 bytes, and the length is at most that.
    let done = unsafe { derive(context.0, secret.as_mut_ptr(), &mut bytes) };
    secret.truncate(if done == 1 { bytes } else { 0 });
    (done, secret, errors())
}

/// Computes a secret with RFC 7748's function, from a key of one provider and a peer's of another.
fn agreed(properties: &CStr, own: &Key, peer: &Key) -> Seen {
    let context = Context::of_key(own, properties);
    // SAFETY: context and key are live.
    unsafe {
        assert_eq!((functions().EVP_PKEY_derive_init)(context.0), 1);
        let done = (functions().EVP_PKEY_derive_set_peer)(context.0, peer.0);
        if done != 1 {
            return (done, Vec::new(), errors());
        }
    }
    secret(&context, 32)
}

#[test]
fn wycheproof_agrees() {
    let vectors = oarlock_vectors::wycheproof::x25519().unwrap();
    for vector in vectors {
        let [default, ours] = SIDES.map(|side| {
            let own = private(side, &vector.private_key);
            let public = Values::default().octets("pub", &vector.public_key);
            let (done, peer) = of(side, PUBLIC, public);
            match peer.0.is_null() {
                false => agreed(side, &own, &peer),
                true => (done, Vec::new(), errors()),
            }
        });
        assert_eq!(ours, default, "{}", vector.source);
        if ours.0 == 1 {
            assert_eq!(ours.1, vector.secret, "{}", vector.source);
        } else {
            assert_eq!(vector.secret, [0; 32], "{}", vector.source);
        }
    }
}

#[test]
fn keys_pass_between_the_providers() {
    let init = functions().EVP_PKEY_keygen_init;
    for side in SIDES {
        let own = generated(side, init);
        // RFC 7748, section 5, fixes these bits of a key.
        let (_, private) = octets(&own, c"priv");
        assert_eq!((private[0] & 7, private[31] & 192), (0, 64));
        for other in SIDES {
            let peer = generated(other, init);
            let expected = agreed(side, &own, &peer);
            assert_eq!((expected.0, expected.1.len()), (1, 32));
            for by in SIDES {
                assert_eq!(
                    agreed(by, &own, &peer),
                    expected,
                    "{side:?} {other:?} {by:?}"
                );
                assert_eq!(
                    agreed(by, &peer, &own),
                    expected,
                    "{side:?} {other:?} {by:?}"
                );
            }
        }
    }
}

/// libssl creates a key with the parameters of another, and sets the share that the peer has sent.
#[test]
fn a_share_is_set_in_a_blank_key() {
    for side in SIDES {
        let own = generated(side, functions().EVP_PKEY_keygen_init);
        let blank = generated(side, functions().EVP_PKEY_paramgen_init);
        assert!(octets(&blank, c"priv").1.is_empty());
        let share = [9; 32];
        // SAFETY: the keys are live.
        unsafe {
            assert_eq!((functions().EVP_PKEY_copy_parameters)(blank.0, own.0), 1);
        }
        assert_eq!(blank.set(&share[..31]), 0, "{side:?}");
        assert_eq!(blank.set(&share), 1, "{side:?}");
        errors();
        assert_eq!(octets(&blank, c"encoded-pub-key"), (1, share.to_vec()));
        assert_eq!(agreed(side, &own, &blank).1.len(), 32);
    }
}

/// Properties that only some releases know, requested together with the octets, do not affect those.
#[test]
fn octets_are_told_with_what_is_unknown() {
    for side in SIDES {
        let key = private(side, &[9; 32]);
        let expected = octets(&key, c"pub").1;
        for name in [c"unknown", c"mandatory-digest"] {
            let (mut public, mut more) = ([0_u8; 32], [0_u8; 32]);
            let mut params = [
                Param::new(c"pub", Param::OCTET_STRING, public.as_mut_ptr(), 32),
                Param::new(name, super::UTF8_STRING, more.as_mut_ptr(), 32),
                Param::END,
            ];
            // SAFETY: the key is live, and the array is terminated and has places of the lengths that it declares.
            let done = unsafe { (functions().EVP_PKEY_get_params)(key.0, params.as_mut_ptr()) };
            assert_eq!((done, &public[..]), (1, &expected[..]), "{side:?} {name:?}");
        }
        errors();
    }
}

/// With the configuration's preference, keys are ours from generation on.
#[test]
fn keys_are_generated_here() {
    let key = generated(c"", functions().EVP_PKEY_keygen_init);
    assert_eq!(key.provider(), c"oarlock");
}

/// Names of a key's parameters.
const NAMES: [&str; 9] = [
    "pub",
    "priv",
    "encoded-pub-key",
    "bits",
    "security-bits",
    "max-size",
    "group",
    "mandatory-digest",
    "unknown",
];

/// The result of a step, and its output.
type Step = (c_int, Vec<u8>);

/// Performs the steps of a key exchange in any order, with peers of both providers, and copies of the context.
///
/// # Safety
/// The peers are live keys.
unsafe fn exchange(
    side: &CStr,
    own: &Key,
    peers: [*mut c_void; 2],
    steps: &[usize],
) -> (Vec<Step>, Vec<(u32, u32)>) {
    let mut context = Context::of_key(own, side);
    let mut seen = Vec::new();
    for step in steps {
        // SAFETY: contexts and the caller's keys are live, and outputs have room.
        unsafe {
            let functions = functions();
            seen.push(match step {
                0 => ((functions.EVP_PKEY_derive_init)(context.0), Vec::new()),
                1 | 2 => {
                    let set = functions.EVP_PKEY_derive_set_peer;
                    (set(context.0, peers[step - 1]), Vec::new())
                }
                3 => {
                    let mut bytes = 7_usize;
                    let done = (functions.EVP_PKEY_derive)(context.0, null_mut(), &mut bytes);
                    let bytes = if done == 1 { bytes } else { 0 };
                    (done, bytes.to_ne_bytes().to_vec())
                }
                4 => {
                    let copy = Context((functions.EVP_PKEY_CTX_dup)(context.0));
                    let is_made = !copy.0.is_null();
                    if is_made {
                        context = copy;
                    }
                    (is_made.into(), Vec::new())
                }
                _ => {
                    let (done, secret, _) = secret(&context, if *step == 5 { 32 } else { 20 });
                    (done, secret)
                }
            });
        }
    }
    (seen, errors())
}

fn values(script: &mut Script) -> Values {
    let mut values = Values::default();
    for _ in 0..1 + script.below(3) {
        let name = script.pick(&["priv", "pub", "pub", "group"]);
        let bytes = script.pick(&[32, 32, 32, 32, 31, 33, 0]);
        values = match name {
            "group" => values.text("group", "x25519"),
            _ => values.octets(
                name,
                &oarlock_testing::seeded_noise(script.below(3) as u64, bytes),
            ),
        };
    }
    values
}

/// Runs a script on both sides; returns the first call that differs, with both results.
fn run(seed: u64) -> Result<(), String> {
    let mut script = Script::new(seed);
    let mut keys: [Vec<Key>; 2] = [Vec::new(), Vec::new()];
    let mut calls = Vec::new();
    for _ in 0..6 {
        let values = values(&mut script);
        // 4.0 crashes on a private key alone that it refuses.
        let selection = match values.has("priv") && !values.has("pub") {
            true => PAIR,
            false => script.pick(&SELECTIONS),
        };
        calls.push(format!("{selection:x} {values:?}"));
        let made = SIDES.map(|side| of(side, selection, values.clone()));
        let done = made
            .each_ref()
            .map(|(done, key)| (*done, !key.0.is_null(), errors().is_empty()));
        if done[0].0 != done[1].0 {
            return Err(format!("{seed}: {calls:#?} {done:?}"));
        }
        for (all, (done, key)) in keys.iter_mut().zip(made) {
            if done == 1 && !key.0.is_null() {
                all.push(key);
            }
        }
    }
    let count = keys[0].len();
    for _ in 0..if count == 0 { 0 } else { 12 } {
        let (one, other) = (script.below(count), script.below(count));
        let (what, room) = (script.below(9), script.pick(&[32, 32, 64, 31]));
        let share = script.octets(&[32, 32, 31, 0]);
        let steps: Vec<usize> = (0..8).map(|_| script.below(7)).collect();
        let asks = script.clone();
        calls.push(format!(
            "{what} {one} {other} {room} {} {steps:?}",
            share.len()
        ));
        // The other provider's keys, for a context of this one's.
        let others = keys.each_ref().map(|keys| keys[other].0);
        let mut seen = keys.iter_mut().zip(SIDES).zip([others[1], others[0]]).map(
            |((keys, side), elsewhere)| {
                // SAFETY: keys and contexts are live, and the share has the length passed.
                unsafe {
                    match what {
                        0 => (seen(&keys[one]), errors()),
                        1 => {
                            let done = (functions().EVP_PKEY_eq)(keys[one].0, keys[other].0);
                            (vec![(done, Vec::new())], errors())
                        }
                        2 => {
                            let copy = (functions().EVP_PKEY_dup)(keys[one].0);
                            let is_made = !copy.is_null();
                            if is_made {
                                keys[other] = Key(copy);
                            }
                            (vec![(is_made.into(), Vec::new())], errors())
                        }
                        3 => {
                            let done = keys[one].set(&share);
                            (vec![(done, Vec::new())], errors())
                        }
                        4 => {
                            let get = functions().EVP_PKEY_get_params;
                            let seen = asked(&mut asks.clone(), &NAMES, &mut |params| {
                                get(keys[one].0, params)
                            });
                            // For a wrong type or size, releases since 3.2 raise errors of their own.
                            errors();
                            (vec![seen], Vec::new())
                        }
                        5 => {
                            let asks = &mut asks.clone();
                            let mut values = Values::default();
                            for _ in 0..1 + asks.below(2) {
                                let name =
                                    asks.pick(&["encoded-pub-key", "properties", "pub", "bits"]);
                                values = values.value(name, asks.pick(&TYPES[..4]), &share);
                            }
                            let mut params = values.params();
                            let set = functions().EVP_PKEY_set_params;
                            let done = set(keys[one].0, params.as_mut_ptr());
                            errors();
                            (vec![(done, Vec::new())], Vec::new())
                        }
                        6 | 7 => exchange(side, &keys[one], [keys[other].0, elsewhere], &steps),
                        _ => {
                            let context = Context::of_key(&keys[one], side);
                            let init = (functions().EVP_PKEY_derive_init)(context.0);
                            let set =
                                (functions().EVP_PKEY_derive_set_peer)(context.0, keys[other].0);
                            let (done, secret, errors) = secret(&context, room);
                            (
                                vec![(init, Vec::new()), (set, Vec::new()), (done, secret)],
                                errors,
                            )
                        }
                    }
                }
            },
        );
        let (default, ours) = (seen.next().unwrap(), seen.next().unwrap());
        if default != ours {
            return Err(format!("{seed}: {calls:#?} {default:02x?} {ours:02x?}"));
        }
    }
    Ok(())
}

#[test]
fn random_sequences_look_the_same() {
    let failed: Vec<_> = (0..rounds()).map(run).filter_map(Result::err).collect();
    assert!(failed.is_empty(), "{} like {}", failed.len(), failed[0]);
}

/// Contexts that are copied, or lack a key or a peer.
#[test]
fn contexts_are_copied_and_refuse_what_is_missing() {
    for side in SIDES {
        let [own, peer] = [1, 2].map(|byte| private(side, &[byte; 32]));
        let context = Context::of_key(&own, side);
        // SAFETY: contexts and keys are live.
        unsafe {
            assert_eq!((functions().EVP_PKEY_derive_init)(context.0), 1);
            let missing = secret(&context, 32);
            assert_eq!((missing.0, missing.2), (0, vec![(57, 128)]), "{side:?}");
            assert_eq!((functions().EVP_PKEY_derive_set_peer)(context.0, peer.0), 1);
            let copy = Context((functions().EVP_PKEY_CTX_dup)(context.0));
            let (mut bytes, derive) = (0, functions().EVP_PKEY_derive);
            assert_eq!((derive(context.0, null_mut(), &mut bytes), bytes), (1, 32));
            assert_eq!(secret(&copy, 32), secret(&context, 32));
            let params: *const Param = null();
            let _ = (functions().EVP_PKEY_CTX_set_params)(context.0, params);
        }
        errors();
    }
}
