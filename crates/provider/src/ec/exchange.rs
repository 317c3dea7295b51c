//! Shared secrets of keys that are managed here (provider-keyexch(7)): by the engine on P-384, else by the default provider's
//! ECDH with the keys inside ours.
//!
//! Up to release 3.1, libssl takes the key management of its groups from the search that follows one for ECDSA, so from
//! this provider (`asked.rs`). The default provider's exchange would export both keys for each secret, which takes as long as
//! two thirds of a secret of P-256. So these keys name an exchange that exists here alone.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::{null, null_mut};
use std::sync::Arc;

use oarlock_engine::Primitive;
use oarlock_engine::costs::Performed;
use zeroize::Zeroizing;

use super::ours::EcKey;
use crate::abi::{Dispatch, OPERATION_KEYEXCH, OPERATION_SIGNATURE, Param, Params, offered};
use crate::asked::{self, InExchange};
use crate::caught::catching;
use crate::default_provider::DefaultAlgorithm;
use crate::default_provider::functions::{Describe, ExchangeFunctions};
use crate::exported::{Key, Managed as _};
use crate::provider::Provider;

/// The exchange's name. Keys of the default provider never ask for it.
pub(super) const NAME: &CStr = c"OARLOCK-ECDH";

/// A context that OpenSSL holds.
struct Exchange {
    /// The default provider's context, with the same keys and parameters.
    inner: *mut c_void,
    /// The core does not tear down a provider that has a context.
    provider: *const Provider,
    own: Option<Arc<Key<EcKey>>>,
    peer: Option<Arc<Key<EcKey>>>,
    /// Whether parameters were set, such as a key derivation function.
    has_params: bool,
    _in_exchange: InExchange,
}

/// Returns the functions for OpenSSL.
pub(super) fn table(inner: &ExchangeFunctions) -> Vec<Dispatch> {
    let mut table = Vec::new();
    offered!(table, inner, ExchangeFunctions:
        newctx newctx,
        init init,
        derive derive,
        set_peer set_peer,
        freectx freectx,
        dupctx dupctx,
        set_ctx_params set_ctx_params,
        settable_ctx_params settable_ctx_params,
        get_ctx_params get_ctx_params,
        gettable_ctx_params gettable_ctx_params,
    );
    table.push(Dispatch::END);
    table
}

/// Names the operations of a key that is managed here.
pub(super) extern "C" fn operation_name(operation: c_int) -> *const c_char {
    asked::has_key();
    match operation {
        OPERATION_KEYEXCH => NAME.as_ptr(),
        OPERATION_SIGNATURE => c"ECDSA".as_ptr(),
        _ => null(),
    }
}

impl Exchange {
    fn functions(&self) -> Option<&ExchangeFunctions> {
        // SAFETY: the core does not tear down a provider that has a context.
        unsafe { default_of(self.provider) }.map(|it| &it.functions)
    }

    /// Returns a copy that continues from the current state.
    fn copy(&self) -> Option<Self> {
        // SAFETY: the default provider's function gets its own context.
        let inner = unsafe { self.functions()?.dupctx?(self.inner) };
        (!inner.is_null()).then(|| Self {
            inner,
            provider: self.provider,
            own: self.own.clone(),
            peer: self.peer.clone(),
            has_params: self.has_params,
            _in_exchange: InExchange::new(),
        })
    }

    /// Computes the secret if the engine does so faster. Returns its length, or `None` if the default provider should
    /// compute, or refuse.
    ///
    /// # Safety
    /// `secret` is null or has room for `room` bytes.
    unsafe fn derive(&self, secret: *mut u8, room: usize) -> Option<usize> {
        let (own, peer) = (self.own.as_ref()?, self.peer.as_ref()?);
        if self.has_params || !is_on_p384(own) {
            return None;
        }
        let private = own.ours()?.private()?;
        let mut made = Zeroizing::new([0; P384_BYTES]);
        if secret.is_null() || room < made.len() {
            return None;
        }
        let peer = peer.ours()?;
        peer.with_public(|peer| private.agree(peer, &mut *made))?
            .ok()?;
        // SAFETY: the caller vouches for the room.
        unsafe { secret.copy_from_nonoverlapping(made.as_ptr(), made.len()) };
        // SAFETY: the core does not tear down a provider that has a context.
        unsafe { &*self.provider }.count(Primitive::EcP384, Performed::Derived);
        Some(made.len())
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        if let Some(free) = self.functions().and_then(|it| it.freectx) {
            // SAFETY: the default provider's function gets its own context, whose only owner is being dropped.
            unsafe { free(self.inner) };
        }
    }
}

