//! A key in the engine's form, the default provider's, or both. A missing form is made from the other when it is
//! needed.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::sync::{Arc, OnceLock};

use super::keymgmt::{Managed, Management, Wrapped};
use crate::abi::{Param, Params, SELECT_ALL, SELECT_PRIVATE_KEY, SELECT_PUBLIC_KEY};
use crate::caught::catching;
use crate::default_provider::functions::KeyFunctions;
use crate::default_provider::{DefaultAlgorithm, Defaults};
use crate::provider::Provider;

/// A key that OpenSSL and contexts share.
pub(crate) struct Key<O: Ours> {
    /// The engine's form; `None` inside if the engine does not compute with this key. Empty until it is asked for.
    ours: OnceLock<Option<O>>,
    /// The default provider's key. Null until it is needed.
    inner: AtomicPtr<c_void>,
    /// Whether the default provider's key was changed later, so that only that one counts.
    is_changed: AtomicBool,
    /// The core does not tear down a provider that has a key.
    provider: *const Provider,
}

// SAFETY: threads may share the default provider's keys, which are not changed once they are in use.
unsafe impl<O: Ours> Send for Key<O> {}
// SAFETY: threads may use the default provider's keys at the same time; the other fields are atomic or set once.
unsafe impl<O: Ours> Sync for Key<O> {}

/// A key of one type in the engine's form.
pub(crate) trait Ours: Sized + Send + Sync {
    /// The selection bits that an import needs for a whole key.
    const LEAST: c_int;

    /// Whether every computation with such a key fits the stack of an OpenSSL job.
    const FITS_A_JOB: bool = true;

    /// Returns the default provider's management of such keys.
    fn default(defaults: &Defaults) -> Option<&DefaultAlgorithm<KeyFunctions>>;

    /// Creates a key from exported parameters. Returns `None` if the engine does not compute with it, if the public
    /// half is missing, and with `is_all` also if a parameter would be lost here, such as the key's encoding.
    fn of(selection: c_int, params: Params<'_>, is_all: bool) -> Option<Self>;

    /// Returns whether the key has a private half, on this machine or another.
    fn has_private(&self) -> bool;

    /// Returns another handle of a key whose private half is on another machine; `None` for local keys.
    fn elsewhere(&self) -> Option<Self> {
        None
    }

    /// Calls `give` with the arguments of an import: the selection and the parameters.
    fn give<T>(&self, give: impl FnOnce(c_int, *const Param) -> T) -> T;
}

impl<O: Ours> Key<O> {
    /// Creates a key in the engine's form, without one of the default provider.
    pub(crate) fn of(provider: *const Provider, ours: O) -> *mut c_void {
        Self::with(provider, OnceLock::from(Some(ours)), null_mut())
    }

    fn with(
        provider: *const Provider,
        ours: OnceLock<Option<O>>,
        inner: *mut c_void,
    ) -> *mut c_void {
        let key = Self {
            ours,
            inner: AtomicPtr::new(inner),
            is_changed: AtomicBool::new(false),
            provider,
        };
        Arc::into_raw(Arc::new(key)).cast_mut().cast()
    }

    /// Returns the engine's form, if the engine computes with this key.
    pub(crate) fn ours(&self) -> Option<&O> {
        if self.is_changed.load(Ordering::Acquire) {
            return None;
        }
        // An empty key may be filled later. `get_or_init` would make other threads wait, and a process forked at that
        // time would wait forever.
        if self.ours.get().is_none() && !self.inner.load(Ordering::Acquire).is_null() {
            let _ = self.ours.set(self.exported());
        }
        self.ours.get()?.as_ref()
    }

    /// Exports the default provider's key to the engine's form.
    fn exported(&self) -> Option<O> {
        let inner = self.inner.load(Ordering::Acquire);
        let functions = self.functions()?;
        let mut taken: Option<O> = None;
        let place = std::ptr::from_mut(&mut taken).cast();
        // SAFETY: the default provider's functions get their own key, and `take` gets the argument that it expects.
        unsafe {
            // Exporting a blank key would raise an error.
            if functions.has?(inner, SELECT_PUBLIC_KEY) != 1 {
                return None;
            }
            let has_private = functions.has?(inner, SELECT_PRIVATE_KEY) == 1;
            let selection = if has_private {
                SELECT_ALL
            } else {
                SELECT_ALL & !SELECT_PRIVATE_KEY
            };
            let export = functions.export?;
            self.on_enough_stack(|| export(inner, selection, take::<O>, place))?;
        }
        taken
    }

    /// Fills an empty key, which has no other user yet.
    pub(crate) fn take(&self, ours: O) -> Option<()> {
        if !self.is_empty() {
            return None;
        }
        self.ours.set(Some(ours)).ok()
    }

    fn is_empty(&self) -> bool {
        self.inner.load(Ordering::Relaxed).is_null() && self.ours.get().is_none()
    }

    fn made_of_ours(&self) -> Option<*mut c_void> {
        let default = self.default()?;
        let functions = &default.functions;
        // SAFETY: the function and the context belong to the default provider's management of these keys.
        let made = unsafe { functions.new?(default.context) };
        if made.is_null() {
            return None;
        }
        let Some(ours) = self.ours.get().and_then(Option::as_ref) else {
            return Some(made);
        };
        let import = functions.import?;
        // SAFETY: the default provider's function gets its own new key, and `give` passes an array that ends with
        // `Param::END`.
        let give = || ours.give(|selection, params| unsafe { import(made, selection, params) });
        if self.on_enough_stack(give) != Some(1) {
            // SAFETY: the default provider's function gets its own new key, which has no other owner.
            unsafe { functions.free?(made) };
            return None;
        }
        Some(made)
    }

