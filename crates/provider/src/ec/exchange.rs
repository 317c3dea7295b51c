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
use crate::boxed::{self, Copied};
use crate::caught::catching;
use crate::default_provider::functions::{Describe, ExchangeFunctions};
use crate::default_provider::{DefaultAlgorithm, Inner};
use crate::exported::{Key, Managed as _, Place};
use crate::provider::Provider;

/// The exchange's name. Keys of the default provider never ask for it.
pub(super) const NAME: &CStr = c"OARLOCK-ECDH";

/// A context that OpenSSL holds.
struct Exchange {
    /// The default provider's context, with the same keys and parameters.
    inner: Inner<ExchangeFunctions>,
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
        freectx boxed::free::<Exchange>,
        dupctx boxed::dup::<Exchange>,
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

impl Copied for Exchange {
    fn copy(&self) -> Option<Self> {
        Some(Self {
            inner: self.inner.copy()?,
            provider: self.provider,
            own: self.own.clone(),
            peer: self.peer.clone(),
            has_params: self.has_params,
            _in_exchange: InExchange::new(),
        })
    }
}

impl Exchange {
    /// Returns the secret if the engine computes it faster, or `None` if the default provider should compute, or refuse.
    fn derive(&self, place: Place) -> Option<Zeroizing<[u8; P384_BYTES]>> {
        let (own, peer) = (self.own.as_ref()?, self.peer.as_ref()?);
        if self.has_params || !place.has_room(P384_BYTES) || !is_on_p384(own) {
            return None;
        }
        let (private, peer) = (own.ours()?.private()?, peer.ours()?);
        let mut secret = Zeroizing::new([0; P384_BYTES]);
        peer.with_public(|peer| private.agree(peer, &mut *secret))?
            .ok()?;
        // SAFETY: the core does not tear down a provider that has a context.
        unsafe { &*self.provider }.count(Primitive::EcP384, Performed::Derived);
        Some(secret)
    }
}

/// Returns whether a key is on P-384, where the default provider takes three times as long as the engine with the export of
/// both keys, up to release 3.1.
fn is_on_p384(key: &Key<EcKey>) -> bool {
    let bits = || {
        let mut bits = 0;
        let mut params = [Param::asking_for_int(c"bits", &mut bits), Param::END];
        let (get_params, inner) = (key.default()?.functions.get_params?, key.inner()?);
        // SAFETY: the default provider's function gets its own key, and an array that ends.
        let done = unsafe { get_params(inner, params.as_mut_ptr()) };
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

/// # Safety
/// `provider` is what `OSSL_provider_init` gave the core.
unsafe extern "C" fn newctx(provider: *mut c_void) -> *mut c_void {
    catching(null_mut(), || {
        let provider = provider.cast_const().cast();
        // SAFETY: the core passes its provider, and the default provider's function gets its own provider context, and
        // returns a context without another owner.
        let inner = unsafe {
            default_of(provider).and_then(|it| {
                let made = it.functions.newctx?(it.context);
                Inner::of(&it.functions, made)
            })
        };
        inner.map_or(null_mut(), |inner| {
            boxed::held(Exchange {
                inner,
                provider,
                own: None,
                peer: None,
                has_params: false,
                _in_exchange: InExchange::new(),
            })
        })
    })
}

/// # Safety
/// As for [`boxed::dup`]; `key` is null or one of our keys, which is not freed during the call; `params` is null or an array
/// that ends with [`Param::END`].
unsafe extern "C" fn init(context: *mut c_void, key: *mut c_void, params: *const Param) -> c_int {
    // SAFETY: null or a context of ours that no other call uses, null or a key of ours; the default provider's function gets
    // its own of both, and the core's array.
    unsafe {
        boxed::with(context, |exchange: &mut Exchange| {
            let (key, inner) = (Key::<EcKey>::shared(key)?, &exchange.inner);
            let done = inner.functions().init?(inner.at(), key.inner()?, params);
            exchange.has_params = !Params::new(params.cast_mut()).is_empty();
            (exchange.own, exchange.peer) = (Some(key), None);
            Some(done)
        })
    }
}

/// # Safety
/// As for [`boxed::dup`]; `key` is null or one of our keys, which is not freed during the call.
unsafe extern "C" fn set_peer(context: *mut c_void, key: *mut c_void) -> c_int {
    // SAFETY: null or a context of ours that no other call uses, null or a key of ours; the default provider's function gets
    // its own of both.
    unsafe {
        boxed::with(context, |exchange: &mut Exchange| {
            let (key, inner) = (Key::<EcKey>::shared(key)?, &exchange.inner);
            let done = inner.functions().set_peer?(inner.at(), key.inner()?);
            exchange.peer = (done == 1).then_some(key);
            Some(done)
        })
    }
}

/// # Safety
/// As for [`boxed::dup`]; `bytes` is a place for a length, and `secret` is null or has room for `room` bytes.
unsafe extern "C" fn derive(
    context: *mut c_void,
    secret: *mut u8,
    bytes: *mut usize,
    room: usize,
) -> c_int {
    let place = Place {
        octets: secret,
        bytes,
        room,
    };
    // SAFETY: null or a context of ours that no other call uses; the default provider's function gets its own, and the
    // core's places, which have room as the caller says.
    unsafe {
        boxed::with(context, |exchange: &mut Exchange| {
            if let Some(made) = exchange.derive(place) {
                place.set(&*made);
                return Some(1);
            }
            let inner = &exchange.inner;
            Some(inner.functions().derive?(inner.at(), secret, bytes, room))
        })
    }
}

/// # Safety
/// As for [`boxed::dup`]; `params` is null or an array that ends with [`Param::END`].
unsafe extern "C" fn set_ctx_params(context: *mut c_void, params: *mut Param) -> c_int {
    // SAFETY: null or a context of ours that no other call uses; the default provider's function gets its own, and the
    // core's array.
    unsafe {
        boxed::with(context, |exchange: &mut Exchange| {
            exchange.has_params |= !Params::new(params).is_empty();
            let inner = &exchange.inner;
            Some(inner.functions().set_ctx_params?(inner.at(), params))
        })
    }
}

/// # Safety
/// As for [`set_ctx_params`].
unsafe extern "C" fn get_ctx_params(context: *mut c_void, params: *mut Param) -> c_int {
    // SAFETY: null or a context of ours that no other call uses; the default provider's function gets its own, and the
    // core's array.
    unsafe {
        boxed::with(context, |exchange: &mut Exchange| {
            let inner = &exchange.inner;
            Some(inner.functions().get_ctx_params?(inner.at(), params))
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
            .map_or(null_mut(), |it| it.inner.at());
        let described = default_of(provider.cast())
            .and_then(|it| Some(describe(&it.functions)?(inner, it.context)));
        described.unwrap_or(null())
    }
}

/// The length of a secret on P-384 (SEC 1, 3.3.1: a field element).
const P384_BYTES: usize = 48;
