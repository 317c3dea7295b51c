//! Key derivation (provider-kdf(7)): the functions that TLS and programs use most, without a fetch and in one
//! allocation.
//!
//! ```text
//! settings.rs   the settings, in the context itself
//! tls13.rs      the labels of TLS 1.3 (EVP_KDF-TLS13_KDF(7))
//! hkdf.rs       HKDF (EVP_KDF-HKDF(7))
//! tls1_prf.rs   the function of TLS 1.2 (EVP_KDF-TLS1_PRF(7))
//! ```
//!
//! A context handles the regular cases. For anything else, such as a digest that we lack, or a setting that is missing,
//! too long or unknown, it creates a context of the default provider with the same settings, and forwards every further
//! call to it. So the default provider decides what is refused, and with which error.
#![allow(unsafe_code)]

mod hkdf;
mod settings;
mod tls13;
mod tls1_prf;

use std::ffi::{c_int, c_void};
use std::ptr::{null, null_mut};

use oarlock_engine::Primitive;
use oarlock_engine::costs::Performed;

use self::settings::{Field, Settings};
use crate::abi::{Algorithm, Dispatch, OPERATION_KDF, Param, Params, offered};
use crate::boxed;
use crate::caught::catching;
use crate::default_provider::functions::{Describe, KdfFunctions};
use crate::default_provider::{DefaultAlgorithm, Defaults, Inner};
use crate::offered::Offered;
use crate::provider::Provider;

/// A key derivation function.
trait Kdf {
    /// The index of the default provider's implementation in [`Defaults::kdfs`].
    const INDEX: usize;
    /// The primitive that its operations are counted under.
    const PRIMITIVE: Primitive;

    /// Returns what a parameter of this name sets; `None` for those that the default provider must see.
    fn field(name: &[u8]) -> Option<Field>;

    /// Whether `given` may be set here after the present settings.
    fn may_set(settings: &Settings, given: &settings::Given<'_>) -> bool;

    /// Fills `output`; `None` if the default provider must do this, or refuse it.
    fn derive(settings: &Settings, output: &mut [u8]) -> Option<()>;
}

/// Adds a function that is offered.
pub(crate) fn offer(primitive: Primitive, defaults: &Defaults, offered: &mut Offered) {
    match primitive {
        Primitive::Tls13Kdf => offer_one::<tls13::Tls13>(defaults, offered),
        Primitive::Hkdf => offer_one::<hkdf::Hkdf>(defaults, offered),
        Primitive::Tls1Prf => offer_one::<tls1_prf::Tls1Prf>(defaults, offered),
        _ => {}
    }
}

fn offer_one<K: Kdf>(defaults: &Defaults, offered: &mut Offered) {
    let Some(default) = &defaults.kdfs[K::INDEX] else {
        return;
    };
    let mut table = Vec::new();
    offered!(table, default.functions, KdfFunctions:
        newctx newctx::<K>,
        dupctx dupctx,
        freectx boxed::free::<Context>,
        reset reset,
        derive derive::<K>,
        gettable_ctx_params gettable_ctx_params::<K>,
        settable_ctx_params settable_ctx_params::<K>,
        get_ctx_params get_ctx_params::<K>,
        set_ctx_params set_ctx_params::<K>,
    );
    table.push(Dispatch::END);
    offered.add(OPERATION_KDF, table, |table| {
        Algorithm::accelerated(default.names, table)
    });
}

/// A context, as OpenSSL holds it.
struct Context {
    settings: Settings,
    /// The default provider's context, once something was not regular.
    inner: Option<Inner<KdfFunctions>>,
    /// The core does not tear down a provider that has a context.
    provider: *const Provider,
}

impl Context {
    fn new(provider: *const Provider) -> Box<Self> {
        let mut context = Box::<Self>::new_uninit();
        let place = context.as_mut_ptr();
        // SAFETY: the memory is for a context, and each field is written.
        unsafe {
            Settings::put(&mut *(&raw mut (*place).settings).cast());
            (&raw mut (*place).inner).write(None);
            (&raw mut (*place).provider).write(provider);
            context.assume_init()
        }
    }

