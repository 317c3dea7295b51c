//! Counter mode (SP 800-38A, 6.5) of the legacy ciphers, and over whatever cipher a caller brings.

#[cfg(feature = "legacy")]
use std::sync::Arc;

use cipher::BlockCipherEncrypt;
use inout::InOutBuf;
#[cfg(feature = "legacy")]
use oarlock_kernels::cpu::Cpu;
pub(crate) use oarlock_legacy::BlockCtr;
#[cfg(feature = "legacy")]
use oarlock_legacy::Ctr;

use super::keystream::Keystream;
#[cfg(feature = "legacy")]
use crate::work::algorithm::{Algorithm, InvalidKey};

/// The key of one of the ciphers that are built in.
#[cfg(feature = "legacy")]
pub(crate) fn keystream(
    cpu: Cpu,
    algorithm: Algorithm,
    key: &[u8],
) -> Result<Arc<dyn Keystream>, InvalidKey> {
    let Some(cipher) = algorithm.legacy_cipher() else {
        return Err(InvalidKey(format!("{algorithm} is not built in")));
    };
    match Ctr::shared(cipher, cpu, key) {
        Ok(ctr) => Ok(ctr),
        Err(error) => Err(InvalidKey(error.to_string())),
    }
}

#[cfg(feature = "legacy")]
impl Keystream for Ctr {
    fn apply(&self, counter: u128, skip: usize, data: InOutBuf<'_, '_, u8>) {
        Ctr::apply(self, counter, skip, data);
    }
}

impl<C: BlockCipherEncrypt + Send + Sync> Keystream for BlockCtr<C> {
    fn apply(&self, counter: u128, skip: usize, data: InOutBuf<'_, '_, u8>) {
        BlockCtr::apply(self, counter, skip, data);
    }
}
