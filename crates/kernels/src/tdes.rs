//! Triple DES with three keys (SP 800-67) in counter mode and in CBC mode (SP 800-38A, sections 6.5 and 6.2).
//!
//! Bitsliced, one block of Triple DES takes as long as hundreds of them: see `bits::des`. So a request for less than a pass
//! ([`Ctr::pass_bytes`]) takes as long as one for a pass, and a caller with many short ones should keep the rest of a pass.
//! With byte look-ups in 512-bit registers, requests of at most [`Ctr::looked_up_bytes`] take less than a pass.

use core::fmt;

use inout::InOutBuf;
use zeroize::Zeroize;

use crate::backends::backends;
use crate::bits::des::{self, KeyMasks};
#[cfg(target_arch = "x86_64")]
use crate::bits::des_bytes;
use crate::cpu::Cpu;
#[cfg(debug_assertions)]
pub use crate::dispatch::tdes as dispatch;
use crate::portable;
#[cfg(target_arch = "x86_64")]
use crate::x86_64;
#[cfg(target_arch = "x86_64")]
use crate::x86_64::batch::tdes_nibbles as nibbles;
#[cfg(target_arch = "x86_64")]
pub use crate::x86_64::{Avx2, Avx512, Permute512, Ssse3};

/// Bytes of a block.
pub const BLOCK_BYTES: usize = 8;

/// Bytes of a key: three DES keys, whose parity bits do not count.
pub const KEY_BYTES: usize = 24;

backends! {
    /// The code that computes Triple DES.
    pub enum Backend {
        /// 64 blocks a pass, for any CPU.
        Portable,
        /// 512 blocks a pass, with three-operand instructions, and byte look-ups in 512-bit registers for short requests.
        Permute(Permute512) "permute-avx512",
        /// 512 blocks a pass, with three-operand instructions.
        Avx512(Avx512) "avx512",
        /// 256 blocks a pass.
        Avx2(Avx2) "avx2",
        /// 128 blocks a pass. SSE2 is part of x86-64.
        Sse2 "sse2",
    }
    /// Returns the backends that `cpu` can run, the preferred one first.
    pub(crate) fn all;
}

impl Backend {
    const fn pass_blocks(self) -> usize {
        match self {
            Self::Portable => 64,
            #[cfg(target_arch = "x86_64")]
            Self::Sse2 => 128,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_) => 256,
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(_) | Self::Permute(_) => 512,
        }
    }
}

impl Cpu {
    /// Returns every backend of Triple DES that this CPU can run, the preferred one first. Never empty: the last is
    /// [`Backend::Portable`].
    pub fn tdes_backends(self) -> impl Iterator<Item = Backend> {
        Backend::all(self)
    }
}

/// A key in counter mode, bound to the backend that runs it. Wiped on drop.
pub struct Ctr {
    pub(crate) masks: KeyMasks,
    /// The round keys for look-ups, if the backend uses them.
    pub(crate) rounds: [u64; 48],
    backend: Backend,
}

impl Ctr {
    /// Creates a value without a key, run by `backend`. Until [`set_key`](Self::set_key) the key is zeros, and its output is
    /// worthless.
    pub const fn unkeyed(backend: Backend) -> Self {
        Self {
            masks: [0; _],
            rounds: [0; _],
            backend,
        }
    }

    /// Sets `key`, which replaces the previous one: the keys that encrypt, decrypt and encrypt a block, in this order.
    pub fn set_key(&mut self, key: &[u8; KEY_BYTES]) {
        des::expand(key, &mut self.masks);
        #[cfg(target_arch = "x86_64")]
        if let Backend::Permute(_) = self.backend {
            des_bytes::expand(key, &mut self.rounds);
        }
    }

    /// The backend that runs this key.
    pub const fn backend(&self) -> Backend {
        self.backend
    }

    /// Returns the bytes of a pass. A shorter request takes as long, except up to
    /// [`looked_up_bytes`](Self::looked_up_bytes).
    pub const fn pass_bytes(&self) -> usize {
        BLOCK_BYTES * self.backend.pass_blocks()
    }

    /// Returns the most bytes of a request that takes less than a pass: up to 64 (8 blocks) take a sixth of a pass or less,
    /// up to 256 hardly more, and so on for each 256. 0 if there are only passes.
    pub const fn looked_up_bytes(&self) -> usize {
        match self.backend {
            #[cfg(target_arch = "x86_64")]
            Backend::Permute(_) => LOOKED_UP_BYTES,
            _ => 0,
        }
    }

    /// XORs keystream onto `data`, starting at byte `skip` (0 to 7) of the block encrypted from `counter`, a 64-bit
    /// big-endian counter that wraps at 2^64.
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
            #[cfg(target_arch = "x86_64")]
            Backend::Permute(token) => {
                let passes = (skip + data.len()) / PASS_BYTES;
                let in_passes = match skip + data.len() - passes * PASS_BYTES {
                    ..=LOOKED_UP_BYTES => (passes * PASS_BYTES).saturating_sub(skip),
                    _ => data.len(),
                };
                let (long, short) = data.split_at(in_passes);
                if !long.is_empty() {
                    x86_64::tdes::ctr_avx512(token.avx512(), &self.masks, counter, skip, long);
                }
                if !short.is_empty() {
                    let counter = counter.wrapping_add((passes * PASS_BYTES / BLOCK_BYTES) as u64);
                    let skip = if passes > 0 { 0 } else { skip };
                    x86_64::batch::tdes::ctr(token, &self.rounds, counter, skip, short);
                }
            }
        }
    }
}

