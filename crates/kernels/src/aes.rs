//! AES (FIPS 197) in counter mode (SP 800-38A, section 6.5).
//!
//! A keystream is addressed by position: [`Ctr::apply`] takes the counter block of the first byte and the number of bytes of
//! that block to skip. No state passes from call to call, so one key can serve any number of threads, each at its own
//! position, and a cut within a block costs one more block instead of a buffer that would have to be wiped.
//!
//! ```text
//! apply(counter, skip, data)
//!   head      the rest of a block begun earlier          one block
//!   runs      split where the low 32 bits wrap           backend: add on 32 bits only
//!   tail      the first bytes of the last block          inside the backend's last vector
//! ```
//!
//! Splitting at the wrap keeps the carry out of every backend: the 128-bit counter and the 32-bit one of GCM differ only in
//! what the driver adds between two runs.

use core::fmt;

use inout::InOutBuf;

use crate::backends::backends;
use crate::counter::{bytes_before_wrap, carry_32, carry_128, drive, is_one_run};
use crate::cpu::Cpu;
#[cfg(debug_assertions)]
pub use crate::dispatch::aes as dispatch;
pub use crate::key::{BLOCK_BYTES, InvalidKeyLength};
use crate::key::{KeySize, Schedule};
use crate::portable;
#[cfg(target_arch = "x86_64")]
use crate::x86_64::{self, face};
#[cfg(target_arch = "x86_64")]
pub use crate::x86_64::{AesNi, Face, Vaes256, Vaes512};

backends! {
    /// The code that computes AES. A value exists only if the CPU has its instructions; see [`Cpu::aes_backends`].
    pub enum Backend {
        /// Constant-time bitsliced code for any CPU, including x86-64 without AES instructions: the reference, not meant
        /// to be fast.
        Portable,
        /// `vaesenc` on 512-bit registers.
        Vaes512(Vaes512) "vaes-512",
        /// `vaesenc` on 256-bit registers.
        Vaes256(Vaes256) "vaes-256",
        /// `aesenc` on 128-bit registers.
        AesNi(AesNi) "aes-ni",
    }
    /// Returns the backends that `cpu` can run, the preferred one first.
    pub(crate) fn all;
}

impl Cpu {
    /// Returns every AES backend that this CPU can run, the preferred one first. Never empty: the last is
    /// [`Backend::Portable`].
    pub fn aes_backends(self) -> impl Iterator<Item = Backend> {
        Backend::all(self)
    }
}

impl Schedule {
    pub(crate) fn expand(&mut self, key: &[u8], backend: Backend) -> Result<(), InvalidKeyLength> {
        self.resize(key)?;
        match backend {
            Backend::Portable => self.expand_with(key, portable::aes::sub_word),
            #[cfg(target_arch = "x86_64")]
            Backend::AesNi(token) => x86_64::aes_keys::expand(token, self, key),
            #[cfg(target_arch = "x86_64")]
            Backend::Vaes256(token) => x86_64::aes_keys::expand(token.aes_ni(), self, key),
            #[cfg(target_arch = "x86_64")]
            Backend::Vaes512(token) => x86_64::aes_keys::expand(token.aes_ni(), self, key),
        }
        Ok(())
    }

    /// Makes this the schedule of the equivalent inverse cipher (FIPS 197, section 5.3.5) of `schedule`, in the order of
    /// use.
    pub(crate) fn invert(&mut self, schedule: &Self, backend: Backend) {
        self.size = schedule.size;
        match backend {
            Backend::Portable => portable::aes::invert(schedule, self),
            #[cfg(target_arch = "x86_64")]
            Backend::AesNi(token) => x86_64::aes_keys::invert(token, schedule, self),
            #[cfg(target_arch = "x86_64")]
            Backend::Vaes256(token) => x86_64::aes_keys::invert(token.aes_ni(), schedule, self),
            #[cfg(target_arch = "x86_64")]
            Backend::Vaes512(token) => x86_64::aes_keys::invert(token.aes_ni(), schedule, self),
        }
    }
}

