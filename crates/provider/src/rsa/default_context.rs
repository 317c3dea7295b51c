//! Common parts of the contexts of signatures and of encryption: each wraps one of the default provider.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::ptr::{null, null_mut};

use crate::abi::Param;
use crate::caught::catching;
use crate::default_provider::functions::Describe;
use crate::default_provider::rsa::DefaultRsa;
use crate::provider::Provider;

/// A context, as OpenSSL holds it.
pub(super) trait Around {
    /// The default provider's functions.
    type Functions;

    fn functions_of(rsa: &DefaultRsa) -> &Self::Functions;

    /// Returns the default provider's context, with all settings.
    fn inner(&self) -> *mut c_void;

    /// Returns the provider. The core does not tear down a provider that has a context.
    fn provider(&self) -> &Provider;

    fn functions(&self) -> Option<&Self::Functions> {
        Some(Self::functions_of(self.provider().default_rsa()?))
    }
}

/// Calls `call` with a context and the default provider's functions. Returns 0 without a context.
///
/// # Safety
/// `context` is null or a `C`, and no other call uses it.
pub(super) unsafe fn with<C: Around>(
    context: *mut c_void,
    call: impl FnOnce(&mut C, &C::Functions) -> Option<c_int>,
) -> c_int {
    catching(0, || {
        // SAFETY: `context` is null or a `C` that no other call uses, as the caller promises; the functions are part of
        // the provider, which outlives its contexts.
        unsafe {
            let Some(context) = context.cast::<C>().as_mut() else {
                return 0;
            };
            let provider = std::ptr::from_ref(context.provider());
            let Some(rsa) = (*provider).default_rsa() else {
                return 0;
            };
            call(context, C::functions_of(rsa)).unwrap_or(0)
        }
    })
}

/// Defines functions that forward to the default provider's, with its own context.
macro_rules! forwarding {
    ($context:ty: $($name:ident($($argument:ident: $type:ty),+);)+) => {
        $(/// # Safety
        /// As for the default provider's function, with a context of ours in place of its own.
        unsafe extern "C" fn $name(context: *mut c_void, $($argument: $type),+) -> c_int {
            // SAFETY: the core passes a context of ours, and the arguments of the default provider's function.
            unsafe {
                $crate::rsa::default_context::with::<$context>(context, |context, inner| {
                    Some(inner.$name?(context.inner.at(), $($argument),+))
                })
            }
        })+
    };
}
pub(super) use forwarding;

/// Returns the default provider's description of its parameters.
///
/// # Safety
/// `context` is null or a `C`, and no other call uses it; `provider` is the core's.
pub(super) unsafe fn described<C: Around>(
    context: *mut c_void,
    provider: *mut c_void,
    function: impl FnOnce(&C::Functions) -> Option<Describe>,
) -> *const Param {
    // SAFETY: `context` is null or a `C`, and `provider` is the core's, as the caller promises; the default provider's
    // function gets its own context and provider.
    unsafe {
        let inner = context.cast::<C>().as_ref();
        let inner = inner.map_or(null_mut(), Around::inner);
        let describe = || {
            let rsa = (*provider.cast::<Provider>()).default_rsa()?;
            Some(function(C::functions_of(rsa))?(inner, rsa.context))
        };
        describe().unwrap_or(null())
    }
}
