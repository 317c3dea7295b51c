//! Ciphers whose bits or words are processed side by side, over registers of any width.

pub(crate) mod des;
#[cfg(target_arch = "x86_64")]
pub(crate) mod des_bytes;
pub(crate) mod des_cbc;
pub(crate) mod des_gates;
#[cfg(target_arch = "x86_64")]
pub(crate) mod des_nibbles;
pub(crate) mod registers;
