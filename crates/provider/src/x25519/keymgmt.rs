//! Keys of X25519 (provider-keymgmt(7), EVP_PKEY-X25519(7)).
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::ptr::{null, null_mut};

use oarlock_engine::Primitive;
use oarlock_engine::agreement::{X25519_BYTES, X25519PrivateKey};
use oarlock_engine::costs::Performed;

use crate::abi::{
    Dispatch, OPERATION_KEYEXCH, Param, Params, SELECT_KEYPAIR, SELECT_PRIVATE_KEY,
    SELECT_PUBLIC_KEY, Value, offered,
};
use crate::boxed;
use crate::caught::catching;
use crate::default_provider::DefaultAlgorithm;
use crate::default_provider::functions::{Callback, KeyFunctions};
use crate::exported::{self, Wrapped};
use crate::generation::{self, Generated, Generation};
use crate::provider::Provider;

/// A key, as OpenSSL holds it.
#[derive(Clone)]
pub(super) struct Key {
    pub(super) public: Option<[u8; X25519_BYTES]>,
    pub(super) private: Option<X25519PrivateKey>,
    /// The core does not tear down a provider that has a key.
    provider: *const Provider,
}

/// Returns the functions for OpenSSL. Those that take neither key nor provider are the default provider's own.
pub(super) fn table(inner: &KeyFunctions) -> Vec<Dispatch> {
    let mut table = Vec::new();
    offered!(table, inner, KeyFunctions:
        new new,
        gen_init generation::init::<X25519>,
        gen_set_params generation::set_params::<X25519>,
        gen_settable_params exported::gen_settable_params::<X25519>,
        generate generate,
        gen_cleanup generation::cleanup::<X25519>,
        free boxed::free::<Key>,
        get_params get_params,
        gettable_params exported::gettable_params::<X25519>,
        set_params set_params,
        settable_params exported::settable_params::<X25519>,
        query_operation_name query_operation_name,
        has has,
        validate validate,
        matches matches,
        import import,
        export export,
        dup dup,
    );
    for (id, function) in [
        (KeyFunctions::import_types, inner.import_types),
        (KeyFunctions::export_types, inner.export_types),
    ] {
        table.extend(function.map(|function| Dispatch { id, function }));
    }
    table.push(Dispatch::END);
    table
}

impl Key {
    fn blank(provider: *const Provider) -> Self {
        Self {
            public: None,
            private: None,
            provider,
        }
    }

    /// Takes the octets of an export, and the private half if it is selected. A missing public key is computed. `None` if
    /// the default provider must do it, or refuse.
    fn import(&mut self, selection: c_int, params: Params<'_>) -> Option<()> {
        let (mut public, mut private, mut not_selected) = (None, None, None);
        let taken = params.each(|name, value| {
            let place = match name {
                PUBLIC => &mut public,
                PRIVATE if selection & SELECT_PRIVATE_KEY != 0 => &mut private,
                PRIVATE => return not_selected.replace(()).map_or(Ok(()), Err),
                _ => return Ok(()),
            };
            // Releases differ in what a second one of a name means.
            match place.replace(octets(value).ok_or(())?) {
                None => Ok(()),
                Some(_) => Err(()),
            }
        });
        taken.ok()?;
        let private = private.map(X25519PrivateKey::from_bytes);
        let public = match public {
            Some(public) => *public,
            None => private.as_ref()?.public_key(),
        };
        self.public = Some(public);
        self.private = private.or(self.private.take());
        Some(())
    }

    /// Calls `give` with the parameters of what it has of a selection.
    fn give<T>(&self, selection: c_int, give: impl FnOnce(*const Param) -> T) -> T {
        let mut params = [Param::END; 3];
        let mut places = params.iter_mut();
        let private = self.private.as_ref();
        let private = private.filter(|_| selection & SELECT_PRIVATE_KEY != 0);
        for (name, octets) in [
            (c"pub", self.public.as_ref()),
            (c"priv", private.map(X25519PrivateKey::as_bytes)),
        ] {
            if let (Some(octets), Some(place)) = (octets, places.next()) {
                *place = Param::giving_octets(name, octets);
            }
        }
        give(params.as_ptr())
    }

