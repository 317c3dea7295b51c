//! Devices: what computes requests.
//!
//! A session of a cipher opens on the [`CipherDevice`] that is expected to be fastest, and stays there. Devices with
//! queues of their own, and those whose calls block with a queue in front of them, are registered with a framework, and
//! may be withdrawn while it runs: no request is lost.

#[cfg(feature = "rsa")]
mod blocking;
pub(crate) mod ciphers;
#[cfg(feature = "rsa")]
pub(crate) mod compute;
#[cfg(feature = "rsa")]
mod cpu;
pub(crate) mod error;
#[cfg(feature = "rsa")]
pub(crate) mod held;
#[cfg(feature = "rsa")]
pub(crate) mod interface;
pub(crate) mod keyed;
#[cfg(feature = "rsa")]
pub(crate) mod lanes;
#[cfg(feature = "library")]
mod library;
#[cfg(feature = "pkcs11")]
mod pkcs11;
#[cfg(any(feature = "library", feature = "pkcs11"))]
mod rates;
pub(crate) mod session;
#[cfg(feature = "simulated")]
mod simulated;
#[cfg(feature = "aws-lc")]
mod software;

pub use oarlock_kernels::cpu::{Cpu, Feature};

#[cfg(feature = "rsa")]
pub use self::blocking::{Answer, BlockingDevice, PublicKeyOffer, complete};
pub use self::ciphers::{CipherDevice, CipherOffer};
#[cfg(feature = "rsa")]
pub use self::cpu::CpuDevice;
pub use self::error::DeviceError;
#[cfg(feature = "library")]
pub use self::library::LibraryDevice;
#[cfg(feature = "pkcs11")]
pub use self::pkcs11::{Pkcs11Device, Pkcs11Options, TokenKey, TokenName};
#[cfg(feature = "simulated")]
#[doc(hidden)]
pub use self::simulated::BareQueue;
#[cfg(feature = "simulated")]
pub use self::simulated::{
    EngineBoard, Fault, Host, Injection, Pauses, SimulatedBoard, SimulatedDevice, SimulatedEngine,
    When,
};
#[cfg(feature = "rsa")]
pub use self::software::SoftwareDevice;
pub use crate::mask::visible_cpu;
#[cfg(feature = "rsa")]
pub use crate::work::request::PublicKeyRequest;
#[cfg(feature = "rsa")]
pub use crate::work::shape::{PublicKeyOperation, Shape};
