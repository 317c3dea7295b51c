//! RustCrypto's signature traits for keys of any type.
//!
//! Their errors hold no details; the `source` of each says what is wrong. Traits with random numbers from the caller are not
//! implemented, since aws-lc draws those of ECDSA and ML-DSA itself. Nor are those of the crate `kem`, whose types encode
//! the lengths of keys.

use pkcs8::spki::{
    self, AlgorithmIdentifierOwned, DynSignatureAlgorithmIdentifier, EncodePublicKey,
};
use pkcs8::{Document, ObjectIdentifier};
use signature::digest::{Digest, Update};
use signature::hazmat::{PrehashSigner, PrehashVerifier};
use signature::{
    DigestSigner, DigestVerifier, Keypair, MultipartSigner, MultipartVerifier, Signer, Verifier,
};

use super::session::{AcceleratedKey, AcceleratedPublicKey};
use crate::Error;
use crate::rsa::traits::{digest_of, rsa_algorithm_identifier};
use crate::work::keys::scheme::Scheme;
use crate::work::keys::signature::Signature;
use crate::work::keys::spki::algorithm;
use crate::work::keys::{KeyType, PublicKey};
use crate::work::rsa::padding::Hash;

/// A signer for one scheme with the traits of the crate `signature`: [`Signer`], [`MultipartSigner`] and, if the scheme has
/// a hash, [`DigestSigner`] and [`PrehashSigner`]. Threads may share it; clones are cheap.
///
/// ```
/// use oarlock::Accelerator;
/// use oarlock::keys::{KeyType, PrivateKey, Scheme, Signature};
/// use oarlock::rsa::{Keypair, Signer, Verifier};
///
/// fn is_signed<S>(key: &(impl Signer<S> + Keypair<VerifyingKey: Verifier<S>>)) -> bool {
///     key.verifying_key().verify(b"message", &key.sign(b"message")).is_ok()
/// }
///
/// let accelerator = Accelerator::builder().build()?;
/// let key = accelerator.key(&PrivateKey::generate(KeyType::Ed25519)?);
/// assert!(is_signed::<Signature>(&key.signer(Scheme::Ed25519)));
/// # Ok::<(), oarlock::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct KeySigner {
    key: AcceleratedKey,
    scheme: Scheme,
}

/// A verifier for one scheme with the traits of the crate `signature`: [`Verifier`], [`MultipartVerifier`] and, if the
/// scheme has a hash, [`DigestVerifier`] and [`PrehashVerifier`]. Threads may share it; clones are cheap.
#[derive(Clone, Debug)]
pub struct KeyVerifier {
    key: AcceleratedPublicKey,
    scheme: Scheme,
}

impl AcceleratedKey {
    /// Returns a signer for this key and a scheme, with the traits of the crate `signature`. If the scheme does not fit the
    /// key, every signature fails.
    pub fn signer(&self, scheme: Scheme) -> KeySigner {
        let key = self.clone();
        KeySigner { key, scheme }
    }
}

impl AcceleratedPublicKey {
    /// Returns a verifier for this key and a scheme, with the traits of the crate `signature`. If the scheme does not fit
    /// the key, every verification fails.
    pub fn verifier(&self, scheme: Scheme) -> KeyVerifier {
        let key = self.clone();
        KeyVerifier { key, scheme }
    }
}

impl Signer<Signature> for KeySigner {
    fn try_sign(&self, message: &[u8]) -> Result<Signature, signature::Error> {
        made(self.key.sign(&self.scheme, message))
    }
}

/// Signs a copy of the message in one piece if the scheme has no hash.
impl MultipartSigner<Signature> for KeySigner {
    fn try_multipart_sign(&self, message: &[&[u8]]) -> Result<Signature, signature::Error> {
        match self.scheme.hash() {
            Some(hash) => self.sign_prehash(&hash.digest(message)),
            None => self.try_sign(&message.concat()),
        }
    }
}

impl PrehashSigner<Signature> for KeySigner {
    fn sign_prehash(&self, digest: &[u8]) -> Result<Signature, signature::Error> {
        made(self.key.sign_digest(&self.scheme, digest))
    }
}

/// Returns an error if `D` is not the hash of the scheme.
impl<D: Digest + Update + pkcs8::AssociatedOid> DigestSigner<D, Signature> for KeySigner {
    fn try_sign_digest<F: Fn(&mut D) -> Result<(), signature::Error>>(
        &self,
        update: F,
    ) -> Result<Signature, signature::Error> {
        self.sign_prehash(&digest_of(hash_of(&self.scheme)?, update)?)
    }
}

