//! A key's request as a job owns it, with its result.

use super::scheme::Scheme;
use super::{KeyType, PrivateKey, PublicKey};
use crate::Error;
use crate::aws_lc::ec::Curve;
use crate::work::request::Buffer;
use crate::work::shape::{BatchKey, BatchKind};

/// A request for a key's operation. Wiped on drop.
pub(crate) enum KeyRequest {
    /// Signs a message.
    Sign(PrivateKey, Scheme, Buffer),
    /// Signs a message by its digest.
    SignDigest(PrivateKey, Scheme, Buffer),
    /// Computes the secret shared with a peer.
    Agree(PrivateKey, PublicKey),
    /// Returns the secret in a ciphertext.
    Decapsulate(PrivateKey, Buffer),
    /// Checks that the second buffer is a signature of the first; the result is empty.
    Verify(PublicKey, Scheme, Buffer, Buffer),
    /// Checks that the second buffer is a signature of the message whose digest is the first; the result is empty.
    VerifyDigest(PublicKey, Scheme, Buffer, Buffer),
    /// Returns a ciphertext followed by the secret in it.
    Encapsulate(PublicKey),
}

impl KeyRequest {
    /// Computes the request on this thread.
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

    /// Returns the class of the request. Requests of one class take about the same time.
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

    /// Whether the request uses a private key.
    pub(crate) fn is_private(&self) -> bool {
        matches!(
            self,
            Self::Sign(..) | Self::SignDigest(..) | Self::Agree(..) | Self::Decapsulate(..)
        )
    }
}
