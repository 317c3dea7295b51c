//! Keys of ciphers, set up for the implementation that computes them: an enum of concrete kernels for each kind of cipher,
//! so that a request of one costs no indirect call.

pub(crate) mod aead;
pub(crate) mod begun;
pub(crate) mod block;
pub(crate) mod cbc;
pub(crate) mod keystream;
pub(crate) mod stream;

use oarlock_kernels::cpu::Cpu;

use self::aead::AeadKey;
use self::cbc::CbcKey;
use self::stream::StreamKey;
#[cfg(feature = "aws-lc")]
use super::error::DeviceError;
#[cfg(feature = "aws-lc")]
use super::software;
use crate::work::algorithm::{Algorithm, InvalidKey};

/// A key of one kind of cipher, set up for its implementation.
pub(crate) trait Keyed: Sized {
    /// Sets up a key of `algorithm`, which is of this kind, for this library's best kernel. Allocates first and expands in
    /// place, so that no copy of the schedule stays on the stack.
    fn kernel(cpu: Cpu, algorithm: Algorithm, key: &[u8]) -> Result<Self, InvalidKey>;

    /// Sets up a key of `algorithm`, which is of this kind, for aws-lc.
    #[cfg(feature = "aws-lc")]
    fn software(cpu: Cpu, algorithm: Algorithm, key: &[u8]) -> Result<Self, DeviceError>;
}

macro_rules! keyed {
    ($($key:ident $software:ident,)+) => {$(
        impl Keyed for $key {
            fn kernel(cpu: Cpu, algorithm: Algorithm, key: &[u8]) -> Result<Self, InvalidKey> {
                Self::kernel(cpu, algorithm, key)
            }

            #[cfg(feature = "aws-lc")]
            fn software(cpu: Cpu, algorithm: Algorithm, key: &[u8]) -> Result<Self, DeviceError> {
                software::$software(cpu, algorithm, key)
            }
        }
    )+};
}

keyed! {
    StreamKey stream,
    AeadKey aead,
    CbcKey cbc,
}
