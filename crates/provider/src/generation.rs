//! The generation of a key here, or by the default provider once a parameter is set that only it handles.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::ptr::{null, null_mut};

use crate::abi::{Param, Params};
use crate::boxed;
use crate::caught::catching;
use crate::exported::Wrapped;
use crate::provider::Provider;

/// A generation that OpenSSL holds.
pub(crate) struct Generation {
    pub(crate) selection: c_int,
    /// The default provider's generation, made once a parameter is set that only it handles. Null before.
    pub(crate) inner: *mut c_void,
    /// The core does not tear down a provider that has a generation.
    pub(crate) provider: *const Provider,
}

/// Keys that are generated here.
pub(crate) trait Generated: Wrapped {
    /// Returns whether such a generation can be begun.
    fn is_generated(_selection: c_int) -> bool {
        true
    }

    /// Returns whether the default provider has no parameter to handle.
    fn is_regular(provider: &Provider, params: Params<'_>) -> bool;
}

impl Generation {
    /// Has the default provider set parameters; from then on it generates the key.
    ///
    /// # Safety
    /// `params` is null or an array that ends with [`Param::END`].
    unsafe fn leave<G: Generated>(&mut self, params: *const Param) -> Option<c_int> {
        // SAFETY: the provider outlives its generations, and the default provider's functions get its context, their own
        // generation and the caller's array.
        unsafe {
            let default = G::of_default(&*self.provider)?;
            if self.inner.is_null() {
                let init = default.functions.gen_init?;
                self.inner = init(default.context, self.selection, null());
            }
            if self.inner.is_null() {
                return None;
            }
            Some(default.functions.gen_set_params?(self.inner, params))
        }
    }
}

/// # Safety
/// `provider` is what `OSSL_provider_init` gave the core; `params` is null or an array that ends with [`Param::END`].
pub(crate) unsafe extern "C" fn init<G: Generated>(
    provider: *mut c_void,
    selection: c_int,
    params: *const Param,
) -> *mut c_void {
    if !G::is_generated(selection) {
        return null_mut();
    }
    catching(null_mut(), || {
        let generation = boxed::held(Generation {
            selection,
            inner: null_mut(),
            provider: provider.cast(),
        });
        // SAFETY: the generation is new and has no other user, and the core's array ends.
        unsafe {
            if set_params::<G>(generation, params) != 1 {
                cleanup::<G>(generation);
                return null_mut();
            }
        }
        generation
    })
}

/// # Safety
/// `generation` is null or from [`init`], and no other call uses it; `params` is null or an array that ends with
/// [`Param::END`].
pub(crate) unsafe extern "C" fn set_params<G: Generated>(
    generation: *mut c_void,
    params: *const Param,
) -> c_int {
    // SAFETY: the caller says that `generation` is null or from `init` and has no other user, and that the array ends.
    unsafe {
        boxed::with::<Generation>(generation, |generation| {
            let given = Params::new(params.cast_mut());
            if generation.inner.is_null() && G::is_regular(&*generation.provider, given) {
                return Some(1);
            }
            generation.leave::<G>(params)
        })
    }
}

/// # Safety
/// `generation` is null or from [`init`], and this is the core's last call with it.
pub(crate) unsafe extern "C" fn cleanup<G: Generated>(generation: *mut c_void) {
    if generation.is_null() {
        return;
    }
    catching((), || {
        // SAFETY: `generation` is a box from `init` that the core no longer uses, and the default provider's function gets
        // its own generation.
        unsafe {
            let generation = Box::from_raw(generation.cast::<Generation>());
            let default = G::of_default(&*generation.provider);
            let cleanup = default.and_then(|it| it.functions.gen_cleanup);
            if let (Some(cleanup), false) = (cleanup, generation.inner.is_null()) {
                cleanup(generation.inner);
            }
        }
    });
}
