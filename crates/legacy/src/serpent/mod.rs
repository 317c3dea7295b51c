//! Serpent in counter mode (SP 800-38A, section 6.5).

mod gates;
mod portable;
mod registers;
mod words;
#[cfg(target_arch = "x86_64")]
mod x86_64;

use core::fmt;

use inout::InOutBuf;
use zeroize::Zeroize;

use self::words::RoundKeys;
#[cfg(debug_assertions)]
pub use crate::dispatch::serpent as dispatch;
use crate::error::InvalidKeyLength;
use oarlock_kernels::backends;
use oarlock_kernels::cpu::Cpu;
#[cfg(target_arch = "x86_64")]
use oarlock_kernels::{Avx2, Avx512};

/// Bytes of a block.
pub const BLOCK_BYTES: usize = 16;

backends! {
    /// The code that computes Serpent.
    pub enum Backend {
        /// One block at a time, for any CPU.
        Portable,
        /// Two groups of 16 blocks at a time, with three-operand instructions.
        Avx512(Avx512) "avx512",
        /// Two groups of 8 blocks at a time.
        Avx2(Avx2) "avx2",
        /// Two groups of 4 blocks at a time. SSE2 is part of x86-64.
        Sse2 "sse2",
    }
    /// Returns the backends that `cpu` can run, the preferred one first. Never empty: the last is [`Backend::Portable`].
    pub fn all;
}

/// A key in counter mode, bound to the backend that runs it. Wiped on drop.
pub struct Ctr {
    pub(crate) keys: RoundKeys,
    backend: Backend,
}

impl Ctr {
    /// Creates a `Ctr` without a key, run by `backend`. Until [`set_key`](Self::set_key) its output is worthless.
    pub const fn unkeyed(backend: Backend) -> Self {
        Self {
            keys: [[0; 4]; 33],
            backend,
        }
    }

    /// Expands `key` (16, 24 or 32 bytes), which replaces the previous one.
    ///
    /// # Errors
    /// [`InvalidKeyLength`]; the old key is kept.
    pub fn set_key(&mut self, key: &[u8]) -> Result<(), InvalidKeyLength> {
        if !matches!(key.len(), 16 | 24 | 32) {
            return Err(InvalidKeyLength(key.len()));
        }
        words::expand(key, &mut self.keys);
        Ok(())
    }

    /// Returns the backend that runs this key.
    pub const fn backend(&self) -> Backend {
        self.backend
    }

    /// XORs keystream onto `data`, starting at byte `skip` (0 to 15) of the block encrypted from `counter`, a 128-bit
    /// big-endian counter that wraps at 2^128.
    ///
    /// # Panics
    /// If `skip` is 16 or more.
    pub fn apply(&self, counter: u128, skip: usize, data: InOutBuf<'_, '_, u8>) {
        assert!(skip < BLOCK_BYTES, "skip has to lie within a block");
        match self.backend {
            // A group with one block in it takes two or three times as long as the block alone.
            _ if skip + data.len() <= BLOCK_BYTES => {
                portable::ctr(&self.keys, counter, skip, data);
            }
            Backend::Portable => portable::ctr(&self.keys, counter, skip, data),
            #[cfg(target_arch = "x86_64")]
            Backend::Sse2 => x86_64::ctr_sse2((), &self.keys, counter, skip, data),
            #[cfg(target_arch = "x86_64")]
            Backend::Avx2(token) => {
                x86_64::ctr_avx2(token, &self.keys, counter, skip, data);
            }
            #[cfg(target_arch = "x86_64")]
            Backend::Avx512(token) => {
                x86_64::ctr_avx512(token, &self.keys, counter, skip, data);
            }
        }
    }
}

impl Drop for Ctr {
    fn drop(&mut self) {
        self.keys.zeroize();
    }
}

impl fmt::Debug for Ctr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ctr")
            .field("backend", &self.backend.name())
            .finish_non_exhaustive()
    }
}
