//! TLS13-KDF, HKDF and TLS1-PRF (EVP_KDF(3)).

use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::{null, null_mut};
use std::sync::OnceLock;

use oarlock_engine::Primitive;
use oarlock_engine::costs::Performed;
use oarlock_testing::seeded_noise;

use super::{SIDES, Script, Seen, TYPES, Values, asked, counted, errors, rounds};
use crate::driver::{Param, evp_functions, libcrypto};

evp_functions! {
    Functions:
    EVP_KDF_fetch: fn(*mut c_void, *const c_char, *const c_char) -> *mut c_void;
    EVP_KDF_free: fn(*mut c_void);
    EVP_KDF_CTX_new: fn(*mut c_void) -> *mut c_void;
    EVP_KDF_CTX_free: fn(*mut c_void);
    EVP_KDF_CTX_dup: fn(*const c_void) -> *mut c_void;
    EVP_KDF_CTX_reset: fn(*mut c_void);
    EVP_KDF_CTX_get_kdf_size: fn(*mut c_void) -> usize;
    EVP_KDF_CTX_gettable_params: fn(*mut c_void) -> *const Param;
    EVP_KDF_CTX_settable_params: fn(*mut c_void) -> *const Param;
    EVP_KDF_CTX_get_params: fn(*mut c_void, *mut Param) -> c_int;
    EVP_KDF_CTX_set_params: fn(*mut c_void, *const Param) -> c_int;
    EVP_KDF_derive: fn(*mut c_void, *mut u8, usize, *const Param) -> c_int;
}

fn functions() -> &'static Functions {
    static FUNCTIONS: OnceLock<Functions> = OnceLock::new();
    FUNCTIONS.get_or_init(|| Functions::load(libcrypto()))
}

/// A context of one provider.
struct Kdf(*mut c_void);

impl Kdf {
    fn new(name: &CStr, properties: &CStr) -> Self {
        // SAFETY: the library context is the tests', which is never freed.
        unsafe { Self::of(libcrypto().library_context(), name, properties) }
    }

    /// # Safety
    /// The library context is live.
    unsafe fn of(context: *mut c_void, name: &CStr, properties: &CStr) -> Self {
        let functions = functions();
        // SAFETY: the caller's library context is live, and the texts by which the KDF is fetched are NUL-terminated.
        unsafe {
            let kdf = (functions.EVP_KDF_fetch)(context, name.as_ptr(), properties.as_ptr());
            assert!(!kdf.is_null(), "{properties:?} has no {name:?}");
            let made = Self((functions.EVP_KDF_CTX_new)(kdf));
            (functions.EVP_KDF_free)(kdf);
            made
        }
    }

    fn set(&self, values: &mut Values) -> Seen {
        let params = values.params();
        // SAFETY: the context is live, and the array is terminated.
        let done = unsafe { (functions().EVP_KDF_CTX_set_params)(self.0, params.as_ptr()) };
        (done, Vec::new(), errors())
    }

    fn derive(&self, bytes: usize, values: Option<&mut Values>) -> Seen {
        let mut output = vec![0xa5; bytes];
        let params = values.map(Values::params);
        let params = params.as_ref().map_or(null(), |params| params.as_ptr());
        let (derive, place) = (functions().EVP_KDF_derive, output.as_mut_ptr());
        // SAFETY: the context is live, the output has that length, and the array is null or terminated.
        let done = unsafe { derive(self.0, place, bytes, params) };
        if done != 1 {
            // The output of a refused call is unspecified.
            output.clear();
        }
        (done, output, errors())
    }

    /// Derives without any output.
    fn derive_nothing(&self) -> Seen {
        // SAFETY: the context is live, and the output has no bytes.
        let done = unsafe { (functions().EVP_KDF_derive)(self.0, null_mut(), 0, null()) };
        (done, Vec::new(), errors())
    }

    fn get(&self, script: &mut Script) -> Seen {
        let get = functions().EVP_KDF_CTX_get_params;
        let names = ["size", "mode", "digest", "unknown"];
        let (done, left) = asked(script, &names, &mut |params| {
            // SAFETY: the context is live, and the array is terminated and its places have the lengths given there.
            unsafe { get(self.0, params) }
        });
        (done, left, errors())
    }

