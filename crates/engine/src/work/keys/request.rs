//! A request of a key, as a job has it: what it owns, and what comes of it.

use super::scheme::Scheme;
use super::{KeyType, PrivateKey, PublicKey};
use crate::Error;
use crate::aws_lc::ec::Curve;
use crate::work::request::Buffer;
use crate::work::shape::{BatchKey, BatchKind};

/// A request for a key's operation. Wiped on drop.
pub(crate) enum KeyRequest {
    /// The signature of a message.
    Sign(PrivateKey, Scheme, Buffer),
    /// The signature of a message whose digest this is.
    SignDigest(PrivateKey, Scheme, Buffer),
    /// The secret shared with a peer.
    Agree(PrivateKey, PublicKey),
    /// The secret in a ciphertext.
    Decapsulate(PrivateKey, Buffer),
    /// Nothing, if the second is the signature of the first.
    Verify(PublicKey, Scheme, Buffer, Buffer),
    /// Nothing, if the second is the signature of a message whose digest is the first.
    VerifyDigest(PublicKey, Scheme, Buffer, Buffer),
    /// A ciphertext, and behind it the secret in it.
    Encapsulate(PublicKey),
}

impl KeyRequest {
    /// Computes it on this thread.
    pub(crate) fn run(&self) -> Result<Buffer, Error> {
        match self {
            Self::Sign(key, scheme, message) => key.sign(scheme, message).map(Buffer::new),
            Self::SignDigest(key, scheme, digest) => {
                key.sign_digest(scheme, digest).map(Buffer::new)
            }
            Self::Agree(key, peer) => key.agree(peer),
            Self::Decapsulate(key, ciphertext) => key.decapsulate(ciphertext),
            Self::Verify(key, scheme, message, signature) => key
                .verify(scheme, message, signature)
                .map(|()| Buffer::default()),
            Self::VerifyDigest(key, scheme, digest, signature) => key
                .verify_digest(scheme, digest, signature)
                .map(|()| Buffer::default()),
            Self::Encapsulate(key) => {
                let (mut both, secret) = key.encapsulate()?;
                both.reserve_exact(secret.len());
                both.extend_from_slice(&secret);
                Ok(Buffer::new(both))
            }
        }
    }

    /// Returns the class of the request; requests of one class take about equally long.
    pub(crate) fn batch_key(&self) -> BatchKey {
        let (key_type, signs) = match self {
            Self::Sign(key, ..) | Self::SignDigest(key, ..) => (key.key_type(), true),
            Self::Agree(key, _) | Self::Decapsulate(key, _) => (key.key_type(), false),
            Self::Verify(key, ..) | Self::VerifyDigest(key, ..) | Self::Encapsulate(key) => {
                (key.key_type(), false)
            }
        };
        let takes_long = match key_type {
            KeyType::Ec(Curve::P384 | Curve::P521) | KeyType::Rsa => true,
            KeyType::MlDsa(_) => signs,
            KeyType::Ec(Curve::P256) | KeyType::Ed25519 | KeyType::X25519 | KeyType::MlKem(_) => {
                false
            }
        };
        BatchKey::without_lanes(match takes_long {
            true => BatchKind::LongAlone,
            false => BatchKind::ShortAlone,
        })
    }

    /// Whether it needs a private key.
    pub(crate) fn is_private(&self) -> bool {
        matches!(
            self,
            Self::Sign(..) | Self::SignDigest(..) | Self::Agree(..) | Self::Decapsulate(..)
        )
    }
}
