//! Key management (provider-keymgmt(7), EVP_PKEY-EC(7)) that passes on to the default provider what the engine does not
//! do.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::ptr::{null, null_mut};
use std::sync::Arc;

use crate::abi::{
    Dispatch, KEYMGMT_LOAD, Param, Params, SELECT_PRIVATE_KEY, SELECT_PUBLIC_KEY, offered,
};
use crate::caught::catching;
use crate::decoder;
use crate::default_provider::DefaultAlgorithm;
use crate::default_provider::functions::{Callback, KeyFunctions};
use crate::provider::Provider;

/// Keys of one type, which the default provider has too.
pub(crate) trait Wrapped {
    /// Returns the default provider's management of such keys.
    fn of_default(provider: &Provider) -> Option<&DefaultAlgorithm<KeyFunctions>>;
}

/// A management of keys of one type.
pub(crate) trait Management: Wrapped {
    type Key: Managed;

    /// Creates an empty key; returns null if that fails.
    fn empty(provider: &Provider) -> *mut c_void;

    /// Wraps a key of the default provider; returns null if that is null.
    ///
    /// # Safety
    /// `inner` is null or a key of the default provider with no other owner.
    unsafe fn around(provider: &Provider, inner: *mut c_void) -> *mut c_void;
}

/// A key that OpenSSL and contexts share, and the default provider's key behind it.
pub(crate) trait Managed: Sized {
    /// The parameters of an import of which a private half has one.
    const PRIVATE: &[&[u8]];

    /// Returns the provider, which the core does not tear down while it has a key.
    fn provider(&self) -> &Provider;

    /// Returns the functions for the default provider's key.
    fn functions(&self) -> Option<&KeyFunctions>;

    /// Returns the default provider's key.
    fn inner(&self) -> Option<*mut c_void>;

    /// Returns the part of a selection that the default provider's key has, without a private half on another machine.
    fn selected(&self, selection: c_int) -> c_int;

    /// Returns whether the key has the parts of a selection; `None` if the default provider's key tells.
    fn has(&self, selection: c_int) -> Option<bool>;

    /// Fills an empty key, which has no other user yet; `None` if the default provider must do it, or refuse.
    fn import(&self, _selection: c_int, _params: Params<'_>) -> Option<()> {
        None
    }

    /// Records that the default provider's key was changed.
    fn change(&self) {}

    /// Copies the parts of a selection.
    fn copy(&self, selection: c_int) -> Option<*mut c_void>;

    /// Returns one more owner of a key that OpenSSL holds.
    ///
    /// # Safety
    /// `key` is null or one of our keys, which is not freed during the call.
    unsafe fn shared(key: *mut c_void) -> Option<Arc<Self>> {
        let key = key.cast::<Self>().cast_const();
        if key.is_null() {
            return None;
        }
        // SAFETY: the caller says that `key` has an owner, so it comes from `Arc::into_raw`.
        unsafe {
            Arc::increment_strong_count(key);
            Some(Arc::from_raw(key))
        }
    }
}

/// Returns the functions for OpenSSL. Those that take neither a key nor a provider are the default provider's own.
pub(crate) fn table<M: Management>(inner: &KeyFunctions) -> Vec<Dispatch> {
    let mut table = Vec::new();
    offered!(table, inner, KeyFunctions:
        new new::<M>,
        gen_init gen_init::<M>,
        gen_set_template gen_set_template::<M>,
        gen_set_params gen_set_params::<M>,
        gen_settable_params gen_settable_params::<M>,
        gen_get_params gen_get_params::<M>,
        gen_gettable_params gen_gettable_params::<M>,
        generate generate::<M>,
        gen_cleanup gen_cleanup::<M>,
        free free::<M::Key>,
        get_params get_params::<M>,
        gettable_params gettable_params::<M>,
        set_params set_params::<M>,
        settable_params settable_params::<M>,
        has has::<M>,
        validate validate::<M>,
        matches matches::<M>,
        import import::<M>,
        export export::<M>,
        dup dup::<M>,
    );
    for (id, function) in [
        (
            KeyFunctions::query_operation_name,
            inner.query_operation_name,
        ),
        (KeyFunctions::import_types, inner.import_types),
        (KeyFunctions::export_types, inner.export_types),
    ] {
        table.extend(function.map(|function| Dispatch { id, function }));
    }
    table.push(Dispatch {
        id: KEYMGMT_LOAD,
        function: decoder::load as *const c_void,
    });
    table.push(Dispatch::END);
    table
}