    /// Runs a computation with such a key on a sufficient stack; returns `None` if there is no memory for one.
    pub(crate) fn on_enough_stack<T>(&self, run: impl FnOnce() -> T) -> Option<T> {
        if O::FITS_A_JOB {
            return Some(run());
        }
        self.provider().signer.on_deep_stack(run)
    }

    /// Returns another handle of the key if its private half is on another machine.
    fn elsewhere(&self) -> Option<O> {
        self.ours.get()?.as_ref()?.elsewhere()
    }

    pub(crate) fn default(&self) -> Option<&DefaultAlgorithm<KeyFunctions>> {
        O::of_default(self.provider())
    }
}

impl<O: Ours> Wrapped for O {
    fn of_default(provider: &Provider) -> Option<&DefaultAlgorithm<KeyFunctions>> {
        O::default(provider.defaults.get()?)
    }
}

impl<O: Ours> Management for O {
    type Key = Key<O>;

    fn empty(provider: &Provider) -> *mut c_void {
        Key::<O>::with(provider, OnceLock::new(), null_mut())
    }

    unsafe fn around(provider: &Provider, inner: *mut c_void) -> *mut c_void {
        if inner.is_null() {
            return null_mut();
        }
        Key::<O>::with(provider, OnceLock::new(), inner)
    }
}

impl<O: Ours> Managed for Key<O> {
    const PRIVATE: &[&[u8]] = &[b"priv", b"seed"];

    fn provider(&self) -> &Provider {
        // SAFETY: the core tears the provider down after its last key, and this key is in use.
        unsafe { &*self.provider }
    }

    fn functions(&self) -> Option<&KeyFunctions> {
        Some(&self.default()?.functions)
    }

    /// Returns the default provider's key, made from the engine's form if it is missing.
    fn inner(&self) -> Option<*mut c_void> {
        let found = self.inner.load(Ordering::Acquire);
        if !found.is_null() {
            return Some(found);
        }
        let functions = self.functions()?;
        let made = self.made_of_ours()?;
        let swapped =
            self.inner
                .compare_exchange(null_mut(), made, Ordering::AcqRel, Ordering::Acquire);
        match swapped {
            Ok(_) => Some(made),
            // Another thread was first.
            Err(found) => {
                // SAFETY: the default provider's function gets its own key, which no other thread has seen.
                unsafe { functions.free?(made) };
                Some(found)
            }
        }
    }

    /// Returns the part of a selection that the default provider's key has, without a private half on another machine.
    fn selected(&self, selection: c_int) -> c_int {
        match self.elsewhere() {
            Some(_) => selection & !SELECT_PRIVATE_KEY,
            None => selection,
        }
    }

    fn has(&self, selection: c_int) -> Option<bool> {
        let ours = self.ours()?;
        Some(selection & SELECT_PRIVATE_KEY == 0 || ours.has_private())
    }

    /// Fills an empty key, which has no other user yet, if the engine computes with what is imported.
    fn import(&self, selection: c_int, params: Params<'_>) -> Option<()> {
        if selection & O::LEAST != O::LEAST || !self.is_empty() {
            return None;
        }
        let ours = self.on_enough_stack(|| O::of(selection, params, true));
        self.take(ours??)
    }

    /// Records that the default provider's key was changed: from then on an engine's form that existed is ignored. If
    /// the private half is on another machine, only the encoding of the public half can have changed, so nothing is
    /// recorded.
    fn change(&self) {
        if self.ours.get().is_some() && self.elsewhere().is_none() {
            self.is_changed.store(true, Ordering::Release);
        }
    }

    fn copy(&self, selection: c_int) -> Option<*mut c_void> {
        let is_whole = selection & SELECT_PRIVATE_KEY != 0;
        if let Some(ours) = self.elsewhere().filter(|_| is_whole) {
            return Some(Self::of(self.provider, ours));
        }
        let selection = self.selected(selection);
        // SAFETY: the default provider copies its own key, and the copy has no other owner.
        unsafe {
            let copy = self.functions()?.dup?(self.inner()?, selection);
            Some(O::around(self.provider(), copy))
        }
    }
}

impl<O: Ours> Drop for Key<O> {
    fn drop(&mut self) {
        let inner = *self.inner.get_mut();
        let free = self.functions().and_then(|it| it.free);
        if let (Some(free), false) = (free, inner.is_null()) {
            // SAFETY: the default provider's function gets its own key, whose only owner is being dropped.
            unsafe { free(inner) };
        }
    }
}

/// # Safety
/// `taken` is the argument that `Key::exported` passed with this function; `params` is an array that ends with
/// [`Param::END`].
unsafe extern "C" fn take<O: Ours>(params: *const Param, taken: *mut c_void) -> c_int {
    catching(0, || {
        // SAFETY: `taken` is the argument of `exported`, which nothing else accesses during the call, and the default
        // provider's array ends.
        unsafe {
            let params = Params::new(params.cast_mut());
            *taken.cast::<Option<O>>() = O::of(SELECT_ALL, params, false);
        }
        1
    })
}