    /// Sets the parameters that are usual and given once; `None` if there are others.
    fn get(&self, params: Params<'_>) -> Option<()> {
        let mut seen = 0_u32;
        let done = params.each(|name, value| {
            let at = KNOWN.iter().position(|known| *known == name).ok_or(())?;
            if seen & 1 << at != 0 {
                return Err(());
            }
            seen |= 1 << at;
            let is_done = match name {
                b"bits" => value.set_number(253_u32),
                b"security-bits" => value.set_number(128_u32),
                b"max-size" => value.set_number(X25519_BYTES as u32),
                ENCODED => self.public.is_some_and(|public| value.set_octets(&public)),
                PUBLIC => {
                    let public = self.public.as_ref();
                    public.is_none_or(|public| value.set_octets(public))
                }
                _ => {
                    let private = self.private.as_ref();
                    private.is_none_or(|private| value.set_octets(private.as_bytes()))
                }
            };
            if is_done { Ok(()) } else { Err(()) }
        });
        done.ok()
    }

    /// Calls `call` with a key of the default provider's that has the same halves, for what is not regular, and takes its
    /// halves back if `is_changed`. Returns 0 if there is no such key.
    fn by_default(
        &mut self,
        is_changed: bool,
        call: impl FnOnce(&KeyFunctions, *mut c_void) -> Option<c_int>,
    ) -> c_int {
        // SAFETY: the provider outlives its X25519 keys.
        let default = X25519::of_default(unsafe { &*self.provider });
        let made = || {
            let DefaultAlgorithm {
                functions, context, ..
            } = default?;
            let (import, export) = (functions.import?, functions.export?);
            // SAFETY: the default provider's functions with its context and its new key; parameters that end; `take` with
            // the key of ours that it fills.
            unsafe {
                let inner = Inner {
                    key: functions.new?(*context),
                    free: functions.free?,
                };
                if inner.key.is_null() {
                    return None;
                }
                if self.public.is_some() {
                    let import = |params| import(inner.key, SELECT_KEYPAIR, params);
                    self.give(SELECT_KEYPAIR, |params| (import(params) == 1).then_some(()))?;
                }
                let done = call(functions, inner.key)?;
                // A call that fails may have set a half before.
                if is_changed && functions.has?(inner.key, SELECT_PUBLIC_KEY) == 1 {
                    let mut key = Key::blank(self.provider);
                    let place = std::ptr::from_mut(&mut key).cast();
                    if export(inner.key, SELECT_KEYPAIR, take, place) != 1 {
                        return None;
                    }
                    *self = key;
                }
                Some(done)
            }
        };
        made().unwrap_or(0)
    }
}

/// A key of the default provider's, freed at the end.
struct Inner {
    key: *mut c_void,
    free: unsafe extern "C" fn(*mut c_void),
}

impl Drop for Inner {
    fn drop(&mut self) {
        // SAFETY: the default provider's function with its own key, which has no other owner. It may be null.
        unsafe { (self.free)(self.key) };
    }
}

/// Returns the octets of a key; `None` for another type or length.
fn octets(value: Value<'_>) -> Option<&[u8; X25519_BYTES]> {
    value.given_octets()?.try_into().ok()
}

/// # Safety
/// `provider` is what `OSSL_provider_init` gave the core.
unsafe extern "C" fn new(provider: *mut c_void) -> *mut c_void {
    catching(null_mut(), || boxed::held(Key::blank(provider.cast())))
}

/// # Safety
/// `key` is null or a key of ours that does not change during the call.
unsafe extern "C" fn dup(key: *const c_void, selection: c_int) -> *mut c_void {
    catching(null_mut(), || {
        // SAFETY: the core copies null, or a key from `new`, `dup` or `generate`.
        let Some(key) = (unsafe { key.cast::<Key>().as_ref() }) else {
            return null_mut();
        };
        let mut copy = Key::blank(key.provider);
        if selection & SELECT_PUBLIC_KEY != 0 {
            copy.public = key.public;
        }
        if selection & SELECT_PRIVATE_KEY != 0 {
            copy.private = key.private.clone();
        }
        boxed::held(copy)
    })
}

/// Whether a key has the selected parts. EVP_PKEY_copy_parameters(3) asks without a key.
///
/// # Safety
/// `key` is null or a key of ours that does not change during the call.
unsafe extern "C" fn has(key: *const c_void, selection: c_int) -> c_int {
    // SAFETY: the core asks about null, or a key from `new`, `dup` or `generate`.
    let key = unsafe { key.cast::<Key>().as_ref() };
    key.is_some_and(|key| {
        (selection & SELECT_PUBLIC_KEY == 0 || key.public.is_some())
            && (selection & SELECT_PRIVATE_KEY == 0 || key.private.is_some())
    })
    .into()
}

