//! Contexts of the default provider.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::ptr::NonNull;

use super::functions::{
    DigestFunctions, EncryptionFunctions, ExchangeFunctions, KdfFunctions, KemFunctions,
    MacFunctions, SignatureFunctions,
};

/// A context of the default provider with a single owner.
pub(crate) struct Inner<F: Contexts> {
    context: NonNull<c_void>,
    /// Part of the provider, which outlives its contexts.
    functions: *const F,
}

/// The functions of one kind of contexts.
pub(crate) trait Contexts {
    fn free(&self) -> Option<unsafe extern "C" fn(*mut c_void)>;

    /// Returns `None` if such contexts are not copied.
    fn dup(&self) -> Option<unsafe extern "C" fn(*mut c_void) -> *mut c_void>;
}

macro_rules! contexts {
    ($($functions:ident)+) => {
        $(impl Contexts for $functions {
            fn free(&self) -> Option<unsafe extern "C" fn(*mut c_void)> {
                self.freectx
            }

            fn dup(&self) -> Option<unsafe extern "C" fn(*mut c_void) -> *mut c_void> {
                self.dupctx
            }
        })+
    };
}

contexts!(DigestFunctions EncryptionFunctions ExchangeFunctions KdfFunctions MacFunctions SignatureFunctions);

impl Contexts for KemFunctions {
    fn free(&self) -> Option<unsafe extern "C" fn(*mut c_void)> {
        self.freectx
    }

    fn dup(&self) -> Option<unsafe extern "C" fn(*mut c_void) -> *mut c_void> {
        None
    }
}

impl<F: Contexts> Inner<F> {
    /// Wraps a context; returns `None` for null.
    ///
    /// # Safety
    /// `context` is null or a context of `functions` without another owner; these are part of the provider.
    pub(crate) unsafe fn of(functions: &F, context: *mut c_void) -> Option<Self> {
        Some(Self {
            context: NonNull::new(context)?,
            functions,
        })
    }

    /// Returns the context, for its own functions.
    pub(crate) fn at(&self) -> *mut c_void {
        self.context.as_ptr()
    }

    pub(crate) fn functions(&self) -> &F {
        // SAFETY: the provider that holds the functions outlives this context.
        unsafe { &*self.functions }
    }

    pub(crate) fn copy(&self) -> Option<Self> {
        // SAFETY: the default provider's function gets its own context, and makes one without another owner.
        unsafe { Self::of(self.functions(), self.functions().dup()?(self.at())) }
    }
}

impl<F: Contexts> Drop for Inner<F> {
    fn drop(&mut self) {
        if let Some(free) = self.functions().free() {
            // SAFETY: the default provider's function gets its own context, whose only owner is being dropped.
            unsafe { free(self.at()) };
        }
    }
}
