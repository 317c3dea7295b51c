//! The cryptoserver: private-key operations and modular exponentiation over the network, for clients
//! with certificates; and its client.
//!
//! | to | begin with | example |
//! |---|---|---|
//! | use a server's keys like those in memory | [`client::RemoteDevice`] | `remote_device` |
//! | send requests from asynchronous code | [`client::Client`] | `remote_sign` |
//! | open age files, seal and make MACs in batches | [`client::Client::unwrap`], `seal`, `open`, `mac` | |
//! | run a server inside a program | [`server::Server`]; `oarlock serve` is one | |
//! | create certificates for first steps | [`pki::PkiRequest`]; `oarlock pki init` does that | |
//!
//! ```no_run
//! use oarlock::Accelerator;
//! use oarlock::rsa::{Hash, SignatureScheme};
//! use oarlock_net::client::{RemoteDevice, Settings};
//! use oarlock_net::tls::TlsFiles;
//!
//! let tls = TlsFiles {
//!     certificate: "demo/client.pem".into(),
//!     key: "demo/client.key".into(),
//!     roots: "demo/ca.pem".into(),
//!     revoked: None,
//! };
//! let settings = Settings::new(vec!["localhost:7443".into()], Some(tls.client()?));
//! let rack = RemoteDevice::connect("rack", settings)?;
//! let accelerator = Accelerator::builder().build()?;
//! for (id, key) in rack.keys()? {
//!     let signature = accelerator.rsa(&key).sign(SignatureScheme::Pss(Hash::Sha256), b"message")?;
//!     println!("{id}: {} bytes", signature.len());
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! `proto/oarlock/v1/cryptoserver.proto` defines the protocol; docs/cryptoserver.md describes
//! configuration, limits and figures.

pub mod client;
mod codec;
mod files;
pub mod pki;
pub mod proto;
pub mod server;
pub mod tls;

/// Compiles and runs the examples of the guide to the Rust crates. The module is in this crate because some of them use the
/// client.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/rust.md")]
mod guide {}
