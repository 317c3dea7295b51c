//! The common parts of authenticated ciphers (RFC 5116).

use core::fmt;

/// Bytes in a nonce. GCM hashes a nonce of any other length (SP 800-38D, section 7.1, step 2); ChaCha20-Poly1305 refuses it.
pub const NONCE_BYTES: usize = 12;
/// Bytes in a tag.
pub const TAG_BYTES: usize = 16;
/// The alignment of stripes: each begins at a multiple of this many bytes, and all lengths but the last are multiples of it.
pub const STRIPE_ALIGN: usize = 64;

/// The reason why a message was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AeadError {
    /// The cipher accepts no nonce of this many bytes.
    InvalidNonceLength(usize),
    /// The message would be longer than the cipher allows under one nonce.
    MessageTooLong {
        /// The most bytes that a message may have.
        bytes_max: u64,
    },
    /// The associated data is longer than the cipher allows.
    AadTooLong {
        /// The most bytes that associated data may have.
        bytes_max: u64,
    },
    /// The keystream given is shorter than its head and the message.
    KeystreamTooShort {
        /// The bytes of keystream that the message needs.
        bytes_min: usize,
    },
    /// The tag does not belong to this message. None of its plaintext has been released.
    AuthenticationFailed,
}

impl fmt::Display for AeadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidNonceLength(bytes) => {
                write!(f, "the cipher takes no nonce of {bytes} bytes")
            }
            Self::MessageTooLong { bytes_max } => {
                write!(f, "a message may have at most {bytes_max} bytes")
            }
            Self::AadTooLong { bytes_max } => {
                write!(f, "associated data may have at most {bytes_max} bytes")
            }
            Self::KeystreamTooShort { bytes_min } => {
                write!(f, "this message takes {bytes_min} bytes of keystream")
            }
            Self::AuthenticationFailed => f.write_str("the tag does not match the message"),
        }
    }
}

impl core::error::Error for AeadError {}

/// Whether two tags are equal, in a time that does not depend on where they differ.
#[must_use]
pub fn tags_match(a: &[u8; TAG_BYTES], b: &[u8; TAG_BYTES]) -> bool {
    // The compiler must not turn it into a comparison that ends early.
    core::hint::black_box(u128::from_ne_bytes(*a) ^ u128::from_ne_bytes(*b)) == 0
}
