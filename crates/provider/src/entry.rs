//! The entry point: reads the options and a calibration, and offers the algorithms that are at least as fast as
//! OpenSSL's.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::panic::catch_unwind;
use std::ptr::null;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64};
use std::sync::{Mutex, OnceLock};

use oarlock::{Accelerator, Options};
use oarlock_engine::Primitive;
use oarlock_engine::costs::Computed;
use oarlock_engine::costs::openssl::Measured;
use oarlock_engine::plan::{provided, provided_primitives};

use crate::abi::{
    Algorithm, Dispatch, OPERATION_CIPHER, OPERATION_SKEYMGMT, Param, Params, core_function,
    provider_function,
};
use crate::allocator::{Allocator, Free, Malloc};
use crate::caught::catching;
use crate::error::Errors;
use crate::host::Host;
use crate::provider::{BioGets, BioRead, Bios, Provider, Search};
use crate::signer::{Signer, Tell};
use crate::surroundings::c_text;
use crate::{
    algorithms, allocator, asked, calibration, cipher, counted, groups, loading, offered, skey,
    surroundings,
};

/// The entry point (provider-base(7)).
///
/// Reads `options`, `stats`, `calibration`, `local`, `relay` and `post-quantum` from its section in the configuration
/// and, unless the program runs with more rights than its user, `OARLOCK_OPTIONS`. If the options are wrong, or the
/// program shares OpenSSL's memory with other processes, it offers nothing, so the program continues with the default
/// provider; `oarlock doctor` says what is wrong. It measures nothing: it uses the file that `calibration` names if
/// that matches and is trusted, and otherwise the library's tables.
///
/// # Safety
/// OpenSSL's core calls it, with a handle, the table of its functions and two places for results.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn OSSL_provider_init(
    handle: *const c_void,
    core: *const Dispatch,
    functions: *mut *const Dispatch,
    context: *mut *mut c_void,
) -> c_int {
    // A panic's message would go to the standard error of a program that is not ours.
    let made = catch_unwind(|| {
        std::panic::set_hook(Box::new(|_| {}));
        // SAFETY: `core` is the core's table and `handle` came with it, as the caller promises.
        unsafe { load(handle, core) }
    });
    // Without memory for the provider, the program continues without it.
    let mut place = Vec::new();
    let (Ok(provider), Ok(())) = (made, place.try_reserve_exact(1)) else {
        return 0;
    };
    place.push(provider);
    let provider: *mut [Provider] = Box::into_raw(place.into_boxed_slice());
    // SAFETY: both places are the core's.
    unsafe {
        *functions = FUNCTIONS.0.as_ptr();
        *context = provider.cast();
    }
    loading::is_loaded(handle, core);
    1
}

