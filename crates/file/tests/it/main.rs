//! All tests of this crate in one program: `age` and `handles` exchange files with the `age` crate, `vectors` runs the age
//! community's vectors, `tls` sends files over TLS.
#![allow(clippy::unwrap_used)]

mod age;
mod common;
mod handles;
mod tls;
mod vectors;
