//! The default provider's functions that this provider wraps (core_dispatch.h).
#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_void};

use crate::abi::{Param, functions};

functions! {
    /// The default provider's management of keys.
    KeyFunctions {
        new 1 unsafe extern "C" fn(*mut c_void) -> *mut c_void,
        gen_init 2 unsafe extern "C" fn(*mut c_void, c_int, *const Param) -> *mut c_void,
        gen_set_template 3 unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int,
        gen_set_params 4 unsafe extern "C" fn(*mut c_void, *const Param) -> c_int,
        gen_settable_params 5 unsafe extern "C" fn(*mut c_void, *mut c_void) -> *const Param,
        generate 6 unsafe extern "C" fn(*mut c_void, *const c_void, *mut c_void) -> *mut c_void,
        gen_cleanup 7 unsafe extern "C" fn(*mut c_void),
        free 10 unsafe extern "C" fn(*mut c_void),
        get_params 11 unsafe extern "C" fn(*mut c_void, *mut Param) -> c_int,
        gettable_params 12 unsafe extern "C" fn(*mut c_void) -> *const Param,
        set_params 13 unsafe extern "C" fn(*mut c_void, *const Param) -> c_int,
        settable_params 14 unsafe extern "C" fn(*mut c_void) -> *const Param,
        gen_get_params 15 WithParams,
        gen_gettable_params 16 Describe,
        query_operation_name 20 *const c_void,
        has 21 unsafe extern "C" fn(*const c_void, c_int) -> c_int,
        validate 22 unsafe extern "C" fn(*const c_void, c_int, c_int) -> c_int,
        matches 23 unsafe extern "C" fn(*const c_void, *const c_void, c_int) -> c_int,
        import 40 unsafe extern "C" fn(*mut c_void, c_int, *const Param) -> c_int,
        import_types 41 *const c_void,
        export 42 unsafe extern "C" fn(*mut c_void, c_int, Callback, *mut c_void) -> c_int,
        export_types 43 *const c_void,
        dup 44 unsafe extern "C" fn(*const c_void, c_int) -> *mut c_void,
    }
}

/// Receives an export's parameters, valid during the call, and the argument of the export's caller.
pub(crate) type Callback = unsafe extern "C" fn(*const Param, *mut c_void) -> c_int;

functions! {
    /// The default provider's signatures.
    SignatureFunctions {
        newctx 1 unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void,
        sign_init 2 Init,
        sign 3 unsafe extern "C" fn(
            *mut c_void, *mut u8, *mut usize, usize, *const u8, usize,
        ) -> c_int,
        verify_init 4 Init,
        verify 5 unsafe extern "C" fn(*mut c_void, *const u8, usize, *const u8, usize) -> c_int,
        verify_recover_init 6 Init,
        verify_recover 7 unsafe extern "C" fn(
            *mut c_void, *mut u8, *mut usize, usize, *const u8, usize,
        ) -> c_int,
        digest_sign_init 8 DigestInit,
        digest_sign_update 9 Update,
        digest_sign_final 10 unsafe extern "C" fn(*mut c_void, *mut u8, *mut usize, usize) -> c_int,
        digest_sign 11 unsafe extern "C" fn(
            *mut c_void, *mut u8, *mut usize, usize, *const u8, usize,
        ) -> c_int,
        digest_verify_init 12 DigestInit,
        digest_verify_update 13 Update,
        digest_verify_final 14 unsafe extern "C" fn(*mut c_void, *const u8, usize) -> c_int,
        digest_verify 15 unsafe extern "C" fn(*mut c_void, *const u8, usize, *const u8, usize) -> c_int,
        freectx 16 unsafe extern "C" fn(*mut c_void),
        dupctx 17 unsafe extern "C" fn(*mut c_void) -> *mut c_void,
        get_ctx_params 18 WithParams,
        gettable_ctx_params 19 Describe,
        set_ctx_params 20 WithParams,
        settable_ctx_params 21 Describe,
        get_ctx_md_params 22 WithParams,
        gettable_ctx_md_params 23 unsafe extern "C" fn(*mut c_void) -> *const Param,
        set_ctx_md_params 24 WithParams,
        settable_ctx_md_params 25 unsafe extern "C" fn(*mut c_void) -> *const Param,
        query_key_types 26 *const c_void,
        sign_message_init 27 Init,
        sign_message_update 28 Update,
        sign_message_final 29 unsafe extern "C" fn(*mut c_void, *mut u8, *mut usize, usize) -> c_int,
        verify_message_init 30 Init,
        verify_message_update 31 Update,
        verify_message_final 32 unsafe extern "C" fn(*mut c_void) -> c_int,
    }
}

