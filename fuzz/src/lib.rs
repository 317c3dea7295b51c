//! Fuzz targets: each takes bytes, makes a case of them, and panics where Oarlock and an independent
//! implementation differ, or a parser fails in a way that it must not.
//!
//! `tests/replay.rs` runs them on the inputs below `corpus/` and `crashes/`; `libfuzzer/` has the fuzzer
//! look for new ones.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod agreements;
mod definitions;
mod evp;
mod files;
mod panics;
#[macro_use]
mod target;

pub mod aead;
pub mod age;
pub mod boards;
pub mod calibration;
pub mod capi;
pub mod certificates;
pub mod contexts;
pub mod ctr;
pub mod ecdsa;
pub mod elf;
pub mod esp;
pub mod hmac;
pub mod hybrid;
pub mod hybrid_keys;
pub mod kdf;
pub mod key_shares;
pub mod keys;
pub mod live;
pub mod local;
pub mod openssl_conf;
pub mod openssl_enc;
pub mod params;
pub mod pkcs11;
pub mod plugin;
pub mod prefetch;
pub mod relay;
pub mod requests;
pub mod rewrap;
pub mod rsa_keys;
mod rustcrypto;
pub mod srtp;
pub mod tenants;
pub mod tls;
pub mod token;

/// A target: bytes in, a panic where it finds a fault.
pub type Target = fn(&[u8]);

/// Every target by its name, which is that of its folder below `corpus/`.
pub const TARGETS: &[(&str, Target)] = &[
    ("aead", aead::run),
    ("age", age::run),
    ("boards", boards::run),
    ("calibration", calibration::run),
    ("capi", capi::run),
    ("certificates", certificates::run),
    ("contexts", contexts::run),
    ("ctr", ctr::run),
    ("ecdsa", ecdsa::run),
    ("elf", elf::run),
    ("esp", esp::run),
    ("hmac", hmac::run),
    ("hybrid", hybrid::run),
    ("hybrid_keys", hybrid_keys::run),
    ("kdf", kdf::run),
    ("key_shares", key_shares::run),
    ("keys", keys::run),
    ("live", live::run),
    ("local", local::run),
    ("openssl_conf", openssl_conf::run),
    ("openssl_enc", openssl_enc::run),
    ("params", params::run),
    ("pkcs11", pkcs11::run),
    ("plugin", plugin::run),
    ("prefetch", prefetch::run),
    ("relay", relay::run),
    ("requests", requests::run),
    ("rewrap", rewrap::run),
    ("rsa_keys", rsa_keys::run),
    ("srtp", srtp::run),
    ("tenants", tenants::run),
    ("tls", tls::run),
    ("token", token::run),
];
