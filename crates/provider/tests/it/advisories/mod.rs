//! OpenSSL's advisories about operations that the provider replaces, each tried through the provider. The table of
//! docs/internals/openssl-differences.md describes them and names their tests, which `cargo xtask structure` looks up; those of
//! ciphers are in `differences` and `differential`.

mod commands;

use std::ffi::{CStr, CString, c_int, c_void};
use std::io::Write as _;
use std::ptr::null;

use crate::driver::rsa::RsaKey;
use crate::driver::{configuration, libcrypto};
use crate::ec::keys::{ORDER, POINT, keys};
use crate::primitives::keys::{Context, Key, PAIR, PARAMETERS, PUBLIC, functions};
use crate::primitives::{SIDES, Values};

/// Runs the same on both sides and requires equal results.
#[track_caller]
fn same<T: PartialEq + std::fmt::Debug>(what: &str, mut run: impl FnMut(&'static CStr) -> T) -> T {
    let [theirs, ours] = SIDES.map(&mut run);
    libcrypto().errors();
    assert_eq!(ours, theirs, "{what}");
    ours
}

/// A library context in which OpenSSL's random numbers fail, so that whatever is still signed there was not signed by
/// OpenSSL.
struct WithoutRandom(*mut c_void);

impl WithoutRandom {
    fn new() -> Self {
        let functions = functions();
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(configuration("").as_bytes()).unwrap();
        let name = CString::new(file.path().to_str().unwrap()).unwrap();
        // SAFETY: strings are NUL-terminated or null, and the place has the length passed.
        unsafe {
            let context = (functions.OSSL_LIB_CTX_new)();
            assert_eq!(
                (functions.OSSL_LIB_CTX_load_config)(context, name.as_ptr()),
                1
            );
            let test = c"TEST-RAND".as_ptr();
            let set = functions.RAND_set_DRBG_type;
            assert_eq!(set(context, test, null(), null(), null()), 1);
            let mut bytes = [0; 8];
            let drawn = (functions.RAND_bytes_ex)(context, bytes.as_mut_ptr(), 8, 0);
            assert!(drawn <= 0, "OpenSSL draws random numbers");
            Self(context)
        }
    }
}

impl Drop for WithoutRandom {
    fn drop(&mut self) {
        // SAFETY: this value owns the context, whose keys have been freed.
        unsafe { (functions().OSSL_LIB_CTX_free)(self.0) };
    }
}

/// CVE-2024-13176, CVE-2026-54872: timing of OpenSSL's inversion of a nonce, and of its point multiplication.
#[test]
fn no_curve_of_nist_is_signed_with_by_openssl() {
    let (functions, without) = (functions(), WithoutRandom::new());
    let digest = [7; 32];
    let mut signed = 0;
    for (name, pem) in keys() {
        let key = RsaKey::read(without.0, pem, c"provider=oarlock");
        let (mut signature, mut bytes) = ([0; 200], 200);
        let (place, room) = (signature.as_mut_ptr(), &mut bytes);
        // SAFETY: contexts and keys are live, strings are NUL-terminated, and places and digests have the lengths passed.
        unsafe {
            let new = functions.EVP_PKEY_CTX_new_from_pkey;
            let query = c"provider=oarlock".as_ptr();
            let signer = Context(new(without.0, key.key, query));
            assert_eq!((functions.EVP_PKEY_sign_init)(signer.0), 1, "{name}");
            let done = (functions.EVP_PKEY_sign)(signer.0, place, room, digest.as_ptr(), 32);
            // A key with the explicit parameters of P-256 is a key of P-256.
            let is_ours = name.starts_with("P-") && *name != "P-224";
            assert_eq!(done == 1, is_ours, "{name}");
            if is_ours {
                let stock = RsaKey::read(libcrypto().library_context(), pem, SIDES[0]);
                let verifier = new(libcrypto().library_context(), stock.key, SIDES[0].as_ptr());
                let verifier = Context(verifier);
                assert_eq!((functions.EVP_PKEY_verify_init)(verifier.0), 1);
                let verify = functions.EVP_PKEY_verify;
                let done = verify(verifier.0, place, bytes, digest.as_ptr(), 32);
                assert_eq!(done, 1, "{name}");
                signed += 1;
            }
        }
    }
    libcrypto().errors();
    assert!(signed >= 3, "{signed}");
}

/// CVE-2025-9231, CVE-2026-54875, CVE-2026-77696: timing of SM2, which stays OpenSSL's.
#[test]
fn sm2_is_not_offered() {
    let context = libcrypto().library_context();
    let ours = SIDES[1].as_ptr();
    // SAFETY: the library context is live; names and properties are NUL-terminated; the fetched object is null.
    unsafe {
        let signature = (functions().EVP_SIGNATURE_fetch)(context, c"SM2".as_ptr(), ours);
        assert!(signature.is_null());
        let keys = (functions().EVP_PKEY_CTX_new_from_name)(context, c"SM2".as_ptr(), ours);
        assert!(Context(keys).0.is_null());
    }
    libcrypto().errors();
}

/// Returns the parts of a curve with explicit parameters.
fn curve(field: &str, p: &[u8], generator: &[u8], order: &[u8]) -> Values {
    Values::default()
        .text("field-type", field)
        .number("p", p)
        .number("a", &[1])
        .number("b", &[6])
        .octets("generator", generator)
        .number("order", order)
        .number("cofactor", &[1])
        .octets("pub", generator)
}

/// CVE-2022-0778: a compressed generator over a non-prime modulus, whose square root OpenSSL searched for without end.
/// CVE-2024-9143: a field of characteristic 2 with an invalid polynomial.
#[test]
fn explicit_parameters_are_left_to_openssl() {
    let mut runs = 0;
    for p in [
        &[15_u8][..],
        &[0xb9, 2],
        &[0x11, 1],
        &[0xff; 32],
        &[0xff, 0xff, 0xff, 1],
    ] {
        for x in [0_u8, 1, 2, 5, 9, 0x55, 0xfe] {
            let bytes = p.len();
            let mut generator = vec![2 + (x & 1); 1 + bytes];
            generator[1..].fill(0);
            generator[bytes] = x;
            same(&format!("{p:x?} {x}"), |side| {
                let values = curve("prime-field", p, &generator, &[13]);
                let (done, key) = Key::of(c"EC", side, PUBLIC, values);
                (done, key.0.is_null())
            });
            runs += 1;
        }
    }
    // Releases without the fix write beyond an array.
    if libcrypto().has(&[[3, 0, 16], [3, 1, 8], [3, 2, 4], [3, 3, 3], [3, 4, 0]]) {
        for p in [&[0_u8][..], &[1], &[2], &[3], &[0x80], &[0xff; 100]] {
            let generator = [&[4][..], &[1; 2 * 21]].concat();
            let done = same(&format!("{p:x?}"), |side| {
                let values = curve("characteristic-two-field", p, &generator, &[13]);
                Key::of(c"EC", side, PUBLIC, values).0
            });
            assert_ne!(done, 1, "{p:x?}");
            runs += 1;
        }
    }
    assert!(runs >= 35);
}

/// Points whose order divides 8, in X25519's format (RFC 7748, section 7).
const SMALL: [&str; 5] = [
    "0000000000000000000000000000000000000000000000000000000000000000",
    "0100000000000000000000000000000000000000000000000000000000000000",
    "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
    "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
];

fn small_points() -> impl Iterator<Item = Vec<u8>> {
    SMALL.into_iter().flat_map(|hex| {
        let digits = hex.as_bytes().chunks(2);
        let octets = digits.map(|two| u8::from_str_radix(std::str::from_utf8(two).unwrap(), 16));
        let octets: Vec<u8> = octets.map(Result::unwrap).collect();
        // X25519 ignores the last bit.
        let mut with_bit = octets.clone();
        with_bit[31] |= 0x80;
        [octets, with_bit]
    })
}

/// Returns the results of a key exchange, and whether anything but zeros was written.
fn agreed(side: &CStr, own: &Key, peer: &Key) -> ([c_int; 3], bool) {
    let context = Context::of_key(own, side);
    let (mut secret, mut bytes) = ([0xa5; 100], 100);
    // SAFETY: contexts and keys are live, and the secret's place has the length passed.
    let done = unsafe {
        let ready = (functions().EVP_PKEY_derive_init)(context.0);
        let set = (functions().EVP_PKEY_derive_set_peer)(context.0, peer.0);
        let derive = functions().EVP_PKEY_derive;
        let place = secret.as_mut_ptr();
        [
            ready,
            set,
            if set == 1 {
                derive(context.0, place, &mut bytes)
            } else {
                0
            },
        ]
    };
    let is_left = |byte: &u8| matches!(byte, 0 | 0xa5);
    (done, !secret.iter().all(is_left))
}

/// CVE-2026-42770: a peer's key with a group of its own, which reveals the private key bit by bit.
#[test]
fn peers_of_other_groups_and_of_small_order_give_no_secret() {
    let private = || Values::default().octets("priv", &[9; 32]);
    for point in small_points() {
        let (done, wrote) = same(&format!("{point:02x?}"), |side| {
            let (_, own) = Key::of(c"X25519", side, PAIR, private());
            let public = Values::default().octets("pub", &point);
            let (_, peer) = Key::of(c"X25519", side, PUBLIC, public);
            agreed(side, &own, &peer)
        });
        assert!(done[2] <= 0 && !wrote, "{point:02x?} {done:?}");
    }
    let on_p256 = || {
        let named = Values::default()
            .text("group", "P-256")
            .octets("pub", POINT);
        named.number("priv", &[7])
    };
    let mut other_order = ORDER.to_vec();
    other_order.reverse();
    other_order[0] ^= 2;
    let p = p256_field();
    for what in ["P-384", "X448", "X25519", "nothing"] {
        let (done, wrote) = same(what, |side| {
            let (made, own) = Key::of(c"EC", side, PAIR, on_p256());
            assert_eq!(made, 1);
            let named = |group| Values::default().text("group", group);
            let octets = |octets: &[u8]| Values::default().octets("pub", octets);
            let (name, from, selection, values) = match what {
                "X448" => (c"X448", SIDES[0], PUBLIC, octets(&[5; 56])),
                "X25519" => (c"X25519", side, PUBLIC, octets(&[9; 32])),
                "P-384" => (c"EC", side, PARAMETERS, named("P-384")),
                _ => (c"EC", side, PARAMETERS, named("P-256")),
            };
            let (_, peer) = Key::of(name, from, selection, values);
            // The default provider performs ECDH, with keys of either.
            agreed(c"", &own, &peer)
        });
        assert!(done[1] <= 0 && !wrote, "{what} {done:?}");
    }
    // The same curve with an order chosen by the peer.
    let done = same("a forged order", |side| {
        let (_, own) = Key::of(c"EC", side, PAIR, on_p256());
        let values = Values::default()
            .text("field-type", "prime-field")
            .number("p", &p)
            .number("a", &minus_three(&p))
            .number("b", &P256_B)
            .octets("generator", POINT)
            .number("order", &other_order)
            .number("cofactor", &[1])
            .octets("pub", POINT);
        let (_, peer) = Key::of(c"EC", side, PUBLIC, values);
        (!peer.0.is_null()).then(|| agreed(c"", &own, &peer).0[1] == 1)
    });
    assert_ne!(done, Some(true));
}

/// Returns the prime of P-256, lowest octet first.
fn p256_field() -> Vec<u8> {
    let mut p = vec![0xff; 12];
    p.extend([0; 12]);
    p.extend([1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff]);
    p
}

fn minus_three(p: &[u8]) -> Vec<u8> {
    let mut a = p.to_vec();
    a[0] -= 3;
    a
}

/// The constant b of P-256, lowest octet first.
const P256_B: [u8; 32] = [
    0x4b, 0x60, 0xd2, 0x27, 0x3e, 0x3c, 0xce, 0x3b, 0xf6, 0xb0, 0x53, 0xcc, 0xb0, 0x06, 0x1d, 0x65,
    0xbc, 0x86, 0x98, 0x76, 0x55, 0xbd, 0xeb, 0xb3, 0xe7, 0x93, 0x3a, 0xaa, 0xd8, 0x35, 0xc6, 0x5a,
];

/// CVE-2026-31790: a failed encapsulation that was taken for a successful one, with stale memory as the secret.
#[test]
fn an_encapsulation_that_fails_leaves_no_secret() {
    for point in small_points() {
        // The ML-KEM key is zeros, and the X25519 share has small order.
        let share = [&[0; 1184][..], &point].concat();
        let values = Values::default().octets("pub", &share);
        let (made, key) = Key::of(c"X25519MLKEM768", SIDES[1], PUBLIC, values);
        assert_eq!(made, 1);
        let context = Context::of_key(&key, SIDES[1]);
        let (mut ciphertext, mut secret) = (vec![0xa5; 1120], vec![0xa5; 64]);
        let (mut ciphertext_bytes, mut secret_bytes) = (1120, 64);
        // SAFETY: the context is live, and both places have the lengths passed.
        let done = unsafe {
            assert_eq!(
                (functions().EVP_PKEY_encapsulate_init)(context.0, null()),
                1
            );
            (functions().EVP_PKEY_encapsulate)(
                context.0,
                ciphertext.as_mut_ptr(),
                &mut ciphertext_bytes,
                secret.as_mut_ptr(),
                &mut secret_bytes,
            )
        };
        assert!(done <= 0, "{point:02x?}");
        assert_eq!(libcrypto().errors().len(), 1);
        assert!(secret.iter().all(|byte| *byte == 0), "{point:02x?}");
    }
}

/// CVE-2023-0217: the check of a missing public key.
#[test]
fn checks_of_keys_without_a_half_are_answered() {
    let hybrids = [
        c"X25519MLKEM768",
        c"SecP256r1MLKEM768",
        c"SecP384r1MLKEM1024",
    ];
    let has_hybrids = libcrypto().release() >= (3, 5);
    let hybrids = hybrids.into_iter().filter(|_| has_hybrids);
    for name in [c"EC", c"X25519"].into_iter().chain(hybrids) {
        for (selection, octets) in [(PARAMETERS, ""), (PUBLIC, "pub"), (PAIR, "priv")] {
            same(&format!("{name:?} {octets}"), |side| {
                let group = Values::default().text("group", "P-256");
                let values = match (name.to_bytes(), octets) {
                    (b"EC", "pub") => group.octets("pub", POINT),
                    (b"EC", "priv") => group.number("priv", &[7]),
                    (b"EC", _) => group,
                    (b"X25519", "") => Values::default(),
                    (b"X25519", _) => Values::default().octets(octets, &[9; 32]),
                    _ => Values::default(),
                };
                // Some releases read a private key that was not given.
                if name != c"EC" && values.is_empty() && selection != PARAMETERS {
                    return Vec::new();
                }
                let (done, key) = Key::of(name, side, selection, values);
                let mut seen = vec![done];
                if !key.0.is_null() {
                    let context = Context::of_key(&key, side);
                    let functions = functions();
                    for check in [
                        functions.EVP_PKEY_check,
                        functions.EVP_PKEY_param_check,
                        functions.EVP_PKEY_public_check,
                        functions.EVP_PKEY_public_check_quick,
                        functions.EVP_PKEY_private_check,
                        functions.EVP_PKEY_pairwise_check,
                    ] {
                        // SAFETY: this key's context is live.
                        seen.push(unsafe { check(context.0) });
                    }
                }
                seen
            });
        }
    }
}

/// CVE-2023-3446, CVE-2023-3817, CVE-2023-5678, CVE-2023-6237, CVE-2024-4603: numbers so long that checking them takes
/// minutes.
#[test]
fn keys_of_excessive_length_are_refused() {
    let long = vec![0x5a; 1 << 20];
    for (name, key) in [
        (c"EC", "priv"),
        (c"EC", "pub"),
        (c"X25519", "pub"),
        (c"X25519", "priv"),
    ] {
        let done = same(&format!("{name:?} {key}"), |side| {
            let values = match (name.to_bytes(), key) {
                (b"EC", "pub") => Values::default().text("group", "P-521").octets(key, &long),
                (b"EC", _) => {
                    let named = Values::default().text("group", "P-521");
                    named.number(key, &long)
                }
                // OpenSSL 4.0 crashes on a private key alone that it refuses.
                (_, "priv") => Values::default().octets("pub", &[9; 32]).octets(key, &long),
                _ => Values::default().octets(key, &long),
            };
            Key::of(name, side, PAIR, values).0
        });
        // The default provider accepts a private number of any length at first; its operations refuse it.
        assert!(done != 1 || key == "priv", "{name:?} {key}");
    }
    let values = Values::default().octets("pub", &long);
    let (done, _) = Key::of(c"X25519MLKEM768", SIDES[1], PUBLIC, values);
    assert_ne!(done, 1);
    libcrypto().errors();
}
