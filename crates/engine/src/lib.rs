//! The engine: what can be asked (`work`), what it costs ([`costs`]) and turns out to take ([`learn`]), who can compute it ([`device`]), which way it goes
//! ([`plan`]), and the sessions in front of that. Between two threads stands `oarlock_threads`, and no other thing is below
//! but kernels.
//!
//! This crate is a part of `oarlock`, which has the handle (`Accelerator`) and what people depend on. What is here in
//! addition serves the crates of this workspace, and makes no promise of stability to others. A whole session, with
//! its context, key and plan, lies in this one crate, so that a short request is compiled as one piece.

// The documentation links to what the default features bring.
#![cfg_attr(not(feature = "rsa"), allow(rustdoc::broken_intra_doc_links))]

pub mod aead;
#[cfg(feature = "rsa")]
pub mod agreement;
#[cfg(feature = "rsa")]
mod aws_lc;
mod calibrate;
pub mod cipher;
pub mod costs;
pub mod device;
#[cfg(feature = "rsa")]
pub mod ec;
#[cfg(feature = "rsa")]
pub mod framework;
#[cfg(feature = "rsa")]
pub mod hash;
#[cfg(feature = "rsa")]
pub mod kdf;
#[cfg(feature = "rsa")]
pub mod keys;
pub mod learn;
mod mask;
mod options;
pub mod plan;
mod random;
#[cfg(feature = "rsa")]
pub mod rsa;
#[cfg(feature = "rsa")]
pub mod schedule;
#[cfg(test)]
mod testing;
mod work;

#[cfg(feature = "rsa")]
pub use aws_lc::{ed25519, ml_dsa};
pub use calibrate::measure;
pub use oarlock_threads::{Error, OptionsError};
pub use options::{LaneUse, Offer, Options, PrefetchWorker, Reservation, Strategy, Threads};
pub use random::fill_random;
pub use work::algorithm::{Algorithm, Direction, Kind};
pub use work::primitive::Primitive;
