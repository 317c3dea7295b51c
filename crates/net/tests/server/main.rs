//! The whole way: a client, mutual TLS, the server, its devices, and back.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod host;
mod operations;
