//! Devices in shared libraries, by a table of C functions. `include/oarlock_device.h` specifies each function and its
//! preconditions.
#![allow(unsafe_code)]

mod engine;
mod guarded;

use std::error::Error;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::fmt;
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};
use std::ptr::{self, NonNull};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use libloading::Library;
use zeroize::Zeroizing;

pub use self::engine::LibraryEngine;
use self::guarded::Guarded;
use super::error::DeviceError;
use super::public_key::{Answer, PublicKeyDevice, PublicKeyOffer};
use super::rates::Rates;
use crate::aws_lc::rsa::RsaSecretPrimes;
use crate::work::request::PublicKeyRequest;
use crate::work::shape::{PublicKeyOperation, Shape};
use oarlock_threads::process;

/// A device in a shared library, loaded by path. It computes requests whose keys' numbers it receives, and none for keys
/// held by a device.
///
/// The library becomes part of this process and stays loaded. It can do whatever the process can, and its faults are the
/// process's faults. Load only libraries that you trust as your own code. A library that writes outside the buffers for its
/// result or error ends the process (`abort`). A forked child must open its own devices.
///
/// ```no_run
/// use oarlock::device::{LibraryDevice, complete};
/// use oarlock::device::PublicKeyRequest;
/// use oarlock::rsa::{Hash, RsaPrivateKey, SignatureScheme};
///
/// let device = LibraryDevice::open("/usr/lib/oarlock/openssl.so", "capacity=2", None)?;
/// let key = RsaPrivateKey::from_pem(&std::fs::read_to_string("key.pem").expect("a key"))
///     .expect("an RSA key");
/// let scheme = SignatureScheme::Pkcs1(Hash::Sha256);
/// let request = PublicKeyRequest::sign(&key, scheme, b"a message").expect("a request");
/// complete(&*device, &[&request], &mut |_, signature| println!("{signature:?}"));
/// # Ok::<(), oarlock::device::DeviceError>(())
/// ```
pub struct LibraryDevice {
    name: String,
    path: PathBuf,
    functions: Functions,
    /// The handle that the library's `open` returned.
    device: NonNull<c_void>,
    capacity: usize,
    /// The number of further calls that the library accepts now.
    free: Mutex<usize>,
    freed: Condvar,
    rates: Rates<3>,
    /// [`process::fork_generation`] of the process that opened it.
    generation: usize,
}

// SAFETY: any thread may pass `device` to the library's functions, and several may do so at once (oarlock_device.h,
// oarlock_device_table_v1); the other fields are `Send`.
unsafe impl Send for LibraryDevice {}
// SAFETY: the header allows concurrent calls with the same `device`; the other fields are `Sync`.
unsafe impl Sync for LibraryDevice {}

impl LibraryDevice {
    /// Loads the library at `path` and opens a device with `options`, whose meaning the library defines. `name` replaces the
    /// library's own name and should be unique in the process.
    ///
    /// # Errors
    /// The file at `path` is no library or has no device; its table has another version, is too short or lacks a function;
    /// or its `open` fails.
    pub fn open(
        path: impl AsRef<Path>,
        options: &str,
        name: Option<&str>,
    ) -> Result<Arc<Self>, DeviceError> {
        let path = path.as_ref();
        let refused = |what: String| DeviceError(format!("{}: {what}", path.display()));
        let (functions, own_name) = load(path).map_err(&refused)?;
        Self::with(
            functions,
            path,
            options,
            name.map_or(own_name, str::to_owned),
        )
    }

