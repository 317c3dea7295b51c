//! Encapsulation and decapsulation (provider-kem(7), EVP_KEM-ML-KEM(7)). A context handles the regular case. If the
//! caller passes its own random octets (`ikme`), or something is refused, a context of the default provider with the
//! same key takes over.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::ptr::{null, null_mut};
use std::sync::Arc;

use oarlock_engine::agreement::ML_KEM_SECRET_BYTES;
use oarlock_engine::costs::Performed;
use zeroize::Zeroizing;

use super::key::MlKemKey;
use crate::abi::{Dispatch, Param, Params, offered};
use crate::boxed::{self, with};
use crate::caught::catching;
use crate::default_provider::functions::{Init, KemFunctions};
use crate::default_provider::{DefaultAlgorithm, Inner};
use crate::exported::{Key, Managed as _};
use crate::place::Place;
use crate::provider::Provider;

/// A context that OpenSSL holds.
struct Context<const SET: usize> {
    key: Option<Arc<Key<MlKemKey<SET>>>>,
    purpose: Purpose,
    /// The default provider's context, made when it takes over.
    inner: Option<Inner<KemFunctions>>,
    /// The core does not tear down a provider that has a context.
    provider: *const Provider,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    None,
    Encapsulate,
    Decapsulate,
}

/// Returns the functions for OpenSSL.
pub(super) fn table<const SET: usize>(inner: &KemFunctions) -> Vec<Dispatch> {
    let mut table = Vec::new();
    offered!(table, inner, KemFunctions:
        newctx newctx::<SET>,
        encapsulate_init encapsulate_init::<SET>,
        encapsulate encapsulate::<SET>,
        decapsulate_init decapsulate_init::<SET>,
        decapsulate decapsulate::<SET>,
        freectx boxed::free::<Context<SET>>,
        set_ctx_params set_ctx_params::<SET>,
        settable_ctx_params settable_ctx_params::<SET>,
    );
    table.push(Dispatch::END);
    table
}

impl<const SET: usize> Context<SET> {
    fn provider(&self) -> &Provider {
        // SAFETY: the core tears the provider down after its last context of ML-KEM, and this one is in use.
        unsafe { &*self.provider }
    }

    fn default(&self) -> Option<&DefaultAlgorithm<KemFunctions>> {
        self.provider().defaults.get()?.ml_kem[SET].kem.as_ref()
    }

    fn ours(&self) -> Option<&MlKemKey<SET>> {
        self.key.as_ref()?.ours()
    }

    /// Begins with the context's key. Returns `None` if the default provider should do so, or refuse.
    fn begin(&mut self, purpose: Purpose, params: Params<'_>) -> Option<()> {
        let is_enough = match (purpose, self.ours()?) {
            (Purpose::Decapsulate, key) => matches!(key, MlKemKey::Private(_)),
            _ => true,
        };
        (is_enough && self.is_regular(purpose, params)).then(|| self.purpose = purpose)
    }

    /// Returns whether no parameter has an effect.
    fn is_regular(&self, purpose: Purpose, params: Params<'_>) -> bool {
        purpose != Purpose::Encapsulate || !params.have(b"ikme")
    }

    /// Returns a context of the default provider in the same state as this one.
    fn leave(&mut self) -> Option<&Inner<KemFunctions>> {
        if self.inner.is_none() {
            let default = self.default()?;
            let functions = &default.functions;
            let init = match self.purpose {
                Purpose::None => None,
                Purpose::Encapsulate => Some(functions.encapsulate_init?),
                Purpose::Decapsulate => Some(functions.decapsulate_init?),
            };
            let key = self.key.as_ref().and_then(|key| key.inner());
            // SAFETY: the default provider's functions get that provider's context and the key in its form.
            let inner = unsafe {
                let inner = Inner::of(functions, functions.newctx?(default.context))?;
                if let Some(init) = init {
                    let begun = key.map_or(0, |key| init(inner.at(), key, null()));
                    (begun == 1).then_some(())?;
                }
                inner
            };
            self.inner = Some(inner);
        }
        self.inner.as_ref()
    }

    /// Has the default provider begin with the same key.
    ///
    /// # Safety
    /// `params` is null or an array that ends with [`Param::END`].
    unsafe fn begin_by_default(
        &mut self,
        init: impl FnOnce(&KemFunctions) -> Option<Init>,
        params: *const Param,
    ) -> Option<c_int> {
        let key = self.key.as_ref().and_then(|key| key.inner());
        let inner = self.leave()?;
        // SAFETY: the default provider's function gets its own context and key, and the caller vouches for the
        // parameters.
        Some(unsafe { init(inner.functions())?(inner.at(), key?, params) })
    }

