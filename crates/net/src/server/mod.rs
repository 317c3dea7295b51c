//! The server.

pub mod access;
pub mod config;
pub mod keys;
pub mod listener;
