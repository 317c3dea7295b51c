//! Requests from end to end: a client, mutual TLS, the server, its devices, and back.

mod examples;
pub mod host;
mod lists;
mod managed;
mod operations;
mod secrets;
mod signatures;
mod trials;
mod unwrap;
