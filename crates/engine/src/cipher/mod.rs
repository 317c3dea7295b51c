//! Ciphers without authentication: stream ciphers with RustCrypto's traits, and AES-CBC.
//!
//! The traits are re-exported here: `use oarlock::cipher::{StreamCipher, StreamCipherSeek}` needs no dependency on the
//! `cipher` crate, and always names the version that these types implement.

mod algorithm;
pub(crate) mod cbc;
pub(crate) mod cbc_context;
pub(crate) mod ctr;
mod stream;
pub(crate) mod stream_context;

pub use ::cipher::{InOutBuf, KeyIvInit, StreamCipher, StreamCipherError, StreamCipherSeek};
pub use oarlock_kernels::aes::Backend as AesBackend;
pub use oarlock_kernels::chacha20::Backend as ChaCha20Backend;

pub use algorithm::{Aes128, Aes192, Aes256, AnyAes, AnyStream, StreamKind};
pub use cbc::AcceleratedCbc;
pub use cbc_context::CbcContext;
pub use ctr::AcceleratedCtr;
pub use stream_context::StreamContext;
