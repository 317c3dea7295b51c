//! Camellia (RFC 3713), SM4 (GB/T 32907) and ARIA (RFC 5794) in counter mode (SP 800-38A, section 6.5), on CPUs with AES
//! instructions, GFNI or byte shuffles.
//!
//! Like that of AES, their S-boxes invert in a field of 256 elements between affine maps, which `keys` computes. There is no
//! portable form and no table in memory. On a CPU without SSSE3 [`Backend::preferred`] is `None`, and callers use another
//! library.

use core::fmt;

use inout::InOutBuf;

use self::sealed::Expanded;
#[cfg(debug_assertions)]
pub use crate::dispatch::words as dispatch;
use crate::error::InvalidKeyLength;
pub use crate::keys::aria::Aria;
pub use crate::keys::camellia::Camellia;
pub use crate::keys::sm4::Sm4;
use crate::sliced;
use oarlock_kernels::counter::by_runs;
use oarlock_kernels::cpu::Cpu;
use oarlock_kernels::{AesNi, Avx2, Gfni256, Gfni512, Ssse3, Vaes256};

/// The instructions that compute these ciphers. A value proves that the CPU has them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Backend {
    /// Byte shuffles on 128-bit registers.
    PermuteSsse3(Ssse3),
    /// Byte shuffles on 256-bit registers.
    PermuteAvx2(Avx2),
    /// `aesenclast` on 128-bit registers.
    AesNi(AesNi),
    /// `vaesenclast` on 256-bit registers.
    Vaes256(Vaes256),
    /// GFNI on 256-bit registers.
    Gfni256(Gfni256),
    /// GFNI on 512-bit registers.
    Gfni512(Gfni512),
}

impl Backend {
    /// Returns the backends that `cpu` can run, starting with the one that is fastest for most ciphers.
    pub fn all(cpu: Cpu) -> impl Iterator<Item = Self> {
        [
            Gfni512::new(cpu).map(Self::Gfni512),
            Gfni256::new(cpu).map(Self::Gfni256),
            Vaes256::new(cpu).map(Self::Vaes256),
            AesNi::new(cpu).map(Self::AesNi),
            Avx2::new(cpu).map(Self::PermuteAvx2),
            Ssse3::new(cpu).map(Self::PermuteSsse3),
        ]
        .into_iter()
        .flatten()
    }

    /// Returns the fastest backend for `C` on `cpu`; `None` if it can run none.
    pub fn preferred<C: BlockCipher>(cpu: Cpu) -> Option<Self> {
        Self::all(cpu).find(|backend| C::is_preferred(*backend))
    }

    /// Returns its name in listings and statistics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PermuteSsse3(_) => "permute-ssse3",
            Self::PermuteAvx2(_) => "permute-avx2",
            Self::AesNi(_) => "aes-ni",
            Self::Vaes256(_) => "vaes-256",
            Self::Gfni256(_) => "gfni-256",
            Self::Gfni512(_) => "gfni-512",
        }
    }
}

/// A cipher with blocks of 16 bytes, as its expanded key, which is wiped on drop.
pub trait BlockCipher: sealed::Expanded {}

pub(crate) mod sealed {
    use super::Backend;
    use inout::InOutBuf;

    pub trait Expanded {
        const UNKEYED: Self;
        const NAME: &'static str;

        /// Whether no backend after it in [`Backend::all`] is faster.
        fn is_preferred(backend: Backend) -> bool;

        /// Whether a key may have this length.
        fn takes(key_bytes: usize) -> bool;

        /// Expands `key`, whose length it [`takes`](Self::takes).
        fn expand(&mut self, key: &[u8], backend: Backend);

        /// Applies counter mode to a run in which the low 32 bits of `counter` do not wrap.
        fn run(&self, backend: Backend, counter: u128, data: InOutBuf<'_, '_, u8>);
    }
}

/// A key in counter mode, bound to the backend that runs it. Wiped on drop.
pub struct Ctr<C> {
    pub(crate) cipher: C,
    backend: Backend,
}

impl<C: BlockCipher> Ctr<C> {
    /// Creates a `Ctr` without a key, run by `backend`. Until [`set_key`](Self::set_key) its output is worthless.
    pub const fn unkeyed(backend: Backend) -> Self {
        Self {
            cipher: C::UNKEYED,
            backend,
        }
    }

    /// Expands `key`, which replaces the previous one.
    ///
    /// # Errors
    /// [`InvalidKeyLength`]; the old key is kept.
    pub fn set_key(&mut self, key: &[u8]) -> Result<(), InvalidKeyLength> {
        if !C::takes(key.len()) {
            return Err(InvalidKeyLength(key.len()));
        }
        self.cipher.expand(key, self.backend);
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
        by_runs(counter, skip, data, |counter, run| {
            self.cipher.run(self.backend, counter, run);
        });
    }
}

impl<C: BlockCipher> fmt::Debug for Ctr<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ctr")
            .field("cipher", &C::NAME)
            .field("backend", &self.backend.name())
            .finish_non_exhaustive()
    }
}

impl BlockCipher for Camellia {}

impl Expanded for Camellia {
    const UNKEYED: Self = Camellia::UNKEYED;
    const NAME: &'static str = "Camellia";

    /// Each map around `aesenclast` takes two shuffles and their masks, so shuffles alone need no more instructions, and no
    /// variant of the state that undoes ShiftRows.
    fn is_preferred(backend: Backend) -> bool {
        !matches!(backend, Backend::AesNi(_) | Backend::Vaes256(_))
    }