    /// Encapsulates a secret. Returns `None` if the default provider should do so, or refuse.
    fn encapsulate(&self, ciphertext: Place, secret: Place) -> Option<()> {
        let bytes = MlKemKey::<SET>::SET.ciphertext_bytes();
        if self.purpose != Purpose::Encapsulate || self.inner.is_some() {
            return None;
        }
        if ciphertext.is_absent() {
            if ciphertext.has_no_length() && secret.has_no_length() {
                return None;
            }
            ciphertext.tell(bytes);
            secret.tell(ML_KEM_SECRET_BYTES);
            return Some(());
        }
        let has_room = ciphertext.has_room(bytes) && secret.has_room(ML_KEM_SECRET_BYTES);
        if secret.is_absent() || !has_room {
            return None;
        }
        let key = self.key.as_ref()?;
        let ours = key.ours()?;
        let mut shared = Zeroizing::new([0; ML_KEM_SECRET_BYTES]);
        // SAFETY: the caller has room for a ciphertext, as `has_room` checked.
        let octets = unsafe { std::slice::from_raw_parts_mut(ciphertext.first, bytes) };
        key.on_enough_stack(|| ours.encapsulate(octets, &mut shared))??;
        // SAFETY: the caller has room for a secret, as `has_room` checked.
        unsafe { shared.as_ptr().copy_to(secret.first, ML_KEM_SECRET_BYTES) };
        ciphertext.tell(bytes);
        secret.tell(ML_KEM_SECRET_BYTES);
        self.count(Performed::Encapsulated);
        Some(())
    }

    /// Decapsulates a secret. Returns `None` if the default provider should do so, or refuse.
    fn decapsulate(&self, secret: Place, ciphertext: &[u8]) -> Option<()> {
        if self.purpose != Purpose::Decapsulate || self.inner.is_some() {
            return None;
        }
        if secret.is_absent() {
            if secret.has_no_length() {
                return None;
            }
            secret.tell(ML_KEM_SECRET_BYTES);
            return Some(());
        }
        // Without a length, the buffer must be long enough.
        if !secret.has_no_length() && !secret.has_room(ML_KEM_SECRET_BYTES) {
            return None;
        }
        let key = self.key.as_ref()?;
        let MlKemKey::Private(ours) = key.ours()? else {
            return None;
        };
        let mut shared = Zeroizing::new([0; ML_KEM_SECRET_BYTES]);
        let done = key.on_enough_stack(|| ours.decapsulate(ciphertext, &mut shared));
        done?.ok()?;
        // SAFETY: the caller has room for a secret, which may overlap the ciphertext: that is no longer used.
        unsafe { shared.as_ptr().copy_to(secret.first, ML_KEM_SECRET_BYTES) };
        secret.tell(ML_KEM_SECRET_BYTES);
        self.count(Performed::Decapsulated);
        Some(())
    }

    fn count(&self, performed: Performed) {
        let provider = self.provider();
        provider.count(MlKemKey::<SET>::PRIMITIVE, performed);
    }
}

/// # Safety
/// `provider` is what `OSSL_provider_init` gave the core.
unsafe extern "C" fn newctx<const SET: usize>(provider: *mut c_void) -> *mut c_void {
    catching(null_mut(), || {
        boxed::held(Context::<SET> {
            key: None,
            purpose: Purpose::None,
            inner: None,
            provider: provider.cast(),
        })
    })
}

/// # Safety
/// As [`with`]; `key` is null or one of our keys, and `params` is null or an array that ends with [`Param::END`].
unsafe fn init<const SET: usize>(
    context: *mut c_void,
    key: *mut c_void,
    purpose: Purpose,
    params: *const Param,
) -> c_int {
    // SAFETY: `context` is as `with` requires, `key` is null or an ML-KEM key, and the parameters end.
    unsafe {
        with::<Context<SET>>(context, |context| {
            context.key = Some(Key::shared(key)?);
            let given = Params::new(params.cast_mut());
            if context.inner.is_none() && context.begin(purpose, given).is_some() {
                return Some(1);
            }
            context.begin_by_default(
                |functions| match purpose {
                    Purpose::Decapsulate => functions.decapsulate_init,
                    _ => functions.encapsulate_init,
                },
                params,
            )
        })
    }
}

