//! What ML-KEM by itself has besides: seeds, private keys in both forms, and encapsulation with random octets of the caller's
//! own (EVP_PKEY-ML-KEM(7), EVP_KEM-ML-KEM(7)). And published vectors.

use std::ffi::{CStr, c_int};
use std::ptr::null_mut;

use oarlock_testing::seeded_noise;
use oarlock_vectors::{acvp, kat, wycheproof};

use super::super::{SIDES, Values, errors};
use super::{Context, Hybrid, Key, ML_KEMS, PAIR, PUBLIC, functions, same, sides};
use crate::driver::libcrypto;

const SEED_BYTES: usize = 64;
const RANDOM_BYTES: usize = 32;

/// Whether there is another side.
fn is_there() -> bool {
    sides().len() == SIDES.len()
}

/// A key that is generated with parameters.
fn generated(set: Hybrid, side: &CStr, mut values: Values) -> (c_int, c_int, Key) {
    let params = values.params();
    let mut key = null_mut();
    // SAFETY: a live library context, an array that ends, and a place for a key.
    let done = unsafe {
        let context = Context::of_name(set.name, side);
        assert_eq!((functions().EVP_PKEY_keygen_init)(context.0), 1);
        let taken = (functions().EVP_PKEY_CTX_set_params)(context.0, params.as_ptr());
        let done = match taken {
            1 => (functions().EVP_PKEY_generate)(context.0, &mut key),
            _ => 0,
        };
        (taken, done)
    };
    (done.0, done.1, Key(key))
}

/// The public key, the private one and the seed.
fn octets(key: &Key) -> [Vec<u8>; 3] {
    if key.0.is_null() {
        return [Vec::new(), Vec::new(), Vec::new()];
    }
    [key.public(), key.private(), key.octets(c"seed", 4096).2]
}

/// What an export gives, by name.
fn exported(key: &Key, selection: c_int) -> Vec<(Vec<u8>, Vec<u8>)> {
    let (_, mut all) = key.exported(selection);
    all.sort();
    all
}

#[test]
fn a_seed_makes_the_same_key() {
    for set in ML_KEMS.into_iter().filter(|_| is_there()) {
        let seed = seeded_noise(1, SEED_BYTES);
        let made = same("a seed", |side| {
            let (taken, done, key) = generated(set, side, Values::default().octets("seed", &seed));
            assert_eq!((taken, done), (1, 1));
            let [pair, public] = [PAIR, PUBLIC].map(|selection| exported(&key, selection));
            (octets(&key), pair, public)
        });
        assert_eq!(made.0[2], seed);
        for length in [0, 1, SEED_BYTES - 1, SEED_BYTES + 1] {
            let seed = seeded_noise(2, length);
            same(&format!("a seed of {length}"), |side| {
                let (taken, done, _) =
                    generated(set, side, Values::default().octets("seed", &seed));
                (taken, done)
            });
        }
        same("a seed that is a text", |side| {
            let (taken, done, _) = generated(set, side, Values::default().text("seed", "x"));
            (taken, done)
        });
        // What is set next to it changes nothing.
        same("more", |side| {
            let values = Values::default()
                .text("properties", "?a=b")
                .text("group", "x");
            let (taken, done, key) = generated(set, side, values.octets("seed", &seed));
            (taken, done, octets(&key))
        });
    }
}

