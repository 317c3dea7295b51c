//! The measured ciphers. A new one adds its lines to [`CASES`] and to [`Algorithm`].

use super::unit::Unit;
use oarlock::Direction;

/// A line of the benchmark.
#[derive(Clone, Debug)]
pub struct Case {
    /// The name on the command line and in records.
    pub name: &'static str,
    /// The unit of its figures.
    pub unit: Unit,
    /// The cipher and mode.
    pub algorithm: Algorithm,
    /// The direction; a stream cipher does the same in both.
    pub direction: Direction,
    /// Whether the consumer also computes HMAC-SHA256 of every request, with the same code for every peer, like a
    /// program that does more than encrypt.
    pub then_hmac: bool,
}

/// A cipher and its mode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Algorithm {
    /// AES in counter mode (SP 800-38A).
    AesCtr {
        /// The length of the key: 16, 24 or 32.
        key_bytes: usize,
    },
    /// AES in cipher block chaining mode (SP 800-38A), without padding.
    AesCbc {
        /// The length of the key: 16 or 32.
        key_bytes: usize,
    },
    /// AES in Galois/counter mode (SP 800-38D).
    AesGcm {
        /// The length of the key: 16 or 32.
        key_bytes: usize,
    },
    /// ChaCha20 (RFC 8439), from block 0.
    ChaCha20,
    /// ChaCha20-Poly1305 (RFC 8439).
    ChaCha20Poly1305,
    /// Camellia (RFC 3713) in counter mode.
    Camellia128Ctr,
    /// Triple DES with three keys (SP 800-67) in counter mode.
    TripleDesCtr,
}

impl Algorithm {
    /// Returns the length of its key in bytes.
    pub const fn key_bytes(self) -> usize {
        match self {
            Self::AesCtr { key_bytes }
            | Self::AesCbc { key_bytes }
            | Self::AesGcm { key_bytes } => key_bytes,
            Self::ChaCha20 | Self::ChaCha20Poly1305 => 32,
            Self::Camellia128Ctr => 16,
            Self::TripleDesCtr => 24,
        }
    }

    /// Returns the number that the length of a request must be a multiple of.
    pub const fn granule_bytes(self) -> usize {
        match self {
            Self::AesCbc { .. } => 16,
            _ => 1,
        }
    }

    /// Returns the most keystream bytes that Oarlock computes ahead by default, for each helper: two rings of 4096
    /// blocks.
    pub(crate) const fn ahead_bytes(self) -> usize {
        match self {
            Self::AesCtr { .. } | Self::Camellia128Ctr => 2 * 4096 * 16,
            Self::ChaCha20 => 2 * 4096 * 64,
            Self::TripleDesCtr => 2 * 4096 * 8,
            Self::AesCbc { .. } | Self::AesGcm { .. } | Self::ChaCha20Poly1305 => 0,
        }
    }

    /// Whether each request is a message with a tag.
    pub const fn is_aead(self) -> bool {
        matches!(self, Self::AesGcm { .. } | Self::ChaCha20Poly1305)
    }

    /// Whether it stays below 1 GB/s on a core in every implementation.
    pub const fn is_slow(self) -> bool {
        matches!(self, Self::Camellia128Ctr | Self::TripleDesCtr)
    }
}

/// All cases in the order of measurement.
pub const CASES: &[Case] = &[
    encrypt("aes-128-ctr", Algorithm::AesCtr { key_bytes: 16 }),
    encrypt("aes-192-ctr", Algorithm::AesCtr { key_bytes: 24 }),
    encrypt("aes-256-ctr", Algorithm::AesCtr { key_bytes: 32 }),
    encrypt("aes-128-gcm", Algorithm::AesGcm { key_bytes: 16 }),
    decrypt("aes-128-gcm-open", Algorithm::AesGcm { key_bytes: 16 }),
    encrypt("aes-256-gcm", Algorithm::AesGcm { key_bytes: 32 }),
    decrypt("aes-256-gcm-open", Algorithm::AesGcm { key_bytes: 32 }),
    encrypt("chacha20-poly1305", Algorithm::ChaCha20Poly1305),
    decrypt("chacha20-poly1305-open", Algorithm::ChaCha20Poly1305),
    encrypt("aes-128-cbc", Algorithm::AesCbc { key_bytes: 16 }),
    decrypt("aes-128-cbc-decrypt", Algorithm::AesCbc { key_bytes: 16 }),
    encrypt("aes-256-cbc", Algorithm::AesCbc { key_bytes: 32 }),
    decrypt("aes-256-cbc-decrypt", Algorithm::AesCbc { key_bytes: 32 }),
    encrypt("chacha20", Algorithm::ChaCha20),
    encrypt("camellia-128-ctr", Algorithm::Camellia128Ctr),
    encrypt("des-ede3-ctr", Algorithm::TripleDesCtr),
    Case {
        then_hmac: true,
        ..encrypt("aes-128-ctr-then-hmac", Algorithm::AesCtr { key_bytes: 16 })
    },
];

const fn encrypt(name: &'static str, algorithm: Algorithm) -> Case {
    Case {
        name,
        unit: Unit::GigabytesPerSecond,
        algorithm,
        direction: Direction::Encrypt,
        then_hmac: false,
    }
}

const fn decrypt(name: &'static str, algorithm: Algorithm) -> Case {
    Case {
        direction: Direction::Decrypt,
        ..encrypt(name, algorithm)
    }
}
