//! Ciphers behind RustCrypto's traits.

mod algorithm;
mod block;
pub(crate) mod ctr;
mod key;

pub use algorithm::{Aes128, Aes192, Aes256, Algorithm, AnyAes, AnyStream};
pub(crate) use algorithm::{advanced, distance};
pub(crate) use key::{Keystream, StreamKey};