/// An AES key in counter mode, bound to the backend that runs it. Wiped on drop.
pub struct Ctr {
    pub(crate) schedule: Schedule,
    backend: Backend,
}

impl Ctr {
    /// Expands `key` (16, 24 or 32 bytes) for the backend `cpu` prefers.
    ///
    /// The value is moved out to the caller, which may leave a copy on the stack. Where that matters,
    /// place an [`unkeyed`](Self::unkeyed) value first and call [`set_key`](Self::set_key) on it.
    ///
    /// # Errors
    /// [`InvalidKeyLength`].
    pub fn new(key: &[u8], cpu: Cpu) -> Result<Self, InvalidKeyLength> {
        let mut ctr = Self::unkeyed(Backend::preferred(cpu));
        ctr.set_key(key)?;
        Ok(ctr)
    }

    /// Creates a value without a key, run by `backend`. Until [`set_key`](Self::set_key) it holds zeros instead of a
    /// schedule, and its output is worthless.
    pub const fn unkeyed(backend: Backend) -> Self {
        Self {
            schedule: Schedule::UNKEYED,
            backend,
        }
    }

    /// Wipes the key: the value is [`unkeyed`](Self::unkeyed) again.
    pub fn forget_key(&mut self) {
        self.schedule.forget();
        self.schedule.size = KeySize::Aes128;
    }

    /// Expands `key` (16, 24 or 32 bytes), which replaces the previous one.
    ///
    /// # Errors
    /// [`InvalidKeyLength`]; the old key is kept.
    pub fn set_key(&mut self, key: &[u8]) -> Result<(), InvalidKeyLength> {
        self.schedule.expand(key, self.backend)
    }

    /// Like [`set_key`](Self::set_key), and also encrypts a block of zeros.
    pub(crate) fn set_key_and_encrypt_zeros(
        &mut self,
        key: &[u8],
        encrypted: &mut [u8; BLOCK_BYTES],
    ) -> Result<(), InvalidKeyLength> {
        #[cfg(target_arch = "x86_64")]
        {
            let token = match self.backend {
                Backend::AesNi(token) => Some(token),
                Backend::Vaes256(token) => Some(token.aes_ni()),
                Backend::Vaes512(token) => Some(token.aes_ni()),
                _ => None,
            };
            if let Some(token) = token {
                let schedule = &mut self.schedule;
                schedule.resize(key)?;
                x86_64::aes_keys::expand_and_encrypt_zeros(token, schedule, key, encrypted);
                return Ok(());
            }
        }
        self.set_key(key)?;
        encrypted.fill(0);
        self.run(0, (&mut encrypted[..]).into());
        Ok(())
    }

    /// The backend that runs this key.
    pub const fn backend(&self) -> Backend {
        self.backend
    }

    /// XORs keystream onto `data`, starting at byte `skip` (0 to 15) of the block encrypted from `counter`, a 128-bit
    /// big-endian counter that wraps at 2^128 (SP 800-38A, appendix B.1 with m = 128).
    ///
    /// # Panics
    /// When `skip` is 16 or more.
    #[inline(always)]
    pub fn apply(&self, counter: u128, skip: usize, data: InOutBuf<'_, '_, u8>) {
        if is_one_run(counter, skip, data.len()) {
            self.run(counter, data);
        } else {
            drive(counter, skip, data, carry_128, &mut |counter, run| {
                self.run(counter, run);
            });
        }
    }

    /// Like [`apply`](Self::apply), but only the low 32 bits count and wrap, as in GCM's inc32 (SP 800-38D, section 6.2).
    ///
    /// # Panics
    /// When `skip` is 16 or more.
    #[inline]
    pub fn apply32(&self, counter: u128, skip: usize, data: InOutBuf<'_, '_, u8>) {
        if is_one_run(counter, skip, data.len()) {
            self.run(counter, data);
        } else {
            drive(counter, skip, data, carry_32, &mut |counter, run| {
                self.run(counter, run);
            });
        }
    }

