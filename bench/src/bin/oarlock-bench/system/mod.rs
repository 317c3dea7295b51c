//! This machine: signals, processes and their CPUs, and what `cargo xtask peers` built.

pub(crate) mod child;
mod chosen;
pub(crate) mod fetched;
pub(crate) mod interrupt;
pub(crate) mod surroundings;

pub(crate) use chosen::OpenSsl;
