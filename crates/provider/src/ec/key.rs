//! A key: ours, the default provider's, or both. Whichever it was not made as, it becomes when that is needed.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::sync::{Arc, OnceLock};

use oarlock_engine::ec::{Curve, EcPrivateKey, EcPublicKey, POINT_BYTES_MAX};
use zeroize::Zeroizing;

use crate::abi::{
    Param, Params, SELECT_ALL, SELECT_DOMAIN_PARAMETERS, SELECT_PRIVATE_KEY, SELECT_PUBLIC_KEY,
    Value,
};
use crate::caught::catching;
use crate::default_provider::DefaultAlgorithm;
use crate::default_provider::functions::KeyFunctions;
use crate::provider::Provider;

/// A key, as OpenSSL holds it and as contexts hold it.
pub(super) struct Key {
    /// Ours; `None` inside if it is none that we compute with. Empty before anybody asked.
    ours: OnceLock<Option<Ours>>,
    /// The default provider's. Null before it is needed.
    inner: AtomicPtr<c_void>,
    /// Whether the default provider's was changed since: only that one counts then.
    is_changed: AtomicBool,
    /// The core tears no provider down that has a key.
    provider: *const Provider,
}

// SAFETY: the default provider's keys may be used by several threads at once, and are not changed once they are in use.
unsafe impl Send for Key {}
// SAFETY: the default provider's keys may be used by several threads at once; the rest is atomic or set once.
unsafe impl Sync for Key {}

/// A key on one of the engine's curves.
pub(super) enum Ours {
    Public(EcPublicKey),
    Private(EcPrivateKey),
}

impl Ours {
    pub(super) fn public(&self) -> &EcPublicKey {
        match self {
            Self::Public(key) => key,
            Self::Private(key) => key.public_key(),
        }
    }

    pub(super) fn private(&self) -> Option<&EcPrivateKey> {
        match self {
            Self::Public(_) => None,
            Self::Private(key) => Some(key),
        }
    }

    /// Takes what an export gives; `None` for another curve, for no public half, and with `is_all` for anything that would be
    /// lost here, such as how the key is to be written.
    fn of(selection: c_int, params: Params<'_>, is_all: bool) -> Option<Self> {
        let (mut curve, mut point, mut scalar) = (None, None, None);
        let taken = params.each(|name, value| {
            match name {
                b"group" => curve = Some(curve_named(value.text().ok_or(())?).ok_or(())?),
                b"pub" => point = Some(value.given_octets().ok_or(())?),
                b"priv" => scalar = Some(value.number_octets().ok_or(())?),
                _ if !is_all || is_usual(name, value) => {}
                _ => return Err(()),
            }
            Ok(())
        });
        taken.ok()?;
        let (curve, point) = (curve?, point?);
        let scalar = scalar.filter(|_| selection & SELECT_PRIVATE_KEY != 0);
        let Some(scalar) = scalar else {
            return EcPublicKey::new(curve, point).ok().map(Self::Public);
        };
        // The lowest octet is first.
        let mut reversed = Zeroizing::new([0; SCALAR_BYTES_MAX]);
        let reversed = reversed.get_mut(..scalar.len())?;
        reversed.copy_from_slice(scalar);
        reversed.reverse();
        let key = EcPrivateKey::with_point(curve, reversed, point);
        key.ok().map(Self::Private)
    }
}

impl Key {
    /// An empty one.
    pub(super) fn empty(provider: *const Provider) -> *mut c_void {
        Self::held(provider, null_mut())
    }

    /// The default provider's; null if there is none.
    ///
    /// # Safety
    /// `inner` is null or a key of the default provider's that nobody else has.
    pub(super) unsafe fn around(provider: *const Provider, inner: *mut c_void) -> *mut c_void {
        if inner.is_null() {
            return null_mut();
        }
        Self::held(provider, inner)
    }

