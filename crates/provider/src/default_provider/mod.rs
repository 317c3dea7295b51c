//! The default provider of the library context that loaded this provider, called without a detour through libcrypto.
//!
//! OpenSSL's core names the active providers, as it does for the library contexts of providers
//! (OSSL_LIB_CTX_new_child(3)), and hands out their functions. So everything that is not done here is done by the same
//! code as without this provider, also in programs that link OpenSSL statically.
//!
//! The core is asked once and keeps no callback. A program may free its last key after OpenSSL's cleanup, which tears
//! this provider down; by then no core is left to take a callback back.
#![allow(unsafe_code)]

pub(crate) mod functions;
mod inner;
pub(crate) mod mac;
pub(crate) mod rsa;

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use oarlock_engine::agreement::{Hybrid, MlKem};
use oarlock_engine::hash::Hash;

use self::functions::{
    Callback, ExchangeFunctions, KdfFunctions, KemFunctions, KeyFunctions, MacFunctions,
    SignatureFunctions,
};
pub(crate) use self::inner::Inner;
use self::mac::MacDigests;
use self::rsa::DefaultRsa;
use crate::abi::{
    Algorithm, Dispatch, OPERATION_KDF, OPERATION_KEM, OPERATION_KEYEXCH, OPERATION_KEYMGMT,
    OPERATION_MAC, OPERATION_SIGNATURE, functions,
};

/// The default provider, with a reference that is released on drop.
pub(crate) struct DefaultProvider {
    core: Core,
    /// The core's handle of it, referenced.
    provider: *const c_void,
    /// Whether the default query asks that keys stay in their providers.
    leaves_keys: bool,
}

/// The default provider's algorithms that this provider wraps.
pub(crate) struct Defaults {
    pub(crate) rsa: Option<DefaultRsa>,
    /// TLS13-KDF, HKDF and TLS1-PRF.
    pub(crate) kdfs: [Option<DefaultAlgorithm<KdfFunctions>>; 3],
    /// Dropped before `hmac`, whose functions free these contexts.
    pub(crate) hmac_digests: MacDigests,
    pub(crate) hmac: Option<DefaultAlgorithm<MacFunctions>>,
    pub(crate) x25519: Option<DefaultAlgorithm<KeyFunctions>>,
    pub(crate) x25519_exchange: Option<DefaultAlgorithm<ExchangeFunctions>>,
    pub(crate) ec: Option<DefaultAlgorithm<KeyFunctions>>,
    pub(crate) ecdsa: Option<DefaultAlgorithm<SignatureFunctions>>,
    pub(crate) ecdh: Option<DefaultAlgorithm<ExchangeFunctions>>,
    pub(crate) ed25519: Signing,
    /// ML-DSA-44, 65 and 87, available since release 3.5.
    pub(crate) ml_dsa: Vec<Signing>,
    /// ML-KEM-512, 768 and 1024, available since release 3.5.
    pub(crate) ml_kem: Vec<Encapsulating>,
    /// The available hybrids of ML-KEM and a curve, since release 3.5.
    hybrids: Vec<Hybrid>,
    /// Dropped last: the algorithms above call its functions.
    provider: DefaultProvider,
}

/// A key type's management and its signatures.
pub(crate) struct Signing {
    pub(crate) keys: Option<DefaultAlgorithm<KeyFunctions>>,
    pub(crate) signatures: Option<DefaultAlgorithm<SignatureFunctions>>,
}

/// A key type's management and its key encapsulation.
pub(crate) struct Encapsulating {
    pub(crate) keys: Option<DefaultAlgorithm<KeyFunctions>>,
    pub(crate) kem: Option<DefaultAlgorithm<KemFunctions>>,
}

/// An algorithm of the default provider.
pub(crate) struct DefaultAlgorithm<F> {
    pub(crate) functions: F,
    /// The provider context to call its functions with.
    pub(crate) context: *mut c_void,
    pub(crate) names: *const c_char,
}

