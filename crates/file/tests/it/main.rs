//! age files in one program: `age` reads and writes them beside the `age` crate, `vectors` holds them
//! to the age community's vectors; `tls` has files over TLS.
#![allow(clippy::unwrap_used)]

mod age;
mod common;
mod tls;
mod vectors;
