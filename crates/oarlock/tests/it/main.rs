//! The engine from outside: one program, whose tests run side by side.
//!
//! A test that forks, confines a process, counts its threads or reads the kernels' counts of calls
//! starts this program again with itself alone (`oarlock_testing::alone`). Apart are `memory.rs`, which
//! has an allocator of its own, and `model.rs`, which loom is compiled into.
#![allow(clippy::unwrap_used)]

mod aead;
mod cbc;
mod child;
mod common;
mod contexts;
mod ctr;
mod devices;
mod examples;
#[cfg(feature = "simulated")]
mod framework;
#[cfg(feature = "rsa")]
mod jobs;
#[cfg(feature = "rsa")]
mod keys;
#[cfg(feature = "library")]
mod library;
#[cfg(feature = "rsa")]
mod modexp;
mod options;
mod packet;
#[cfg(feature = "pkcs11")]
mod pkcs11;
mod pool;
#[cfg(feature = "legacy")]
mod prefetch;
mod process;
mod published;
mod reservation;
#[cfg(feature = "rsa")]
mod rsa;
mod sandbox;
mod seed_defects;
mod sequenced;
mod short_requests;
#[cfg(feature = "aws-lc")]
mod software;
#[cfg(target_os = "linux")]
mod tunnel;
mod vectors;
