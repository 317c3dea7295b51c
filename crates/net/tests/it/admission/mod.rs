//! Admission: which clients may connect, and what each may do. Tests configuration, certificates, keys, access list and
//! listener.

mod access;
pub(crate) mod common;
mod config;
mod handshakes;
mod keys;
mod listener;
mod tls;
