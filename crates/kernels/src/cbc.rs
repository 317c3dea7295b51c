//! AES (FIPS 197) in cipher block chaining mode (SP 800-38A, section 6.2), without padding.
//!
//! Each ciphertext block enters the next, so encryption takes one block after the other, on a register of any width.
//! Decryption has all of its input from the start and processes blocks in parallel, as counter mode does.
//!
//! CBC does not protect against an attacker who can alter ciphertext and observe the effect: authenticate the ciphertext,
//! and check it before decryption.

use core::fmt;

use inout::InOutBuf;

use crate::aes::Backend;
use crate::cpu::Cpu;
use crate::key::{BLOCK_BYTES, InvalidKeyLength, Schedule};
use crate::portable;
#[cfg(target_arch = "x86_64")]
use crate::x86_64;

/// An AES key in CBC mode, for both directions, bound to the backend that runs it. Wiped on drop.
pub struct Cbc {
    pub(crate) schedule: Schedule,
    pub(crate) inverse: Schedule,
    backend: Backend,
}

impl Cbc {
    /// Expands `key` (16, 24 or 32 bytes) for the backend `cpu` prefers.
    ///
    /// The value is moved out to the caller, which may leave a copy on the stack. Where that matters,
    /// place an [`unkeyed`](Self::unkeyed) value first and call [`set_key`](Self::set_key) on it.
    ///
    /// # Errors
    /// [`InvalidKeyLength`].
    pub fn new(key: &[u8], cpu: Cpu) -> Result<Self, InvalidKeyLength> {
        let mut cbc = Self::unkeyed(Backend::preferred(cpu));
        cbc.set_key(key)?;
        Ok(cbc)
    }

    /// Creates a value without a key, run by `backend`. Until [`set_key`](Self::set_key) it holds zeros instead of a
    /// schedule, and its output is worthless.
    pub const fn unkeyed(backend: Backend) -> Self {
        Self {
            schedule: Schedule::UNKEYED,
            inverse: Schedule::UNKEYED,
            backend,
        }
    }

    /// Expands `key` (16, 24 or 32 bytes), which replaces the previous one.
    ///
    /// # Errors
    /// [`InvalidKeyLength`]; the old key is kept.
    pub fn set_key(&mut self, key: &[u8]) -> Result<(), InvalidKeyLength> {
        self.set_key_to_encrypt(key)?;
        self.make_ready_to_decrypt();
        Ok(())
    }

    /// Like [`set_key`](Self::set_key), but decryption is meaningless until
    /// [`make_ready_to_decrypt`](Self::make_ready_to_decrypt).
    ///
    /// # Errors
    /// [`InvalidKeyLength`]; the old key is kept.
    pub fn set_key_to_encrypt(&mut self, key: &[u8]) -> Result<(), InvalidKeyLength> {
        self.schedule.expand(key, self.backend)
    }

    /// Computes the schedule for decryption, which takes as long as that for encryption.
    pub fn make_ready_to_decrypt(&mut self) {
        self.inverse.invert(&self.schedule, self.backend);
    }

    /// The backend that runs this key.
    pub const fn backend(&self) -> Backend {
        self.backend
    }

    /// Encrypts `data`, whole blocks. `iv` is the ciphertext block before the first, or the message's IV at its start, and
    /// becomes the last ciphertext block; without data it does not change.
    ///
    /// # Panics
    /// When the length of `data` is not a multiple of 16 bytes.
    #[inline(always)]
    pub fn encrypt(&self, iv: &mut [u8; BLOCK_BYTES], data: InOutBuf<'_, '_, u8>) {
        assert_whole_blocks(data.len());
        encrypt(self.backend, &self.schedule, iv, data);
    }

    /// Decrypts `data`, whole blocks. `iv` is the ciphertext block before the first, or the message's IV at its start, and
    /// becomes the last ciphertext block; without data it does not change.
    ///
    /// # Panics
    /// When the length of `data` is not a multiple of 16 bytes.
    #[inline(always)]
    pub fn decrypt(&self, iv: &mut [u8; BLOCK_BYTES], data: InOutBuf<'_, '_, u8>) {
        assert_whole_blocks(data.len());
        match self.backend {
            #[cfg(target_arch = "x86_64")]
            Backend::AesNi(token) => x86_64::cbc::decrypt_aes_ni(token, &self.inverse, iv, data),
            #[cfg(target_arch = "x86_64")]
            Backend::Vaes256(token) => {
                x86_64::cbc::decrypt_vaes256(token, &self.inverse, iv, data);
            }
            #[cfg(target_arch = "x86_64")]
            Backend::Vaes512(token) => {
                x86_64::cbc::decrypt_vaes512(token, &self.inverse, iv, data);
            }
            Backend::Portable => portable::aes::cbc_decrypt(&self.inverse, iv, data),
        }
    }
}

impl fmt::Debug for Cbc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cbc")
            .field("key", &self.schedule.size)
            .field("backend", &self.backend.name())
            .finish_non_exhaustive()
    }
}

/// Does [`Cbc::encrypt`] on whole blocks, under a schedule that any backend expanded.
#[inline(always)]
pub(crate) fn encrypt(
    backend: Backend,
    schedule: &Schedule,
    iv: &mut [u8; BLOCK_BYTES],
    data: InOutBuf<'_, '_, u8>,
) {
    match backend {
        // One block at a time, wider registers gain nothing.
        #[cfg(target_arch = "x86_64")]
        Backend::AesNi(token) => x86_64::cbc::encrypt_aes_ni(token, schedule, iv, data),
        #[cfg(target_arch = "x86_64")]
        Backend::Vaes256(token) => {
            x86_64::cbc::encrypt_aes_ni(token.aes_ni(), schedule, iv, data);
        }
        #[cfg(target_arch = "x86_64")]
        Backend::Vaes512(token) => {
            x86_64::cbc::encrypt_aes_ni(token.aes_ni(), schedule, iv, data);
        }
        Backend::Portable => portable::aes::cbc_encrypt(schedule, iv, data),
    }
}

#[inline(always)]
pub(crate) fn assert_whole_blocks(bytes: usize) {
    assert!(
        bytes.is_multiple_of(BLOCK_BYTES),
        "CBC takes whole blocks of 16 bytes, not {bytes} bytes"
    );
}
