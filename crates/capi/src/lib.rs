//! The C library. `include/oarlock.h` documents each function; `API-CONVENTIONS.md` documents what all have in common.
//!
//! Functions here convert handles and pointers to the types of the crate `oarlock`, and its results to numbers and bytes;
//! they decide nothing. Four things live only here:
//!
//! - `handles.rs`: a handle is a number that a table knows, never an address, so a freed or invalid one is detected.
//! - `buffers.rs`: pointers with lengths become slices after checks for NULL, wrap-around and partial overlap.
//! - `failure.rs`: errors become numbers, and a text for the thread that made the call.
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
mod schemes;
