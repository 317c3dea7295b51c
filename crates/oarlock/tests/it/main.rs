//! Tests of the engine from outside, in one program whose tests run concurrently.
//!
//! A test that forks, confines a process, counts its threads or reads the kernels' call counters restarts this program with
//! itself alone (`oarlock_testing::alone`). Two are programs of their own: `memory.rs`, which has its own allocator, and
//! `stack.rs`, which ends if a kernel overflows its stack.
#![allow(clippy::unwrap_used)]

mod aead;
mod cbc;
mod child;
mod common;
mod contexts;
mod ctr;
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
