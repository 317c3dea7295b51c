//! Contexts of the default provider's signatures.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_void};
use std::ptr::null;

use crate::default_provider::DefaultAlgorithm;
use crate::default_provider::functions::SignatureFunctions;

/// A context of the default provider's that nobody else has.
pub(crate) struct Inner {
    pub(crate) context: *mut c_void,
    /// Part of the provider, which lives as long as its contexts.
    functions: *const SignatureFunctions,
}

impl Inner {
    /// An empty one. `properties` are what hash functions are looked for with.
    pub(crate) fn new(
        default: &DefaultAlgorithm<SignatureFunctions>,
        properties: Option<&CStr>,
    ) -> Option<Self> {
        let properties = properties.map_or(null(), CStr::as_ptr);
        // SAFETY: the default provider's function with its context, and a text that ends with a zero, or null.
        let context = unsafe { default.functions.newctx?(default.context, properties) };
        (!context.is_null()).then_some(Self {
            context,
            functions: &raw const default.functions,
        })
    }

    pub(crate) fn functions(&self) -> &SignatureFunctions {
        // SAFETY: they live as long as the context.
        unsafe { &*self.functions }
    }

    pub(crate) fn copy(&self) -> Option<Self> {
        // SAFETY: the default provider's function with the context that this one is around.
        let context = unsafe { self.functions().dupctx?(self.context) };
        (!context.is_null()).then_some(Self { context, ..*self })
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let Some(free) = self.functions().freectx {
            // SAFETY: the default provider's function with its context, which this one has alone.
            unsafe { free(self.context) };
        }
    }
}

/// Where a signature goes, as OpenSSL hands it over.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub(crate) octets: *mut u8,
    pub(crate) bytes: *mut usize,
    pub(crate) room: usize,
}

impl Place {
    /// # Safety
    /// There is room for as many bytes as `signature` has, and a place for their number.
    pub(crate) unsafe fn set(self, signature: &[u8]) {
        let (octets, bytes) = (self.octets, signature.len());
        // SAFETY: the caller has room for the signature, and a place for its length.
        unsafe {
            signature.as_ptr().copy_to_nonoverlapping(octets, bytes);
            *self.bytes = bytes;
        }
    }
}

/// # Safety
/// `text` is null or ends with a zero, and lives as long as it is used.
pub(crate) unsafe fn text<'a>(text: *const c_char) -> Option<&'a CStr> {
    // SAFETY: as the caller says.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) })
}
