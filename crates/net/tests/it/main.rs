//! The cryptoserver in one program: `admission` tests which clients are let in and to what, `server` tests requests from end
//! to end with their faults, and `hostile` tests what clients can do to each other.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod admission;
mod hostile;
mod server;
mod waiting;
