//! A key of AES-CBC, set up for its kernel.

use inout::InOutBuf;
use oarlock_kernels::aes::{BLOCK_BYTES, Backend};
use oarlock_kernels::cbc::Cbc;
use oarlock_kernels::cpu::Cpu;

use crate::work::algorithm::{Algorithm, Direction, InvalidKey};

/// A key that chains blocks, for any thread. `data` are whole blocks; `iv` is the ciphertext block
/// before them, and becomes the last of theirs.
pub(crate) trait BlockChain: Send + Sync {
    fn encrypt(&self, iv: &mut [u8; BLOCK_BYTES], data: InOutBuf<'_, '_, u8>);
    fn decrypt(&self, iv: &mut [u8; BLOCK_BYTES], data: InOutBuf<'_, '_, u8>);
}

/// Encrypts or decrypts by `key`.
#[inline(always)]
pub(crate) fn chain(
    key: &(impl BlockChain + ?Sized),
    direction: Direction,
    iv: &mut [u8; BLOCK_BYTES],
    data: InOutBuf<'_, '_, u8>,
) {
    match direction {
        Direction::Encrypt => key.encrypt(iv, data),
        Direction::Decrypt => key.decrypt(iv, data),
    }
}

/// A key of AES-CBC.
pub(crate) enum CbcKey {
    Kernel(Box<Cbc>),
    /// By aws-lc.
    #[cfg_attr(not(feature = "aws-lc"), allow(dead_code))]
    Other(Box<dyn BlockChain>),
}

impl CbcKey {
    /// See [`Keyed`](super::Keyed).
    pub(crate) fn kernel(cpu: Cpu, algorithm: Algorithm, key: &[u8]) -> Result<Self, InvalidKey> {
        if Algorithm::aes_cbc(key.len()) != Some(algorithm) {
            return Err(InvalidKey(format!(
                "a key of {} bytes does not fit {algorithm}",
                key.len()
            )));
        }
        let mut cbc = Box::new(Cbc::unkeyed(Backend::preferred(cpu)));
        cbc.set_key(key)
            .map_err(|error| InvalidKey(error.to_string()))?;
        Ok(Self::Kernel(cbc))
    }
}

impl CbcKey {
    /// Returns the key for several threads at once.
    pub(crate) fn shared(&self) -> &dyn BlockChain {
        match self {
            Self::Kernel(cbc) => &**cbc,
            Self::Other(key) => &**key,
        }
    }

    /// Encrypts or decrypts `data`, whole blocks, after `iv`.
    #[inline(always)]
    pub(crate) fn crypt(
        &self,
        direction: Direction,
        iv: &mut [u8; BLOCK_BYTES],
        data: InOutBuf<'_, '_, u8>,
    ) {
        match self {
            Self::Kernel(cbc) => chain(&**cbc, direction, iv, data),
            Self::Other(key) => chain(&**key, direction, iv, data),
        }
    }
}

impl BlockChain for Cbc {
    #[inline(always)]
    fn encrypt(&self, iv: &mut [u8; BLOCK_BYTES], data: InOutBuf<'_, '_, u8>) {
        Cbc::encrypt(self, iv, data);
    }

    #[inline(always)]
    fn decrypt(&self, iv: &mut [u8; BLOCK_BYTES], data: InOutBuf<'_, '_, u8>) {
        Cbc::decrypt(self, iv, data);
    }
}