    /// Like [`apply`](Self::apply), on another backend than the key was set for.
    pub(crate) fn apply_by(&self, backend: Backend, counter: u128, data: InOutBuf<'_, '_, u8>) {
        drive(counter, 0, data, carry_128, &mut |counter, run| {
            self.run_by(backend, counter, run);
        });
    }

    /// Processes a run in which the low 32 bits of the counter do not wrap.
    #[inline(always)]
    fn run(&self, counter: u128, data: InOutBuf<'_, '_, u8>) {
        self.run_by(self.backend, counter, data);
    }

    #[inline(always)]
    fn run_by(&self, backend: Backend, counter: u128, data: InOutBuf<'_, '_, u8>) {
        debug_assert!(data.len() as u64 <= bytes_before_wrap(counter));
        match backend {
            #[cfg(target_arch = "x86_64")]
            Backend::AesNi(token) => x86_64::aes::ctr_aes_ni(token, &self.schedule, counter, data),
            #[cfg(target_arch = "x86_64")]
            Backend::Vaes256(token) => {
                x86_64::aes::ctr_vaes256(token, &self.schedule, counter, data);
            }
            #[cfg(target_arch = "x86_64")]
            Backend::Vaes512(token) => {
                x86_64::aes::ctr_vaes512(token, &self.schedule, counter, data);
            }
            Backend::Portable => portable::aes::ctr(&self.schedule, counter, data),
        }
    }
}

impl fmt::Debug for Ctr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ctr")
            .field("key", &self.schedule.size)
            .field("backend", &self.backend.name())
            .finish_non_exhaustive()
    }
}

/// An AES key in counter mode with counter-mode caching (FACE) for long runs under one nonce, about 1.2 times as fast there
/// as [`Ctr`] on 512-bit VAES. Wiped on drop.
///
/// The first long run under a nonce fills a 4 KiB table; [`apply`](Self::apply) decides when. The results are those of
/// [`Ctr`].
#[cfg(target_arch = "x86_64")]
pub struct CachedCtr {
    pub(crate) ctr: Ctr,
    face: Face,
    pub(crate) table: face::Table,
    /// The nonce, as counter bytes, for which `table` is filled; [`NO_NONCE`] before that.
    filled_for: u128,
    /// The nonce of the last calls that were too short to fill it, and their bytes in all.
    seen_for: u128,
    seen_bytes: usize,
}

#[cfg(target_arch = "x86_64")]
impl CachedCtr {
    /// Creates a value without a key. Until [`set_key`](Self::set_key) its output is worthless.
    pub const fn unkeyed(face: Face) -> Self {
        Self {
            ctr: Ctr::unkeyed(Backend::Vaes512(face.vaes512())),
            face,
            table: face::Table::EMPTY,
            filled_for: NO_NONCE,
            seen_for: NO_NONCE,
            seen_bytes: 0,
        }
    }

    /// Expands `key` (16, 24 or 32 bytes), which replaces the previous one, and invalidates the table.
    ///
    /// # Errors
    /// [`InvalidKeyLength`]; the old key is kept.
    pub fn set_key(&mut self, key: &[u8]) -> Result<(), InvalidKeyLength> {
        self.ctr.set_key(key)?;
        self.filled_for = NO_NONCE;
        self.seen_for = NO_NONCE;
        Ok(())
    }

    /// The backend that runs this key.
    pub const fn backend(&self) -> Backend {
        self.ctr.backend
    }