    /// Opens a device from a table inside this program. `name` replaces the table's own name.
    ///
    /// # Errors
    /// The table is NULL, has another version, is too short or lacks a function; or its `open` fails.
    ///
    /// # Safety
    /// `table` is NULL or a table as oarlock_device.h describes it, which does not change and whose functions behave as
    /// described there. The table and its functions stay valid until the process ends.
    pub unsafe fn of_table(
        table: *const c_void,
        options: &str,
        name: Option<&str>,
    ) -> Result<Arc<Self>, DeviceError> {
        // SAFETY: the caller guarantees that `table` is null or a device's table, as the header describes it.
        let read = unsafe { read(table.cast()) };
        let (functions, own_name) =
            read.map_err(|what| DeviceError(format!("a table of a device: {what}")))?;
        let path = Path::new(&own_name);
        let name = name.unwrap_or(&own_name).to_owned();
        Self::with(functions, path, options, name)
    }

    fn with(
        functions: Functions,
        path: &Path,
        options: &str,
        name: String,
    ) -> Result<Arc<Self>, DeviceError> {
        let (device, capacity) = opened(functions.open, functions.capacity, path, options)?;
        let device = Self {
            name,
            path: path.to_owned(),
            functions,
            device,
            capacity,
            free: Mutex::new(capacity),
            freed: Condvar::new(),
            rates: Rates::new(),
            generation: process::fork_generation(),
        };
        has_capacity(capacity, path)?;
        Ok(Arc::new(device))
    }

    /// Returns how many requests the device computes at once. Further callers wait.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    fn kind(&self, shape: &Shape) -> Option<Function> {
        match shape.operation {
            PublicKeyOperation::Held(_) => None,
            PublicKeyOperation::PrivateByPrimes if self.functions.power_crt.is_some() => {
                Some(Function::PowerCrt)
            }
            PublicKeyOperation::PrivateByPrimes | PublicKeyOperation::PrivateByExponent => {
                Some(Function::Power)
            }
            PublicKeyOperation::Public | PublicKeyOperation::Power => {
                let is_short = shape.exponent_bits <= SHORT_BITS_MAX;
                Some(if is_short {
                    Function::PowerShort
                } else {
                    Function::Power
                })
            }
        }
    }

    fn power(&self, request: &PublicKeyRequest) -> Result<Zeroizing<Vec<u8>>, DeviceError> {
        if self.generation != process::fork_generation() {
            return Err(DeviceError(
                "opened before a fork, and of no use in the child: fork first, open it then".into(),
            ));
        }
        let shape = request.shape();
        let kind = self.kind(&shape);
        let kind = kind.ok_or_else(|| DeviceError("the key is held by a device".into()))?;
        let (exponent, primes) = match request.private_key() {
            None => (request.exponent().unwrap_or_default(), None),
            Some(key) => {
                let numbers = key
                    .secret_numbers()
                    .map_err(|error| DeviceError(error.to_string()))?
                    .ok_or_else(|| DeviceError("the key is held by a device".into()))?;
                (numbers.d, numbers.primes)
            }
        };
        let _turn = self.turn();
        self.rates.time(kind as usize, shape.modulus_bits, || {
            match (self.functions.power_crt, &primes) {
                (Some(power_crt), Some(primes)) => self.call_crt(power_crt, request, primes),
                _ => self.call(request, &exponent),
            }
        })
    }

    fn call(
        &self,
        request: &PublicKeyRequest,
        exponent: &[u8],
    ) -> Result<Zeroizing<Vec<u8>>, DeviceError> {
        let (base, modulus) = (request.base(), request.modulus());
        let mut result = Guarded::new(modulus.len());
        let done = said_by(&self.path, |error, error_len| {
            // SAFETY: the device is open; base, modulus and result have the length passed for the modulus, and exponent and
            // error have the lengths passed with them.
            unsafe {
                (self.functions.power)(
                    self.device.as_ptr(),
                    base.as_ptr(),
                    exponent.as_ptr(),
                    exponent.len(),
                    modulus.as_ptr(),
                    modulus.len(),
                    result.as_mut_ptr(),
                    error,
                    error_len,
                )
            }
        });
        let result = result.checked(&self.path, "result");
        done.map_err(DeviceError)?;
        Ok(Zeroizing::new(result.to_vec()))
    }

    fn call_crt(
        &self,
        power_crt: PowerCrt,
        request: &PublicKeyRequest,
        primes: &RsaSecretPrimes,
    ) -> Result<Zeroizing<Vec<u8>>, DeviceError> {
        let (base, modulus) = (request.base(), request.modulus());
        let mut result = Guarded::new(modulus.len());
        let done = said_by(&self.path, |error, error_len| {
            // SAFETY: the device is open; base, modulus and result have the length passed for the modulus, the five numbers
            // have the length of the first (RsaSecretPrimes), and the error has the length passed with it.
            unsafe {
                power_crt(
                    self.device.as_ptr(),
                    base.as_ptr(),
                    modulus.as_ptr(),
                    modulus.len(),
                    primes.p.as_ptr(),
                    primes.q.as_ptr(),
                    primes.dp.as_ptr(),
                    primes.dq.as_ptr(),
                    primes.qinv.as_ptr(),
                    primes.p.len(),
                    result.as_mut_ptr(),
                    error,
                    error_len,
                )
            }
        });
        let result = result.checked(&self.path, "result");
        done.map_err(DeviceError)?;
        Ok(Zeroizing::new(result.to_vec()))
    }

    /// Waits until the library accepts another call.
    fn turn(&self) -> Turn<'_> {
        let mut free = self.free();
        while *free == 0 {
            free = self
                .freed
                .wait(free)
                .unwrap_or_else(PoisonError::into_inner);
        }
        *free -= 1;
        Turn(self)
    }

    fn free(&self) -> MutexGuard<'_, usize> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PublicKeyDevice for LibraryDevice {
    fn name(&self) -> &str {
        &self.name
    }

    fn offer(&self, shape: &Shape) -> Option<PublicKeyOffer> {
        if self.generation != process::fork_generation() {
            return None;
        }
        let kind = self.kind(shape)?;
        let (latency_us, device) = (self.functions.latency_us, self.device.as_ptr());
        // SAFETY: the device is open.
        let us = unsafe { latency_us(device, kind as c_int, shape.modulus_bits) };
        let first = Duration::from_micros(us);
        let bits = shape.modulus_bits;
        (us != 0).then(|| self.rates.offer(kind as usize, bits, first, self.capacity))
    }

    fn run(&self, batch: &[&PublicKeyRequest], answer: &mut Answer<'_>) {
        for (place, request) in batch.iter().enumerate() {
            answer(place, self.power(request));
        }
    }
}

