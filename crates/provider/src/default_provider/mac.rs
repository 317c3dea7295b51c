//! Contexts of the default provider's message authentication.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::ptr::{NonNull, null};
use std::sync::OnceLock;

use oarlock_engine::hash::Hash;

use super::functions::MacFunctions;
use super::{DefaultAlgorithm, hash_name};
use crate::abi::Param;

/// A context that nobody else has.
pub(crate) struct MacContext {
    context: NonNull<c_void>,
    /// Part of the provider, which lives as long as its contexts.
    functions: *const MacFunctions,
}

// SAFETY: the default provider's contexts belong to no thread.
unsafe impl Send for MacContext {}
// SAFETY: what is shared is copied alone, which changes nothing.
unsafe impl Sync for MacContext {}

impl MacContext {
    pub(crate) fn new(default: &DefaultAlgorithm<MacFunctions>) -> Option<Self> {
        // SAFETY: the default provider's function with the context that was found with it.
        let context = unsafe { default.functions.newctx?(default.context) };
        Some(Self {
            context: NonNull::new(context)?,
            functions: &raw const default.functions,
        })
    }

    pub(crate) fn at(&self) -> *mut c_void {
        self.context.as_ptr()
    }

    pub(crate) fn functions(&self) -> &MacFunctions {
        // SAFETY: they live as long as the context.
        unsafe { &*self.functions }
    }

    pub(crate) fn copy(&self) -> Option<Self> {
        // SAFETY: the default provider's function with the context that this one is around.
        let copy = unsafe { self.functions().dupctx?(self.at()) };
        Some(Self {
            context: NonNull::new(copy)?,
            functions: self.functions,
        })
    }

    pub(crate) fn set_hash(&self, hash: Hash) -> Option<()> {
        self.set_digest(hash_name(hash).to_bytes_with_nul())
    }

    /// Sets the digest of a name, which ends with a zero.
    fn set_digest(&self, name: &[u8]) -> Option<()> {
        let text = name.strip_suffix(&[0])?;
        let mut params = [Param::giving_text(c"digest", text), Param::END];
        // SAFETY: the default provider's function with its context, and an array that ends as it must.
        let done = unsafe { self.functions().set_ctx_params?(self.at(), params.as_mut_ptr()) };
        (done == 1).then_some(())
    }

    pub(crate) fn set_key(&self, key: &[u8]) -> Option<()> {
        let init = self.functions().init?;
        // SAFETY: the default provider's function with its context, and a key with its length.
        let done = unsafe { init(self.at(), key.as_ptr(), key.len(), null()) };
        (done == 1).then_some(())
    }
}

impl Drop for MacContext {
    fn drop(&mut self) {
        if let Some(free) = self.functions().freectx {
            // SAFETY: the default provider's function with its context, which this one has alone.
            unsafe { free(self.at()) };
        }
    }
}

/// Contexts with a digest, to be copied: to look a digest up takes longer.
#[derive(Default)]
pub(crate) struct MacDigests([OnceLock<(Box<[u8]>, MacContext)>; DIGESTS_MAX]);

impl MacDigests {
    /// Returns a context that was asked to take the digest of this name, and whether it did; `None` where there is none.
    pub(crate) fn context(
        &self,
        default: &DefaultAlgorithm<MacFunctions>,
        name: &[u8],
    ) -> Option<(MacContext, bool)> {
        let known = self.0.iter().map_while(OnceLock::get);
        let mut named = known.filter(|(known, _)| **known == *name);
        if let Some((_, context)) = named.next() {
            return Some((context.copy()?, true));
        }
        let begun = || {
            let context = MacContext::new(default)?;
            let is_set = context.set_digest(&[name, &[0]].concat()).is_some();
            Some((context, is_set))
        };
        let (context, is_set) = begun()?;
        let place = self.0.iter().find(|place| place.get().is_none());
        // Another thread may be first.
        if let (Some(place), true) = (place, is_set) {
            let _ = place.set((name.into(), begun()?.0));
        }
        Some((context, is_set))
    }
}

/// MD5, RIPEMD-160, SM3, BLAKE2 and SHA-3 have eight.
const DIGESTS_MAX: usize = 8;