    /// Like [`Ctr::apply`]; fills and uses the table where that pays.
    ///
    /// # Panics
    /// When `skip` is 16 or more.
    #[inline(always)]
    pub fn apply(&mut self, counter: u128, skip: usize, data: InOutBuf<'_, '_, u8>) {
        if is_one_run(counter, skip, data.len()) {
            self.run(counter, data);
        } else {
            drive(counter, skip, data, carry_128, &mut |counter, run| {
                self.run(counter, run);
            });
        }
    }

    /// Fills the table for the nonce of `counter`, unless it is filled for it already, for calls to
    /// [`apply_shared`](Self::apply_shared).
    pub fn prepare(&mut self, counter: u128) {
        if self.filled_for != counter & face::NONCE_MASK {
            face::fill(self.face, &self.ctr.schedule, &mut self.table, counter);
            self.filled_for = counter & face::NONCE_MASK;
        }
    }

    /// Like [`Ctr::apply`], with the table as it is, from any thread.
    ///
    /// # Panics
    /// When `skip` is 16 or more.
    pub fn apply_shared(&self, counter: u128, skip: usize, data: InOutBuf<'_, '_, u8>) {
        drive(counter, skip, data, carry_128, &mut |counter, run| {
            if run.len() >= CACHED_BYTES_MIN && self.filled_for == counter & face::NONCE_MASK {
                face::ctr_cached(self.face, &self.ctr.schedule, &self.table, counter, run);
            } else {
                self.plain_run(counter, run);
            }
        });
    }

    /// Processes a run in which the low 32 bits of the counter do not wrap.
    #[inline(always)]
    fn run(&mut self, counter: u128, run: InOutBuf<'_, '_, u8>) {
        if run.len() < CACHED_BYTES_MIN {
            self.plain_run(counter, run);
        } else if self.filled_for == counter & face::NONCE_MASK {
            face::ctr_cached(self.face, &self.ctr.schedule, &self.table, counter, run);
        } else {
            self.first_runs(counter, run);
        }
    }

    #[inline(always)]
    fn plain_run(&self, counter: u128, run: InOutBuf<'_, '_, u8>) {
        x86_64::aes::ctr_vaes512(self.face.vaes512(), &self.ctr.schedule, counter, run);
    }

    /// Processes a run that is long enough for a table, when there is none for its nonce.
    #[cold]
    fn first_runs(&mut self, mut counter: u128, mut run: InOutBuf<'_, '_, u8>) {
        let nonce = counter & face::NONCE_MASK;
        if self.seen_for != nonce {
            self.seen_for = nonce;
            self.seen_bytes = 0;
        }
        self.seen_bytes += run.len();
        if self.seen_bytes < FILLING_BYTES_MIN {
            return self.plain_run(counter, run);
        }
        if run.len() < face::TABLE_BYTES {
            self.prepare(counter);
        } else {
            let Self {
                ctr, face, table, ..
            } = self;
            run = face::ctr_fill(*face, &ctr.schedule, table, counter, run);
            self.filled_for = nonce;
            counter += face::TABLE_BLOCKS as u128;
        }
        face::ctr_cached(self.face, &self.ctr.schedule, &self.table, counter, run);
    }
}

#[cfg(target_arch = "x86_64")]
impl fmt::Debug for CachedCtr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CachedCtr").field(&self.ctr).finish()
    }
}

/// A value that no counter under [`face::NONCE_MASK`] has.
#[cfg(target_arch = "x86_64")]
const NO_NONCE: u128 = u128::MAX;
/// The shortest run that gains from a filled table: measured 0.96 of the plain kernel's speed at 256 bytes, 1.00 to 1.08 at
/// 384, 1.09 to 1.16 at 512.
#[cfg(target_arch = "x86_64")]
const CACHED_BYTES_MIN: usize = 384;
/// The bytes under one nonce from which on a run fills the table. Filling it during a run costs what it saves on the next 2
/// KiB; filling it beforehand, what it saves on 6 KiB.
#[cfg(target_arch = "x86_64")]
const FILLING_BYTES_MIN: usize = 6 << 10;
