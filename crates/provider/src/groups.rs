//! The groups of TLS (provider-base(7), "CAPABILITIES"). Up to release 3.4 libssl takes a group from the provider whose keys
//! it would use, so a provider with preferred keys of X25519 has to announce the group.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

use oarlock_engine::Primitive;
use oarlock_engine::agreement::{Hybrid, MlKem};

use crate::abi::Param;
use crate::caught::catching;
use crate::default_provider::functions::Callback;
use crate::provider::Provider;
use crate::{algorithms, hybrid};

/// A group, as libssl takes it.
struct Group {
    /// The names by which configurations and libssl know it.
    name: &'static CStr,
    internal_name: &'static CStr,
    /// The type of its keys.
    algorithm: &'static CStr,
    /// By the registry of TLS.
    id: c_uint,
    security_bits: c_uint,
    is_kem: bool,
    /// The first version of TLS, and of DTLS; -1 for none.
    tls_min: c_int,
    dtls_min: c_int,
}

const X25519: Group = Group {
    name: c"x25519",
    internal_name: c"X25519",
    algorithm: c"X25519",
    id: 29,
    security_bits: 128,
    is_kem: false,
    tls_min: 0x0301,
    dtls_min: 0xfeff,
};

/// Announces what the provider has. Any answer but 1 makes libssl unusable.
///
/// # Safety
/// `provider` is what `OSSL_provider_init` gave the core; `capability` is null or ends with a zero; `callback` takes
/// `argument`.
pub(crate) unsafe extern "C" fn get_capabilities(
    provider: *mut c_void,
    capability: *const c_char,
    callback: Option<Callback>,
    argument: *mut c_void,
) -> c_int {
    catching(1, || {
        let Some(callback) = callback.filter(|_| !capability.is_null()) else {
            return 1;
        };
        // SAFETY: the core calls with the provider that `OSSL_provider_init` gave it.
        let provider = unsafe { &*provider.cast::<Provider>() };
        // SAFETY: the core's text is not null here, and ends with a zero.
        let capability = unsafe { CStr::from_ptr(capability) };
        if !capability.to_bytes().eq_ignore_ascii_case(b"TLS-GROUP") {
            return 1;
        }
        // SAFETY: the core calls.
        let is_there = unsafe { algorithms::offered(provider) }.is_some();
        let defaults = provider.defaults.get().filter(|_| is_there);
        let Some(defaults) = defaults else {
            return 1;
        };
        let has_x25519 = provider.primitives.contains(&Primitive::X25519);
        let hybrids = hybrid::announced(provider, defaults).map(Group::of_hybrid);
        for group in has_x25519.then_some(X25519).into_iter().chain(hybrids) {
            // SAFETY: the callback is libssl's, with its argument.
            if unsafe { group.announce(callback, argument) } != 1 {
                return 0;
            }
        }
        1
    })
}

impl Group {
    fn of_hybrid((hybrid, name): (Hybrid, &'static CStr)) -> Self {
        Self {
            name,
            internal_name: name,
            algorithm: name,
            id: hybrid.group().into(),
            security_bits: match hybrid.ml_kem() {
                MlKem::MlKem512 => 128,
                MlKem::MlKem768 => 192,
                MlKem::MlKem1024 => 256,
            },
            is_kem: true,
            tls_min: 0x0304,
            dtls_min: -1,
        }
    }

    /// # Safety
    /// `callback` takes `argument`.
    unsafe fn announce(&self, callback: Callback, argument: *mut c_void) -> c_int {
        let (mut id, mut security_bits) = (self.id, self.security_bits);
        let mut is_kem = c_uint::from(self.is_kem);
        let (mut tls_min, mut dtls_min) = (self.tls_min, self.dtls_min);
        // The last version: 0 for none in particular.
        let (mut tls_max, mut dtls_max) = (0, if self.dtls_min < 0 { -1 } else { 0 });
        let text = |key, text: &CStr| Param::giving_text(key, text.to_bytes_with_nul());
        let params = [
            text(c"tls-group-name", self.name),
            text(c"tls-group-name-internal", self.internal_name),
            text(c"tls-group-alg", self.algorithm),
            Param::asking_for_uint(c"tls-group-id", &mut id),
            Param::asking_for_uint(c"tls-group-sec-bits", &mut security_bits),
            Param::asking_for_uint(c"tls-group-is-kem", &mut is_kem),
            Param::asking_for_int(c"tls-min-tls", &mut tls_min),
            Param::asking_for_int(c"tls-max-tls", &mut tls_max),
            Param::asking_for_int(c"tls-min-dtls", &mut dtls_min),
            Param::asking_for_int(c"tls-max-dtls", &mut dtls_max),
            Param::END,
        ];
        // SAFETY: an array that ends as it must, of values that stay, and an argument that is the callback's.
        unsafe { callback(params.as_ptr(), argument) }
    }
}
