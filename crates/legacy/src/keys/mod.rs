//! Expanded keys of the legacy ciphers, and what their S-boxes are made of.

pub(crate) mod aria;
pub(crate) mod camellia;
pub(crate) mod field;
pub(crate) mod sbox;
pub(crate) mod sm4;
pub(crate) mod tower;
