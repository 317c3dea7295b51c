//! Keys (provider-keymgmt(7)): the default provider's, each with a place for ours.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use oarlock::rsa::{AcceleratedRsa, RsaPrivateKey, RsaPrivateNumbers};
use zeroize::Zeroizing;

use super::remote::Remote;
use crate::abi::{
    Dispatch, KEYMGMT_LOAD, Param, Params, SELECT_KEYPAIR, SELECT_PRIVATE_KEY, SELECT_PUBLIC_KEY,
    offered,
};
use crate::caught::catching;
use crate::decoder;
use crate::default_provider::functions::{Callback, KeyFunctions};
use crate::default_provider::rsa::DefaultRsa;
use crate::provider::Provider;

/// A key, as OpenSSL and contexts hold it.
pub(crate) struct Key {
    /// The default provider's key.
    pub(super) inner: *mut c_void,
    functions: *const KeyFunctions,
    /// The core does not tear down a provider that has a key.
    pub(super) provider: *const Provider,
    /// The number of private operations so far, up to [`OPERATIONS_MIN`].
    operations: AtomicU32,
    /// Our form of a private key that lanes can compute with; made once the key is used often enough.
    accelerated: OnceLock<Option<AcceleratedRsa>>,
    /// The remote key, if the private half is on another machine; `inner` is then the public half.
    reference: Option<Arc<Remote>>,
}

/// Converting a key takes 0.6 of the time of a signature: a program that signs or decrypts only a few files would lose
/// time.
const OPERATIONS_MIN: u32 = 16;

// SAFETY: several threads may use the default provider's keys at once, and a key does not change once it is in use.
unsafe impl Send for Key {}
// SAFETY: several threads may use the default provider's keys at once; our additions are atomic or set once.
unsafe impl Sync for Key {}

/// The indices of the two key managements: for RSA keys, and for PSS keys.
pub(super) const RSA: usize = 0;
pub(super) const PSS: usize = 1;

/// Returns the functions for OpenSSL. Those that take neither key nor provider are the default provider's own.
pub(super) fn table<const KIND: usize>(inner: &KeyFunctions) -> Vec<Dispatch> {
    let mut table = Vec::new();
    offered!(table, inner, KeyFunctions:
        new new::<KIND>,
        gen_init gen_init::<KIND>,
        gen_set_template gen_set_template,
        gen_set_params gen_set_params,
        gen_settable_params gen_settable_params::<KIND>,
        generate generate,
        gen_cleanup gen_cleanup,
        free free,
        get_params get_params,
        gettable_params gettable_params::<KIND>,
        has has,
        validate validate,
        matches matches,
        import import,
        export export,
        dup dup,
    );
    for (id, function) in [
        (
            KeyFunctions::query_operation_name,
            inner.query_operation_name,
        ),
        (KeyFunctions::import_types, inner.import_types),
        (KeyFunctions::export_types, inner.export_types),
    ] {
        table.extend(function.map(|function| Dispatch { id, function }));
    }
    table.push(Dispatch {
        id: KEYMGMT_LOAD,
        function: decoder::load as *const c_void,
    });
    table.push(Dispatch::END);
    table
}

impl Key {
    /// Wraps a key of the default provider. Returns null for null.
    ///
    /// # Safety
    /// `inner` is null or a key of `functions` without another owner; these live as long as `provider`, which the core
    /// holds.
    unsafe fn around(
        provider: *const Provider,
        functions: *const KeyFunctions,
        inner: *mut c_void,
        reference: Option<Arc<Remote>>,
    ) -> *mut c_void {
        if inner.is_null() {
            return null_mut();
        }
        // SAFETY: the caller's provider, which the core holds.
        let first = match unsafe { (*provider).signer.always_lanes() } {
            true => OPERATIONS_MIN,
            false => 0,
        };
        let key = Self {
            inner,
            functions,
            provider,
            operations: AtomicU32::new(first),
            accelerated: OnceLock::new(),
            reference,
        };
        Arc::into_raw(Arc::new(key)).cast_mut().cast()
    }