impl Drop for LibraryDevice {
    fn drop(&mut self) {
        // A device inherited by fork is closed by the parent.
        if self.generation == process::fork_generation() {
            // SAFETY: the device is open, and nothing else closes it.
            unsafe { (self.functions.close)(self.device.as_ptr()) };
        }
    }
}

impl fmt::Debug for LibraryDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LibraryDevice")
            .field("name", &self.name)
            .field("capacity", &self.capacity)
            .finish_non_exhaustive()
    }
}

/// A reservation of one of the calls that the library accepts at once.
struct Turn<'a>(&'a LibraryDevice);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        *self.0.free() += 1;
        self.0.freed.notify_one();
    }
}

/// The functions, as `oarlock_device.h` numbers them.
#[derive(Clone, Copy)]
enum Function {
    Power = 0,
    PowerCrt = 1,
    PowerShort = 2,
}

/// The C type `oarlock_device_table_v1`.
#[repr(C)]
struct FunctionTable {
    size: usize,
    abi_version: u32,
    name: *const c_char,
    open: Option<Open>,
    close: Option<Close>,
    capacity: Option<Capacity>,
    latency_us: Option<LatencyUs>,
    power: Option<Power>,
    power_crt: Option<PowerCrt>,
}

/// The head of every table, in all versions.
#[repr(C)]
struct FunctionTableHead {
    size: usize,
    abi_version: u32,
}

/// The functions of a table. Only one is optional.
struct Functions {
    open: Open,
    close: Close,
    capacity: Capacity,
    latency_us: LatencyUs,
    power: Power,
    power_crt: Option<PowerCrt>,
}