/// Returns whether a key is on P-384, where the default provider takes three times as long as the engine with the export of
/// both keys, up to release 3.1.
fn is_on_p384(key: &Key<EcKey>) -> bool {
    let bits = || {
        let mut bits = 0;
        let mut params = [Param::asking_for_int(c"bits", &mut bits), Param::END];
        // SAFETY: the default provider's function gets its own key, and an array that ends.
        let done =
            unsafe { key.default()?.functions.get_params?(key.inner()?, params.as_mut_ptr()) };
        (done == 1).then_some(bits)
    };
    // A key on another curve of this size has no form of the engine's.
    bits() == Some(384)
}

/// # Safety
/// `provider` is what `OSSL_provider_init` gave the core, which has not torn it down.
unsafe fn default_of<'a>(
    provider: *const Provider,
) -> Option<&'a DefaultAlgorithm<ExchangeFunctions>> {
    // SAFETY: the caller says that the provider has not been torn down.
    unsafe { (*provider).defaults.get()?.ecdh.as_ref() }
}

/// Calls `call` with a context and the default provider's functions; returns 0 if one of them is missing.
///
/// # Safety
/// `context` is null or a context of ours, and no other call uses it.
unsafe fn with(
    context: *mut c_void,
    call: impl FnOnce(&mut Exchange, ExchangeFunctions) -> Option<c_int>,
) -> c_int {
    catching(0, || {
        // SAFETY: the caller says that `context` is null or a context of ours that no other call uses.
        let context = unsafe { context.cast::<Exchange>().as_mut() };
        let call = || {
            let context = context?;
            let functions = *context.functions()?;
            call(context, functions)
        };
        call().unwrap_or(0)
    })
}

/// # Safety
/// `provider` is what `OSSL_provider_init` gave the core.
unsafe extern "C" fn newctx(provider: *mut c_void) -> *mut c_void {
    catching(null_mut(), || {
        let provider = provider.cast_const().cast();
        // SAFETY: the core passes its provider, and the default provider's function gets its own provider context.
        let inner =
            unsafe { default_of(provider).and_then(|it| Some(it.functions.newctx?(it.context))) };
        match inner {
            Some(inner) if !inner.is_null() => Box::into_raw(Box::new(Exchange {
                inner,
                provider,
                own: None,
                peer: None,
                has_params: false,
                _in_exchange: InExchange::new(),
            }))
            .cast(),
            _ => null_mut(),
        }
    })
}

/// # Safety
/// `context` is null or came from `newctx` or `dupctx`, and this is the core's last call with it.
unsafe extern "C" fn freectx(context: *mut c_void) {
    if !context.is_null() {
        catching((), || {
            // SAFETY: the exchange came from `newctx` or `dupctx`, and this is the core's last call with it.
            drop(unsafe { Box::from_raw(context.cast::<Exchange>()) });
        });
    }
}

/// # Safety
/// `context` is null or a context of ours, and no other call uses it.
unsafe extern "C" fn dupctx(context: *mut c_void) -> *mut c_void {
    catching(null_mut(), || {
        // SAFETY: the core copies null, or an exchange from `newctx` or `dupctx`.
        let copy = unsafe { context.cast::<Exchange>().as_ref() }.and_then(Exchange::copy);
        copy.map_or(null_mut(), |copy| Box::into_raw(Box::new(copy)).cast())
    })
}

