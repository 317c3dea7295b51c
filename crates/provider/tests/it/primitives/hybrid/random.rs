//! Random calls: keys of every kind, contexts in any order, places that are too small or none, and keys of the other provider.
//! Encapsulation is random, so results, lengths and errors are compared, and secrets with what each side opens.

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

use super::super::{Script, TYPES, Values, asked, errors, rounds};
use super::{
    Context, HYBRIDS, Hybrid, Key, PAIR, SELECTIONS, functions, has_private, kinds, sides,
};
use crate::driver::libcrypto;

/// What a call did: its result and what it told.
type Told = (c_int, Vec<u8>);

/// Pairs that every script takes keys from: to make one costs more than a script.
struct Pair {
    hybrid: Hybrid,
    public: Vec<u8>,
    private: Vec<u8>,
    ciphertext: Vec<u8>,
}

impl Pair {
    fn new(hybrid: Hybrid) -> Self {
        let key = Key::pair(hybrid, c"provider=oarlock");
        let context = Context::of_key(&key, c"provider=oarlock");
        assert_eq!(context.encapsulates(), 1);
        let made = context.encapsulate(Some(4096), Some(4096));
        assert_eq!(made.done, 1);
        Self {
            hybrid,
            public: key.public(),
            private: key.private(),
            ciphertext: made.ciphertext,
        }
    }
}

const NAMES: [&str; 10] = [
    "pub",
    "priv",
    "seed",
    "encoded-pub-key",
    "bits",
    "security-bits",
    "security-category",
    "max-size",
    "properties",
    "unknown",
];

/// Octets as they are, or altered.
fn altered(script: &mut Script, octets: &[u8]) -> Vec<u8> {
    let mut octets = octets.to_vec();
    match script.below(8) {
        0 => octets.truncate(octets.len() - 1),
        1 => octets.push(0),
        2 => octets.clear(),
        // Of a curve's part, or of ML-KEM's.
        3 => {
            let at = script.below(256) * octets.len() / 256;
            // Not the form of a point, of which OpenSSL takes one more.
            octets[at.max(1)] ^= 1 << script.below(8);
        }
        _ => {}
    }
    octets
}

/// A key on each side, made in the same way.
fn keys(script: &mut Script, pair: &Pair, calls: &mut Vec<String>) -> (Told, Vec<Key>) {
    let what = script.below(6);
    let (public, private) = (
        altered(script, &pair.public),
        altered(script, &pair.private),
    );
    let all_have = sides().iter().all(|side| has_private(pair.hybrid, side));
    let selection = script.pick(&SELECTIONS);
    calls.push(format!(
        "key {what} {} {} {selection:x}",
        public.len(),
        private.len()
    ));
    let mut told = Vec::new();
    let made = sides().iter().map(|side| {
        let (done, key) = match what {
            0 => (1, Key::blank(pair.hybrid, side)),
            1 => Key::with_share(pair.hybrid, side, &public),
            2 if selection & 2 != 0 => {
                let values = Values::default().octets("pub", &public);
                Key::of(pair.hybrid.name, side, selection, values)
            }
            // A private key alone that is not to be taken makes some releases crash, and so does one that they cannot take.
            3 if all_have => {
                let values = Values::default().octets("priv", &private);
                Key::of(pair.hybrid.name, side, PAIR, values)
            }
            4 if all_have => {
                let values = Values::default().octets("pub", &public);
                let values = values.octets("priv", &private);
                Key::of(pair.hybrid.name, side, PAIR, values)
            }
            _ => Key::with_share(pair.hybrid, side, &pair.public),
        };
        told.push(c_int::from(done == 1));
        key
    });
    let made: Vec<Key> = made.collect();
    let first = told[0];
    let same = told.iter().all(|it| *it == first);
    // Errors behind a refusal name files of OpenSSL's.
    errors();
    ((if same { first } else { -9 }, Vec::new()), made)
}

