//! Keys of any type and their contexts, as EVP has them (openssl/evp.h).

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::null_mut;
use std::sync::OnceLock;

use super::Values;
use crate::driver::{Param, evp_functions, libcrypto};

evp_functions! {
    Functions:
    OSSL_LIB_CTX_new: fn() -> *mut c_void;
    OSSL_LIB_CTX_free: fn(*mut c_void);
    OSSL_LIB_CTX_load_config: fn(*mut c_void, *const c_char) -> c_int;
    RAND_set_DRBG_type: fn(*mut c_void, *const c_char, *const c_char, *const c_char, *const c_char) -> c_int;
    RAND_bytes_ex: fn(*mut c_void, *mut u8, usize, u32) -> c_int;
    EVP_SIGNATURE_fetch: fn(*mut c_void, *const c_char, *const c_char) -> *mut c_void;
    EVP_PKEY_param_check: fn(*mut c_void) -> c_int;
    EVP_PKEY_public_check_quick: fn(*mut c_void) -> c_int;
    EVP_PKEY_sign_init: fn(*mut c_void) -> c_int;
    EVP_PKEY_sign: fn(*mut c_void, *mut u8, *mut usize, *const u8, usize) -> c_int;
    EVP_PKEY_verify_init: fn(*mut c_void) -> c_int;
    EVP_PKEY_verify: fn(*mut c_void, *const u8, usize, *const u8, usize) -> c_int;
    EVP_PKEY_CTX_new_from_name: fn(*mut c_void, *const c_char, *const c_char) -> *mut c_void;
    EVP_PKEY_CTX_new_from_pkey: fn(*mut c_void, *mut c_void, *const c_char) -> *mut c_void;
    EVP_PKEY_CTX_free: fn(*mut c_void);
    EVP_PKEY_CTX_dup: fn(*const c_void) -> *mut c_void;
    EVP_PKEY_CTX_set_params: fn(*mut c_void, *const Param) -> c_int;
    EVP_PKEY_CTX_set_group_name: fn(*mut c_void, *const c_char) -> c_int;
    EVP_PKEY_free: fn(*mut c_void);
    EVP_PKEY_new: fn() -> *mut c_void;
    EVP_PKEY_dup: fn(*mut c_void) -> *mut c_void;
    EVP_PKEY_eq: fn(*const c_void, *const c_void) -> c_int;
    EVP_PKEY_parameters_eq: fn(*const c_void, *const c_void) -> c_int;
    EVP_PKEY_fromdata_init: fn(*mut c_void) -> c_int;
    EVP_PKEY_fromdata: fn(*mut c_void, *mut *mut c_void, c_int, *mut Param) -> c_int;
    EVP_PKEY_todata: fn(*const c_void, c_int, *mut *mut Param) -> c_int;
    OSSL_PARAM_free: fn(*mut Param);
    EVP_PKEY_get_octet_string_param: fn(*const c_void, *const c_char, *mut u8, usize, *mut usize) -> c_int;
    EVP_PKEY_get_params: fn(*const c_void, *mut Param) -> c_int;
    EVP_PKEY_set_params: fn(*mut c_void, *mut Param) -> c_int;
    EVP_PKEY_gettable_params: fn(*const c_void) -> *const Param;
    EVP_PKEY_settable_params: fn(*const c_void) -> *const Param;
    EVP_PKEY_set1_encoded_public_key: fn(*mut c_void, *const u8, usize) -> c_int;
    EVP_PKEY_copy_parameters: fn(*mut c_void, *const c_void) -> c_int;
    EVP_PKEY_get_bits: fn(*const c_void) -> c_int;
    EVP_PKEY_get_security_bits: fn(*const c_void) -> c_int;
    EVP_PKEY_get_size: fn(*const c_void) -> c_int;
    EVP_PKEY_keygen_init: fn(*mut c_void) -> c_int;
    EVP_PKEY_paramgen_init: fn(*mut c_void) -> c_int;
    EVP_PKEY_generate: fn(*mut c_void, *mut *mut c_void) -> c_int;
    EVP_PKEY_check: fn(*mut c_void) -> c_int;
    EVP_PKEY_public_check: fn(*mut c_void) -> c_int;
    EVP_PKEY_private_check: fn(*mut c_void) -> c_int;
    EVP_PKEY_pairwise_check: fn(*mut c_void) -> c_int;
    EVP_PKEY_encapsulate_init: fn(*mut c_void, *const Param) -> c_int;
    EVP_PKEY_encapsulate: fn(*mut c_void, *mut u8, *mut usize, *mut u8, *mut usize) -> c_int;
    EVP_PKEY_decapsulate_init: fn(*mut c_void, *const Param) -> c_int;
    EVP_PKEY_decapsulate: fn(*mut c_void, *mut u8, *mut usize, *const u8, usize) -> c_int;
    EVP_PKEY_get0_provider: fn(*const c_void) -> *const c_void;
    OSSL_PROVIDER_get0_name: fn(*const c_void) -> *const c_char;
    EVP_PKEY_derive_init: fn(*mut c_void) -> c_int;
    EVP_PKEY_derive_set_peer: fn(*mut c_void, *mut c_void) -> c_int;
    EVP_PKEY_derive: fn(*mut c_void, *mut u8, *mut usize) -> c_int;
}

pub fn functions() -> &'static Functions {
    static FUNCTIONS: OnceLock<Functions> = OnceLock::new();
    FUNCTIONS.get_or_init(|| Functions::load(libcrypto()))
}

/// EVP_PKEY; null if a call has created none.
pub struct Key(pub *mut c_void);

