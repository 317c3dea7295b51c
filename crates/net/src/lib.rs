//! The cryptoserver: private-key operations and modular exponentiation over the network.
//!
//! `proto/oarlock/v1/cryptoserver.proto` is what client and server say to each other, and
//! docs/cryptoserver.md what the parts do.

pub mod client;
mod codec;
pub mod pki;
pub mod proto;
pub mod server;
pub mod tls;
