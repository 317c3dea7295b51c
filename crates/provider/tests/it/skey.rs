//! Symmetric keys as objects, which OpenSSL has since 3.5: the provider stores them as the default provider does, and its
//! ciphers accept them.

use std::ffi::{c_int, c_void};
use std::fs;
use std::process::Command;
use std::ptr::null_mut;

use oarlock::Algorithm;
use oarlock::Direction::{Decrypt, Encrypt};
use oarlock_testing::{lossy, seeded_noise as noise, skip};

use crate::driver::{
    Context, NAMES, Param, SELECT_ALL, SELECT_PARAMETERS, SELECT_SECRET_KEY, SymmetricKeys,
    libcrypto,
};
use crate::host::{Accelerated, assert_same, noise_file, open_folder, run, succeeds, with_conf};

#[test]
fn keys_are_managed_where_openssl_has_them() {
    let mut no_cache: c_int = 7;
    // SAFETY: the types are those of provider.h; the context is live and the name is NUL-terminated.
    let (operations, provider) = unsafe {
        type Load = unsafe extern "C" fn(*mut c_void, *const std::ffi::c_char) -> *mut c_void;
        type Query = unsafe extern "C" fn(*mut c_void, c_int, *mut c_int) -> *const c_void;
        let load: Load = libcrypto().later_function("OSSL_PROVIDER_load").unwrap();
        let query = libcrypto().later_function("OSSL_PROVIDER_query_operation");
        let query: Query = query.unwrap();
        let provider = load(libcrypto().library_context(), c"oarlock".as_ptr());
        (query(provider, SKEYMGMT, &mut no_cache), provider)
    };
    assert!(!provider.is_null());
    assert_eq!(operations.is_null(), libcrypto().release() < (3, 5));
}

#[test]
fn a_cipher_takes_a_key_as_it_takes_its_octets() {
    let Some(keys) = keys() else { return };
    for name in names() {
        let cipher = libcrypto().fetch(name, "oarlock");
        let octets = noise(1, cipher.key_bytes());
        let iv = noise(2, if is_aead(name) { 12 } else { 16 });
        for kind in ["AES", "GENERIC-SECRET"] {
            let key = keys.of(kind, Some("provider=oarlock"), &octets).unwrap();
            for encrypts in [1, 0] {
                let (plain, taken) = (cipher.context(), Context::empty(libcrypto()));
                assert_eq!(plain.init(None, Some(&octets), Some(&iv), encrypts), 1);
                let done = keys.init(&taken, Some(&cipher), Some(&key), Some(&iv), encrypts);
                assert_eq!(done, 1, "{name}, {kind}: {:?}", libcrypto().errors());
                let made = worked(&plain);
                assert_eq!(worked(&taken), made, "{name}, {kind}");
                // An IV alone does not change the key.
                let done = keys.init(&taken, None, None, Some(&iv), encrypts);
                assert_eq!(done, 1, "{name}, {kind}");
                assert_eq!(worked(&taken), made, "{name}, {kind}");
                // In two steps: the key comes last, and its own handle has been freed.
                let late = Context::empty(libcrypto());
                assert_eq!(
                    keys.init(&late, Some(&cipher), None, Some(&iv), encrypts),
                    1
                );
                let other = keys.of(kind, Some("provider=oarlock"), &octets).unwrap();
                assert_eq!(keys.init(&late, None, Some(&other), None, encrypts), 1);
                drop(other);
                assert_eq!(worked(&late), made, "{name}, {kind}");
            }
        }
    }
}

/// Without a property query, a program's key and cipher come from one provider.
#[test]
fn keys_and_ciphers_come_from_one_provider() {
    let Some(keys) = keys() else { return };
    let octets = noise(1, 16);
    for kind in ["AES", "GENERIC-SECRET", "2.16.840.1.101.3.4.1"] {
        let key = keys.of(kind, None, &octets).unwrap();
        assert_eq!(key.provider(), "oarlock");
        assert!(key.is_a(kind));
        let cipher = libcrypto().fetch("AES-128-CTR", "oarlock");
        let context = Context::empty(libcrypto());
        assert_eq!(keys.init(&context, Some(&cipher), Some(&key), None, 1), 1);
        // OpenSSL ensures that another provider's key is not used directly. It can be moved.
        let theirs = keys.of(kind, Some("provider=default"), &octets).unwrap();
        assert_eq!(theirs.provider(), "default");
        let context = Context::empty(libcrypto());
        assert_eq!(
            keys.init(&context, Some(&cipher), Some(&theirs), None, 1),
            0
        );
        libcrypto().errors();
        let taken = theirs.moved("provider=oarlock").unwrap();
        assert_eq!(
            (taken.provider().as_str(), taken.octets()),
            ("oarlock", key.octets())
        );
        let context = Context::empty(libcrypto());
        assert_eq!(keys.init(&context, Some(&cipher), Some(&taken), None, 1), 1);
        let given = key.moved("provider=default").unwrap();
        assert_eq!(
            (given.provider().as_str(), given.octets()),
            ("default", key.octets())
        );
    }
}

