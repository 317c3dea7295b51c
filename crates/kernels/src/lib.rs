//! Cryptographic kernels: pure functions over slices.
//!
//! This crate starts no thread, allocates nothing, does no I/O and reads no environment; it is `no_std` except for CPU
//! feature detection. Only this crate and `oarlock-legacy` contain intrinsics. Each algorithm is written once ([`aes`],
//! [`chacha20`]); a backend supplies the instructions (`portable`, `x86_64`).
//!
//! A caller names a backend by its token, and a token exists only if the CPU was found to have the instructions ([`cpu`]).
//! Therefore calling a kernel is safe.
//!
//! ```
//! use oarlock_kernels::{aes::Ctr, cpu::Cpu};
//!
//! let ctr = Ctr::new(&[0x2b; 16], Cpu::detect())?;
//! let mut data = *b"attack at dawn";
//! ctr.apply(0xf0f1_f2f3_f4f5_f6f7_f8f9_fafb_fcfd_feff, 0, (&mut data[..]).into());
//! ctr.apply(0xf0f1_f2f3_f4f5_f6f7_f8f9_fafb_fcfd_feff, 0, (&mut data[..]).into());
//! assert_eq!(&data, b"attack at dawn");
//! # Ok::<(), oarlock_kernels::aes::InvalidKeyLength>(())
//! ```
#![no_std]

pub mod aead;
pub mod aes;
mod backends;
pub mod batch;
mod bits;
pub mod cbc;
pub mod chacha20;
pub mod chacha20_poly1305;
mod contract;
pub mod counter;
pub mod cpu;
#[cfg(debug_assertions)]
mod dispatch;
pub mod gcm;
mod hash;
mod key;
#[cfg(target_arch = "x86_64")]
pub mod modexp;
mod poly1305;
mod portable;
pub mod random;
mod requests;
#[cfg(target_arch = "x86_64")]
pub mod sha512;
mod stitched;
pub mod tdes;
#[cfg(debug_assertions)]
#[doc(hidden)]
pub mod testing;
pub mod wipe;
#[cfg(target_arch = "x86_64")]
mod x86_64;
pub mod xor;

#[cfg(target_arch = "x86_64")]
pub use x86_64::{AesNi, Avx2, Avx512, Gfni256, Gfni512, Ssse3, Vaes256};
