//! Parameters that no sane program passes: keys with wrong numbers, settings of wrong types and lengths. Each is accepted,
//! refused and used as by the default provider.

use std::ffi::{CStr, CString, c_int};
use std::fmt::Write as _;
use std::ptr::null_mut;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::calls::{Contexts, SIDES, Side};
use super::keys::{keys, on_every_side};
use crate::driver::rsa::{RsaKey, functions};
use crate::driver::{Param, libcrypto, rounds};
use crate::host::has_lanes;

fn one<T: Clone>(rng: &mut StdRng, all: &[T]) -> T {
    all[rng.random_range(0..all.len())].clone()
}

/// A parameter and its value.
#[derive(Clone, Debug)]
struct Value {
    key: CString,
    data_type: u32,
    /// The length passed, which is at most that of `data`.
    bytes: usize,
    /// The value, followed by zeros that do not count, which OpenSSL needs to read strings.
    data: Vec<u8>,
}

impl Value {
    fn new(key: &str, data_type: u32, bytes: &[u8]) -> Self {
        let mut data = bytes.to_vec();
        data.extend([0; 16]);
        Self {
            key: CString::new(key).unwrap(),
            data_type,
            bytes: bytes.len(),
            data,
        }
    }
}

/// UTF8_PTR and OCTET_PTR, whose value is a pointer to a pointer to the data.
const POINTERS: [u32; 2] = [6, Param::OCTET_PTR];

/// Calls `taker` with the list of `values`, and returns the result and the values afterwards.
fn with_params(values: &mut [Value], taker: impl FnOnce(*mut Param) -> c_int) -> String {
    let mut places: Vec<*mut u8> = values.iter_mut().map(|it| it.data.as_mut_ptr()).collect();
    let mut params: Vec<Param> = values
        .iter()
        .zip(&mut places)
        .map(|(value, place)| {
            let data = match POINTERS.contains(&value.data_type) {
                true => std::ptr::from_mut(place).cast(),
                false => *place,
            };
            Param::new(&value.key, value.data_type, data, value.bytes)
        })
        .collect();
    params.push(Param::END);
    let result = taker(params.as_mut_ptr());
    let mut errors = libcrypto().errors();
    // An error in a property query is only reported when the query is first parsed.
    errors.retain(|(library, _)| *library != ERR_LIB_PROP);
    let mut seen = format!("{result} {errors:?}");
    for (value, param) in values.iter().zip(&params) {
        let _ = write!(seen, " {}", param.return_bytes as isize);
        if !POINTERS.contains(&value.data_type) {
            let _ = write!(seen, " {:?}", &value.data);
        }
    }
    seen
}

const ERR_LIB_PROP: u32 = 55;

/// Returns the numbers of a key.
fn numbers(key: &RsaKey) -> Vec<Value> {
    let mut params = null_mut();
    let mut found = Vec::new();
    // SAFETY: the key is live; the list ends with an entry without a key, and each number has its declared length.
    unsafe {
        let exported = (functions().EVP_PKEY_todata)(key.key, EVERYTHING, &mut params);
        assert_eq!(exported, 1);
        let mut at: *const Param = params;
        while !(*at).key.is_null() {
            let name = CStr::from_ptr((*at).key).to_str().unwrap();
            let data = std::slice::from_raw_parts((*at).data.cast::<u8>(), (*at).data_bytes);
            found.push(Value::new(name, (*at).data_type, data));
            at = at.add(1);
        }
        (functions().OSSL_PARAM_free)(params);
    }
    found
}

/// OSSL_KEYMGMT_SELECT_ALL without domain parameters.
const EVERYTHING: c_int = 0x83;

/// OSSL_KEYMGMT_SELECT_PRIVATE_KEY.
const PRIVATE: c_int = 1;

