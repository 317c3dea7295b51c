//! The whole way: a client, mutual TLS, the server, its devices, and back.

pub mod host;
mod operations;
mod trials;
