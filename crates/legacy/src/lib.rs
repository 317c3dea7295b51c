//! Block ciphers other than AES in counter mode (SP 800-38A, section 6.5): Camellia, ARIA, SM4, Serpent, Twofish,
//! CAST-128 and Blowfish. Triple DES is in `oarlock-kernels`, where chains of packets need it.
//!
//! A key is a [`Ctr`], created for a [`Cipher`] and a CPU. Camellia, ARIA and SM4 ([`words`]) and [`serpent`] have kernels
//! here. RustCrypto computes the others, and also the first three on CPUs without their kernels. [`BlockCtr`] is the mode
//! over any block cipher with RustCrypto's traits.
//!
//! ```
//! use oarlock_kernels::cpu::Cpu;
//! use oarlock_legacy::{Cipher, Ctr};
//!
//! let key = Ctr::shared(Cipher::Camellia, Cpu::detect(), &[0x2b; 16])?;
//! let mut data = *b"attack at dawn";
//! key.apply(7, 0, (&mut data[..]).into());
//! key.apply(7, 0, (&mut data[..]).into());
//! assert_eq!(&data, b"attack at dawn");
//! # Ok::<(), oarlock_legacy::InvalidKeyLength>(())
//! ```

#[cfg(all(feature = "ciphers", debug_assertions))]
mod dispatch;
#[cfg(feature = "ciphers")]
mod error;
#[cfg(feature = "ciphers")]
mod key;
#[cfg(all(feature = "ciphers", target_arch = "x86_64"))]
mod keys;
mod mode;
#[cfg(feature = "ciphers")]
pub mod serpent;
#[cfg(all(feature = "ciphers", target_arch = "x86_64"))]
mod sliced;
#[cfg(all(feature = "ciphers", debug_assertions))]
#[doc(hidden)]
pub mod testing;
#[cfg(all(feature = "ciphers", target_arch = "x86_64"))]
pub mod words;

#[cfg(feature = "ciphers")]
pub use error::InvalidKeyLength;
#[cfg(feature = "ciphers")]
pub use key::{Cipher, Ctr};
pub use mode::BlockCtr;
