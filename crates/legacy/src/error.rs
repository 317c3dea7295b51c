//! The error of a wrong key length.

use std::fmt;

/// A key has a length that its cipher does not accept: SM4 takes 16 bytes, CAST-128 5 to 16, Blowfish 4 to 56, the others
/// 16, 24 or 32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidKeyLength(pub usize);

impl fmt::Display for InvalidKeyLength {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a key has 16 bytes for SM4, 5 to 16 for CAST-128, 4 to 56 for Blowfish and 16, 24 or 32 for the other \
             ciphers, this one has {}",
            self.0
        )
    }
}

impl std::error::Error for InvalidKeyLength {}
