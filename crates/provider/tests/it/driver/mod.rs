//! Calls ciphers of the default provider and of ours through EVP, with this machine's libcrypto.

pub mod contexts;
mod libcrypto;
pub mod rsa;
pub mod script;
mod skey;

pub(crate) use libcrypto::evp_functions;
pub use libcrypto::{Cipher, Context, Libcrypto, Param, configuration, libcrypto};
pub use skey::{SELECT_ALL, SELECT_PARAMETERS, SELECT_SECRET_KEY, SymmetricKeys};

/// The commands of `EVP_CIPHER_CTX_ctrl` (evp.h).
pub mod ctrl {
    pub const AEAD_SET_IV_BYTES: i32 = 0x9;
    pub const AEAD_GET_TAG: i32 = 0x10;
    pub const AEAD_SET_TAG: i32 = 0x11;
    pub const AEAD_SET_IV_FIXED: i32 = 0x12;
    pub const GCM_IV_GEN: i32 = 0x13;
    pub const AEAD_TLS1_AAD: i32 = 0x16;
    pub const GCM_SET_IV_INV: i32 = 0x18;
}

/// Returns `usually` rounds, unless the environment sets another number.
pub fn rounds(usually: u64) -> u64 {
    let rounds = std::env::var("OARLOCK_DIFFERENTIAL_ROUNDS").ok();
    rounds.map_or(usually, |rounds| rounds.parse().unwrap())
}

/// All offered algorithms.
pub const NAMES: [&str; 14] = [
    "AES-128-CTR",
    "AES-192-CTR",
    "AES-256-CTR",
    "AES-128-CBC",
    "AES-192-CBC",
    "AES-256-CBC",
    "AES-128-GCM",
    "AES-192-GCM",
    "AES-256-GCM",
    "ChaCha20",
    "ChaCha20-Poly1305",
    "CAMELLIA-128-CTR",
    "CAMELLIA-192-CTR",
    "CAMELLIA-256-CTR",
];
