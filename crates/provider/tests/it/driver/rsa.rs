//! Keys and signatures through EVP (openssl/evp.h, openssl/rsa.h).

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::{null, null_mut};
use std::sync::OnceLock;

use super::libcrypto::{Param, evp_functions, libcrypto};

evp_functions! {
    RsaFunctions:
    BIO_new_mem_buf: fn(*const c_void, c_int) -> *mut c_void;
    BIO_free: fn(*mut c_void) -> c_int;
    PEM_read_bio_PrivateKey_ex: fn(*mut c_void, *mut *mut c_void, *const c_void, *mut c_void, *mut c_void, *const c_char) -> *mut c_void;
    EVP_PKEY_free: fn(*mut c_void);
    EVP_PKEY_get0_type_name: fn(*const c_void) -> *const c_char;
    EVP_PKEY_todata: fn(*const c_void, c_int, *mut *mut Param) -> c_int;
    EVP_PKEY_fromdata_init: fn(*mut c_void) -> c_int;
    EVP_PKEY_fromdata: fn(*mut c_void, *mut *mut c_void, c_int, *mut Param) -> c_int;
    OSSL_PARAM_free: fn(*mut Param);
    EVP_PKEY_get_size: fn(*const c_void) -> c_int;
    EVP_PKEY_get0_provider: fn(*const c_void) -> *const c_void;
    EVP_PKEY_eq: fn(*const c_void, *const c_void) -> c_int;
    EVP_PKEY_dup: fn(*mut c_void) -> *mut c_void;
    OSSL_PROVIDER_get0_name: fn(*const c_void) -> *const c_char;
    EVP_PKEY_CTX_new_from_pkey: fn(*mut c_void, *mut c_void, *const c_char) -> *mut c_void;
    EVP_PKEY_CTX_new_from_name: fn(*mut c_void, *const c_char, *const c_char) -> *mut c_void;
    EVP_PKEY_CTX_free: fn(*mut c_void);
    EVP_PKEY_CTX_dup: fn(*const c_void) -> *mut c_void;
    EVP_PKEY_CTX_get0_provider: fn(*const c_void) -> *const c_void;
    EVP_PKEY_CTX_set_params: fn(*mut c_void, *const Param) -> c_int;
    EVP_PKEY_CTX_get_params: fn(*mut c_void, *mut Param) -> c_int;
    EVP_PKEY_CTX_settable_params: fn(*const c_void) -> *const Param;
    EVP_PKEY_CTX_gettable_params: fn(*const c_void) -> *const Param;
    EVP_PKEY_CTX_set_rsa_padding: fn(*mut c_void, c_int) -> c_int;
    EVP_PKEY_CTX_get_rsa_padding: fn(*mut c_void, *mut c_int) -> c_int;
    EVP_PKEY_CTX_set_rsa_pss_saltlen: fn(*mut c_void, c_int) -> c_int;
    EVP_PKEY_CTX_get_rsa_pss_saltlen: fn(*mut c_void, *mut c_int) -> c_int;
    EVP_PKEY_CTX_set_rsa_mgf1_md_name: fn(*mut c_void, *const c_char, *const c_char) -> c_int;
    EVP_PKEY_CTX_set_rsa_keygen_bits: fn(*mut c_void, c_int) -> c_int;
    EVP_PKEY_keygen_init: fn(*mut c_void) -> c_int;
    EVP_PKEY_generate: fn(*mut c_void, *mut *mut c_void) -> c_int;
    EVP_PKEY_check: fn(*mut c_void) -> c_int;
    EVP_PKEY_sign_init: fn(*mut c_void) -> c_int;
    EVP_PKEY_sign: fn(*mut c_void, *mut u8, *mut usize, *const u8, usize) -> c_int;
    EVP_PKEY_verify_init: fn(*mut c_void) -> c_int;
    EVP_PKEY_verify: fn(*mut c_void, *const u8, usize, *const u8, usize) -> c_int;
    EVP_PKEY_verify_recover_init: fn(*mut c_void) -> c_int;
    EVP_PKEY_verify_recover: fn(*mut c_void, *mut u8, *mut usize, *const u8, usize) -> c_int;
    EVP_PKEY_encrypt_init: fn(*mut c_void) -> c_int;
    EVP_PKEY_encrypt: fn(*mut c_void, *mut u8, *mut usize, *const u8, usize) -> c_int;
    EVP_PKEY_decrypt_init: fn(*mut c_void) -> c_int;
    EVP_PKEY_decrypt: fn(*mut c_void, *mut u8, *mut usize, *const u8, usize) -> c_int;
    EVP_MD_CTX_new: fn() -> *mut c_void;
    EVP_MD_CTX_free: fn(*mut c_void);
    EVP_MD_CTX_get_pkey_ctx: fn(*const c_void) -> *mut c_void;
    EVP_MD_CTX_copy_ex: fn(*mut c_void, *const c_void) -> c_int;
    EVP_DigestSignInit_ex: fn(*mut c_void, *mut *mut c_void, *const c_char, *mut c_void, *const c_char, *mut c_void, *const Param) -> c_int;
    EVP_DigestSignUpdate: fn(*mut c_void, *const c_void, usize) -> c_int;
    EVP_DigestSignFinal: fn(*mut c_void, *mut u8, *mut usize) -> c_int;
    EVP_DigestVerifyInit_ex: fn(*mut c_void, *mut *mut c_void, *const c_char, *mut c_void, *const c_char, *mut c_void, *const Param) -> c_int;
    EVP_DigestVerifyUpdate: fn(*mut c_void, *const c_void, usize) -> c_int;
    EVP_DigestVerifyFinal: fn(*mut c_void, *const u8, usize) -> c_int;
}