/// Reads the configuration and makes the provider.
///
/// # Safety
/// `core` is the core's table and `handle` came with it.
unsafe fn load(handle: *const c_void, core: *const Dispatch) -> Provider {
    // SAFETY: `core` is the core's table and `handle` came with it, as this function's caller promises.
    let told = |key| unsafe { told(handle, core, key) };
    let (options, stats, path) = (told(c"options"), told(c"stats"), told(c"calibration"));
    let (local, relay) = (told(c"local"), told(c"relay"));
    let asks_for_post_quantum = told(c"post-quantum") == Some("yes");
    let (openssl, identity) = (told(c"openssl-version"), told(c"identity"));
    // SAFETY: the core's table and its handle, from the caller of this function.
    let (errors, bios) = unsafe { (Errors::new(handle, core), bios(core)) };
    // SAFETY: the core's table ends, as the caller of this function promises.
    let of_core = unsafe { function(core, core_function::GET_PARAMS) }.unwrap_or(null());
    let host = Host::of(openssl);
    let usage = counted::usage(stats, of_core);
    // SAFETY: `core` is the core's table.
    let allocator = unsafe { allocator(core) };
    // Contexts and keys belong to one process.
    let is_private = allocator::is_private(of_core, allocator);
    let made = is_private.then(|| accelerator(options)).flatten();
    let accelerator = made.clone().unwrap_or_else(inert);
    let (measured, calibration) = match path.map(|path| calibrated(&accelerator, path, of_core)) {
        None => (None, String::new()),
        Some(Ok(measured)) => (Some(measured), "used".to_owned()),
        Some(Err(why)) => (None, why),
    };
    let (mut ciphers, mut primitives) = (Vec::new(), Vec::new());
    if made.is_some() {
        let provided = provided(
            accelerator.cpu(),
            &accelerator.options(),
            openssl.unwrap_or_default(),
            measured.as_ref(),
        );
        let offered = provided.iter().filter(|one| one.withheld.is_none());
        ciphers.extend(offered.filter_map(|one| cipher::algorithm(one.operation, usage.is_some())));
        let provided = provided_primitives(
            accelerator.cpu(),
            &accelerator.options(),
            openssl.unwrap_or_default(),
            measured.as_ref(),
            asks_for_post_quantum,
        );
        let offered = provided.iter().filter(|one| one.withheld.is_none());
        primitives.extend(offered.map(|one| one.primitive));
    }
    // Only this provider has the remote keys, whatever was measured.
    if made.is_some() && relay.is_some() && !primitives.contains(&Primitive::EcP256) {
        primitives.push(Primitive::EcP256);
    }
    // Without lanes, nothing is gained.
    let offers_rsa = made.is_some() && (accelerator.lanes().is_some() || relay.is_some());
    let search = Search { handle, core };
    let (counted, shown) = (usage.clone(), accelerator.clone());
    let tell_lost: Tell = Box::new(move || {
        shown.as_ref().show_abandoned();
        if let Some(usage) = &counted {
            usage.record_private(Computed::Abandoned, 1);
        }
    });
    let has_keys = host.has_symmetric_keys() && !ciphers.is_empty();
    ciphers.push(Algorithm::END);
    let lanes = accelerator.options().lanes;
    Provider {
        accelerator,
        errors,
        host,
        usage,
        lanes_counted: AtomicU64::new(0),
        saved_counted: AtomicI64::new(0),
        ciphers,
        keys: skey::algorithms(has_keys),
        primitives,
        offered: OnceLock::new(),
        defaults: OnceLock::new(),
        signer: if offers_rsa {
            Signer::of(of_core, local, relay, lanes, tell_lost)
        } else {
            Signer::default()
        },
        bios,
        offers_rsa,
        search: Mutex::new(search),
        search_lost_in: AtomicU32::new(0),
        // If a program loads the provider itself, the program wants it.
        has_default: AtomicBool::new(identity.is_none() && !loading::is_at_work()),
        calibration: c_text(calibration),
        build: c_text(surroundings::provider()),
    }
}

/// Returns the measurements of this libcrypto on this CPU, or the reason why there are none.
fn calibrated(
    accelerator: &Accelerator,
    path: &str,
    of_core: *const c_void,
) -> Result<Measured, String> {
    let stored = calibration::read(path)?;
    // In a virtual machine, identifying the CPU takes longer than reading the file, so it comes second.
    let made_for = surroundings::made_for(accelerator, of_core)?;
    stored.find(&made_for).cloned()
}

/// Returns the accelerator; `None` if the options are wrong.
fn accelerator(configured: Option<&str>) -> Option<Accelerator> {
    let mut options = Options::default();
    if let Some(configured) = configured {
        options.set_all(configured).ok()?;
    }
    let accelerator = Accelerator::builder()
        .guest()
        .options(options)
        .environment()
        .build()
        .ok()?;
    // Threads never spin in a process that is not ours, whatever the options say: it would burn CPU time.
    let mut options = accelerator.options();
    options.spin = false;
    accelerator.set_options(options).ok()?;
    Some(accelerator)
}