    fn takes(key_bytes: usize) -> bool {
        matches!(key_bytes, 16 | 24 | 32)
    }

    fn expand(&mut self, key: &[u8], backend: Backend) {
        match backend {
            Backend::PermuteSsse3(token) => sliced::camellia::expand_ssse3(token, self, key),
            Backend::PermuteAvx2(token) => sliced::camellia::expand_ssse3(token.ssse3(), self, key),
            Backend::AesNi(token) => sliced::camellia::expand_aes_ni(token, self, key),
            Backend::Vaes256(token) => sliced::camellia::expand_aes_ni(token.aes_ni(), self, key),
            Backend::Gfni256(token) => sliced::camellia::expand_gfni(token, self, key),
            Backend::Gfni512(token) => sliced::camellia::expand_gfni(token.gfni256(), self, key),
        }
    }

    #[inline(always)]
    fn run(&self, backend: Backend, counter: u128, data: InOutBuf<'_, '_, u8>) {
        match backend {
            Backend::PermuteSsse3(token) => sliced::camellia::ctr_ssse3(token, self, counter, data),
            Backend::PermuteAvx2(token) => sliced::camellia::ctr_avx2(token, self, counter, data),
            Backend::AesNi(token) => sliced::camellia::ctr_aes_ni(token, self, counter, data),
            Backend::Vaes256(token) => sliced::camellia::ctr_vaes256(token, self, counter, data),
            Backend::Gfni256(token) => sliced::camellia::ctr_gfni256(token, self, counter, data),
            Backend::Gfni512(token) => sliced::camellia::ctr_gfni512(token, self, counter, data),
        }
    }
}

impl BlockCipher for Sm4 {}

impl Expanded for Sm4 {
    const UNKEYED: Self = Sm4::UNKEYED;
    const NAME: &'static str = "SM4";

    fn is_preferred(_: Backend) -> bool {
        true
    }

    fn takes(key_bytes: usize) -> bool {
        key_bytes == 16
    }

    fn expand(&mut self, key: &[u8], backend: Backend) {
        match backend {
            Backend::PermuteSsse3(token) => sliced::sm4::expand_ssse3(token, self, key),
            Backend::PermuteAvx2(token) => sliced::sm4::expand_ssse3(token.ssse3(), self, key),
            Backend::AesNi(token) => sliced::sm4::expand_aes_ni(token, self, key),
            Backend::Vaes256(token) => sliced::sm4::expand_aes_ni(token.aes_ni(), self, key),
            Backend::Gfni256(token) => sliced::sm4::expand_gfni(token, self, key),
            Backend::Gfni512(token) => sliced::sm4::expand_gfni(token.gfni256(), self, key),
        }
    }

    #[inline(always)]
    fn run(&self, backend: Backend, counter: u128, data: InOutBuf<'_, '_, u8>) {
        match backend {
            Backend::PermuteSsse3(token) => sliced::sm4::ctr_ssse3(token, self, counter, data),
            Backend::PermuteAvx2(token) => sliced::sm4::ctr_avx2(token, self, counter, data),
            Backend::AesNi(token) => sliced::sm4::ctr_aes_ni(token, self, counter, data),
            Backend::Vaes256(token) => sliced::sm4::ctr_vaes256(token, self, counter, data),
            Backend::Gfni256(token) => sliced::sm4::ctr_gfni256(token, self, counter, data),
            Backend::Gfni512(token) => sliced::sm4::ctr_gfni512(token, self, counter, data),
        }
    }
}

impl BlockCipher for Aria {}

impl Expanded for Aria {
    const UNKEYED: Self = Aria::UNKEYED;
    const NAME: &'static str = "ARIA";

    fn is_preferred(_: Backend) -> bool {
        true
    }

    fn takes(key_bytes: usize) -> bool {
        matches!(key_bytes, 16 | 24 | 32)
    }

    fn expand(&mut self, key: &[u8], backend: Backend) {
        match backend {
            Backend::PermuteSsse3(token) => sliced::aria::expand_ssse3(token, self, key),
            Backend::PermuteAvx2(token) => sliced::aria::expand_ssse3(token.ssse3(), self, key),
            Backend::AesNi(token) => sliced::aria::expand_aes_ni(token, self, key),
            Backend::Vaes256(token) => sliced::aria::expand_aes_ni(token.aes_ni(), self, key),
            Backend::Gfni256(token) => sliced::aria::expand_gfni(token, self, key),
            Backend::Gfni512(token) => sliced::aria::expand_gfni(token.gfni256(), self, key),
        }
    }

    #[inline(always)]
    fn run(&self, backend: Backend, counter: u128, data: InOutBuf<'_, '_, u8>) {
        match backend {
            Backend::PermuteSsse3(token) => sliced::aria::ctr_ssse3(token, self, counter, data),
            Backend::PermuteAvx2(token) => sliced::aria::ctr_avx2(token, self, counter, data),
            Backend::AesNi(token) => sliced::aria::ctr_aes_ni(token, self, counter, data),
            Backend::Vaes256(token) => sliced::aria::ctr_vaes256(token, self, counter, data),
            Backend::Gfni256(token) => sliced::aria::ctr_gfni256(token, self, counter, data),
            Backend::Gfni512(token) => sliced::aria::ctr_gfni512(token, self, counter, data),
        }
    }
}