/// Returns the default provider's management of such keys.
///
/// # Safety
/// `provider` is what `OSSL_provider_init` gave the core, which has not torn it down.
unsafe fn default_of<'a, W: Wrapped>(
    provider: *const Provider,
) -> Option<&'a DefaultAlgorithm<KeyFunctions>> {
    // SAFETY: the caller says that the provider has not been torn down.
    W::of_default(unsafe { &*provider })
}

/// Calls `call` with a key, the default provider's key, and its functions; returns 0 if one of them is missing.
///
/// # Safety
/// `key` is null or one of our keys, which is not freed during the call.
unsafe fn with<M: Management>(
    key: *const c_void,
    call: impl FnOnce(&M::Key, *mut c_void, &KeyFunctions) -> Option<c_int>,
) -> c_int {
    catching(0, || {
        // SAFETY: the caller says that `key` is null or one of our keys, which is not freed during the call.
        let key = unsafe { key.cast::<M::Key>().as_ref() };
        let call = || {
            let key = key?;
            call(key, key.inner()?, key.functions()?)
        };
        call().unwrap_or(0)
    })
}

/// # Safety
/// `provider` is what `OSSL_provider_init` gave the core.
unsafe extern "C" fn new<M: Management>(provider: *mut c_void) -> *mut c_void {
    // SAFETY: the core passes its provider, which it has not torn down.
    catching(null_mut(), || M::empty(unsafe { &*provider.cast() }))
}

/// # Safety
/// `key` is null or one of our keys, and this is the core's last call with it. Contexts may still share it.
pub(crate) unsafe extern "C" fn free<K: Managed>(key: *mut c_void) {
    if !key.is_null() {
        catching((), || {
            // SAFETY: the key comes from `Arc::into_raw`, and the core gives up its share of it.
            drop(unsafe { Arc::from_raw(key.cast::<K>().cast_const()) });
        });
    }
}

/// Returns whether a key has the parts of a selection. EVP_PKEY_copy_parameters(3) calls it without a key.
///
/// # Safety
/// As [`with`].
unsafe extern "C" fn has<M: Management>(key: *const c_void, selection: c_int) -> c_int {
    catching(0, || {
        // SAFETY: `key` is null or one of our keys, which the core does not free during this call.
        let known = unsafe { key.cast::<M::Key>().as_ref() }.and_then(|key| key.has(selection));
        if let Some(known) = known {
            return known.into();
        }
        // SAFETY: `key` is null or one of our keys, and the default provider's `has` gets its own key.
        unsafe {
            with::<M>(key, |key, of_default, inner| {
                Some(inner.has?(of_default, key.selected(selection)))
            })
        }
    })
}

/// # Safety
/// As [`with`].
unsafe extern "C" fn validate<M: Management>(
    key: *const c_void,
    selection: c_int,
    check: c_int,
) -> c_int {
    // SAFETY: `key` is null or one of our keys, and the default provider's `validate` gets its own key.
    unsafe {
        with::<M>(key, |key, of_default, inner| {
            Some(inner.validate?(of_default, key.selected(selection), check))
        })
    }
}

/// # Safety
/// As [`with`], for both keys.
unsafe extern "C" fn matches<M: Management>(
    one: *const c_void,
    other: *const c_void,
    selection: c_int,
) -> c_int {
    // SAFETY: each is null or one of our keys, and the default provider's `match` gets its own keys.
    unsafe {
        with::<M>(one, |one, of_default, inner| {
            let other = other.cast::<M::Key>().as_ref()?;
            let selected = match one.selected(other.selected(selection)) {
                0 if selection != 0 => SELECT_PUBLIC_KEY,
                selected => selected,
            };
            Some(inner.matches?(of_default, other.inner()?, selected))
        })
    }
}

/// Imports a key, but not a public half whose private half may be in another provider, such as a TPM's. OpenSSL would
/// import the public half and sign here; if the import is refused, it has the other provider sign. Without such a
/// provider, public halves are imported: refusing one costs a microsecond in each operation, importing it costs time
/// only once.
///
/// # Safety
/// As [`with`]; `params` is null or an array that ends with [`Param::END`].
unsafe extern "C" fn import<M: Management>(
    key: *mut c_void,
    selection: c_int,
    params: *const Param,
) -> c_int {
    catching(0, || {
        // SAFETY: `key` is null or one of our keys, which has no other user yet and whose provider exists; the
        // parameters end.
        unsafe {
            let Some(imported) = key.cast::<M::Key>().as_ref() else {
                return 0;
            };
            let given = Params::new(params.cast_mut());
            let is_private = selection & SELECT_PRIVATE_KEY != 0;
            let is_half = is_private && !M::Key::PRIVATE.iter().any(|name| given.have(name));
            if is_half && imported.provider().may_keys_be_elsewhere() {
                return 0;
            }
            if imported.import(selection, given).is_some() {
                return 1;
            }
            with::<M>(key, |key, inner, functions| {
                let is_done = functions.import?(inner, selection, params);
                key.change();
                Some(is_done)
            })
        }
    })
}

