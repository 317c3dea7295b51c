//! Signature schemes.

use std::fmt;

use super::KeyType;
use crate::Error;
use crate::aws_lc::ec::Curve;
use crate::work::rsa::padding::Hash;
use crate::work::rsa::scheme::SignatureScheme;

/// A signature scheme, for keys of any type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Scheme {
    /// An RSA scheme. Signatures are as long as the modulus.
    Rsa(SignatureScheme),
    /// ECDSA (FIPS 186-5, 6) over a SHA-256, SHA-384 or SHA-512 digest, on any of the curves. Signatures are DER (RFC 3279,
    /// 2.2.3) of up to 72, 104 or 139 bytes.
    Ecdsa(Hash),
    /// Ed25519 (RFC 8032, 5.1) without a context. It signs only whole messages. Signatures have 64 bytes.
    Ed25519,
    /// ML-DSA (FIPS 204, 5.2). It signs only whole messages. Signatures have 2420, 3309 or 4627 bytes.
    MlDsa {
        /// The context string (FIPS 204, 5.2), of up to 255 bytes; empty unless a protocol defines one.
        context: Vec<u8>,
    },
}

impl Scheme {
    /// ML-DSA without a context.
    pub const ML_DSA: Self = Self::MlDsa {
        context: Vec::new(),
    };

    /// Returns the usual scheme of a key type, or `None` if its keys cannot sign: PSS with SHA-256 for RSA; ECDSA with the
    /// hash that matches the curve's strength (SHA-256, SHA-384 or SHA-512); Ed25519; ML-DSA without a context.
    pub const fn usual(key_type: KeyType) -> Option<Self> {
        Some(match key_type {
            KeyType::Rsa => Self::Rsa(SignatureScheme::Pss(Hash::Sha256)),
            KeyType::Ec(Curve::P256) => Self::Ecdsa(Hash::Sha256),
            KeyType::Ec(Curve::P384) => Self::Ecdsa(Hash::Sha384),
            KeyType::Ec(Curve::P521) => Self::Ecdsa(Hash::Sha512),
            KeyType::Ed25519 => Self::Ed25519,
            KeyType::MlDsa(_) => Self::ML_DSA,
            KeyType::X25519 | KeyType::MlKem(_) => return None,
        })
    }

    /// Returns the hash function of the message, or `None` if the scheme signs whole messages.
    pub const fn hash(&self) -> Option<Hash> {
        match self {
            Self::Rsa(scheme) => Some(scheme.hash()),
            Self::Ecdsa(hash) => Some(*hash),
            Self::Ed25519 | Self::MlDsa { .. } => None,
        }
    }

    /// Rejects hashes that ECDSA does not support here.
    pub(crate) fn check_ecdsa_hash(hash: Hash) -> Result<(), Error> {
        match hash {
            Hash::Sha256 | Hash::Sha384 | Hash::Sha512 => Ok(()),
            other => Err(Error::InvalidInput(format!(
                "ECDSA with {}: take SHA-256, SHA-384 or SHA-512",
                other.name()
            ))),
        }
    }
}

impl From<SignatureScheme> for Scheme {
    fn from(scheme: SignatureScheme) -> Self {
        Self::Rsa(scheme)
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rsa(SignatureScheme::Pkcs1(hash)) => {
                write!(f, "RSASSA-PKCS1-v1_5 with {}", hash.name())
            }
            Self::Rsa(scheme) => write!(f, "RSASSA-PSS with {}", scheme.hash().name()),
            Self::Ecdsa(hash) => write!(f, "ECDSA with {}", hash.name()),
            Self::Ed25519 => f.write_str("Ed25519"),
            Self::MlDsa { .. } => f.write_str("ML-DSA"),
        }
    }
}
