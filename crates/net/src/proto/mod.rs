//! Messages and services of `proto/oarlock/v1/cryptoserver.proto`, as tonic makes them.

// `cargo xtask proto` writes it; the lints of this project do not apply to it.
#[allow(missing_docs, clippy::all, clippy::unwrap_used, clippy::expect_used)]
#[rustfmt::skip]
mod generated;
mod schemes;

pub use self::generated::*;
pub use self::schemes::bits_of;

/// What the reflection service shows: a `FileDescriptorSet`, encoded.
pub const DESCRIPTORS: &[u8] = include_bytes!("cryptoserver.binpb");
