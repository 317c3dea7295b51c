//! Keys of ciphers, set up for whatever computes them: an enum of concrete kernels for each kind of
//! cipher, so that a request costs no indirect call, and a driver as the last variant.

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
use super::request::DeviceSession;
use crate::work::algorithm::{Algorithm, InvalidKey};

/// A key set up for its concrete kernel, of one kind of cipher.
pub(crate) trait Keyed: Sized {
    /// The best kernel of this library for `algorithm`, which is of this kind. Allocates first and
    /// expands in place, so that no copy of the schedule stays on the stack.
    fn kernel(cpu: Cpu, algorithm: Algorithm, key: &[u8]) -> Result<Self, InvalidKey>;

    /// What a device opened; `None` when it is of another kind.
    fn opened(opened: Opened) -> Option<Self>;
}

/// By kind of algorithm, or a driver of any kind.
pub(crate) enum Opened {
    Stream(StreamKey),
    Aead(AeadKey),
    Cbc(CbcKey),
    Driver(Box<dyn DeviceSession>),
}

macro_rules! keyed {
    ($($key:ident $kind:ident,)+) => {$(
        impl Keyed for $key {
            fn kernel(cpu: Cpu, algorithm: Algorithm, key: &[u8]) -> Result<Self, InvalidKey> {
                Self::kernel(cpu, algorithm, key)
            }

            fn opened(opened: Opened) -> Option<Self> {
                match opened {
                    Opened::$kind(key) => Some(key),
                    Opened::Driver(driver) => Some(Self::Driver(driver)),
                    _ => None,
                }
            }
        }
    )+};
}

keyed! {
    StreamKey Stream,
    AeadKey Aead,
    CbcKey Cbc,
}
