//! Devices for data in shared libraries, by the second table of `include/oarlock_device.h`.
#![allow(unsafe_code)]

use std::ffi::{CString, c_char, c_int, c_void};
use std::fmt;
use std::path::{Path, PathBuf};
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::time::Duration;

use super::guarded::Guarded;
use super::{
    Capacity, Close, FunctionTableHead, Open, check_head, has_capacity, library, name_of, opened,
    said_by,
};
use crate::device::error::DeviceError;
use crate::device::queued::{BlockingDevice, QueueOffer, Task};
use crate::work::algorithm::Direction;
use crate::work::operation::{ChainOrder, Service};
use oarlock_threads::process;

/// A device in a shared library, for ciphers, AEADs, MACs, hashes and chains of them. As for
/// [`LibraryDevice`](crate::device::LibraryDevice), load only libraries that you trust as your own code.
///
/// ```no_run
/// use oarlock::Accelerator;
/// use oarlock::device::LibraryEngine;
/// use oarlock::framework::{Blocking, Check, Framework};
///
/// let framework = Framework::new(&Accelerator::builder().build().expect("the defaults"));
/// let engine = LibraryEngine::open("/usr/lib/oarlock/board.so", "", None)?;
/// framework.register(std::sync::Arc::new(Blocking::new(engine)), Check::Sample(64)).expect("a new name");
/// # Ok::<(), oarlock::device::DeviceError>(())
/// ```
pub struct LibraryEngine {
    name: String,
    path: PathBuf,
    functions: Functions,
    /// The handle that the library's `open` returned.
    device: NonNull<c_void>,
    capacity: usize,
    /// [`process::fork_generation`] of the process that opened it.
    generation: usize,
}

// SAFETY: any thread may pass `device` to the library's functions, and several may do so at once (oarlock_device.h,
// oarlock_device_table_v2); the other fields are `Send`.
unsafe impl Send for LibraryEngine {}
// SAFETY: the header allows several threads to pass `device` to the library's functions at once; the other fields are
// `Sync`.
unsafe impl Sync for LibraryEngine {}

impl LibraryEngine {
    /// Loads the library at `path` and opens a device with `options`, whose meaning the library defines. `name` replaces the
    /// library's own name.
    ///
    /// # Errors
    /// Those of [`LibraryDevice::open`](crate::device::LibraryDevice::open).
    pub fn open(
        path: impl AsRef<Path>,
        options: &str,
        name: Option<&str>,
    ) -> Result<Arc<Self>, DeviceError> {
        let path = path.as_ref();
        let refused = |what: String| DeviceError(format!("{}: {what}", path.display()));
        let (functions, own_name) = load(path).map_err(refused)?;
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
        // SAFETY: the caller guarantees that `table` is null or an engine's table, as the header describes it.
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
        let engine = Self {
            name,
            path: path.to_owned(),
            functions,
            device,
            capacity,
            generation: process::fork_generation(),
        };
        has_capacity(capacity, path)?;
        Ok(Arc::new(engine))
    }

    /// Has the library compute a task; the result replaces the task's data.
    fn call(&self, task: &mut Task) -> Result<(), DeviceError> {
        if self.generation != process::fork_generation() {
            return Err(DeviceError(
                "opened before a fork, and of no use in the child".into(),
            ));
        }
        let named = Named::new(task.service());
        let service = named.as_ref().map(Named::service);
        let service = service.ok_or_else(|| DeviceError("the table has no such service".into()))?;
        let mut data = Guarded::new(task.bytes());
        // SAFETY: the guarded buffer has the length of the task's data and is separate from it.
        unsafe {
            let given = task.data_mut();
            ptr::copy_nonoverlapping(given.as_ptr(), data.as_mut_ptr(), given.len());
        }
        let (material, layout) = (task.material(), task.layout());
        let request = Request {
            size: size_of::<Request>(),
            service,
            decrypts: (task.direction() == Direction::Decrypt).into(),
            session: material.id(),
            cipher_key: material.cipher_key().as_ptr(),
            cipher_key_len: material.cipher_key().len(),
            mac_key: material.mac_key().as_ptr(),
            mac_key_len: material.mac_key().len(),
            iv: task.iv().as_ptr(),
            iv_len: task.iv().len(),
            skip: task.skip(),
            data: data.as_mut_ptr(),
            data_len: task.bytes(),
            authenticated_start: layout.authenticated.start,
            authenticated_end: layout.authenticated.end,
            encrypted_start: layout.encrypted.start,
            encrypted_end: layout.encrypted.end,
            tag_start: layout.tag,
            tag_len: material.tag_bytes(),
        };
        let done = said_by(&self.path, |error, error_len| {
            // SAFETY: the device is open; keys, IV, data and error have the lengths passed with them and live until the call
            // returns.
            unsafe { (self.functions.run)(self.device.as_ptr(), &request, error, error_len) }
        });
        let made = data.checked(&self.path, "data");
        done.map_err(DeviceError)?;
        task.data_mut().copy_from_slice(made);
        Ok(())
    }
}

impl BlockingDevice for LibraryEngine {
    fn name(&self) -> &str {
        &self.name
    }

    fn capacity(&self) -> usize {
        self.capacity
    }

    fn offer(&self, service: Service) -> Option<QueueOffer> {
        if self.generation != process::fork_generation() {
            return None;
        }
        let named = Named::new(service)?;
        let mut offer = Offer::default();
        let (device, service) = (self.device.as_ptr(), named.service());
        // SAFETY: the device is open; the service and the place for the offer live until the call returns.
        let is_served = unsafe { (self.functions.offer)(device, &service, &mut offer) };
        (is_served == 1 && offer.bytes_per_second > 0).then(|| QueueOffer {
            latency: Duration::from_nanos(offer.latency_ns),
            per_request: Duration::from_nanos(offer.per_request_ns),
            key_setup: Duration::from_nanos(offer.key_setup_ns),
            bytes_per_second: offer.bytes_per_second,
        })
    }