impl Drop for Key {
    fn drop(&mut self) {
        // SAFETY: the key is null or owned by this value.
        unsafe { (functions().EVP_PKEY_free)(self.0) };
    }
}

/// EVP_PKEY_CTX; null if a call has created none.
pub struct Context(pub *mut c_void);

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: the context is null or owned by this value.
        unsafe { (functions().EVP_PKEY_CTX_free)(self.0) };
    }
}

/// EVP_PKEY_KEYPAIR, EVP_PKEY_PUBLIC_KEY and EVP_PKEY_KEY_PARAMETERS.
pub const PAIR: c_int = 0x87;
pub const PUBLIC: c_int = 0x86;
pub const PARAMETERS: c_int = 0x84;

impl Context {
    pub fn of_name(name: &CStr, side: &CStr) -> Self {
        let new = functions().EVP_PKEY_CTX_new_from_name;
        // SAFETY: the library context is live, and the strings are NUL-terminated.
        let context = unsafe { new(libcrypto().library_context(), name.as_ptr(), side.as_ptr()) };
        assert!(!context.is_null(), "{side:?} has no {name:?}");
        Self(context)
    }

    pub fn of_key(key: &Key, side: &CStr) -> Self {
        let new = functions().EVP_PKEY_CTX_new_from_pkey;
        // SAFETY: library context and key are live, and the string is NUL-terminated.
        Self(unsafe { new(libcrypto().library_context(), key.0, side.as_ptr()) })
    }

    /// Generates a key with a context that was begun.
    pub fn generate(&self) -> Key {
        let mut key = null_mut();
        // SAFETY: the context is live, and the key has room.
        let done = unsafe { (functions().EVP_PKEY_generate)(self.0, &mut key) };
        assert_eq!(done, 1);
        Key(key)
    }
}

/// The name and the octets of an exported parameter.
type Exported = (Vec<u8>, Vec<u8>);

impl Key {
    /// Creates a key of a type from the values of an export; also returns the call's result.
    pub fn of(name: &CStr, side: &CStr, selection: c_int, mut values: Values) -> (c_int, Self) {
        let mut params = values.params();
        let mut key = null_mut();
        let context = Context::of_name(name, side);
        // SAFETY: the context is live, the array is terminated, and the key has room.
        let done = unsafe {
            assert_eq!((functions().EVP_PKEY_fromdata_init)(context.0), 1);
            (functions().EVP_PKEY_fromdata)(context.0, &mut key, selection, params.as_mut_ptr())
        };
        (done, Self(key))
    }

    /// Gets octets into a place of at most 4096 bytes; returns the call's result, the length that it reports, and the
    /// octets.
    pub fn octets(&self, name: &CStr, room: usize) -> (c_int, usize, Vec<u8>) {
        let (mut octets, mut bytes) = (vec![0; 4096], 0);
        // SAFETY: the key is live, the string is NUL-terminated, and the places have room.
        let done = unsafe {
            let get = functions().EVP_PKEY_get_octet_string_param;
            get(self.0, name.as_ptr(), octets.as_mut_ptr(), room, &mut bytes)
        };
        octets.truncate(if done == 1 { bytes } else { 0 });
        (done, bytes, octets)
    }

    /// Sets the share of a peer.
    pub fn set(&self, share: &[u8]) -> c_int {
        let set = functions().EVP_PKEY_set1_encoded_public_key;
        // SAFETY: the key is live, and the share has the length passed.
        unsafe { set(self.0, share.as_ptr(), share.len()) }
    }

    /// Returns the results of the checks of a key, and its sizes.
    pub fn checked(&self) -> Vec<(c_int, Vec<u8>)> {
        let functions = functions();
        let context = Context::of_key(self, c"");
        let checks = [
            functions.EVP_PKEY_check,
            functions.EVP_PKEY_public_check,
            functions.EVP_PKEY_private_check,
            functions.EVP_PKEY_pairwise_check,
        ];
        let sizes = [
            functions.EVP_PKEY_get_bits,
            functions.EVP_PKEY_get_security_bits,
            functions.EVP_PKEY_get_size,
        ];
        // SAFETY: the key and its context are live.
        let checks = checks.map(|check| unsafe { check(context.0) });
        // SAFETY: this value keeps the key alive.
        let sizes = sizes.map(|size| unsafe { size(self.0) });
        let all = checks.into_iter().chain(sizes);
        all.map(|result| (result, Vec::new())).collect()
    }

    /// Exports the selected parts; returns the call's result, and the names and octets.
    pub fn exported(&self, selection: c_int) -> (c_int, Vec<Exported>) {
        let (mut params, mut all) = (null_mut(), Vec::new());
        // SAFETY: the key is live; the array is terminated, has data of the lengths that it declares, and is freed once.
        let done = unsafe {
            let done = (functions().EVP_PKEY_todata)(self.0, selection, &mut params);
            let mut at: *mut Param = params;
            while !at.is_null() && !(*at).key.is_null() {
                let data = match (*at).data_bytes {
                    0 => &[],
                    bytes => std::slice::from_raw_parts((*at).data.cast::<u8>(), bytes),
                };
                let name = CStr::from_ptr((*at).key).to_bytes();
                all.push((name.to_vec(), data.to_vec()));
                at = at.add(1);
            }
            (functions().OSSL_PARAM_free)(params);
            done
        };
        (done, all)
    }

    pub fn provider(&self) -> &CStr {
        // SAFETY: the key is live, and its provider has a name.
        unsafe {
            let provider = (functions().EVP_PKEY_get0_provider)(self.0);
            CStr::from_ptr((functions().OSSL_PROVIDER_get0_name)(provider))
        }
    }
}
