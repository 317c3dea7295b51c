//! What contexts of signatures and of encryption have in common: each is put around one of the default provider's.
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
    /// The default provider's.
    type Functions;

    fn functions_of(rsa: &DefaultRsa) -> &Self::Functions;

    /// The default provider's context, with all settings.
    fn inner(&self) -> *mut c_void;

    /// The core tears no provider down that has a context.
    fn provider(&self) -> &Provider;

    fn functions(&self) -> Option<&Self::Functions> {
        Some(Self::functions_of(self.provider().default_rsa()?))
    }
}

/// Calls `call` with a context and the default provider's functions; 0 without a context.
///
/// # Safety
/// `context` is null or a `C`, and no other call with it is under way.
pub(super) unsafe fn with<C: Around>(
    context: *mut c_void,
    call: impl FnOnce(&mut C, &C::Functions) -> Option<c_int>,
) -> c_int {
    catching(0, || {
        // SAFETY: `context` is null or a `C` that no other call uses, as the caller says; the functions are
        // part of the provider, which lives as long as its contexts.
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

/// What the default provider does with its own context.
macro_rules! forwarding {
    ($context:ty: $($name:ident($($argument:ident: $type:ty),+);)+) => {
        $(/// # Safety
        /// As for the default provider's function, with a context of ours in place of its own.
        unsafe extern "C" fn $name(context: *mut c_void, $($argument: $type),+) -> c_int {
            // SAFETY: the core hands over a context of ours, and what the default provider's function takes.
            unsafe {
                $crate::rsa::default_context::with::<$context>(context, |context, inner| {
                    Some(inner.$name?(context.inner, $($argument),+))
                })
            }
        })+
    };
}
pub(super) use forwarding;

/// # Safety
/// `context` is null or a `C` of ours, and this is the core's last call with it.
pub(super) unsafe extern "C" fn freectx<C: Around>(context: *mut c_void) {
    if !context.is_null() {
        catching((), || {
            // SAFETY: a `C` in a box, and this is the core's last call with it.
            drop(unsafe { Box::from_raw(context.cast::<C>()) });
        });
    }
}

/// What the default provider says of its parameters.
///
/// # Safety
/// `context` is null or a `C`, and no other call with it is under way; `provider` is the core's.
pub(super) unsafe fn described<C: Around>(
    context: *mut c_void,
    provider: *mut c_void,
    function: impl FnOnce(&C::Functions) -> Option<Describe>,
) -> *const Param {
    // SAFETY: `context` is null or a `C`, and `provider` the core's, as the caller says; the default provider's
    // function with its context and itself.
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