    /// Makes a remote key; null if the default provider rejects its public half.
    ///
    /// # Safety
    /// `default` belongs to `provider`, which the core holds.
    pub(super) unsafe fn remote(
        provider: *const Provider,
        default: &DefaultRsa,
        reference: Remote,
    ) -> *mut c_void {
        let functions = &default.keys[RSA];
        let (Some(new), Some(import)) = (functions.new, functions.import) else {
            return null_mut();
        };
        let octets = |number: &[u8]| number.iter().rev().copied().collect::<Vec<u8>>();
        let n = octets(reference.key().modulus());
        let e = octets(reference.key().exponent());
        let params = [
            Param::giving_number(c"n", &n),
            Param::giving_number(c"e", &e),
            Param::END,
        ];
        // SAFETY: the default provider's functions with its context, and its key, which nothing else uses.
        unsafe {
            let inner = new(default.context);
            let key = Self::around(provider, functions, inner, Some(Arc::new(reference)));
            if !key.is_null() && import(inner, SELECT_PUBLIC_KEY, params.as_ptr()) != 1 {
                free(key);
                return null_mut();
            }
            key
        }
    }

    /// Returns the remote key, if the private half is on another machine.
    pub(super) fn reference(&self) -> Option<&Remote> {
        self.reference.as_deref()
    }

    /// Returns the part of a selection that the default provider's key can answer for: it has no private half of a
    /// remote key.
    fn selected(&self, selection: c_int) -> c_int {
        match self.reference {
            Some(_) => selection & !SELECT_PRIVATE_KEY,
            None => selection,
        }
    }

    /// Returns one more reference to a key that OpenSSL holds.
    ///
    /// # Safety
    /// `key` is null or a key of ours that is not freed during the call.
    pub(super) unsafe fn shared(key: *mut c_void) -> Option<Arc<Self>> {
        let key = key.cast::<Self>().cast_const();
        if key.is_null() {
            return None;
        }
        // SAFETY: the key came from `Arc::into_raw` and has an owner, as the caller promises.
        unsafe {
            Arc::increment_strong_count(key);
            Some(Arc::from_raw(key))
        }
    }

