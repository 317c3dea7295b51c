//! Contexts of the default provider's message authentication.
#![allow(unsafe_code)]

use std::ptr::null;
use std::sync::OnceLock;

use oarlock_engine::hash::Hash;

use super::functions::MacFunctions;
use super::{DefaultAlgorithm, Inner, hash_name};
use crate::abi::Param;

/// A context of the default provider's message authentication.
pub(crate) type MacContext = Inner<MacFunctions>;

// SAFETY: the default provider's contexts are not bound to a thread.
unsafe impl Send for MacContext {}
// SAFETY: a shared context is only copied, which does not change it.
unsafe impl Sync for MacContext {}

impl MacContext {
    pub(crate) fn new(default: &DefaultAlgorithm<MacFunctions>) -> Option<Self> {
        let functions = &default.functions;
        // SAFETY: the function and the context belong to the same algorithm of the default provider.
        unsafe { Self::of(functions, functions.newctx?(default.context)) }
    }

    pub(crate) fn set_hash(&self, hash: Hash) -> Option<()> {
        self.set_digest(hash_name(hash).to_bytes_with_nul())
    }

    /// Sets the digest with this name, which ends with a zero.
    fn set_digest(&self, name: &[u8]) -> Option<()> {
        let text = name.strip_suffix(&[0])?;
        let mut params = [Param::giving_text(c"digest", text), Param::END];
        // SAFETY: the default provider's function gets its own context and an array that ends with `Param::END`.
        let done = unsafe { self.functions().set_ctx_params?(self.at(), params.as_mut_ptr()) };
        (done == 1).then_some(())
    }

    pub(crate) fn set_key(&self, key: &[u8]) -> Option<()> {
        let init = self.functions().init?;
        // SAFETY: the default provider's function gets its own context, and a key with its length.
        let done = unsafe { init(self.at(), key.as_ptr(), key.len(), null()) };
        (done == 1).then_some(())
    }
}

/// Contexts with a digest, kept to be copied, since a copy takes less time than finding the digest.
#[derive(Default)]
pub(crate) struct MacDigests([OnceLock<(Box<[u8]>, MacContext)>; DIGESTS_MAX]);

impl MacDigests {
    /// Returns a context that was asked to use the digest with this name, and whether it accepted it; `None` if there
    /// is none.
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

/// The most digests kept. MD5, RIPEMD-160, SM3, BLAKE2 and SHA-3 are nine, but programs use few of them.
const DIGESTS_MAX: usize = 8;
