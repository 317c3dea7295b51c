//! Devices: backends that execute operations. One interface to all of them, chosen by expected time.
//!
//! A [`Device`] is registered with an `Accelerator` and may be withdrawn while
//! it runs. A session opens on the device that is expected to finish first. When that device fails or
//! is withdrawn, the session moves to the next one with its key and position: no request is lost.

#[cfg(feature = "rsa")]
mod adapters;
#[cfg(feature = "rsa")]
pub(crate) mod compute;
mod cpu;
#[cfg(feature = "rsa")]
pub(crate) mod held;
mod interface;
pub(crate) mod keyed;
#[cfg(feature = "rsa")]
pub(crate) mod lanes;
#[cfg(feature = "library")]
mod library;
#[cfg(feature = "pkcs11")]
mod pkcs11;
#[cfg(feature = "rsa")]
mod public_key;
#[cfg(feature = "rsa")]
pub(crate) mod queued;
#[cfg(any(feature = "library", feature = "pkcs11"))]
mod rates;
pub(crate) mod registry;
mod request;
pub(crate) mod session;
#[cfg(feature = "simulated")]
mod simulated;
#[cfg(feature = "aws-lc")]
mod software;

pub use oarlock_kernels::cpu::{Cpu, Feature};

#[cfg(feature = "rsa")]
pub use self::adapters::{Ciphers, PublicKeys};
pub use self::cpu::CpuDevice;
pub use self::interface::{Device, Offer, OpenSession, SessionParams};
#[cfg(feature = "library")]
pub use self::library::{LibraryDevice, LibraryEngine};
#[cfg(feature = "pkcs11")]
pub use self::pkcs11::{Pkcs11Device, Pkcs11Options, TokenKey, TokenName};
#[cfg(feature = "rsa")]
pub use self::public_key::{Answer, PublicKeyDevice, PublicKeyOffer, complete};
pub use self::request::{AeadRequest, CbcRequest, CtrRequest, DeviceError, DeviceSession, Request};
#[cfg(feature = "simulated")]
#[doc(hidden)]
pub use self::simulated::BareQueue;
#[cfg(feature = "simulated")]
pub use self::simulated::{
    EngineBoard, Fault, Host, Injection, Pauses, SimulatedBoard, SimulatedDevice, SimulatedEngine,
    When,
};
#[cfg(feature = "aws-lc")]
pub use self::software::SoftwareDevice;
pub use crate::mask::visible_cpu;
#[cfg(feature = "rsa")]
pub use crate::work::request::PublicKeyRequest;
#[cfg(feature = "rsa")]
pub use crate::work::shape::{PublicKeyOperation, Shape};