/// The same imports are refused, and the same data is exported, as by the default provider.
#[test]
fn keys_are_imported_and_exported_as_by_the_default_provider() {
    let Some(keys) = keys() else { return };
    let octets = noise(1, 64);
    for kind in ["AES", "GENERIC-SECRET"] {
        let both = |what: &str, seen: &dyn Fn(&str) -> String| {
            let [default, ours] = ["provider=default", "provider=oarlock"].map(seen);
            assert_eq!(ours, default, "{kind}, {what}");
            ours
        };
        for bytes in [0, 1, 15, 16, 17, 24, 31, 32, 33, 64] {
            let octets = &octets[..bytes];
            let seen = both(&format!("{bytes} bytes"), &|query| {
                let key = keys.of(kind, Some(query), octets);
                let key = key.map(|key| {
                    let all = [0, SELECT_PARAMETERS, SELECT_SECRET_KEY, SELECT_ALL];
                    (
                        key.octets(),
                        all.map(|selection| key.export(selection)),
                        key.has_id(),
                    )
                });
                format!("{key:?} {:?}", libcrypto().errors())
            });
            let is_taken = bytes > 0 && (kind != "AES" || [16, 24, 32].contains(&bytes));
            assert_eq!(
                seen.starts_with("Some"),
                is_taken,
                "{kind}, {bytes} bytes: {seen}"
            );
        }
        let param =
            |key, data_type, place: *mut u8, bytes| Param::new(key, data_type, place, bytes);
        let place = octets.as_ptr().cast_mut();
        let good = || param(c"raw-bytes", Param::OCTET_STRING, place, 16);
        for (what, selection, params, is_taken) in [
            ("all", SELECT_ALL, vec![good()], true),
            ("nothing selected", 0, vec![good()], false),
            (
                "parameters selected",
                SELECT_PARAMETERS,
                vec![good()],
                false,
            ),
            ("no parameters", SELECT_ALL, vec![], false),
            (
                "another parameter alone",
                SELECT_ALL,
                vec![param(c"key-length", Param::OCTET_STRING, place, 16)],
                false,
            ),
            (
                "another parameter, too",
                SELECT_ALL,
                vec![param(c"unknown", Param::OCTET_STRING, place, 3), good()],
                true,
            ),
            (
                "no octets",
                SELECT_ALL,
                vec![param(c"raw-bytes", Param::OCTET_STRING, null_mut(), 16)],
                false,
            ),
        ] {
            let seen = both(what, &|query| {
                let mut params: Vec<_> = params.iter().map(copied).collect();
                params.push(Param::END);
                let key = keys.import(kind, Some(query), selection, &params);
                format!(
                    "{:?} {:?}",
                    key.map(|key| key.octets()),
                    libcrypto().errors()
                )
            });
            assert_eq!(seen.starts_with("Some"), is_taken, "{kind}, {what}: {seen}");
        }
        // 3.5 reads a key from every type, and the first of two; 4.0 refuses, and so does this provider.
        for params in [
            vec![param(c"raw-bytes", Param::UNSIGNED_INTEGER, place, 16)],
            vec![param(c"raw-bytes", Param::OCTET_PTR, place, 16)],
            vec![good(), param(c"raw-bytes", Param::OCTET_STRING, place, 32)],
        ] {
            let mut params = params;
            params.push(Param::END);
            let key = keys.import(kind, Some("provider=oarlock"), SELECT_ALL, &params);
            assert!(key.is_none(), "{kind}");
            libcrypto().errors();
        }
        both("generated", &|query| {
            format!(
                "{} {:?}",
                keys.generate(kind, query).is_some(),
                libcrypto().errors()
            )
        });
    }
}

