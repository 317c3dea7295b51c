//! The server.

pub mod dispatch;
