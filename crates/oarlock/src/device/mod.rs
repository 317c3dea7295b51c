//! Devices: whoever can compute. One interface to any of them, chosen by expected time.
//!
//! A [`Device`] is registered with an [`Accelerator`](crate::Accelerator) and may be withdrawn while
//! it runs. A session opens on the device that offers the highest rate, and moves to the next, with
//! its key and position, when its own fails or is withdrawn: no request is lost.

mod cpu;
mod registry;
#[cfg(feature = "software")]
mod software;

use std::fmt;

use inout::InOutBuf;

pub use self::cpu::CpuDevice;
pub(crate) use self::registry::{Registration, Registry};
#[cfg(feature = "software")]
pub(crate) use self::software::SoftwareCtr;
#[cfg(feature = "software")]
pub use self::software::SoftwareDevice;
use crate::session::Keyed;

/// Something that computes.
///
/// # Example
/// A device that offers a rate nobody can match, and computes with the library's own kernels:
/// ```
/// use std::sync::Arc;
/// use oarlock::{Accelerator, Error, device::*, kernels::{aes::Ctr, cpu::Cpu}};
///
/// struct Bench;
/// struct Slot(Ctr);
///
/// impl Device for Bench {
///     fn name(&self) -> &str { "bench" }
///     fn probe(&self, _: &SessionParams) -> Option<Offer> {
///         Some(Offer { preference: 1, bytes_per_second: 1_000_000_000_000 })
///     }
///     fn open_session(&self, _: &SessionParams, key: &[u8]) -> Result<OpenSession, DeviceError> {
///         let ctr = Ctr::new(key, Cpu::detect()).map_err(|error| DeviceError(error.to_string()))?;
///         Ok(OpenSession::from_driver(Box::new(Slot(ctr))))
///     }
///     fn capacity(&self) -> usize { 1 }
/// }
///
/// impl DeviceSession for Slot {
///     fn submit(&self, batch: &mut [CtrRequest<'_>]) -> Result<(), DeviceError> {
///         for request in batch {
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

    /// Sets up a key.
    ///
    /// # Errors
    /// When it cannot after all; the session then opens elsewhere.
    fn open_session(&self, params: &SessionParams, key: &[u8]) -> Result<OpenSession, DeviceError>;

    /// How many requests it works on at once.
    fn capacity(&self) -> usize;
}

/// A key set up in a device. Several threads may submit at once.
pub trait DeviceSession: Send + Sync {
    /// Does every request of `batch`.
    ///
    /// # Errors
    /// When it could not. In-place data is then as it was: the batch is done again elsewhere.
    fn submit(&self, batch: &mut [CtrRequest<'_>]) -> Result<(), DeviceError>;
}

/// XOR keystream onto `data`, from byte `skip` (0 to 15) of the block encrypted from `counter` on,
/// with a 128-bit counter that wraps.
pub struct CtrRequest<'a> {
    /// Counter block of the first byte, as a big-endian number.
    pub counter: u128,
    /// Bytes of that block that are passed over.
    pub skip: usize,
    /// Input and output.
    pub data: InOutBuf<'a, 'a, u8>,
}

/// What a session is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionParams {
    /// The algorithm.
    pub operation: Operation,
}

/// An algorithm with its key size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Operation {
    /// AES-CTR with a 16-byte key.
    Aes128Ctr,
    /// AES-CTR with a 24-byte key.
    Aes192Ctr,
    /// AES-CTR with a 32-byte key.
    Aes256Ctr,
}

impl Operation {
    /// Its name in listings, statistics and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Aes128Ctr => "aes-128-ctr",
            Self::Aes192Ctr => "aes-192-ctr",
            Self::Aes256Ctr => "aes-256-ctr",
        }
    }

    /// Bytes of its key.
    pub const fn key_bytes(self) -> usize {
        match self {
            Self::Aes128Ctr => 16,
            Self::Aes192Ctr => 24,
            Self::Aes256Ctr => 32,
        }
    }

    pub(crate) const fn aes_ctr(key_bytes: usize) -> Option<Self> {
        match key_bytes {
            16 => Some(Self::Aes128Ctr),
            24 => Some(Self::Aes192Ctr),
            32 => Some(Self::Aes256Ctr),
            _ => None,
        }
    }
}

/// What a device offers for a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offer {
    /// Decides between equal rates; the higher wins.
    pub preference: u32,
    /// Of one thread on long requests.
    pub bytes_per_second: u64,
}

/// A session that a device has opened.
pub struct OpenSession(pub(crate) Keyed);

impl OpenSession {
    /// One that is served by calls to `driver`.
    pub fn from_driver(driver: Box<dyn DeviceSession>) -> Self {
        Self(Keyed::Driver(driver))
    }
}

/// Why a device could not do a request; the text goes into
/// [`Error::DeviceFailed`](crate::Error::DeviceFailed) and must hold no secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceError(pub String);

impl fmt::Display for DeviceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for DeviceError {}
