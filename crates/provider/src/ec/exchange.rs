//! Shared secrets of keys that OpenSSL manages here (provider-keyexch(7)): the default provider's ECDH, with its own keys.
//!
//! Up to release 3.1, libssl takes the key management of its groups from the search that follows one for ECDSA, so from
//! this provider (`asked.rs`). The default provider's exchange would export such a key for each secret, which takes half
//! as long as the secret. So these keys name an exchange that exists here alone. A context is the default provider's.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::{null, null_mut};

use super::ours::EcKey;
use crate::abi::{Dispatch, OPERATION_KEYEXCH, OPERATION_SIGNATURE, Param, offered};
use crate::asked;
use crate::caught::catching;
use crate::default_provider::DefaultAlgorithm;
use crate::default_provider::functions::ExchangeFunctions;
use crate::exported::Key;
use crate::provider::Provider;

/// The exchange's name. Keys of the default provider never ask for it.
pub(super) const NAME: &CStr = c"OARLOCK-ECDH";

/// Returns the functions for OpenSSL. Those that take neither a key nor a provider are the default provider's own.
pub(super) fn table(inner: &ExchangeFunctions) -> Vec<Dispatch> {
    let mut table = Vec::new();
    offered!(table, inner, ExchangeFunctions:
        newctx newctx,
        init init,
        set_peer set_peer,
        settable_ctx_params settable_ctx_params,
        gettable_ctx_params gettable_ctx_params,
    );
    let own = [
        (ExchangeFunctions::derive, inner.derive.map(|it| it as _)),
        (ExchangeFunctions::freectx, inner.freectx.map(|it| it as _)),
        (ExchangeFunctions::dupctx, inner.dupctx.map(|it| it as _)),
        (
            ExchangeFunctions::set_ctx_params,
            inner.set_ctx_params.map(|it| it as _),
        ),
        (
            ExchangeFunctions::get_ctx_params,
            inner.get_ctx_params.map(|it| it as _),
        ),
    ];
    for (id, function) in own {
        table.extend(function.map(|function| Dispatch { id, function }));
    }
    table.push(Dispatch::END);
    table
}

/// Names the operations of a key that is managed here.
pub(super) extern "C" fn operation_name(operation: c_int) -> *const c_char {
    match operation {
        OPERATION_KEYEXCH => {
            asked::has_key();
            NAME.as_ptr()
        }
        OPERATION_SIGNATURE => c"ECDSA".as_ptr(),
        _ => null(),
    }
}

/// # Safety
/// `provider` is what `OSSL_provider_init` gave the core, which has not torn it down.
unsafe fn default_of<'a>(
    provider: *const Provider,
) -> Option<&'a DefaultAlgorithm<ExchangeFunctions>> {
    // SAFETY: the caller says that the provider has not been torn down.
    unsafe { (*provider).defaults.get()?.ecdh.as_ref() }
}

/// Calls `call` with the default provider's form of a key, and its functions; returns 0 if one of them is missing.
///
/// # Safety
/// `key` is null or one of our keys, which is not freed during the call.
unsafe fn with_key(
    key: *mut c_void,
    call: impl FnOnce(*mut c_void, &ExchangeFunctions) -> Option<c_int>,
) -> c_int {
    catching(0, || {
        let called = || {
            // SAFETY: the caller says that `key` is null or one of our keys; the core does not tear down a provider that
            // has a key.
            unsafe {
                let key = key.cast::<Key<EcKey>>().as_ref()?;
                call(key.inner()?, &default_of(key.provider())?.functions)
            }
        };
        called().unwrap_or(0)
    })
}

/// # Safety
/// `provider` is what `OSSL_provider_init` gave the core.
unsafe extern "C" fn newctx(provider: *mut c_void) -> *mut c_void {
    asked::has_found_keys();
    // SAFETY: the core passes its provider, and the default provider's function gets its own provider context.
    unsafe {
        let made =
            default_of(provider.cast()).and_then(|it| Some(it.functions.newctx?(it.context)));
        made.unwrap_or(null_mut())
    }
}

/// # Safety
/// `context` is from `newctx`, and no other call uses it; `key` is null or one of our keys, which is not freed during the
/// call; `params` is null or an array that ends with [`Param::END`].
unsafe extern "C" fn init(context: *mut c_void, key: *mut c_void, params: *const Param) -> c_int {
    // SAFETY: as above; the default provider's function gets its own context and key, and the core's array.
    unsafe { with_key(key, |key, inner| Some(inner.init?(context, key, params))) }
}

/// # Safety
/// As [`init`].
unsafe extern "C" fn set_peer(context: *mut c_void, key: *mut c_void) -> c_int {
    // SAFETY: as above; the default provider's function gets its own context and key.
    unsafe { with_key(key, |key, inner| Some(inner.set_peer?(context, key))) }
}

/// # Safety
/// `context` is null or from `newctx`; `provider` is what `OSSL_provider_init` gave the core.
unsafe extern "C" fn settable_ctx_params(
    context: *mut c_void,
    provider: *mut c_void,
) -> *const Param {
    // SAFETY: the core passes its provider, and the default provider's function gets its own contexts.
    unsafe {
        let described = default_of(provider.cast())
            .and_then(|it| Some(it.functions.settable_ctx_params?(context, it.context)));
        described.unwrap_or(null())
    }
}

/// # Safety
/// As [`settable_ctx_params`].
unsafe extern "C" fn gettable_ctx_params(
    context: *mut c_void,
    provider: *mut c_void,
) -> *const Param {
    // SAFETY: the core passes its provider, and the default provider's function gets its own contexts.
    unsafe {
        let described = default_of(provider.cast())
            .and_then(|it| Some(it.functions.gettable_ctx_params?(context, it.context)));
        described.unwrap_or(null())
    }
}
