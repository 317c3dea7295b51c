//! RSA keys and signatures through EVP (openssl/evp.h, openssl/rsa.h).

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::{null, null_mut};

use super::libcrypto::{Param, evp_functions};

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

/// A key that was read for a provider.
pub struct RsaKey {
    pub functions: &'static RsaFunctions,
    pub key: *mut c_void,
}

impl RsaKey {
    /// Reads a key from PEM into the provider that `query` requires.
    pub fn read(
        functions: &'static RsaFunctions,
        context: *mut c_void,
        pem: &str,
        query: &CStr,
    ) -> Self {
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
            Self { functions, key }
        };
        if query == c"provider=default" {
            return read;
        }
        // A key stays with the provider that read it.
        let (mut key, mut params) = (null_mut(), null_mut());
        // SAFETY: the key is live; what EVP returns is checked before use, and freed once.
        unsafe {
            let name = (functions.EVP_PKEY_get0_type_name)(read.key);
            let maker = (functions.EVP_PKEY_CTX_new_from_name)(context, name, query.as_ptr());
            assert!(!maker.is_null(), "{query:?}");
            assert_eq!(
                (functions.EVP_PKEY_todata)(read.key, EVP_PKEY_KEYPAIR, &mut params),
                1
            );
            assert_eq!((functions.EVP_PKEY_fromdata_init)(maker), 1);
            assert_eq!(
                (functions.EVP_PKEY_fromdata)(maker, &mut key, EVP_PKEY_KEYPAIR, params),
                1
            );
            (functions.OSSL_PARAM_free)(params);
            (functions.EVP_PKEY_CTX_free)(maker);
        }
        Self { functions, key }
    }

    /// Returns the name of the provider that holds the key.
    pub fn provider(&self) -> String {
        // SAFETY: the key and its provider are live.
        unsafe {
            let provider = (self.functions.EVP_PKEY_get0_provider)(self.key);
            provider_name(self.functions, provider)
        }
    }

    /// Returns the length of the modulus in bytes.
    pub fn bytes(&self) -> usize {
        // SAFETY: the key is live.
        unsafe { (self.functions.EVP_PKEY_get_size)(self.key) as usize }
    }
}

impl Drop for RsaKey {
    fn drop(&mut self) {
        // SAFETY: the key is live.
        unsafe { (self.functions.EVP_PKEY_free)(self.key) };
    }
}

/// The selection of an RSA key pair.
const EVP_PKEY_KEYPAIR: c_int = 0x87;

/// # Safety
/// `provider` is null or belongs to libcrypto.
pub unsafe fn provider_name(functions: &RsaFunctions, provider: *const c_void) -> String {
    if provider.is_null() {
        return String::new();
    }
    // SAFETY: the caller guarantees that the provider is libcrypto's, and it is not null; its name is NUL-terminated.
    let name = unsafe { CStr::from_ptr((functions.OSSL_PROVIDER_get0_name)(provider)) };
    name.to_string_lossy().into_owned()
}
