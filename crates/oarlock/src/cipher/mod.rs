//! Ciphers without authentication: stream ciphers behind RustCrypto's traits, and AES-CBC.

mod algorithm;
pub(crate) mod cbc;
pub(crate) mod ctr;
mod stream;

pub use algorithm::{Aes128, Aes192, Aes256, Algorithm, AnyAes, AnyStream};
