//! Arguments, handles, order and buffers.

use std::ptr::null_mut;

use cryptoki_sys::*;

use super::{Module, bytes, few, mechanism};
use crate::common::is_over;

#[test]
fn null_and_impossible_lengths_are_refused_by_every_function() {
    if is_over(few) {
        return;
    }
    let module = Module::initialized();
    let session = module.session(0);
    let key = module.object(session, CKO_PRIVATE_KEY, "p256");
    let bad = CKR_ARGUMENTS_BAD;
    assert_eq!(call!(module, C_GetInfo, null_mut()), bad);
    assert_eq!(call!(module, C_GetSlotList, 1, null_mut(), null_mut()), bad);
    assert_eq!(call!(module, C_GetSlotInfo, 0, null_mut()), bad);
    assert_eq!(call!(module, C_GetTokenInfo, 0, null_mut()), bad);
    assert_eq!(
        call!(module, C_GetMechanismList, 0, null_mut(), null_mut()),
        bad
    );
    assert_eq!(
        call!(module, C_GetMechanismInfo, 0, CKM_ECDSA, null_mut()),
        bad
    );
    assert_eq!(
        call!(
            module,
            C_OpenSession,
            0,
            CKF_SERIAL_SESSION,
            null_mut(),
            None,
            null_mut()
        ),
        bad
    );
    assert_eq!(call!(module, C_GetSessionInfo, session, null_mut()), bad);
    assert_eq!(
        call!(module, C_GetAttributeValue, session, key, null_mut(), 1),
        bad
    );
    assert_eq!(
        call!(module, C_FindObjectsInit, session, null_mut(), 1),
        bad
    );
    assert_eq!(call!(module, C_GetFunctionList, null_mut()), bad);
    assert_eq!(
        call!(module, C_GetInterfaceList, null_mut(), null_mut()),
        bad
    );
    assert_eq!(
        call!(
            module,
            C_GetInterface,
            null_mut(),
            null_mut(),
            null_mut(),
            0
        ),
        bad
    );
    assert_eq!(call!(module, C_GenerateRandom, session, null_mut(), 1), bad);
    assert_eq!(
        call!(module, C_GenerateRandom, session, null_mut(), 0),
        CKR_OK
    );
    let (mut byte, mut length) = (0u8, 1);
    let out = &raw mut byte;
    for (data, bytes) in [
        (null_mut(), 1),
        (out, CK_ULONG::MAX),
        (out, CK_ULONG::MAX / 2 + 1),
    ] {
        assert_eq!(module.sign_init(session, key, CKM_ECDSA_SHA256), CKR_OK);
        assert_eq!(
            call!(module, C_Sign, session, data, bytes, out, &mut length),
            bad
        );
        // That ended the operation, as every failure does.
        assert_eq!(module.sign_init(session, key, CKM_ECDSA_SHA256), CKR_OK);
        assert_eq!(call!(module, C_SignUpdate, session, data, bytes), bad);
        assert_eq!(module.sign_init(session, key, CKM_ECDSA_SHA256), CKR_OK);
        assert_eq!(call!(module, C_Sign, session, out, 1, out, null_mut()), bad);
        assert_eq!(module.sign_init(session, key, CKM_ECDSA_SHA256), CKR_OK);
        assert_eq!(call!(module, C_SessionCancel, session, CKF_SIGN), CKR_OK);
        assert_eq!(call!(module, C_Login, session, CKU_USER, data, bytes), bad);
        let mut attribute = CK_ATTRIBUTE {
            type_: CKA_LABEL,
            pValue: data.cast(),
            ulValueLen: bytes,
        };
        assert_eq!(
            call!(module, C_FindObjectsInit, session, &mut attribute, 1),
            bad
        );
        let mut wrong = mechanism(CKM_RSA_PKCS_PSS);
        (wrong.pParameter, wrong.ulParameterLen) = (data.cast(), bytes);
        let code = call!(module, C_SignInit, session, &mut wrong, key);
        assert_eq!(code, CKR_MECHANISM_PARAM_INVALID);
    }
    // A mechanism of NULL cancels.
    assert_eq!(module.sign_init(session, key, CKM_ECDSA), CKR_OK);
    assert_eq!(call!(module, C_SignInit, session, null_mut(), key), CKR_OK);
    assert_eq!(
        call!(module, C_SignFinal, session, out, &mut length),
        CKR_OPERATION_NOT_INITIALIZED
    );
    let mut slots = [9; 1];
    let mut count = 0;
    assert_eq!(
        call!(module, C_GetSlotList, 0, slots.as_mut_ptr(), &mut count),
        CKR_BUFFER_TOO_SMALL
    );
    assert_eq!((count, slots[0]), (1, 9));
}

