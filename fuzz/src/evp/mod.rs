//! OpenSSL's EVP interface with two providers, its default one and Oarlock's: what the targets of the handshake compare.
//!
//! ```text
//! library.rs   a libcrypto, with both providers in one library context
//! param.rs     parameters, and values for them out of an input
//! kdf.rs       key derivation (EVP_KDF(3))
//! mac.rs       MACs (EVP_MAC(3))
//! pkey.rs      keys, and what is done with them (EVP_PKEY(3))
//! ```
#![allow(unsafe_code)]

mod kdf;
mod library;
mod mac;
mod param;
mod pkey;

pub(crate) use self::kdf::Kdf;
pub(crate) use self::library::has_default;
pub(crate) use self::mac::Mac;
pub(crate) use self::param::{Octets, Param, Values};
pub(crate) use self::pkey::{PAIR, PUBLIC, Pkey};
