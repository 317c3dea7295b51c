//! Public keys in SubjectPublicKeyInfo (RFC 5280, 4.1.2.7), and the algorithm identifiers used there and in PKCS#8.

use pkcs8::der::asn1::{AnyRef, BitStringRef};
use pkcs8::der::pem::LineEnding;
use pkcs8::der::{Decode, Document, Tag, Tagged};
use pkcs8::spki::{AlgorithmIdentifierRef, SubjectPublicKeyInfoRef};
use pkcs8::{EncodePublicKey, ObjectIdentifier};

use super::der::first_tags;
use super::pem::{self, unknown_label};
use super::{KeyType, Public, PublicKey, invalid};
use crate::Error;
use crate::aws_lc::ec::Curve;
use crate::aws_lc::ml_dsa::MlDsa;
use crate::aws_lc::ml_kem::MlKem;
use crate::work::rsa::key::RsaPublicKey;

impl PublicKey {
    /// Parses a public key: SubjectPublicKeyInfo in DER or PEM (`PUBLIC KEY`, RFC 7468, 13), PKCS#1 in DER or PEM (`RSA
    /// PUBLIC KEY`) or, with the feature `ssh`, an OpenSSH public-key line (`ssh-ed25519 ...`, `ecdsa-sha2-nistp256 ...`,
    /// `ssh-rsa ...`).
    ///
    /// # Errors
    /// [`Error::InvalidKey`] says what is wrong.
    pub fn from_bytes(key: &[u8]) -> Result<Self, Error> {
        let is_text = |key: &[u8]| key.starts_with(b"ssh-") || key.starts_with(b"ecdsa-sha2-");
        let Some(text) = pem::text(key, is_text)? else {
            return Self::from_der(key);
        };
        #[cfg(feature = "ssh")]
        if is_text(text.as_bytes()) {
            return Self::from_openssh(text);
        }
        let (label, der) = pem::decoded(text)?;
        match label {
            "PUBLIC KEY" => Self::from_spki(&der),
            "RSA PUBLIC KEY" => Ok(RsaPublicKey::from_pem(text)?.into()),
            label => Err(unknown_label(label, "PUBLIC KEY or RSA PUBLIC KEY")),
        }
    }

    fn from_der(der: &[u8]) -> Result<Self, Error> {
        match first_tags(der) {
            Some((Tag::Integer, Tag::Integer)) => Ok(RsaPublicKey::from_der(der)?.into()),
            _ => Self::from_spki(der),
        }
    }

    fn from_spki(der: &[u8]) -> Result<Self, Error> {
        let info = SubjectPublicKeyInfoRef::from_der(der)
            .map_err(|error| invalid(format!("not a SubjectPublicKeyInfo: {error}")))?;
        let key_type = key_type(info.algorithm)?;
        if key_type == KeyType::Rsa {
            return Ok(RsaPublicKey::from_der(der)?.into());
        }
        Self::from_bits(key_type, info.subject_public_key)
    }

    /// Parses a key from the bit string in SubjectPublicKeyInfo and PKCS#8.
    pub(super) fn from_bits(key_type: KeyType, bits: BitStringRef<'_>) -> Result<Self, Error> {
        let bytes = bits
            .as_bytes()
            .ok_or_else(|| invalid("the public key is not whole bytes"))?;
        match key_type {
            KeyType::Rsa => {
                let key = pkcs1::RsaPublicKeyRef::from_der(bytes).map_err(|error| {
                    invalid(format!("not an RSAPublicKey (RFC 8017, A.1.1): {error}"))
                })?;
                let (n, e) = (key.modulus.as_bytes(), key.public_exponent.as_bytes());
                Ok(RsaPublicKey::from_numbers(n, e)?.into())
            }
            _ => Self::from_raw(key_type, bytes),
        }
    }

    /// Encodes the key as SubjectPublicKeyInfo in DER.
    ///
    /// # Errors
    /// [`Error::DeviceFailed`] if memory is exhausted.
    pub fn to_spki_der(&self) -> Result<Vec<u8>, Error> {
        self.document().map(Document::into_vec)
    }

    /// Encodes the key as SubjectPublicKeyInfo in PEM (`PUBLIC KEY`), with a newline at the end of each line.
    ///
    /// # Errors
    /// [`Error::DeviceFailed`] if memory is exhausted.
    pub fn to_spki_pem(&self) -> Result<String, Error> {
        let pem = self.document()?.to_pem("PUBLIC KEY", LineEnding::LF);
        pem.map_err(|error| not_written(&error))
    }

