//! Who is let in, and to what: configuration, certificates, keys, access list and listener.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod access;
mod common;
mod config;
mod keys;
mod listener;
mod tls;
