//! A key: ours, the default provider's, or both. Whichever it was not made as, it becomes when that is needed.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::sync::{Arc, OnceLock};

use crate::abi::{Param, Params, SELECT_ALL, SELECT_PRIVATE_KEY, SELECT_PUBLIC_KEY};
use crate::caught::catching;
use crate::default_provider::functions::KeyFunctions;
use crate::default_provider::{DefaultAlgorithm, Defaults};
use crate::provider::Provider;

/// A key, as OpenSSL holds it and as contexts hold it.
pub(crate) struct Key<O: Ours> {
    /// Ours; `None` inside if it is none that we compute with. Empty before anybody asked.
    ours: OnceLock<Option<O>>,
    /// The default provider's. Null before it is needed.
    inner: AtomicPtr<c_void>,
    /// Whether the default provider's was changed since: only that one counts then.
    is_changed: AtomicBool,
    /// The core tears no provider down that has a key.
    provider: *const Provider,
}

// SAFETY: the default provider's keys may be used by several threads at once, and are not changed once they are in use.
unsafe impl<O: Ours> Send for Key<O> {}
// SAFETY: the default provider's keys may be used by several threads at once; the rest is atomic or set once.
unsafe impl<O: Ours> Sync for Key<O> {}

/// A key of one type in the engine's form.
pub(crate) trait Ours: Sized + Send + Sync {
    /// The selection bits that an import needs for a whole key.
    const LEAST: c_int;

    /// Whether everything that is computed with such a key fits the stack of a job of OpenSSL's.
    const FITS_A_JOB: bool = true;

    /// The default provider's management of them.
    fn default(defaults: &Defaults) -> Option<&DefaultAlgorithm<KeyFunctions>>;

    /// Takes what an export gives; `None` for what the engine does not compute with, for no public half, and with `is_all` for
    /// anything that would be lost here, such as how the key is to be written.
    fn of(selection: c_int, params: Params<'_>, is_all: bool) -> Option<Self>;

    /// Whether it has a private half, here or elsewhere.
    fn has_private(&self) -> bool;

    /// Another handle of a key whose private half is on another machine; `None` for keys that are here.
    fn elsewhere(&self) -> Option<Self> {
        None
    }

    /// Calls `give` with what an import takes, which is the selection and its parameters.
    fn give<T>(&self, give: impl FnOnce(c_int, *const Param) -> T) -> T;
}

impl<O: Ours> Key<O> {
    /// An empty one.
    pub(crate) fn empty(provider: *const Provider) -> *mut c_void {
        Self::held(provider, null_mut())
    }

    /// The default provider's; null if there is none.
    ///
    /// # Safety
    /// `inner` is null or a key of the default provider's that nobody else has.
    pub(crate) unsafe fn around(provider: *const Provider, inner: *mut c_void) -> *mut c_void {
        if inner.is_null() {
            return null_mut();
        }
        Self::held(provider, inner)
    }

    /// A key of ours that the default provider does not have.
    pub(crate) fn of(provider: *const Provider, ours: O) -> *mut c_void {
        Self::with(provider, OnceLock::from(Some(ours)), null_mut())
    }