/// # Safety
/// As [`with`]; `callback` takes `argument`.
unsafe extern "C" fn export<M: Management>(
    key: *mut c_void,
    selection: c_int,
    callback: Callback,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: `key` is null or one of our keys, the core's callback takes its argument, and the default provider's
    // `export` gets its own key.
    unsafe {
        with::<M>(key, |key, of_default, inner| {
            // A caller that asks for the whole key must not get half of it.
            if key.selected(selection) != selection {
                return None;
            }
            Some(inner.export?(of_default, selection, callback, argument))
        })
    }
}

/// # Safety
/// As [`with`].
unsafe extern "C" fn dup<M: Management>(key: *const c_void, selection: c_int) -> *mut c_void {
    catching(null_mut(), || {
        // SAFETY: `key` is null or one of our keys, which the core does not free during this call.
        let copied = unsafe { key.cast::<M::Key>().as_ref() }.and_then(|key| key.copy(selection));
        copied.unwrap_or(null_mut())
    })
}

/// # Safety
/// As [`with`]; `params` is null or an array that ends with [`Param::END`].
pub(crate) unsafe extern "C" fn get_params<M: Management>(
    key: *mut c_void,
    params: *mut Param,
) -> c_int {
    // SAFETY: `key` is null or one of our keys, and the default provider's `get_params` gets its own key and the core's
    // array.
    unsafe { with::<M>(key, |_, key, inner| Some(inner.get_params?(key, params))) }
}

/// # Safety
/// As [`get_params`], and no other call uses the key.
pub(crate) unsafe extern "C" fn set_params<M: Management>(
    key: *mut c_void,
    params: *const Param,
) -> c_int {
    // SAFETY: `key` is null or one of our keys, and the default provider's `set_params` gets its own key and the core's
    // array.
    unsafe {
        with::<M>(key, |key, of_default, inner| {
            let is_done = inner.set_params?(of_default, params);
            key.change();
            Some(is_done)
        })
    }
}

/// # Safety
/// `provider` is what `OSSL_provider_init` gave the core.
pub(crate) unsafe extern "C" fn gettable_params<W: Wrapped>(provider: *mut c_void) -> *const Param {
    // SAFETY: the core passes its provider, and the default provider's list of gettable parameters gets its own
    // context.
    unsafe {
        let described = default_of::<W>(provider.cast())
            .and_then(|it| Some(it.functions.gettable_params?(it.context)));
        described.unwrap_or(null())
    }
}

/// # Safety
/// `provider` is what `OSSL_provider_init` gave the core.
pub(crate) unsafe extern "C" fn settable_params<W: Wrapped>(provider: *mut c_void) -> *const Param {
    // SAFETY: the core passes its provider, and the default provider's list of settable parameters gets its own
    // context.
    unsafe {
        let described = default_of::<W>(provider.cast())
            .and_then(|it| Some(it.functions.settable_params?(it.context)));
        described.unwrap_or(null())
    }
}

/// The generation of a key by the default provider.
struct Generation {
    inner: *mut c_void,
    provider: *const Provider,
}

/// Calls `call` with the default provider's generation and its functions; returns `otherwise` without one.
///
/// # Safety
/// `generation` is null or from `gen_init`, and no other call with it is in progress.
unsafe fn with_generation<M: Management, T>(
    generation: *mut c_void,
    otherwise: T,
    call: impl FnOnce(&Generation, &KeyFunctions) -> Option<T>,
) -> T {
    let call = || {
        // SAFETY: the caller says that `generation` is null or from `gen_init`; the provider outlives it.
        unsafe {
            let generation = generation.cast::<Generation>().as_ref()?;
            call(generation, &default_of::<M>(generation.provider)?.functions)
        }
    };
    call().unwrap_or(otherwise)
}