impl Defaults {
    /// Finds the algorithms. Returns `None` if the core does not reveal the default provider's context.
    pub(crate) fn of(default: DefaultProvider, with_rsa: bool) -> Option<Box<Self>> {
        let context = default.context()?;
        macro_rules! find {
            ($functions:ident, $operation:expr, $name:expr) => {
                default
                    .algorithm($operation, $name)
                    .map(|(names, table)| DefaultAlgorithm {
                        // SAFETY: the table was found under this operation.
                        functions: unsafe { $functions::of(table) },
                        context,
                        names,
                    })
            };
        }
        let signing = |name: &[u8]| Signing {
            keys: find!(KeyFunctions, OPERATION_KEYMGMT, name),
            signatures: find!(SignatureFunctions, OPERATION_SIGNATURE, name),
        };
        Some(Box::new(Self {
            rsa: with_rsa.then(|| DefaultRsa::of(&default)).flatten(),
            kdfs: [
                find!(KdfFunctions, OPERATION_KDF, b"TLS13-KDF"),
                find!(KdfFunctions, OPERATION_KDF, b"HKDF"),
                find!(KdfFunctions, OPERATION_KDF, b"TLS1-PRF"),
            ],
            hmac_digests: MacDigests::default(),
            hmac: find!(MacFunctions, OPERATION_MAC, b"HMAC"),
            x25519: find!(KeyFunctions, OPERATION_KEYMGMT, b"X25519"),
            x25519_exchange: find!(ExchangeFunctions, OPERATION_KEYEXCH, b"X25519"),
            ec: find!(KeyFunctions, OPERATION_KEYMGMT, b"EC"),
            ecdsa: find!(SignatureFunctions, OPERATION_SIGNATURE, b"ECDSA"),
            ecdh: find!(ExchangeFunctions, OPERATION_KEYEXCH, b"ECDH"),
            ed25519: signing(b"ED25519"),
            ml_dsa: [b"ML-DSA-44", b"ML-DSA-65", b"ML-DSA-87"]
                .into_iter()
                .map(|name| signing(name))
                .collect(),
            ml_kem: MlKem::ALL
                .into_iter()
                .map(|set| Encapsulating {
                    keys: find!(KeyFunctions, OPERATION_KEYMGMT, set.name().as_bytes()),
                    kem: find!(KemFunctions, OPERATION_KEM, set.name().as_bytes()),
                })
                .collect(),
            hybrids: Hybrid::ALL
                .into_iter()
                .filter(|hybrid| {
                    let name = hybrid.name().as_bytes();
                    default.algorithm(OPERATION_KEYMGMT, name).is_some()
                        && default.algorithm(OPERATION_KEM, name).is_some()
                })
                .collect(),
            provider: default,
        }))
    }

    /// Has the default provider announce a capability (provider-base(7)) and returns its answer; `None` if it announces
    /// none at all.
    ///
    /// # Safety
    /// `callback` takes `argument`.
    pub(crate) unsafe fn capabilities(
        &self,
        capability: &CStr,
        callback: Callback,
        argument: *mut c_void,
    ) -> Option<c_int> {
        let context = self.provider.context()?;
        // SAFETY: this calls the default provider's function with its own context and a text that ends with a zero; the
        // caller vouches for the callback and its argument.
        unsafe {
            let capabilities = self.provider.queries()?.capabilities?;
            Some(capabilities(
                context,
                capability.as_ptr(),
                callback,
                argument,
            ))
        }
    }

    /// Returns whether the default query, as `oarlock run` and `oarlock provider install` set it, asks that keys stay
    /// in their providers.
    pub(crate) fn leaves_keys(&self) -> bool {
        self.provider.leaves_keys
    }

    /// Returns whether the default provider has the keys and the encapsulation of a hybrid.
    pub(crate) fn has_hybrid(&self, hybrid: Hybrid) -> bool {
        self.hybrids.contains(&hybrid)
    }
}

/// Returns the default provider's name of a hash function.
pub(crate) fn hash_name(hash: Hash) -> &'static CStr {
    match hash {
        Hash::Sha224 => c"SHA2-224",
        Hash::Sha256 => c"SHA2-256",
        Hash::Sha384 => c"SHA2-384",
        Hash::Sha512 => c"SHA2-512",
        Hash::Sha512_224 => c"SHA2-512/224",
        Hash::Sha512_256 => c"SHA2-512/256",
        _ => c"SHA1",
    }
}

functions! {
    /// The core's functions that inspect other providers.
    Core {
        register 105 unsafe extern "C" fn(
            *const c_void, Told, Told, unsafe extern "C" fn(*const c_char, *mut c_void) -> c_int, *mut c_void,
        ) -> c_int,
        deregister 106 unsafe extern "C" fn(*const c_void),
        name 107 unsafe extern "C" fn(*const c_void) -> *const c_char,
        context 108 unsafe extern "C" fn(*const c_void) -> *mut c_void,
        dispatch 109 unsafe extern "C" fn(*const c_void) -> *const Dispatch,
        up_ref 110 unsafe extern "C" fn(*const c_void, c_int) -> c_int,
        free 111 unsafe extern "C" fn(*const c_void, c_int) -> c_int,
    }
}

/// A callback for a provider that exists or goes away.
type Told = unsafe extern "C" fn(*const c_void, *mut c_void) -> c_int;

