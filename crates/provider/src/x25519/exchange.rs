//! The secret shared with a peer (provider-keyexch(7)).
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

use oarlock_engine::Primitive;
use oarlock_engine::agreement::{X25519_BYTES, X25519PrivateKey};
use oarlock_engine::costs::Performed;
use zeroize::Zeroizing;

use super::keymgmt::Key;
use crate::abi::{Dispatch, Param, offered};
use crate::boxed::{self, Copied};
use crate::caught::catching;
use crate::default_provider::functions::ExchangeFunctions;
use crate::error::Reason;
use crate::provider::Provider;

/// A context, as OpenSSL holds it.
#[derive(Clone)]
struct Exchange {
    private: Option<X25519PrivateKey>,
    peer: Option<[u8; X25519_BYTES]>,
    /// The core does not tear down a provider that has a context.
    provider: *const Provider,
}

/// Returns the functions for OpenSSL.
pub(super) fn table(inner: &ExchangeFunctions) -> Vec<Dispatch> {
    let mut table = Vec::new();
    offered!(table, inner, ExchangeFunctions:
        newctx newctx,
        init init,
        derive derive,
        set_peer set_peer,
        freectx boxed::free::<Exchange>,
        dupctx boxed::dup::<Exchange>,
        get_ctx_params get_ctx_params,
    );
    // It ignores its arguments.
    table.extend(inner.gettable_ctx_params.map(|function| Dispatch {
        id: ExchangeFunctions::gettable_ctx_params,
        function: function as *const c_void,
    }));
    table.push(Dispatch::END);
    table
}

impl Copied for Exchange {
    fn copy(&self) -> Option<Self> {
        Some(self.clone())
    }
}

impl Exchange {
    /// Writes the secret to the start of `output`; fails if that is too short.
    fn derive(&self, output: &mut [u8]) -> Result<(), Reason> {
        let (Some(private), Some(peer)) = (&self.private, &self.peer) else {
            return Err(Reason::MissingKey);
        };
        let place = output
            .first_chunk_mut()
            .ok_or(Reason::OutputBufferTooSmall)?;
        let mut secret = Zeroizing::new([0; X25519_BYTES]);
        if !private.agree(peer, &mut secret) {
            return Err(Reason::FailedDuringDerivation);
        }
        *place = *secret;
        // SAFETY: the provider of an exchange exists until its contexts are freed.
        unsafe { &*self.provider }.count(Primitive::X25519, Performed::Derived);
        Ok(())
    }

    fn is_whole(&self) -> bool {
        self.private.is_some() && self.peer.is_some()
    }
}

/// Sets nothing: what releases since 3.4 report, a FIPS provider alone has.
extern "C" fn get_ctx_params(_context: *mut c_void, _params: *mut Param) -> c_int {
    1
}

/// # Safety
/// `provider` is what `OSSL_provider_init` gave the core.
unsafe extern "C" fn newctx(provider: *mut c_void) -> *mut c_void {
    catching(null_mut(), || {
        boxed::held(Exchange {
            private: None,
            peer: None,
            provider: provider.cast(),
        })
    })
}

/// # Safety
/// As for [`boxed::dup`]; `key` is null or a key of ours that does not change during the call.
unsafe extern "C" fn init(context: *mut c_void, key: *mut c_void, _params: *const Param) -> c_int {
    catching(0, || {
        // SAFETY: null or a context of ours that no other call uses, and null or a key of ours.
        let given = unsafe {
            (
                context.cast::<Exchange>().as_mut(),
                key.cast::<Key>().as_ref(),
            )
        };
        let (Some(context), Some(key)) = given else {
            return 0;
        };
        // A missing private key is reported when a secret is derived.
        context.private = key.private.clone();
        context.peer = None;
        1
    })
}

/// # Safety
/// As for [`boxed::dup`]; `key` is null or a key of ours that does not change during the call.
unsafe extern "C" fn set_peer(context: *mut c_void, key: *mut c_void) -> c_int {
    catching(0, || {
        // SAFETY: null or a context of ours that no other call uses, and null or a peer's key of ours.
        let given = unsafe {
            (
                context.cast::<Exchange>().as_mut(),
                key.cast::<Key>().as_ref(),
            )
        };
        let (Some(context), Some(key)) = given else {
            return 0;
        };
        context.peer = key.public;
        1
    })
}

/// # Safety
/// As for [`boxed::dup`]; `bytes` is a place for a length, and `secret` is null or has room for `room` bytes.
unsafe extern "C" fn derive(
    context: *mut c_void,
    secret: *mut u8,
    bytes: *mut usize,
    room: usize,
) -> c_int {
    catching(0, || {
        // SAFETY: the core derives with null, or an exchange from `newctx` or `dupctx`.
        let Some(context) = (unsafe { context.cast::<Exchange>().as_ref() }) else {
            return 0;
        };
        let done = if secret.is_null() && context.is_whole() {
            Ok(())
        } else if secret.is_null() {
            Err(Reason::MissingKey)
        } else {
            // SAFETY: the caller promises room for `room` bytes.
            context.derive(unsafe { std::slice::from_raw_parts_mut(secret, room) })
        };
        match done {
            Ok(()) => {
                // SAFETY: a place for a length, as the caller promises.
                unsafe { *bytes = X25519_BYTES };
                1
            }
            Err(reason) => {
                // SAFETY: the core does not tear down a provider that has an exchange.
                unsafe { &*context.provider }.errors.raise(reason);
                0
            }
        }
    })
}
