//! The reference of every kernel: plain Rust without secret-dependent branches or indices,
//! compiled on every architecture.

pub(crate) mod aes;
pub(crate) mod chacha20;
pub(crate) mod ghash;
pub(crate) mod tdes;
pub(crate) mod xor;
