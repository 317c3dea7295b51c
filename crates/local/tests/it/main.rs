//! A server in this process, with honest clients and with others.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;
mod honest;
mod hostile;
mod processes;
mod relay;