/// Damages one of the values.
fn spoil(rng: &mut StdRng, values: &mut Vec<Value>) -> String {
    if values.is_empty() {
        return "nothing left".to_owned();
    }
    let at = rng.random_range(0..values.len());
    let other = rng.random_range(0..values.len());
    let name = values[at].key.to_string_lossy().into_owned();
    let bytes = values[at].bytes;
    let what = match rng.random_range(0..12) {
        0 => {
            values.remove(at);
            "left out"
        }
        1 => {
            values[at].data_type = one(rng, &[0, 1, 3, 4, 5, 8]);
            "of another type"
        }
        2 => {
            values[at].bytes = rng.random_range(0..=bytes);
            "cut"
        }
        3 | 4 if bytes > 0 => {
            let bit = rng.random_range(0..8 * bytes);
            values[at].data[bit / 8] ^= 1 << (bit % 8);
            "with another bit"
        }
        5 => {
            values[at].data.fill(0);
            "zero"
        }
        6 if bytes > 0 => {
            values[at].data.fill(0);
            values[at].data[0] = one(rng, &[1, 2, 3]);
            "small"
        }
        7 => {
            let data = values[other].data.clone();
            (values[at].bytes, values[at].data) = (values[other].bytes, data);
            "as another"
        }
        8 => {
            let again = values[at].clone();
            values.push(again);
            "twice"
        }
        9 => {
            // Leading zeros change nothing.
            values[at].bytes += 8;
            "longer"
        }
        10 if bytes > 0 => {
            values[at].data[0] ^= 1;
            "even or odd"
        }
        _ => {
            let key = one(rng, &["n", "d", "rsa-factor1", "rsa-exponent1", "", "x"]);
            values[at].key = CString::new(key).unwrap();
            "under another name"
        }
    };
    format!("{name} {what}")
}

/// Builds a key from these numbers, if they are accepted.
fn made(side: &Side, kind: &CStr, selection: c_int, values: &mut [Value]) -> (String, RsaKey) {
    let mut made = None;
    let seen = with_params(values, |params| {
        let context = libcrypto().library_context();
        // SAFETY: the library context is live, and `with_params` terminates its list.
        let (result, key) = unsafe { RsaKey::made_in(context, kind, side.key, selection, params) };
        made = Some(key);
        result
    });
    (seen, made.unwrap())
}

/// Returns a signature, if the key makes one.
fn signature(side: &Side, key: &RsaKey) -> String {
    let contexts = Contexts::new(side, key);
    begin(&contexts, Operation::Sign);
    libcrypto().errors();
    ended(&contexts, key, Operation::Sign)
}

#[test]
fn keys_of_wrong_numbers_are_taken_and_used_as_by_the_default_provider() {
    if !has_lanes() {
        return;
    }
    let context = libcrypto().library_context();
    let kept: Vec<_> = keys()
        .iter()
        .filter(|(name, _)| ["2048", "1024", "3072", "1025", "e = 3"].contains(name))
        .map(|(_, pem)| numbers(&RsaKey::read(context, pem, SIDES[0].key)))
        .collect();
    libcrypto().errors();
    let [mut taken, mut signed] = [0; 2];
    for round in 0..rounds(200) {
        let mut rng = StdRng::seed_from_u64(round);
        let mut values = one(&mut rng, &kept);
        let wrong: Vec<_> = (0..rng.random_range(0..4))
            .map(|_| spoil(&mut rng, &mut values))
            .collect();
        let selection = one(&mut rng, &[0x87, 0x87, 0x87, 0x86, 0x84, EVERYTHING, 1]);
        let kind = one(&mut rng, &[c"RSA", c"RSA", c"RSA-PSS"]);
        let made = SIDES
            .each_ref()
            .map(|side| made(side, kind, selection, &mut values.clone()));
        let about = format!("round {round}: {kind:?} {selection:#x} {wrong:?}");
        for (side, (seen, _)) in SIDES.iter().zip(&made) {
            assert_eq!(*seen, made[0].0, "{about}, {}", side.name);
        }
        if made[0].1.key.is_null() {
            continue;
        }
        taken += 1;
        // The default provider accepts keys without these numbers, and then reads values that are not there.
        let is_there = |name: &str| values.iter().any(|it| it.key.to_bytes() == name.as_bytes());
        if selection & PRIVATE == 0 || !["n", "e", "d"].into_iter().all(is_there) {
            continue;
        }
        // Blinding with a wrong modulus produces another result each time.
        let is_random = signature(&SIDES[0], &made[0].1) != signature(&SIDES[0], &made[0].1);
        // Ours are used from the 16th private operation on.
        for number in [1, 18] {
            let seen: Vec<_> = SIDES
                .iter()
                .zip(&made)
                .map(|(side, (_, key))| {
                    let all: Vec<_> = (0..number).map(|_| signature(side, key)).collect();
                    let mut last = all[number - 1].clone();
                    if is_random {
                        last.truncate(1);
                    }
                    last
                })
                .collect();
            for (side, seen_there) in SIDES.iter().zip(&seen) {
                assert_eq!(*seen_there, seen[0], "{about}, {}, {number}", side.name);
            }
            signed += u64::from(seen[0].starts_with("1 "));
        }
    }
    assert!(
        taken > rounds(200) / 3 && signed > rounds(200) / 4,
        "{taken}, {signed}"
    );
}

