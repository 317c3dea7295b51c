//! The server: put together from its configuration, run, reloaded, drained.
//!
//! ```text
//! listener  connections, with TLS  → service   messages to requests → dispatch  who computes what
//!                                     operation what may be asked      workers of devices
//!                                     keys, access                     (threads)
//!                                     ← replies, as they come        ←
//! observe   what is told of it: metrics, audit
//! ```

pub mod access;
pub mod config;
pub mod dispatch;
