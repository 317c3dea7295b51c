//! What conf_module.rs tells the provider that it loads, and what it learns from the provider.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_void};
use std::ptr::null;

use crate::abi::Dispatch;

/// Runs `load`, which loads a provider. Its section of the configuration has the `values` of [`KEYS`], with null for
/// those that it lacks.
///
/// # Safety
/// The values are texts that end with a zero and stay valid until this returns.
pub(crate) unsafe fn with(values: [*const c_char; KEYS.len()], load: impl FnOnce()) {
    /// Forgets the values when `load` returns or panics: they are the caller's.
    struct Told;
    impl Drop for Told {
        fn drop(&mut self) {
            VALUES.set(None);
        }
    }
    let _told = Told;
    VALUES.set(Some(values));
    LAST.set((null(), null()));
    load();
}

/// Returns the value of `key` in the section of the provider that is being loaded. It must be used at once.
pub(crate) fn told(key: &CStr) -> Option<&'static CStr> {
    let at = KEYS.iter().position(|it| *it == key)?;
    let value = VALUES.get()?[at];
    // SAFETY: `with` is running, and its caller promises that the values are texts.
    (!value.is_null()).then(|| unsafe { CStr::from_ptr(value) })
}

/// Whether a provider is being loaded in this way.
pub(crate) fn is_at_work() -> bool {
    VALUES.get().is_some()
}

/// Records that the core with this `handle` and table has loaded a provider of this library.
pub(crate) fn is_loaded(handle: *const c_void, core: *const Dispatch) {
    LAST.set((handle, core));
}

/// Returns the last arguments of [`is_loaded`] since [`with`] began.
pub(crate) fn last() -> (*const c_void, *const Dispatch) {
    LAST.get()
}

thread_local! {
    static VALUES: Cell<Option<[*const c_char; KEYS.len()]>> = const { Cell::new(None) };
    static LAST: Cell<(*const c_void, *const Dispatch)> = const { Cell::new((null(), null())) };
}

/// The keys that a section may have.
pub(crate) const KEYS: [&CStr; 6] = [
    c"options",
    c"stats",
    c"calibration",
    c"local",
    c"relay",
    c"post-quantum",
];
