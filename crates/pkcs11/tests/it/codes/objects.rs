//! Attributes, PINs, and keys that change.

use std::fs::{self, File};
use std::ptr::null_mut;
use std::time::{Duration, SystemTime};

use cryptoki_sys::*;

use super::{Module, bytes, few, number};
use crate::common::{home, is_over, write_key};

#[test]
fn each_attribute_has_its_own_fate() {
    if is_over(few) {
        return;
    }
    let module = Module::initialized();
    let session = module.session(0);
    let key = module.object(session, CKO_PRIVATE_KEY, "rsa");
    let ask = |key, kinds: &[(CK_ATTRIBUTE_TYPE, usize)]| {
        let mut buffers: Vec<Vec<u8>> = kinds.iter().map(|(_, bytes)| vec![0; *bytes]).collect();
        let attributes = kinds.iter().zip(&mut buffers);
        let mut attributes: Vec<_> = attributes
            .map(|((kind, room), buffer)| CK_ATTRIBUTE {
                type_: *kind,
                pValue: if *room == 0 {
                    null_mut()
                } else {
                    buffer.as_mut_ptr().cast()
                },
                ulValueLen: *room as CK_ULONG,
            })
            .collect();
        let count = attributes.len() as CK_ULONG;
        let code = call!(
            module,
            C_GetAttributeValue,
            session,
            key,
            attributes.as_mut_ptr(),
            count
        );
        let lengths: Vec<_> = attributes.iter().map(|one| one.ulValueLen).collect();
        (code, lengths, buffers)
    };
    let none = CK_UNAVAILABLE_INFORMATION;
    let (code, lengths, buffers) = ask(key, &[(CKA_LABEL, 10), (CKA_MODULUS, 0), (CKA_SIGN, 1)]);
    assert_eq!((code, lengths), (CKR_OK, vec![3, 256, 1]));
    assert_eq!(
        (&buffers[0][..4], &buffers[2][..]),
        (&b"rsa\0"[..], &[1][..])
    );
    // One object has its unique ID.
    let (code, lengths, buffers) = ask(key, &[(CKA_UNIQUE_ID, 64)]);
    assert_eq!((code, lengths), (CKR_OK, vec![64]));
    let mut template = bytes(CKA_UNIQUE_ID, &buffers[0]);
    let code = call!(module, C_FindObjectsInit, session, &mut template, 1);
    assert_eq!(code, CKR_OK);
    let (mut handles, mut count) = ([0; 9], 0);
    let places = handles.as_mut_ptr();
    let code = call!(module, C_FindObjects, session, places, 9, &mut count);
    assert_eq!((code, count, handles[0]), (CKR_OK, 1, key));
    assert_eq!(call!(module, C_FindObjectsFinal, session), CKR_OK);
    let (code, lengths, buffers) = ask(key, &[(CKA_PRIME_1, 500), (CKA_LABEL, 10)]);
    assert_eq!((code, lengths), (CKR_ATTRIBUTE_SENSITIVE, vec![none, 3]));
    assert_eq!(
        (&buffers[1][..3], &buffers[0]),
        (&b"rsa"[..], &vec![0; 500])
    );
    let (code, lengths, _) = ask(key, &[(CKA_LABEL, 2), (CKA_LABEL, 3)]);
    assert_eq!((code, lengths), (CKR_BUFFER_TOO_SMALL, vec![none, 3]));
    let (code, lengths, _) = ask(key, &[(CKA_EC_POINT, 0), (CKA_ID, 20), (CKA_CLASS, 8)]);
    assert_eq!(
        (code, lengths),
        (CKR_ATTRIBUTE_TYPE_INVALID, vec![none, 20, 8])
    );
    for secret in [
        CKA_PRIVATE_EXPONENT,
        CKA_PRIME_2,
        CKA_EXPONENT_1,
        CKA_EXPONENT_2,
        CKA_COEFFICIENT,
    ] {
        assert_eq!(ask(key, &[(secret, 0)]).0, CKR_ATTRIBUTE_SENSITIVE);
    }
    for name in ["p256", "ed25519"] {
        let key = module.object(session, CKO_PRIVATE_KEY, name);
        assert_eq!(ask(key, &[(CKA_VALUE, 0)]).0, CKR_ATTRIBUTE_SENSITIVE);
        assert_eq!(
            ask(key, &[(CKA_EC_POINT, 200), (CKA_EC_PARAMS, 200)]).0,
            CKR_OK
        );
    }
    // Secrets are not found by their values either.
    let mut template = [bytes(CKA_PRIME_1, &[])];
    assert_eq!(
        call!(module, C_FindObjectsInit, session, template.as_mut_ptr(), 1),
        CKR_OK
    );
    let (mut handle, mut count) = (0, 9);
    assert_eq!(
        call!(module, C_FindObjects, session, &mut handle, 1, &mut count),
        CKR_OK
    );
    assert_eq!(count, 0);
    assert_eq!(call!(module, C_FindObjectsFinal, session), CKR_OK);
    // Objects come in parts.
    assert_eq!(
        call!(module, C_FindObjectsInit, session, null_mut(), 0),
        CKR_OK
    );
    let mut found = Vec::<CK_OBJECT_HANDLE>::new();
    loop {
        let mut handles = [0; 3];
        let code = call!(
            module,
            C_FindObjects,
            session,
            handles.as_mut_ptr(),
            3,
            &mut count
        );
        assert_eq!(code, CKR_OK);
        found.extend(&handles[..count as usize]);
        if count == 0 {
            break;
        }
    }
    found.sort_unstable();
    found.dedup();
    assert_eq!(found.len(), 3 * 2 + 2);
    let write = CKR_TOKEN_WRITE_PROTECTED;
    assert_eq!(call!(module, C_DestroyObject, session, key), write);
    assert_eq!(
        call!(
            module,
            C_CreateObject,
            session,
            template.as_mut_ptr(),
            1,
            &mut handle
        ),
        write
    );
}