#[test]
fn a_key_that_does_not_fit_is_refused_as_by_the_default_provider() {
    let Some(keys) = keys() else { return };
    for name in names() {
        for (bytes, iv_bytes) in [
            (1, 16),
            (15, 16),
            (16, 16),
            (24, 16),
            (32, 16),
            (64, 16),
            (32, 0),
        ] {
            let [default, ours] = ["default", "oarlock"].map(|provider| {
                let query = format!("provider={provider}");
                let key = keys
                    .of("GENERIC-SECRET", Some(&query), &noise(1, bytes))
                    .unwrap();
                let cipher = libcrypto().fetch(name, provider);
                let context = Context::empty(libcrypto());
                let iv = noise(2, iv_bytes);
                [1, 0].map(|encrypts| {
                    let done = keys.init(&context, Some(&cipher), Some(&key), Some(&iv), encrypts);
                    (done, libcrypto().errors())
                })
            });
            assert_eq!(ours, default, "{name}, {bytes} bytes");
        }
    }
}

/// `openssl enc` with an opaque key. 3.5's default provider does not describe its imports, so the command cannot create its
/// keys.
#[test]
fn the_command_makes_a_key_and_encrypts_with_it() {
    if keys().is_none() {
        return;
    }
    let folder = open_folder();
    let data = noise_file(&folder.path().join("data"), 1_000_003);
    let accelerated = Accelerated::new();
    let iv = "-iv 000102030405060708090a0b0c0d0e0f";
    for (cipher, kind, bytes) in [
        ("aes-128-ctr", "AES", 16),
        ("aes-256-ctr", "GENERIC-SECRET", 32),
        ("aes-192-cbc", "AES", 24),
        ("chacha20", "GENERIC-SECRET", 32),
    ] {
        let enc = |arguments: &str| {
            let mut openssl = Command::new("openssl");
            with_conf(&mut openssl, Some(&accelerated)).current_dir(folder.path());
            openssl.args(format!("enc -{cipher} {iv} {arguments}").split(' '));
            openssl
        };
        let key = "7e".repeat(bytes);
        let opaque = format!("-skeymgmt {kind} -skeyopt hexraw-bytes:{key}");
        let mut plain = Command::new("openssl");
        with_conf(&mut plain, None).current_dir(folder.path());
        let expected = format!("enc -{cipher} {iv} -in data -K {key}");
        let expected = succeeds(plain.args(expected.split(' ')));
        succeeds(&mut enc(&format!("{opaque} -in data -out made")));
        assert_same(
            &fs::read(folder.path().join("made")).unwrap(),
            &expected,
            cipher,
        );
        let back = succeeds(&mut enc(&format!("{opaque} -d -in made")));
        assert_same(&back, &data, cipher);
        // Half a key.
        let output = run(&mut enc(&opaque[..opaque.len() - bytes]));
        assert_eq!(output.status.code(), Some(1), "{}", lossy(&output.stderr));
    }
    for operation in [
        Algorithm::Aes128Ctr,
        Algorithm::Aes192Cbc,
        Algorithm::ChaCha20,
    ] {
        for direction in [Encrypt, Decrypt] {
            let bytes = accelerated.bytes(operation, direction);
            assert!(bytes >= 1_000_000, "{operation:?} {direction:?}: {bytes}");
        }
    }
}

fn keys() -> Option<SymmetricKeys> {
    let keys = SymmetricKeys::load(libcrypto());
    if keys.is_none() {
        skip("this OpenSSL, before 3.5, has no symmetric keys");
    }
    keys
}

/// Returns the ciphers except Camellia, which is offered in a library context that these keys do not belong to.
fn names() -> impl Iterator<Item = &'static str> {
    NAMES
        .into_iter()
        .filter(|name| !name.starts_with("CAMELLIA"))
}

/// Returns the output for some data, and that of the final call if one is possible.
fn worked(context: &Context) -> (Vec<u8>, i32) {
    let (mut output, mut made) = (vec![0; 96], 0);
    let place = output.as_mut_ptr();
    let done = context.update(place, &mut made, noise(3, 64).as_ptr(), 64);
    assert_eq!(done, 1);
    libcrypto().errors();
    (output, made)
}

fn copied(param: &Param) -> Param {
    Param { ..*param }
}

fn is_aead(name: &str) -> bool {
    name.ends_with("GCM") || name.ends_with("Poly1305")
}

/// OSSL_OP_SKEYMGMT.
const SKEYMGMT: c_int = 15;
