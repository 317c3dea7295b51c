//! Imports of keys whose halves contradict each other or occur twice (EVP_PKEY_fromdata(3)).

use std::ffi::{CStr, c_int, c_void};

use super::keys::{Context, Key, PAIR, functions};
use super::{SIDES, Values, errors};
use crate::driver::libcrypto;

/// The types with these imports: their names, the group, and the names of the private halves.
const TYPES: [(&CStr, Option<&str>, &[&CStr]); 5] = [
    (c"EC", Some("prime256v1"), &[c"priv"]),
    (c"ED25519", None, &[c"priv"]),
    (c"X25519", None, &[c"priv"]),
    (c"ML-DSA-65", None, &[c"priv", c"seed"]),
    (c"ML-KEM-768", None, &[c"priv", c"seed"]),
];

fn is_known(name: &CStr) -> bool {
    // SAFETY: the library context is live, and the strings are NUL-terminated.
    unsafe {
        let new = functions().EVP_PKEY_CTX_new_from_name;
        let context = Context(new(
            libcrypto().library_context(),
            name.as_ptr(),
            SIDES[1].as_ptr(),
        ));
        errors();
        !context.0.is_null()
    }
}

/// Generates a key of the default provider, and returns its halves by their names.
fn generated(name: &CStr, group: Option<&str>) -> Vec<(Vec<u8>, Vec<u8>)> {
    let context = Context::of_name(name, SIDES[0]);
    // SAFETY: the context is live, and the string is NUL-terminated.
    unsafe {
        let init: unsafe extern "C" fn(*mut c_void) -> c_int = functions().EVP_PKEY_keygen_init;
        assert_eq!(init(context.0), 1);
        if let Some(group) = group {
            let group = std::ffi::CString::new(group).unwrap();
            (functions().EVP_PKEY_CTX_set_group_name)(context.0, group.as_ptr());
        }
    }
    let (done, halves) = context.generate().exported(PAIR);
    assert_eq!(done, 1);
    halves
}

#[test]
fn halves_that_contradict_or_repeat_end_as_in_the_default_provider() {
    for (name, group, private) in TYPES {
        if !is_known(name) {
            continue;
        }
        let [one, other] = [(); 2].map(|()| generated(name, group));
        let half = |key: &[(Vec<u8>, Vec<u8>)], name: &CStr| {
            let found = key.iter().find(|(half, _)| half == name.to_bytes());
            found.map(|(_, octets)| octets.clone()).unwrap()
        };
        let flipped = |mut octets: Vec<u8>| {
            octets[7] ^= 1;
            octets
        };
        let mut cases: Vec<Vec<(&CStr, Vec<u8>)>> = vec![
            vec![(c"pub", half(&one, c"pub")), (c"pub", half(&other, c"pub"))],
            vec![(c"pub", half(&one, c"pub")), (c"pub", vec![4])],
        ];
        for private in private {
            let [own, others] = [&one, &other].map(|key| half(key, private));
            let public = (c"pub", half(&one, c"pub"));
            cases.extend([
                vec![
                    public.clone(),
                    (private, own.clone()),
                    (private, others.clone()),
                ],
                vec![public.clone(), (private, others)],
                vec![public.clone(), (private, own[1..].to_vec())],
                vec![(private, own.clone()), (private, own.clone())],
            ]);
        }
        if let [expanded, seed] = private {
            let (own, others) = (half(&one, seed), half(&other, seed));
            let public = (c"pub", half(&one, c"pub"));
            let long = half(&one, expanded);
            cases.extend([
                vec![
                    public.clone(),
                    (seed, own.clone()),
                    (expanded, long.clone()),
                ],
                vec![
                    public.clone(),
                    (seed, own.clone()),
                    (expanded, flipped(long.clone())),
                ],
                vec![public.clone(), (seed, own), (expanded, long[1..].to_vec())],
                vec![public, (seed, others), (expanded, long)],
            ]);
        }
        for case in cases {
            let values = || {
                let begin = Values::default();
                let begin = match group {
                    Some(group) => begin.text("group", group),
                    None => begin,
                };
                case.iter().fold(begin, |values, (half, octets)| {
                    let half = half.to_str().unwrap();
                    match (group, half) {
                        // Numbers are little-endian.
                        (Some(_), "priv") => values.number(half, octets),
                        _ => values.octets(half, octets),
                    }
                })
            };
            let [default, ours] = SIDES.map(|side| {
                let (done, key) = Key::of(name, side, PAIR, values());
                let errors = errors();
                let halves = match done {
                    1 => key.exported(PAIR).1,
                    _ => Vec::new(),
                };
                let halves = halves
                    .into_iter()
                    .filter(|(half, _)| [&b"pub"[..], b"priv", b"seed"].contains(&&half[..]));
                let mut halves: Vec<_> = halves.collect();
                halves.sort();
                (done, errors, halves)
            });
            let lengths: Vec<_> = case.iter().map(|(half, it)| (half, it.len())).collect();
            assert!(
                default == ours,
                "{name:?} {lengths:?}: {default:02x?} {ours:02x?}"
            );
        }
    }
}
