//! Operations of keys on the calling thread.

use zeroize::Zeroizing;

use super::scheme::Scheme;
use super::{KeyType, Private, PrivateKey, Public, PublicKey};
use crate::Error;
use crate::aws_lc::ec::SIGNATURE_BYTES_MAX;
use crate::aws_lc::ml_kem::SECRET_BYTES;
use crate::work::request::{Purpose, TargetRef};
use crate::work::rsa::padding::Hash;

impl PrivateKey {
    /// Signs a message of any length on this thread.
    ///
    /// Results are checked where a hardware fault could reveal the key: RSA with the public exponent, and Ed25519, whose
    /// nonces are not random, by a second signature. ECDSA and ML-DSA draw a fresh random nonce for each signature, which
    /// also depends on key and message.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] for a scheme of another key type, a hash that the scheme does not support, a context of more
    /// than 255 bytes, and an RSA key that is too short for the scheme; [`Error::DeviceFailed`] if the result failed its
    /// check or memory is exhausted.
    pub fn sign(&self, scheme: &Scheme, message: &[u8]) -> Result<Vec<u8>, Error> {
        match (&self.0.private, scheme) {
            (Private::Rsa(key), Scheme::Rsa(scheme)) => {
                let scheme = *scheme;
                rsa(TargetRef::Private(key), &Purpose::Sign { scheme, message })
            }
            (Private::Ec(_), Scheme::Ecdsa(hash)) => {
                self.sign_digest(scheme, &hash.digest(&[message]))
            }
            (Private::Ed25519(key), Scheme::Ed25519) => Ok(key.sign(message)?.to_vec()),
            (Private::MlDsa(key), Scheme::MlDsa { context }) => key.sign(message, context),
            _ => Err(mismatched(scheme, self.key_type())),
        }
    }

    /// Signs a message by its digest on this thread. The digest has the [length](Hash::bytes) of the scheme's hash.
    ///
    /// # Errors
    /// Those of [`sign`](Self::sign); [`Error::InvalidInput`] for a digest of another length, and for Ed25519 and ML-DSA,
    /// which sign whole messages.
    pub fn sign_digest(&self, scheme: &Scheme, digest: &[u8]) -> Result<Vec<u8>, Error> {
        match (&self.0.private, scheme) {
            (Private::Rsa(key), Scheme::Rsa(scheme)) => {
                let scheme = *scheme;
                rsa(
                    TargetRef::Private(key),
                    &Purpose::SignDigest { scheme, digest },
                )
            }
            (Private::Ec(key), Scheme::Ecdsa(hash)) => {
                check_ecdsa(*hash, digest)?;
                let mut signature = [0; SIGNATURE_BYTES_MAX];
                let bytes = key.sign(digest, &mut signature)?;
                Ok(signature[..bytes].to_vec())
            }
            _ => Err(no_digest(scheme, self.key_type())),
        }
    }

    /// Computes the secret shared with a peer on this thread: by ECDH (SP 800-56A, 5.7.1.2), 32, 48 or 66 bytes, or by
    /// X25519 (RFC 7748, 6.1), 32 bytes. The secret is not a uniform key: derive keys from it.
    ///
    /// ```
    /// use oarlock::keys::{KeyType, PrivateKey};
    ///
    /// let (one, other) = (PrivateKey::generate(KeyType::X25519)?, PrivateKey::generate(KeyType::X25519)?);
    /// assert_eq!(one.agree(other.public_key())?, other.agree(one.public_key())?);
    /// # Ok::<(), oarlock::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidInput`] for a key that cannot agree on secrets, and for a peer's key of another type;
    /// [`Error::InvalidKey`] for a peer's key of small order, for which anyone could compute the secret.
    pub fn agree(&self, peer: &PublicKey) -> Result<Zeroizing<Vec<u8>>, Error> {
        match (&self.0.private, &*peer.0) {
            (Private::Ec(key), Public::Ec(point)) if self.key_type() == peer.key_type() => {
                let mut secret = Zeroizing::new(vec![0; point.curve().bytes()]);
                key.agree(point, &mut secret)?;
                Ok(secret)
            }
            (Private::X25519(key), Public::X25519(peer)) => {
                let mut secret = Zeroizing::new([0; 32]);
                if !key.agree(peer, &mut secret) {
                    return Err(Error::InvalidKey(
                        "X25519: the peer's key is of small order, and no secret comes of it"
                            .into(),
                    ));
                }
                Ok(Zeroizing::new(secret.to_vec()))
            }
            _ if !self.key_type().agrees() => Err(Error::InvalidInput(format!(
                "a key of {} does not agree on secrets: take one of P-256, P-384, P-521 or X25519",
                self.key_type()
            ))),
            _ => Err(Error::InvalidInput(format!(
                "a key of {} does not agree on a secret with one of {}",
                self.key_type(),
                peer.key_type()
            ))),
        }
    }

    /// Returns the 32-byte secret that a ciphertext carries (FIPS 203, 7.3), on this thread. A ciphertext that was altered
    /// or created for another key causes no error: it returns a secret that no peer shares.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] for a key that is not an ML-KEM key, and for a ciphertext whose length is not
    /// [`MlKem::ciphertext_bytes`](crate::agreement::MlKem::ciphertext_bytes).
    pub fn decapsulate(&self, ciphertext: &[u8]) -> Result<Zeroizing<Vec<u8>>, Error> {
        let Private::MlKem(key) = &self.0.private else {
            return Err(no_encapsulation(self.key_type()));
        };
        let mut secret = Zeroizing::new([0; SECRET_BYTES]);
        key.decapsulate(ciphertext, &mut secret)?;
        Ok(Zeroizing::new(secret.to_vec()))
    }
}