#[test]
fn handles_that_are_none_are_refused() {
    if is_over(|| {
        let home = few();
        let other = home.files_token("").replace("\"files\"", "\"others\"");
        home.configure(&format!("{}{other}", home.files_token("")));
        home
    }) {
        return;
    }
    let module = Module::initialized();
    let (session, other) = (module.session(0), module.session(1));
    let key = module.object(session, CKO_PRIVATE_KEY, "p256");
    let of_other = module.object(other, CKO_PRIVATE_KEY, "p256");
    assert_ne!(key, of_other);
    let sign = |session, key| module.sign(session, key, CKM_ECDSA_SHA256);
    assert_eq!(sign(session, key), CKR_OK);
    assert_eq!(sign(other, of_other), CKR_OK);
    assert_eq!(sign(session, of_other), CKR_KEY_HANDLE_INVALID);
    for wrong in [0, 1, key + 1000, CK_ULONG::MAX] {
        assert_eq!(sign(session, wrong), CKR_KEY_HANDLE_INVALID);
        let mut attribute = bytes(CKA_LABEL, &[]);
        let code = call!(
            module,
            C_GetAttributeValue,
            session,
            wrong,
            &mut attribute,
            1
        );
        assert_eq!(code, CKR_OBJECT_HANDLE_INVALID);
    }
    for wrong in [0, other + 1000, key, CK_ULONG::MAX] {
        assert_eq!(sign(wrong, key), CKR_SESSION_HANDLE_INVALID);
    }
    let certificate = module.object(session, CKO_CERTIFICATE, "p256");
    assert_eq!(sign(session, certificate), CKR_KEY_HANDLE_INVALID);
    let public = module.object(session, CKO_PUBLIC_KEY, "p256");
    assert_eq!(sign(session, public), CKR_KEY_FUNCTION_NOT_PERMITTED);
    let code = call!(
        module,
        C_VerifyInit,
        session,
        &mut mechanism(CKM_ECDSA),
        key
    );
    assert_eq!(code, CKR_KEY_FUNCTION_NOT_PERMITTED);
    assert_eq!(
        module.sign(session, key, CKM_EDDSA),
        CKR_KEY_TYPE_INCONSISTENT
    );
    assert_eq!(module.sign(session, key, CKM_SHA256), CKR_MECHANISM_INVALID);
    assert_eq!(
        module.sign(session, key, CKM_AES_GCM),
        CKR_MECHANISM_INVALID
    );
    assert_eq!(
        module.sign(session, key, CKM_RSA_PKCS_OAEP),
        CKR_MECHANISM_INVALID
    );
    let rsa = module.object(session, CKO_PRIVATE_KEY, "rsa");
    assert_eq!(
        module.sign(session, rsa, CKM_SHA256_RSA_PKCS_PSS),
        CKR_MECHANISM_PARAM_INVALID
    );
    assert_eq!(call!(module, C_CloseSession, session), CKR_OK);
    assert_eq!(
        call!(module, C_CloseSession, session),
        CKR_SESSION_HANDLE_INVALID
    );
    assert_eq!(sign(session, key), CKR_SESSION_HANDLE_INVALID);
    assert_eq!(sign(other, of_other), CKR_OK);
    assert_ne!(module.session(0), session);
    assert_eq!(call!(module, C_CloseAllSessions, 1), CKR_OK);
    assert_eq!(sign(other, of_other), CKR_SESSION_HANDLE_INVALID);
    assert_eq!(call!(module, C_CloseAllSessions, 2), CKR_SLOT_ID_INVALID);
    let mut session = 0;
    let code = call!(module, C_OpenSession, 0, 0, null_mut(), None, &mut session);
    assert_eq!(code, CKR_SESSION_PARALLEL_NOT_SUPPORTED);
}

