//! Objects that OpenSSL holds by a pointer: keys that only it owns, contexts and generations.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

use crate::caught::catching;

/// Returns a pointer for OpenSSL, which frees the object by [`free`].
pub(crate) fn held<T>(object: T) -> *mut c_void {
    Box::into_raw(Box::new(object)).cast()
}

/// # Safety
/// `object` is null or a `T` from [`held`] or [`dup`], and this is the core's last call with it.
pub(crate) unsafe extern "C" fn free<T>(object: *mut c_void) {
    if !object.is_null() {
        catching((), || {
            // SAFETY: `object` is a box of a `T`, as the caller says, and the core no longer uses it.
            drop(unsafe { Box::from_raw(object.cast::<T>()) });
        });
    }
}

/// A context that OpenSSL copies.
pub(crate) trait Copied: Sized {
    /// Returns a copy that continues from the same state. Several threads may copy one context at once.
    fn copy(&self) -> Option<Self>;
}

/// # Safety
/// `object` is null or a `T` from [`held`] or [`dup`], which no other call changes.
pub(crate) unsafe extern "C" fn dup<T: Copied>(object: *mut c_void) -> *mut c_void {
    catching(null_mut(), || {
        // SAFETY: `object` is null or a `T` that no other call changes, as the caller says.
        let copy = unsafe { object.cast::<T>().as_ref() }.and_then(T::copy);
        copy.map_or(null_mut(), held)
    })
}

/// Calls `call` with an object; returns 0 without one, or if `call` returns nothing.
///
/// # Safety
/// `object` is null or a `T` from [`held`] or [`dup`], and no other call uses it.
pub(crate) unsafe fn with<T>(
    object: *mut c_void,
    call: impl FnOnce(&mut T) -> Option<c_int>,
) -> c_int {
    catching(0, || {
        // SAFETY: `object` is null or a `T` that no other call uses, as the caller says.
        let object = unsafe { object.cast::<T>().as_mut() };
        object.and_then(call).unwrap_or(0)
    })
}
