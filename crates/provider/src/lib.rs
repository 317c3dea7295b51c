//! Oarlock as a provider for OpenSSL 3.0 and later (provider(7)).
//!
//! ```text
//! OSSL_provider_init   provider.rs   options, which algorithms this CPU gains by
//! dispatch tables      dispatch.rs   one for each algorithm; panics end here
//! a context            cipher/       what the default provider does with init, update, final and
//!                                    parameters, around a context of the engine
//!                      counted.rs    the same, counted for `oarlock run --stats`
//! ```
//!
//! The library exports `OSSL_provider_init` alone and takes no symbol of libcrypto, so it runs inside
//! programs that link OpenSSL statically. What it needs of the core it gets by the table that it is
//! handed. Whatever is wrong with an input is refused as the default provider refuses it, with its
//! error codes; whatever is wrong with Oarlock's own options leaves the work to the default provider.

mod abi;
mod cipher;
mod counted;
mod dispatch;
mod error;
mod provider;
mod reserve;

pub use provider::OSSL_provider_init;