#[test]
fn calls_in_the_wrong_order_are_refused() {
    if is_over(few) {
        return;
    }
    let module = Module::initialized();
    let session = module.session(0);
    let key = module.object(session, CKO_PRIVATE_KEY, "p256");
    let public = module.object(session, CKO_PUBLIC_KEY, "p256");
    let (mut data, mut out, mut length) = ([1u8; 8], [0u8; 500], 500);
    let (data, out) = (data.as_mut_ptr(), out.as_mut_ptr());
    let none = CKR_OPERATION_NOT_INITIALIZED;
    assert_eq!(
        call!(module, C_Sign, session, data, 8, out, &mut length),
        none
    );
    assert_eq!(call!(module, C_SignUpdate, session, data, 8), none);
    assert_eq!(call!(module, C_SignFinal, session, out, &mut length), none);
    assert_eq!(call!(module, C_Verify, session, data, 8, out, 64), none);
    assert_eq!(call!(module, C_VerifyUpdate, session, data, 8), none);
    assert_eq!(call!(module, C_VerifyFinal, session, out, 64), none);
    assert_eq!(
        call!(module, C_Encrypt, session, data, 8, out, &mut length),
        none
    );
    assert_eq!(
        call!(module, C_EncryptFinal, session, out, &mut length),
        none
    );
    assert_eq!(
        call!(module, C_Decrypt, session, data, 8, out, &mut length),
        none
    );
    assert_eq!(
        call!(module, C_DecryptUpdate, session, data, 8, out, &mut length),
        none
    );
    assert_eq!(
        call!(module, C_Digest, session, data, 8, out, &mut length),
        none
    );
    assert_eq!(call!(module, C_DigestUpdate, session, data, 8), none);
    assert_eq!(call!(module, C_FindObjectsFinal, session), none);
    let (mut handle, mut count) = (0, 0);
    assert_eq!(
        call!(module, C_FindObjects, session, &mut handle, 1, &mut count),
        none
    );
    // One of each kind at a time.
    assert_eq!(module.sign_init(session, key, CKM_ECDSA_SHA256), CKR_OK);
    assert_eq!(
        module.sign_init(session, key, CKM_ECDSA_SHA256),
        CKR_OPERATION_ACTIVE
    );
    let mut how = mechanism(CKM_ECDSA_SHA256);
    assert_eq!(
        call!(module, C_VerifyInit, session, &mut how, public),
        CKR_OK
    );
    assert_eq!(
        call!(module, C_DigestInit, session, &mut mechanism(CKM_SHA256)),
        CKR_OK
    );
    assert_eq!(
        call!(module, C_FindObjectsInit, session, null_mut(), 0),
        CKR_OK
    );
    assert_eq!(
        call!(module, C_FindObjectsInit, session, null_mut(), 0),
        CKR_OPERATION_ACTIVE
    );
    assert_eq!(call!(module, C_FindObjectsFinal, session), CKR_OK);
    // A message in parts does not end as a whole, and is over then.
    assert_eq!(call!(module, C_SignUpdate, session, data, 8), CKR_OK);
    let code = call!(module, C_Sign, session, data, 8, out, &mut length);
    assert_eq!(code, CKR_OPERATION_ACTIVE);
    assert_eq!(call!(module, C_SignFinal, session, out, &mut length), none);
    // A wrong signature ends the operation.
    assert_eq!(
        call!(module, C_Verify, session, data, 8, out, 63),
        CKR_SIGNATURE_LEN_RANGE
    );
    assert_eq!(call!(module, C_Verify, session, data, 8, out, 64), none);
    assert_eq!(
        call!(module, C_VerifyInit, session, &mut how, public),
        CKR_OK
    );
    assert_eq!(
        call!(module, C_Verify, session, data, 8, out, 64),
        CKR_SIGNATURE_INVALID
    );
}