/// # Safety
/// `key` is null or a key of ours that does not change during the call.
unsafe extern "C" fn validate(key: *const c_void, selection: c_int, _type: c_int) -> c_int {
    catching(0, || {
        // SAFETY: the core has null or a key of ours checked.
        let Some(key) = (unsafe { key.cast::<Key>().as_ref() }) else {
            return 0;
        };
        let selection = selection & SELECT_KEYPAIR;
        // SAFETY: a key of ours.
        if unsafe { has(std::ptr::from_ref(key).cast(), selection) } == 0 {
            return 0;
        }
        let is_valid = match (selection, &key.private) {
            (SELECT_KEYPAIR, Some(private)) => key.public == Some(private.public_key()),
            _ => true,
        };
        is_valid.into()
    })
}

/// Compares public keys, or private keys if one side has no public key.
///
/// # Safety
/// Each is null or a key of ours that does not change during the call.
unsafe extern "C" fn matches(one: *const c_void, other: *const c_void, selection: c_int) -> c_int {
    // SAFETY: both are null or keys of ours.
    let keys = unsafe { (one.cast::<Key>().as_ref(), other.cast::<Key>().as_ref()) };
    let (Some(one), Some(other)) = keys else {
        return 0;
    };
    if selection & SELECT_KEYPAIR == 0 {
        return 1;
    }
    if let (true, Some(one), Some(other)) = (
        selection & SELECT_PUBLIC_KEY != 0,
        &one.public,
        &other.public,
    ) {
        return (one == other).into();
    }
    if let (true, Some(one), Some(other)) = (
        selection & SELECT_PRIVATE_KEY != 0,
        &one.private,
        &other.private,
    ) {
        return one.is_same(other).into();
    }
    0
}

/// # Safety
/// `key` is null or a key of ours that no other call uses; `params` is null or an array that ends with [`Param::END`].
unsafe extern "C" fn import(key: *mut c_void, selection: c_int, params: *const Param) -> c_int {
    catching(0, || {
        // SAFETY: null, or the core's X25519 key that no other call uses, and parameters that end.
        let (key, given) = unsafe { (key.cast::<Key>().as_mut(), Params::new(params.cast_mut())) };
        match key {
            Some(key) if selection & SELECT_KEYPAIR != 0 => {
                if key.import(selection, given).is_some() {
                    return 1;
                }
                key.by_default(true, |functions, inner| {
                    // SAFETY: the default provider's function with a key of its own, and the core's parameters.
                    Some(unsafe { functions.import?(inner, selection, params) })
                })
            }
            _ => 0,
        }
    })
}

/// # Safety
/// `key` is null or a key of ours that does not change during the call; `callback` takes `argument`.
unsafe extern "C" fn export(
    key: *const c_void,
    selection: c_int,
    callback: Option<Callback>,
    argument: *mut c_void,
) -> c_int {
    catching(0, || {
        // SAFETY: the core exports null or a key of ours.
        let key = unsafe { key.cast::<Key>().as_ref() };
        match (key, callback) {
            (Some(key), Some(callback)) if selection & SELECT_KEYPAIR != 0 => {
                // SAFETY: an array that ends, and the caller's callback with its argument.
                key.give(selection, |params| unsafe { callback(params, argument) })
            }
            _ => 0,
        }
    })
}

/// # Safety
/// `key` is null or a key of ours that does not change during the call; `params` is null or an array that ends with
/// [`Param::END`].
unsafe extern "C" fn get_params(key: *mut c_void, params: *mut Param) -> c_int {
    catching(0, || {
        // SAFETY: the core reads from null or a key of ours, into parameters that end.
        let (key, given) = unsafe { (key.cast::<Key>().as_ref(), Params::new(params)) };
        let Some(key) = key else {
            return 0;
        };
        if key.get(given).is_some() {
            return 1;
        }
        // The clone is not taken back: the core may read from a key in several threads.
        key.clone().by_default(false, |functions, inner| {
            // SAFETY: the default provider's function with a key of its own, and the core's parameters.
            Some(unsafe { functions.get_params?(inner, params) })
        })
    })
}