    fn held(provider: *const Provider, inner: *mut c_void) -> *mut c_void {
        Self::with(provider, OnceLock::new(), inner)
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

    /// One more owner of what OpenSSL holds.
    ///
    /// # Safety
    /// `key` is null or a key of ours that is not freed during the call.
    pub(crate) unsafe fn shared(key: *mut c_void) -> Option<Arc<Self>> {
        let key = key.cast::<Self>().cast_const();
        if key.is_null() {
            return None;
        }
        // SAFETY: as the caller says, it is of `Arc::into_raw`, and has an owner.
        unsafe {
            Arc::increment_strong_count(key);
            Some(Arc::from_raw(key))
        }
    }

    /// Ours, if we compute with it.
    pub(crate) fn ours(&self) -> Option<&O> {
        if self.is_changed.load(Ordering::Acquire) {
            return None;
        }
        // An empty key may become ours. Not by `get_or_init`, where others wait: a child that is forked in the meantime would
        // wait forever.
        if self.ours.get().is_none() && !self.inner.load(Ordering::Acquire).is_null() {
            let _ = self.ours.set(self.exported());
        }
        self.ours.get()?.as_ref()
    }

    /// Ours, of the default provider's.
    fn exported(&self) -> Option<O> {
        let inner = self.inner.load(Ordering::Acquire);
        let functions = &self.default()?.functions;
        let mut taken: Option<O> = None;
        let place = std::ptr::from_mut(&mut taken).cast();
        // SAFETY: the default provider's functions with its key; the callback knows what its argument is.
        unsafe {
            // An export of a blank key raises an error.
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

    /// Makes an empty one ours, if it can be. Nobody else has it yet.
    pub(crate) fn import(&self, selection: c_int, params: Params<'_>) -> Option<()> {
        if selection & O::LEAST != O::LEAST || !self.is_empty() {
            return None;
        }
        let ours = self.on_enough_stack(|| O::of(selection, params, true));
        self.take(ours??)
    }

    /// Makes an empty one this one. Nobody else has it yet.
    pub(crate) fn take(&self, ours: O) -> Option<()> {
        if !self.is_empty() {
            return None;
        }
        self.ours.set(Some(ours)).ok()
    }

    fn is_empty(&self) -> bool {
        self.inner.load(Ordering::Relaxed).is_null() && self.ours.get().is_none()
    }

    /// The default provider's, made of ours if it is not there.
    pub(crate) fn inner(&self) -> Option<*mut c_void> {
        let found = self.inner.load(Ordering::Acquire);
        if !found.is_null() {
            return Some(found);
        }
        let functions = &self.default()?.functions;
        let made = self.made_of_ours()?;
        let swapped =
            self.inner
                .compare_exchange(null_mut(), made, Ordering::AcqRel, Ordering::Acquire);
        match swapped {
            Ok(_) => Some(made),
            // Another thread was first.
            Err(found) => {
                // SAFETY: the default provider's function with its key, which nobody else has.
                unsafe { functions.free?(made) };
                Some(found)
            }
        }
    }

    fn made_of_ours(&self) -> Option<*mut c_void> {
        let default = self.default()?;
        let functions = &default.functions;
        // SAFETY: the default provider's function with the context that was found with it.
        let made = unsafe { functions.new?(default.context) };
        if made.is_null() {
            return None;
        }
        let Some(ours) = self.ours.get().and_then(Option::as_ref) else {
            return Some(made);
        };
        let import = functions.import?;
        // SAFETY: the default provider's function with its key that nobody else has, and an array that ends as it must.
        let give = || ours.give(|selection, params| unsafe { import(made, selection, params) });
        if self.on_enough_stack(give) != Some(1) {
            // SAFETY: the default provider's function with its key that nobody else has.
            unsafe { functions.free?(made) };
            return None;
        }
        Some(made)
    }

    /// Runs what computes with such a key; `None` if there is no stack for it.
    pub(crate) fn on_enough_stack<T>(&self, run: impl FnOnce() -> T) -> Option<T> {
        if O::FITS_A_JOB {
            return Some(run());
        }
        // SAFETY: the core tears the provider down after this key, which it is using.
        unsafe { (*self.provider).signer.on_deep_stack(run) }
    }

    /// Another handle of it, if its private half is on another machine.
    pub(super) fn elsewhere(&self) -> Option<O> {
        self.ours.get()?.as_ref()?.elsewhere()
    }

    /// Returns the part of a selection that the default provider's key can answer for: not a private half on another machine.
    pub(super) fn selected(&self, selection: c_int) -> c_int {
        match self.elsewhere() {
            Some(_) => selection & !SELECT_PRIVATE_KEY,
            None => selection,
        }
    }

    /// The default provider's has been changed: if there was one of ours, it counts no more. Of a key whose private half is
    /// elsewhere no more is changed than how the public half is written.
    pub(crate) fn change(&self) {
        if self.ours.get().is_some() && self.elsewhere().is_none() {
            self.is_changed.store(true, Ordering::Release);
        }
    }

    pub(crate) fn default(&self) -> Option<&DefaultAlgorithm<KeyFunctions>> {
        // SAFETY: the provider lives as long as its keys.
        let defaults = unsafe { (*self.provider).defaults.get()? };
        O::default(defaults)
    }

    pub(crate) fn provider(&self) -> *const Provider {
        self.provider
    }
}

impl<O: Ours> Drop for Key<O> {
    fn drop(&mut self) {
        let inner = *self.inner.get_mut();
        let free = self.default().and_then(|it| it.functions.free);
        if let (Some(free), false) = (free, inner.is_null()) {
            // SAFETY: the default provider's function with its key, which nobody else has.
            unsafe { free(inner) };
        }
    }
}

/// # Safety
/// `taken` is the argument that `Key::exported` gave with this function; `params` is an array that ends with
/// [`Param::END`].
unsafe extern "C" fn take<O: Ours>(params: *const Param, taken: *mut c_void) -> c_int {
    catching(0, || {
        // SAFETY: the argument of `exported`, which nothing else refers to during the call, and the default provider's
        // parameters.
        unsafe {
            let params = Params::new(params.cast_mut());
            *taken.cast::<Option<O>>() = O::of(SELECT_ALL, params, false);
        }
        1
    })
}
