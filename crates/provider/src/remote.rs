//! Keys on other machines: a relay is asked, and its answer is checked.
#![allow(unsafe_code)]

use std::ffi::c_int;

use oarlock_engine::costs::Computed;
use oarlock_local::relay::{Operation, Question, Reference};
use zeroize::Zeroizing;

use crate::error::Reason;
use crate::exported::Place;
use crate::provider::Provider;

/// A key on another machine.
pub(crate) struct Remote<K> {
    /// The key's id on that machine.
    key_id: String,
    /// The public half.
    pub(crate) key: K,
}

impl<K> Remote<K> {
    pub(crate) fn new(reference: &Reference, key: K) -> Self {
        Self {
            key_id: reference.key_id().to_owned(),
            key,
        }
    }

    /// Returns the answer, which the caller checks, or the reason why there is none.
    pub(crate) fn ask(
        &self,
        provider: &Provider,
        operation: Operation,
    ) -> Result<Zeroizing<Vec<u8>>, String> {
        let question = Question {
            key_id: self.key_id.clone(),
            // Every answer is verified.
            public_key: None,
            operation,
        };
        provider.signer.ask(&question)
    }

    /// Stores a result, or raises an error that names the key.
    ///
    /// # Safety
    /// The place has room for the result, and one for its length.
    pub(crate) unsafe fn finish(
        &self,
        provider: &Provider,
        made: Result<impl AsRef<[u8]>, String>,
        place: Place,
        reason: Reason,
    ) -> c_int {
        match made {
            Ok(made) => {
                // SAFETY: the caller vouches for the room, and for a place for the length.
                unsafe { place.set(made.as_ref()) };
                provider.count_private(Computed::Remotely);
                1
            }
            Err(why) => {
                self.refuse(provider, reason, &why);
                0
            }
        }
    }

    /// Raises an error that names the key.
    #[cold]
    pub(crate) fn refuse(&self, provider: &Provider, reason: Reason, why: &str) {
        let said = format!("remote key {:?}: {why}", self.key_id);
        provider.errors.raise_saying(reason, &said);
    }
}
