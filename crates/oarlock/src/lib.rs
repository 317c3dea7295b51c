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
mod builder;
mod calibrate;
mod cipher;
mod context;
mod costs;
pub mod device;
mod error;
mod options;
#[cfg(feature = "software")]
mod pk;
mod plan;
mod threads;
mod work;

pub use accelerator::Accelerator;
pub use aead::{
    AcceleratedAead, Aes128Gcm, Aes192Gcm, Aes256Gcm, AnyAead, ChaCha20Poly1305, NonceSequence,
    Opener, Sealer, SequencedAead,
};
pub use builder::Builder;
pub use cipher::cbc::AcceleratedCbc;
pub use cipher::ctr::AcceleratedCtr;
pub use cipher::{Aes128, Aes192, Aes256, Algorithm, AnyAes, AnyStream};
pub use context::{AeadContext, CbcContext, StreamContext};
pub use costs::calibration::{Calibration, MachineCosts, OperationCost};
pub use costs::lookup::CostSource;
pub use costs::stats::{OperationStats, PublicKeyStats, Stats};
pub use costs::usage::{Counted, CountedLine, Usage};
#[cfg(feature = "software")]
pub use device::software::rsa::{
    PrivateNumbers as RsaPrivateNumbers, RsaSecretNumbers, RsaSecretPrimes,
};
pub use error::{Error, OptionsError};
pub use oarlock_kernels as kernels;
pub use options::{Options, PrefetchWorker, Reservation, Strategy, Threads};
#[cfg(feature = "software")]
pub use pk::{
    AcceleratedModExp, AcceleratedRsa, AcceleratedRsaPublic, Base, ByteOrder, EncryptionScheme,
    Hash, PssSalt, PublicKeyRequest, RsaPrivateKey, RsaPublicKey, RsaSignature, RsaSigner,
    RsaVerifier, SignatureScheme,
};
pub use plan::report::{MadeAhead, PlanReport};
#[cfg(feature = "software")]
pub use threads::job::{CompletionQueue, Job, JobOptions, Order, Priority, QueueFull};
pub use work::algorithm::Direction;
