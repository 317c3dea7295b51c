//! ChaCha20 (RFC 8439, section 2.4).
//!
//! A keystream is addressed by position: [`ChaCha20::apply`] takes the nonce and the block counter of the first byte and the
//! number of bytes of that block to skip. No state passes from call to call, so one key can serve any number of threads,
//! each at its own position.

use core::fmt;

use inout::InOutBuf;
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::backends::backends;
use crate::cpu::Cpu;
#[cfg(target_arch = "x86_64")]
use crate::cpu::Feature;
#[cfg(debug_assertions)]
pub use crate::dispatch::chacha20 as dispatch;
pub use crate::key::InvalidKeyLength;
use crate::poly1305::{Element, Multiplier, OneTimeKey};
use crate::portable;
use crate::portable::xor::xor;
#[cfg(target_arch = "x86_64")]
use crate::stitched::Powers;
use crate::stitched::{Direction, Start};
use crate::wipe::Secret;
#[cfg(target_arch = "x86_64")]
use crate::x86_64;
#[cfg(target_arch = "x86_64")]
pub use crate::x86_64::{Avx2, Avx512, Ssse3};

/// Bytes in a ChaCha20 block.
pub const BLOCK_BYTES: usize = crate::stitched::BLOCK_BYTES;
/// Bytes in a key.
pub const KEY_BYTES: usize = 32;

backends! {
    /// The code that computes ChaCha20, and Poly1305 interleaved with it. A value exists only if the CPU has its
    /// instructions.
    pub enum Backend {
        /// Constant-time code for any CPU, which compilers vectorize.
        Portable,
        /// 16 blocks at once in 512-bit registers.
        Avx512(Avx512, Units) "avx512" if !cfg!(unoptimized),
        /// 8 blocks at once in 256-bit registers.
        Avx2(Avx2) "avx2",
        /// 4 blocks at once in 128-bit registers.
        Ssse3(Ssse3, Units) "ssse3",
    }
    /// Returns the backends that `cpu` can run, the preferred one first. Never empty: the last is [`Backend::Portable`].
    ///
    /// Without optimization, `Avx512` is not among them: one of its frames is then up to 8 MiB, and an ordinary thread's
    /// stack has 2.
    pub fn all;
}

/// Whether a block on the integer units takes almost no time while vectors compute others ([`Feature::Apart`]). If it does
/// not, vectors compute all blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Units {
    /// It takes almost no time.
    Apart,
    /// The vectors would wait for it.
    Shared,
}

impl Units {
    #[cfg(target_arch = "x86_64")]
    fn of(cpu: Cpu) -> Self {
        if cpu.has(Feature::Apart) {
            Self::Apart
        } else {
            Self::Shared
        }
    }
}

impl Backend {
    /// XORs keystream onto `data`, beginning at `start`.
    #[inline(always)]
    pub(crate) fn crypt(self, start: Start<'_>, data: InOutBuf<'_, '_, u8>) {
        match self {
            Self::Portable => portable::chacha20::crypt(start, data),
            #[cfg(target_arch = "x86_64")]
            Self::Ssse3(token, Units::Apart) => {
                x86_64::chacha20::crypt_ssse3_apart(token, start, data);
            }
            #[cfg(target_arch = "x86_64")]
            Self::Ssse3(token, Units::Shared) => {
                x86_64::chacha20::crypt_ssse3(token, start, data);
            }
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(token) => x86_64::chacha20::crypt_avx2(token, start, data),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(token, _) => x86_64::chacha20::crypt_avx512(token, start, data),
        }
    }

