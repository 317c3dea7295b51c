//! Recipients and identities of age files, which files and the cryptoserver share.
//!
//! ```text
//! hybrid    the post-quantum recipient of age 1.3
//! native    an identity of either of age's own kinds: X25519 and hybrid
//! ```

pub mod hybrid;
mod native;

pub use native::NativeIdentity;
