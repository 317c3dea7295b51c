//! The cryptoserver: private-key operations and modular exponentiation over the network.
//!
//! `proto/oarlock/v1/cryptoserver.proto` defines the protocol; docs/cryptoserver.md describes the
//! parts.

pub mod client;
mod codec;
pub mod pki;
pub mod proto;
pub mod server;
pub mod tls;
