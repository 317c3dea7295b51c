//! A core of OpenSSL's as far as ciphers need one, and the provider that it has loaded (provider-base(7)).

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::{null, null_mut};
use std::sync::OnceLock;

use crate::evp::Param;
use crate::panics;

/// OSSL_DISPATCH.
#[repr(C)]
pub(super) struct Dispatch {
    id: c_int,
    function: *const c_void,
}

/// OSSL_ALGORITHM.
#[repr(C)]
struct Algorithm {
    names: *const c_char,
    properties: *const c_char,
    implementation: *const Dispatch,
    description: *const c_char,
}

/// The provider in one release of OpenSSL.
pub(super) struct Host {
    pub(super) provider: *mut c_void,
    /// Its own.
    pub(super) functions: Functions,
    /// The functions of each cipher that is offered.
    pub(super) ciphers: Vec<Functions>,
    /// The functions of each kind of keys that are objects; none before 3.5.
    pub(super) keys: Vec<Functions>,
}

// SAFETY: the provider's functions may be called by any thread, and tables are never written.
unsafe impl Send for Host {}
// SAFETY: threads call the functions of a table that nobody writes.
unsafe impl Sync for Host {}

/// A table of functions.
#[derive(Clone, Copy)]
pub(super) struct Functions(*const Dispatch);

impl Functions {
    /// The function of that number, of type `F`; a provider need not have it.
    ///
    /// # Safety
    /// The interface gives the number that type.
    pub(super) unsafe fn get<F: Copy>(self, id: c_int) -> Option<F> {
        assert_eq!(size_of::<F>(), size_of::<*const c_void>());
        let mut at = self.0;
        // SAFETY: the table ends with the number 0, and the function is of this type, as the caller says.
        unsafe {
            while (*at).id != 0 {
                if (*at).id == id {
                    return Some(std::mem::transmute_copy(&(*at).function));
                }
                at = at.add(1);
            }
        }
        None
    }
}

impl Host {
    /// Returns the host of OpenSSL 3.0, 3.5, 3.6 or 4.0; loaded once, as its program would.
    pub(super) fn of(number: u8) -> &'static Self {
        static HOSTS: [OnceLock<Host>; VERSIONS.len()] =
            [const { OnceLock::new() }; VERSIONS.len()];
        let number = usize::from(number) % VERSIONS.len();
        HOSTS[number].get_or_init(|| Self::load(VERSIONS[number]))
    }

    fn load(version: &'static CStr) -> Self {
        let core = [
            (GET_PARAMS, get_params as *const c_void),
            (NEW_ERROR, new_error as *const c_void),
            (SET_ERROR_DEBUG, set_error_debug as *const c_void),
            (VSET_ERROR, vset_error as *const c_void),
            (CRYPTO_MALLOC, malloc as *const c_void),
            (CRYPTO_FREE, free as *const c_void),
            (0, null()),
        ];
        let core = core.map(|(id, function)| Dispatch { id, function });
        // It is used for as long as the provider is.
        let core: &'static [Dispatch] = Box::leak(Box::new(core));
        let (mut functions, mut provider) = (null::<Dispatch>(), null_mut());
        // The provider silences panics, which are caught at its edge.
        // SAFETY: a core's table, a handle that its functions know, and two places. Both structures are OSSL_DISPATCH.
        let loaded = panics::keeping_hook(|| unsafe {
            oarlock_provider::OSSL_provider_init(
                version.as_ptr().cast(),
                core.as_ptr().cast(),
                (&raw mut functions).cast(),
                &raw mut provider,
            )
        });
        assert_eq!(loaded, 1);
        let functions = Functions(functions);
        let offered = |operation| {
            // SAFETY: the provider's own function of this type; its list ends with an algorithm without names.
            unsafe {
                let query: Query = functions.get(QUERY_OPERATION).unwrap();
                let mut at: *const Algorithm = query(provider, operation, &mut 0);
                let mut found = Vec::new();
                while !at.is_null() && !(*at).names.is_null() {
                    found.push(Functions((*at).implementation));
                    at = at.add(1);
                }
                found
            }
        };
        let (ciphers, keys) = (offered(CIPHER), offered(SKEYMGMT));
        assert!(!ciphers.is_empty());
        Self {
            provider,
            functions,
            ciphers,
            keys,
        }
    }
}

type Query = unsafe extern "C" fn(*mut c_void, c_int, *mut c_int) -> *const Algorithm;

/// Tells the version, which is the handle, and the options.
///
/// # Safety
/// `handle` is the version, and `params` an array that ends without a key, whose data are places for pointers.
unsafe extern "C" fn get_params(handle: *const c_void, mut params: *mut Param) -> c_int {
    // SAFETY: an array that ends without a key; of this type the data are a place for a pointer.
    unsafe {
        while !(*params).key.is_null() {
            let text = match CStr::from_ptr((*params).key).to_bytes() {
                b"openssl-version" => handle.cast(),
                b"options" => c"offer=all,max_threads=0".as_ptr(),
                _ => null(),
            };
            (*params).data.cast::<*const c_char>().write(text);
            params = params.add(1);
        }
    }
    1
}

extern "C" fn new_error(_: *const c_void) {}

extern "C" fn set_error_debug(_: *const c_void, _: *const c_char, _: c_int, _: *const c_char) {}

extern "C" fn vset_error(_: *const c_void, _: u32, _: *const c_char, _: *const c_void) {}

extern "C" fn malloc(bytes: usize, _: *const c_char, _: c_int) -> *mut c_void {
    // SAFETY: takes any number.
    unsafe { libc::malloc(bytes) }
}

/// # Safety
/// `memory` is null or of `malloc`, and this is the last use of it.
unsafe extern "C" fn free(memory: *mut c_void, _: *const c_char, _: c_int) {
    // SAFETY: of `malloc`, or null.
    unsafe { libc::free(memory) };
}

const VERSIONS: [&CStr; 4] = [c"3.0.19", c"3.5.5", c"3.6.1", c"4.0.0"];
/// Functions of the core (core_dispatch.h).
const GET_PARAMS: c_int = 2;
const NEW_ERROR: c_int = 5;
const SET_ERROR_DEBUG: c_int = 6;
const VSET_ERROR: c_int = 7;
const CRYPTO_MALLOC: c_int = 20;
const CRYPTO_FREE: c_int = 22;
/// A function of a provider.
const QUERY_OPERATION: c_int = 1027;
/// Operations.
const CIPHER: c_int = 2;
const SKEYMGMT: c_int = 15;
