//! Ciphers without authentication: stream ciphers behind RustCrypto's traits, and AES-CBC.

mod algorithm;
pub(crate) mod cbc;
pub(crate) mod cbc_context;
pub(crate) mod ctr;
mod stream;
pub(crate) mod stream_context;

pub use algorithm::{Aes128, Aes192, Aes256, Algorithm, AnyAes, AnyStream};
