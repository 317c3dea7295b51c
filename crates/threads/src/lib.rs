//! Threads, and memory for them and for secrets. The engine is built on this crate, which knows no algorithm.
//!
//! This crate is a part of `oarlock`, which re-exports its jobs and errors as `oarlock::job` and `oarlock::Error`. It
//! promises no stability to other users.

pub mod caught;
mod error;
pub mod heap;
pub mod job;
pub mod locked;
pub mod mapped;
pub mod once;
pub mod page;
pub mod pool;
pub mod prefetch;
pub mod process;
pub mod wiped;

pub use error::{Error, OptionsError};