    /// Returns the lists of gettable and settable parameters.
    fn described(&self) -> Seen {
        // SAFETY: the context is live, and its lists are terminated.
        let lists = unsafe {
            [
                Param::listed((functions().EVP_KDF_CTX_gettable_params)(self.0)),
                Param::listed((functions().EVP_KDF_CTX_settable_params)(self.0)),
            ]
        };
        (1, format!("{lists:?}").into_bytes(), errors())
    }

    fn size(&self) -> Seen {
        // SAFETY: the KDF context is live, and the call only reads its size.
        let size = unsafe { (functions().EVP_KDF_CTX_get_kdf_size)(self.0) };
        (1, size.to_ne_bytes().to_vec(), errors())
    }

    /// Returns a copy; `None` if the release cannot copy.
    fn copy(&self) -> Option<Self> {
        // SAFETY: the KDF context is live; the copy is a new one.
        let copy = unsafe { (functions().EVP_KDF_CTX_dup)(self.0) };
        errors();
        (!copy.is_null()).then_some(Self(copy))
    }

    fn reset(&self) {
        // SAFETY: the KDF context is live; the call resets it.
        unsafe { (functions().EVP_KDF_CTX_reset)(self.0) };
    }
}

impl Drop for Kdf {
    fn drop(&mut self) {
        // SAFETY: this value owns the context.
        unsafe { (functions().EVP_KDF_CTX_free)(self.0) };
    }
}

const NAMES: [&CStr; 3] = [c"TLS13-KDF", c"HKDF", c"TLS1-PRF"];

/// Returns a random setting of a KDF, usually a valid one.
fn setting(name: &CStr, script: &mut Script, values: Values) -> Values {
    let lengths = [32, 48, 20, 1, 64, 160, 161, 0, 300];
    let mode = |script: &mut Script, values: Values| match script.below(8) {
        0 => values.text("mode", "EXTRACT_ONLY"),
        1 => values.text("mode", "expand_only"),
        2 => values.text("mode", "EXTRACT_AND_EXPAND"),
        3 => values.int("mode", 0),
        4 | 5 => values.int("mode", 1),
        6 => values.int("mode", 2),
        _ => match script.below(4) {
            0 => values.int("mode", 3),
            1 => values.text("mode", "EXPAND"),
            2 => values.int("mode", -1),
            _ => values.octets("mode", &[1]),
        },
    };
    let digest = |script: &mut Script, values: Values| {
        let digests = [
            "SHA256",
            "SHA2-256",
            "SHA384",
            "sha2-384",
            "SHA512",
            "SHA1",
            "SHA224",
            "SHA2-512/256",
            "SHA3-256",
            "MD5-SHA1",
            "SM3",
            "none",
        ];
        let among = if script.below(4) == 0 {
            digests.len()
        } else {
            6
        };
        values.text("digest", script.pick(&digests[..among]))
    };
    let (label, prefix) = ([7, 0, 12, 2, 33, 250], [6, 6, 6, 0, 17]);
    match (name.to_bytes(), script.below(9)) {
        (_, 0 | 1) => digest(script, values),
        (b"TLS1-PRF", 2..5) => values.octets("secret", &script.octets(&lengths)),
        (b"TLS1-PRF", _) => values.octets("seed", &script.octets(&[13, 32, 77, 200, 0, 300])),
        (_, 2) => mode(script, values),
        (_, 3 | 4) => values.octets("key", &script.octets(&lengths)),
        (_, 5) => values.octets("salt", &script.octets(&[32, 48, 0, 1, 64, 65])),
        // 3.0 reads beyond its buffer after an empty one.
        (b"HKDF", 6..8) => values.octets("info", &script.octets(&[10, 20, 100, 257])),
        (b"TLS13-KDF", 6) => values.octets("prefix", &script.octets(&prefix)),
        (b"TLS13-KDF", 7) => values.octets("label", &script.octets(&label)),
        (b"TLS13-KDF", _) => values.octets("data", &script.octets(&[32, 48, 0, 1, 255, 256, 257])),
        (_, _) => match script.below(6) {
            0 => values.text("properties", "provider=default"),
            1 => values.text("key", "text"),
            2 => values.octets("unknown", &[1, 2]),
            3 => values.nothing(script.pick(&["key", "salt", "secret"]), Param::OCTET_STRING),
            4 => values.value(
                script.pick(&["mode", "digest", "key", "secret", "salt"]),
                script.pick(&TYPES[..4]),
                &script.octets(&[1, 3, 4, 8, 9]),
            ),
            _ => values.value(
                "mode",
                Param::INTEGER,
                script.pick(&[&[1_u8][..], &[2, 0], &[2, 0, 0], &[0; 8], &[1; 8]]),
            ),
        },
    }
}