    /// Like [`crypt`](Self::crypt); returns `mac` with all whole MAC blocks of the ciphertext absorbed. `powers`, if any,
    /// are those of this backend and r.
    #[inline(always)]
    pub(crate) fn crypt_and_mac(
        self,
        direction: Direction,
        start: Start<'_>,
        r: &Multiplier,
        powers: Option<&KeptPowers>,
        mac: Element,
        data: InOutBuf<'_, '_, u8>,
    ) -> Element {
        #[cfg(not(target_arch = "x86_64"))]
        let _ = powers;
        match self {
            Self::Portable => portable::chacha20::crypt_and_mac(direction, start, r, mac, data),
            #[cfg(target_arch = "x86_64")]
            Self::Ssse3(token, Units::Apart) => x86_64::chacha20::crypt_and_mac_ssse3_apart(
                token, direction, start, r, None, mac, data,
            ),
            #[cfg(target_arch = "x86_64")]
            Self::Ssse3(token, Units::Shared) => {
                x86_64::chacha20::crypt_and_mac_ssse3(token, direction, start, r, None, mac, data)
            }
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(token) => {
                let powers = match powers {
                    Some(KeptPowers::Chains(_, powers)) => Some(powers),
                    _ => None,
                };
                x86_64::chacha20::crypt_and_mac_avx2(token, direction, start, r, powers, mac, data)
            }
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(token, units) => {
                let powers = match powers {
                    Some(KeptPowers::Ifma(_, powers)) => Some(powers),
                    _ => None,
                };
                if units == Units::Apart {
                    x86_64::chacha20::crypt_and_mac_avx512_apart(
                        token, direction, start, r, powers, mac, data,
                    )
                } else {
                    x86_64::chacha20::crypt_and_mac_avx512(
                        token, direction, start, r, powers, mac, data,
                    )
                }
            }
        }
    }

    /// Returns powers that serve all parts of a message, if the backend uses any.
    pub(crate) fn powers(self, r: &Multiplier) -> Option<KeptPowers> {
        #[cfg(not(target_arch = "x86_64"))]
        let _ = r;
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(token, _) => {
                let powers = x86_64::chacha20::powers_avx512(token, r);
                Some(KeptPowers::Ifma(token, powers))
            }
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(token) => {
                let powers = x86_64::chacha20::powers_avx2(token, r);
                Some(KeptPowers::Chains(token, powers))
            }
            _ => None,
        }
    }

    /// Encrypts or decrypts the first data of a message, as [`stitched::first`](crate::stitched::first) documents.
    #[inline(always)]
    pub(crate) fn first(
        self,
        direction: Direction,
        start: Start<'_>,
        aad: &[u8],
        data: InOutBuf<'_, '_, u8>,
        ends: bool,
    ) -> (OneTimeKey, Element) {
        match self {
            Self::Portable => portable::chacha20::first(direction, start, aad, data, ends),
            #[cfg(target_arch = "x86_64")]
            Self::Ssse3(token, Units::Apart) => {
                x86_64::chacha20::first_ssse3_apart(token, direction, start, aad, data, ends)
            }
            #[cfg(target_arch = "x86_64")]
            Self::Ssse3(token, Units::Shared) => {
                x86_64::chacha20::first_ssse3(token, direction, start, aad, data, ends)
            }
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(token) => {
                x86_64::chacha20::first_avx2(token, direction, start, aad, data, ends)
            }
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(token, Units::Apart) => {
                x86_64::chacha20::first_avx512_apart(token, direction, start, aad, data, ends)
            }
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(token, Units::Shared) => {
                x86_64::chacha20::first_avx512(token, direction, start, aad, data, ends)
            }
        }
    }
}

/// Powers of r that serve all parts of a message. Wiped on drop.
#[cfg_attr(
    target_arch = "x86_64",
    expect(
        clippy::large_enum_variant,
        reason = "a caller keeps one, and never several"
    )
)]
pub(crate) enum KeptPowers {
    /// Powers with which data is absorbed faster, without rounds.
    #[cfg(target_arch = "x86_64")]
    Ifma(Avx512, x86_64::poly1305::IfmaPowers),
    /// Powers with which data is absorbed during the rounds of later keystream.
    #[cfg(target_arch = "x86_64")]
    Chains(Avx2, x86_64::chacha20::Avx2Powers),
    /// No other architecture has any.
    #[cfg(not(target_arch = "x86_64"))]
    Never(core::convert::Infallible),
}

impl KeptPowers {
    /// The least data for which they pay off.
    pub(crate) const BYTES_MIN: usize = 128;

    /// Whether [`xor_and_mac`](Self::xor_and_mac) is faster with them than without.
    #[inline(always)]
    pub(crate) fn are_for_xor_and_mac(&self) -> bool {
        #[cfg(target_arch = "x86_64")]
        return matches!(self, Self::Ifma(..));
        #[cfg(not(target_arch = "x86_64"))]
        false
    }