/// A call with a key's context: what it did.
///
/// # Safety
/// The key is live.
unsafe fn call(
    what: usize,
    context: &mut Context,
    pair: &Pair,
    given: &Given,
    opened: &mut Vec<Vec<u8>>,
) -> Told {
    let functions = functions();
    match what {
        0 => (context.encapsulates(), Vec::new()),
        1 => (context.decapsulates(), Vec::new()),
        2 | 3 => {
            let [ciphertext, secret] = given.rooms;
            let made = context.encapsulate(ciphertext, secret);
            let bytes = made.bytes.map(usize::to_ne_bytes).concat();
            if made.done == 1 && ciphertext.is_some() {
                opened.push([made.ciphertext, made.secret].concat());
            }
            (made.done, bytes)
        }
        4..7 => {
            let room = given.rooms[1].unwrap_or(0);
            let (done, bytes, secret) = context.decapsulate(&given.ciphertext, room);
            (done, [&bytes.to_ne_bytes()[..], &secret].concat())
        }
        7 => {
            // Without a place for the secret: its length.
            let mut bytes = 7_usize;
            let ciphertext = &pair.ciphertext;
            // SAFETY: a live context, a place for a length, and a ciphertext of so many bytes.
            let done = unsafe {
                let decapsulate = functions.EVP_PKEY_decapsulate;
                let (first, length) = (ciphertext.as_ptr(), ciphertext.len());
                decapsulate(context.0, null_mut(), &mut bytes, first, length)
            };
            (done, bytes.to_ne_bytes().to_vec())
        }
        8 => {
            // SAFETY: the context that is copied lives as long as the script.
            let copy = Context(unsafe { (functions.EVP_PKEY_CTX_dup)(context.0) });
            let is_made = !copy.0.is_null();
            if is_made {
                *context = copy;
            }
            (is_made.into(), Vec::new())
        }
        _ => {
            let mut values = Values::default().value("operation", given.kind, b"DHKEM");
            let params = values.params();
            // SAFETY: a live context, and an array that ends.
            let done = unsafe { (functions.EVP_PKEY_CTX_set_params)(context.0, params.as_ptr()) };
            (done, Vec::new())
        }
    }
}

/// What a call is given.
struct Given {
    rooms: [Option<usize>; 2],
    ciphertext: Vec<u8>,
    kind: u32,
}

/// Looks at a key, or changes it.
///
/// # Safety
/// `other` is a live key.
unsafe fn look(
    what: usize,
    key: &mut Key,
    other: *mut c_void,
    asks: &mut Script,
    share: &[u8],
) -> Told {
    let functions = functions();
    // SAFETY: live keys, arrays that end, and a share of so many bytes.
    unsafe {
        match what {
            0 => asked(asks, &NAMES, &mut |params| {
                (functions.EVP_PKEY_get_params)(key.0, params)
            }),
            1 => {
                let name = asks.pick(&NAMES);
                let kind = asks.pick(&TYPES[..4]);
                // A query that cannot be parsed leaves errors of the parser's with the key's next use.
                let value = if name == "properties" { b"?a=b" } else { share };
                let mut values = Values::default().value(name, kind, value);
                let mut params = values.params();
                let done = (functions.EVP_PKEY_set_params)(key.0, params.as_mut_ptr());
                (done, Vec::new())
            }
            2 => (key.set(share), Vec::new()),
            // What 3.5 copies is unequal, and a blank key it does not copy.
            3 if libcrypto().release() != (3, 5) => {
                let copy = Key((functions.EVP_PKEY_dup)(key.0));
                let is_made = !copy.0.is_null();
                if is_made {
                    *key = copy;
                }
                (is_made.into(), Vec::new())
            }
            4 => {
                let done = (functions.EVP_PKEY_copy_parameters)(key.0, other);
                (done, Vec::new())
            }
            _ => ((functions.EVP_PKEY_eq)(key.0, other), Vec::new()),
        }
    }
}

/// Runs a script on each side; the first call that differs, with both.
fn run(pairs: &[Pair], seed: u64) -> Result<u32, String> {
    let mut script = Script::new(seed);
    let pair = &pairs[script.below(pairs.len())];
    let mut calls = vec![format!("{:?}", pair.hybrid.name)];
    let mut all: Vec<Vec<Key>> = Vec::new();
    for _ in 0..2 {
        let ((done, _), made) = keys(&mut script, pair, &mut calls);
        if done == -9 {
            return Err(format!("{seed}: {calls:#?}"));
        }
        all.push(made);
    }
    let is_whole = |keys: &Vec<Key>| keys.iter().all(|key| !key.0.is_null());
    all.retain(is_whole);
    let mut encapsulated = 0;
    let Some(keys) = all.first_mut() else {
        return Ok(0);
    };
    // An altered share may be one as well.
    let is_of_pair = keys.iter().all(|key| key.public() == pair.public);
    errors();
    let mut contexts: Vec<Context> = keys
        .iter()
        .zip(sides())
        .map(|(key, side)| Context::of_key(key, side))
        .collect();
    for _ in 0..script.below(12) {
        let what = script.below(16);
        let room = |script: &mut Script, bytes: usize| {
            let rooms = [
                Some(bytes),
                Some(bytes),
                Some(4096),
                Some(bytes - 1),
                Some(0),
                None,
            ];
            script.pick(&rooms)
        };
        let given = Given {
            rooms: [
                room(&mut script, pair.hybrid.ciphertext),
                room(&mut script, pair.hybrid.secret),
            ],
            ciphertext: altered(&mut script, &pair.ciphertext),
            kind: script.pick(&TYPES[..4]),
        };
        let share = altered(&mut script, &pair.public);
        let (at, asks) = (script.below(all.len()), script.clone());
        calls.push(format!(
            "{what} {:?} {}",
            given.rooms,
            given.ciphertext.len()
        ));
        let others: Vec<*mut c_void> = all[at].iter().map(|key| key.0).collect();
        let mut opened: Vec<Vec<u8>> = Vec::new();
        let mut seen = Vec::new();
        for (number, context) in contexts.iter_mut().enumerate() {
            // SAFETY: keys of this side, which live as long as the script.
            let told = unsafe {
                match what.checked_sub(10) {
                    None => call(what, context, pair, &given, &mut opened),
                    Some(look_at) => {
                        let key = &mut all[0][number];
                        look(look_at, key, others[number], &mut asks.clone(), &share)
                    }
                }
            };
            let raised = errors();
            // What is refused behind the curve or ML-KEM has errors of theirs before.
            let raised = if told.0 == 1 { raised } else { Vec::new() };
            let told = if told.0 == 1 {
                told
            } else {
                (told.0.min(0), Vec::new())
            };
            seen.push((told, raised));
        }
        if seen.iter().any(|it| *it != seen[0]) {
            return Err(format!("{seed}: {calls:#?} {seen:02x?}"));
        }
        for made in opened.into_iter().filter(|_| is_of_pair) {
            encapsulated += 1;
            open(pair, &made).map_err(|error| format!("{seed}: {calls:#?} {error}"))?;
        }
    }
    Ok(encapsulated)
}