/// # Safety
/// As for [`dupctx`]; `key` is null or one of our keys, which is not freed during the call; `params` is null or an array that
/// ends with [`Param::END`].
unsafe extern "C" fn init(context: *mut c_void, key: *mut c_void, params: *const Param) -> c_int {
    // SAFETY: as above; the default provider's function gets its own context and key, and the core's array.
    unsafe {
        with(context, |exchange, inner| {
            let key = Key::<EcKey>::shared(key)?;
            let done = inner.init?(exchange.inner, key.inner()?, params);
            exchange.has_params = !Params::new(params.cast_mut()).is_empty();
            (exchange.own, exchange.peer) = (Some(key), None);
            Some(done)
        })
    }
}

/// # Safety
/// As for [`dupctx`]; `key` is null or one of our keys, which is not freed during the call.
unsafe extern "C" fn set_peer(context: *mut c_void, key: *mut c_void) -> c_int {
    // SAFETY: as above; the default provider's function gets its own context and key.
    unsafe {
        with(context, |exchange, inner| {
            let key = Key::<EcKey>::shared(key)?;
            let done = inner.set_peer?(exchange.inner, key.inner()?);
            exchange.peer = (done == 1).then_some(key);
            Some(done)
        })
    }
}

/// # Safety
/// As for [`dupctx`]; `bytes` is a place for a length, and `secret` is null or has room for `room` bytes.
unsafe extern "C" fn derive(
    context: *mut c_void,
    secret: *mut u8,
    bytes: *mut usize,
    room: usize,
) -> c_int {
    // SAFETY: as above; the default provider's function gets its own context and the core's places.
    unsafe {
        with(context, |exchange, inner| {
            if let Some(made) = exchange.derive(secret, room) {
                *bytes = made;
                return Some(1);
            }
            Some(inner.derive?(exchange.inner, secret, bytes, room))
        })
    }
}

/// # Safety
/// As for [`dupctx`]; `params` is null or an array that ends with [`Param::END`].
unsafe extern "C" fn set_ctx_params(context: *mut c_void, params: *mut Param) -> c_int {
    // SAFETY: as above; the default provider's function gets its own context and the core's array.
    unsafe {
        with(context, |exchange, inner| {
            exchange.has_params |= !Params::new(params).is_empty();
            Some(inner.set_ctx_params?(exchange.inner, params))
        })
    }
}

/// # Safety
/// As for [`set_ctx_params`].
unsafe extern "C" fn get_ctx_params(context: *mut c_void, params: *mut Param) -> c_int {
    // SAFETY: as above; the default provider's function gets its own context and the core's array.
    unsafe {
        with(context, |exchange, inner| {
            Some(inner.get_ctx_params?(exchange.inner, params))
        })
    }
}

/// # Safety
/// `context` is null or a context of ours; `provider` is what `OSSL_provider_init` gave the core.
unsafe extern "C" fn settable_ctx_params(
    context: *mut c_void,
    provider: *mut c_void,
) -> *const Param {
    // SAFETY: as above.
    unsafe { described(context, provider, |inner| inner.settable_ctx_params) }
}

/// # Safety
/// As for [`settable_ctx_params`].
unsafe extern "C" fn gettable_ctx_params(
    context: *mut c_void,
    provider: *mut c_void,
) -> *const Param {
    // SAFETY: as above.
    unsafe { described(context, provider, |inner| inner.gettable_ctx_params) }
}

/// Returns the default provider's answer.
///
/// # Safety
/// As for [`settable_ctx_params`].
unsafe fn described(
    context: *mut c_void,
    provider: *mut c_void,
    describe: impl FnOnce(&ExchangeFunctions) -> Option<Describe>,
) -> *const Param {
    // SAFETY: the core passes its provider, and null or a context of ours; the default provider's function gets its own of
    // both.
    unsafe {
        let inner = context
            .cast::<Exchange>()
            .as_ref()
            .map_or(null_mut(), |it| it.inner);
        let described = default_of(provider.cast())
            .and_then(|it| Some(describe(&it.functions)?(inner, it.context)));
        described.unwrap_or(null())
    }
}

/// The length of a secret on P-384 (SEC 1, 3.3.1: a field element).
const P384_BYTES: usize = 48;