pub fn functions() -> &'static RsaFunctions {
    static FUNCTIONS: OnceLock<RsaFunctions> = OnceLock::new();
    FUNCTIONS.get_or_init(|| RsaFunctions::load(libcrypto()))
}

/// A key of any type.
pub struct RsaKey {
    pub key: *mut c_void,
}

impl RsaKey {
    /// Reads a key from PEM into the provider that `query` requires.
    pub fn read(context: *mut c_void, pem: &str, query: &CStr) -> Self {
        let functions = functions();
        // SAFETY: the PEM is a slice of this length; a null BIO yields a null key, which is refused.
        let read = unsafe {
            let file = (functions.BIO_new_mem_buf)(pem.as_ptr().cast(), pem.len() as c_int);
            let key = (functions.PEM_read_bio_PrivateKey_ex)(
                file,
                null_mut(),
                null(),
                null_mut(),
                context,
                c"provider=default".as_ptr(),
            );
            (functions.BIO_free)(file);
            assert!(!key.is_null());
            Self { key }
        };
        if query == c"provider=default" {
            return read;
        }
        // A key stays with the provider that read it.
        read.copied_in(context, query, KEYPAIR)
    }

    /// Returns the selected parts in the provider that `query` requires.
    pub fn copied(&self, query: &CStr, selection: c_int) -> Self {
        self.copied_in(libcrypto().library_context(), query, selection)
    }

    fn copied_in(&self, context: *mut c_void, query: &CStr, selection: c_int) -> Self {
        let functions = functions();
        let mut params = null_mut();
        // SAFETY: the key is live; what EVP returns is checked before use, and freed once.
        unsafe {
            let taken = (functions.EVP_PKEY_todata)(self.key, selection, &mut params);
            assert_eq!(taken, 1);
            let name = CStr::from_ptr((functions.EVP_PKEY_get0_type_name)(self.key));
            let (made, key) = Self::made_in(context, name, query, selection, params);
            assert_eq!(made, 1, "{:?}", libcrypto().errors());
            (functions.OSSL_PARAM_free)(params);
            key
        }
    }

    /// Builds a key from parts, in the provider that `query` requires; `None` if they are invalid.
    pub fn made(name: &CStr, query: &CStr, selection: c_int, params: &mut [Param]) -> Option<Self> {
        let context = libcrypto().library_context();
        assert!(params.last().unwrap().key.is_null());
        let params = params.as_mut_ptr();
        // SAFETY: the parameters are terminated, and outlive the call.
        let (made, key) = unsafe { Self::made_in(context, name, query, selection, params) };
        (made == 1).then_some(key)
    }

