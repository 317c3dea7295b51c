//! age files in one program: `age` compares reading and writing with the `age` crate, `vectors` runs the age
//! community's vectors; `tls` has files over TLS.
#![allow(clippy::unwrap_used)]

mod age;
mod common;
mod tls;
mod vectors;