type Open = unsafe extern "C" fn(*const c_char, *mut *mut c_void, *mut c_char, usize) -> c_int;
type Close = unsafe extern "C" fn(*mut c_void);
type Capacity = unsafe extern "C" fn(*mut c_void) -> usize;
type LatencyUs = unsafe extern "C" fn(*mut c_void, c_int, usize) -> u64;
type Power = unsafe extern "C" fn(
    *mut c_void,
    *const u8,
    *const u8,
    usize,
    *const u8,
    usize,
    *mut u8,
    *mut c_char,
    usize,
) -> c_int;
type PowerCrt = unsafe extern "C" fn(
    *mut c_void,
    *const u8,
    *const u8,
    usize,
    *const u8,
    *const u8,
    *const u8,
    *const u8,
    *const u8,
    usize,
    *mut u8,
    *mut c_char,
    usize,
) -> c_int;

/// Loads the library at `path`. It is never unloaded, because its own threads may run until the process ends.
fn library(path: &Path) -> Result<ManuallyDrop<Library>, String> {
    // SAFETY: loading runs code of the library. The caller vouches for that code, as the documentation of `LibraryDevice`
    // demands; no other proof exists.
    let library = unsafe { Library::new(path) }.map_err(|error| {
        // libloading wraps the loader's message as its source.
        let cause = error
            .source()
            .map_or_else(|| error.to_string(), ToString::to_string);
        format!("cannot be loaded: {cause}")
    })?;
    Ok(ManuallyDrop::new(library))
}

/// Checks the head of a table of `version`, whose type has `bytes` bytes.
///
/// # Safety
/// `table` is null or a table of some version.
unsafe fn check_head(
    table: *const FunctionTableHead,
    version: u32,
    bytes: usize,
) -> Result<(), String> {
    if table.is_null() {
        return Err(format!(
            "it cannot work on this machine: its oarlock_device_v{version} gives no table"
        ));
    }
    // SAFETY: every version's table begins with this head, and it does not change.
    let FunctionTableHead { size, abi_version } = unsafe { table.read_unaligned() };
    if abi_version != version {
        return Err(format!(
            "its table is of version {abi_version}, and this program takes {version}: build it \
             with the oarlock_device.h of this program"
        ));
    }
    if size < bytes {
        return Err(format!(
            "its table has {size} bytes, and one of version {version} has {bytes}"
        ));
    }
    Ok(())
}

/// Returns the name in a table.
///
/// # Safety
/// `name` is null or a string that belongs to the library, which stays loaded.
unsafe fn name_of(name: *const c_char) -> Result<String, String> {
    if name.is_null() {
        return Err("its table has no name".into());
    }
    // SAFETY: the name is not null, and the caller guarantees that it is a string of the library. strnlen stops at its end
    // or after NAME_BYTES_MAX + 1 bytes.
    let name = unsafe {
        let len = libc::strnlen(name, NAME_BYTES_MAX + 1);
        std::slice::from_raw_parts(name.cast::<u8>(), len)
    };
    if name.is_empty() || name.len() > NAME_BYTES_MAX {
        return Err(format!(
            "its name is empty or longer than {NAME_BYTES_MAX} bytes"
        ));
    }
    let name = std::str::from_utf8(name).map_err(|_| "its name is not in UTF-8")?;
    if name.contains(char::is_control) {
        return Err(format!("its name has a control character: {name:?}"));
    }
    Ok(name.to_owned())
}

/// Returns the functions of the library at `path`, and its name.
fn load(path: &Path) -> Result<(Functions, String), String> {
    let library = library(path)?;
    // SAFETY: this is the type that the header declares for the function of this name.
    let table = unsafe {
        library.get::<unsafe extern "C" fn() -> *const FunctionTable>(b"oarlock_device_v1\0")
    };
    let table =
        table.map_err(|_| "no library of a device: it has no oarlock_device_v1".to_owned())?;
    // SAFETY: the function has no preconditions.
    let table = unsafe { table() };
    // SAFETY: the table comes from the library, which stays loaded.
    unsafe { read(table) }
}

