//! Contexts of the default provider's signatures.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char};
use std::ptr::null;

use crate::default_provider::functions::SignatureFunctions;
use crate::default_provider::{self, DefaultAlgorithm};

/// A context of the default provider's signatures.
pub(crate) type Inner = default_provider::Inner<SignatureFunctions>;

impl Inner {
    /// Creates an empty context. `properties` is the query for hash functions.
    pub(crate) fn new(
        default: &DefaultAlgorithm<SignatureFunctions>,
        properties: Option<&CStr>,
    ) -> Option<Self> {
        let (functions, properties) = (&default.functions, properties.map_or(null(), CStr::as_ptr));
        // SAFETY: the function and the context belong to one algorithm, and the text is null or ends with a zero.
        unsafe { Self::of(functions, functions.newctx?(default.context, properties)) }
    }
}

/// OpenSSL's buffer for a signature or a message.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub(crate) octets: *mut u8,
    pub(crate) bytes: *mut usize,
    pub(crate) room: usize,
}

impl Place {
    pub(crate) fn has_room(self, bytes: usize) -> bool {
        !self.octets.is_null() && self.room >= bytes
    }

    /// # Safety
    /// The buffer has room for `result`, and `bytes` is a place for its length.
    pub(crate) unsafe fn set(self, result: &[u8]) {
        let (octets, bytes) = (self.octets, result.len());
        // SAFETY: the caller vouches for room for the result, and for a place for its length.
        unsafe {
            result.as_ptr().copy_to_nonoverlapping(octets, bytes);
            *self.bytes = bytes;
        }
    }
}

/// # Safety
/// `text` is null or ends with a zero, and stays valid while the result is used.
pub(crate) unsafe fn text<'a>(text: *const c_char) -> Option<&'a CStr> {
    // SAFETY: a text that is not null ends with a zero and stays valid, as the caller says.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) })
}