/// Runs a script on both sides; returns the first call that differs, with both results.
fn run(name: &CStr, seed: u64) -> Result<usize, String> {
    let mut script = Script::new(seed);
    let mut sides = SIDES.map(|side| Kdf::new(name, side));
    let mut calls = Vec::new();
    for _ in 0..2 + script.below(12) {
        let mut values = Values::default();
        for _ in 0..script.below(9) {
            values = setting(name, &mut script, values);
        }
        let length = script.pick(&[32, 48, 12, 16, 64, 20, 100, 0, 8200, 16_400]);
        let what = script.below(14);
        let text = format!("{what} {length} {values:?}");
        calls.push(text);
        let asks = script.clone();
        let seen = sides.each_mut().map(|side| match what {
            10 => side.get(&mut asks.clone()),
            11 => side.described(),
            12 => side.derive_nothing(),
            // A copy that ends before the original.
            13 => match side.copy() {
                Some(copy) => copy.derive(length, Some(&mut values.clone())),
                None => (0, Vec::new(), Vec::new()),
            },
            0..3 => side.set(&mut values.clone()),
            3..6 => side.derive(length, None),
            6..8 => side.derive(length, Some(&mut values.clone())),
            8 => side.size(),
            _ if length == 12 => {
                side.reset();
                (1, Vec::new(), errors())
            }
            _ => match side.copy() {
                Some(copy) => {
                    *side = copy;
                    (1, Vec::new(), Vec::new())
                }
                None => (0, Vec::new(), Vec::new()),
            },
        });
        if seen[0] != seen[1] {
            return Err(format!("{name:?} {seed}: {calls:#?}: {seen:02x?}"));
        }
    }
    Ok(calls.len())
}

#[test]
fn random_sequences_look_the_same() {
    let mut failed = BTreeMap::new();
    let mut calls = 0;
    for name in NAMES {
        for seed in 0..rounds() {
            match run(name, seed) {
                Ok(done) => calls += done,
                Err(difference) => {
                    failed.entry(name).or_insert_with(Vec::new).push(difference);
                }
            }
        }
    }
    let first = failed
        .values()
        .map(|all| format!("{} like {}", all.len(), all[0]));
    assert!(
        failed.is_empty(),
        "{}",
        first.collect::<Vec<_>>().join("\n")
    );
    assert!(calls > 3 * rounds() as usize);
}

/// Returns libssl's settings, which must not reach the default provider indirectly.
fn tls13(digest: &str, bytes: usize) -> [Values; 3] {
    let secret = |seed| seeded_noise(seed, bytes);
    let base = || {
        Values::default()
            .text("digest", digest)
            .octets("prefix", b"tls13 ")
    };
    [
        base().int("mode", 1).octets("label", b"derived"),
        base()
            .int("mode", 1)
            .octets("key", &secret(1))
            .octets("salt", &secret(2))
            .octets("label", b"derived"),
        base()
            .int("mode", 2)
            .octets("key", &secret(3))
            .octets("label", b"c hs traffic")
            .octets("data", &secret(4)),
    ]
}

