//! Keys that sign whole messages, Ed25519 and ML-DSA: this provider behaves like the default one, call by call.

mod calls;
mod commands;
mod wycheproof;

use std::ffi::{CStr, c_int, c_void};
use std::fmt::Write as _;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use self::calls::{Call, Contexts, SIDES, Setting, program};
use crate::driver::libcrypto;
use crate::driver::rsa::{KEYPAIR, PUBLIC_KEY, RsaKey, functions, provider_name};

/// Returns the types that this release has.
fn types() -> &'static [&'static CStr] {
    match libcrypto().release() >= (3, 5) {
        true => &[c"ED25519", c"ML-DSA-44", c"ML-DSA-65", c"ML-DSA-87"],
        false => &[c"ED25519"],
    }
}

fn generated(name: &CStr, query: &CStr) -> RsaKey {
    RsaKey::generated(name, query, |_| 1)
}

/// Returns a key in each side's provider.
fn on_every_side(name: &CStr, selection: c_int) -> [RsaKey; SIDES.len()] {
    let key = generated(name, c"provider=default");
    SIDES.each_ref().map(|side| key.copied(side.key, selection))
}

fn rounds() -> u64 {
    crate::driver::rounds(2000)
}

/// Returns a signature of the first 100 bytes by the default provider's key, valid or damaged in one of three ways.
fn signature(name: &'static CStr, key: &RsaKey, damage: usize) -> Vec<u8> {
    let mut contexts = Contexts::new(name, &SIDES[0], key);
    for call in [Call::DigestSignInit(Setting::None), Call::Sign(100, 0)] {
        let seen = contexts.call(call, &SIDES[0], key).unwrap();
        assert!(seen.ends_with("1 []"), "{seen}");
    }
    let mut made = std::mem::take(&mut contexts.signature);
    match damage {
        1 => made[40] ^= 1,
        2 => made.truncate(made.len() - 1),
        3 => made.push(0),
        _ => {}
    }
    made
}

#[test]
fn every_call_does_what_the_default_provider_does() {
    let (mut signed, mut verified, mut refused) = (0, 0, 0);
    for name in types() {
        let pairs = on_every_side(name, KEYPAIR);
        let publics = SIDES
            .each_ref()
            .map(|side| pairs[0].copied(side.key, PUBLIC_KEY));
        let made = [0, 1, 2, 3].map(|damage| signature(name, &pairs[0], damage));
        libcrypto().errors();
        // ML-DSA takes a hundred times as long.
        let rounds = match *name == c"ED25519" {
            true => rounds(),
            false => rounds() / 8,
        };
        for round in 0..rounds {
            let mut rng = StdRng::seed_from_u64(round);
            let is_public = rng.random_range(0..6) == 0;
            let keys = if is_public { &publics } else { &pairs };
            let calls = program(&mut rng);
            let given = &made[rng.random_range(0..made.len())];
            let mut sides: Vec<_> = SIDES
                .iter()
                .zip(keys)
                .map(|(side, key)| (side, key, Contexts::new(name, side, key)))
                .collect();
            for (.., contexts) in &mut sides {
                contexts.signature.clone_from(given);
            }
            let mut before = String::new();
            for (number, call) in calls.iter().enumerate() {
                let seen: Vec<_> = sides
                    .iter_mut()
                    .map(|(side, key, contexts)| contexts.call(*call, side, key))
                    .collect();
                for (side, seen_there) in SIDES.iter().zip(&seen).skip(1) {
                    assert_eq!(
                        *seen_there, seen[0],
                        "round {round}, {name:?}, public {is_public}, {}: call {number} of {calls:?}, after{before}",
                        side.name
                    );
                }
                let Some(seen) = &seen[0] else {
                    continue;
                };
                let _ = write!(before, "\n{call:?} {seen}");
                let is_done = seen.ends_with("1 []");
                signed += u64::from(is_done && matches!(call, Call::Sign(..)));
                verified += u64::from(is_done && matches!(call, Call::Verify(_)));
                refused += u64::from(!is_done && matches!(call, Call::Verify(_)));
            }
        }
    }
    let all = rounds();
    assert!(signed > all / 4, "{signed} signatures");
    assert!(verified > all / 20, "{verified} signatures verified");
    assert!(refused > all / 20, "{refused} signatures refused");
}