/// Returns a random value for one of the names that contexts know.
fn setting(rng: &mut StdRng) -> Value {
    let key = one(
        rng,
        &[
            "digest",
            "pad-mode",
            "pad-mode",
            "saltlen",
            "mgf1-digest",
            "mgf1-properties",
            "properties",
            "oaep-label",
            "tls-client-version",
            "tls-negotiated-version",
            "implicit-rejection",
            "algorithm-id",
            "digest-size",
            "x",
            "",
        ],
    );
    let texts = [
        "SHA256",
        "SHA1",
        "SHA512",
        "MD5",
        "nonsense",
        "",
        "pss",
        "oaep",
        "pkcs1",
        "none",
        "x931",
        "digest",
        "max",
        "auto",
        "-1",
        "11",
        "300",
        "provider=none",
        "99999999999999999999",
    ];
    let (data_type, data) = match rng.random_range(0..4) {
        0 | 1 => (4, one(rng, &texts).as_bytes().to_vec()),
        2 => {
            let number = one(
                rng,
                &[0i64, 1, 3, 4, 5, 6, 7, -1, -2, -3, -4, 11, 32, 222, 1 << 40],
            );
            let bytes = one(rng, &[4usize, 8, 8, 4, 2, 1]);
            (one(rng, &[1, 2]), number.to_le_bytes()[..bytes].to_vec())
        }
        _ => {
            let bytes = rng.random_range(0..40);
            (
                (one(rng, &[0, 1, 2, 3, 4, 5, 8])),
                (0..bytes).map(|_| rng.random()).collect(),
            )
        }
    };
    // A text with a zero in it is not text, or is two.
    let data_type = match rng.random_range(0..12) {
        0 if data_type == 4 => POINTERS[0],
        0 if data_type == 5 => POINTERS[1],
        1 => one(rng, &[0, 5, 3, 8]),
        _ => data_type,
    };
    // OpenSSL reads numbers of any length except 0.
    if [1, 2, 3].contains(&data_type) && data.is_empty() {
        return Value::new(key, 4, &data);
    }
    Value::new(key, data_type, &data)
}

#[derive(Clone, Copy, Debug)]
enum Operation {
    Sign,
    Verify,
    Encrypt,
    Decrypt,
}

fn begin(contexts: &Contexts, operation: Operation) {
    let init = match operation {
        Operation::Sign => functions().EVP_PKEY_sign_init,
        Operation::Verify => functions().EVP_PKEY_verify_init,
        Operation::Encrypt => functions().EVP_PKEY_encrypt_init,
        Operation::Decrypt => functions().EVP_PKEY_decrypt_init,
    };
    // SAFETY: the context is live. If this refuses, so does what follows.
    unsafe { init(contexts.context) };
}