/// Whether what was encapsulated to the pair is opened with the same secret by every side that has the private key.
fn open(pair: &Pair, made: &[u8]) -> Result<(), String> {
    let (ciphertext, secret) = made.split_at(pair.hybrid.ciphertext);
    let able = sides().iter().filter(|side| has_private(pair.hybrid, side));
    for side in able {
        let values = Values::default().octets("priv", &pair.private);
        let (_, key) = Key::of(pair.hybrid.name, side, PAIR, values);
        let context = Context::of_key(&key, side);
        context.decapsulates();
        let (done, _, opened) = context.decapsulate(ciphertext, 4096);
        if done != 1 || opened != secret {
            return Err(format!("{side:?} opens it otherwise: {done}"));
        }
    }
    Ok(())
}

#[test]
fn random_sequences_look_the_same() {
    let pairs: Vec<Pair> = kinds().into_iter().map(Pair::new).collect();
    let mut encapsulated = 0;
    let mut failed = Vec::new();
    for seed in 0..rounds() {
        match run(&pairs, seed) {
            Ok(made) => encapsulated += u64::from(made),
            Err(error) => failed.push(error),
        }
    }
    assert!(failed.is_empty(), "{} like {}", failed.len(), failed[0]);
    assert!(encapsulated > rounds() / 150, "{encapsulated}");
}

/// TLS has points uncompressed alone (RFC 8446, 4.2.8.2). OpenSSL also takes the hybrid form, whose first octet says the parity
/// of the second coordinate.
#[test]
fn points_in_another_form_are_no_share() {
    for hybrid in HYBRIDS.into_iter().filter(|it| it.ml_kem_at > 0) {
        let share = Key::pair(hybrid, c"provider=oarlock").public();
        let parity = share[hybrid.ml_kem_at - 1] & 1;
        for form in [2 + parity, 5, 6 + parity, 7 - parity, 0] {
            let mut other = share.clone();
            other[0] = form;
            let (done, _) = Key::with_share(hybrid, c"provider=oarlock", &other);
            assert!(done <= 0, "{:?} {form}", hybrid.name);
        }
        assert_eq!(Key::with_share(hybrid, c"provider=oarlock", &share).0, 1);
        errors();
    }
}

/// Since release 3.6 a key takes a query for its parts, which must be a text.
#[test]
fn a_query_that_is_no_text_is_refused_alike() {
    for hybrid in HYBRIDS {
        let share = Key::pair(hybrid, c"provider=oarlock").public();
        for with_share in [false, true] {
            for kind in &TYPES[2..4] {
                super::same(&format!("{:?} {with_share} {kind}", hybrid.name), |side| {
                    let key = Key::blank(hybrid, side);
                    let mut values = Values::default().value("properties", *kind, b"?a=b");
                    if with_share {
                        values = values.octets("encoded-pub-key", &share);
                    }
                    let mut params = values.params();
                    let set = functions().EVP_PKEY_set_params;
                    // SAFETY: a live key, and parameters that end.
                    let done = unsafe { set(key.0, params.as_mut_ptr()) };
                    errors();
                    done
                });
            }
        }
    }
}
