//! The file that refers to a key on another machine: its public half, and its name there.
//!
//! ```text
//! RemoteKey ::= SEQUENCE {
//!     version    INTEGER { v1(0) },
//!     keyId      UTF8String (SIZE (1..255)),
//!     publicKey  SubjectPublicKeyInfo }      -- RFC 5280, 4.1
//! ```
//!
//! It is written as PEM (RFC 7468) with the label `OARLOCK REMOTE KEY`. Nothing in it is secret.

use std::fmt;

use der::asn1::{AnyRef, Utf8StringRef};
use der::pem::LineEnding;
use der::{Decode as _, Encode as _, Header, Reader as _, SliceReader, Tag};
use oarlock::keys::{KeyType, PublicKey};
use oarlock_engine::hash::{DIGEST_BYTES_MAX, Digest, Hash};

/// A reference to a key on another machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    key_id: String,
    key: PublicKey,
}

/// The reason why a reference is invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidReference(String);

impl Reference {
    /// The PEM label of a reference.
    pub const LABEL: &'static str = "OARLOCK REMOTE KEY";

    /// Creates a reference. `key_id` is the key's name on the other machine: 1 to 255 bytes, without control characters. The
    /// key is an RSA key, or on a NIST curve.
    ///
    /// # Errors
    /// [`InvalidReference`] for any other name or key.
    pub fn new(
        key_id: impl Into<String>,
        key: impl Into<PublicKey>,
    ) -> Result<Self, InvalidReference> {
        let (key_id, key) = (key_id.into(), key.into());
        if !matches!(key.key_type(), KeyType::Rsa | KeyType::Ec(_)) {
            return Err(InvalidReference(format!(
                "a file cannot stand for a key of {}: only for one of RSA, P-256, P-384 or P-521",
                key.key_type()
            )));
        }
        if !is_id(&key_id) {
            return Err(InvalidReference(
                "the name of a key has 1 to 255 bytes, none of which is a control character".into(),
            ));
        }
        Ok(Self { key_id, key })
    }

    /// Returns the key's name on the other machine.
    pub fn key_id(&self) -> &str {
        &self.key_id
    }

    /// Returns the public half of the key.
    pub fn key(&self) -> &PublicKey {
        &self.key
    }

    /// Parses PEM with [`LABEL`](Self::LABEL), and nothing else.
    ///
    /// # Errors
    /// [`InvalidReference`] names the fault.
    pub fn from_pem(text: &[u8]) -> Result<Self, InvalidReference> {
        Self::from_der(&Self::der_of_pem(text)?)
    }

    /// Returns the DER content of PEM with [`LABEL`](Self::LABEL).
    ///
    /// # Errors
    /// [`InvalidReference`] if the text is anything else.
    pub fn der_of_pem(text: &[u8]) -> Result<Vec<u8>, InvalidReference> {
        let invalid = |error: der::pem::Error| InvalidReference(format!("not PEM: {error}"));
        let (label, content) = der::pem::decode_vec(text).map_err(invalid)?;
        if label != Self::LABEL {
            return Err(InvalidReference(format!(
                "it is a {label}, where {} is needed",
                Self::LABEL
            )));
        }
        Ok(content)
    }

    /// Parses DER without trailing data.
    ///
    /// # Errors
    /// [`InvalidReference`] names the fault.
    pub fn from_der(content: &[u8]) -> Result<Self, InvalidReference> {
        let invalid = |error: der::Error| InvalidReference(format!("not a reference: {error}"));
        let (version, key_id, key) = read(content).map_err(invalid)?;
        if version != VERSION {
            return Err(InvalidReference(
                "it was made by a later version of Oarlock".into(),
            ));
        }
        let key = PublicKey::from_bytes(key);
        let key = key.map_err(|error| InvalidReference(error.to_string()))?;
        Self::new(key_id, key)
    }

    /// Encodes the reference as PEM, which [`from_pem`](Self::from_pem) parses.
    ///
    /// # Errors
    /// [`InvalidReference`] if the key cannot be encoded.
    pub fn to_pem(&self) -> Result<String, InvalidReference> {
        let failed = |error: &dyn fmt::Display| InvalidReference(error.to_string());
        let key = self.key.to_spki_der();
        let key = key.map_err(|error| failed(&error))?;
        let written = written(&self.key_id, &key).map_err(|error| failed(&error))?;
        der::pem::encode_string(Self::LABEL, LineEnding::LF, &written)
            .map_err(|error| failed(&error))
    }
}

