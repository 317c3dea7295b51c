//! Expanded keys of the legacy ciphers, and the parts of their S-boxes.

pub(crate) mod aria;
pub(crate) mod camellia;
pub(crate) mod field;
pub(crate) mod sbox;
pub(crate) mod sm4;
pub(crate) mod tower;
