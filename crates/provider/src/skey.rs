//! Symmetric keys as objects (EVP_SKEY(3), provider-skeymgmt(7)), which OpenSSL has since 3.5.
//!
//! A cipher accepts such a key only from its own provider, so a provider of ciphers must manage keys as well. As in the
//! default provider, there are AES keys and keys for no particular algorithm. They can be imported, exported and freed,
//! and have no name. A key never changes, and OpenSSL counts its references.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

use zeroize::Zeroizing;

use crate::abi::{Algorithm, Dispatch, Param, Params, SELECT_SECRET_KEY, skeymgmt_function};
use crate::caught::catching;

/// The key behind a handle of OpenSSL's.
pub(crate) struct SecretKey {
    kind: Kind,
    octets: Zeroizing<Vec<u8>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Generic,
    Aes,
}

/// Returns what is offered, up to [`Algorithm::END`].
pub(crate) fn algorithms(are_offered: bool) -> Vec<Algorithm> {
    let mut algorithms = Vec::new();
    if are_offered {
        algorithms.push(Algorithm::offering(
            c"AES:2.16.840.1.101.3.4.1",
            AES.0.as_ptr(),
        ));
        algorithms.push(Algorithm::offering(c"GENERIC-SECRET", GENERIC.0.as_ptr()));
    }
    algorithms.push(Algorithm::END);
    algorithms
}

impl SecretKey {
    /// Returns the octets of a key that a cipher is given.
    ///
    /// # Safety
    /// `key` is null or came from [`import_aes`] or [`import_generic`], and is not freed within `'a`.
    pub(crate) unsafe fn octets<'a>(key: *const c_void) -> Option<&'a [u8]> {
        // SAFETY: the caller promises that `key` is null or was imported here, and is not freed within `'a`.
        let key = unsafe { key.cast::<Self>().as_ref() }?;
        Some(&key.octets)
    }

    /// Makes a key; `None` if the parameters hold no key of that kind, or memory is short.
    fn of(kind: Kind, selection: c_int, params: Params<'_>) -> Option<Self> {
        if selection & SELECT_SECRET_KEY == 0 {
            return None;
        }
        let mut given = None;
        params
            .each(|name, value| match name {
                RAW_BYTES if given.is_some() => Err(()),
                RAW_BYTES => {
                    given = Some(value.octets().ok_or(())?);
                    Ok(())
                }
                _ => Ok(()),
            })
            .ok()?;
        let (from, bytes) = given?;
        let fits = match kind {
            Kind::Generic => (1..c_int::MAX as usize).contains(&bytes),
            Kind::Aes => matches!(bytes, 16 | 24 | 32),
        };
        if from.is_null() || !fits {
            return None;
        }
        let mut octets = Zeroizing::new(Vec::new());
        octets.try_reserve_exact(bytes).ok()?;
        // SAFETY: the caller of OpenSSL promises that many bytes.
        octets.extend_from_slice(unsafe { std::slice::from_raw_parts(from, bytes) });
        Some(Self { kind, octets })
    }
}

struct Functions([Dispatch; 5]);

// SAFETY: a table of key management functions, never written.
unsafe impl Sync for Functions {}

const fn functions(import: *const c_void, export: *const c_void) -> Functions {
    Functions([
        Dispatch {
            id: skeymgmt_function::FREE,
            function: free as *const c_void,
        },
        Dispatch {
            id: skeymgmt_function::IMPORT,
            function: import,
        },
        Dispatch {
            id: skeymgmt_function::EXPORT,
            function: export,
        },
        Dispatch {
            id: skeymgmt_function::IMP_SETTABLE_PARAMS,
            function: settable as *const c_void,
        },
        Dispatch::END,
    ])
}

static AES: Functions = functions(import_aes as *const c_void, export_aes as *const c_void);
static GENERIC: Functions = functions(
    import_generic as *const c_void,
    export_generic as *const c_void,
);

/// # Safety
/// `params` is null or an array that ends with [`Param::END`].
unsafe extern "C" fn import_aes(
    _provider: *mut c_void,
    selection: c_int,
    params: *mut Param,
) -> *mut c_void {
    // SAFETY: the core's parameters of an AES key are an array that ends.
    unsafe { import(Kind::Aes, selection, params) }
}

/// # Safety
/// `params` is null or an array that ends with [`Param::END`].
unsafe extern "C" fn import_generic(
    _provider: *mut c_void,
    selection: c_int,
    params: *mut Param,
) -> *mut c_void {
    // SAFETY: the core's parameters of a generic key are an array that ends.
    unsafe { import(Kind::Generic, selection, params) }
}

/// # Safety
/// `params` is null or an array that ends with [`Param::END`].
unsafe fn import(kind: Kind, selection: c_int, params: *mut Param) -> *mut c_void {
    catching(null_mut(), || {
        // SAFETY: the caller promises that `params` is null or an array that ends.
        let params = unsafe { Params::new(params) };
        match SecretKey::of(kind, selection, params) {
            Some(key) => Box::into_raw(Box::new(key)).cast(),
            None => null_mut(),
        }
    })
}

/// Takes parameters, valid for the duration of the call, and the argument of the export's caller.
type Callback = unsafe extern "C" fn(*const Param, *mut c_void) -> c_int;

/// # Safety
/// As for [`export`].
unsafe extern "C" fn export_aes(
    key: *const c_void,
    selection: c_int,
    callback: Option<Callback>,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: the core passes an AES key of ours, and what an export needs.
    unsafe { export(Kind::Aes, key, selection, callback, argument) }
}

/// # Safety
/// As for [`export`].
unsafe extern "C" fn export_generic(
    key: *const c_void,
    selection: c_int,
    callback: Option<Callback>,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: the core passes a generic key of ours, and what an export needs.
    unsafe { export(Kind::Generic, key, selection, callback, argument) }
}

/// # Safety
/// `key` is null or came from `import`, and is not freed during the call; `callback` may be called with `argument`.
unsafe fn export(
    kind: Kind,
    key: *const c_void,
    selection: c_int,
    callback: Option<Callback>,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: the caller promises that `key` is null or was imported here, and is not freed during the call.
    let key = unsafe { key.cast::<SecretKey>().as_ref() };
    let key = key.filter(|key| key.kind == kind && selection & SELECT_SECRET_KEY != 0);
    let (Some(key), Some(callback)) = (key, callback) else {
        return 0;
    };
    let params = [Param::giving_octets(c"raw-bytes", &key.octets), Param::END];
    // SAFETY: the array ends with `Param::END`. The octets live as long as the key, which EVP_SKEY_get0_raw_key(3)
    // relies on.
    unsafe { callback(params.as_ptr(), argument) }
}

/// # Safety
/// `key` is null or came from `import`, and this is the last call with it.
unsafe extern "C" fn free(key: *mut c_void) {
    if !key.is_null() {
        catching((), || {
            // SAFETY: the key came from `import`, and this is the last call with it.
            drop(unsafe { Box::from_raw(key.cast::<SecretKey>()) });
        });
    }
}

extern "C" fn settable(_provider: *mut c_void) -> *const Param {
    static SETTABLE: [Param; 2] = [Param::octets(c"raw-bytes"), Param::END];
    SETTABLE.as_ptr()
}

const RAW_BYTES: &[u8] = b"raw-bytes";
