//! A context of a signature: its state, and how to reproduce that in a context of the default provider.
#![allow(unsafe_code)]

use std::ffi::{CString, c_int, c_void};
use std::ptr::null;
use std::sync::Arc;

use oarlock_engine::costs::Performed;

use super::Pure;
use crate::boxed::Copied;
use crate::default_provider::DefaultAlgorithm;
use crate::default_provider::functions::SignatureFunctions;
use crate::exported::{Inner, Key, Managed as _, Place};
use crate::provider::Provider;

/// A context, as OpenSSL holds it.
pub(super) struct Context<P: Pure> {
    /// The core does not tear down a provider that has a context.
    pub(super) provider: *const Provider,
    pub(super) properties: Option<CString>,
    pub(super) key: Option<Arc<Key<P>>>,
    pub(super) state: State,
}

/// The purpose of a context.
pub(super) enum State {
    /// Nothing was begun.
    Idle,
    /// The context signs or verifies messages.
    Begun(Work),
    /// The default provider does the work.
    Elsewhere(Inner),
}

/// The function that began the work.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    DigestSign,
    DigestVerify,
    /// Since release 3.4, as the next.
    SignMessage,
    VerifyMessage,
}

impl Work {
    pub(super) fn signs(self) -> bool {
        matches!(self, Self::DigestSign | Self::SignMessage)
    }
}

impl<P: Pure> Copied for Context<P> {
    fn copy(&self) -> Option<Self> {
        Some(Self {
            provider: self.provider,
            properties: self.properties.clone(),
            key: self.key.clone(),
            state: match &self.state {
                State::Idle => State::Idle,
                State::Begun(work) => State::Begun(*work),
                State::Elsewhere(inner) => State::Elsewhere(inner.copy()?),
            },
        })
    }
}

impl<P: Pure> Context<P> {
    pub(super) fn default(&self) -> Option<&DefaultAlgorithm<SignatureFunctions>> {
        // SAFETY: the core frees all contexts of a signature before it tears down their provider.
        let defaults = unsafe { (*self.provider).defaults.get()? };
        P::signatures(defaults)
    }

    /// Creates a context of the default provider in the same state; `None` if this context has one already, or if that
    /// fails.
    fn replayed(&self) -> Option<Inner> {
        let inner = Inner::new(self.default()?, self.properties.as_deref())?;
        let (functions, context) = (inner.functions(), inner.at());
        let key = || -> Option<*mut c_void> { self.key.as_ref()?.inner() };
        // SAFETY: the default provider's functions with its context and its key, and neither a name nor parameters.
        let is_there = unsafe {
            match self.state {
                State::Idle => 1,
                State::Elsewhere(_) => return None,
                State::Begun(Work::DigestSign) => {
                    functions.digest_sign_init?(context, null(), key()?, null())
                }
                State::Begun(Work::DigestVerify) => {
                    functions.digest_verify_init?(context, null(), key()?, null())
                }
                State::Begun(Work::SignMessage) => {
                    functions.sign_message_init?(context, key()?, null())
                }
                State::Begun(Work::VerifyMessage) => {
                    functions.verify_message_init?(context, key()?, null())
                }
            }
        };
        (is_there == 1).then_some(inner)
    }

    /// Calls `call` with a context of the default provider in the same state.
    pub(super) fn aside<T>(
        &self,
        call: impl FnOnce(&SignatureFunctions, *mut c_void) -> Option<T>,
    ) -> Option<T> {
        let made;
        let inner = match &self.state {
            State::Elsewhere(inner) => inner,
            _ => {
                made = self.replayed()?;
                &made
            }
        };
        call(inner.functions(), inner.at())
    }

    /// Hands the rest of the work to the default provider.
    pub(super) fn leave(&mut self) -> Option<&Inner> {
        if !matches!(self.state, State::Elsewhere(_)) {
            self.state = State::Elsewhere(self.replayed()?);
        }
        match &self.state {
            State::Elsewhere(inner) => Some(inner),
            _ => None,
        }
    }

    /// Signs a message, or reports the length of signatures; `None` if the default provider must do it, or refuse it.
    pub(super) fn sign(&self, work: Work, message: &[u8], place: Place) -> Option<c_int> {
        if !matches!(self.state, State::Begun(begun) if begun == work) {
            return None;
        }
        if !place.octets.is_null() {
            if place.room < P::SIGNATURE_BYTES {
                return None;
            }
            let key = self.key.as_ref()?;
            let ours = key.ours()?;
            // The message may overlap the place for the signature.
            let mut signature = vec![0; P::SIGNATURE_BYTES];
            key.on_enough_stack(|| ours.sign(message, &mut signature))??;
            // SAFETY: the caller has room for a whole signature, as checked above.
            unsafe { signature.as_ptr().copy_to(place.octets, signature.len()) };
            self.count(Performed::Signed);
        }
        // SAFETY: the caller has a place for the length.
        unsafe { *place.bytes = P::SIGNATURE_BYTES };
        Some(1)
    }

    /// Verifies a signature of a message; `None` if the default provider must do it, or refuse it.
    pub(super) fn verify(&self, work: Work, message: &[u8], signature: &[u8]) -> Option<c_int> {
        if !matches!(self.state, State::Begun(begun) if begun == work) {
            return None;
        }
        let key = self.key.as_ref()?;
        let ours = key.ours()?;
        key.on_enough_stack(|| ours.verify(message, signature))??;
        self.count(Performed::Verified);
        Some(1)
    }

    fn count(&self, performed: Performed) {
        // SAFETY: the core frees a context of a signature, such as this one, before it tears down the provider.
        unsafe { &*self.provider }.count(P::PRIMITIVE, performed);
    }
}
