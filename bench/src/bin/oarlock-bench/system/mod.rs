//! This machine: signals, processes and where they run, and what `cargo xtask peers` built.

pub(crate) mod child;
pub(crate) mod fetched;
pub(crate) mod interrupt;
pub(crate) mod surroundings;