    /// Counts one private operation.
    pub(super) fn count(&self) {
        if self.operations.load(Ordering::Relaxed) < OPERATIONS_MIN {
            self.operations.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns our form of the key, if it is a private key that lanes can compute with and is used often enough.
    pub(super) fn accelerated(&self) -> Option<&AcceleratedRsa> {
        if self.operations.load(Ordering::Relaxed) < OPERATIONS_MIN {
            return None;
        }
        let make = || {
            // SAFETY: the provider outlives its keys.
            let provider = unsafe { &*self.provider };
            provider.accelerator.lanes()?;
            let key = self.private()?;
            Some(provider.accelerator.rsa(&key))
        };
        // `get_or_init` would make others wait: a child that is forked during it would wait forever.
        if self.accelerated.get().is_none() {
            let _ = self.accelerated.set(make());
        }
        self.accelerated.get()?.as_ref()
    }

    /// Returns the private key, if it has two primes and 1024 to 4096 bits; other keys stay with the default provider.
    fn private(&self) -> Option<RsaPrivateKey> {
        let mut numbers = Numbers::default();
        let place = std::ptr::from_mut(&mut numbers).cast();
        let export = self.functions().export?;
        // SAFETY: the default provider's function with its key; the callback gets the argument that it expects.
        let is_exported = unsafe { export(self.inner, SELECT_KEYPAIR, Numbers::take, place) };
        if is_exported != 1 || numbers.has_more {
            return None;
        }
        let [n, e, d, p, q, dp, dq, qinv] = &numbers.numbers;
        RsaPrivateKey::from_all_numbers(&RsaPrivateNumbers {
            n,
            e,
            d,
            p,
            q,
            dp,
            dq,
            qinv,
        })
        .ok()
    }

    fn functions(&self) -> &KeyFunctions {
        // SAFETY: the functions are part of the provider, which outlives its keys.
        unsafe { &*self.functions }
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        if let Some(free) = self.functions().free {
            // SAFETY: the default provider's function with its key, which nothing else uses.
            unsafe { free(self.inner) };
        }
    }
}

/// The numbers of a private key, big-endian.
#[derive(Default)]
struct Numbers {
    numbers: [Zeroizing<Vec<u8>>; 8],
    /// Whether there are more than two primes.
    has_more: bool,
}

impl Numbers {
    /// Stores the numbers of an export.
    ///
    /// # Safety
    /// `numbers` is the argument that `Key::private` gave with this function; `params` is an array that ends with
    /// [`Param::END`].
    unsafe extern "C" fn take(params: *const Param, numbers: *mut c_void) -> c_int {
        catching(0, || {
            // SAFETY: the argument is that of `Key::private`, which nothing else uses during the call.
            let numbers = unsafe { &mut *numbers.cast::<Self>() };
            // SAFETY: the default provider passes parameters that end.
            let params = unsafe { Params::new(params.cast_mut()) };
            let taken = params.each(|name, value| {
                let place = match NAMES.iter().position(|one| *one == name) {
                    Some(place) => &mut numbers.numbers[place],
                    None => {
                        numbers.has_more |= MORE.contains(&name);
                        return Ok(());
                    }
                };
                let octets = value.number_octets().ok_or(())?;
                *place = Zeroizing::new(octets.iter().rev().copied().collect());
                Ok::<(), ()>(())
            });
            taken.is_ok().into()
        })
    }
}

/// The parameters OSSL_PKEY_PARAM_RSA_*, in the order of [`Numbers`].
const NAMES: [&[u8]; 8] = [
    b"n",
    b"e",
    b"d",
    b"rsa-factor1",
    b"rsa-factor2",
    b"rsa-exponent1",
    b"rsa-exponent2",
    b"rsa-coefficient1",
];
const MORE: [&[u8]; 3] = [b"rsa-factor3", b"rsa-exponent3", b"rsa-coefficient2"];

/// A key that is being generated.
struct Generation {
    inner: *mut c_void,
    functions: *const KeyFunctions,
    provider: *const Provider,
}

/// Returns the default provider's RSA for `provider`.
///
/// # Safety
/// `provider` is what `OSSL_provider_init` gave the core.
unsafe fn beside<'a>(provider: *mut c_void) -> Option<&'a DefaultRsa> {
    // SAFETY: the caller promises that `provider` came from `OSSL_provider_init`, and it outlives its keys.
    unsafe { (*provider.cast::<Provider>()).default_rsa() }
}

/// # Safety
/// `provider` is what `OSSL_provider_init` gave the core.
unsafe extern "C" fn new<const KIND: usize>(provider: *mut c_void) -> *mut c_void {
    catching(null_mut(), || {
        // SAFETY: the core passes its provider; the default provider's function gets its context.
        unsafe {
            let Some(rsa) = beside(provider) else {
                return null_mut();
            };
            let functions = &rsa.keys[KIND];
            let Some(make) = functions.new else {
                return null_mut();
            };
            Key::around(provider.cast(), functions, make(rsa.context), None)
        }
    })
}

/// # Safety
/// `key` is null or came from `Key::around`, and this is the core's last call with it.
pub(super) unsafe extern "C" fn free(key: *mut c_void) {
    if !key.is_null() {
        catching((), || {
            // SAFETY: the key came from `Key::around`, and this is the core's last call with it.
            drop(unsafe { Arc::from_raw(key.cast::<Key>().cast_const()) });
        });
    }
}

/// # Safety
/// `provider` is what `OSSL_provider_init` gave the core; `params` is null or an array that ends with
/// [`Param::END`].
unsafe extern "C" fn gen_init<const KIND: usize>(
    provider: *mut c_void,
    selection: c_int,
    params: *const Param,
) -> *mut c_void {
    catching(null_mut(), || {
        // SAFETY: the core passes its provider and parameters; the default provider's function gets its context.
        unsafe {
            let Some(rsa) = beside(provider) else {
                return null_mut();
            };
            let functions = &rsa.keys[KIND];
            let inner = functions
                .gen_init
                .map_or(null_mut(), |init| init(rsa.context, selection, params));
            if inner.is_null() {
                return null_mut();
            }
            Box::into_raw(Box::new(Generation {
                inner,
                functions,
                provider: provider.cast(),
            }))
            .cast()
        }
    })
}

/// # Safety
/// `provider` is what `OSSL_provider_init` gave the core.
unsafe extern "C" fn gen_settable_params<const KIND: usize>(
    _generation: *mut c_void,
    provider: *mut c_void,
) -> *const Param {
    // SAFETY: the core passes its provider. The default provider's function ignores its first argument, which may be
    // null.
    unsafe {
        let described = beside(provider)
            .and_then(|rsa| Some(rsa.keys[KIND].gen_settable_params?(null_mut(), rsa.context)));
        described.unwrap_or(std::ptr::null())
    }
}

/// # Safety
/// `generation` is null or came from `gen_init`, and `template` is null or a key of ours.
unsafe extern "C" fn gen_set_template(generation: *mut c_void, template: *mut c_void) -> c_int {
    // SAFETY: the core passes a generation and a key of ours; the default provider's function gets its own.
    unsafe {
        let (Some(generation), Some(template)) = (
            generation.cast::<Generation>().as_ref(),
            template.cast::<Key>().as_ref(),
        ) else {
            return 0;
        };
        let set = (*generation.functions).gen_set_template;
        set.map_or(0, |set| set(generation.inner, template.inner))
    }
}

/// # Safety
/// `generation` is null or came from `gen_init`; `params` is null or an array that ends with [`Param::END`].
unsafe extern "C" fn gen_set_params(generation: *mut c_void, params: *const Param) -> c_int {
    // SAFETY: the core passes a generation of ours and parameters; the default provider's function gets its own.
    unsafe {
        let Some(generation) = generation.cast::<Generation>().as_ref() else {
            return 0;
        };
        let set = (*generation.functions).gen_set_params;
        set.map_or(0, |set| set(generation.inner, params))
    }
}

/// # Safety
/// `generation` is null or came from `gen_init`; `callback` is null or takes `argument`.
unsafe extern "C" fn generate(
    generation: *mut c_void,
    callback: *const c_void,
    argument: *mut c_void,
) -> *mut c_void {
    catching(null_mut(), || {
        // SAFETY: the core passes a generation of ours, and a callback for the default provider's function.
        unsafe {
            let Some(generation) = generation.cast::<Generation>().as_ref() else {
                return null_mut();
            };
            let Some(generate) = (*generation.functions).generate else {
                return null_mut();
            };
            let inner = generate(generation.inner, callback, argument);
            Key::around(generation.provider, generation.functions, inner, None)
        }
    })
}

/// # Safety
/// `generation` is null or came from `gen_init`, and this is the core's last call with it.
unsafe extern "C" fn gen_cleanup(generation: *mut c_void) {
    if generation.is_null() {
        return;
    }
    catching((), || {
        // SAFETY: the generation came from `gen_init`, and this is the core's last call with it.
        unsafe {
            let generation = Box::from_raw(generation.cast::<Generation>());
            if let Some(cleanup) = (*generation.functions).gen_cleanup {
                cleanup(generation.inner);
            }
        }
    });
}

/// Calls `call` with a key and the default provider's functions. Returns 0 without a key.
///
/// # Safety
/// `key` is null or a key of ours that is not freed during the call.
unsafe fn with(
    key: *const c_void,
    call: impl FnOnce(&Key, &KeyFunctions) -> Option<c_int>,
) -> c_int {
    // SAFETY: the caller promises that `key` is null or one of ours, which is not freed during the call.
    let key = unsafe { key.cast::<Key>().as_ref() };
    catching(0, || {
        key.and_then(|key| call(key, key.functions())).unwrap_or(0)
    })
}

/// # Safety
/// As for [`with`]; `params` is null or an array that ends with [`Param::END`].
unsafe extern "C" fn get_params(key: *mut c_void, params: *mut Param) -> c_int {
    // SAFETY: the core passes a key of ours, and parameters for the default provider's function.
    unsafe { with(key, |key, inner| Some(inner.get_params?(key.inner, params))) }
}

/// # Safety
/// `provider` is what `OSSL_provider_init` gave the core.
unsafe extern "C" fn gettable_params<const KIND: usize>(provider: *mut c_void) -> *const Param {
    // SAFETY: the core passes its provider, to ask what can be got from a key.
    unsafe {
        let described =
            beside(provider).and_then(|rsa| Some(rsa.keys[KIND].gettable_params?(rsa.context)));
        described.unwrap_or(std::ptr::null())
    }
}

/// # Safety
/// As for [`with`].
unsafe extern "C" fn has(key: *const c_void, selection: c_int) -> c_int {
    // SAFETY: the core passes a key of ours; the default provider's function gets its own.
    unsafe {
        with(key, |key, inner| {
            let selected = key.selected(selection);
            // Only the private half was asked for, and the other machine has it.
            if selected == 0 && selection != 0 {
                return Some(1);
            }
            Some(inner.has?(key.inner, selected))
        })
    }
}

/// # Safety
/// As for [`with`].
unsafe extern "C" fn validate(key: *const c_void, selection: c_int, check: c_int) -> c_int {
    // SAFETY: the core passes a key of ours, whose inner key the default provider checks.
    unsafe {
        with(key, |key, inner| {
            Some(inner.validate?(key.inner, key.selected(selection), check))
        })
    }
}

/// # Safety
/// As for [`with`], for both keys.
unsafe extern "C" fn matches(one: *const c_void, other: *const c_void, selection: c_int) -> c_int {
    // SAFETY: the core passes two keys of ours, whose inner keys the default provider compares.
    unsafe {
        let Some(other) = other.cast::<Key>().as_ref() else {
            return 0;
        };
        with(one, |one, inner| {
            let selected = match one.selected(other.selected(selection)) {
                0 if selection != 0 => SELECT_PUBLIC_KEY,
                selected => selected,
            };
            Some(inner.matches?(one.inner, other.inner, selected))
        })
    }
}

/// Imports a key, but not a public half whose private half may be in another provider, such as a TPM's. OpenSSL would
/// import the public half and sign here; if the import is refused, it has the other provider sign. Without such a
/// provider, public halves are imported: refusing one costs a microsecond in each operation, importing it costs time
/// only once.
///
/// # Safety
/// As for [`with`]; `params` is null or an array that ends with [`Param::END`].
unsafe extern "C" fn import(key: *mut c_void, selection: c_int, params: *const Param) -> c_int {
    // SAFETY: the core passes a key of ours, and parameters, which are only read; its provider lives as long.
    unsafe {
        with(key, |key, inner| {
            let is_private = selection & SELECT_PRIVATE_KEY != 0;
            let is_half = is_private && !Params::new(params.cast_mut()).have(b"d");
            if is_half && (*key.provider).may_keys_be_elsewhere() {
                return None;
            }
            Some(inner.import?(key.inner, selection, params))
        })
    }
}

/// # Safety
/// As for [`with`]; `callback` takes `argument`.
unsafe extern "C" fn export(
    key: *mut c_void,
    selection: c_int,
    callback: Callback,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: the core passes a key of ours, and a callback with its argument for the default provider's function.
    unsafe {
        with(key, |key, inner| {
            // A caller that asks for the whole key must not get half of it.
            if key.selected(selection) != selection {
                return None;
            }
            Some(inner.export?(key.inner, selection, callback, argument))
        })
    }
}

/// # Safety
/// `key` is null or a key of ours that is not freed during the call.
unsafe extern "C" fn dup(key: *const c_void, selection: c_int) -> *mut c_void {
    catching(null_mut(), || {
        // SAFETY: the core passes a key of ours; the default provider makes the copy, which has no other owner.
        unsafe {
            let Some(key) = key.cast::<Key>().as_ref() else {
                return null_mut();
            };
            let selected = key.selected(selection);
            let copy = key.functions().dup.map(|dup| dup(key.inner, selected));
            let is_whole = selection & SELECT_PRIVATE_KEY != 0;
            let reference = key.reference.clone().filter(|_| is_whole);
            Key::around(
                key.provider,
                key.functions,
                copy.unwrap_or(null_mut()),
                reference,
            )
        }
    })
}