    /// XORs ready keystream onto `data`, whole MAC blocks, and returns `mac` with the ciphertext absorbed.
    pub(crate) fn xor_and_mac(
        &self,
        direction: Direction,
        keystream: &[u8],
        r: &Multiplier,
        mac: Element,
        data: InOutBuf<'_, '_, u8>,
    ) -> Element {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Ifma(token, powers) => x86_64::chacha20::xor_and_mac_avx512(
                *token, direction, keystream, r, powers, mac, data,
            ),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the buffer guarantees the bytes, and the token proves BMI2.
            Self::Chains(_, powers) => unsafe {
                powers.xor_and_absorb(direction, r, mac, keystream, data.into(), None)
            },
            #[cfg(not(target_arch = "x86_64"))]
            Self::Never(never) => {
                let _ = (direction, keystream, r, mac, data);
                match *never {}
            }
        }
    }
}

/// A ChaCha20 key, bound to the backend that runs it. Wiped on drop.
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct ChaCha20 {
    key: [u32; 8],
    #[zeroize(skip)]
    backend: Backend,
}

impl ChaCha20 {
    /// Creates a key from `key` (32 bytes) for the backend `cpu` prefers.
    ///
    /// The value is moved out to the caller, which may leave a copy on the stack. Where that matters,
    /// place an [`unkeyed`](Self::unkeyed) value first and call [`set_key`](Self::set_key) on it.
    ///
    /// # Errors
    /// [`InvalidKeyLength`].
    pub fn new(key: &[u8], cpu: Cpu) -> Result<Self, InvalidKeyLength> {
        let mut cipher = Self::unkeyed(Backend::preferred(cpu));
        cipher.set_key(key)?;
        Ok(cipher)
    }

    /// Creates a value without a key, run by `backend`. Until [`set_key`](Self::set_key) the key is zero.
    pub const fn unkeyed(backend: Backend) -> Self {
        Self {
            key: [0; 8],
            backend,
        }
    }

    /// Sets `key` (32 bytes), which replaces the previous one.
    ///
    /// # Errors
    /// [`InvalidKeyLength`]; the old key is kept.
    pub fn set_key(&mut self, key: &[u8]) -> Result<(), InvalidKeyLength> {
        let words = key.as_chunks::<4>().0;
        if key.len() != KEY_BYTES {
            return Err(InvalidKeyLength(key.len()));
        }
        for (word, bytes) in self.key.iter_mut().zip(words) {
            *word = u32::from_le_bytes(*bytes);
        }
        Ok(())
    }

    /// The backend that runs this key.
    pub const fn backend(&self) -> Backend {
        self.backend
    }

    /// XORs keystream onto `data`, starting at byte `skip` (0 to 63) of the block that `counter` names: its upper 96 bits
    /// are the nonce, big-endian; its low 32 bits are the block counter, and only these count and wrap.
    ///
    /// # Panics
    /// When `skip` is 64 or more.
    pub fn apply(&self, counter: u128, skip: usize, data: InOutBuf<'_, '_, u8>) {
        if skip > 0 {
            return self.apply_within_a_block(counter, skip, data);
        }
        if !data.is_empty() {
            let start = self.start(nonce_words(counter), counter as u32);
            self.backend.crypt(start, data);
        }
    }

    #[inline(never)]
    fn apply_within_a_block(&self, counter: u128, skip: usize, data: InOutBuf<'_, '_, u8>) {
        assert!(
            skip < BLOCK_BYTES,
            "skip addresses a byte within a block: 0 to 63, not {skip}"
        );
        let start = self.start(nonce_words(counter), counter as u32);
        let bytes = data.len().min(BLOCK_BYTES - skip);
        let (head, rest) = data.split_at(bytes);
        let mut keystream = Secret::<BLOCK_BYTES>::zeros(BLOCK_BYTES);
        self.backend.crypt(start, keystream.bytes().into());
        xor(&keystream.bytes()[skip..skip + bytes], head);
        if !rest.is_empty() {
            self.backend.crypt(start.later(1), rest);
        }
    }

    /// Returns the start of the keystream of `nonce` at block `counter`.
    #[inline(always)]
    pub(crate) fn start(&self, nonce: [u32; 3], counter: u32) -> Start<'_> {
        Start::new(&self.key, counter, nonce)
    }
}

impl fmt::Debug for ChaCha20 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ChaCha20")
            .field(&self.backend.name())
            .finish()
    }
}

/// Returns the nonce in the upper 96 bits of `counter`, as RFC 8439, section 2.3, reads its bytes.
fn nonce_words(counter: u128) -> [u32; 3] {
    [96, 64, 32].map(|shift| ((counter >> shift) as u32).swap_bytes())
}
