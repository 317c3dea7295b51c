//! The C library through the C compiler: its header, its examples and programs that misuse it.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod abi;
mod library;
mod packets;
mod programs;
mod vectors;
