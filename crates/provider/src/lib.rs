//! Oarlock as a provider for OpenSSL 3.0 and later (provider(7)).
//!
//! ```text
//! OSSL_provider_init   entry.rs      reads the options and picks the algorithms that gain on this CPU
//! OPENSSL_init         conf_module.rs   loads the provider and keeps the program's own choice of providers
//!                      loading.rs    what conf_module.rs tells the provider
//! dispatch tables      dispatch.rs   one per algorithm; panics end here (caught.rs)
//!                      boxed.rs      objects that OpenSSL holds by a pointer
//! a context            cipher/       init, update, final and parameters as in the default provider,
//!                                    around a context of the engine
//!                      skey.rs       symmetric key objects, which OpenSSL has since 3.5
//!                      counted.rs    ciphers that count requests for `oarlock run --stats`
//! the rest             algorithms.rs what is offered (offered.rs: lists by operation)
//!                      kdf/          key derivation of TLS and HKDF
//!                      mac/          HMAC
//!                      x25519/       keys and key exchange
//!                      hybrid/       keys and key exchange by ML-KEM together with a curve
//!                      ec/           ECDSA around the default provider's
//!                      pure/         Ed25519 and ML-DSA around the default provider's
//!                      exported/     keys that stay in the default provider, as RSA's do
//!                      generation.rs keys that are generated here
//!                      remote.rs     keys on other machines
//!                      groups.rs     their TLS groups
//! RSA                  rsa/          keys and signatures around the default provider's
//!                      signer/       which implementation computes a private operation, and when
//!                      default_provider/   finds the default provider and its functions
//! its speed            calibration.rs   the file of measured ratios, and whether to trust it
//!                      libcrypto.rs      finds the libcrypto that loaded the provider
//!                      surroundings.rs  the libcrypto and the library build that a calibration must match
//! from load to unload  provider.rs   the engine, error reporting, the counters
//!                      host.rs       the release of OpenSSL that loaded the provider
//!                      allocator.rs  whether OpenSSL's memory is private to this process
//! ```
//!
//! The library exports only these two functions and imports no symbol of libcrypto, so it runs inside programs that
//! link OpenSSL statically. It uses the core through the table that the core passes. It rejects wrong input as the
//! default provider does, with the same error codes. If Oarlock's own options are wrong, the default provider does the
//! work.

mod abi;
mod algorithms;
mod allocator;
mod asked;
mod boxed;
mod calibration;
mod caught;
mod cipher;
mod conf_module;
mod counted;
mod decoder;
mod default_provider;
mod dispatch;
mod ec;
mod entry;
mod error;
mod exported;
mod generation;
mod groups;
mod host;
mod hybrid;
mod kdf;
mod libcrypto;
mod loading;
mod mac;
mod ml_kem;
mod offered;
mod place;
mod provider;
mod pure;
mod remote;
mod reserve;
mod rsa;
mod signer;
mod skey;
mod surroundings;
mod x25519;

pub use conf_module::OPENSSL_init;
pub use entry::OSSL_provider_init;
