//! The C library. `include/oarlock.h` says what each function does, `API-CONVENTIONS.md` what all have in common.
//!
//! Functions here turn handles and pointers into what the crate `oarlock` takes, and its results into numbers and bytes;
//! they decide nothing. Four things are theirs alone:
//!
//! - `handles.rs`: a handle is a number that a table knows, never an address, so that one that was freed, or is none,
//!   is told from one that is.
//! - `buffers.rs`: pointers with lengths become slices once they cannot be NULL, wrap around or overlap by a part.
//! - `failure.rs`: errors become numbers and a text for the thread that made the call.
//! - `failure::call`: no panic leaves a function.
#![allow(unsafe_code)]

mod accelerator;
mod aead;
mod algorithms;
mod buffers;
mod cipher;
mod failure;
mod framework;
mod handles;
mod job;
mod key;
mod packet;
mod registry;
mod rsa;
