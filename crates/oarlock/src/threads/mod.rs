//! Threads, and memory for them and for secrets. Nothing here knows an algorithm.

pub mod heap;
#[cfg(feature = "rsa")]
pub mod job;
#[cfg(feature = "rsa")]
pub(crate) mod locked;
pub(crate) mod mapped;
#[cfg(feature = "rsa")]
pub(crate) mod once;
pub(crate) mod page;
pub(crate) mod pool;
pub(crate) mod prefetch;
pub(crate) mod process;
// The data of requests to devices come with keys.
#[cfg_attr(not(feature = "rsa"), allow(dead_code))]
pub(crate) mod wiped;
