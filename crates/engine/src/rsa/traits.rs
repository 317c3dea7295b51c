//! RustCrypto's signature traits for RSA keys.
//!
//! Their errors hold no details; the `source` of each says what is wrong.

use pkcs1::{RsaPssParams, TrailerField};
use pkcs8::der::asn1::{AnyRef, BitString};
use pkcs8::der::oid::AssociatedOid;
use pkcs8::der::{self, Any, Encode};
use pkcs8::spki::{
    self, AlgorithmIdentifier, AlgorithmIdentifierOwned, AlgorithmIdentifierRef,
    DynSignatureAlgorithmIdentifier, SubjectPublicKeyInfo,
};
use pkcs8::{Document, EncodePublicKey, ObjectIdentifier};
use sha1::Sha1;
use sha2::{Sha224, Sha256, Sha384, Sha512, Sha512_224, Sha512_256};
use signature::digest::{Digest, Output, Update};
use signature::hazmat::{PrehashSigner, PrehashVerifier, RandomizedPrehashSigner};
use signature::rand_core::TryCryptoRng;
use signature::{
    DigestSigner, DigestVerifier, Keypair, MultipartSigner, MultipartVerifier,
    RandomizedDigestSigner, RandomizedMultipartSigner, RandomizedSigner, Signer, Verifier,
};

use super::{AcceleratedRsa, AcceleratedRsaPublic};
use crate::Error;
pub use crate::work::keys::signature::Signature as RsaSignature;
use crate::work::rsa::key::RsaPublicKey;
use crate::work::rsa::padding::Hash;
use crate::work::rsa::scheme::{
    SignaturePadding, SignatureScheme, check_digest, signature_operand_salted,
};

/// A signer for one scheme with the traits of the crate `signature`: [`Signer`], [`MultipartSigner`], [`DigestSigner`] and
/// [`PrehashSigner`], and those with random numbers from the caller, which become the salt of PSS. Threads may share it;
/// clones are cheap.
///
/// ```
/// use oarlock::Accelerator;
/// use oarlock::rsa::{Hash, Keypair, RsaPrivateKey, RsaSignature, SignatureScheme, Signer, Verifier};
///
/// fn is_signed<S>(key: &(impl Signer<S> + Keypair<VerifyingKey: Verifier<S>>)) -> bool {
///     key.verifying_key().verify(b"message", &key.sign(b"message")).is_ok()
/// }
///
/// let accelerator = Accelerator::builder().build()?;
/// let key = RsaPrivateKey::from_pem(include_str!("../../../oarlock/tests/keys/rsa2048.pem"))?;
/// let signer = accelerator.rsa(&key).signer(SignatureScheme::Pss(Hash::Sha256));
/// assert!(is_signed::<RsaSignature>(&signer));
/// # Ok::<(), oarlock::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct RsaSigner {
    rsa: AcceleratedRsa,
    scheme: SignatureScheme,
}

/// A verifier for one scheme with the traits of the crate `signature`: [`Verifier`], [`MultipartVerifier`],
/// [`DigestVerifier`] and [`PrehashVerifier`]. Threads may share it; clones are cheap.
#[derive(Clone, Debug)]
pub struct RsaVerifier {
    rsa: AcceleratedRsaPublic,
    scheme: SignatureScheme,
}

impl AcceleratedRsa {
    /// Returns a signer for this key and a scheme, with the traits of the crate `signature`.
    pub fn signer(&self, scheme: SignatureScheme) -> RsaSigner {
        RsaSigner {
            rsa: self.clone(),
            scheme,
        }
    }
}

impl AcceleratedRsaPublic {
    /// Returns a verifier for this key and a scheme, with the traits of the crate `signature`.
    pub fn verifier(&self, scheme: SignatureScheme) -> RsaVerifier {
        RsaVerifier {
            rsa: self.clone(),
            scheme,
        }
    }
}

impl RsaSigner {
    fn digest(&self, message: &[&[u8]]) -> Result<RsaSignature, signature::Error> {
        self.sign_prehash(&self.scheme.hash().digest(message))
    }

    fn salted_digest<R: TryCryptoRng + ?Sized>(
        &self,
        rng: &mut R,
        message: &[&[u8]],
    ) -> Result<RsaSignature, signature::Error> {
        self.sign_prehash_with_rng(rng, &self.scheme.hash().digest(message))
    }
}

impl Signer<RsaSignature> for RsaSigner {
    fn try_sign(&self, message: &[u8]) -> Result<RsaSignature, signature::Error> {
        self.digest(&[message])
    }
}

impl MultipartSigner<RsaSignature> for RsaSigner {
    fn try_multipart_sign(&self, message: &[&[u8]]) -> Result<RsaSignature, signature::Error> {
        self.digest(message)
    }
}