#[test]
fn a_pin_hides_private_keys_until_it_is_given() {
    if is_over(|| {
        let home = few();
        home.configure(&home.files_token("pin = \"1234\""));
        home
    }) {
        return;
    }
    let module = Module::initialized();
    let (session, other) = (module.session(0), module.session(0));
    let mut info = CK_TOKEN_INFO::default();
    assert_eq!(call!(module, C_GetTokenInfo, 0, &mut info), CKR_OK);
    assert_ne!(info.flags & CKF_LOGIN_REQUIRED, 0);
    assert_eq!((info.ulSessionCount, info.ulRwSessionCount), (2, 0));
    let class = CKO_PRIVATE_KEY;
    let count = |session| {
        let mut template = [number(CKA_CLASS, &class)];
        assert_eq!(
            call!(module, C_FindObjectsInit, session, template.as_mut_ptr(), 1),
            CKR_OK
        );
        let (mut handles, mut count) = ([0; 9], 0);
        assert_eq!(
            call!(
                module,
                C_FindObjects,
                session,
                handles.as_mut_ptr(),
                9,
                &mut count
            ),
            CKR_OK
        );
        assert_eq!(call!(module, C_FindObjectsFinal, session), CKR_OK);
        (count, handles[0])
    };
    let login = |pin: &[u8]| {
        let (pin, bytes) = (pin.as_ptr().cast_mut(), pin.len() as CK_ULONG);
        call!(module, C_Login, session, CKU_USER, pin, bytes)
    };
    assert_eq!(count(session).0, 0);
    assert_eq!(call!(module, C_Logout, session), CKR_USER_NOT_LOGGED_IN);
    for wrong in [&b"1235"[..], b"123", b"12345", b""] {
        assert_eq!(login(wrong), CKR_PIN_INCORRECT);
    }
    assert_eq!(login(b"1234"), CKR_OK);
    assert_eq!(login(b"1234"), CKR_USER_ALREADY_LOGGED_IN);
    // All sessions of the token are logged in.
    let (private, key) = count(other);
    assert_eq!(private, 3);
    let mut info = CK_SESSION_INFO::default();
    assert_eq!(call!(module, C_GetSessionInfo, other, &mut info), CKR_OK);
    assert_eq!(info.state, CKS_RO_USER_FUNCTIONS);
    assert_eq!(call!(module, C_Logout, other), CKR_OK);
    assert_eq!(
        module.sign_init(other, key, CKM_EDDSA),
        CKR_KEY_HANDLE_INVALID
    );
    assert_eq!(login(b"1234"), CKR_OK);
    // The last session to be closed logs out.
    assert_eq!(call!(module, C_CloseAllSessions, 0), CKR_OK);
    let session = module.session(0);
    assert_eq!(count(session).0, 0);
    let code = call!(module, C_Login, session, CKU_SO, null_mut(), 0);
    assert_eq!(code, CKR_PIN_INCORRECT);
    assert_eq!(
        call!(module, C_Login, session, 77, null_mut(), 0),
        CKR_USER_TYPE_INVALID
    );
}

