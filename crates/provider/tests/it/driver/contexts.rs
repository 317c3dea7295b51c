//! The contexts of a key that signs or verifies.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::null_mut;

use super::libcrypto::{Param, libcrypto};
use super::rsa::{RsaKey, functions};

/// The providers of key and operation.
pub struct Side {
    pub name: &'static str,
    /// Property queries for the key and for its operations.
    pub key: &'static CStr,
    pub operations: &'static CStr,
}

pub const SIDES: [Side; 3] = [
    Side {
        name: "stock",
        key: c"provider=default",
        operations: c"provider=default",
    },
    // The queries of our configurations.
    Side {
        name: "accelerated",
        key: c"provider=default",
        operations: c"?oarlock.accelerated=yes",
    },
    // The queries of a possible configuration without our second clause.
    Side {
        name: "all ours",
        key: c"provider=oarlock",
        operations: c"?provider=oarlock",
    },
];

/// Two contexts of a key: one for digests, and one for messages.
pub struct Signing {
    /// EVP_PKEY_CTX.
    pub context: *mut c_void,
    /// EVP_MD_CTX.
    pub message: *mut c_void,
    /// The settings of `message`, which owns them; null for operations on `context`.
    pub of_message: *mut c_void,
    pub verifies: bool,
}

impl Signing {
    pub fn new(side: &Side, key: &RsaKey) -> Self {
        let functions = functions();
        // SAFETY: the library context and the key are live, and the property query is NUL-terminated.
        unsafe {
            let context = (functions.EVP_PKEY_CTX_new_from_pkey)(
                libcrypto().library_context(),
                key.key,
                side.operations.as_ptr(),
            );
            assert!(!context.is_null());
            Self {
                context,
                message: (functions.EVP_MD_CTX_new)(),
                of_message: null_mut(),
                verifies: false,
            }
        }
    }

    /// Whether a message was begun.
    pub fn by_parts(&self) -> bool {
        !self.of_message.is_null()
    }

    /// Returns the context that parameters are set in.
    pub fn settings(&self) -> *mut c_void {
        match self.by_parts() {
            true => self.of_message,
            false => self.context,
        }
    }

    /// Begins a message with a key, or again with the last one.
    ///
    /// # Safety
    /// `name` is null or NUL-terminated, `key` null or live, and `params` null or terminated.
    pub unsafe fn begin(
        &mut self,
        name: *const c_char,
        side: &Side,
        key: *mut c_void,
        params: *const Param,
    ) -> c_int {
        let init = match self.verifies {
            false => functions().EVP_DigestSignInit_ex,
            true => functions().EVP_DigestVerifyInit_ex,
        };
        let context = libcrypto().library_context();
        let (mut settings, query) = (null_mut(), side.operations.as_ptr());
        // SAFETY: the context is live, the query is NUL-terminated, and the caller guarantees the rest.
        let result = unsafe {
            init(
                self.message,
                &mut settings,
                name,
                context,
                query,
                key,
                params,
            )
        };
        self.of_message = if result == 1 { settings } else { null_mut() };
        result
    }

    pub fn update(&self, data: &[u8]) -> c_int {
        let update = match self.verifies {
            true => functions().EVP_DigestVerifyUpdate,
            false => functions().EVP_DigestSignUpdate,
        };
        // SAFETY: the context is live, and the length is that of the data.
        unsafe { update(self.message, data.as_ptr().cast(), data.len()) }
    }

    /// Asks for the length of a signature, of a digest if no message was begun.
    pub fn size(&self, digest: &[u8]) -> (c_int, usize) {
        let mut bytes = 0;
        // SAFETY: the contexts are live, and the length is that of the digest.
        let result = unsafe {
            match self.by_parts() {
                true => (functions().EVP_DigestSignFinal)(self.message, null_mut(), &mut bytes),
                false => (functions().EVP_PKEY_sign)(
                    self.context,
                    null_mut(),
                    &mut bytes,
                    digest.as_ptr(),
                    digest.len(),
                ),
            }
        };
        (result, bytes)
    }

    pub fn verify(&self, signature: &[u8], digest: &[u8]) -> c_int {
        let (given, bytes) = (signature.as_ptr(), signature.len());
        let (first, length) = (digest.as_ptr(), digest.len());
        // SAFETY: the context is live, and the lengths are those of the slices.
        unsafe { (functions().EVP_PKEY_verify)(self.context, given, bytes, first, length) }
    }

    pub fn verify_final(&self, signature: &[u8]) -> c_int {
        let verify = functions().EVP_DigestVerifyFinal;
        // SAFETY: the context is live, and the length is that of the signature.
        unsafe { verify(self.message, signature.as_ptr(), signature.len()) }
    }

    /// Copies the context of a message, and drops the copy or the original.
    pub fn copy_message(&mut self, replaces: bool) -> c_int {
        let functions = functions();
        // SAFETY: the context is live until its copy replaces it.
        unsafe {
            let copy = (functions.EVP_MD_CTX_new)();
            let result = (functions.EVP_MD_CTX_copy_ex)(copy, self.message);
            if replaces && result == 1 {
                (functions.EVP_MD_CTX_free)(self.message);
                self.message = copy;
                self.of_message = (functions.EVP_MD_CTX_get_pkey_ctx)(copy);
            } else {
                (functions.EVP_MD_CTX_free)(copy);
            }
            result
        }
    }

    /// Copies the context of digests, and drops the copy or the original.
    pub fn copy_context(&mut self, replaces: bool) -> c_int {
        let functions = functions();
        // SAFETY: the context is live until its copy replaces it.
        unsafe {
            let copy = (functions.EVP_PKEY_CTX_dup)(self.context);
            if copy.is_null() {
                return 0;
            }
            let dropped = match replaces {
                true => std::mem::replace(&mut self.context, copy),
                false => copy,
            };
            (functions.EVP_PKEY_CTX_free)(dropped);
            1
        }
    }

    /// Returns the parameters that can be set and got.
    pub fn described(&self) -> [Vec<(String, u32)>; 2] {
        let functions = functions();
        // SAFETY: the context is live, and its lists are terminated.
        unsafe {
            [
                Param::listed((functions.EVP_PKEY_CTX_settable_params)(self.settings())),
                Param::listed((functions.EVP_PKEY_CTX_gettable_params)(self.settings())),
            ]
        }
    }
}

impl Drop for Signing {
    fn drop(&mut self) {
        // SAFETY: both contexts are live until here.
        unsafe {
            (functions().EVP_MD_CTX_free)(self.message);
            (functions().EVP_PKEY_CTX_free)(self.context);
        }
    }
}

/// Calls `sign` with `more` bytes of room than the key's signatures need. Returns its result, and the signature if it made
/// one.
pub fn signed(
    key: &RsaKey,
    more: isize,
    sign: impl FnOnce(*mut u8, *mut usize) -> c_int,
) -> (c_int, Option<Vec<u8>>) {
    let mut room = key.bytes().saturating_add_signed(more);
    let mut place = vec![0xa5; room.max(1)];
    let result = sign(place.as_mut_ptr(), &mut room);
    place.truncate(room);
    (result, (result == 1).then_some(place))
}
