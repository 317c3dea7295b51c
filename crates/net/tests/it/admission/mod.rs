//! Admission: who may connect, and what each client may do. Configuration, certificates, keys, access list and
//! listener.

mod access;
pub(crate) mod common;
mod config;
mod handshakes;
mod keys;
mod listener;
mod tls;
