//! Devices: whoever can compute. One interface to any of them, chosen by expected time.
//!
//! A [`Device`] is registered with an [`Accelerator`](crate::Accelerator) and may be withdrawn while
//! it runs. A session opens on the device that is expected to be done first, and moves to the next, with
//! its key and position, when its own fails or is withdrawn: no request is lost.

mod cpu;
#[cfg(feature = "library")]
mod library;
#[cfg(feature = "software")]
pub(crate) mod median;
mod operation;
#[cfg(feature = "pkcs11")]
mod pkcs11;
#[cfg(feature = "software")]
mod public_key;
#[cfg(any(feature = "library", feature = "pkcs11"))]
mod rates;
mod registry;
#[cfg(feature = "software")]
mod simulated;
#[cfg(feature = "software")]
pub(crate) mod software;

use std::fmt;

use inout::InOutBuf;

pub use self::cpu::CpuDevice;
#[cfg(feature = "library")]
pub use self::library::LibraryDevice;
pub use self::operation::{Kind, Operation};
#[cfg(feature = "pkcs11")]
pub use self::pkcs11::{Pkcs11Device, Pkcs11Options, TokenKey, TokenName};
#[cfg(feature = "software")]
pub use self::public_key::{
    Answer, PublicKeyDevice, PublicKeyOffer, PublicKeyOperation, Shape, complete,
};
pub(crate) use self::registry::{Registration, Registry};
#[cfg(feature = "software")]
pub use self::simulated::{Fault, Host, Injection, Pauses, SimulatedBoard, SimulatedDevice, When};
#[cfg(feature = "software")]
pub use self::software::SoftwareDevice;
use crate::aead::AeadKey;
use crate::cipher::{CbcKey, StreamKey};
pub use crate::process::visible_cpu;

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
///     fn probe(&self, params: &SessionParams) -> Option<Offer> {
///         (params.operation == Operation::Aes128Ctr).then_some(Offer { preference: 1, bytes_per_second: 1_000_000_000_000 })
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

/// A key set up in a device. Several threads may submit at once.
pub trait DeviceSession: Send + Sync {
    /// Does every request of `batch`.
    ///
    /// # Errors
    /// When it could not. In-place data is then as it was: the batch is done again elsewhere.
    fn submit(&self, batch: &mut [Request<'_>]) -> Result<(), DeviceError>;
}

/// What a session asks of its device; of the kind of its operation.
#[non_exhaustive]
pub enum Request<'a> {
    /// Of a [`Kind::Stream`].
    Keystream(CtrRequest<'a>),
    /// Of a [`Kind::Aead`]: encrypt, and say the tag.
    Seal(AeadRequest<'a>),
    /// Of a [`Kind::Aead`]: decrypt, and say the tag that the ciphertext should have. The session
    /// compares it, and takes the plaintext back if it is another.
    Open(AeadRequest<'a>),
    /// Of a [`Kind::Cbc`]: encrypt.
    CbcEncrypt(CbcRequest<'a>),
    /// Of a [`Kind::Cbc`]: decrypt.
    CbcDecrypt(CbcRequest<'a>),
}

/// XOR keystream onto `data`, from byte `skip` (below the operation's block size) of the block made
/// from `counter` on. As many low bits of the counter wrap as the operation's kind says.
pub struct CtrRequest<'a> {
    /// Counter block of the first byte, as a big-endian number.
    pub counter: u128,
    /// Bytes of that block that are passed over.
    pub skip: usize,
    /// Input and output.
    pub data: InOutBuf<'a, 'a, u8>,
}

/// A message of its own.
pub struct AeadRequest<'a> {
    /// As long as the operation's nonces are; for GCM of any length but 0.
    pub nonce: &'a [u8],
    /// Associated data.
    pub aad: &'a [u8],
    /// Input and output.
    pub data: InOutBuf<'a, 'a, u8>,
    /// Where the tag goes.
    pub tag: &'a mut [u8; 16],
}

/// Whole blocks, chained.
pub struct CbcRequest<'a> {
    /// The ciphertext block before; afterwards the last one.
    pub iv: &'a mut [u8; 16],
    /// Input and output: a multiple of 16 bytes.
    pub data: InOutBuf<'a, 'a, u8>,
}

/// What a session is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionParams {
    /// The algorithm.
    pub operation: Operation,
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

/// By kind of operation, or a driver of any kind.
pub(crate) enum Opened {
    Stream(StreamKey),
    Aead(AeadKey),
    Cbc(CbcKey),
    Driver(Box<dyn DeviceSession>),
}

impl OpenSession {
    /// One that is served by calls to `driver`.
    pub fn from_driver(driver: Box<dyn DeviceSession>) -> Self {
        Self(Opened::Driver(driver))
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