#[test]
fn a_buffer_that_is_too_small_costs_nothing() {
    if is_over(few) {
        return;
    }
    let module = Module::initialized();
    let session = module.session(0);
    for (name, kind, bytes) in [
        ("p256", CKM_ECDSA_SHA256, 64),
        ("rsa", CKM_SHA256_RSA_PKCS, 256),
        ("ed25519", CKM_EDDSA, 64),
    ] {
        let key = module.object(session, CKO_PRIVATE_KEY, name);
        let (mut data, mut out) = (*b"message", [0xee; 300]);
        for in_parts in [false, true] {
            assert_eq!(module.sign_init(session, key, kind), CKR_OK);
            if in_parts {
                assert_eq!(
                    call!(module, C_SignUpdate, session, data.as_mut_ptr(), 7),
                    CKR_OK
                );
            }
            let sign = |out: *mut u8, length: &mut CK_ULONG| match in_parts {
                true => call!(module, C_SignFinal, session, out, length),
                false => call!(
                    module,
                    C_Sign,
                    session,
                    data.as_ptr().cast_mut(),
                    7,
                    out,
                    length
                ),
            };
            for (out, given, code) in [
                (null_mut(), 0, CKR_OK),
                (null_mut(), 9999, CKR_OK),
                (out.as_mut_ptr(), 0, CKR_BUFFER_TOO_SMALL),
                (out.as_mut_ptr(), bytes - 1, CKR_BUFFER_TOO_SMALL),
            ] {
                let mut length = given;
                assert_eq!(sign(out, &mut length), code, "{name}");
                assert_eq!(length, bytes);
            }
            assert_eq!(out, [0xee; 300]);
            let mut length = 300;
            assert_eq!(sign(out.as_mut_ptr(), &mut length), CKR_OK);
            assert_eq!(length, bytes);
            assert_eq!(
                sign(out.as_mut_ptr(), &mut length),
                CKR_OPERATION_NOT_INITIALIZED
            );
            out = [0xee; 300];
        }
    }
    // A message that does not fit is kept for the next call, and no private operation is made twice.
    let public = module.object(session, CKO_PUBLIC_KEY, "rsa");
    let private = module.object(session, CKO_PRIVATE_KEY, "rsa");
    let mut how = mechanism(CKM_RSA_PKCS);
    assert_eq!(
        call!(module, C_EncryptInit, session, &mut how, public),
        CKR_OK
    );
    let (mut data, mut sent, mut length) = (*b"a message", [0; 256], 256);
    let sent = sent.as_mut_ptr();
    assert_eq!(
        call!(
            module,
            C_Encrypt,
            session,
            data.as_mut_ptr(),
            9,
            sent,
            &mut length
        ),
        CKR_OK
    );
    assert_eq!(
        call!(module, C_DecryptInit, session, &mut how, private),
        CKR_OK
    );
    let mut out = [0; 256];
    let decrypt = |out: *mut u8, length: &mut CK_ULONG| {
        call!(module, C_Decrypt, session, sent, 256, out, length)
    };
    assert_eq!(decrypt(null_mut(), &mut length), CKR_OK);
    assert_eq!(length, 256);
    length = 8;
    assert_eq!(decrypt(out.as_mut_ptr(), &mut length), CKR_BUFFER_TOO_SMALL);
    assert_eq!(length, 9);
    assert_eq!(decrypt(null_mut(), &mut length), CKR_OK);
    assert_eq!(length, 9);
    assert_eq!(decrypt(out.as_mut_ptr(), &mut length), CKR_OK);
    assert_eq!(out[..9], data);
    assert_eq!(
        decrypt(out.as_mut_ptr(), &mut length),
        CKR_OPERATION_NOT_INITIALIZED
    );
    // In place, as the standard allows.
    assert_eq!(
        call!(module, C_DecryptInit, session, &mut how, private),
        CKR_OK
    );
    length = 256;
    assert_eq!(decrypt(sent, &mut length), CKR_OK);
    assert_eq!(length, 9);
    // Digests follow the same rule.
    assert_eq!(
        call!(module, C_DigestInit, session, &mut mechanism(CKM_SHA256)),
        CKR_OK
    );
    length = 31;
    let digest = |length: &mut CK_ULONG| {
        call!(
            module,
            C_Digest,
            session,
            data.as_ptr().cast_mut(),
            9,
            sent,
            length
        )
    };
    assert_eq!(digest(&mut length), CKR_BUFFER_TOO_SMALL);
    assert_eq!(length, 32);
    assert_eq!(digest(&mut length), CKR_OK);
}

