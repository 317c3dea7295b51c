//! Accelerators and their options.

use std::ffi::{c_char, c_int, c_void};

use oarlock::device::CipherDevice;
use oarlock::{Accelerator, Options, Threads};

use crate::algorithms::named;
use crate::buffers::{Room, place, text};
use crate::failure::{Failure, call};
use crate::handles::{Handle, ManyCalls, Object, OneCall};

impl Object for Accelerator {
    const KIND: u64 = 1;
    const NAME: &'static str = "accelerator";
}

impl ManyCalls for Accelerator {}

/// `struct oarlock_stats`.
#[repr(C)]
pub struct Stats {
    requests: u64,
    bytes: u64,
    striped_requests: u64,
    prefetched_bytes: u64,
    rsa_alone: u64,
    rsa_groups: u64,
    rsa_in_groups: u64,
    rsa_faults: u64,
    jobs_waiting: u64,
}

/// The default, which is that of SILC's accelerator.
const MAX_THREADS: Threads = Threads::Exactly(4);

/// See `oarlock.h`.
///
/// # Safety
/// The caller owns `accelerator`, or it is NULL; `options` is NULL or ends with a NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oarlock_accelerator_new(
    accelerator: *mut Handle<Accelerator>,
    options: *const c_char,
) -> c_int {
    call(|| {
        // SAFETY: the caller says that it owns `accelerator`, or it is NULL.
        let to = unsafe { place(accelerator, "the place of the accelerator") }?;
        *to = Handle::NULL;
        let mut all = Options {
            max_threads: MAX_THREADS,
            ..Options::default()
        };
        if !options.is_null() {
            // SAFETY: the caller says that `options` is NULL or ends with a NUL.
            let options = unsafe { text(options, "the options") }?;
            all.set_all(options).map_err(oarlock::Error::from)?;
        }
        *to = Handle::new(Accelerator::builder().options(all).build()?)?;
        Ok(())
    })
}

/// See `oarlock.h`.
#[unsafe(no_mangle)]
pub extern "C" fn oarlock_accelerator_free(accelerator: Handle<Accelerator>) -> c_int {
    free_shared(accelerator)
}

/// Stores a new object in `to`, or NULL if creating it fails.
///
/// # Safety
/// The caller owns `to`, or it is NULL.
pub(crate) unsafe fn made<T: Object>(
    to: *mut Handle<T>,
    what: &str,
    make: impl FnOnce() -> Result<T, Failure>,
) -> Result<(), Failure> {
    // SAFETY: the caller of `made` says that it owns `to`, or it is NULL.
    let to = unsafe { place(to, what) }?;
    *to = Handle::NULL;
    *to = Handle::new(make()?)?;
    Ok(())
}

/// Frees an object that calls share. NULL is accepted; a handle that was freed already is an error.
pub(crate) fn free_shared<T: ManyCalls>(handle: Handle<T>) -> c_int {
    call(|| match handle.is_null() {
        true => Ok(()),
        false => handle.free_shared(),
    })
}

/// Frees an object for one call at a time. NULL is accepted; a handle that was freed already is an error.
pub(crate) fn free<T: OneCall>(handle: Handle<T>) -> c_int {
    call(|| match handle.is_null() {
        true => Ok(()),
        false => handle.free(),
    })
}

/// See `oarlock.h`.
///
/// # Safety
/// `options` is NULL or ends with a NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oarlock_accelerator_set_options(
    accelerator: Handle<Accelerator>,
    options: *const c_char,
) -> c_int {
    call(|| {
        let accelerator = accelerator.shared()?;
        // SAFETY: the caller says that `options` is NULL or ends with a NUL.
        let options = unsafe { text(options, "the options") }?;
        let mut all = accelerator.options();
        all.set_all(options).map_err(oarlock::Error::from)?;
        Ok(accelerator.set_options(all)?)
    })
}

