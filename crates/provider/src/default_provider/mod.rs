//! The default provider of the library context that this one is loaded in, called without a detour through libcrypto.
//!
//! OpenSSL's core tells which providers are active, as it does for the library contexts of providers
//! (OSSL_LIB_CTX_new_child(3)), and gives their functions. So whatever is not done here is done by the very code that
//! would have done it without this provider, also in programs that link OpenSSL statically.
//!
//! The core is asked once and keeps no callback of ours. A program may free its last key after OpenSSL has cleaned up,
//! which tears this provider down; by then no core is left to take a callback back.
#![allow(unsafe_code)]

pub(crate) mod functions;
pub(crate) mod mac;
pub(crate) mod rsa;

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::null;

use oarlock_engine::agreement::{Hybrid, MlKem};
use oarlock_engine::hash::Hash;

use self::functions::{
    Callback, ExchangeFunctions, KdfFunctions, KemFunctions, KeyFunctions, MacFunctions,
    SignatureFunctions,
};
use self::mac::MacDigests;
use self::rsa::DefaultRsa;
use crate::abi::{
    Algorithm, Dispatch, OPERATION_KDF, OPERATION_KEM, OPERATION_KEYEXCH, OPERATION_KEYMGMT,
    OPERATION_MAC, OPERATION_SIGNATURE, functions,
};

/// The default provider, kept until this is dropped.
pub(crate) struct DefaultProvider {
    core: Core,
    /// The core's handle, with a reference to it.
    provider: *const c_void,
    /// Whether the default query asks that keys stay in the providers that have them.
    leaves_keys: bool,
}

/// The algorithms of the default provider's that others are put around.
pub(crate) struct Defaults {
    pub(crate) rsa: Option<DefaultRsa>,
    /// TLS13-KDF, HKDF and TLS1-PRF.
    pub(crate) kdfs: [Option<DefaultAlgorithm<KdfFunctions>>; 3],
    /// Before what they are contexts of.
    pub(crate) hmac_digests: MacDigests,
    pub(crate) hmac: Option<DefaultAlgorithm<MacFunctions>>,
    pub(crate) x25519: Option<DefaultAlgorithm<KeyFunctions>>,
    pub(crate) x25519_exchange: Option<DefaultAlgorithm<ExchangeFunctions>>,
    pub(crate) ec: Option<DefaultAlgorithm<KeyFunctions>>,
    pub(crate) ecdsa: Option<DefaultAlgorithm<SignatureFunctions>>,
    pub(crate) ed25519: Signing,
    /// ML-DSA-44, 65 and 87, since release 3.5.
    pub(crate) ml_dsa: Vec<Signing>,
    /// ML-KEM-512, 768 and 1024, since release 3.5.
    pub(crate) ml_kem: Vec<Encapsulating>,
    /// The hybrids of ML-KEM and a curve that it has, since release 3.5.
    hybrids: Vec<Hybrid>,
    /// What all of it rests on.
    provider: DefaultProvider,
}

/// Keys and their signatures.
pub(crate) struct Signing {
    pub(crate) keys: Option<DefaultAlgorithm<KeyFunctions>>,
    pub(crate) signatures: Option<DefaultAlgorithm<SignatureFunctions>>,
}

/// Keys and what encapsulates secrets for them.
pub(crate) struct Encapsulating {
    pub(crate) keys: Option<DefaultAlgorithm<KeyFunctions>>,
    pub(crate) kem: Option<DefaultAlgorithm<KemFunctions>>,
}

/// An algorithm of the default provider's.
pub(crate) struct DefaultAlgorithm<F> {
    pub(crate) functions: F,
    /// What its functions are called with.
    pub(crate) context: *mut c_void,
    pub(crate) names: *const c_char,
}

