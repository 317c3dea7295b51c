//! Keys agreed with a peer.

pub use crate::aws_lc::x25519::{BYTES as X25519_BYTES, X25519PrivateKey};
