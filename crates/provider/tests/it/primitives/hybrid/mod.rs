//! Keys of ML-KEM and a curve together, and their encapsulation (EVP_PKEY-MLX(7), EVP_KEM-MLX(7)). OpenSSL has them since
//! release 3.5: before, there is no other side to compare with. From then on the same with ML-KEM by itself, and what it has
//! besides in `ml_kem.rs`.

mod kinds;
mod ml_kem;
mod random;

use std::ffi::{CStr, c_int, c_void};
use std::ptr::{null, null_mut};

use oarlock_testing::seeded_noise;

use self::kinds::{HYBRIDS, Hybrid, ML_KEMS, kinds, sides};
use super::keys::{Context, Key, PAIR, PARAMETERS, PUBLIC, functions};
use super::{SIDES, Values, errors};
use crate::driver::{Param, libcrypto};

/// Has each side do the same, and returns what ours did.
#[track_caller]
fn same<T: PartialEq + std::fmt::Debug>(what: &str, mut run: impl FnMut(&'static CStr) -> T) -> T {
    let mut seen: Vec<_> = sides().iter().map(|side| (run(side), errors())).collect();
    let (ours, raised) = seen.pop().unwrap();
    for (theirs, theirs_raised) in seen {
        assert_eq!(theirs, ours, "{what}");
        assert_eq!(theirs_raised, raised, "{what}");
    }
    ours
}

/// The same for what is refused for reasons that other algorithms raise before.
#[track_caller]
fn refused(what: &str, mut run: impl FnMut(&'static CStr) -> c_int) {
    for side in sides() {
        assert!(run(side) <= 0, "{what} {side:?}");
        assert!(
            !errors().is_empty() || libcrypto().release() < (3, 5),
            "{what} {side:?}"
        );
    }
}

/// Whether OpenSSL's own gives and takes private keys: of the curves of NIST it wants them in another type than it has them
/// in, and refuses.
fn has_private(hybrid: Hybrid, side: &CStr) -> bool {
    hybrid.ml_kem_at == 0 || side == SIDES[1]
}

/// The selections of pairs, public keys, parameters, and private keys alone.
const SELECTIONS: [c_int; 4] = [PAIR, PUBLIC, PARAMETERS, 1];

impl Context {
    fn encapsulates(&self) -> c_int {
        // SAFETY: null or a context that nobody else has, and no parameters.
        unsafe { (functions().EVP_PKEY_encapsulate_init)(self.0, null()) }
    }

    fn decapsulates(&self) -> c_int {
        // SAFETY: the same.
        unsafe { (functions().EVP_PKEY_decapsulate_init)(self.0, null()) }
    }

    /// The result, the lengths that were told, and the secret, if there is one.
    fn encapsulate(&self, ciphertext: Option<usize>, secret: Option<usize>) -> Made {
        let mut made = Made::default();
        let (mut ciphertext_bytes, mut secret_bytes) =
            (ciphertext.unwrap_or(0), secret.unwrap_or(0));
        let place = |bytes: Option<usize>, place: &mut Vec<u8>| match bytes {
            Some(_) => place.as_mut_ptr(),
            None => null_mut(),
        };
        made.ciphertext = vec![0; 4096];
        made.secret = vec![0; 4096];
        // SAFETY: a live context, and places with room.
        made.done = unsafe {
            (functions().EVP_PKEY_encapsulate)(
                self.0,
                place(ciphertext, &mut made.ciphertext),
                &mut ciphertext_bytes,
                place(secret, &mut made.secret),
                &mut secret_bytes,
            )
        };
        made.bytes = [ciphertext_bytes, secret_bytes];
        made.ciphertext.truncate(ciphertext_bytes);
        made.secret.truncate(secret_bytes);
        made
    }

    fn decapsulate(&self, ciphertext: &[u8], room: usize) -> (c_int, usize, Vec<u8>) {
        let (mut secret, mut bytes) = (vec![0; 4096], room);
        // SAFETY: a live context, a place with room, and so many bytes.
        let done = unsafe {
            let decapsulate = functions().EVP_PKEY_decapsulate;
            decapsulate(
                self.0,
                secret.as_mut_ptr(),
                &mut bytes,
                ciphertext.as_ptr(),
                ciphertext.len(),
            )
        };
        secret.truncate(if done == 1 { bytes } else { 0 });
        (done, bytes, secret)
    }
}

#[derive(Default)]
struct Made {
    done: c_int,
    bytes: [usize; 2],
    ciphertext: Vec<u8>,
    secret: Vec<u8>,
}

impl Key {
    fn generate(
        hybrid: Hybrid,
        side: &CStr,
        init: unsafe extern "C" fn(*mut c_void) -> c_int,
    ) -> Self {
        let context = Context::of_name(hybrid.name, side);
        // SAFETY: a live context, and texts that end.
        unsafe {
            assert_eq!(init(context.0), 1);
            // libssl names the group, which for these is the name of the algorithm, or empty.
            for name in [hybrid.name, c""] {
                assert_eq!(
                    (functions().EVP_PKEY_CTX_set_group_name)(context.0, name.as_ptr()),
                    1
                );
            }
        }
        context.generate()
    }

    fn pair(hybrid: Hybrid, side: &CStr) -> Self {
        Self::generate(hybrid, side, functions().EVP_PKEY_keygen_init)
    }

    fn blank(hybrid: Hybrid, side: &CStr) -> Self {
        Self::generate(hybrid, side, functions().EVP_PKEY_paramgen_init)
    }

    /// A blank key with a share.
    fn with_share(hybrid: Hybrid, side: &CStr, share: &[u8]) -> (c_int, Self) {
        let key = Self::blank(hybrid, side);
        (key.set(share), key)
    }

    fn public(&self) -> Vec<u8> {
        self.octets(c"encoded-pub-key", 4096).2
    }

    fn private(&self) -> Vec<u8> {
        self.octets(c"priv", 4096).2
    }

    /// What can be seen of it but its octets.
    fn seen(&self, hybrid: Hybrid) -> Vec<(c_int, Vec<u8>)> {
        let functions = functions();
        let mut seen = Vec::new();
        for name in [c"pub", c"priv", c"encoded-pub-key", c"unknown"] {
            for room in [4096, 3216, 100, 0] {
                let (done, bytes, _) = self.octets(name, room);
                seen.push((done, bytes.to_ne_bytes().to_vec()));
            }
        }
        seen.extend(self.checked());
        // SAFETY: a live key, and arrays that end.
        unsafe {
            for names in [
                &["security-category"][..],
                &["bits", "unknown", "max-size"],
                // Refused since 3.6.
                &["bits", "bits"],
            ] {
                let mut values = Values::default();
                for name in names {
                    values = values.int(name, 7);
                }
                let mut params = values.params();
                let done = (functions.EVP_PKEY_get_params)(self.0, params.as_mut_ptr());
                let told = values.0.iter().flat_map(|(.., value)| value.clone());
                seen.push((done, told.collect()));
            }
            // Nor does it export what is not there of one.
            let selections = SELECTIONS.into_iter();
            for selection in selections.filter(|it| *it != 1 || hybrid.ml_kem_at == 0) {
                let (done, parts) = self.exported(selection);
                let all = parts.into_iter().flat_map(|(name, octets)| {
                    [name, octets.len().to_ne_bytes().to_vec()].concat()
                });
                seen.push((done, all.collect()));
            }
            for list in [
                (functions.EVP_PKEY_gettable_params)(self.0),
                (functions.EVP_PKEY_settable_params)(self.0),
            ] {
                let (mut names, mut at) = (Vec::new(), list);
                while !(*at).key.is_null() {
                    names.push(CStr::from_ptr((*at).key).to_bytes().to_vec());
                    at = at.add(1);
                }
                names.sort();
                seen.push((1, names.concat()));
            }
        }
        seen
    }
}

#[test]
fn keys_pass_between_the_providers() {
    for hybrid in kinds() {
        for made_by in sides() {
            let pair = Key::pair(hybrid, made_by);
            let (public, private) = (pair.public(), pair.private());
            if !has_private(hybrid, made_by) {
                assert_eq!(private, b"");
                continue;
            }
            assert_eq!(
                (public.len(), private.len()),
                (hybrid.public, hybrid.private)
            );
            for to in sides().iter().filter(|to| has_private(hybrid, to)) {
                let values = Values::default().octets("priv", &private);
                let (done, private) = Key::of(hybrid.name, to, PAIR, values);
                assert_eq!((done, private.public()), (1, public.clone()));
                for from in sides() {
                    let values = Values::default().octets("pub", &public);
                    let (_, imported) = Key::of(hybrid.name, from, PUBLIC, values);
                    let (_, set) = Key::with_share(hybrid, from, &public);
                    let peers = [&imported, &set, &private, &pair];
                    // A pair is handed on whole.
                    let taken = if has_private(hybrid, from) { 4 } else { 2 };
                    for peer in &peers[..taken] {
                        let sender = Context::of_key(peer, from);
                        let ready = sender.encapsulates();
                        assert_eq!(ready, 1);
                        let made = sender.encapsulate(Some(4096), Some(4096));
                        assert_eq!(
                            (made.done, made.bytes),
                            (1, [hybrid.ciphertext, hybrid.secret])
                        );
                        for receiver in [&private, &pair] {
                            let receiver = Context::of_key(receiver, to);
                            let ready = receiver.decapsulates();
                            assert_eq!(ready, 1);
                            let opened = receiver.decapsulate(&made.ciphertext, 4096);
                            assert_eq!(
                                opened,
                                (1, hybrid.secret, made.secret.clone()),
                                "{made_by:?} {from:?} {to:?}"
                            );
                        }
                    }
                }
            }
        }
    }
    errors();
}

#[test]
fn what_is_seen_of_a_key_is_the_same() {
    for hybrid in kinds() {
        let pair = Key::pair(hybrid, SIDES[1]);
        let (public, private) = (pair.public(), pair.private());
        let name = hybrid.name.to_str().unwrap();
        for what in ["blank", "public", "pair", "copied"] {
            // A copy of a public key of OpenSSL 3.5's is not equal to it.
            let is_odd = what == "copied" && libcrypto().release() == (3, 5);
            if is_odd || what == "pair" && sides().iter().any(|side| !has_private(hybrid, side)) {
                continue;
            }
            let make = |side| match what {
                "blank" => Key::blank(hybrid, side),
                "public" => Key::with_share(hybrid, side, &public).1,
                "pair" => {
                    Key::of(
                        hybrid.name,
                        side,
                        PAIR,
                        Values::default().octets("priv", &private),
                    )
                    .1
                }
                // SAFETY: a live key.
                _ => unsafe {
                    let key = Key::with_share(hybrid, side, &public).1;
                    Key((functions().EVP_PKEY_dup)(key.0))
                },
            };
            same(&format!("{name} {what}"), |side| {
                let key = make(side);
                let (blank, public) = (
                    Key::blank(hybrid, side),
                    Key::with_share(hybrid, side, &public).1,
                );
                // SAFETY: live keys.
                unsafe {
                    if key.0.is_null() {
                        return (Vec::new(), Vec::new());
                    }
                    let compared = [&blank, &public, &key].map(|other| {
                        [
                            (functions().EVP_PKEY_eq)(key.0, other.0),
                            (functions().EVP_PKEY_parameters_eq)(key.0, other.0),
                        ]
                    });
                    let new = Key((functions().EVP_PKEY_new)());
                    let copied = (functions().EVP_PKEY_copy_parameters)(new.0, key.0);
                    let mut seen = key.seen(hybrid);
                    seen.push((copied, Vec::new()));
                    (seen, compared.to_vec())
                }
            });
        }
    }
}

#[test]
fn what_a_key_is_made_of_is_refused_alike() {
    for hybrid in kinds() {
        let pair = Key::pair(hybrid, SIDES[1]);
        let (public, private) = (pair.public(), pair.private());
        let name = hybrid.name.to_str().unwrap();
        // Lengths and what is missing.
        for (named, octets) in [("pub", &public), ("priv", &private)] {
            for length in [0, 1, octets.len() - 1, octets.len(), octets.len() + 1] {
                let given: Vec<u8> = octets.iter().copied().cycle().take(length).collect();
                for selection in SELECTIONS {
                    // A private key alone that is not to be taken makes some releases crash.
                    let is_private = named == "priv" && length > 0;
                    let all_have = sides().iter().all(|side| has_private(hybrid, side));
                    if is_private && (selection & 1 == 0 || !all_have) {
                        continue;
                    }
                    same(&format!("{name} {named} {length} {selection:x}"), |side| {
                        let values = Values::default().octets(named, &given);
                        let (done, key) = Key::of(hybrid.name, side, selection, values);
                        (done, done == 1 && key.public() == public)
                    });
                }
                same(&format!("{name} share {length}"), |side| {
                    Key::with_share(hybrid, side, &given).0 == 1 && named == "pub"
                });
            }
        }
        same(&format!("{name} nothing"), |side| {
            Key::of(hybrid.name, side, PAIR, Values::default()).0
        });
        for side in sides() {
            let (done, _) = Key::of(hybrid.name, side, PAIR, Values::default().text("pub", "x"));
            assert_eq!(done, 0, "{name} {side:?}");
            errors();
        }
        // A public key next to a private one is not looked at, but for its length.
        same(&format!("{name} both"), |side| {
            if !has_private(hybrid, sides()[0]) {
                return (1, true);
            }
            let values = Values::default().octets("pub", &vec![7; hybrid.public]);
            let (done, key) = Key::of(hybrid.name, side, PAIR, values.octets("priv", &private));
            (done, key.public() == public)
        });
        // A key has one share in its life.
        same(&format!("{name} twice"), |side| {
            let (first, key) = Key::with_share(hybrid, side, &public);
            [first, key.set(&public)]
        });
        // What is of the right length and no key.
        let unreduced = |bytes: &[u8], at: usize| {
            let mut altered = bytes.to_vec();
            altered[at..at + 3].fill(0xff);
            altered
        };
        let altered = unreduced(&public, hybrid.ml_kem_at);
        refused(&format!("{name} unreduced"), |side| {
            Key::with_share(hybrid, side, &altered).0
        });
        refused(&format!("{name} noise"), |side| {
            let noise = seeded_noise(4, hybrid.private);
            Key::of(
                hybrid.name,
                side,
                PAIR,
                Values::default().octets("priv", &noise),
            )
            .0
        });
        if hybrid.ml_kem_at > 0 {
            let altered = unreduced(&public, 5);
            refused(&format!("{name} off the curve"), |side| {
                Key::with_share(hybrid, side, &altered).0
            });
        }
    }
}

#[test]
fn encapsulation_is_refused_alike() {
    for hybrid in kinds() {
        let pair = Key::pair(hybrid, SIDES[1]);
        let (public, private) = (pair.public(), pair.private());
        let name = hybrid.name.to_str().unwrap();
        let Hybrid {
            ciphertext, secret, ..
        } = hybrid;
        for rooms in [
            (None, None),
            (None, Some(4096)),
            (Some(4096), None),
            (Some(ciphertext - 1), Some(secret)),
            (Some(ciphertext), Some(secret - 1)),
            (Some(0), Some(0)),
            (Some(ciphertext), Some(secret)),
        ] {
            same(&format!("{name} {rooms:?}"), |side| {
                let key = Key::with_share(hybrid, side, &public).1;
                let context = Context::of_key(&key, side);
                let ready = context.encapsulates();
                let made = context.encapsulate(rooms.0, rooms.1);
                (ready, made.done, made.bytes)
            });
        }
        for (bytes, room) in [
            (ciphertext, secret),
            (ciphertext, secret - 1),
            (ciphertext, 0),
            (ciphertext - 1, secret),
            (ciphertext + 1, secret),
            (0, secret),
        ] {
            // The part of the curve is one that there is.
            let given: Vec<u8> = match hybrid.ml_kem_at {
                0 => vec![9; bytes],
                at => public[..at]
                    .iter()
                    .copied()
                    .chain([9; 2000])
                    .take(bytes)
                    .collect(),
            };
            same(&format!("{name} {bytes} {room}"), |side| {
                if !has_private(hybrid, sides()[0]) {
                    return (1, (0, 0, Vec::new()));
                }
                let values = Values::default().octets("priv", &private);
                let key = Key::of(hybrid.name, side, PAIR, values).1;
                let context = Context::of_key(&key, side);
                let ready = context.decapsulates();
                (ready, context.decapsulate(&given, room))
            });
        }
        // Without a key, or the half of it.
        same(&format!("{name} blank"), |side| {
            let keys = [
                Key::blank(hybrid, side),
                Key::with_share(hybrid, side, &public).1,
            ];
            keys.map(|key| {
                let context = Context::of_key(&key, side);
                [context.decapsulates(), context.encapsulates()]
            })
        });
        // Contexts are not copied.
        same(&format!("{name} copies"), |side| {
            let key = Key::with_share(hybrid, side, &public).1;
            let context = Context::of_key(&key, side);
            // SAFETY: a live context, and no parameters.
            unsafe {
                let ready = context.encapsulates();
                let set = (functions().EVP_PKEY_CTX_set_params)(context.0, [Param::END].as_ptr());
                let copy = Context((functions().EVP_PKEY_CTX_dup)(context.0));
                (ready, set, copy.0.is_null())
            }
        });
        if !hybrid.has_curve() {
            continue;
        }
        // The part of the curve is no point, or of small order.
        let at = if hybrid.ml_kem_at == 0 { 1088 } else { 0 };
        let mut bad = public[..ciphertext.min(public.len())].to_vec();
        bad.resize(ciphertext, 0);
        bad[at..at + 32].fill(0);
        refused(&format!("{name} of small order"), |side| {
            let key = Key::pair(hybrid, side);
            let context = Context::of_key(&key, side);
            context.decapsulates();
            context.decapsulate(&bad, 4096).0
        });
    }
}

/// By what the configuration prefers, keys are ours from generation on.
#[test]
fn keys_are_generated_here() {
    for hybrid in kinds() {
        let key = Key::pair(hybrid, c"");
        assert_eq!(key.provider(), c"oarlock", "{:?}", hybrid.name);
    }
}