/// The bytes of a pass in 512-bit registers.
#[cfg(target_arch = "x86_64")]
const PASS_BYTES: usize = 512 * BLOCK_BYTES;
/// The most bytes for which look-ups take less time than a pass.
#[cfg(target_arch = "x86_64")]
const LOOKED_UP_BYTES: usize = 128 * BLOCK_BYTES;

impl Drop for Ctr {
    fn drop(&mut self) {
        self.masks.zeroize();
        self.rounds.zeroize();
    }
}

impl fmt::Debug for Ctr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ctr")
            .field("backend", &self.backend.name())
            .finish_non_exhaustive()
    }
}

backends! {
    /// The code that computes Triple DES in CBC mode. Decryption of long messages is bitsliced, like counter mode.
    pub enum CbcBackend {
        /// Bitsliced in words. Encryption takes as long for one stream as for 64.
        Portable,
        /// 8 to 32 blocks at once, by byte look-ups in 512-bit registers.
        Permute(Permute512) "permute-avx512",
        /// 16 blocks at once, by four-bit look-ups in 256-bit registers.
        NibblesAvx2(Avx2) "nibbles-avx2",
        /// The same in 128-bit registers.
        NibblesSsse3(Ssse3) "nibbles-ssse3",
        /// Bitsliced in 128-bit registers.
        Sse2 "sse2",
    }
    fn all;
}

impl Cpu {
    /// Returns every backend of Triple DES in CBC mode that this CPU can run, the preferred one first. The last is
    /// [`CbcBackend::Portable`].
    pub fn tdes_cbc_backends(self) -> impl Iterator<Item = CbcBackend> {
        CbcBackend::all(self)
    }
}

/// A key in CBC mode, for both directions and every backend. Wiped on drop.
pub struct Cbc {
    pub(crate) masks: KeyMasks,
    /// The round keys for look-ups.
    pub(crate) rounds: [u64; 48],
}

impl Cbc {
    /// Prepares `key`: the keys that encrypt, decrypt and encrypt a block, in this order.
    ///
    /// The value is moved out to the caller, which may leave a copy on the stack. Where that matters, place
    /// an [`unkeyed`](Self::unkeyed) value first and call [`set_key`](Self::set_key) on it.
    pub fn new(key: &[u8; KEY_BYTES]) -> Self {
        let mut cbc = Self::unkeyed();
        cbc.set_key(key);
        cbc
    }

    /// Creates a value without a key. Until [`set_key`](Self::set_key) its output is worthless.
    pub const fn unkeyed() -> Self {
        Self {
            masks: [0; _],
            rounds: [0; _],
        }
    }

    /// Sets `key`, which replaces the previous one.
    pub fn set_key(&mut self, key: &[u8; KEY_BYTES]) {
        des::expand(key, &mut self.masks);
        #[cfg(target_arch = "x86_64")]
        des_bytes::expand(key, &mut self.rounds);
    }

    /// Decrypts `data`, whole blocks. `iv` is the ciphertext block before the first, or the message's IV at its start, and
    /// becomes the last ciphertext block; without data it does not change. Encryption takes [many
    /// streams](crate::batch::encrypt_tdes_cbc).
    ///
    /// # Panics
    /// When the length of `data` is not a multiple of 8 bytes.
    pub fn decrypt(
        &self,
        backend: CbcBackend,
        iv: &mut [u8; BLOCK_BYTES],
        data: InOutBuf<'_, '_, u8>,
    ) {
        assert_whole_blocks(data.len());
        let masks = &self.masks;
        // What is left of a pass is looked up, if the backend can.
        match backend {
            CbcBackend::Portable => portable::tdes::decrypt(masks, iv, data),
            #[cfg(target_arch = "x86_64")]
            CbcBackend::Sse2 => {
                let rest = x86_64::tdes::decrypt_sse2((), masks, iv, data);
                if !rest.is_empty() {
                    portable::tdes::decrypt(masks, iv, rest);
                }
            }
            #[cfg(target_arch = "x86_64")]
            CbcBackend::NibblesSsse3(token) => {
                let rest = x86_64::tdes::decrypt_sse2((), masks, iv, data);
                if !rest.is_empty() {
                    nibbles::ssse3::decrypt(token, &self.rounds, iv, rest);
                }
            }
            #[cfg(target_arch = "x86_64")]
            CbcBackend::NibblesAvx2(token) => {
                let rest = x86_64::tdes::decrypt_avx2(token, masks, iv, data);
                if !rest.is_empty() {
                    nibbles::avx2::decrypt(token, &self.rounds, iv, rest);
                }
            }
            #[cfg(target_arch = "x86_64")]
            CbcBackend::Permute(token) => {
                let rest = x86_64::tdes::decrypt_avx512(token.avx512(), masks, iv, data);
                if !rest.is_empty() {
                    x86_64::batch::tdes::decrypt(token, &self.rounds, iv, rest);
                }
            }
        }
    }
}

impl Drop for Cbc {
    fn drop(&mut self) {
        self.masks.zeroize();
        self.rounds.zeroize();
    }
}

impl fmt::Debug for Cbc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cbc").finish_non_exhaustive()
    }
}

pub(crate) fn assert_whole_blocks(bytes: usize) {
    assert!(
        bytes.is_multiple_of(BLOCK_BYTES),
        "CBC of Triple DES takes whole blocks of 8 bytes, not {bytes} bytes"
    );
}