impl PrehashSigner<RsaSignature> for RsaSigner {
    fn sign_prehash(&self, digest: &[u8]) -> Result<RsaSignature, signature::Error> {
        let signature = self.rsa.sign_digest(self.scheme, digest);
        signature
            .map(|bytes| RsaSignature(bytes.into()))
            .map_err(signature::Error::from_source)
    }
}

impl RandomizedSigner<RsaSignature> for RsaSigner {
    fn try_sign_with_rng<R: TryCryptoRng + ?Sized>(
        &self,
        rng: &mut R,
        message: &[u8],
    ) -> Result<RsaSignature, signature::Error> {
        self.salted_digest(rng, &[message])
    }
}

impl RandomizedMultipartSigner<RsaSignature> for RsaSigner {
    fn try_multipart_sign_with_rng<R: TryCryptoRng + ?Sized>(
        &self,
        rng: &mut R,
        message: &[&[u8]],
    ) -> Result<RsaSignature, signature::Error> {
        self.salted_digest(rng, message)
    }
}

impl RandomizedPrehashSigner<RsaSignature> for RsaSigner {
    fn sign_prehash_with_rng<R: TryCryptoRng + ?Sized>(
        &self,
        rng: &mut R,
        digest: &[u8],
    ) -> Result<RsaSignature, signature::Error> {
        /// The origin of a failure.
        enum Failed {
            Here(Error),
            Generator,
        }
        impl From<Error> for Failed {
            fn from(error: Error) -> Self {
                Self::Here(error)
            }
        }
        let mut sign = || {
            check_digest(self.scheme, digest)?;
            let key = self.rsa.key().public_key();
            let number = signature_operand_salted(self.scheme, digest, key, |salt| {
                rng.try_fill_bytes(salt).map_err(|_| Failed::Generator)
            })?;
            Ok(self.rsa.raw_private(&number)?)
        };
        match sign() {
            Ok(bytes) => Ok(RsaSignature(bytes.as_slice().into())),
            Err(Failed::Here(error)) => Err(signature::Error::from_source(error)),
            Err(Failed::Generator) => Err(signature::Error::from_source(
                "the caller's random number generator failed",
            )),
        }
    }
}

impl Verifier<RsaSignature> for RsaVerifier {
    fn verify(&self, message: &[u8], signature: &RsaSignature) -> Result<(), signature::Error> {
        self.multipart_verify(&[message], signature)
    }
}

impl MultipartVerifier<RsaSignature> for RsaVerifier {
    fn multipart_verify(
        &self,
        message: &[&[u8]],
        signature: &RsaSignature,
    ) -> Result<(), signature::Error> {
        self.verify_prehash(&self.scheme.hash().digest(message), signature)
    }
}

impl PrehashVerifier<RsaSignature> for RsaVerifier {
    fn verify_prehash(
        &self,
        digest: &[u8],
        signature: &RsaSignature,
    ) -> Result<(), signature::Error> {
        self.rsa
            .verify_digest(self.scheme, digest, &signature.0)
            .map_err(signature::Error::from_source)
    }
}

/// Returns an error if `D` is not the hash of the scheme.
impl<D: Digest + Update + AssociatedOid> DigestSigner<D, RsaSignature> for RsaSigner {
    fn try_sign_digest<F: Fn(&mut D) -> Result<(), signature::Error>>(
        &self,
        update: F,
    ) -> Result<RsaSignature, signature::Error> {
        self.sign_prehash(&digest_of(self.scheme.hash(), update)?)
    }
}

/// Returns an error if `D` is not the hash of the scheme.
impl<D: Digest + Update + AssociatedOid> RandomizedDigestSigner<D, RsaSignature> for RsaSigner {
    fn try_sign_digest_with_rng<
        R: TryCryptoRng + ?Sized,
        F: Fn(&mut D) -> Result<(), signature::Error>,
    >(
        &self,
        rng: &mut R,
        update: F,
    ) -> Result<RsaSignature, signature::Error> {
        self.sign_prehash_with_rng(rng, &digest_of(self.scheme.hash(), update)?)
    }
}

/// Returns an error if `D` is not the hash of the scheme.
impl<D: Digest + Update + AssociatedOid> DigestVerifier<D, RsaSignature> for RsaVerifier {
    fn verify_digest<F: Fn(&mut D) -> Result<(), signature::Error>>(
        &self,
        update: F,
        signature: &RsaSignature,
    ) -> Result<(), signature::Error> {
        self.verify_prehash(&digest_of(self.scheme.hash(), update)?, signature)
    }
}

impl Keypair for RsaSigner {
    type VerifyingKey = RsaVerifier;