    fn default<K: Kdf>(&self) -> Option<&DefaultAlgorithm<KdfFunctions>> {
        // SAFETY: the core does not tear down a provider that has a KDF context.
        unsafe { default_of::<K>(self.provider) }
    }

    /// Creates a context of the default provider with the same settings.
    fn replayed<K: Kdf>(&self) -> Option<Inner<KdfFunctions>> {
        let default = self.default::<K>()?;
        let functions = &default.functions;
        let params = self.settings.params::<K>();
        // SAFETY: the default provider's functions with its context, and an array that ends with `Param::END`.
        unsafe {
            let inner = Inner::of(functions, functions.newctx?(default.context))?;
            let is_set = self.settings.is_empty()
                || functions.set_ctx_params?(inner.at(), params.as_ptr().cast_mut()) == 1;
            is_set.then_some(inner)
        }
    }

    /// Hands this context's work to the default provider, and returns its context.
    fn leave<K: Kdf>(&mut self) -> Option<&Inner<KdfFunctions>> {
        if self.inner.is_none() {
            self.inner = Some(self.replayed::<K>()?);
        }
        self.inner.as_ref()
    }

    /// Sets parameters; `None` if they are not regular, and then none is set.
    fn set<K: Kdf>(&mut self, params: Params<'_>) -> Option<()> {
        let given = settings::Given::of(params, K::field)?;
        if !K::may_set(&self.settings, &given) {
            return None;
        }
        self.settings.set(&given);
        Some(())
    }
}

/// # Safety
/// `provider` is what `OSSL_provider_init` gave the core, which has not torn it down.
unsafe fn default_of<'a, K: Kdf>(
    provider: *const Provider,
) -> Option<&'a DefaultAlgorithm<KdfFunctions>> {
    // SAFETY: the caller promises that the provider exists, which keeps the default provider's KDFs.
    unsafe { (*provider).defaults.get()?.kdfs[K::INDEX].as_ref() }
}

/// # Safety
/// `provider` is what `OSSL_provider_init` gave the core.
unsafe extern "C" fn newctx<K: Kdf>(provider: *mut c_void) -> *mut c_void {
    catching(null_mut(), || {
        Box::into_raw(Context::new(provider.cast())).cast()
    })
}

/// # Safety
/// `context` is null or a context of ours, and no other call uses it.
unsafe extern "C" fn dupctx(context: *mut c_void) -> *mut c_void {
    catching(null_mut(), || {
        // SAFETY: the core copies null, or a context from `newctx` or `dupctx` that no other call uses.
        let Some(context) = (unsafe { context.cast::<Context>().as_ref() }) else {
            return null_mut();
        };
        let mut copy = Context::new(context.provider);
        context.settings.copy_to(&mut copy.settings);
        if let Some(inner) = &context.inner {
            copy.inner = inner.copy();
            if copy.inner.is_none() {
                return null_mut();
            }
        }
        Box::into_raw(copy).cast()
    })
}

/// # Safety
/// As for [`dupctx`].
unsafe extern "C" fn reset(context: *mut c_void) {
    catching((), || {
        // SAFETY: the core resets null, or a context from `newctx` or `dupctx` that no other call uses.
        if let Some(context) = unsafe { context.cast::<Context>().as_mut() } {
            context.inner = None;
            context.settings.reset();
        }
    });
}