    fn run(&self, mut task: Task) {
        let done = self.call(&mut task);
        task.complete(done);
    }
}

impl Drop for LibraryEngine {
    fn drop(&mut self) {
        // A device inherited by fork is closed by the parent.
        if self.generation == process::fork_generation() {
            // SAFETY: the device is open, and only this drop closes it.
            unsafe { (self.functions.close)(self.device.as_ptr()) };
        }
    }
}

impl fmt::Debug for LibraryEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LibraryEngine")
            .field("name", &self.name)
            .field("capacity", &self.capacity)
            .finish_non_exhaustive()
    }
}

/// A service with the names that the header uses.
struct Named {
    kind: u32,
    cipher: CString,
    hash: CString,
}

impl Named {
    fn new(service: Service) -> Option<Self> {
        let kind = match service {
            Service::Cipher(_) => 0,
            Service::Aead(_) => 1,
            Service::Mac(_) => 2,
            Service::Digest(_) => 3,
            Service::Chained {
                order: ChainOrder::EncryptThenMac,
                ..
            } => 4,
            Service::Chained {
                order: ChainOrder::MacThenEncrypt,
                ..
            } => 5,
            Service::Random => 6,
            Service::PublicKey => return None,
        };
        let name = |name: Option<&'static str>| CString::new(name.unwrap_or_default()).ok();
        Some(Self {
            kind,
            cipher: name(service.cipher().map(|cipher| cipher.name()))?,
            hash: name(service.hash().map(|hash| hash.name()))?,
        })
    }

    fn service(&self) -> NamedService {
        NamedService {
            kind: self.kind,
            cipher: self.cipher.as_ptr(),
            hash: self.hash.as_ptr(),
        }
    }
}

/// The C type `oarlock_device_service_v2`.
#[repr(C)]
struct NamedService {
    kind: u32,
    cipher: *const c_char,
    hash: *const c_char,
}

/// The C type `oarlock_device_offer_v2`.
#[repr(C)]
#[derive(Default)]
struct Offer {
    latency_ns: u64,
    per_request_ns: u64,
    key_setup_ns: u64,
    bytes_per_second: u64,
}

/// The C type `oarlock_device_request_v2`.
#[repr(C)]
struct Request {
    size: usize,
    service: NamedService,
    decrypts: u32,
    session: u64,
    cipher_key: *const u8,
    cipher_key_len: usize,
    mac_key: *const u8,
    mac_key_len: usize,
    iv: *const u8,
    iv_len: usize,
    skip: usize,
    data: *mut u8,
    data_len: usize,
    authenticated_start: usize,
    authenticated_end: usize,
    encrypted_start: usize,
    encrypted_end: usize,
    tag_start: usize,
    tag_len: usize,
}

/// The C type `oarlock_device_table_v2`.
#[repr(C)]
struct FunctionTable {
    head: FunctionTableHead,
    name: *const c_char,
    open: Option<Open>,
    close: Option<Close>,
    capacity: Option<Capacity>,
    offer: Option<OfferFunction>,
    run: Option<Run>,
}

struct Functions {
    open: Open,
    close: Close,
    capacity: Capacity,
    offer: OfferFunction,
    run: Run,
}

type OfferFunction = unsafe extern "C" fn(*mut c_void, *const NamedService, *mut Offer) -> c_int;
type Run = unsafe extern "C" fn(*mut c_void, *const Request, *mut c_char, usize) -> c_int;

/// Returns the functions of the library at `path`, and its name.
fn load(path: &Path) -> Result<(Functions, String), String> {
    let library = library(path)?;
    // SAFETY: the header declares the function of this name with this type.
    let table = unsafe {
        library.get::<unsafe extern "C" fn() -> *const FunctionTable>(b"oarlock_device_v2\0")
    };
    let table = table
        .map_err(|_| "no library of a device for data: it has no oarlock_device_v2".to_owned())?;
    // SAFETY: the function has no arguments and no preconditions.
    let table = unsafe { table() };
    // SAFETY: the library returned the table and stays loaded.
    unsafe { read(table) }
}

/// Returns the functions of a table, and its name.
///
/// # Safety
/// `table` is null, or a table of some version that does not change and stays valid until the process ends.
unsafe fn read(table: *const FunctionTable) -> Result<(Functions, String), String> {
    // SAFETY: a table of any version begins with a head, and the caller guarantees that it is null or an engine's.
    unsafe { check_head(table.cast(), ABI_VERSION, size_of::<FunctionTable>()) }?;
    // SAFETY: the table has this version and at least this size, and does not change.
    let table = unsafe { table.read_unaligned() };
    let lacks = |function: &str| format!("its table has no {function}");
    // SAFETY: the name belongs to a table that stays valid.
    let name = unsafe { name_of(table.name) }?;
    let functions = Functions {
        open: table.open.ok_or_else(|| lacks("open"))?,
        close: table.close.ok_or_else(|| lacks("close"))?,
        capacity: table.capacity.ok_or_else(|| lacks("capacity"))?,
        offer: table.offer.ok_or_else(|| lacks("offer"))?,
        run: table.run.ok_or_else(|| lacks("run"))?,
    };
    Ok((functions, name))
}

const ABI_VERSION: u32 = 2;
