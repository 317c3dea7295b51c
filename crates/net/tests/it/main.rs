//! The cryptoserver in one program: `admission` tests who is let in and to what, `server` the whole
//! way of a request and of what goes wrong on it, `hostile` what its clients do to each other.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod admission;
mod hostile;
mod server;
mod waiting;
