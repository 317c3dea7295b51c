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
//! session, [`AcceleratedCtr`], [`AcceleratedCbc`] or [`AcceleratedAead`], on the device that
//! expects to be done first. Each request then goes the way the plan finds cheapest: on the calling
//! thread, or in stripes over the pool.

mod accelerator;
mod aead;
#[cfg(feature = "software")]
mod aws_lc;
mod builder;
mod calibrate;
mod cipher;
mod costs;
pub mod device;
mod error;
mod options;
mod plan;
#[cfg(feature = "software")]
mod rsa;
mod threads;
mod work;

pub use accelerator::Accelerator;
pub use aead::context::AeadContext;
pub use aead::{
    AcceleratedAead, Aes128Gcm, Aes192Gcm, Aes256Gcm, AnyAead, ChaCha20Poly1305, NonceSequence,
    Opener, Sealer, SequencedAead,
};
#[cfg(feature = "software")]
pub use aws_lc::rsa::{PrivateNumbers as RsaPrivateNumbers, RsaSecretNumbers, RsaSecretPrimes};
pub use builder::Builder;
pub use cipher::cbc::AcceleratedCbc;
pub use cipher::cbc_context::CbcContext;
pub use cipher::ctr::AcceleratedCtr;
pub use cipher::stream_context::StreamContext;
pub use cipher::{Aes128, Aes192, Aes256, Algorithm, AnyAes, AnyStream};
pub use costs::calibration::{Calibration, MachineCosts, OperationCost};
pub use costs::lookup::CostSource;
pub use costs::stats::{OperationStats, PublicKeyStats, Stats};
pub use costs::usage::{Counted, CountedLine, Usage};
pub use error::{Error, OptionsError};
pub use oarlock_kernels as kernels;
pub use options::{Options, PrefetchWorker, Reservation, Strategy, Threads};
pub use plan::report::{MadeAhead, PlanReport};
#[cfg(feature = "software")]
pub use rsa::modexp::AcceleratedModExp;
#[cfg(feature = "software")]
pub use rsa::traits::{RsaSignature, RsaSigner, RsaVerifier};
#[cfg(feature = "software")]
pub use rsa::{AcceleratedRsa, AcceleratedRsaPublic};
#[cfg(feature = "software")]
pub use threads::job::{CompletionQueue, Job, JobOptions, Order, Priority, QueueFull};
pub use work::algorithm::Direction;
#[cfg(feature = "software")]
pub use work::modulus::{Base, ByteOrder};
#[cfg(feature = "software")]
pub use work::request::PublicKeyRequest;
#[cfg(feature = "software")]
pub use work::rsa::key::{RsaPrivateKey, RsaPublicKey};
#[cfg(feature = "software")]
pub use work::rsa::padding::{Hash, PssSalt};
#[cfg(feature = "software")]
pub use work::rsa::scheme::{EncryptionScheme, SignatureScheme};