functions! {
    /// The default provider's encryption with RSA keys.
    EncryptionFunctions {
        newctx 1 unsafe extern "C" fn(*mut c_void) -> *mut c_void,
        encrypt_init 2 Init,
        encrypt 3 Crypt,
        decrypt_init 4 Init,
        decrypt 5 Crypt,
        freectx 6 unsafe extern "C" fn(*mut c_void),
        dupctx 7 unsafe extern "C" fn(*mut c_void) -> *mut c_void,
        get_ctx_params 8 WithParams,
        gettable_ctx_params 9 Describe,
        set_ctx_params 10 WithParams,
        settable_ctx_params 11 Describe,
    }
}

pub(crate) type Crypt =
    unsafe extern "C" fn(*mut c_void, *mut u8, *mut usize, usize, *const u8, usize) -> c_int;
pub(crate) type Init = unsafe extern "C" fn(*mut c_void, *mut c_void, *const Param) -> c_int;
pub(crate) type DigestInit =
    unsafe extern "C" fn(*mut c_void, *const c_char, *mut c_void, *const Param) -> c_int;
pub(crate) type Update = unsafe extern "C" fn(*mut c_void, *const u8, usize) -> c_int;
pub(crate) type WithParams = unsafe extern "C" fn(*mut c_void, *mut Param) -> c_int;
pub(crate) type Describe = unsafe extern "C" fn(*mut c_void, *mut c_void) -> *const Param;

functions! {
    /// A digest of the default provider.
    DigestFunctions {
        newctx 1 unsafe extern "C" fn(*mut c_void) -> *mut c_void,
        init 2 unsafe extern "C" fn(*mut c_void, *const Param) -> c_int,
        update 3 Update,
        finish 4 unsafe extern "C" fn(*mut c_void, *mut u8, *mut usize, usize) -> c_int,
        freectx 6 unsafe extern "C" fn(*mut c_void),
        dupctx 7 unsafe extern "C" fn(*mut c_void) -> *mut c_void,
    }
}

functions! {
    /// The default provider's key derivation.
    KdfFunctions {
        newctx 1 unsafe extern "C" fn(*mut c_void) -> *mut c_void,
        dupctx 2 unsafe extern "C" fn(*mut c_void) -> *mut c_void,
        freectx 3 unsafe extern "C" fn(*mut c_void),
        reset 4 unsafe extern "C" fn(*mut c_void),
        derive 5 unsafe extern "C" fn(*mut c_void, *mut u8, usize, *const Param) -> c_int,
        gettable_ctx_params 7 Describe,
        settable_ctx_params 8 Describe,
        get_ctx_params 10 WithParams,
        set_ctx_params 11 WithParams,
    }
}

functions! {
    /// The default provider's message authentication.
    MacFunctions {
        newctx 1 unsafe extern "C" fn(*mut c_void) -> *mut c_void,
        dupctx 2 unsafe extern "C" fn(*mut c_void) -> *mut c_void,
        freectx 3 unsafe extern "C" fn(*mut c_void),
        init 4 unsafe extern "C" fn(*mut c_void, *const u8, usize, *const Param) -> c_int,
        update 5 Update,
        finish 6 unsafe extern "C" fn(*mut c_void, *mut u8, *mut usize, usize) -> c_int,
        get_ctx_params 8 WithParams,
        set_ctx_params 9 WithParams,
        gettable_ctx_params 11 Describe,
        settable_ctx_params 12 Describe,
    }
}

functions! {
    /// The default provider's key exchange.
    ExchangeFunctions {
        newctx 1 unsafe extern "C" fn(*mut c_void) -> *mut c_void,
        init 2 Init,
        derive 3 unsafe extern "C" fn(*mut c_void, *mut u8, *mut usize, usize) -> c_int,
        set_peer 4 unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int,
        freectx 5 unsafe extern "C" fn(*mut c_void),
        dupctx 6 unsafe extern "C" fn(*mut c_void) -> *mut c_void,
        set_ctx_params 7 WithParams,
        settable_ctx_params 8 Describe,
        get_ctx_params 9 WithParams,
        gettable_ctx_params 10 Describe,
    }
}

functions! {
    /// The default provider's key encapsulation.
    KemFunctions {
        newctx 1 unsafe extern "C" fn(*mut c_void) -> *mut c_void,
        encapsulate_init 2 Init,
        encapsulate 3 unsafe extern "C" fn(*mut c_void, *mut u8, *mut usize, *mut u8, *mut usize) -> c_int,
        decapsulate_init 4 Init,
        decapsulate 5 unsafe extern "C" fn(*mut c_void, *mut u8, *mut usize, *const u8, usize) -> c_int,
        freectx 6 unsafe extern "C" fn(*mut c_void),
        set_ctx_params 10 WithParams,
        settable_ctx_params 11 Describe,
    }
}