/// # Safety
/// As [`init`].
unsafe extern "C" fn encapsulate_init<const SET: usize>(
    context: *mut c_void,
    key: *mut c_void,
    params: *const Param,
) -> c_int {
    // SAFETY: the core passes a context and a key of ML-KEM for encapsulation, and parameters that end.
    unsafe { init::<SET>(context, key, Purpose::Encapsulate, params) }
}

/// # Safety
/// As [`init`].
unsafe extern "C" fn decapsulate_init<const SET: usize>(
    context: *mut c_void,
    key: *mut c_void,
    params: *const Param,
) -> c_int {
    // SAFETY: the core passes a context and a key of ML-KEM for decapsulation, and parameters that end.
    unsafe { init::<SET>(context, key, Purpose::Decapsulate, params) }
}

/// # Safety
/// As [`with`]; `params` is null or an array that ends with [`Param::END`].
unsafe extern "C" fn set_ctx_params<const SET: usize>(
    context: *mut c_void,
    params: *mut Param,
) -> c_int {
    // SAFETY: `context` is null or one of ML-KEM that no other call uses, and the parameters end; the default
    // provider's function gets its own context.
    unsafe {
        with::<Context<SET>>(context, |context| {
            let given = Params::new(params);
            if context.inner.is_none() && context.is_regular(context.purpose, given) {
                return Some(1);
            }
            let inner = context.leave()?;
            Some(inner.functions().set_ctx_params?(inner.at(), params))
        })
    }
}

/// # Safety
/// As [`with`]; each buffer is null or as long as its length says, which is null or valid.
unsafe extern "C" fn encapsulate<const SET: usize>(
    context: *mut c_void,
    ciphertext: *mut u8,
    ciphertext_bytes: *mut usize,
    secret: *mut u8,
    secret_bytes: *mut usize,
) -> c_int {
    let places = [(ciphertext, ciphertext_bytes), (secret, secret_bytes)]
        .map(|(first, bytes)| Place { first, bytes });
    // SAFETY: `context` is null or one of ML-KEM that no other call uses; the default provider's function gets its own
    // context and the caller's buffers.
    unsafe {
        with::<Context<SET>>(context, |context| {
            if context.encapsulate(places[0], places[1]).is_some() {
                return Some(1);
            }
            let inner = context.leave()?;
            let encapsulate = inner.functions().encapsulate?;
            Some(encapsulate(
                inner.at(),
                ciphertext,
                ciphertext_bytes,
                secret,
                secret_bytes,
            ))
        })
    }
}

/// # Safety
/// As [`with`]; `secret` is null or as long as its length says, which is null or valid. `ciphertext` is null or has
/// `ciphertext_bytes` bytes.
unsafe extern "C" fn decapsulate<const SET: usize>(
    context: *mut c_void,
    secret: *mut u8,
    secret_bytes: *mut usize,
    ciphertext: *const u8,
    ciphertext_bytes: usize,
) -> c_int {
    let place = Place {
        first: secret,
        bytes: secret_bytes,
    };
    // SAFETY: `context` is null or one of ML-KEM that no other call uses; the default provider's function gets its own
    // context, the caller's buffer and the ciphertext, for whose length the caller vouches.
    unsafe {
        with::<Context<SET>>(context, |context| {
            let octets = match ciphertext.is_null() {
                true => &[],
                false => std::slice::from_raw_parts(ciphertext, ciphertext_bytes),
            };
            if context.decapsulate(place, octets).is_some() {
                return Some(1);
            }
            let inner = context.leave()?;
            let decapsulate = inner.functions().decapsulate?;
            Some(decapsulate(
                inner.at(),
                secret,
                secret_bytes,
                ciphertext,
                ciphertext_bytes,
            ))
        })
    }
}

/// # Safety
/// `provider` is what `OSSL_provider_init` gave the core.
unsafe extern "C" fn settable_ctx_params<const SET: usize>(
    _context: *mut c_void,
    provider: *mut c_void,
) -> *const Param {
    // SAFETY: the core passes its provider. The default provider's function ignores its arguments.
    unsafe {
        let describe = || {
            let defaults = (*provider.cast::<Provider>()).defaults.get()?;
            let default = defaults.ml_kem[SET].kem.as_ref()?;
            Some(default.functions.settable_ctx_params?(
                null_mut(),
                default.context,
            ))
        };
        describe().unwrap_or(null())
    }
}
