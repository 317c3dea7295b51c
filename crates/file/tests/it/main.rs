//! age files in one program: `age` reads and writes them beside the `age` crate, `vectors` holds them
//! to the age community's vectors.
#![allow(clippy::unwrap_used)]

mod age;
mod common;
mod vectors;
