//! The groups of TLS (provider-base(7), "CAPABILITIES").
//!
//! libssl asks every active provider for groups, and fetches the key management of each group. Up to release 3.4 it
//! keeps a group only if the provider that announced it is the one that the fetch returned. So if a query prefers this
//! provider, the default provider's groups would be lost wherever both providers manage the keys. This provider passes
//! on what the default provider announces for these, and libssl takes each group from one of the two. Later releases
//! keep every announced group.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

use oarlock_engine::agreement::{Hybrid, MlKem};

use crate::abi::{Param, Params};
use crate::caught::catching;
use crate::default_provider::functions::Callback;
use crate::offered::Offered;
use crate::provider::Provider;
use crate::{algorithms, hybrid};

/// Announces the provider's groups. Any answer but 1 makes libssl unusable.
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
        // SAFETY: the core is calling.
        let offered = unsafe { algorithms::offered(provider) };
        let (Some(offered), Some(defaults)) = (offered, provider.defaults.get()) else {
            return 1;
        };
        if provider.host.takes_groups_of_one_provider() {
            let mut passing = Passing {
                offered,
                callback,
                argument,
            };
            let place = std::ptr::from_mut(&mut passing).cast();
            // SAFETY: the text is the core's; `pass_on` takes a `Passing`.
            if unsafe { defaults.capabilities(capability, pass_on, place) } == Some(0) {
                return 0;
            }
        }
        for group in hybrid::announced(provider, defaults).map(Group::of_hybrid) {
            // SAFETY: the callback is libssl's, with its argument.
            if unsafe { group.announce(callback, argument) } != 1 {
                return 0;
            }
        }
        1
    })
}

/// The argument of [`pass_on`].
struct Passing<'a> {
    offered: &'a Offered,
    callback: Callback,
    argument: *mut c_void,
}

/// Passes a group on if its keys are managed here too. Any answer but 1 ends the announcement.
///
/// # Safety
/// `params` is an array that ends with [`Param::END`], and `passing` a [`Passing`] that nothing else uses.
unsafe extern "C" fn pass_on(params: *const Param, passing: *mut c_void) -> c_int {
    catching(0, || {
        // SAFETY: the default provider passes parameters that end, and the argument that `get_capabilities` gave it.
        let (given, passing) = unsafe {
            let given = Params::new(params.cast_mut());
            (given, &*passing.cast::<Passing<'_>>())
        };
        let algorithm = given.find(b"tls-group-alg").and_then(|it| it.text());
        if !algorithm.is_some_and(|it| passing.offered.manages(it)) {
            return 1;
        }
        // SAFETY: the callback is libssl's; it gets its argument and the default provider's parameters.
        unsafe { (passing.callback)(params, passing.argument) }
    })
}

/// A group that OpenSSL does not have, in the form that libssl expects.
struct Group {
    /// The name in configurations, libssl and key management.
    name: &'static CStr,
    /// The number in the TLS registry.
    id: c_uint,
    security_bits: c_uint,
}

impl Group {
    fn of_hybrid((hybrid, name): (Hybrid, &'static CStr)) -> Self {
        Self {
            name,
            id: hybrid.group().into(),
            security_bits: match hybrid.ml_kem() {
                MlKem::MlKem512 => 128,
                MlKem::MlKem768 => 192,
                MlKem::MlKem1024 => 256,
            },
        }
    }

    /// # Safety
    /// `callback` takes `argument`.
    unsafe fn announce(&self, callback: Callback, argument: *mut c_void) -> c_int {
        let (mut id, mut security_bits) = (self.id, self.security_bits);
        let mut is_kem = 1;
        // From TLS 1.3 on, without an upper limit, and not with DTLS.
        let (mut tls_min, mut tls_max) = (0x0304, 0);
        let (mut dtls_min, mut dtls_max) = (-1, -1);
        let text = |key, text: &CStr| Param::giving_text(key, text.to_bytes_with_nul());
        let params = [
            text(c"tls-group-name", self.name),
            text(c"tls-group-name-internal", self.name),
            text(c"tls-group-alg", self.name),
            Param::asking_for_uint(c"tls-group-id", &mut id),
            Param::asking_for_uint(c"tls-group-sec-bits", &mut security_bits),
            Param::asking_for_uint(c"tls-group-is-kem", &mut is_kem),
            Param::asking_for_int(c"tls-min-tls", &mut tls_min),
            Param::asking_for_int(c"tls-max-tls", &mut tls_max),
            Param::asking_for_int(c"tls-min-dtls", &mut dtls_min),
            Param::asking_for_int(c"tls-max-dtls", &mut dtls_max),
            Param::END,
        ];
        // SAFETY: the array ends with `Param::END`, its values outlive the call, and the argument is the callback's.
        unsafe { callback(params.as_ptr(), argument) }
    }
}