/// Returns the functions of a table, and its name.
///
/// # Safety
/// `table` is null, or a table of some version that does not change and stays valid until the process ends.
unsafe fn read(table: *const FunctionTable) -> Result<(Functions, String), String> {
    // SAFETY: a table of any version begins with a head, and the caller guarantees that it is null or a table.
    unsafe { check_head(table.cast(), ABI_VERSION, size_of::<FunctionTable>()) }?;
    // SAFETY: the head's version and size match this type, and the table does not change.
    let table = unsafe { table.read_unaligned() };
    let lacks = |function: &str| format!("its table has no {function}");
    // SAFETY: the name is part of a table, which stays valid.
    let name = unsafe { name_of(table.name) }?;
    let functions = Functions {
        open: table.open.ok_or_else(|| lacks("open"))?,
        close: table.close.ok_or_else(|| lacks("close"))?,
        capacity: table.capacity.ok_or_else(|| lacks("capacity"))?,
        latency_us: table.latency_us.ok_or_else(|| lacks("latency_us"))?,
        power: table.power.ok_or_else(|| lacks("power"))?,
        power_crt: table.power_crt,
    };
    Ok((functions, name))
}

/// Opens a device and asks for its capacity.
fn opened(
    open: Open,
    capacity: Capacity,
    path: &Path,
    options: &str,
) -> Result<(NonNull<c_void>, usize), DeviceError> {
    process::watch_forks();
    let refused = |what: String| DeviceError(format!("{}: {what}", path.display()));
    let options = CString::new(options)
        .map_err(|_| refused("options cannot have a zero byte in them".into()))?;
    let mut device = ptr::null_mut();
    let opened = said_by(path, |error, error_len| {
        // SAFETY: `options` is a string, `device` a place for the handle, and the error buffer has the length passed.
        unsafe { open(options.as_ptr(), &mut device, error, error_len) }
    });
    opened.map_err(|said| refused(format!("it opens no device: {said}")))?;
    let device =
        NonNull::new(device).ok_or_else(|| refused("it has opened a device of NULL".into()))?;
    // SAFETY: the device is open.
    let capacity = unsafe { capacity(device.as_ptr()) };
    Ok((device, capacity))
}

/// Checks the capacity. Call it once an owner exists that closes the device.
fn has_capacity(capacity: usize, path: &Path) -> Result<(), DeviceError> {
    if capacity > 0 {
        return Ok(());
    }
    Err(DeviceError(format!(
        "{}: it says that its device has a capacity of 0",
        path.display()
    )))
}

/// Calls a function of the library at `path` that returns one, or zero with a reason in a buffer.
fn said_by(path: &Path, call: impl FnOnce(*mut c_char, usize) -> c_int) -> Result<(), String> {
    let mut buffer = Guarded::new(ERROR_BYTES);
    let is_done = call(buffer.as_mut_ptr().cast(), buffer.len()) == 1;
    let buffer = buffer.checked(path, "error");
    if is_done {
        return Ok(());
    }
    let said = CStr::from_bytes_until_nul(buffer).map_or(buffer, CStr::to_bytes);
    // Keep the reason on one line of a log.
    let said: String = String::from_utf8_lossy(said)
        .chars()
        .map(|char| if char.is_control() { ' ' } else { char })
        .collect();
    Err(if said.trim().is_empty() {
        "the library gives no reason".into()
    } else {
        said.trim().to_owned()
    })
}

const ABI_VERSION: u32 = 1;
const ERROR_BYTES: usize = 256;
const NAME_BYTES_MAX: usize = 255;
/// The limit on exponents, from OARLOCK_DEVICE_POWER_SHORT.
const SHORT_BITS_MAX: usize = 64;