/// # Safety
/// `provider` is what `OSSL_provider_init` gave the core; `params` is null or an array that ends with
/// [`Param::END`].
unsafe extern "C" fn gen_init<M: Management>(
    provider: *mut c_void,
    selection: c_int,
    params: *const Param,
) -> *mut c_void {
    catching(null_mut(), || {
        // SAFETY: the core passes its provider and parameters, and the default provider's `gen_init` gets its own
        // context.
        let inner = unsafe {
            default_of::<M>(provider.cast())
                .and_then(|it| Some(it.functions.gen_init?(it.context, selection, params)))
        };
        match inner {
            Some(inner) if !inner.is_null() => Box::into_raw(Box::new(Generation {
                inner,
                provider: provider.cast(),
            }))
            .cast(),
            _ => null_mut(),
        }
    })
}

/// # Safety
/// As [`with_generation`]; `template` is null or one of our keys.
unsafe extern "C" fn gen_set_template<M: Management>(
    generation: *mut c_void,
    template: *mut c_void,
) -> c_int {
    catching(0, || {
        // SAFETY: `generation` is null or from `gen_init`, `template` is null or one of our keys, and the default
        // provider's function gets its own of both.
        unsafe {
            with_generation::<M, _>(generation, 0, |generation, inner| {
                let template = template.cast::<M::Key>().as_ref()?.inner()?;
                Some(inner.gen_set_template?(generation.inner, template))
            })
        }
    })
}

/// # Safety
/// As [`with_generation`]; `params` is null or an array that ends with [`Param::END`].
unsafe extern "C" fn gen_set_params<M: Management>(
    generation: *mut c_void,
    params: *const Param,
) -> c_int {
    catching(0, || {
        // SAFETY: `generation` is null or from `gen_init`, and the default provider's function gets its own with the
        // core's array.
        unsafe {
            with_generation::<M, _>(generation, 0, |generation, inner| {
                Some(inner.gen_set_params?(generation.inner, params))
            })
        }
    })
}

/// # Safety
/// As [`gen_set_params`], and the parameters have places.
unsafe extern "C" fn gen_get_params<M: Management>(
    generation: *mut c_void,
    params: *mut Param,
) -> c_int {
    catching(0, || {
        // SAFETY: `generation` is null or from `gen_init`, and the default provider's function gets its own with the
        // core's array.
        unsafe {
            with_generation::<M, _>(generation, 0, |generation, inner| {
                Some(inner.gen_get_params?(generation.inner, params))
            })
        }
    })
}

/// # Safety
/// As [`with_generation`]; `callback` is null or takes `argument`.
unsafe extern "C" fn generate<M: Management>(
    generation: *mut c_void,
    callback: *const c_void,
    argument: *mut c_void,
) -> *mut c_void {
    catching(null_mut(), || {
        // SAFETY: `generation` is null or from `gen_init`; the default provider's function gets its own with the core's
        // callback, and its new key has no other owner.
        unsafe {
            with_generation::<M, _>(generation, null_mut(), |generation, inner| {
                let key = inner.generate?(generation.inner, callback, argument);
                Some(M::around(&*generation.provider, key))
            })
        }
    })
}

/// # Safety
/// `generation` is null or from `gen_init`, and this is the core's last call with it.
unsafe extern "C" fn gen_cleanup<M: Management>(generation: *mut c_void) {
    if generation.is_null() {
        return;
    }
    catching((), || {
        // SAFETY: `generation` is from `gen_init`, and this is the core's last call with it; the default provider frees
        // its own.
        unsafe {
            with_generation::<M, _>(generation, (), |generation, inner| {
                inner.gen_cleanup?(generation.inner);
                None
            });
            drop(Box::from_raw(generation.cast::<Generation>()));
        }
    });
}

/// # Safety
/// `provider` is what `OSSL_provider_init` gave the core.
pub(crate) unsafe extern "C" fn gen_settable_params<W: Wrapped>(
    _generation: *mut c_void,
    provider: *mut c_void,
) -> *const Param {
    // SAFETY: the core passes its provider. The default provider's function ignores its first argument, which may be
    // null.
    unsafe {
        let described = default_of::<W>(provider.cast())
            .and_then(|it| Some(it.functions.gen_settable_params?(null_mut(), it.context)));
        described.unwrap_or(null())
    }
}

/// # Safety
/// As [`gen_settable_params`].
unsafe extern "C" fn gen_gettable_params<W: Wrapped>(
    _generation: *mut c_void,
    provider: *mut c_void,
) -> *const Param {
    // SAFETY: as in `gen_settable_params`.
    unsafe {
        let described = default_of::<W>(provider.cast())
            .and_then(|it| Some(it.functions.gen_gettable_params?(null_mut(), it.context)));
        described.unwrap_or(null())
    }
}
