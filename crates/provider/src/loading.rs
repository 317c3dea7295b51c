//! What a provider is told that the module of a configuration loads (conf_module.rs), and what that learns of it.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_void};
use std::ptr::null;

use crate::abi::Dispatch;

/// Runs `load`, which loads a provider. Its section of the configuration has the `values` of [`KEYS`], null where it has
/// none.
///
/// # Safety
/// The values are texts that end with a zero, until this returns.
pub(crate) unsafe fn with(values: [*const c_char; KEYS.len()], load: impl FnOnce()) {
    VALUES.set(Some(values));
    LAST.set((null(), null()));
    load();
    VALUES.set(None);
}

/// What the section of the provider that is being loaded says of `key`; used at once.
pub(crate) fn told(key: &CStr) -> Option<&'static CStr> {
    let at = KEYS.iter().position(|it| *it == key)?;
    let value = VALUES.get()?[at];
    // SAFETY: `with` is at work, whose caller says that they are texts.
    (!value.is_null()).then(|| unsafe { CStr::from_ptr(value) })
}

/// Whether a provider is being loaded in this way.
pub(crate) fn is_at_work() -> bool {
    VALUES.get().is_some()
}

/// The core with this `handle` and table has loaded a provider of this library.
pub(crate) fn is_loaded(handle: *const c_void, core: *const Dispatch) {
    LAST.set((handle, core));
}

/// What [`is_loaded`] was told last, since [`with`] began.
pub(crate) fn last() -> (*const c_void, *const Dispatch) {
    LAST.get()
}

thread_local! {
    static VALUES: Cell<Option<[*const c_char; KEYS.len()]>> = const { Cell::new(None) };
    static LAST: Cell<(*const c_void, *const Dispatch)> = const { Cell::new((null(), null())) };
}

/// What a section may have.
pub(crate) const KEYS: [&CStr; 6] = [
    c"options",
    c"stats",
    c"calibration",
    c"local",
    c"relay",
    c"post-quantum",
];