/// See `oarlock.h`.
///
/// # Safety
/// The caller owns `options_bytes` and the `*options_bytes` bytes at `options`; both may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oarlock_accelerator_options(
    accelerator: Handle<Accelerator>,
    options: *mut c_char,
    options_bytes: *mut usize,
) -> c_int {
    call(|| {
        let accelerator = accelerator.shared()?;
        // SAFETY: the caller says that it owns `options_bytes` and the `*options_bytes` bytes at `options`.
        let room = unsafe { Room::new(options.cast::<c_void>(), options_bytes) }?;
        room.fill(format!("{}\0", accelerator.options()).as_bytes())
    })
}

/// See `oarlock.h`.
///
/// # Safety
/// The caller owns `name_bytes` and the `*name_bytes` bytes at `name`; both may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oarlock_accelerator_device(
    accelerator: Handle<Accelerator>,
    name: *mut c_char,
    name_bytes: *mut usize,
    index: usize,
) -> c_int {
    call(|| {
        accelerator.shared()?;
        // SAFETY: the caller says that it owns `name_bytes` and the `*name_bytes` bytes at `name`.
        let room = unsafe { Room::new(name.cast::<c_void>(), name_bytes) }?;
        let devices = CipherDevice::ALL;
        let device = devices.get(index).ok_or_else(|| {
            Failure::argument(format!(
                "there is no device {index}: there are {}",
                devices.len()
            ))
        })?;
        room.fill(format!("{}\0", device.name()).as_bytes())
    })
}

/// See `oarlock.h`.
///
/// # Safety
/// The caller owns `index`, or it is NULL; `name` is NULL or ends with a NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oarlock_accelerator_find_device(
    accelerator: Handle<Accelerator>,
    index: *mut usize,
    name: *const c_char,
) -> c_int {
    call(|| {
        accelerator.shared()?;
        // SAFETY: the caller says that it owns `index`, or it is NULL; and `name` is NULL or ends with a NUL.
        let (to, name) = unsafe {
            (
                place(index, "the place of the number")?,
                text(name, "the name")?,
            )
        };
        *to = numbered(CipherDevice::ALL.iter().map(|it| it.name()), name)?;
        Ok(())
    })
}

/// Returns the index of the device of this name.
pub(crate) fn numbered<'a>(
    mut names: impl Iterator<Item = &'a str>,
    name: &str,
) -> Result<usize, Failure> {
    let number = names.position(|it| it == name);
    number.ok_or_else(|| Failure::argument(format!("no device has the name {name:?}")))
}

/// See `oarlock.h`.
///
/// # Safety
/// The caller owns `stats`, or it is NULL; `algorithm` is NULL or ends with a NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oarlock_accelerator_stats(
    accelerator: Handle<Accelerator>,
    stats: *mut Stats,
    algorithm: *const c_char,
) -> c_int {
    call(|| {
        let accelerator = accelerator.shared()?;
        // SAFETY: the caller says that it owns `stats`, or it is NULL.
        let to = unsafe { place(stats, "the place of the statistics") }?;
        let only = match algorithm.is_null() {
            true => None,
            // SAFETY: the caller says that `algorithm` is NULL or ends with a NUL.
            false => Some(named(unsafe { text(algorithm, "the name") }?)?),
        };
        let all = accelerator.stats();
        let rsa = all.public_key;
        *to = Stats {
            requests: 0,
            bytes: 0,
            striped_requests: 0,
            prefetched_bytes: 0,
            rsa_alone: rsa.alone,
            rsa_groups: rsa.groups,
            rsa_in_groups: rsa.in_groups,
            rsa_faults: rsa.faults,
            jobs_waiting: rsa.waiting as u64,
        };
        for ((_, algorithm), here) in &all.algorithms {
            if only.is_none_or(|only| only == *algorithm) {
                to.requests += here.requests;
                to.bytes += here.bytes;
                to.striped_requests += here.striped_requests;
                to.prefetched_bytes += here.prefetched_bytes;
            }
        }
        Ok(())
    })
}
