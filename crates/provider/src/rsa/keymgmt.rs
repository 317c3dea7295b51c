//! Keys: the default provider's, each with a place for ours. `exported/keymgmt.rs` has their functions.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use oarlock::rsa::{AcceleratedRsa, RsaPrivateKey, RsaPrivateNumbers};
use zeroize::Zeroizing;

use super::remote::Remote;
use crate::abi::{Param, Params, SELECT_KEYPAIR, SELECT_PRIVATE_KEY, SELECT_PUBLIC_KEY};
use crate::caught::catching;
use crate::default_provider::DefaultAlgorithm;
use crate::default_provider::functions::KeyFunctions;
use crate::default_provider::rsa::DefaultRsa;
use crate::exported::{Managed, Management, Wrapped, free};
use crate::provider::Provider;

/// A key, as OpenSSL and contexts hold it.
pub(crate) struct Key {
    /// The default provider's key.
    pub(super) inner: *mut c_void,
    functions: *const KeyFunctions,
    /// The core does not tear down a provider that has a key.
    provider: *const Provider,
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

/// The management of RSA keys, and of RSA keys restricted to PSS, at these indices of the default provider's.
pub(super) struct Rsa<const KIND: usize>;

pub(super) const RSA: usize = 0;
pub(super) const PSS: usize = 1;

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
        let functions = &default.keys[RSA].functions;
        let (Some(new), Some(import)) = (functions.new, functions.import) else {
            return null_mut();
        };
        let octets = |number: &[u8]| number.iter().rev().copied().collect::<Vec<u8>>();
        let n = octets(reference.key.modulus());
        let e = octets(reference.key.exponent());
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
                free::<Self>(key);
                return null_mut();
            }
            key
        }
    }

    /// Returns the remote key, if the private half is on another machine.
    pub(super) fn reference(&self) -> Option<&Remote> {
        self.reference.as_deref()
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
            let provider = self.provider();
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
        let export = self.functions()?.export?;
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
}

impl Drop for Key {
    fn drop(&mut self) {
        if let Some(free) = self.functions().and_then(|it| it.free) {
            // SAFETY: the default provider's function with its key, which nothing else uses.
            unsafe { free(self.inner) };
        }
    }
}

impl<const KIND: usize> Wrapped for Rsa<KIND> {
    fn of_default(provider: &Provider) -> Option<&DefaultAlgorithm<KeyFunctions>> {
        Some(&provider.default_rsa()?.keys[KIND])
    }
}

impl<const KIND: usize> Management for Rsa<KIND> {
    type Key = Key;

    fn empty(provider: &Provider) -> *mut c_void {
        // SAFETY: the default provider's function gets its own context, and its new key has no other owner.
        let made = || unsafe {
            let default = Self::of_default(provider)?;
            Some(Self::around(
                provider,
                default.functions.new?(default.context),
            ))
        };
        made().unwrap_or(null_mut())
    }

    unsafe fn around(provider: &Provider, inner: *mut c_void) -> *mut c_void {
        let Some(default) = Self::of_default(provider) else {
            return null_mut();
        };
        // SAFETY: the caller says that the key is null or has no other owner; the functions are part of the provider.
        unsafe { Key::around(provider, &default.functions, inner, None) }
    }
}

impl Managed for Key {
    const PRIVATE: &[&[u8]] = &[b"d"];

    fn provider(&self) -> &Provider {
        // SAFETY: the provider outlives its keys.
        unsafe { &*self.provider }
    }

    fn functions(&self) -> Option<&KeyFunctions> {
        // SAFETY: the functions are part of the provider, which outlives its keys.
        Some(unsafe { &*self.functions })
    }

    fn inner(&self) -> Option<*mut c_void> {
        Some(self.inner)
    }

    fn selected(&self, selection: c_int) -> c_int {
        match self.reference {
            Some(_) => selection & !SELECT_PRIVATE_KEY,
            None => selection,
        }
    }

    /// Knows a private half, if only that was asked for, on another machine.
    fn has(&self, selection: c_int) -> Option<bool> {
        (selection != 0 && self.selected(selection) == 0).then_some(true)
    }

    fn copy(&self, selection: c_int) -> Option<*mut c_void> {
        let is_whole = selection & SELECT_PRIVATE_KEY != 0;
        let reference = self.reference.clone().filter(|_| is_whole);
        let dup = self.functions()?.dup?;
        // SAFETY: the default provider copies its own key, and the copy has no other owner.
        unsafe {
            let copy = dup(self.inner, self.selected(selection));
            Some(Self::around(self.provider, self.functions, copy, reference))
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