    fn held(provider: *const Provider, inner: *mut c_void) -> *mut c_void {
        let key = Self {
            ours: OnceLock::new(),
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
    pub(super) unsafe fn shared(key: *mut c_void) -> Option<Arc<Self>> {
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
    pub(super) fn ours(&self) -> Option<&Ours> {
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
    fn exported(&self) -> Option<Ours> {
        let inner = self.inner.load(Ordering::Acquire);
        let functions = &self.default()?.functions;
        let mut taken: Option<Ours> = None;
        let place = std::ptr::from_mut(&mut taken).cast();
        // SAFETY: the default provider's functions with its key; the callback knows what its argument is.
        unsafe {
            let has_private = functions.has?(inner, SELECT_PRIVATE_KEY) == 1;
            let selection = if has_private {
                SELECT_ALL
            } else {
                SELECT_ALL & !SELECT_PRIVATE_KEY
            };
            functions.export?(inner, selection, take, place);
        }
        taken
    }

    /// Makes an empty one ours, if it can be. Nobody else has it yet.
    pub(super) fn import(&self, selection: c_int, params: Params<'_>) -> Option<()> {
        let least = SELECT_DOMAIN_PARAMETERS | SELECT_PUBLIC_KEY;
        let is_whole = selection & least == least;
        let is_empty = self.inner.load(Ordering::Relaxed).is_null() && self.ours.get().is_none();
        if !is_whole || !is_empty {
            return None;
        }
        let ours = Ours::of(selection, params, true)?;
        self.ours.set(Some(ours)).ok()
    }

    /// The default provider's, made of ours if it is not there.
    pub(super) fn inner(&self) -> Option<*mut c_void> {
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
        let mut place = [0; POINT_BYTES_MAX];
        let point = ours.public().point(&mut place);
        let mut scalar = ours.private().map(EcPrivateKey::scalar);
        let mut params = [Param::END; 4];
        let name = group_name(ours.public().curve());
        params[0] = Param::giving_text(c"group", name.to_bytes());
        params[1] = Param::giving_octets(c"pub", point);
        let mut selection = SELECT_ALL & !SELECT_PRIVATE_KEY;
        if let Some(scalar) = &mut scalar {
            scalar.reverse();
            params[2] = Param::giving_number(c"priv", scalar);
            selection = SELECT_ALL;
        }
        // SAFETY: the default provider's functions with its key that nobody else has, and an array that ends as it must.
        unsafe {
            if functions.import?(made, selection, params.as_ptr()) != 1 {
                functions.free?(made);
                return None;
            }
        }
        Some(made)
    }

    /// The default provider's has been changed: if there was one of ours, it counts no more.
    pub(super) fn change(&self) {
        if self.ours.get().is_some() {
            self.is_changed.store(true, Ordering::Release);
        }
    }

    pub(super) fn default(&self) -> Option<&DefaultAlgorithm<KeyFunctions>> {
        // SAFETY: the provider lives as long as its keys.
        unsafe { (*self.provider).defaults.get()?.ec.as_ref() }
    }

    pub(super) fn provider(&self) -> *const Provider {
        self.provider
    }
}

impl Drop for Key {
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
unsafe extern "C" fn take(params: *const Param, taken: *mut c_void) -> c_int {
    catching(0, || {
        // SAFETY: the argument of `exported`, which nothing else refers to during the call, and the default provider's
        // parameters.
        unsafe {
            let params = Params::new(params.cast_mut());
            *taken.cast::<Option<Ours>>() = Ours::of(SELECT_ALL, params, false);
        }
        1
    })
}

/// The curve of a name, in any of the spellings that OpenSSL takes.
fn curve_named(name: &[u8]) -> Option<Curve> {
    let mut names = GROUPS.iter();
    let found = names.find(|(one, _)| name.eq_ignore_ascii_case(one.to_bytes()));
    found.map(|(_, curve)| *curve)
}

/// The name that the default provider takes and gives.
fn group_name(curve: Curve) -> &'static CStr {
    match curve {
        Curve::P256 => c"prime256v1",
        Curve::P384 => c"secp384r1",
        Curve::P521 => c"secp521r1",
    }
}

/// Whether a parameter says what is usual, and changes nothing that a signature or a shared secret depends on.
fn is_usual(name: &[u8], value: Value<'_>) -> bool {
    let text = |usual: &[u8]| {
        value
            .text()
            .is_some_and(|it| it.eq_ignore_ascii_case(usual))
    };
    match name {
        b"point-format" => text(b"uncompressed"),
        b"encoding" => text(b"named_curve"),
        b"group-check" => text(b"default"),
        b"decoded-from-explicit" => value.number() == Some(0_u32),
        // These curves have a cofactor of 1.
        b"use-cofactor-flag" => matches!(value.number(), Some(0 | 1_u32)),
        _ => false,
    }
}

const GROUPS: [(&CStr, Curve); 6] = [
    (c"prime256v1", Curve::P256),
    (c"P-256", Curve::P256),
    (c"secp384r1", Curve::P384),
    (c"P-384", Curve::P384),
    (c"secp521r1", Curve::P521),
    (c"P-521", Curve::P521),
];
const SCALAR_BYTES_MAX: usize = 66;
