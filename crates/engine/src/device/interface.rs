//! The interface between an accelerator and its devices.

use super::keyed::Opened;
use super::request::{DeviceError, DeviceSession};
use crate::work::algorithm::Algorithm;

/// A backend for ciphers. [`PublicKeyDevice`](super::PublicKeyDevice) is the interface for RSA and modular exponentiation.
///
/// A session asks every registered device for an offer, and opens on the one that is expected to finish a 4 KiB request
/// first. If the device fails or is withdrawn, the session repeats the batch on another one: no request is lost.
///
/// # Example
/// A device that offers an unbeatable rate and computes with the library's own kernels. The example program `own_device` has
/// one that breaks down.
///
/// ```
/// use std::sync::Arc;
/// use oarlock_kernels::{aes::Ctr, cpu::Cpu};
/// use oarlock::device::{
///     Device, DeviceError, DeviceSession, Offer, OpenSession, Request, SessionParams,
/// };
/// use oarlock::{Accelerator, Algorithm};
///
/// struct Bench;
/// struct Slot(Ctr);
///
/// impl Device for Bench {
///     fn name(&self) -> &str { "bench" }
///     fn probe(&self, params: &SessionParams) -> Option<Offer> {
///         (params.algorithm == Algorithm::Aes128Ctr).then_some(Offer { preference: 1, bytes_per_second: 1_000_000_000_000 })
///     }
///     fn open_session(&self, _: &SessionParams, key: &[u8]) -> Result<OpenSession, DeviceError> {
///         let ctr = Ctr::new(key, Cpu::detect()).map_err(|error| DeviceError(error.to_string()))?;
///         Ok(OpenSession::from_driver(Box::new(Slot(ctr))))
///     }
///     fn capacity(&self) -> usize { 1 }
/// }
///
/// impl DeviceSession for Slot {
///     fn submit(&self, batch: &mut [Request<'_>]) -> Result<(), DeviceError> {
///         for request in batch {
///             let Request::Keystream(request) = request else {
///                 return Err(DeviceError("nothing but AES-CTR".into()));
///             };
///             self.0.apply(request.counter, request.skip, request.data.reborrow());
///         }
///         Ok(())
///     }
/// }
///
/// let accelerator = Accelerator::builder().build()?;
/// accelerator.register(Arc::new(Bench))?;
/// assert_eq!(accelerator.ctr(&[0; 16], &[0; 16])?.device(), "bench");
/// # Ok::<(), oarlock::Error>(())
/// ```
pub trait Device: Send + Sync {
    /// The device's name in statistics and errors, unique in an accelerator.
    fn name(&self) -> &str;

    /// Returns the device's offer for such a session, or `None` if it cannot serve one.
    fn probe(&self, params: &SessionParams) -> Option<Offer>;

    /// Returns a request's time in ns besides that for its bytes, such as the round trip to the device or a tag. 0 by
    /// default.
    fn setup_ns(&self, _params: &SessionParams) -> u64 {
        0
    }

    /// Returns the name of the implementation chosen for such a session, for listings. The device's name by default.
    fn backend(&self, _params: &SessionParams) -> &str {
        self.name()
    }

    /// Sets up a key of [`Algorithm::key_bytes`] bytes.
    ///
    /// # Errors
    /// The device cannot serve the session after all, which then opens on another device.
    fn open_session(&self, params: &SessionParams, key: &[u8]) -> Result<OpenSession, DeviceError>;

    /// Returns how many requests the device computes at once; at least 1.
    fn capacity(&self) -> usize;
}

/// The parameters of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionParams {
    /// The algorithm.
    pub algorithm: Algorithm,
}

/// A device's offer for a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offer {
    /// Breaks ties between equal times: the higher one wins.
    pub preference: u32,
    /// Bytes per second for long requests from one thread.
    pub bytes_per_second: u64,
}

/// A session that a device has opened.
pub struct OpenSession(pub(crate) Opened);

impl OpenSession {
    /// Wraps a driver's session.
    pub fn from_driver(driver: Box<dyn DeviceSession>) -> Self {
        Self(Opened::Driver(driver))
    }
}
