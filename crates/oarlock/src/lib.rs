//! Oarlock makes cryptography use every lane and core of the machine, with the output of the plain
//! implementation bit for bit.
//!
//! ```
//! use cipher::{StreamCipher, StreamCipherSeek};
//!
//! let accelerator = oarlock::Accelerator::builder().build()?;
//! let mut cipher = accelerator.ctr(&[0x42; 16], &[0x24; 16])?;
//! let mut data = vec![0u8; 1 << 20];
//! cipher.apply_keystream(&mut data);
//! cipher.seek(0);
//! cipher.apply_keystream(&mut data);
//! assert!(data.iter().all(|byte| *byte == 0));
//! # Ok::<(), oarlock::Error>(())
//! ```
//!
//! An [`Accelerator`] is a handle: there is no hidden global one. A key set up with it becomes a
//! session, such as [`cipher::AcceleratedCtr`] or [`aead::AcceleratedAead`], on the device that
//! expects to be done first. Each request then goes the way the plan finds cheapest: on the calling
//! thread, or in stripes over the pool.
//!
//! | module | what is in it |
//! |---|---|
//! | [`cipher`] | AES in counter mode and CBC, ChaCha20, older ciphers in counter mode |
//! | [`aead`] | AES-GCM and ChaCha20-Poly1305: whole messages, pieces, numbered records |
//! | `rsa` | RSA keys, signatures, encryption; modular exponentiation |
//! | `job` | requests that are submitted now and waited for later |
//! | [`device`] | backends: the CPU, aws-lc, tokens, shared libraries, your own |
//! | [`plan`] | which way a request would go, and why |
//! | [`costs`] | what requests cost and where they went: calibration, counters |

mod accelerator;
pub mod aead;
#[cfg(feature = "rsa")]
mod aws_lc;
mod builder;
mod calibrate;
pub mod cipher;
pub mod costs;
pub mod device;
mod error;
mod options;
pub mod plan;
#[cfg(feature = "rsa")]
pub mod rsa;
mod threads;
mod work;

pub use accelerator::Accelerator;
pub use builder::Builder;
pub use error::{Error, OptionsError};
pub use options::{Options, PrefetchWorker, Reservation, Strategy, Threads};
pub use threads::heap;
#[cfg(feature = "rsa")]
pub use threads::job;
pub use work::algorithm::{Algorithm, Direction, Kind};