    /// Builds a key from parts, and returns the result with it.
    ///
    /// # Safety
    /// The library context is live, and `params` null or terminated.
    pub unsafe fn made_in(
        context: *mut c_void,
        name: &CStr,
        query: &CStr,
        selection: c_int,
        params: *mut Param,
    ) -> (c_int, Self) {
        let functions = functions();
        let mut key = null_mut();
        // SAFETY: names are NUL-terminated, and the caller guarantees the rest; the maker is freed once.
        let made = unsafe {
            let new = functions.EVP_PKEY_CTX_new_from_name;
            let maker = new(context, name.as_ptr(), query.as_ptr());
            assert!(!maker.is_null(), "{name:?} {query:?}");
            assert_eq!((functions.EVP_PKEY_fromdata_init)(maker), 1);
            let made = (functions.EVP_PKEY_fromdata)(maker, &mut key, selection, params);
            (functions.EVP_PKEY_CTX_free)(maker);
            made
        };
        (made, Self { key })
    }

    /// Generates a key in the provider that `query` requires, with what `set` sets in the context.
    pub fn generated(name: &CStr, query: &CStr, set: impl FnOnce(*mut c_void) -> c_int) -> Self {
        let functions = functions();
        let mut key = null_mut();
        // SAFETY: names and queries are NUL-terminated. EVP's results are checked before use; the generator is freed once.
        unsafe {
            let new = functions.EVP_PKEY_CTX_new_from_name;
            let context = libcrypto().library_context();
            let generator = new(context, name.as_ptr(), query.as_ptr());
            assert!(!generator.is_null(), "{name:?}");
            assert_eq!((functions.EVP_PKEY_keygen_init)(generator), 1);
            assert_eq!(set(generator), 1);
            assert_eq!((functions.EVP_PKEY_generate)(generator, &mut key), 1);
            (functions.EVP_PKEY_CTX_free)(generator);
        }
        Self { key }
    }

    /// Returns a copy of a key of ours, which is one of ours as well.
    pub fn copy_of_ours(&self) -> Self {
        // SAFETY: the key is live, and the value that holds the copy frees it.
        let key = unsafe { (functions().EVP_PKEY_dup)(self.key) };
        let copy = Self { key };
        assert!(!copy.key.is_null());
        assert!(copy.equals(self));
        assert_eq!(copy.provider(), "oarlock");
        copy
    }

    pub fn equals(&self, other: &Self) -> bool {
        // SAFETY: both keys are live.
        unsafe { (functions().EVP_PKEY_eq)(self.key, other.key) == 1 }
    }

    /// Returns the name of the provider that holds the key.
    pub fn provider(&self) -> String {
        // SAFETY: the key and its provider are live.
        unsafe {
            let provider = (functions().EVP_PKEY_get0_provider)(self.key);
            provider_name(provider)
        }
    }

    /// Returns the length of the longest signature in bytes.
    pub fn bytes(&self) -> usize {
        // SAFETY: the key is live.
        unsafe { (functions().EVP_PKEY_get_size)(self.key) as usize }
    }
}

impl Drop for RsaKey {
    fn drop(&mut self) {
        // SAFETY: the key is live.
        unsafe { (functions().EVP_PKEY_free)(self.key) };
    }
}

/// EVP_PKEY_KEYPAIR, EVP_PKEY_PUBLIC_KEY.
pub const KEYPAIR: c_int = 0x87;
pub const PUBLIC_KEY: c_int = 0x86;

/// # Safety
/// `provider` is null or belongs to libcrypto.
pub unsafe fn provider_name(provider: *const c_void) -> String {
    if provider.is_null() {
        return String::new();
    }
    // SAFETY: the caller guarantees that the provider is libcrypto's, and it is not null; its name is NUL-terminated.
    let name = unsafe { CStr::from_ptr((functions().OSSL_PROVIDER_get0_name)(provider)) };
    name.to_string_lossy().into_owned()
}
