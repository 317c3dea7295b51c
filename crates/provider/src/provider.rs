//! What the provider keeps from its loading to its unloading.
#![allow(unsafe_code)]

use std::ffi::{CString, c_char, c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, TryLockError};

use oarlock::Accelerator;
use oarlock_engine::Primitive;
use oarlock_engine::costs::{Computed, Performed, Usage};

use crate::abi::{Algorithm, Dispatch};
use crate::default_provider::rsa::DefaultRsa;
use crate::default_provider::{Defaults, are_strangers_there, is_default_there};
use crate::error::Errors;
use crate::host::Host;
use crate::offered::Offered;
use crate::signer::Signer;

/// The provider, as one library context of OpenSSL has loaded it.
pub(crate) struct Provider {
    pub(crate) accelerator: Accelerator,
    pub(crate) errors: Errors,
    pub(crate) host: Host,
    /// The counters of requests, if they are counted.
    pub(crate) usage: Option<Arc<Usage>>,
    /// How many of the private operations in lanes are among these counters.
    pub(crate) lanes_counted: AtomicU64,
    /// How much of the time that lanes have saved is among these counters.
    pub(crate) saved_counted: AtomicI64,
    /// What it offers. Ends with [`Algorithm::END`].
    pub(crate) ciphers: Vec<Algorithm>,
    /// The managements of keys for them. Ends with [`Algorithm::END`].
    pub(crate) keys: Vec<Algorithm>,
    /// What is offered besides ciphers and RSA.
    pub(crate) primitives: Vec<Primitive>,
    /// What it offers besides ciphers, once the default provider was seen.
    pub(crate) offered: OnceLock<Offered>,
    /// What that is put around: the last to go.
    pub(crate) defaults: OnceLock<Box<Defaults>>,
    pub(crate) signer: Signer,
    /// What reads files that the core has opened.
    pub(crate) bios: Bios,
    pub(crate) offers_rsa: bool,
    /// What looks for other providers.
    pub(crate) search: Mutex<Search>,
    /// Whether the default provider was seen: what it does not offer, a program is not to get from here.
    pub(crate) has_default: AtomicBool,
    /// For `oarlock doctor`: what became of the calibration that the configuration names; empty if it names none.
    pub(crate) calibration: CString,
    /// Oarlock's version and this library's build id.
    pub(crate) build: CString,
}

/// Functions of the core's that read its BIOs.
#[derive(Clone, Copy, Default)]
pub(crate) struct Bios {
    /// Reads a line into a buffer of the given length, with a final NUL. Returns the number of bytes read.
    pub(crate) gets: Option<BioGets>,
    /// Reads at most the given number of bytes, and stores how many there were. Returns 1 if there were any.
    pub(crate) read: Option<BioRead>,
}

pub(crate) type BioGets = unsafe extern "C" fn(*mut c_void, *mut c_char, c_int) -> c_int;
pub(crate) type BioRead =
    unsafe extern "C" fn(*mut c_void, *mut c_void, usize, *mut usize) -> c_int;

/// What the core has given for the time until its end.
pub(crate) struct Search {
    pub(crate) handle: *const c_void,
    pub(crate) core: *const Dispatch,
}

impl Provider {
    /// Whether the default provider is active, or was.
    ///
    /// # Safety
    /// The core calls, so that it has not ended.
    pub(crate) unsafe fn has_default(&self) -> bool {
        if !self.has_default.load(Ordering::Relaxed) {
            let search = self.search.lock().unwrap_or_else(PoisonError::into_inner);
            // SAFETY: the core's table and handle, kept since `OSSL_provider_init`; the lock is held, so no
            // other thread is in there.
            if !unsafe { is_default_there(search.handle, search.core) } {
                return false;
            }
            self.has_default.store(true, Ordering::Relaxed);
        }
        true
    }

    /// The default provider's RSA; `None` while that was not seen, or where RSA is not offered.
    pub(crate) fn default_rsa(&self) -> Option<&DefaultRsa> {
        self.defaults.get()?.rsa.as_ref()
    }

    /// Whether a key may be of a provider that shows no more than its public half: such are all that are not OpenSSL's.
    ///
    /// # Safety
    /// The core calls, so that it has not ended.
    pub(crate) unsafe fn may_keys_be_elsewhere(&self) -> bool {
        // Not waited for without end: another thread may have had it when this process was forked.
        for _ in 0..SEARCH_TRIES {
            let search = match self.search.try_lock() {
                Ok(search) => search,
                Err(TryLockError::Poisoned(search)) => search.into_inner(),
                Err(TryLockError::WouldBlock) => {
                    std::thread::yield_now();
                    continue;
                }
            };
            // SAFETY: the core's table and handle, kept since `OSSL_provider_init`; the lock was to be had.
            return unsafe { are_strangers_there(search.handle, search.core) };
        }
        true
    }

    /// For `oarlock run --stats`: an operation that was done here.
    #[inline]
    pub(crate) fn count(&self, primitive: Primitive, performed: Performed) {
        if let Some(usage) = &self.usage {
            usage.record_operation(primitive, performed);
        }
    }

    /// For `oarlock run --stats`: one private operation with an RSA key was `computed`.
    pub(crate) fn count_private(&self, computed: Computed) {
        let Some(usage) = &self.usage else {
            return;
        };
        usage.record_private(computed, 1);
        // What lanes have computed since the last time, for whomever.
        let public_key = self.accelerator.stats().public_key;
        let saved = public_key.saved_ns;
        // Whatever order threads come in, the differences add up to the last.
        usage.record_saved(saved - self.saved_counted.swap(saved, Ordering::Relaxed));
        let in_lanes = public_key.in_groups;
        let before = self.lanes_counted.fetch_max(in_lanes, Ordering::Relaxed);
        if in_lanes > before {
            usage.record_private(Computed::InLanes, in_lanes - before);
        }
    }
}

/// The number of attempts to take a lock that other threads hold for a microsecond.
const SEARCH_TRIES: u32 = 10_000;
