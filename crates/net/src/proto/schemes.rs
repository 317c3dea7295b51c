//! The signature schemes of the protocol in the library's terms, and the key sizes that lists of keys show.

use oarlock::keys::{Curve, KeyType, MlDsa, PublicKey, Scheme};
use oarlock::rsa;

use super::SignatureScheme;

impl SignatureScheme {
    /// All schemes.
    pub const ALL: [Self; 13] = [
        Self::RsaPkcs1Sha256,
        Self::RsaPkcs1Sha384,
        Self::RsaPkcs1Sha512,
        Self::RsaPssSha256,
        Self::RsaPssSha384,
        Self::RsaPssSha512,
        Self::EcdsaP256Sha256,
        Self::EcdsaP384Sha384,
        Self::EcdsaP521Sha512,
        Self::Ed25519,
        Self::MlDsa44,
        Self::MlDsa65,
        Self::MlDsa87,
    ];

    /// Returns the key type of the scheme and the library's scheme; `None` for `Unspecified`.
    pub fn meaning(self) -> Option<(KeyType, Scheme)> {
        use rsa::Hash::{Sha256, Sha384, Sha512};
        use rsa::SignatureScheme::{Pkcs1, Pss};
        Some(match self {
            Self::Unspecified => return None,
            Self::RsaPkcs1Sha256 => (KeyType::Rsa, Scheme::Rsa(Pkcs1(Sha256))),
            Self::RsaPkcs1Sha384 => (KeyType::Rsa, Scheme::Rsa(Pkcs1(Sha384))),
            Self::RsaPkcs1Sha512 => (KeyType::Rsa, Scheme::Rsa(Pkcs1(Sha512))),
            Self::RsaPssSha256 => (KeyType::Rsa, Scheme::Rsa(Pss(Sha256))),
            Self::RsaPssSha384 => (KeyType::Rsa, Scheme::Rsa(Pss(Sha384))),
            Self::RsaPssSha512 => (KeyType::Rsa, Scheme::Rsa(Pss(Sha512))),
            Self::EcdsaP256Sha256 => (KeyType::Ec(Curve::P256), Scheme::Ecdsa(Sha256)),
            Self::EcdsaP384Sha384 => (KeyType::Ec(Curve::P384), Scheme::Ecdsa(Sha384)),
            Self::EcdsaP521Sha512 => (KeyType::Ec(Curve::P521), Scheme::Ecdsa(Sha512)),
            Self::Ed25519 => (KeyType::Ed25519, Scheme::Ed25519),
            Self::MlDsa44 => (KeyType::MlDsa(MlDsa::MlDsa44), Scheme::ML_DSA),
            Self::MlDsa65 => (KeyType::MlDsa(MlDsa::MlDsa65), Scheme::ML_DSA),
            Self::MlDsa87 => (KeyType::MlDsa(MlDsa::MlDsa87), Scheme::ML_DSA),
        })
    }

    /// Returns the protocol's scheme for this key type and scheme, if it has one.
    pub fn of(key_type: KeyType, scheme: &Scheme) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|one| {
            one.meaning()
                .is_some_and(|(of, known)| of == key_type && known == *scheme)
        })
    }
}

/// Returns the bits of an RSA modulus or of a curve's group order; `None` for a key that has neither.
pub fn bits_of(key: &PublicKey) -> Option<u32> {
    if let Some(rsa) = key.as_rsa() {
        return u32::try_from(rsa.bits()).ok();
    }
    match key.key_type() {
        KeyType::Ec(Curve::P256) => Some(256),
        KeyType::Ec(Curve::P384) => Some(384),
        KeyType::Ec(Curve::P521) => Some(521),
        KeyType::Ed25519 | KeyType::X25519 => Some(253),
        _ => None,
    }
}