/// The standard says so of C_Logout (PKCS#11 3.0, 5.6.9), and the last session to be closed logs out.
#[test]
fn handles_of_private_keys_end_with_the_login() {
    if is_over(|| {
        let home = few();
        let open = home.files_token("").replace("\"files\"", "\"open\"");
        home.configure(&format!("{}{open}", home.files_token("pin = \"1234\"")));
        home
    }) {
        return;
    }
    let module = Module::initialized();
    let login = |session| {
        let pin = b"1234".as_ptr().cast_mut();
        assert_eq!(call!(module, C_Login, session, CKU_USER, pin, 4), CKR_OK);
    };
    let is_seen = |session, key| {
        let mut attribute = bytes(CKA_LABEL, &[]);
        attribute.pValue = null_mut();
        call!(module, C_GetAttributeValue, session, key, &mut attribute, 1) == CKR_OK
    };
    let begin_search = |session| {
        assert_eq!(
            call!(module, C_FindObjectsInit, session, null_mut(), 0),
            CKR_OK
        );
    };
    let (session, other) = (module.session(0), module.session(0));
    let public = module.object(session, CKO_PUBLIC_KEY, "p256");
    login(session);
    let mut earlier = Vec::new();
    for round in 0..4 {
        let key = module.object(other, CKO_PRIVATE_KEY, "p256");
        // It is the same one until the end of the login.
        assert_eq!(module.object(session, CKO_PRIVATE_KEY, "p256"), key);
        assert_eq!(module.sign(other, key, CKM_ECDSA_SHA256), CKR_OK);
        assert!(is_seen(other, key));
        for old in &earlier {
            let code = module.sign(other, *old, CKM_ECDSA_SHA256);
            assert_eq!(code, CKR_KEY_HANDLE_INVALID, "{round}");
            assert!(!is_seen(session, *old), "{round}");
            assert_eq!(
                call!(module, C_GetObjectSize, session, *old, &mut 0),
                CKR_OBJECT_HANDLE_INVALID
            );
        }
        assert!(!earlier.contains(&key));
        earlier.push(key);
        begin_search(other);
        assert_eq!(call!(module, C_Logout, session), CKR_OK);
        assert!(!is_seen(session, key));
        login(session);
        // What was found before the end of the login is not valid either.
        let (mut handles, mut count) = ([0; 20], 0);
        let places = handles.as_mut_ptr();
        assert_eq!(
            call!(module, C_FindObjects, other, places, 20, &mut count),
            CKR_OK
        );
        assert_eq!(call!(module, C_FindObjectsFinal, other), CKR_OK);
        assert_eq!(count, 8);
        let seen = handles[..8].iter().filter(|one| is_seen(other, **one));
        assert_eq!(seen.count(), 5);
        assert!(is_seen(session, public));
    }
    assert_eq!(call!(module, C_CloseAllSessions, 0), CKR_OK);
    let session = module.session(0);
    login(session);
    for old in earlier {
        let code = module.sign(session, old, CKM_ECDSA_SHA256);
        assert_eq!(code, CKR_KEY_HANDLE_INVALID);
    }
    assert!(is_seen(session, public));
    // Without a PIN no key is private.
    let session = module.session(1);
    login(session);
    let key = module.object(session, CKO_PRIVATE_KEY, "p256");
    assert_eq!(call!(module, C_Logout, session), CKR_OK);
    assert_eq!(module.sign(session, key, CKM_ECDSA_SHA256), CKR_OK);
}

/// P-256 keys in PKCS#8 have one length, and a copied file may keep its time.
#[test]
fn a_key_of_the_same_length_and_time_is_seen() {
    if is_over(few) {
        return;
    }
    let (file, other) = (home().join("keys/p256.pem"), home().join("other"));
    write_key(&other, "p256");
    let past = SystemTime::UNIX_EPOCH + Duration::from_secs(1);
    for path in [&file, &other] {
        let written = File::options().write(true).open(path).unwrap();
        written.set_modified(past).unwrap();
    }
    let length = |path| fs::metadata(path).unwrap().len();
    assert_eq!(length(&file), length(&other));
    let module = Module::initialized();
    let session = module.session(0);
    let key = module.object(session, CKO_PRIVATE_KEY, "p256");
    // Files that changed just now are read again in any case.
    std::thread::sleep(Duration::from_secs(3));
    module.session(0);
    fs::rename(&other, &file).unwrap();
    std::thread::sleep(Duration::from_millis(1100));
    let next = module.session(0);
    let code = module.sign(next, key, CKM_ECDSA_SHA256);
    assert_eq!(code, CKR_KEY_HANDLE_INVALID);
    let key = module.object(next, CKO_PRIVATE_KEY, "p256");
    assert_eq!(module.sign(next, key, CKM_ECDSA_SHA256), CKR_OK);
}

/// Keys that come and go are seen by the next session, and others keep their handles.
#[test]
fn keys_that_are_replaced_are_seen() {
    if is_over(few) {
        return;
    }
    let module = Module::initialized();
    let session = module.session(0);
    let key = module.object(session, CKO_PRIVATE_KEY, "p256");
    let gone = module.object(session, CKO_PRIVATE_KEY, "ed25519");
    let keys = home().join("keys");
    std::fs::remove_file(keys.join("ed25519.pem")).unwrap();
    std::fs::copy(keys.join("p256.pem"), keys.join("another.pem")).unwrap();
    std::fs::write(
        keys.join("wrong.pem"),
        "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
    )
    .unwrap();
    std::fs::write(keys.join("README"), "These are keys.").unwrap();
    std::thread::sleep(Duration::from_millis(1100));
    let next = module.session(0);
    assert_eq!(module.object(next, CKO_PRIVATE_KEY, "p256"), key);
    let another = module.object(next, CKO_PRIVATE_KEY, "another");
    assert_eq!(module.sign(session, another, CKM_ECDSA_SHA256), CKR_OK);
    assert_eq!(
        module.sign(session, gone, CKM_EDDSA),
        CKR_KEY_HANDLE_INVALID
    );
}