/// Messages of every length around block lengths.
#[test]
fn what_one_side_signs_every_side_verifies() {
    let mut verified = 0;
    for name in types() {
        let keys = on_every_side(name, KEYPAIR);
        for (signer, key) in SIDES.iter().zip(&keys) {
            let mut contexts = Contexts::new(name, signer, key);
            let begun = contexts.call(Call::DigestSignInit(Setting::None), signer, key);
            assert_eq!(begun.as_deref(), Some("1 []"), "{name:?}");
            let seen = contexts.call(Call::Sign(100, 0), signer, key).unwrap();
            assert!(seen.ends_with("1 []"), "{name:?} {}: {seen}", signer.name);
            for (verifier, key) in SIDES.iter().zip(&keys) {
                let mut other = Contexts::new(name, verifier, key);
                other.signature.clone_from(&contexts.signature);
                other.call(Call::DigestVerifyInit(Setting::None), verifier, key);
                for (bytes, result) in [(100, "1 []"), (64, "0 ["), (0, "0 [")] {
                    let seen = other.call(Call::Verify(bytes), verifier, key).unwrap();
                    let place = format!("{name:?} {} {}", signer.name, verifier.name);
                    assert!(seen.starts_with(result), "{place}: {bytes} {seen}");
                    verified += u64::from(bytes == 100);
                }
            }
        }
    }
    libcrypto().errors();
    assert_eq!(verified, 9 * types().len() as u64);
}

#[test]
fn keys_stay_where_they_were_made_and_signatures_come_here() {
    let functions = functions();
    for name in types() {
        let keys = on_every_side(name, KEYPAIR);
        for (at, key_in, signs_in) in [
            (0, "default", "default"),
            (1, "default", "oarlock"),
            (2, "oarlock", "oarlock"),
        ] {
            let (side, key) = (&SIDES[at], &keys[at]);
            assert_eq!(key.provider(), key_in, "{name:?} {}", side.name);
            let mut contexts = Contexts::new(name, side, key);
            contexts.call(Call::DigestSignInit(Setting::None), side, key);
            // SAFETY: the context was begun, and is live.
            let provider = unsafe {
                let provider = (functions.EVP_PKEY_CTX_get0_provider)(contexts.settings());
                provider_name(provider)
            };
            assert_eq!(provider, signs_in, "{name:?} {}", side.name);
        }
    }
}

/// Generation, copies, comparison, and moves to the default provider and back.
#[test]
fn a_key_of_ours_is_whole() {
    let functions = functions();
    for name in types() {
        let key = generated(name, c"provider=oarlock");
        assert_eq!(key.provider(), "oarlock");
        let copy = key.copy_of_ours();
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
        let contexts = Contexts::new(name, &SIDES[2], &copy);
        // SAFETY: the context of the copy is live.
        let checked = unsafe { (functions.EVP_PKEY_check)(contexts.context) };
        assert_eq!(checked, 1);
    }
    assert_eq!(libcrypto().errors(), []);
}

/// The settings and lists of a context equal those of the default provider at each moment.
#[test]
fn contexts_describe_themselves_as_the_default_providers_do() {
    for name in types() {
        let keys = on_every_side(name, KEYPAIR);
        for moment in [
            &[Call::DigestSignInit(Setting::None)][..],
            &[Call::DigestVerifyInit(Setting::None)],
            &[Call::DigestSignInit(Setting::None), Call::Sign(100, 0)],
        ] {
            let seen: Vec<_> = SIDES
                .iter()
                .zip(&keys)
                .map(|(side, key)| {
                    let mut contexts = Contexts::new(name, side, key);
                    for call in moment {
                        contexts.call(*call, side, key);
                    }
                    (contexts.call(Call::Get, side, key), contexts.described())
                })
                .collect();
            assert_eq!(seen[1], seen[0], "{name:?} {moment:?}");
            assert_eq!(seen[2], seen[0], "{name:?} {moment:?}");
        }
    }
    libcrypto().errors();
}

/// Many threads sign and verify with one key concurrently, from its first use on.
#[test]
fn threads_share_a_key() {
    for name in types() {
        for side in &SIDES[1..] {
            let key = generated(name, c"provider=default").copied(side.key, KEYPAIR);
            let pointer = key.key as usize;
            std::thread::scope(|scope| {
                for thread in 0..4 {
                    scope.spawn(move || {
                        let key = std::mem::ManuallyDrop::new(RsaKey {
                            key: pointer as *mut c_void,
                        });
                        let mut contexts = Contexts::new(name, side, &key);
                        // One thread uses the default provider's key.
                        let setting = match thread == 3 && libcrypto().release() >= (3, 2) {
                            true => Setting::Context(""),
                            false => Setting::None,
                        };
                        for _ in 0..4 {
                            for call in [
                                Call::DigestSignInit(setting),
                                Call::Sign(100, 0),
                                Call::DigestVerifyInit(Setting::None),
                                Call::Verify(100),
                            ] {
                                let seen = contexts.call(call, side, &key).unwrap();
                                assert!(seen.ends_with("1 []"), "{name:?} {call:?} {seen}");
                            }
                        }
                    });
                }
            });
        }
    }
}
