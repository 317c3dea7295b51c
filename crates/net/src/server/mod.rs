//! The server.

pub mod access;
pub mod config;