fn inert() -> Accelerator {
    #[allow(clippy::expect_used)] // The defaults are valid.
    Accelerator::builder()
        .max_threads(0)
        .build()
        .expect("the default options are valid")
}

/// Returns the value of `key` in this provider's section of the configuration, or from the core itself.
///
/// # Safety
/// `core` is the core's table and `handle` came with it. The text lives as long as the provider is loaded; it is used
/// at once.
unsafe fn told<'a>(
    handle: *const c_void,
    core: *const Dispatch,
    key: &'static CStr,
) -> Option<&'a str> {
    type GetParams = unsafe extern "C" fn(*const c_void, *mut Param) -> c_int;
    // SAFETY: this function has the type that the interface gives its number; it stores in `text` a pointer to text
    // that ends with a zero.
    let told = unsafe {
        let get_params = function(core, core_function::GET_PARAMS)?;
        let get_params = std::mem::transmute::<*const c_void, GetParams>(get_params);
        let mut text: *const c_char = null();
        let mut params = [Param::asking_for_text(key, &mut text), Param::END];
        let is_told = get_params(handle, params.as_mut_ptr()) == 1 && !text.is_null();
        is_told.then(|| CStr::from_ptr(text))
    };
    let told = told.or_else(|| loading::told(key))?;
    // Text that is not UTF-8 is no valid option either.
    Some(told.to_str().unwrap_or("\u{fffd}"))
}

/// Returns the core's function with that number.
///
/// # Safety
/// `core` is the core's table.
unsafe fn function(core: *const Dispatch, number: c_int) -> Option<*const c_void> {
    let mut at = core;
    // SAFETY: the table ends with the number 0.
    unsafe {
        while (*at).id != number {
            if (*at).id == 0 {
                return None;
            }
            at = at.add(1);
        }
        Some((*at).function)
    }
}

/// # Safety
/// `core` is the core's table.
unsafe fn allocator(core: *const Dispatch) -> Option<Allocator> {
    // SAFETY: `core` is the core's table, as the caller promises; functions have the types that the interface gives
    // their numbers.
    unsafe {
        let malloc = function(core, core_function::CRYPTO_MALLOC)?;
        let free = function(core, core_function::CRYPTO_FREE)?;
        Some(Allocator {
            malloc: std::mem::transmute::<*const c_void, Malloc>(malloc),
            free: std::mem::transmute::<*const c_void, Free>(free),
        })
    }
}

/// # Safety
/// `core` is the core's table.
unsafe fn bios(core: *const Dispatch) -> Bios {
    // SAFETY: `core` is the core's table, as the caller promises, in which the two numbers have functions of these
    // types.
    unsafe {
        Bios {
            gets: function(core, core_function::BIO_GETS)
                .map(|gets| std::mem::transmute::<*const c_void, BioGets>(gets)),
            read: function(core, core_function::BIO_READ_EX)
                .map(|read| std::mem::transmute::<*const c_void, BioRead>(read)),
        }
    }
}

struct Functions([Dispatch; 6]);

// SAFETY: a table of provider functions, never written.
unsafe impl Sync for Functions {}

static FUNCTIONS: Functions = Functions([
    Dispatch {
        id: provider_function::TEARDOWN,
        function: teardown as *const c_void,
    },
    Dispatch {
        id: provider_function::GETTABLE_PARAMS,
        function: gettable_params as *const c_void,
    },
    Dispatch {
        id: provider_function::GET_PARAMS,
        function: get_params as *const c_void,
    },
    Dispatch {
        id: provider_function::QUERY_OPERATION,
        function: query_operation as *const c_void,
    },
    Dispatch {
        id: provider_function::GET_CAPABILITIES,
        function: groups::get_capabilities as *const c_void,
    },
    Dispatch::END,
]);

