//! aws-lc on the CPU: the reference, the fallback, and the oracle of the self-tests. It supports CPUs and architectures that
//! this library has no fast kernels for.

mod aead;
mod aes;
mod chacha20;
#[cfg(feature = "rsa")]
pub(crate) mod public_key;

use oarlock_kernels::cpu::Cpu;

use self::aead::SoftwareAead;
use self::aes::{SoftwareCbc, SoftwareCtr};
use self::chacha20::SoftwareChaCha20;
use super::error::DeviceError;
use super::keyed::aead::AeadKey;
use super::keyed::begun::Ahead;
use super::keyed::cbc::CbcKey;
use super::keyed::stream::StreamKey;
use crate::work::algorithm::Algorithm;

/// The device `software` for public keys: raises numbers to powers by aws-lc.
#[cfg(feature = "rsa")]
#[derive(Clone, Copy, Debug, Default)]
pub struct SoftwareDevice(());

#[cfg(feature = "rsa")]
impl SoftwareDevice {
    /// Creates the device.
    pub fn new() -> Self {
        Self::default()
    }
}

/// Sets up a key of a stream cipher. aws-lc has only AES-CTR and ChaCha20.
pub(crate) fn stream(cpu: Cpu, algorithm: Algorithm, key: &[u8]) -> Result<StreamKey, DeviceError> {
    match algorithm {
        Algorithm::ChaCha20 => {
            let chacha = SoftwareChaCha20::new(key)?;
            let ahead = Ahead::CHACHA20_BY_FOUR;
            Ok(StreamKey::kept(cpu, algorithm, chacha, ahead))
        }
        Algorithm::Aes128Ctr | Algorithm::Aes192Ctr | Algorithm::Aes256Ctr => {
            Ok(StreamKey::Other(SoftwareCtr::new(key)?))
        }
        other => Err(DeviceError(format!("{other} is not offered"))),
    }
}

/// Sets up a key of AES-CBC.
pub(crate) fn cbc(_: Cpu, _: Algorithm, key: &[u8]) -> Result<CbcKey, DeviceError> {
    Ok(CbcKey::Other(SoftwareCbc::new(key)?))
}

/// Sets up a key of an AEAD.
pub(crate) fn aead(_: Cpu, algorithm: Algorithm, key: &[u8]) -> Result<AeadKey, DeviceError> {
    Ok(AeadKey::Other(SoftwareAead::new(algorithm, key)?))
}
