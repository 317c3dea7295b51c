//! Ciphers behind RustCrypto's traits.

pub(crate) mod ctr;