/// # Safety
/// As for [`dupctx`]; `params` is null or an array that ends with [`Param::END`].
unsafe extern "C" fn set_ctx_params<K: Kdf>(context: *mut c_void, params: *mut Param) -> c_int {
    catching(0, || {
        // SAFETY: null or a context of ours that no other call uses; parameters that end.
        unsafe {
            let Some(context) = context.cast::<Context>().as_mut() else {
                return 0;
            };
            if params.is_null() {
                return 1;
            }
            if context.inner.is_none() && context.set::<K>(Params::new(params)).is_some() {
                return 1;
            }
            let mut set = || {
                let inner = context.leave::<K>()?;
                Some(inner.functions().set_ctx_params?(inner.at(), params))
            };
            set().unwrap_or(0)
        }
    })
}

/// # Safety
/// As for [`set_ctx_params`]; `output` is null or has `bytes` bytes.
unsafe extern "C" fn derive<K: Kdf>(
    context: *mut c_void,
    output: *mut u8,
    bytes: usize,
    params: *const Param,
) -> c_int {
    catching(0, || {
        // SAFETY: null or a context of ours that no other call uses, whose provider exists; parameters that end; an
        // output of `bytes` bytes.
        unsafe {
            let Some(context) = context.cast::<Context>().as_mut() else {
                return 0;
            };
            let params = params.cast_mut();
            let is_regular = context.inner.is_none() && !output.is_null() && bytes > 0;
            let is_set =
                is_regular && (params.is_null() || context.set::<K>(Params::new(params)).is_some());
            if is_set {
                let output = std::slice::from_raw_parts_mut(output, bytes);
                if K::derive(&context.settings, output).is_some() {
                    (*context.provider).count(K::PRIMITIVE, Performed::Derived);
                    return 1;
                }
            }
            let mut derive = || {
                let inner = context.leave::<K>()?;
                // Do not set what is set already: a seed would be used twice.
                let params = if is_set { null_mut() } else { params };
                Some(inner.functions().derive?(inner.at(), output, bytes, params))
            };
            derive().unwrap_or(0)
        }
    })
}

/// # Safety
/// As for [`set_ctx_params`].
unsafe extern "C" fn get_ctx_params<K: Kdf>(context: *mut c_void, params: *mut Param) -> c_int {
    catching(0, || {
        // SAFETY: null or a context of ours that no other call uses; parameters with places; the default provider's
        // functions with its context.
        unsafe {
            let Some(context) = context.cast::<Context>().as_ref() else {
                return 0;
            };
            let get = || {
                let made;
                let inner = match &context.inner {
                    Some(inner) => inner,
                    None => {
                        made = context.replayed::<K>()?;
                        &made
                    }
                };
                Some(inner.functions().get_ctx_params?(inner.at(), params))
            };
            get().unwrap_or(0)
        }
    })
}

/// # Safety
/// `provider` is what `OSSL_provider_init` gave the core.
unsafe extern "C" fn gettable_ctx_params<K: Kdf>(
    _context: *mut c_void,
    provider: *mut c_void,
) -> *const Param {
    // SAFETY: the core passes its provider to ask what can be got from a KDF.
    unsafe { described::<K>(provider, |functions| functions.gettable_ctx_params) }
}

/// # Safety
/// `provider` is what `OSSL_provider_init` gave the core.
unsafe extern "C" fn settable_ctx_params<K: Kdf>(
    _context: *mut c_void,
    provider: *mut c_void,
) -> *const Param {
    // SAFETY: the core passes its provider to ask what can be set in a KDF.
    unsafe { described::<K>(provider, |functions| functions.settable_ctx_params) }
}

/// Returns the default provider's description of its parameters.
///
/// # Safety
/// `provider` is what `OSSL_provider_init` gave the core.
unsafe fn described<K: Kdf>(
    provider: *mut c_void,
    function: impl FnOnce(&KdfFunctions) -> Option<Describe>,
) -> *const Param {
    // SAFETY: the caller passes the core's provider. The default provider's function ignores its first argument, which
    // may be null.
    unsafe {
        let describe = || {
            let default = default_of::<K>(provider.cast())?;
            Some(function(&default.functions)?(null_mut(), default.context))
        };
        describe().unwrap_or(null())
    }
}