#[test]
fn every_form_of_a_private_key_is_taken_or_refused_alike() {
    for set in ML_KEMS.into_iter().filter(|_| is_there()) {
        let seed = seeded_noise(3, SEED_BYTES);
        let (_, _, key) = generated(set, SIDES[1], Values::default().octets("seed", &seed));
        let [public, private, _] = octets(&key);
        let (_, _, other) = generated(set, SIDES[1], Values::default());
        let [other_public, other_private, other_seed] = octets(&other);
        assert_eq!(other_seed.len(), SEED_BYTES);
        let altered = |octets: &[u8], at: usize| {
            let mut octets = octets.to_vec();
            octets[at] ^= 1;
            octets
        };
        // The seed of rejected secrets is at the end of both.
        let (other_hash, other_z) = (
            altered(&private, set.private - 40),
            altered(&private, set.private - 1),
        );
        let seeds = [&[][..], &seed, &other_seed, &seed[1..]];
        let privates = [
            &[][..],
            &private,
            &other_private,
            &private[1..],
            &other_hash,
            &other_z,
        ];
        let publics = [&[][..], &public, &other_public, &public[1..]];
        let mut taken = 0;
        for (seed_at, seed) in seeds.iter().enumerate() {
            for (private_at, private) in privates.iter().enumerate() {
                for (public_at, public) in publics.iter().enumerate() {
                    let what = format!("{:?} {seed_at} {private_at} {public_at}", set.name);
                    let made = same(&what, |side| {
                        let mut values = Values::default();
                        for (name, octets) in [("seed", seed), ("priv", private), ("pub", public)] {
                            if !octets.is_empty() {
                                values = values.octets(name, octets);
                            }
                        }
                        let (done, key) = Key::of(set.name, side, PAIR, values);
                        let pair = match key.0.is_null() {
                            true => Vec::new(),
                            false => exported(&key, PAIR),
                        };
                        (done, octets(&key), pair)
                    });
                    taken += u32::from(made.0 == 1);
                }
            }
        }
        assert!(taken > 8, "{taken}");
    }
}

/// A key keeps its seed on its way between the providers, and its copy is the same.
#[test]
fn seeds_pass_between_the_providers() {
    for set in ML_KEMS.into_iter().filter(|_| is_there()) {
        for (from, to) in [(SIDES[0], SIDES[1]), (SIDES[1], SIDES[0])] {
            let (_, _, key) = generated(set, from, Values::default());
            let mut values = Values::default();
            for (name, octets) in exported(&key, PAIR) {
                values = values.octets(std::str::from_utf8(&name).unwrap(), &octets);
            }
            let (done, taken) = Key::of(set.name, to, PAIR, values);
            assert_eq!((done, octets(&taken)), (1, octets(&key)));
            // SAFETY: live keys.
            unsafe {
                let copy = Key((functions().EVP_PKEY_dup)(taken.0));
                // OpenSSL 3.5 copies no pair.
                if copy.0.is_null() {
                    assert_eq!(libcrypto().release(), (3, 5));
                } else {
                    assert_eq!(octets(&copy), octets(&key));
                    assert_eq!((functions().EVP_PKEY_eq)(copy.0, taken.0), 1);
                }
                assert_eq!((functions().EVP_PKEY_eq)(key.0, taken.0), 1);
                let other = Key::pair(set, to);
                assert_eq!((functions().EVP_PKEY_eq)(other.0, taken.0), 0);
            }
        }
        errors();
    }
}

/// Begins to encapsulate with parameters, at once or later.
fn begun(context: &Context, mut values: Values, is_later: bool) -> (c_int, c_int) {
    let params = values.params();
    // SAFETY: the context that encapsulates, and an array that ends.
    unsafe {
        let init = functions().EVP_PKEY_encapsulate_init;
        match is_later {
            false => (init(context.0, params.as_ptr()), 1),
            true => (
                init(context.0, std::ptr::null()),
                (functions().EVP_PKEY_CTX_set_params)(context.0, params.as_ptr()),
            ),
        }
    }
}

#[test]
fn random_octets_of_the_caller_give_the_same_secret() {
    for set in ML_KEMS.into_iter().filter(|_| is_there()) {
        let public = Key::pair(set, SIDES[1]).public();
        for is_later in [false, true] {
            for length in [RANDOM_BYTES, 0, RANDOM_BYTES - 1, RANDOM_BYTES + 1] {
                let random = seeded_noise(5, length);
                let made = same(&format!("{length} {is_later}"), |side| {
                    let key = Key::with_share(set, side, &public).1;
                    let context = Context::of_key(&key, side);
                    let values = Values::default().octets("ikme", &random);
                    let begun = begun(&context, values, is_later);
                    if begun != (1, 1) {
                        return (begun, 0, Vec::new(), Vec::new());
                    }
                    let made = context.encapsulate(Some(4096), Some(4096));
                    // They serve once.
                    let next = context.encapsulate(Some(4096), Some(4096));
                    assert_eq!(next.done, 1);
                    assert_ne!(next.secret, made.secret);
                    (begun, made.done, made.ciphertext, made.secret)
                });
                assert_eq!(made.1 == 1, length == RANDOM_BYTES);
            }
        }
        // Decapsulation takes no notice of them.
        same("decapsulation", |side| {
            let key = Key::pair(set, side);
            let context = Context::of_key(&key, side);
            let mut values = Values::default().octets("ikme", &[7; 5]);
            let params = values.params();
            // SAFETY: the context that decapsulates, and an array that ends.
            unsafe {
                [
                    (functions().EVP_PKEY_decapsulate_init)(context.0, params.as_ptr()),
                    (functions().EVP_PKEY_CTX_set_params)(context.0, params.as_ptr()),
                ]
            }
        });
    }
}

