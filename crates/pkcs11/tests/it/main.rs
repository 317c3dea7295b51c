//! The module as programs load it.
//!
//! | what | where |
//! |---|---|
//! | every mechanism with every key, of files and of a relay, by the `cryptoki` crate | `mechanisms` |
//! | the numbers that calls return: wrong order, wrong handles, short buffers, attributes, threads, forks | `codes` |
//! | relays that hang, lie, leave and come back | `relays` |
//! | pkcs11-tool, p11tool, OpenSSH, NSS, Java and OpenSSL with its engine | `programs` |
//!
//! The module has one state for a process, so each test that loads it runs in a process of its own.
#![allow(unsafe_code, clippy::unwrap_used, clippy::expect_used)]

mod codes;
mod common;
mod mechanisms;
mod programs;
mod relays;
