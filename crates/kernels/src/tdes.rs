//! Triple DES with three keys (SP 800-67) in counter mode (SP 800-38A, section 6.5).
//!
//! A block of Triple DES is worked on as long as hundreds of them are: see `bits::des`. So a request
//! for less than a pass ([`Ctr::pass_bytes`]) takes as long as one for a pass, and a consumer of many
//! short ones keeps what is left over.

use core::fmt;

use inout::InOutBuf;
use zeroize::Zeroize;

use crate::bits::des::{self, KeyMasks};
use crate::cpu::Cpu;
#[cfg(debug_assertions)]
pub use crate::dispatch::tdes as dispatch;
use crate::portable;
#[cfg(target_arch = "x86_64")]
use crate::x86_64;
#[cfg(target_arch = "x86_64")]
pub use crate::x86_64::{Avx2, Avx512};

/// Bytes of a block.
pub const BLOCK_BYTES: usize = 8;

/// Bytes of a key: three of DES, whose parity bits do not count.
pub const KEY_BYTES: usize = 24;

/// The code that computes Triple DES.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Backend {
    /// 64 blocks a pass, for any CPU.
    Portable,
    /// 128 blocks a pass: SSE2 is part of x86-64.
    #[cfg(target_arch = "x86_64")]
    Sse2,
    /// 256 blocks a pass.
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
    /// 512 blocks a pass, by instructions with three operands.
    #[cfg(target_arch = "x86_64")]
    Avx512(Avx512),
}

impl Backend {
    /// The backends `cpu` can run, the preferred one first.
    pub(crate) fn all(cpu: Cpu) -> impl Iterator<Item = Self> {
        #[cfg(target_arch = "x86_64")]
        let special = [
            Avx512::new(cpu).map(Self::Avx512),
            Avx2::new(cpu).map(Self::Avx2),
            Some(Self::Sse2),
        ];
        #[cfg(not(target_arch = "x86_64"))]
        let special: [Option<Self>; 0] = {
            let _ = cpu;
            []
        };
        special.into_iter().flatten().chain([Self::Portable])
    }

    /// The backend that `cpu` runs fastest.
    pub fn preferred(cpu: Cpu) -> Self {
        Self::all(cpu).next().unwrap_or(Self::Portable)
    }

    /// Its name in listings and statistics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Self::Sse2 => "sse2",
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_) => "avx2",
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(_) => "avx512",
        }
    }

    const fn pass_blocks(self) -> usize {
        match self {
            Self::Portable => 64,
            #[cfg(target_arch = "x86_64")]
            Self::Sse2 => 128,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_) => 256,
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(_) => 512,
        }
    }
}

impl Cpu {
    /// Every backend of Triple DES this CPU can run, the preferred one first. Never empty: the last is
    /// [`Backend::Portable`].
    pub fn tdes_backends(self) -> impl Iterator<Item = Backend> {
        Backend::all(self)
    }
}

/// One key in counter mode, bound to the backend that runs it. Wiped on drop.
pub struct Ctr {
    pub(crate) masks: KeyMasks,
    backend: Backend,
}

impl Ctr {
    /// Room for a key, run by `backend`. Until [`set_key`](Self::set_key) the key is zeros, and its
    /// output is worthless.
    pub const fn unkeyed(backend: Backend) -> Self {
        Self {
            masks: [0; _],
            backend,
        }
    }

    /// Takes `key`, which replaces the previous one: the keys that encrypt, decrypt and encrypt a
    /// block, in this order.
    pub fn set_key(&mut self, key: &[u8; KEY_BYTES]) {
        des::expand(key, &mut self.masks);
    }

    /// The backend that runs this key.
    pub const fn backend(&self) -> Backend {
        self.backend
    }

    /// Bytes of a pass. A request for fewer takes as long.
    pub const fn pass_bytes(&self) -> usize {
        BLOCK_BYTES * self.backend.pass_blocks()
    }

    /// XORs keystream onto `data`, whose first byte takes byte `skip` (0 to 7) of the block encrypted
    /// from `counter`, a 64-bit big-endian counter that wraps at 2^64.
    ///
    /// # Panics
    /// When `skip` is 8 or more.
    pub fn apply(&self, counter: u64, skip: usize, data: InOutBuf<'_, '_, u8>) {
        assert!(skip < BLOCK_BYTES, "skip has to lie within a block");
        match self.backend {
            Backend::Portable => portable::tdes::ctr(&self.masks, counter, skip, data),
            #[cfg(target_arch = "x86_64")]
            Backend::Sse2 => x86_64::tdes::ctr_sse2((), &self.masks, counter, skip, data),
            #[cfg(target_arch = "x86_64")]
            Backend::Avx2(token) => {
                x86_64::tdes::ctr_avx2(token, &self.masks, counter, skip, data);
            }
            #[cfg(target_arch = "x86_64")]
            Backend::Avx512(token) => {
                x86_64::tdes::ctr_avx512(token, &self.masks, counter, skip, data);
            }
        }
    }
}

impl Drop for Ctr {
    fn drop(&mut self) {
        self.masks.zeroize();
    }
}

impl fmt::Debug for Ctr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ctr")
            .field("backend", &self.backend.name())
            .finish_non_exhaustive()
    }
}