functions! {
    /// The functions of a provider that the core calls.
    Queries {
        query 1027 unsafe extern "C" fn(*mut c_void, c_int, *mut c_int) -> *const Algorithm,
        capabilities 1030 unsafe extern "C" fn(*mut c_void, *const c_char, Callback, *mut c_void) -> c_int,
    }
}

impl DefaultProvider {
    /// Finds the default provider. Returns `None` if it is not active or the core does not reveal other providers.
    ///
    /// # Safety
    /// `core` is the core's table and `handle` came with it; the library context exists, and no other thread passes the
    /// same handle to this module.
    pub(crate) unsafe fn find(handle: *const c_void, core: *const Dispatch) -> Option<Self> {
        // SAFETY: `core` is the core's table, as the caller says.
        let core = unsafe { Core::of(core) };
        let (register, deregister) = (core.register?, core.deregister?);
        let search = Search {
            core,
            provider: AtomicPtr::default(),
            leaves_keys: AtomicBool::new(false),
        };
        let place = std::ptr::from_ref(&search).cast_mut().cast();
        // SAFETY: the core calls the functions by these types with this place, which outlives the calls: during
        // `register`, and from threads that activate a provider, several of which may hold its lock for reading at once,
        // until `deregister` has held it for writing. They share the place, whose fields are atomic.
        unsafe {
            if register(handle, is_there, goes, query, place) > 0 {
                deregister(handle);
            }
        }
        let provider = search.provider.into_inner().cast_const();
        (!provider.is_null()).then(|| Self {
            core: search.core,
            provider,
            leaves_keys: search.leaves_keys.into_inner(),
        })
    }

    /// Returns its context, for its own functions.
    pub(crate) fn context(&self) -> Option<*mut c_void> {
        // SAFETY: this calls the core's function with a provider whose reference `self` holds.
        Some(unsafe { self.core.context?(self.provider) })
    }

    /// Returns the functions that it offers to the core.
    fn queries(&self) -> Option<Queries> {
        // SAFETY: the core's function gets a provider whose reference `self` holds, and returns that provider's table.
        Some(unsafe { Queries::of(self.core.dispatch?(self.provider)) })
    }

    /// Returns the names and the functions of its algorithm for an operation whose first name is `name`.
    pub(crate) fn algorithm(
        &self,
        operation: c_int,
        name: &[u8],
    ) -> Option<(*const c_char, *const Dispatch)> {
        // SAFETY: the core's functions get a provider whose reference `self` holds, and that provider's function its
        // own context; a list ends with an algorithm without names, and names are texts that end with a zero.
        unsafe {
            let mut no_cache = 0;
            let mut at = self.queries()?.query?(self.context()?, operation, &mut no_cache);
            if at.is_null() {
                return None;
            }
            while !(*at).names.is_null() {
                let names = CStr::from_ptr((*at).names).to_bytes();
                if names.split(|byte| *byte == b':').next() == Some(name) {
                    return Some(((*at).names, (*at).implementation));
                }
                at = at.add(1);
            }
        }
        None
    }
}

/// The names of OpenSSL's own providers. They export private keys whole.
const OPENSSLS: [&CStr; 5] = [c"default", c"base", c"legacy", c"fips", c"null"];

/// Returns whether other providers than OpenSSL's and this one are active, or the core does not say.
///
/// # Safety
/// As [`DefaultProvider::find`].
pub(crate) unsafe fn are_strangers_there(handle: *const c_void, core: *const Dispatch) -> bool {
    // SAFETY: the caller keeps the contract of `find`; `is_stranger` takes a `Look`.
    unsafe { looked(handle, core, is_stranger) }.unwrap_or(true)
}

/// Returns whether the default provider is active. An OpenSSL that does not reveal other providers counts as having it.
///
/// # Safety
/// As [`DefaultProvider::find`].
pub(crate) unsafe fn is_default_there(handle: *const c_void, core: *const Dispatch) -> bool {
    // SAFETY: the caller keeps the contract of `find`; `is_default` takes a `Look`.
    unsafe { looked(handle, core, is_default) }.unwrap_or(true)
}

/// Calls `told` for each active provider and returns whether it found what it searches for; `None` if the core does not
/// reveal other providers.
///
/// # Safety
/// As [`DefaultProvider::find`]; `told` takes a [`Look`].
unsafe fn looked(handle: *const c_void, core: *const Dispatch, told: Told) -> Option<bool> {
    // SAFETY: the caller keeps the contract of `find`, so `core` is the core's table.
    let core = unsafe { Core::of(core) };
    let (register, deregister) = (core.register?, core.deregister?);
    let look = Look {
        own: handle,
        name: core.name,
        found: AtomicBool::new(false),
    };
    let place = std::ptr::from_ref(&look).cast_mut().cast();
    // SAFETY: the core calls the functions by these types with this place, which outlives the calls: during `register`,
    // and from other threads, several of which may hold its lock for reading, until `deregister` has held it for writing.
    // They share the place, whose changing field is atomic.
    unsafe {
        if register(handle, told, goes, properties, place) <= 0 {
            return None;
        }
        deregister(handle);
    }
    Some(look.found.into_inner())
}

