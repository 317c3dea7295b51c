//! The library as a module of OpenSSL's configuration (config(5)): this loads the provider and leaves the choice of the
//! other providers to the program.
//!
//! OpenSSL loads its default provider at the first fetch, unless a provider was loaded before. A configuration can only
//! activate providers in a way that counts as loading one. It would have to activate the default provider too, even for
//! a program that loads `base`, `null` or `fips` to avoid it. A configuration module can load a provider without taking
//! that choice away:
//!
//! ```text
//! [openssl_init]
//! oarlock = oarlock_sect                   1. this module: OSSL_PROVIDER_try_load(.., retain_fallbacks = 1); clears 2
//! providers.oarlock = oarlock_providers    2. activates `default` and `oarlock`, where 1 found no libcrypto
//! ```
//!
//! A program that links OpenSSL statically may hide its functions. Then 2 loads the provider.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::null;

use crate::abi::functions;
use crate::caught::catching;
use crate::entry::OSSL_provider_init;
use crate::libcrypto::Libcrypto;
use crate::loading::{self, KEYS};

/// Loads the provider as the section that the module's value names says. It never fails: the program continues without
/// the provider.
///
/// # Safety
/// OpenSSL calls it, with a module and the configuration that is being applied.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn OPENSSL_init(module: *mut c_void, conf: *mut c_void) -> c_int {
    catching(1, || {
        // SAFETY: OpenSSL calls with a module and the configuration that it applies.
        unsafe { load(module, conf) };
        1
    })
}

/// # Safety
/// `module` and `conf` are OpenSSL's.
unsafe fn load(module: *mut c_void, conf: *mut c_void) {
    if conf.is_null() {
        return;
    }
    // The configuration starts with the address of its method, which lies in libcrypto (conftypes.h).
    // SAFETY: `conf` is OpenSSL's, as the caller promises, and not null; it has at least that member.
    let method = unsafe { *conf.cast::<*const c_void>() };
    let Some(of) = Libcrypto::of(method).and_then(|libcrypto| Functions::of(&libcrypto)) else {
        return;
    };
    // SAFETY: these are functions of the library that called, with its own objects. Texts end with a zero, and the
    // configuration's texts stay valid while it is applied.
    unsafe {
        (of.set_mark)();
        let section = (of.section)(module);
        if !section.is_null() {
            let values = KEYS.map(|key| {
                let value = (of.get_string)(conf, section, key.as_ptr());
                // OpenSSL takes a key that a section lacks from the default section, whose values belong to the user.
                let is_users = value == (of.get_string)(conf, DEFAULT.as_ptr(), key.as_ptr());
                if is_users { null() } else { value }
            });
            // The values are the configuration's texts, which outlive this call.
            loading::with(values, || load_into((of.context)(conf), conf, &of));
        }
        // A missing provider is not an error.
        (of.pop_to_mark)();
    }
}

/// # Safety
/// As for [`load`], with the library context that the configuration is for.
unsafe fn load_into(context: *mut c_void, conf: *mut c_void, of: &Functions) {
    // SAFETY: context, configuration and functions are of one libcrypto, as the caller promises. `OSSL_provider_init`
    // is a provider's entry point. The configuration's values are texts that it has allocated, and nothing else
    // accesses them while it is applied; a shorter one fits in the same memory.
    unsafe {
        (of.add_builtin)(context, NAME.as_ptr(), OSSL_provider_init as *const c_void);
        let provider = (of.try_load)(context, NAME.as_ptr(), 1);
        if provider.is_null() {
            return;
        }
        // The configuration's entries that would activate them again now name an empty section.
        for name in [DEFAULT, NAME] {
            let section = (of.get_string)(conf, PROVIDERS.as_ptr(), name.as_ptr());
            if !section.is_null() && CStr::from_ptr(section).to_bytes().starts_with(EMPTY) {
                *section.cast_mut().add(EMPTY.len()) = 0;
            }
        }
        // Drop the reference that comes with the load, so that the provider goes with its library context. It stays
        // active.
        let (handle, core) = loading::last();
        match (handle == provider.cast_const()).then(|| References::of(core).free) {
            Some(Some(free)) => free(handle, 0),
            Some(None) => {}
            // It was loaded before: a program may apply its configuration twice.
            None => {
                (of.unload)(provider);
            }
        }
    }
}

functions! {
    /// The core's functions for a provider's references.
    References {
        free 111 unsafe extern "C" fn(*const c_void, c_int),
    }
}

/// Declares functions of libcrypto by their names, with their types.
macro_rules! named {
    ($(#[$meta:meta])* $name:ident { $($field:ident $symbol:literal $type:ty,)+ }) => {
        $(#[$meta])*
        struct $name {
            $($field: $type,)+
        }

        impl $name {
            /// Returns `None` if the library does not export all of them.
            fn of(libcrypto: &Libcrypto) -> Option<Self> {
                Some(Self {
                    $(
                        // SAFETY: the function of this name has this type (its manual page), and no other object has
                        // the name.
                        $field: unsafe {
                            std::mem::transmute::<*mut c_void, $type>(libcrypto.symbol($symbol)?)
                        },
                    )+
                })
            }
        }
    };
}

named! {
    /// Functions that libcrypto has had since 3.0.
    Functions {
        set_mark c"ERR_set_mark" unsafe extern "C" fn() -> c_int,
        pop_to_mark c"ERR_pop_to_mark" unsafe extern "C" fn() -> c_int,
        section c"CONF_imodule_get_value" unsafe extern "C" fn(*const c_void) -> *const c_char,
        get_string c"NCONF_get_string"
            unsafe extern "C" fn(*const c_void, *const c_char, *const c_char) -> *const c_char,
        context c"NCONF_get0_libctx" unsafe extern "C" fn(*const c_void) -> *mut c_void,
        add_builtin c"OSSL_PROVIDER_add_builtin"
            unsafe extern "C" fn(*mut c_void, *const c_char, *const c_void) -> c_int,
        try_load c"OSSL_PROVIDER_try_load"
            unsafe extern "C" fn(*mut c_void, *const c_char, c_int) -> *mut c_void,
        unload c"OSSL_PROVIDER_unload" unsafe extern "C" fn(*mut c_void) -> c_int,
    }
}

const NAME: &CStr = c"oarlock";
const DEFAULT: &CStr = c"default";
/// The section of the providers that are activated in the other way.
const PROVIDERS: &CStr = c"oarlock_providers";
/// The name of an empty section. It is a prefix of the names of their sections.
const EMPTY: &[u8] = b"oarlock_";
