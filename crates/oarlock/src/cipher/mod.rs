//! Ciphers without authentication: stream ciphers behind RustCrypto's traits, and AES-CBC.

mod algorithm;
mod block;
pub(crate) mod cbc;
mod chain;
pub(crate) mod ctr;
mod key;

pub use algorithm::{Aes128, Aes192, Aes256, Algorithm, AnyAes, AnyStream};
pub(crate) use algorithm::{advanced, distance};
#[cfg(feature = "software")]
pub(crate) use chain::BlockChain;
pub(crate) use chain::{CbcKey, Direction};
pub(crate) use key::{Keystream, StreamKey, keystream};