/// The calls that ask again pass another message or ciphertext than the one before.
#[test]
fn a_result_is_that_of_the_last_call() {
    if is_over(few) {
        return;
    }
    let module = Module::initialized();
    let session = module.session(0);
    let public = module.object(session, CKO_PUBLIC_KEY, "rsa");
    let private = module.object(session, CKO_PRIVATE_KEY, "rsa");
    let (first, second) = (*b"the first message", *b"another");
    let seal = |message: &[u8]| {
        let mut sealed = vec![0; 256];
        let mut how = mechanism(CKM_RSA_PKCS);
        assert_eq!(
            call!(module, C_EncryptInit, session, &mut how, public),
            CKR_OK
        );
        let data = message.as_ptr().cast_mut();
        let bytes = message.len() as CK_ULONG;
        let mut length = 256;
        let out = sealed.as_mut_ptr();
        // One that is too short for another message first.
        let (other, mut none) = (first.as_ptr().cast_mut(), 0);
        assert_eq!(
            call!(module, C_Encrypt, session, other, 17, out, &mut none),
            CKR_BUFFER_TOO_SMALL
        );
        assert_eq!(
            call!(module, C_Encrypt, session, data, bytes, out, &mut length),
            CKR_OK
        );
        sealed
    };
    let (one, two) = (seal(&first), seal(&second));
    let begin = || {
        let mut how = mechanism(CKM_RSA_PKCS);
        assert_eq!(
            call!(module, C_DecryptInit, session, &mut how, private),
            CKR_OK
        );
    };
    let whole = |sealed: &[u8], out: *mut u8, length: &mut CK_ULONG| {
        let data = sealed.as_ptr().cast_mut();
        call!(module, C_Decrypt, session, data, 256, out, length)
    };
    let part = |sealed: &[u8]| {
        let (data, bytes) = (sealed.as_ptr().cast_mut(), sealed.len() as CK_ULONG);
        let (mut out, mut length) = ([0; 256], 256);
        let out = out.as_mut_ptr();
        call!(
            module,
            C_DecryptUpdate,
            session,
            data,
            bytes,
            out,
            &mut length
        )
    };
    let last =
        |out: *mut u8, length: &mut CK_ULONG| call!(module, C_DecryptFinal, session, out, length);
    let mut out = [0xee; 256];
    let to = out.as_mut_ptr();
    let is_too_small = |sealed: &[u8]| {
        let mut length = 5;
        assert_eq!(whole(sealed, to, &mut length), CKR_BUFFER_TOO_SMALL);
        assert_eq!(length, 17);
    };

    // Another ciphertext, whose length is not that of the first message either.
    begin();
    is_too_small(&one);
    let mut length = 0;
    assert_eq!(whole(&two, null_mut(), &mut length), CKR_OK);
    assert_eq!(length, 256);
    assert_eq!(whole(&two, to, &mut length), CKR_OK);
    assert_eq!((length, &out[..7]), (7, &second[..]));
    // The first one again, with the second between.
    begin();
    is_too_small(&one);
    length = 6;
    assert_eq!(whole(&two, to, &mut length), CKR_BUFFER_TOO_SMALL);
    assert_eq!(length, 7);
    is_too_small(&one);
    length = 17;
    assert_eq!(whole(&one, to, &mut length), CKR_OK);
    assert_eq!((length, &out[..17]), (17, &first[..]));

    // A message of one call is none of parts.
    begin();
    is_too_small(&one);
    (out, length) = ([0xee; 256], 256);
    assert_ne!(last(to, &mut length), CKR_OK);
    assert_eq!(out, [0xee; 256]);
    begin();
    is_too_small(&one);
    assert_eq!(part(&two), CKR_OK);
    length = 256;
    assert_eq!(last(to, &mut length), CKR_OK);
    assert_eq!((length, &out[..7]), (7, &second[..]));
    // Nor is a message of parts one of a call, or of more parts.
    for more in [false, true] {
        begin();
        assert_eq!(part(&one[..100]), CKR_OK);
        assert_eq!(part(&one[100..]), CKR_OK);
        length = 5;
        assert_eq!(last(to, &mut length), CKR_BUFFER_TOO_SMALL);
        assert_eq!(length, 17);
        (out, length) = ([0xee; 256], 256);
        match more {
            false => assert_eq!(whole(&two, to, &mut length), CKR_OPERATION_ACTIVE),
            true => assert_ne!(part(&two[..1]), CKR_OK),
        }
        assert_eq!(last(to, &mut length), CKR_OPERATION_NOT_INITIALIZED);
        assert_eq!(out, [0xee; 256]);
    }
    begin();
    assert_eq!(part(&one), CKR_OK);
    length = 5;
    assert_eq!(last(to, &mut length), CKR_BUFFER_TOO_SMALL);
    assert_eq!(last(to, &mut length), CKR_OK);
    assert_eq!((length, &out[..17]), (17, &first[..]));

    // Signatures and digests are computed when they fit.
    let sign = |before: Option<&[u8]>| {
        assert_eq!(
            module.sign_init(session, private, CKM_SHA256_RSA_PKCS),
            CKR_OK
        );
        let (mut signature, mut length) = ([0; 256], 0);
        let out = signature.as_mut_ptr();
        if let Some(before) = before {
            let (data, bytes) = (before.as_ptr().cast_mut(), before.len() as CK_ULONG);
            for out in [null_mut(), out] {
                call!(module, C_Sign, session, data, bytes, out, &mut length);
                length = 255;
            }
        }
        length = 256;
        let data = second.as_ptr().cast_mut();
        assert_eq!(
            call!(module, C_Sign, session, data, 7, out, &mut length),
            CKR_OK
        );
        signature
    };
    assert_eq!(sign(Some(&first)), sign(None));
    let digest = |before: Option<&[u8]>| {
        let mut how = mechanism(CKM_SHA256);
        assert_eq!(call!(module, C_DigestInit, session, &mut how), CKR_OK);
        let (mut digest, mut length) = ([0; 32], 0);
        let out = digest.as_mut_ptr();
        if let Some(before) = before {
            let (data, bytes) = (before.as_ptr().cast_mut(), before.len() as CK_ULONG);
            let code = call!(module, C_Digest, session, data, bytes, out, &mut length);
            assert_eq!(code, CKR_BUFFER_TOO_SMALL);
        }
        length = 32;
        let data = second.as_ptr().cast_mut();
        assert_eq!(
            call!(module, C_Digest, session, data, 7, out, &mut length),
            CKR_OK
        );
        digest
    };
    assert_eq!(digest(Some(&first)), digest(None));
}