    fn verifying_key(&self) -> RsaVerifier {
        self.rsa.public().verifier(self.scheme)
    }
}

impl DynSignatureAlgorithmIdentifier for RsaSigner {
    fn signature_algorithm_identifier(&self) -> spki::Result<AlgorithmIdentifierOwned> {
        rsa_algorithm_identifier(self.scheme)
    }
}

impl DynSignatureAlgorithmIdentifier for RsaVerifier {
    fn signature_algorithm_identifier(&self) -> spki::Result<AlgorithmIdentifierOwned> {
        rsa_algorithm_identifier(self.scheme)
    }
}

/// Encodes the key as SubjectPublicKeyInfo with the algorithm rsaEncryption (RFC 3279, 2.3.1).
impl EncodePublicKey for RsaPublicKey {
    fn to_public_key_der(&self) -> spki::Result<Document> {
        let key = pkcs1::RsaPublicKeyRef {
            modulus: der::asn1::UintRef::new(self.modulus())?,
            public_exponent: der::asn1::UintRef::new(self.exponent())?,
        };
        let info = SubjectPublicKeyInfo {
            algorithm: pkcs1::ALGORITHM_ID,
            subject_public_key: BitString::from_bytes(&key.to_der()?)?,
        };
        Ok(Document::encode_msg(&info)?)
    }
}

impl EncodePublicKey for RsaVerifier {
    fn to_public_key_der(&self) -> spki::Result<Document> {
        self.rsa.key().to_public_key_der()
    }
}

/// Returns the digest by `D` of the bytes that `update` passes to it, if `hash` is that function.
pub(crate) fn digest_of<D: Digest + AssociatedOid>(
    hash: Hash,
    update: impl Fn(&mut D) -> Result<(), signature::Error>,
) -> Result<Output<D>, signature::Error> {
    if D::OID != oid(hash) {
        let what = format!("the digest {} is not that of the scheme", D::OID);
        return Err(signature::Error::from_source(Error::InvalidInput(what)));
    }
    let mut hasher = D::new();
    update(&mut hasher)?;
    Ok(hasher.finalize())
}

fn oid(hash: Hash) -> ObjectIdentifier {
    match hash {
        Hash::Sha1 => Sha1::OID,
        Hash::Sha224 => Sha224::OID,
        Hash::Sha256 => Sha256::OID,
        Hash::Sha384 => Sha384::OID,
        Hash::Sha512 => Sha512::OID,
        Hash::Sha512_224 => Sha512_224::OID,
        Hash::Sha512_256 => Sha512_256::OID,
    }
}

/// Returns the algorithm identifier of a scheme in certificates (RFC 8017, A.2).
pub(crate) fn rsa_algorithm_identifier(
    scheme: SignatureScheme,
) -> spki::Result<AlgorithmIdentifierOwned> {
    let pss = match scheme.padding() {
        SignaturePadding::Pkcs1(hash) => {
            return Ok(AlgorithmIdentifierOwned {
                oid: pkcs1_signature_oid(hash),
                parameters: Some(Any::null()),
            });
        }
        SignaturePadding::Pss(pss) => pss,
    };
    let digest = |hash| AlgorithmIdentifierRef {
        oid: oid(hash),
        parameters: Some(AnyRef::NULL),
    };
    let parameters = RsaPssParams {
        hash: digest(pss.hash),
        mask_gen: AlgorithmIdentifier {
            oid: ID_MGF1,
            parameters: Some(digest(pss.mgf1)),
        },
        salt_len: pss.salt_bytes().try_into().map_err(|_| {
            // The length exceeds the type of the field.
            der::Error::from(der::ErrorKind::Overflow)
        })?,
        trailer_field: TrailerField::BC,
    };
    Ok(AlgorithmIdentifierOwned {
        oid: ID_RSASSA_PSS,
        parameters: Some(Any::encode_from(&parameters)?),
    })
}

/// Returns the identifier of PKCS#1 v1.5 signatures with `hash` (RFC 8017, A.2.4).
fn pkcs1_signature_oid(hash: Hash) -> ObjectIdentifier {
    ObjectIdentifier::new_unwrap(match hash {
        Hash::Sha1 => "1.2.840.113549.1.1.5",
        Hash::Sha224 => "1.2.840.113549.1.1.14",
        Hash::Sha256 => "1.2.840.113549.1.1.11",
        Hash::Sha384 => "1.2.840.113549.1.1.12",
        Hash::Sha512 => "1.2.840.113549.1.1.13",
        Hash::Sha512_224 => "1.2.840.113549.1.1.15",
        Hash::Sha512_256 => "1.2.840.113549.1.1.16",
    })
}

const ID_RSASSA_PSS: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.10");
const ID_MGF1: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.8");