impl Verifier<Signature> for KeyVerifier {
    fn verify(&self, message: &[u8], signature: &Signature) -> Result<(), signature::Error> {
        let verified = self.key.verify(&self.scheme, message, signature.as_ref());
        verified.map_err(signature::Error::from_source)
    }
}

/// Verifies a copy of the message in one piece if the scheme has no hash.
impl MultipartVerifier<Signature> for KeyVerifier {
    fn multipart_verify(
        &self,
        message: &[&[u8]],
        signature: &Signature,
    ) -> Result<(), signature::Error> {
        match self.scheme.hash() {
            Some(hash) => self.verify_prehash(&hash.digest(message), signature),
            None => self.verify(&message.concat(), signature),
        }
    }
}

impl PrehashVerifier<Signature> for KeyVerifier {
    fn verify_prehash(&self, digest: &[u8], signature: &Signature) -> Result<(), signature::Error> {
        let (scheme, signature) = (&self.scheme, signature.as_ref());
        let verified = self.key.verify_digest(scheme, digest, signature);
        verified.map_err(signature::Error::from_source)
    }
}

/// Returns an error if `D` is not the hash of the scheme.
impl<D: Digest + Update + pkcs8::AssociatedOid> DigestVerifier<D, Signature> for KeyVerifier {
    fn verify_digest<F: Fn(&mut D) -> Result<(), signature::Error>>(
        &self,
        update: F,
        signature: &Signature,
    ) -> Result<(), signature::Error> {
        self.verify_prehash(&digest_of(hash_of(&self.scheme)?, update)?, signature)
    }
}

impl Keypair for KeySigner {
    type VerifyingKey = KeyVerifier;

    fn verifying_key(&self) -> KeyVerifier {
        self.key.public().verifier(self.scheme.clone())
    }
}

impl DynSignatureAlgorithmIdentifier for KeySigner {
    fn signature_algorithm_identifier(&self) -> spki::Result<AlgorithmIdentifierOwned> {
        algorithm_identifier(&self.scheme, self.key.key().key_type())
    }
}

impl DynSignatureAlgorithmIdentifier for KeyVerifier {
    fn signature_algorithm_identifier(&self) -> spki::Result<AlgorithmIdentifierOwned> {
        algorithm_identifier(&self.scheme, self.key.key().key_type())
    }
}

impl EncodePublicKey for PublicKey {
    fn to_public_key_der(&self) -> spki::Result<Document> {
        let der = self.to_spki_der().map_err(|_| spki::Error::KeyMalformed)?;
        Ok(Document::try_from(der)?)
    }
}

impl EncodePublicKey for KeyVerifier {
    fn to_public_key_der(&self) -> spki::Result<Document> {
        self.key.key().to_public_key_der()
    }
}

fn made(signature: Result<Vec<u8>, Error>) -> Result<Signature, signature::Error> {
    signature
        .map(|bytes| Signature(bytes.into()))
        .map_err(signature::Error::from_source)
}

fn hash_of(scheme: &Scheme) -> Result<Hash, signature::Error> {
    scheme.hash().ok_or_else(|| {
        let what = format!("{scheme} signs whole messages, and no digests");
        signature::Error::from_source(Error::InvalidInput(what))
    })
}

/// Returns the scheme's algorithm identifier in certificates: RFC 8017, A.2; RFC 5758, 3.2; RFC 8410, 6; RFC 9881, 2.
fn algorithm_identifier(
    scheme: &Scheme,
    key_type: KeyType,
) -> spki::Result<AlgorithmIdentifierOwned> {
    let oid = match (scheme, key_type) {
        (Scheme::Rsa(scheme), KeyType::Rsa) => return rsa_algorithm_identifier(*scheme),
        (Scheme::Ecdsa(Hash::Sha256), KeyType::Ec(_)) => ECDSA_SHA256,
        (Scheme::Ecdsa(Hash::Sha384), KeyType::Ec(_)) => ECDSA_SHA384,
        (Scheme::Ecdsa(Hash::Sha512), KeyType::Ec(_)) => ECDSA_SHA512,
        (Scheme::Ed25519, KeyType::Ed25519) => algorithm(key_type).oid,
        (Scheme::MlDsa { context }, KeyType::MlDsa(_)) if context.is_empty() => {
            algorithm(key_type).oid
        }
        _ => return Err(spki::Error::AlgorithmParametersMissing),
    };
    Ok(AlgorithmIdentifierOwned {
        oid,
        parameters: None,
    })
}

const ECDSA_SHA256: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.4.3.2");
const ECDSA_SHA384: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.4.3.3");
const ECDSA_SHA512: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.4.3.4");
