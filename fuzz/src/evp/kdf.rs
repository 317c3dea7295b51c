//! Key derivation (EVP_KDF(3)).

use std::ffi::{CStr, c_int, c_void};

use super::library::{Errors, SIDES, errors, libcrypto};
use super::param::Values;

/// A context of one provider.
pub(crate) struct Kdf(*mut c_void);

impl Kdf {
    /// The context of a provider, which is one of [`SIDES`].
    pub(crate) fn new(name: &CStr, side: usize) -> Self {
        let libcrypto = libcrypto();
        // SAFETY: a live library context, and texts that end with a zero; what is fetched is freed once.
        unsafe {
            let fetch = libcrypto.EVP_KDF_fetch;
            let kdf = fetch(libcrypto.context, name.as_ptr(), SIDES[side].as_ptr());
            assert!(!kdf.is_null(), "{:?} has no {name:?}", SIDES[side]);
            let context = (libcrypto.EVP_KDF_CTX_new)(kdf);
            (libcrypto.EVP_KDF_free)(kdf);
            assert!(!context.is_null());
            Self(context)
        }
    }

    pub(crate) fn set(&self, values: &Values) -> (c_int, Errors) {
        let set = libcrypto().EVP_KDF_CTX_set_params;
        // SAFETY: this context is live, and `Values::with` hands over an array that ends.
        let done = values.with(|params| unsafe { set(self.0, params) });
        (done, errors())
    }

    /// What is derived, empty where that is refused.
    pub(crate) fn derive(&self, bytes: usize, values: &Values) -> (c_int, Vec<u8>, Errors) {
        let mut output = vec![0xa5; bytes];
        let place = output.as_mut_ptr();
        let derive = libcrypto().EVP_KDF_derive;
        // SAFETY: a live context, a place of `bytes` bytes, and an array that ends.
        let done = values.with(|params| unsafe { derive(self.0, place, bytes, params) });
        if done != 1 {
            output.clear();
        }
        (done, output, errors())
    }

    pub(crate) fn size(&self) -> usize {
        // SAFETY: a live context, which tells its size.
        let size = unsafe { (libcrypto().EVP_KDF_CTX_get_kdf_size)(self.0) };
        errors();
        size
    }

    pub(crate) fn reset(&self) {
        // SAFETY: a live context, which forgets what was set.
        unsafe { (libcrypto().EVP_KDF_CTX_reset)(self.0) };
    }

    /// A copy; `None` where the release cannot copy.
    pub(crate) fn copy(&self) -> Option<Self> {
        // SAFETY: a live context, which is read alone.
        let copy = unsafe { (libcrypto().EVP_KDF_CTX_dup)(self.0) };
        errors();
        (!copy.is_null()).then_some(Self(copy))
    }
}

impl Drop for Kdf {
    fn drop(&mut self) {
        // SAFETY: a KDF context of `new` or `copy`, freed here alone.
        unsafe { (libcrypto().EVP_KDF_CTX_free)(self.0) };
    }
}