impl PublicKey {
    /// Verifies a signature of a message, on this thread.
    ///
    /// # Errors
    /// [`Error::InvalidSignature`] if this key and scheme did not sign this message; [`Error::InvalidInput`] in the cases of
    /// [`PrivateKey::sign`].
    pub fn verify(&self, scheme: &Scheme, message: &[u8], signature: &[u8]) -> Result<(), Error> {
        match (&*self.0, scheme) {
            (Public::Rsa(key), Scheme::Rsa(scheme)) => {
                let scheme = *scheme;
                let purpose = Purpose::Verify {
                    scheme,
                    message,
                    signature,
                };
                rsa(TargetRef::Public(key), &purpose).map(drop)
            }
            (Public::Ec(_), Scheme::Ecdsa(hash)) => {
                self.verify_digest(scheme, &hash.digest(&[message]), signature)
            }
            (Public::Ed25519(key), Scheme::Ed25519) => key.verify(message, signature),
            (Public::MlDsa(key), Scheme::MlDsa { context }) => {
                key.verify(message, context, signature)
            }
            _ => Err(mismatched(scheme, self.key_type())),
        }
    }

    /// Verifies a signature of a message by its digest, on this thread.
    ///
    /// # Errors
    /// Those of [`verify`](Self::verify); [`Error::InvalidInput`] for a digest whose length is not that of the scheme's
    /// hash, and for Ed25519 and ML-DSA.
    pub fn verify_digest(
        &self,
        scheme: &Scheme,
        digest: &[u8],
        signature: &[u8],
    ) -> Result<(), Error> {
        match (&*self.0, scheme) {
            (Public::Rsa(key), Scheme::Rsa(scheme)) => {
                let scheme = *scheme;
                let purpose = Purpose::VerifyDigest {
                    scheme,
                    digest,
                    signature,
                };
                rsa(TargetRef::Public(key), &purpose).map(drop)
            }
            (Public::Ec(key), Scheme::Ecdsa(hash)) => {
                check_ecdsa(*hash, digest)?;
                key.verify(digest, signature)
            }
            _ => Err(no_digest(scheme, self.key_type())),
        }
    }

    /// Generates a 32-byte secret and the ciphertext that carries it to the holder of the private key (FIPS 203, 7.2), on
    /// this thread. Returns the ciphertext, then the secret.
    ///
    /// ```
    /// use oarlock::keys::{KeyType, MlKem, PrivateKey};
    ///
    /// let key = PrivateKey::generate(KeyType::MlKem(MlKem::MlKem768))?;
    /// let (ciphertext, secret) = key.public_key().encapsulate()?;
    /// assert_eq!(key.decapsulate(&ciphertext)?, secret);
    /// # Ok::<(), oarlock::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidInput`] for a key that is not an ML-KEM key, and [`Error::DeviceFailed`] if memory is exhausted.
    pub fn encapsulate(&self) -> Result<(Vec<u8>, Zeroizing<Vec<u8>>), Error> {
        let Public::MlKem(key) = &*self.0 else {
            return Err(no_encapsulation(self.key_type()));
        };
        let mut ciphertext = vec![0; key.set().ciphertext_bytes()];
        let mut secret = Zeroizing::new([0; SECRET_BYTES]);
        key.encapsulate(&mut ciphertext, &mut secret)?;
        Ok((ciphertext, Zeroizing::new(secret.to_vec())))
    }
}

fn rsa(target: TargetRef<'_>, purpose: &Purpose<&[u8]>) -> Result<Vec<u8>, Error> {
    let power = target.power(&purpose.operand(target)?)?;
    let mut result = purpose.result(target, power)?;
    Ok(std::mem::take(&mut *result))
}

fn check_ecdsa(hash: Hash, digest: &[u8]) -> Result<(), Error> {
    Scheme::check_ecdsa_hash(hash)?;
    if digest.len() == hash.bytes() {
        return Ok(());
    }
    Err(Error::InvalidInput(format!(
        "a digest of {} bytes: those of {} have {}",
        digest.len(),
        hash.name(),
        hash.bytes()
    )))
}

#[cold]
fn mismatched(scheme: &Scheme, key_type: KeyType) -> Error {
    let fits = match Scheme::usual(key_type) {
        Some(usual) => format!("take one that does, as {usual}"),
        None => "such keys do not sign".into(),
    };
    Error::InvalidInput(format!(
        "the scheme {scheme} does not fit a key of {key_type}: {fits}"
    ))
}

#[cold]
fn no_digest(scheme: &Scheme, key_type: KeyType) -> Error {
    match (scheme, key_type) {
        (Scheme::Ed25519, KeyType::Ed25519) | (Scheme::MlDsa { .. }, KeyType::MlDsa(_)) => {
            Error::InvalidInput(format!(
                "{scheme} signs whole messages: give it the message, and not a digest"
            ))
        }
        _ => mismatched(scheme, key_type),
    }
}

#[cold]
fn no_encapsulation(key_type: KeyType) -> Error {
    Error::InvalidInput(format!(
        "a key of {key_type} carries no secrets: take one of ML-KEM-512, ML-KEM-768 or ML-KEM-1024"
    ))
}