/// Returns the SHA-256 digest of a key's SubjectPublicKeyInfo, by which a question says which key it means.
pub fn public_key_digest(key: &PublicKey) -> [u8; 32] {
    let mut digest = Digest::new(Hash::Sha256);
    digest.update(&key.to_spki_der().unwrap_or_default());
    let mut output = [0; DIGEST_BYTES_MAX];
    digest.finish(&mut output);
    *output.first_chunk().unwrap_or(&[0; 32])
}

/// Parses version, name and SubjectPublicKeyInfo.
fn read(content: &[u8]) -> der::Result<(u8, &str, &[u8])> {
    let mut reader = SliceReader::new(content)?;
    let parts = reader.sequence(|reader| {
        let version = u8::decode(reader)?;
        let key_id = Utf8StringRef::decode(reader)?;
        Ok::<_, der::Error>((version, key_id.as_str(), reader.tlv_bytes()?))
    })?;
    reader.finish()?;
    Ok(parts)
}

fn written(key_id: &str, key: &[u8]) -> der::Result<Vec<u8>> {
    let parts = [
        VERSION.to_der()?,
        Utf8StringRef::new(key_id)?.to_der()?,
        AnyRef::from_der(key)?.to_der()?,
    ]
    .concat();
    let mut written = Header::new(Tag::Sequence, parts.len().try_into()?).to_der()?;
    written.extend_from_slice(&parts);
    Ok(written)
}

pub(super) fn is_id(text: &str) -> bool {
    (1..=ID_BYTES_MAX).contains(&text.len()) && !text.chars().any(char::is_control)
}

const VERSION: u8 = 0;
const ID_BYTES_MAX: usize = 255;

impl fmt::Display for InvalidReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for InvalidReference {}

#[cfg(test)]
mod tests {
    use oarlock::keys::PrivateKey;
    use oarlock_engine::ec::Curve;

    use super::*;

    fn key() -> PublicKey {
        let pem = include_bytes!("../../../oarlock/tests/keys/rsa2048.pem");
        PrivateKey::from_bytes(pem).unwrap().public_key().clone()
    }

    fn made(key_type: KeyType) -> PublicKey {
        PrivateKey::generate(key_type).unwrap().public_key().clone()
    }

    #[test]
    fn a_reference_is_read_as_it_was_written() {
        for id in ["w", "web", "Schlüssel/2", &"x".repeat(255)] {
            let curves = Curve::ALL.map(|curve| made(KeyType::Ec(curve)));
            for key in [key()].into_iter().chain(curves) {
                let reference = Reference::new(id, key).unwrap();
                let pem = reference.to_pem().unwrap();
                assert!(pem.starts_with("-----BEGIN OARLOCK REMOTE KEY-----\n"));
                assert_eq!(Reference::from_pem(pem.as_bytes()), Ok(reference));
            }
        }
    }

    #[test]
    fn nothing_else_is_one() {
        for id in ["", "a\nb", &"x".repeat(256)] {
            assert!(Reference::new(id, key()).is_err());
        }
        let refused = Reference::new("web", made(KeyType::Ed25519)).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "a file cannot stand for a key of Ed25519: only for one of RSA, P-256, P-384 or P-521"
        );
        let whole = Reference::new("web", key()).unwrap().to_pem().unwrap();
        let (_, content) = der::pem::decode_vec(whole.as_bytes()).unwrap();
        let as_pem = |label, content: &[u8]| {
            der::pem::encode_string(label, LineEnding::LF, content).unwrap()
        };
        assert_eq!(as_pem(Reference::LABEL, &content), whole);
        let refused = |pem: &str| Reference::from_pem(pem.as_bytes()).unwrap_err().to_string();
        for cut in 0..content.len() {
            refused(&as_pem(Reference::LABEL, &content[..cut]));
        }
        refused(&as_pem(Reference::LABEL, &[&content[..], &[0]].concat()));
        let other = refused(&as_pem("PUBLIC KEY", &content));
        assert_eq!(
            other,
            "it is a PUBLIC KEY, where OARLOCK REMOTE KEY is needed"
        );
        let mut later = content.clone();
        assert_eq!(later[4..7], [2, 1, 0]);
        later[6] = 1;
        let later = refused(&as_pem(Reference::LABEL, &later));
        assert_eq!(later, "it was made by a later version of Oarlock");
        for cut in [0, 1, 20, whole.len() / 2, whole.len() - 20] {
            refused(&whole[..cut]);
        }
    }
}
