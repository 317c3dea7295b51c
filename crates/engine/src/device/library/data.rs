//! Requests for data by the functions of a library.
#![allow(unsafe_code)]

use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr;
use std::time::Duration;

use super::guarded::Guarded;
use super::{LibraryDevice, said_by};
use crate::device::error::DeviceError;
use crate::device::interface::{QueueOffer, Task};
use crate::work::algorithm::Direction;
use crate::work::operation::{ChainOrder, Service};

/// The functions of a table that compute data.
pub(super) struct DataFunctions {
    pub(super) offer: OfferFunction,
    pub(super) run: Run,
}

impl LibraryDevice {
    pub(super) fn data_offer(&self, service: Service) -> Option<QueueOffer> {
        let data = self.functions.data.as_ref()?;
        let named = Named::new(service)?;
        let mut offer = Offer::default();
        // SAFETY: the device is open; the service and the place for the offer live until the call returns.
        let is_served = unsafe { (data.offer)(self.device.as_ptr(), &named.service(), &mut offer) };
        (is_served == 1 && offer.bytes_per_second > 0).then(|| QueueOffer {
            latency: Duration::from_nanos(offer.latency_ns),
            per_request: Duration::from_nanos(offer.per_request_ns),
            key_setup: Duration::from_nanos(offer.key_setup_ns),
            bytes_per_second: offer.bytes_per_second,
        })
    }

    /// Has the library compute a task; the result replaces the task's data.
    pub(super) fn crypt(&self, task: &mut Task) -> Result<(), DeviceError> {
        let data = self.functions.data.as_ref();
        let data = data.ok_or_else(|| DeviceError("it computes no data".into()))?;
        let named = Named::new(task.service());
        let service = named.as_ref().map(Named::service);
        let service = service.ok_or_else(|| DeviceError("the table has no such service".into()))?;
        let mut bounce = Guarded::new(task.bytes());
        // SAFETY: `given` is the task's data; the guarded buffer has its length and is separate from it.
        unsafe {
            let given = task.data_mut();
            ptr::copy_nonoverlapping(given.as_ptr(), bounce.as_mut_ptr(), given.len());
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
            data: bounce.as_mut_ptr(),
            data_len: task.bytes(),
            authenticated_start: layout.authenticated.start,
            authenticated_end: layout.authenticated.end,
            encrypted_start: layout.encrypted.start,
            encrypted_end: layout.encrypted.end,
            tag_start: layout.tag,
            tag_len: material.tag_bytes(),
        };
        let done = said_by(&self.path, |error, error_len| {
            // SAFETY: the device is open, and the caller holds one of its turns; the request, keys, IV, data and error live
            // until the call returns, and the buffers have the lengths passed with them.
            unsafe { (data.run)(self.device.as_ptr(), &request, error, error_len) }
        });
        let made = bounce.checked(&self.path, "data");
        done.map_err(DeviceError)?;
        task.data_mut().copy_from_slice(made);
        Ok(())
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
pub(super) struct NamedService {
    kind: u32,
    cipher: *const c_char,
    hash: *const c_char,
}

/// The C type `oarlock_device_offer_v2`.
#[repr(C)]
#[derive(Default)]
pub(super) struct Offer {
    latency_ns: u64,
    per_request_ns: u64,
    key_setup_ns: u64,
    bytes_per_second: u64,
}

/// The C type `oarlock_device_request_v2`.
#[repr(C)]
pub(super) struct Request {
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

pub(super) type OfferFunction =
    unsafe extern "C" fn(*mut c_void, *const NamedService, *mut Offer) -> c_int;
pub(super) type Run =
    unsafe extern "C" fn(*mut c_void, *const Request, *mut c_char, usize) -> c_int;