    fn document(&self) -> Result<Document, Error> {
        if let Public::Rsa(key) = &*self.0 {
            return key.to_public_key_der().map_err(|error| not_written(&error));
        }
        let raw = self.to_raw()?;
        let write = || {
            let info = SubjectPublicKeyInfoRef {
                algorithm: algorithm(self.key_type()),
                subject_public_key: BitStringRef::from_bytes(&raw)?,
            };
            Document::encode_msg(&info)
        };
        write().map_err(|error| not_written(&error))
    }
}

/// Returns the algorithm identifier of a key type.
pub(crate) fn algorithm(key_type: KeyType) -> AlgorithmIdentifierRef<'static> {
    let (oid, parameters) = match key_type {
        KeyType::Rsa => (pkcs1::ALGORITHM_OID, Some(AnyRef::NULL)),
        KeyType::Ec(curve) => (EC, Some(AnyRef::from(curve_oid(curve)))),
        KeyType::Ed25519 => (ED25519, None),
        KeyType::X25519 => (X25519, None),
        KeyType::MlKem(MlKem::MlKem512) => (ML_KEM_512, None),
        KeyType::MlKem(MlKem::MlKem768) => (ML_KEM_768, None),
        KeyType::MlKem(MlKem::MlKem1024) => (ML_KEM_1024, None),
        KeyType::MlDsa(MlDsa::MlDsa44) => (ML_DSA_44, None),
        KeyType::MlDsa(MlDsa::MlDsa65) => (ML_DSA_65, None),
        KeyType::MlDsa(MlDsa::MlDsa87) => (ML_DSA_87, None),
    };
    AlgorithmIdentifierRef { oid, parameters }
}

/// Returns the key type of an algorithm identifier.
pub(super) fn key_type(given: AlgorithmIdentifierRef<'_>) -> Result<KeyType, Error> {
    if given.oid == EC {
        let parameters = given
            .parameters
            .ok_or_else(|| invalid("a key of an elliptic curve that names no curve"))?;
        return curve(parameters).map(KeyType::Ec);
    }
    let is_it = |one: &KeyType| algorithm(*one).oid == given.oid;
    let key_type = KeyType::ALL.into_iter().find(is_it).ok_or_else(|| {
        invalid(format!(
            "a key of the algorithm {}: known are RSA (rsaEncryption), P-256, P-384, P-521, Ed25519, X25519, ML-KEM and \
             ML-DSA",
            given.oid
        ))
    })?;
    // RSA's parameters are not checked: some programs omit them, and earlier versions accepted any.
    if key_type != KeyType::Rsa && given.parameters.is_some() {
        return Err(invalid(format!(
            "the identifier of {key_type} has parameters, and must have none"
        )));
    }
    Ok(key_type)
}

/// Returns the curve that the parameters name (RFC 5480, 2.1.1).
pub(super) fn curve(parameters: AnyRef<'_>) -> Result<Curve, Error> {
    match parameters.tag() {
        Tag::ObjectIdentifier => {}
        Tag::Sequence => {
            return Err(invalid(
                "the key has explicit parameters of a curve: only P-256, P-384 and P-521, by name, are taken",
            ));
        }
        _ => return Err(invalid("the key does not name its curve")),
    }
    let oid: ObjectIdentifier = parameters
        .decode_as()
        .map_err(|error| invalid(format!("the name of the curve: {error}")))?;
    let is_it = |curve: &Curve| *curve_oid(*curve) == oid;
    Curve::ALL.into_iter().find(is_it).ok_or_else(|| {
        invalid(format!(
            "a key of the curve {oid}: known are P-256, P-384 and P-521"
        ))
    })
}

/// Returns the identifier of a curve (RFC 5480, 2.1.1.1).
pub(super) fn curve_oid(curve: Curve) -> &'static ObjectIdentifier {
    match curve {
        Curve::P256 => &P256,
        Curve::P384 => &P384,
        Curve::P521 => &P521,
    }
}

pub(super) fn not_written(error: &dyn std::fmt::Display) -> Error {
    Error::InvalidInput(format!("the key cannot be written: {error}"))
}

const EC: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.2.1");
const P256: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.3.1.7");
const P384: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.132.0.34");
const P521: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.132.0.35");
/// The identifiers of RFC 8410, 3.
const X25519: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.101.110");
const ED25519: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.101.112");
/// The identifiers of RFC 9935, 3.
const ML_KEM_512: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.16.840.1.101.3.4.4.1");
const ML_KEM_768: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.16.840.1.101.3.4.4.2");
const ML_KEM_1024: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.16.840.1.101.3.4.4.3");
/// The identifiers of RFC 9881, 2.
const ML_DSA_44: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.16.840.1.101.3.4.3.17");
const ML_DSA_65: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.16.840.1.101.3.4.3.18");
const ML_DSA_87: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.16.840.1.101.3.4.3.19");
