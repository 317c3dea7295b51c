//! Oarlock as a provider for OpenSSL 3.0 and later (provider(7)).
//!
//! ```text
//! OSSL_provider_init   entry.rs      options, and the algorithms that gain on this CPU
//! OPENSSL_init         conf_module.rs   loads it so that a program's own choice of providers stays
//!                      loading.rs    what it tells the provider
//! dispatch tables      dispatch.rs   one for each algorithm; panics end here (caught.rs)
//! a context            cipher/       init, update, final and parameters as in the default
//!                                    provider, around a context of the engine
//!                      skey.rs       keys as objects, which OpenSSL has since 3.5
//!                      counted.rs    the same, counted for `oarlock run --stats`
//! the rest             algorithms.rs what there is (offered.rs: lists by operation)
//!                      kdf/          key derivation of TLS and HKDF
//!                      mac/          HMAC
//!                      x25519/       keys and key exchange
//!                      hybrid/       the same by ML-KEM and a curve together
//!                      ec/           ECDSA around the default provider's
//!                      pure/         Ed25519 and ML-DSA around the default provider's
//!                      exported/     keys that stay there
//!                      groups.rs     the groups of TLS that come with them
//! RSA                  rsa/          keys and signatures around the default provider's
//!                      signer/       who makes a private operation, and when
//!                      default_provider/   where that one is, and its functions
//! its speed            calibration.rs   the file of measured ratios, and who may have written it
//!                      libcrypto.rs      where that one is
//!                      surroundings.rs  which libcrypto and which build of this library it must fit
//! from load to unload  provider.rs   the engine, how to raise errors, the counters
//!                      host.rs       the release of OpenSSL that has loaded it
//!                      allocator.rs  whether its memory belongs to this process alone
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
mod reserve;
mod rsa;
mod signer;
mod skey;
mod surroundings;
mod x25519;

pub use conf_module::OPENSSL_init;
pub use entry::OSSL_provider_init;