/// Returns the result for 32 bytes, or for decryption of a number below the modulus: all of it, unless it is random.
fn ended(contexts: &Contexts, key: &RsaKey, operation: Operation) -> String {
    let (functions, context) = (functions(), contexts.context);
    let mut place = vec![0; 1024];
    let mut bytes = place.len();
    let mut sealed = vec![0x5a; key.bytes()];
    // A key of wrong numbers may have length 0.
    if let Some(first) = sealed.first_mut() {
        *first = 0;
    }
    let message = [7u8; 32];
    // SAFETY: each length is that of its own buffer.
    let result = unsafe {
        let out = place.as_mut_ptr();
        match operation {
            Operation::Sign => {
                (functions.EVP_PKEY_sign)(context, out, &mut bytes, message.as_ptr(), 32)
            }
            Operation::Verify => (functions.EVP_PKEY_verify)(
                context,
                sealed.as_ptr(),
                sealed.len(),
                message.as_ptr(),
                32,
            ),
            Operation::Encrypt => {
                (functions.EVP_PKEY_encrypt)(context, out, &mut bytes, message.as_ptr(), 32)
            }
            Operation::Decrypt => (functions.EVP_PKEY_decrypt)(
                context,
                out,
                &mut bytes,
                sealed.as_ptr(),
                sealed.len(),
            ),
        }
    };
    let made = match operation {
        Operation::Sign | Operation::Decrypt if result == 1 => &place[..bytes],
        _ => &[],
    };
    format!("{result} {:?} {bytes} {made:x?}", libcrypto().errors())
}

#[test]
fn settings_of_any_type_do_what_they_do_in_the_default_provider() {
    if !has_lanes() {
        return;
    }
    let mut kept = on_every_side();
    kept.retain(|(name, _)| ["2048", "1024", "PSS", "PSS of SHA-256"].contains(name));
    libcrypto().errors();
    let [mut taken, mut ended_well] = [0; 2];
    for round in 0..rounds(3000) {
        let mut rng = StdRng::seed_from_u64(round);
        let (name, keys) = &kept[rng.random_range(0..kept.len())];
        let operation = match name.starts_with("PSS") {
            true => one(&mut rng, &[Operation::Sign, Operation::Verify]),
            false => one(
                &mut rng,
                &[
                    Operation::Sign,
                    Operation::Verify,
                    Operation::Encrypt,
                    Operation::Decrypt,
                ],
            ),
        };
        let contexts: Vec<_> = SIDES
            .iter()
            .zip(keys)
            .map(|(side, key)| Contexts::new(side, key))
            .inspect(|contexts| begin(contexts, operation))
            .collect();
        let mut about = format!("round {round}: {name} {operation:?}");
        libcrypto().errors();
        let mut is_refused = false;
        for _ in 0..rng.random_range(1..6) {
            let gets = rng.random_range(0..3) == 0;
            let values: Vec<_> = (0..rng.random_range(1..4))
                .map(|_| setting(&mut rng))
                .collect();
            let _ = write!(about, "\n{} {values:?}", if gets { "get" } else { "set" });
            let seen: Vec<_> = contexts
                .iter()
                .map(|contexts| {
                    // SAFETY: the context is live, and the list is terminated.
                    with_params(&mut values.clone(), |params| unsafe {
                        match gets {
                            true => (functions().EVP_PKEY_CTX_get_params)(contexts.context, params),
                            false => {
                                (functions().EVP_PKEY_CTX_set_params)(contexts.context, params)
                            }
                        }
                    })
                })
                .collect();
            for (side, seen_there) in SIDES.iter().zip(&seen) {
                assert_eq!(*seen_there, seen[0], "{about}, {}", side.name);
            }
            taken += u64::from(seen[0].starts_with("1 "));
            // The default provider keeps a padding that it has refused, and even signs with it.
            is_refused |= !gets && !seen[0].starts_with("1 ");
            if is_refused {
                break;
            }
        }
        if !is_refused {
            // PSS has a random salt.
            let is_random = {
                let [first, again] = [(); 2].map(|()| ended(&contexts[0], &keys[0], operation));
                first != again
            };
            let seen: Vec<_> = contexts
                .iter()
                .zip(keys)
                .map(|(contexts, key)| {
                    let mut seen = ended(contexts, key, operation);
                    if is_random {
                        seen.truncate(seen.rfind('[').unwrap());
                    }
                    seen
                })
                .collect();
            for (side, seen_there) in SIDES.iter().zip(&seen) {
                assert_eq!(*seen_there, seen[0], "{about}, {}", side.name);
            }
            ended_well += u64::from(seen[0].starts_with("1 "));
        }
    }
    assert!(taken > rounds(3000) / 4, "{taken}");
    assert!(ended_well > rounds(3000) / 20, "{ended_well}");
}
