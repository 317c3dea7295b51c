//! Threads, and memory for them and for secrets: what the engine stands on. Nothing here knows an algorithm.
//!
//! This crate is a part of `oarlock`, whose users see jobs and errors of it, as `oarlock::job` and `oarlock::Error`. It
//! makes no promise of stability to others.

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