/// # Safety
/// `provider` came from `OSSL_provider_init`, and this is the core's last call with it.
unsafe extern "C" fn teardown(provider: *mut c_void) {
    let provider = provider.cast::<Provider>();
    let _ = catch_unwind(|| {
        // SAFETY: the provider came from `OSSL_provider_init`, and this is the core's last call with it: every context
        // holds a reference to the provider.
        drop(unsafe { Box::from_raw(provider) });
    });
}

extern "C" fn gettable_params(_provider: *mut c_void) -> *const Param {
    static GETTABLE: [Param; 6] = [
        Param::utf8_ptr(c"name"),
        Param::utf8_ptr(c"version"),
        Param::utf8_ptr(c"buildinfo"),
        Param::utf8_ptr(c"oarlock-calibration"),
        Param::int(c"status"),
        Param::END,
    ];
    GETTABLE.as_ptr()
}

/// # Safety
/// `provider` came from `OSSL_provider_init`; `params` is null or an array that ends with [`Param::END`].
unsafe extern "C" fn get_params(provider: *mut c_void, params: *mut Param) -> c_int {
    // SAFETY: `provider` came from `OSSL_provider_init`; the core still holds it.
    let provider = unsafe { &*provider.cast::<Provider>() };
    // SAFETY: the array of parameters is the core's, and ends with `Param::END`.
    let params = unsafe { Params::new(params) };
    let done = params.each(|key, value| {
        let is_done = match key {
            b"name" => value.set_text(c"Oarlock"),
            b"version" => value.set_text(VERSION),
            // SAFETY: the text belongs to the provider and does not change.
            b"buildinfo" => unsafe { value.set_text_of(&provider.build) },
            // SAFETY: the text belongs to the provider and lives as long.
            b"oarlock-calibration" => unsafe { value.set_text_of(&provider.calibration) },
            b"status" => value.set_number(u32::from(provider.offers_anything())),
            _ => true,
        };
        if is_done { Ok(()) } else { Err(()) }
    });
    done.is_ok().into()
}

/// # Safety
/// `provider` came from `OSSL_provider_init`, and `no_cache` is a place for a flag.
unsafe extern "C" fn query_operation(
    provider: *mut c_void,
    operation: c_int,
    no_cache: *mut c_int,
) -> *const Algorithm {
    // SAFETY: `provider` came from `OSSL_provider_init`, and `no_cache` is a place for a flag.
    let provider = unsafe {
        *no_cache = 0;
        &*provider.cast::<Provider>()
    };
    // SAFETY: the core is calling.
    let has_default = || catching(true, || unsafe { provider.has_default() });
    let seeker = asked::seeker(std::ptr::from_ref(provider).cast(), operation);
    let is_of_ciphers = matches!(operation, OPERATION_CIPHER | OPERATION_SKEYMGMT);
    if is_of_ciphers && !has_default() {
        // The default provider may come later.
        // SAFETY: `no_cache` is a place for a flag.
        unsafe { *no_cache = 1 };
        return null();
    }
    match operation {
        OPERATION_CIPHER => provider.ciphers.as_ptr(),
        OPERATION_SKEYMGMT if provider.keys.len() > 1 => provider.keys.as_ptr(),
        _ if offered::OPERATIONS.contains(&operation) => catching(null(), || {
            // SAFETY: the core is calling, so it has not shut down.
            let Some(offered) = (unsafe { algorithms::offered(provider) }) else {
                // The default provider may come later, and its lists are needed first.
                // SAFETY: a place for a flag, as the caller promises.
                unsafe { *no_cache = 1 };
                return null();
            };
            if let Some(keys) = offered.sought(seeker) {
                // SAFETY: `no_cache` is the core's place for a flag.
                unsafe { *no_cache = 1 };
                return keys.as_ptr();
            }
            offered.list(operation).map_or(null(), <[_]>::as_ptr)
        }),
        _ => null(),
    }
}

const VERSION: &CStr =
    match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
        Ok(version) => version,
        Err(_) => panic!("the version has no zero within"),
    };
