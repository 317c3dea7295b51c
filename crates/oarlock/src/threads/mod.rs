//! Threads, and memory for them and for secrets. Nothing here knows an algorithm.

#[cfg(feature = "software")]
pub mod job;
#[cfg(feature = "software")]
pub(crate) mod locked;
pub(crate) mod pool;
pub(crate) mod prefetch;
pub(crate) mod process;