/// # Safety
/// `key` is null or a key of ours that no other call uses; `params` is null or an array that ends with [`Param::END`].
unsafe extern "C" fn set_params(key: *mut c_void, params: *const Param) -> c_int {
    catching(0, || {
        // SAFETY: null, or the core's X25519 key that no other call uses, and parameters that end.
        let (key, given) = unsafe { (key.cast::<Key>().as_mut(), Params::new(params.cast_mut())) };
        let Some(key) = key else {
            return 0;
        };
        if let Some(public) = given.only(c"encoded-pub-key").and_then(octets) {
            key.public = Some(*public);
            key.private = None;
            return 1;
        }
        key.by_default(true, |functions, inner| {
            // SAFETY: the default provider's function with a key of its own, and the core's parameters.
            Some(unsafe { functions.set_params?(inner, params) })
        })
    })
}

/// The management of these keys.
struct X25519;

impl Wrapped for X25519 {
    fn of_default(provider: &Provider) -> Option<&DefaultAlgorithm<KeyFunctions>> {
        provider.defaults.get()?.x25519.as_ref()
    }
}

impl Generated for X25519 {
    fn is_regular(_provider: &Provider, params: Params<'_>) -> bool {
        let set = params.each(|name, value| match name {
            b"group"
                if value
                    .text()
                    .is_some_and(|it| it.eq_ignore_ascii_case(b"x25519")) =>
            {
                Ok(())
            }
            // The property query for the default provider's random numbers.
            b"properties" if value.is_text() => Ok(()),
            _ => Err(()),
        });
        set.is_ok()
    }
}

/// Returns a key that the default provider generates, as ours.
fn left(generation: &Generation) -> Option<Key> {
    let mut key = Key::blank(generation.provider);
    // SAFETY: the provider outlives its generations; the default provider's functions with its generation, a callback with
    // the key that it fills, and the key that was exported.
    unsafe {
        let functions = &X25519::of_default(&*generation.provider)?.functions;
        let (export, free) = (functions.export?, functions.free?);
        let inner = functions.generate?(generation.inner, null(), null_mut());
        if inner.is_null() {
            return None;
        }
        let place = std::ptr::from_mut(&mut key).cast();
        let done = export(inner, SELECT_KEYPAIR, take, place);
        free(inner);
        (done == 1).then_some(key)
    }
}

/// # Safety
/// `params` is an array that ends with [`Param::END`], and `key` a key of ours.
unsafe extern "C" fn take(params: *const Param, key: *mut c_void) -> c_int {
    // SAFETY: the default provider passes parameters, and the key that `left` gave it.
    unsafe { import(key, SELECT_KEYPAIR, params) }
}

/// # Safety
/// `generation` is null or came from `generation::init`.
unsafe extern "C" fn generate(
    generation: *mut c_void,
    _callback: *const c_void,
    _argument: *mut c_void,
) -> *mut c_void {
    catching(null_mut(), || {
        // SAFETY: null or a generation that no other call uses.
        let Some(generation) = (unsafe { generation.cast::<Generation>().as_ref() }) else {
            return null_mut();
        };
        let mut key = Key::blank(generation.provider);
        if !generation.inner.is_null() {
            match left(generation) {
                Some(left) => key = left,
                None => return null_mut(),
            }
        } else if generation.selection & SELECT_KEYPAIR != 0 {
            let (private, public) = X25519PrivateKey::generate();
            key.public = Some(public);
            key.private = Some(private);
            // SAFETY: the core does not tear down a provider that generates a key.
            unsafe { &*generation.provider }.count(Primitive::X25519, Performed::Generated);
        }
        // EVP_PKEY_paramgen(3) wants a key without either half.
        boxed::held(key)
    })
}

extern "C" fn query_operation_name(operation: c_int) -> *const std::ffi::c_char {
    match operation {
        OPERATION_KEYEXCH => c"X25519".as_ptr(),
        _ => null(),
    }
}

const ENCODED: &[u8] = b"encoded-pub-key";
const PUBLIC: &[u8] = b"pub";
const PRIVATE: &[u8] = b"priv";
/// The parameters that are answered without the default provider.
const KNOWN: [&[u8]; 6] = [
    b"bits",
    b"security-bits",
    b"max-size",
    ENCODED,
    PUBLIC,
    PRIVATE,
];
