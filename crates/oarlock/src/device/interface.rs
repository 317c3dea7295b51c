//! What a device is to an accelerator.

use super::keyed::Opened;
use super::request::{DeviceError, DeviceSession};
use crate::work::algorithm::Algorithm;

/// Something that computes.
///
/// # Example
/// A device that offers a rate nobody can match, and computes with the library's own kernels:
/// ```
/// use std::sync::Arc;
/// use oarlock_kernels::{aes::Ctr, cpu::Cpu};
/// use oarlock::{Accelerator, Error, device::*};
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
/// # Ok::<(), Error>(())
/// ```
pub trait Device: Send + Sync {
    /// Its name in statistics and errors; no two devices of an accelerator have the same.
    fn name(&self) -> &str;

    /// What it offers for such a session; `None` where it cannot serve one.
    fn probe(&self, params: &SessionParams) -> Option<Offer>;

    /// Nanoseconds that a request takes beside the time of its bytes: a way to the device and back,
    /// a tag. 0 unless a device says more.
    fn setup_ns(&self, _params: &SessionParams) -> u64 {
        0
    }

    /// Which of several ways to compute it has chosen for such a session, by name, for listings.
    fn backend(&self, _params: &SessionParams) -> &str {
        self.name()
    }

    /// Sets up a key.
    ///
    /// # Errors
    /// When it cannot after all; the session then opens elsewhere.
    fn open_session(&self, params: &SessionParams, key: &[u8]) -> Result<OpenSession, DeviceError>;

    /// How many requests it works on at once.
    fn capacity(&self) -> usize;
}

/// What a session is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionParams {
    /// The algorithm.
    pub algorithm: Algorithm,
}

/// What a device offers for a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offer {
    /// Decides between equal times; the higher wins.
    pub preference: u32,
    /// Of one thread on long requests.
    pub bytes_per_second: u64,
}

/// A session that a device has opened.
pub struct OpenSession(pub(crate) Opened);

impl OpenSession {
    /// One that is served by calls to `driver`.
    pub fn from_driver(driver: Box<dyn DeviceSession>) -> Self {
        Self(Opened::Driver(driver))
    }
}