/// What is searched for among the active providers. Several threads of the core may report to it at once.
struct Look {
    own: *const c_void,
    name: Option<unsafe extern "C" fn(*const c_void) -> *const c_char>,
    found: AtomicBool,
}

/// The search for the default provider and the default query. Several threads of the core may report to it at once.
struct Search {
    core: Core,
    /// The core's handle of the provider, referenced, or null.
    provider: AtomicPtr<c_void>,
    leaves_keys: AtomicBool,
}

impl Drop for DefaultProvider {
    fn drop(&mut self) {
        if let (Some(free), false) = (self.core.free, self.provider.is_null()) {
            // SAFETY: the core's function releases the reference taken in `is_there`. This provider's functions, which
            // may call the default provider's, are no longer called.
            unsafe { free(self.provider, 0) };
        }
    }
}

/// Takes a reference if the provider is the default one. The core calls it under a lock, so it does little.
///
/// # Safety
/// The core calls this with one of its providers and the place that `find` gave it.
unsafe extern "C" fn is_there(provider: *const c_void, found: *mut c_void) -> c_int {
    // SAFETY: the argument is that of `find`, and the core's provider has a name that ends with a zero.
    unsafe {
        let search = &*found.cast::<Search>();
        let core = &search.core;
        let (Some(name), Some(up_ref), Some(free)) = (core.name, core.up_ref, core.free) else {
            return 1;
        };
        let name = name(provider);
        let is_default = !name.is_null() && CStr::from_ptr(name) == c"default";
        // A reference without activation: its functions stay loaded, but it may be deactivated.
        if is_default && up_ref(provider, 0) > 0 {
            let (first, relaxed) = (Ordering::Release, Ordering::Relaxed);
            let place = &search.provider;
            let taken = place.compare_exchange(null_mut(), provider.cast_mut(), first, relaxed);
            // Another thread was first.
            if taken.is_err() {
                free(provider, 0);
            }
        }
    }
    1
}

/// Notes a provider that is neither OpenSSL's nor this one.
///
/// # Safety
/// The core calls this with one of its providers and the place that `looked` gave it.
unsafe extern "C" fn is_stranger(provider: *const c_void, look: *mut c_void) -> c_int {
    // SAFETY: the argument is that of `looked`, a `Look` that outlives the call, and the core's provider has a name that ends with a zero.
    unsafe {
        let look = &*look.cast::<Look>();
        let name = look.name.map_or(null(), |name| name(provider));
        let is_known = !name.is_null() && OPENSSLS.contains(&CStr::from_ptr(name));
        let is_stranger = provider != look.own && !is_known;
        look.found.fetch_or(is_stranger, Ordering::Relaxed);
    }
    1
}

/// Notes the default provider.
///
/// # Safety
/// The core calls this with one of its providers and the place that `looked` gave it.
unsafe extern "C" fn is_default(provider: *const c_void, look: *mut c_void) -> c_int {
    // SAFETY: the argument is that of `looked`, a `Look` that outlives the call, and the core's provider has a name that ends with a zero.
    unsafe {
        let look = &*look.cast::<Look>();
        let name = look.name.map_or(null(), |name| name(provider));
        let is_default = !name.is_null() && CStr::from_ptr(name) == c"default";
        look.found.fetch_or(is_default, Ordering::Relaxed);
    }
    1
}

/// Reads the default query, if there is one.
///
/// # Safety
/// The core calls this with a text that ends with a zero and the place that `find` gave it.
unsafe extern "C" fn query(properties: *const c_char, found: *mut c_void) -> c_int {
    // SAFETY: the argument is that of `find`, and the core's text ends with a zero.
    unsafe {
        let mut clauses = CStr::from_ptr(properties)
            .to_bytes()
            .split(|it| *it == b',');
        let leaves_keys = clauses.any(|clause| clause.trim_ascii() == b"?oarlock.keys=no");
        let search = &*found.cast::<Search>();
        search.leaves_keys.store(leaves_keys, Ordering::Relaxed);
    }
    1
}

extern "C" fn goes(_provider: *const c_void, _found: *mut c_void) -> c_int {
    1
}

/// Ignores the default query, which the core reports as well.
extern "C" fn properties(_properties: *const c_char, _found: *mut c_void) -> c_int {
    1
}
