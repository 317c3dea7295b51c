//! Messages and services of `proto/oarlock/v1/cryptoserver.proto`, as tonic makes them.

// Written by a generator, for which the lints of this project are not.
#![allow(missing_docs, clippy::all, clippy::unwrap_used, clippy::expect_used)]

tonic::include_proto!("oarlock.v1");

/// What the reflection service shows.
pub const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/cryptoserver.binpb"));