impl Defaults {
    /// Returns `None` if the core does not tell the default provider's context.
    pub(crate) fn of(default: DefaultProvider, with_rsa: bool) -> Option<Box<Self>> {
        let context = default.context()?;
        macro_rules! find {
            ($functions:ident, $operation:expr, $name:expr) => {
                default
                    .algorithm($operation, $name)
                    .map(|(names, table)| DefaultAlgorithm {
                        // SAFETY: the table is of this operation.
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

    /// Has the default provider announce a capability (provider-base(7)), and returns its answer; `None` if it announces
    /// nothing at all.
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
        // SAFETY: the default provider's function with its own context, a text that ends with a zero, and a callback with its
        // argument, as the caller says.
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

    /// Whether the default query asks that keys stay in the providers that have them, as `oarlock run` and
    /// `oarlock provider install` write it.
    pub(crate) fn leaves_keys(&self) -> bool {
        self.provider.leaves_keys
    }

    /// Whether it has keys and encapsulation of a hybrid.
    pub(crate) fn has_hybrid(&self, hybrid: Hybrid) -> bool {
        self.hybrids.contains(&hybrid)
    }
}

/// As the default provider calls a hash function.
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
    /// What the core offers to those who look at other providers.
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

/// Is told of a provider that it is there or goes.
type Told = unsafe extern "C" fn(*const c_void, *mut c_void) -> c_int;

functions! {
    /// What a provider offers to the core.
    Queries {
        query 1027 unsafe extern "C" fn(*mut c_void, c_int, *mut c_int) -> *const Algorithm,
        capabilities 1030 unsafe extern "C" fn(*mut c_void, *const c_char, Callback, *mut c_void) -> c_int,
    }
}

impl DefaultProvider {
    /// `None` where it is not active, or the core does not tell of other providers.
    ///
    /// # Safety
    /// `core` is the core's table and `handle` came with it; the library context lives, and no other thread is in
    /// here with the same handle.
    pub(crate) unsafe fn find(handle: *const c_void, core: *const Dispatch) -> Option<Self> {
        // SAFETY: `core` is the core's table, as the caller says.
        let core = unsafe { Core::of(core) };
        let (register, deregister) = (core.register?, core.deregister?);
        let mut found = Self {
            core,
            provider: null(),
            leaves_keys: false,
        };
        let place = std::ptr::from_mut(&mut found).cast();
        // SAFETY: the functions are of the types that the core calls them by, at once, with this place.
        unsafe {
            if register(handle, is_there, goes, query, place) > 0 {
                deregister(handle);
            }
        }
        (!found.provider.is_null()).then_some(found)
    }

    /// Its context, for its own functions.
    pub(crate) fn context(&self) -> Option<*mut c_void> {
        // SAFETY: the core's function, with a provider that a reference is kept of.
        Some(unsafe { self.core.context?(self.provider) })
    }

    /// What it offers to the core.
    fn queries(&self) -> Option<Queries> {
        // SAFETY: the core's function, with a provider that a reference is kept of, which gives that one's table.
        Some(unsafe { Queries::of(self.core.dispatch?(self.provider)) })
    }

    /// The names and the functions of its algorithm that has `name` as its first name, for an operation.
    pub(crate) fn algorithm(
        &self,
        operation: c_int,
        name: &[u8],
    ) -> Option<(*const c_char, *const Dispatch)> {
        // SAFETY: the core's function, with a provider that a reference is kept of, and that one's function with its
        // own context; a list ends with an algorithm without names, which are texts that end with a zero.
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

/// OpenSSL's own. A private key of one of these goes to other providers as a whole.
const OPENSSLS: [&CStr; 5] = [c"default", c"base", c"legacy", c"fips", c"null"];

/// Whether providers are active that are neither OpenSSL's nor this one.
///
/// # Safety
/// As [`DefaultProvider::find`].
pub(crate) unsafe fn are_strangers_there(handle: *const c_void, core: *const Dispatch) -> bool {
    // SAFETY: the caller keeps the contract of `find`; `is_stranger` takes a `Look`.
    unsafe { looked(handle, core, is_stranger) }.unwrap_or(true)
}

/// Whether the default provider is active. An OpenSSL that does not tell of others counts as one that has it.
///
/// # Safety
/// As [`DefaultProvider::find`].
pub(crate) unsafe fn is_default_there(handle: *const c_void, core: *const Dispatch) -> bool {
    // SAFETY: the caller keeps the contract of `find`; `is_default` takes a `Look`.
    unsafe { looked(handle, core, is_default) }.unwrap_or(true)
}

/// Whether `told`, which is told of each provider that is active, has found what it looks for; `None` if the core does
/// not tell.
///
/// # Safety
/// As [`DefaultProvider::find`]; `told` takes a [`Look`].
unsafe fn looked(handle: *const c_void, core: *const Dispatch, told: Told) -> Option<bool> {
    // SAFETY: the caller keeps the contract of `find`, so `core` is the core's table.
    let core = unsafe { Core::of(core) };
    let (register, deregister) = (core.register?, core.deregister?);
    let mut look = Look {
        own: handle,
        name: core.name,
        found: false,
    };
    let place = std::ptr::from_mut(&mut look).cast();
    // SAFETY: the functions are of the types that the core calls them by, with this place: at once, and by other threads
    // under its lock until `deregister` has had that lock.
    unsafe {
        if register(handle, told, goes, properties, place) <= 0 {
            return None;
        }
        deregister(handle);
    }
    Some(look.found)
}

struct Look {
    own: *const c_void,
    name: Option<unsafe extern "C" fn(*const c_void) -> *const c_char>,
    found: bool,
}

impl Drop for DefaultProvider {
    fn drop(&mut self) {
        if let (Some(free), false) = (self.core.free, self.provider.is_null()) {
            // SAFETY: the core's function, with the reference of `is_there`. Nobody calls this provider's functions
            // any more, which may call those of the default one.
            unsafe { free(self.provider, 0) };
        }
    }
}

/// A provider is active. Called under a lock of the core's, so it does no more than it must.
///
/// # Safety
/// The core calls, with a provider of its own and the place that `find` gave it.
unsafe extern "C" fn is_there(provider: *const c_void, found: *mut c_void) -> c_int {
    // SAFETY: the argument is that of `find`, and the provider the core's, whose name ends with a zero.
    unsafe {
        let found = &mut *found.cast::<DefaultProvider>();
        let (Some(name), Some(up_ref)) = (found.core.name, found.core.up_ref) else {
            return 1;
        };
        let name = name(provider);
        let is_default = !name.is_null() && CStr::from_ptr(name) == c"default";
        // A reference, so that its functions stay, without keeping it active.
        if is_default && found.provider.is_null() && up_ref(provider, 0) > 0 {
            found.provider = provider;
        }
    }
    1
}

/// The same.
///
/// # Safety
/// The core calls, with a provider of its own and the place that `looked` gave it.
unsafe extern "C" fn is_stranger(provider: *const c_void, look: *mut c_void) -> c_int {
    // SAFETY: the argument is that of `are_strangers_there`, and the provider the core's, whose name ends with a zero.
    unsafe {
        let look = &mut *look.cast::<Look>();
        let name = look.name.map_or(null(), |name| name(provider));
        let is_known = !name.is_null() && OPENSSLS.contains(&CStr::from_ptr(name));
        look.found |= provider != look.own && !is_known;
    }
    1
}

/// The same.
///
/// # Safety
/// The core calls, with a provider of its own and the place that `looked` gave it.
unsafe extern "C" fn is_default(provider: *const c_void, look: *mut c_void) -> c_int {
    // SAFETY: the argument is that of `is_default_there`, and the provider the core's, whose name ends with a zero.
    unsafe {
        let look = &mut *look.cast::<Look>();
        let name = look.name.map_or(null(), |name| name(provider));
        look.found |= !name.is_null() && CStr::from_ptr(name) == c"default";
    }
    1
}

/// The default query, if there is one.
///
/// # Safety
/// The core calls, with a text that ends with a zero and the place that `find` gave it.
unsafe extern "C" fn query(properties: *const c_char, found: *mut c_void) -> c_int {
    // SAFETY: the argument is that of `find`, and the text the core's.
    unsafe {
        let mut clauses = CStr::from_ptr(properties)
            .to_bytes()
            .split(|it| *it == b',');
        let leaves_keys = clauses.any(|clause| clause.trim_ascii() == b"?oarlock.keys=no");
        (*found.cast::<DefaultProvider>()).leaves_keys = leaves_keys;
    }
    1
}

extern "C" fn goes(_provider: *const c_void, _found: *mut c_void) -> c_int {
    1
}

/// The default query is told as well.
extern "C" fn properties(_properties: *const c_char, _found: *mut c_void) -> c_int {
    1
}
