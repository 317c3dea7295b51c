//! Devices in shared libraries, by a table of C functions. `include/oarlock_device.h` specifies each function and its
//! preconditions.
#![allow(unsafe_code)]

mod data;
mod guarded;
mod powers;
mod table;

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::fmt;
use std::path::{Path, PathBuf};
use std::ptr::{self, NonNull};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use self::guarded::Guarded;
use self::table::Functions;
use super::blocking::{Answer, BlockingDevice, PublicKeyOffer};
use super::error::DeviceError;
use super::interface::{QueueOffer, Task};
use super::rates::Rates;
use crate::work::operation::Service;
use crate::work::request::PublicKeyRequest;
use crate::work::shape::Shape;
use oarlock_threads::process;

/// A device in a shared library, for ciphers, AEADs, MACs, hashes and chains of them, for powers, or for both. It
/// receives the keys of its requests, and serves none for keys held by a device.
///
/// The library becomes part of this process and stays loaded. It can do whatever the process can, and its faults are the
/// process's faults. Load only libraries that you trust as your own code. A library that writes outside the buffers for its
/// result or error ends the process (`abort`). A forked child must open its own devices.
///
/// ```no_run
/// use oarlock::Accelerator;
/// use oarlock::device::{LibraryDevice, PublicKeyRequest, complete};
/// use oarlock::framework::{Blocking, Check, Framework};
/// use oarlock::rsa::{Hash, RsaPrivateKey, SignatureScheme};
///
/// let device = LibraryDevice::open("/usr/lib/oarlock/openssl.so", "capacity=2", None)?;
/// let key = RsaPrivateKey::from_pem(&std::fs::read_to_string("key.pem").expect("a key"))
///     .expect("an RSA key");
/// let scheme = SignatureScheme::Pkcs1(Hash::Sha256);
/// let request = PublicKeyRequest::sign(&key, scheme, b"a message").expect("a request");
/// complete(&*device, &[&request], &mut |_, signature| println!("{signature:?}"));
///
/// let framework = Framework::new(&Accelerator::builder().build().expect("the defaults"));
/// framework.register(std::sync::Arc::new(Blocking::new(device)), Check::Sample(64)).expect("a new name");
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
// oarlock_device_table_v2); the other fields are `Send`.
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
        let (functions, own_name) = table::load(path).map_err(refused)?;
        Self::with(functions, path, options, name.unwrap_or(&own_name))
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
        let read = unsafe { table::read(table.cast()) };
        let (functions, own_name) =
            read.map_err(|what| DeviceError(format!("a table of a device: {what}")))?;
        let path = Path::new(&own_name);
        Self::with(functions, path, options, name.unwrap_or(&own_name))
    }

    fn with(
        functions: Functions,
        path: &Path,
        options: &str,
        name: &str,
    ) -> Result<Arc<Self>, DeviceError> {
        process::watch_forks();
        let refused = |what: String| DeviceError(format!("{}: {what}", path.display()));
        let options = CString::new(options)
            .map_err(|_| refused("options cannot have a zero byte in them".into()))?;
        let mut device = ptr::null_mut();
        let opened = said_by(path, |error, error_len| {
            // SAFETY: `options` is a string, `device` a place for the handle, and the error buffer has the length passed.
            unsafe { (functions.open)(options.as_ptr(), &mut device, error, error_len) }
        });
        opened.map_err(|said| refused(format!("it opens no device: {said}")))?;
        let device =
            NonNull::new(device).ok_or_else(|| refused("it has opened a device of NULL".into()))?;
        // SAFETY: the device is open.
        let capacity = unsafe { (functions.capacity)(device.as_ptr()) };
        // From here on the drop of this value closes the device.
        let device = Self {
            name: name.to_owned(),
            path: path.to_owned(),
            functions,
            device,
            capacity,
            free: Mutex::new(capacity),
            freed: Condvar::new(),
            rates: Rates::new(),
            generation: process::fork_generation(),
        };
        if capacity == 0 {
            return Err(refused(
                "it says that its device has a capacity of 0".into(),
            ));
        }
        Ok(Arc::new(device))
    }

    /// Whether this process is a forked child of the one that opened the device.
    fn is_inherited(&self) -> bool {
        self.generation != process::fork_generation()
    }

    /// Returns an error in a forked child of the process that opened the device.
    fn check_process(&self) -> Result<(), DeviceError> {
        match self.is_inherited() {
            true => Err(DeviceError(
                "opened before a fork, and of no use in the child: fork first, open it then".into(),
            )),
            false => Ok(()),
        }
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

impl BlockingDevice for LibraryDevice {
    fn name(&self) -> &str {
        &self.name
    }

    fn capacity(&self) -> usize {
        self.capacity
    }

    fn offer(&self, service: Service) -> Option<QueueOffer> {
        match self.is_inherited() {
            true => None,
            false => self.data_offer(service),
        }
    }

    fn run(&self, mut task: Task) {
        let done = self.check_process().and_then(|()| {
            let _turn = self.turn();
            self.crypt(&mut task)
        });
        task.complete(done);
    }

    fn offer_public_key(&self, shape: &Shape) -> Option<PublicKeyOffer> {
        match self.is_inherited() {
            true => None,
            false => self.power_offer(shape),
        }
    }

    fn run_public_key(&self, batch: &[&PublicKeyRequest], answer: &mut Answer<'_>) {
        for (place, request) in batch.iter().enumerate() {
            let power = self.check_process().and_then(|()| self.power(request));
            answer(place, power);
        }
    }
}

impl Drop for LibraryDevice {
    fn drop(&mut self) {
        // A device inherited by fork is closed by the parent.
        if !self.is_inherited() {
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

const ERROR_BYTES: usize = 256;