#[test]
fn the_key_schedule_of_tls_is_the_same_with_each_hash() {
    for (digest, bytes) in [
        ("SHA256", 32),
        ("SHA2-384", 48),
        ("SHA512", 64),
        ("SHA1", 20),
    ] {
        for mut values in tls13(digest, bytes) {
            let seen =
                SIDES.map(|side| Kdf::new(c"TLS13-KDF", side).derive(bytes, Some(&mut values)));
            assert_eq!(seen[0], seen[1], "{digest} {values:?}");
            assert_eq!(seen[0].0, 1);
        }
    }
}

/// RFC 5869, appendix A.1 to A.3.
#[test]
fn hkdf_gives_what_its_rfc_says() {
    let hex = |text: &str| -> Vec<u8> {
        let digits = text.as_bytes().chunks(2);
        digits
            .map(|two| u8::from_str_radix(std::str::from_utf8(two).unwrap(), 16).unwrap())
            .collect()
    };
    for (key, salt, info, output) in [
        (
            "0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b",
            "000102030405060708090a0b0c",
            "f0f1f2f3f4f5f6f7f8f9",
            "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865",
        ),
        (
            "0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b",
            "",
            "",
            "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8",
        ),
    ] {
        let mut values = Values::default()
            .text("digest", "SHA2-256")
            .octets("key", &hex(key));
        if !salt.is_empty() {
            values = values.octets("salt", &hex(salt)).octets("info", &hex(info));
        }
        for side in SIDES {
            let (done, bytes, _) = Kdf::new(c"HKDF", side).derive(42, Some(&mut values));
            assert_eq!((done, bytes), (1, hex(output)), "{side:?}");
        }
    }
}

/// Project Wycheproof's vectors, at once and in two steps: both providers derive the same and refuse the same, and ours
/// computes it itself, unless the salt is longer than its room for one.
#[test]
fn outputs_of_wycheproof_are_derived_here() {
    let (context, usage) = libcrypto().counting_context();
    let (mut counts, mut derived_here) = ([0, 0], 0);
    for vector in oarlock_vectors::wycheproof::hkdf().unwrap() {
        let source = &vector.source;
        let derived = |bytes, values: &Values| {
            let seen = SIDES.map(|side| {
                // SAFETY: the library context is never freed.
                let kdf = unsafe { Kdf::of(context, c"HKDF", side) };
                kdf.derive(bytes, Some(&mut values.clone()))
            });
            assert_eq!(seen[1], seen[0], "{source} {values:?}");
            let [_, (done, output, _)] = seen;
            (done == 1).then_some(output)
        };
        let values = Values::default().text("digest", vector.hash);
        let mut extracts = values.clone().octets("key", &vector.secret);
        if !vector.salt.is_empty() {
            extracts = extracts.octets("salt", &vector.salt);
        }
        // 3.0 reads beyond its buffer after an empty one.
        let with_info = |values: Values| match vector.info.is_empty() {
            true => values,
            false => values.octets("info", &vector.info),
        };
        let expected = vector.is_valid.then_some(&vector.output);
        let at_once = derived(vector.bytes, &with_info(extracts.clone()));
        assert_eq!(at_once.as_ref(), expected, "{source}");
        let key = derived(
            digest_bytes(vector.hash),
            &extracts.text("mode", "EXTRACT_ONLY"),
        );
        let expands = values
            .text("mode", "EXPAND_ONLY")
            .octets("key", &key.unwrap());
        let in_steps = derived(vector.bytes, &with_info(expands));
        assert_eq!(in_steps.as_ref(), expected, "{source}");
        // A key is extracted also if too much is requested from it.
        let is_made = u64::from(vector.is_valid);
        derived_here += is_made
            + if vector.salt.len() <= 64 {
                1 + is_made
            } else {
                0
            };
        counts[usize::from(vector.is_valid)] += 1;
    }
    assert_eq!(counts, [12, 327]);
    let derived = counted(&usage, Primitive::Hkdf, Performed::Derived);
    assert_eq!((derived, derived_here), (981, 981));
}

fn digest_bytes(hash: &str) -> usize {
    match hash {
        "SHA-1" => 20,
        "SHA-256" => 32,
        "SHA-384" => 48,
        "SHA-512" => 64,
        other => panic!("no hash of these vectors is called {other}"),
    }
}
