//! The provider's state from load to unload.
#![allow(unsafe_code)]

use std::ffi::{CString, c_char, c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, TryLockError};
use std::time::{Duration, Instant};

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
    /// The counters of requests, if requests are counted.
    pub(crate) usage: Option<Arc<Usage>>,
    /// The number of private operations in lanes that these counters include.
    pub(crate) lanes_counted: AtomicU64,
    /// The time saved by lanes, in nanoseconds, that these counters include.
    pub(crate) saved_counted: AtomicI64,
    /// The ciphers that it offers. Ends with [`Algorithm::END`].
    pub(crate) ciphers: Vec<Algorithm>,
    /// The key managements for the ciphers. Ends with [`Algorithm::END`].
    pub(crate) keys: Vec<Algorithm>,
    /// The primitives that it offers in addition to ciphers and RSA.
    pub(crate) primitives: Vec<Primitive>,
    /// The lists of everything else that it offers, once the default provider was found.
    pub(crate) offered: OnceLock<Offered>,
    /// The default provider's algorithms that `offered` wraps. Dropped after it.
    pub(crate) defaults: OnceLock<Box<Defaults>>,
    pub(crate) signer: Signer,
    /// The core's functions that read files it has opened.
    pub(crate) bios: Bios,
    pub(crate) offers_rsa: bool,
    /// What is needed to look for other providers.
    pub(crate) search: Mutex<Search>,
    /// The ID of a process in which the lock of `search` was never released, or 0.
    pub(crate) search_lost_in: AtomicU32,
    /// Whether the default provider was found: a program that does without it must not get its algorithms here.
    pub(crate) has_default: AtomicBool,
    /// For `oarlock doctor`: what became of the calibration that the configuration names; empty if it names none.
    pub(crate) calibration: CString,
    /// Oarlock's version and this library's build ID.
    pub(crate) build: CString,
}

/// The core's functions that read its BIOs.
#[derive(Clone, Copy, Default)]
pub(crate) struct Bios {
    /// Reads a line into a buffer of the given length, with a final NUL. Returns the number of bytes read.
    pub(crate) gets: Option<BioGets>,
    /// Reads up to the given number of bytes, and stores how many were read. Returns 1 if there were any.
    pub(crate) read: Option<BioRead>,
}

pub(crate) type BioGets = unsafe extern "C" fn(*mut c_void, *mut c_char, c_int) -> c_int;
pub(crate) type BioRead =
    unsafe extern "C" fn(*mut c_void, *mut c_void, usize, *mut usize) -> c_int;

/// The core's handle and table, valid until the core shuts down.
pub(crate) struct Search {
    pub(crate) handle: *const c_void,
    pub(crate) core: *const Dispatch,
}

impl Provider {
    /// Whether it offers any algorithm.
    pub(crate) fn offers_anything(&self) -> bool {
        // The list ends with an algorithm without names.
        self.ciphers.len() > 1 || self.offers_rsa || !self.primitives.is_empty()
    }

    /// Whether the default provider is active, or was.
    ///
    /// # Safety
    /// The core is calling, so it has not shut down.
    pub(crate) unsafe fn has_default(&self) -> bool {
        if !self.has_default.load(Ordering::Relaxed) {
            let Some(search) = self.search() else {
                return true;
            };
            // SAFETY: the core's table and handle, kept since `OSSL_provider_init`; the lock is held, so no other
            // thread searches.
            if !unsafe { is_default_there(search.handle, search.core) } {
                return false;
            }
            self.has_default.store(true, Ordering::Relaxed);
        }
        true
    }

    /// Returns the default provider's RSA; `None` while it was not found, or if RSA is not offered.
    pub(crate) fn default_rsa(&self) -> Option<&DefaultRsa> {
        self.defaults.get()?.rsa.as_ref()
    }

    /// Whether a key may belong to a provider that exposes only public halves: any provider that is not OpenSSL's may.
    ///
    /// # Safety
    /// The core is calling, so it has not shut down.
    pub(crate) unsafe fn may_keys_be_elsewhere(&self) -> bool {
        let Some(search) = self.search() else {
            return true;
        };
        // SAFETY: the core's table and handle, kept since `OSSL_provider_init`; this thread holds the lock.
        unsafe { are_strangers_there(search.handle, search.core) }
    }

    /// Locks the search for other providers. It does not wait without limit: another thread may have held the lock when this
    /// process was forked. Then it returns `None`.
    pub(crate) fn search(&self) -> Option<MutexGuard<'_, Search>> {
        // It timed out in this process before.
        let process = std::process::id();
        if self.search_lost_in.load(Ordering::Relaxed) == process {
            return None;
        }
        let mut began = None;
        loop {
            match self.search.try_lock() {
                Ok(search) => return Some(search),
                Err(TryLockError::Poisoned(search)) => return Some(search.into_inner()),
                Err(TryLockError::WouldBlock) => {}
            }
            if began.get_or_insert_with(Instant::now).elapsed() > SEARCH_MAX {
                self.search_lost_in.store(process, Ordering::Relaxed);
                return None;
            }
            std::thread::yield_now();
        }
    }

    /// Counts an operation that was done here, for `oarlock run --stats`.
    #[inline]
    pub(crate) fn count(&self, primitive: Primitive, performed: Performed) {
        if let Some(usage) = &self.usage {
            usage.record_operation(primitive, performed);
        }
    }

    /// Counts one private operation with an RSA key, `computed` in that way, for `oarlock run --stats`.
    pub(crate) fn count_private(&self, computed: Computed) {
        let Some(usage) = &self.usage else {
            return;
        };
        usage.record_private(computed, 1);
        // Adds what lanes have computed since the last time, for any request.
        let public_key = self.accelerator.stats().public_key;
        let saved = public_key.saved_ns;
        // In whatever order threads get here, the differences add up to the last value.
        usage.record_saved(saved - self.saved_counted.swap(saved, Ordering::Relaxed));
        let in_lanes = public_key.in_groups;
        let before = self.lanes_counted.fetch_max(in_lanes, Ordering::Relaxed);
        if in_lanes > before {
            usage.record_private(Computed::InLanes, in_lanes - before);
        }
    }
}

/// Much longer than another thread searches, even on a busy machine.
const SEARCH_MAX: Duration = Duration::from_secs(1);