/// Implicit rejection (FIPS 203, 6.3): the secret of an altered ciphertext is the same on both sides, and no error.
#[test]
fn altered_ciphertexts_give_the_same_secret() {
    for set in ML_KEMS.into_iter().filter(|_| is_there()) {
        let seed = seeded_noise(6, SEED_BYTES);
        let ciphertext = seeded_noise(7, set.ciphertext);
        let (done, bytes, _) = same("an altered ciphertext", |side| {
            let (_, _, key) = generated(set, side, Values::default().octets("seed", &seed));
            let context = Context::of_key(&key, side);
            assert_eq!(context.decapsulates(), 1);
            context.decapsulate(&ciphertext, 4096)
        });
        assert_eq!((done, bytes), (1, set.secret));
    }
}

/// Project Wycheproof's and NIST's vectors, and the known answers to a DRBG's bytes, through EVP.
#[test]
fn vectors_hold() {
    let mut counts = [0; 3];
    let published = [wycheproof::ml_kem, acvp::ml_kem, kat::ml_kem];
    let published = published.iter().filter(|_| is_there());
    for vector in &published
        .flat_map(|read| read().unwrap())
        .collect::<Vec<_>>()
    {
        let set = ML_KEMS
            .into_iter()
            .find(|set| set.name.to_bytes() == vector.set.as_bytes());
        let (set, place) = (set.unwrap(), &vector.source);
        let side = SIDES[1];
        let held = if vector.random.is_empty() {
            let mut values = Values::default();
            for (name, octets) in [("seed", &vector.seed), ("priv", &vector.private_key)] {
                // Both forms of one key must fit together, so each is taken by itself.
                let is_first = name == "seed" || vector.seed.is_empty();
                if !octets.is_empty() && is_first {
                    values = values.octets(name, octets);
                }
            }
            let (done, key) = Key::of(set.name, side, PAIR, values);
            done == 1 && decapsulates(&key, side, vector, &mut counts)
        } else {
            let (done, key) = Key::of(
                set.name,
                side,
                PUBLIC,
                Values::default().octets("pub", &vector.public_key),
            );
            done == 1 && {
                let context = Context::of_key(&key, side);
                let begun = begun(
                    &context,
                    Values::default().octets("ikme", &vector.random),
                    false,
                );
                let made = context.encapsulate(Some(4096), Some(4096));
                assert_eq!((begun, made.done), ((1, 1), 1), "{place}");
                assert_eq!(
                    (&made.ciphertext, &made.secret),
                    (&vector.ciphertext, &vector.secret)
                );
                counts[2] += 1;
                true
            }
        };
        assert_eq!(held, vector.is_valid, "{place}");
        errors();
    }
    assert!(
        !is_there() || counts.iter().all(|count| *count > 3300),
        "{counts:?}"
    );
}

/// Whether the key is that of a vector, and opens its ciphertext where it has one.
fn decapsulates(
    key: &Key,
    side: &CStr,
    vector: &oarlock_vectors::MlKemVector,
    counts: &mut [usize; 3],
) -> bool {
    let [public, private, _] = octets(key);
    for (made, expected) in [(public, &vector.public_key), (private, &vector.private_key)] {
        assert!(
            expected.is_empty() || made == *expected,
            "{}",
            vector.source
        );
    }
    counts[0] += 1;
    if vector.ciphertext.is_empty() {
        return true;
    }
    let context = Context::of_key(key, side);
    assert_eq!(context.decapsulates(), 1);
    let (done, _, secret) = context.decapsulate(&vector.ciphertext, 4096);
    if done != 1 {
        return false;
    }
    assert_eq!(secret, vector.secret, "{}", vector.source);
    counts[1] += 1;
    true
}
