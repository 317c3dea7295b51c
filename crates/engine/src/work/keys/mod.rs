//! Public keys of any type: their types, raw forms and operations.

mod der;
#[cfg(feature = "ssh")]
mod openssh;
mod operations;
mod pem;
mod pkcs8;
pub(crate) mod request;
pub(crate) mod scheme;
pub(crate) mod signature;
pub(crate) mod spki;

use std::fmt;
use std::sync::Arc;

use zeroize::Zeroizing;

use super::rsa::key::{RsaPrivateKey, RsaPublicKey};
use crate::Error;
use crate::aws_lc::ec::{Curve, EcPrivateKey, EcPublicKey, POINT_BYTES_MAX};
use crate::aws_lc::ed25519::{Ed25519PrivateKey, Ed25519PublicKey, SIGNATURE_BYTES};
use crate::aws_lc::ml_dsa::{MlDsa, MlDsaPrivateKey, MlDsaPublicKey};
use crate::aws_lc::ml_kem::{MlKem, MlKemPrivateKey, MlKemPublicKey};
use crate::aws_lc::x25519::X25519PrivateKey;

/// The type of a key: its algorithm, and the curve or parameter set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum KeyType {
    /// RSA of 1024 to 4096 bits (RFC 8017): signatures and encryption.
    Rsa,
    /// ECDSA (FIPS 186-5) and ECDH (SP 800-56A) on a NIST curve.
    Ec(Curve),
    /// Ed25519 (RFC 8032): signatures.
    Ed25519,
    /// X25519 (RFC 7748): key agreement.
    X25519,
    /// ML-KEM (FIPS 203): key encapsulation.
    MlKem(MlKem),
    /// ML-DSA (FIPS 204): signatures.
    MlDsa(MlDsa),
}

impl KeyType {
    /// All key types.
    pub const ALL: [Self; 12] = [
        Self::Rsa,
        Self::Ec(Curve::P256),
        Self::Ec(Curve::P384),
        Self::Ec(Curve::P521),
        Self::Ed25519,
        Self::X25519,
        Self::MlKem(MlKem::MlKem512),
        Self::MlKem(MlKem::MlKem768),
        Self::MlKem(MlKem::MlKem1024),
        Self::MlDsa(MlDsa::MlDsa44),
        Self::MlDsa(MlDsa::MlDsa65),
        Self::MlDsa(MlDsa::MlDsa87),
    ];

    /// Returns the standard's name: `RSA`, `P-256`, `Ed25519`, `X25519`, `ML-KEM-768`, `ML-DSA-65`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rsa => "RSA",
            Self::Ec(curve) => curve.name(),
            Self::Ed25519 => "Ed25519",
            Self::X25519 => "X25519",
            Self::MlKem(set) => set.name(),
            Self::MlDsa(set) => set.name(),
        }
    }

    /// Returns the type with this name, in upper or lower case.
    pub fn named(name: &str) -> Option<Self> {
        let is_named = |one: &Self| one.name().eq_ignore_ascii_case(name);
        Self::ALL.into_iter().find(is_named)
    }

    /// Whether keys of this type can sign and verify.
    pub const fn signs(self) -> bool {
        matches!(
            self,
            Self::Rsa | Self::Ec(_) | Self::Ed25519 | Self::MlDsa(_)
        )
    }

    /// Whether two keys of this type can agree on a secret.
    pub const fn agrees(self) -> bool {
        matches!(self, Self::Ec(_) | Self::X25519)
    }

    /// Returns the length in bytes of the secrets that keys of this type agree on or encapsulate: 32, 48 or 66; 0 for other
    /// types.
    pub const fn secret_bytes(self) -> usize {
        match self {
            Self::Ec(curve) => curve.bytes(),
            Self::X25519 | Self::MlKem(_) => 32,
            Self::Rsa | Self::Ed25519 | Self::MlDsa(_) => 0,
        }
    }

    /// Returns the length in bytes of the ciphertexts that carry a secret: 768, 1088 or 1568; 0 for other types.
    pub const fn ciphertext_bytes(self) -> usize {
        match self {
            Self::MlKem(set) => set.ciphertext_bytes(),
            _ => 0,
        }
    }

    /// Whether keys of this type can encapsulate and decapsulate secrets.
    pub const fn encapsulates(self) -> bool {
        matches!(self, Self::MlKem(_))
    }
}

impl fmt::Display for KeyType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A private key of any [type](KeyType), with its public half. Clones share it; dropping the last one wipes it.
///
/// It reads and writes PKCS#8 (RFC 5958; RFC 5915 for NIST curves, RFC 8410 for Ed25519 and X25519, RFC 9935 for ML-KEM and
/// RFC 9881 for ML-DSA), and reads `EC PRIVATE KEY`, `RSA PRIVATE KEY` and OpenSSH's private keys.
///
/// ```
/// use oarlock::keys::{KeyType, PrivateKey, PublicKey, Scheme};
///
/// let key = PrivateKey::generate(KeyType::Ed25519)?;
/// let signature = key.sign(&Scheme::Ed25519, b"message")?;
///
/// let read = PrivateKey::from_bytes(key.to_pkcs8_pem()?.as_bytes())?;
/// let public = PublicKey::from_bytes(&read.public_key().to_spki_der()?)?;
/// public.verify(&Scheme::Ed25519, b"message", &signature)?;
/// # Ok::<(), oarlock::Error>(())
/// ```
#[derive(Clone)]
pub struct PrivateKey(Arc<Pair>);

struct Pair {
    private: Private,
    public: PublicKey,
}

enum Private {
    Rsa(RsaPrivateKey),
    Ec(EcPrivateKey),
    Ed25519(Ed25519PrivateKey),
    X25519(X25519PrivateKey),
    MlKem(MlKemPrivateKey),
    MlDsa(MlDsaPrivateKey),
}

/// A public key of any [type](KeyType). Clones share it.
///
/// It reads and writes SubjectPublicKeyInfo (RFC 5280, 4.1.2.7), and reads `RSA PUBLIC KEY` and OpenSSH's public-key lines.
#[derive(Clone)]
pub struct PublicKey(Arc<Public>);

enum Public {
    Rsa(RsaPublicKey),
    Ec(EcPublicKey),
    Ed25519(Ed25519PublicKey),
    X25519([u8; 32]),
    MlKem(MlKemPublicKey),
    MlDsa(MlDsaPublicKey),
}

impl PrivateKey {
    /// Generates a key pair. One of RSA has 2048 bits; [`RsaPrivateKey::generate`] makes others.
    ///
    /// ```
    /// use oarlock::keys::{KeyType, PrivateKey};
    ///
    /// for key_type in KeyType::ALL {
    ///     assert_eq!(PrivateKey::generate(key_type)?.key_type(), key_type);
    /// }
    /// # Ok::<(), oarlock::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::DeviceFailed`] if memory is exhausted.
    pub fn generate(key_type: KeyType) -> Result<Self, Error> {
        let private = match key_type {
            KeyType::Rsa => return RsaPrivateKey::generate(2048).map(Self::from),
            KeyType::Ec(curve) => Private::Ec(EcPrivateKey::generate(curve)?),
            KeyType::Ed25519 => Private::Ed25519(Ed25519PrivateKey::generate()),
            KeyType::X25519 => Private::X25519(X25519PrivateKey::generate().0),
            KeyType::MlKem(set) => Private::MlKem(MlKemPrivateKey::generate(set)?),
            KeyType::MlDsa(set) => Private::MlDsa(MlDsaPrivateKey::generate(set)?),
        };
        Self::new(private)
    }

    /// Parses the raw form of a private key, as the standard of its type defines it.
    ///
    /// | type | bytes |
    /// |---|---|
    /// | P-256, P-384, P-521 | the scalar, big-endian, 32, 48 or 66 |
    /// | Ed25519, X25519 | 32 |
    /// | ML-KEM | the seed d and z, 64; or the decapsulation key, 1632, 2400 or 3168 |
    /// | ML-DSA | the seed ξ, 32; or the private key, 2560, 4032 or 4896 |
    ///
    /// ```
    /// use oarlock::keys::{KeyType, PrivateKey};
    ///
    /// let key = PrivateKey::from_raw(KeyType::X25519, &[7; 32])?;
    /// assert_eq!(**key.to_raw()?, [7; 32]);
    /// # Ok::<(), oarlock::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidKey`] says what is wrong: a length, a scalar that is 0 or not below the curve's order, or an expanded
    /// key whose parts contradict each other. [`Error::InvalidInput`] for RSA, whose keys are numbers:
    /// [`RsaPrivateKey::from_all_numbers`](crate::rsa::RsaPrivateKey::from_all_numbers).
    pub fn from_raw(key_type: KeyType, bytes: &[u8]) -> Result<Self, Error> {
        let length = |expected: &str| wrong_length(key_type, "private key", bytes.len(), expected);
        let private = match key_type {
            KeyType::Rsa => return Err(no_raw_form()),
            KeyType::Ec(curve) if bytes.len() != curve.bytes() => {
                return Err(length(&curve.bytes().to_string()));
            }
            KeyType::Ec(curve) => Private::Ec(EcPrivateKey::new(curve, bytes)?),
            KeyType::Ed25519 => {
                let seed = bytes.try_into().map_err(|_| length("32"))?;
                Private::Ed25519(Ed25519PrivateKey::from_seed(seed))
            }
            KeyType::X25519 => {
                let bytes = bytes.try_into().map_err(|_| length("32"))?;
                Private::X25519(X25519PrivateKey::from_bytes(bytes))
            }
            KeyType::MlKem(set) => Private::MlKem(match bytes.try_into() {
                Ok(seed) => MlKemPrivateKey::from_seed(set, seed)?,
                Err(_) if bytes.len() == set.private_key_bytes() => {
                    MlKemPrivateKey::from_bytes(set, bytes)?
                }
                Err(_) => return Err(length(&format!("64 or {}", set.private_key_bytes()))),
            }),
            KeyType::MlDsa(set) => Private::MlDsa(match bytes.try_into() {
                Ok(seed) => MlDsaPrivateKey::from_seed(set, seed)?,
                Err(_) if bytes.len() == set.private_key_bytes() => {
                    MlDsaPrivateKey::from_bytes(set, bytes)?
                }
                Err(_) => return Err(length(&format!("32 or {}", set.private_key_bytes()))),
            }),
        };
        Self::new(private)
    }

    /// Returns the raw form that [`from_raw`](Self::from_raw) parses. For ML-KEM and ML-DSA it is the seed, if that is
    /// known.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] for RSA.
    pub fn to_raw(&self) -> Result<Zeroizing<Vec<u8>>, Error> {
        Ok(match &self.0.private {
            Private::Rsa(_) => return Err(no_raw_form()),
            Private::Ec(key) => key.scalar(),
            Private::Ed25519(key) => Zeroizing::new(key.seed().to_vec()),
            Private::X25519(key) => Zeroizing::new(key.as_bytes().to_vec()),
            Private::MlKem(key) => match key.seed() {
                Some(seed) => Zeroizing::new(seed.to_vec()),
                None => self.expanded()?,
            },
            Private::MlDsa(key) => match key.seed() {
                Some(seed) => Zeroizing::new(seed.to_vec()),
                None => self.expanded()?,
            },
        })
    }

    /// Returns the private key in the form of FIPS 203 or 204, which is longer than the seed. Only ML-KEM and ML-DSA have
    /// one.
    fn expanded(&self) -> Result<Zeroizing<Vec<u8>>, Error> {
        match &self.0.private {
            Private::MlKem(key) => {
                let mut bytes = Zeroizing::new(vec![0; key.set().private_key_bytes()]);
                key.write_to(&mut bytes)?;
                Ok(bytes)
            }
            Private::MlDsa(key) => {
                let mut bytes = Zeroizing::new(vec![0; key.set().private_key_bytes()]);
                key.write_to(&mut bytes)?;
                Ok(bytes)
            }
            _ => Err(no_raw_form()),
        }
    }

    /// Returns the type of the key.
    pub fn key_type(&self) -> KeyType {
        self.public_key().key_type()
    }

    /// Returns the public half.
    pub fn public_key(&self) -> &PublicKey {
        &self.0.public
    }

    /// Returns the key if it is an RSA key.
    pub fn as_rsa(&self) -> Option<&RsaPrivateKey> {
        match &self.0.private {
            Private::Rsa(key) => Some(key),
            _ => None,
        }
    }

    fn new(private: Private) -> Result<Self, Error> {
        let public = match &private {
            Private::Rsa(key) => Public::Rsa(key.public_key().clone()),
            Private::Ec(key) => {
                // Copies the point, so that the public half does not keep the private one alive.
                let mut point = [0; POINT_BYTES_MAX];
                let public = key.public_key();
                Public::Ec(EcPublicKey::new(public.curve(), public.point(&mut point))?)
            }
            Private::Ed25519(key) => Public::Ed25519(*key.public_key()),
            Private::X25519(key) => Public::X25519(key.public_key()),
            Private::MlKem(key) => {
                let mut bytes = vec![0; key.set().public_key_bytes()];
                key.write_public_to(&mut bytes)?;
                Public::MlKem(MlKemPublicKey::from_bytes(key.set(), &bytes)?)
            }
            Private::MlDsa(key) => {
                let mut bytes = vec![0; key.set().public_key_bytes()];
                key.write_public_to(&mut bytes)?;
                Public::MlDsa(MlDsaPublicKey::from_bytes(key.set(), &bytes)?)
            }
        };
        let public = PublicKey(Arc::new(public));
        Ok(Self(Arc::new(Pair { private, public })))
    }
}

impl PublicKey {
    /// Parses the raw form of a public key, as the standard of its type defines it.
    ///
    /// | type | bytes |
    /// |---|---|
    /// | P-256, P-384, P-521 | a point (SEC 1, 2.3.3): uncompressed, 65, 97 or 133; or compressed, 33, 49 or 67 |
    /// | Ed25519, X25519 | 32 |
    /// | ML-KEM | the encapsulation key, 800, 1184 or 1568 |
    /// | ML-DSA | 1312, 1952 or 2592 |
    ///
    /// # Errors
    /// [`Error::InvalidKey`] says what is wrong: a length, a point that is not on the curve, or numbers that are not reduced
    /// (FIPS 203, 7.2). [`Error::InvalidInput`] for RSA:
    /// [`RsaPublicKey::from_numbers`](crate::rsa::RsaPublicKey::from_numbers).
    pub fn from_raw(key_type: KeyType, bytes: &[u8]) -> Result<Self, Error> {
        let length = |expected: &str| wrong_length(key_type, "public key", bytes.len(), expected);
        let public = match key_type {
            KeyType::Rsa => return Err(no_raw_form()),
            KeyType::Ec(curve) => Public::Ec(EcPublicKey::new(curve, bytes)?),
            KeyType::Ed25519 => {
                let bytes = bytes.try_into().map_err(|_| length("32"))?;
                Public::Ed25519(Ed25519PublicKey::from_bytes(bytes))
            }
            KeyType::X25519 => Public::X25519(bytes.try_into().map_err(|_| length("32"))?),
            KeyType::MlKem(set) if bytes.len() != set.public_key_bytes() => {
                return Err(length(&set.public_key_bytes().to_string()));
            }
            KeyType::MlKem(set) => Public::MlKem(MlKemPublicKey::from_bytes(set, bytes)?),
            KeyType::MlDsa(set) => Public::MlDsa(MlDsaPublicKey::from_bytes(set, bytes)?),
        };
        Ok(Self(Arc::new(public)))
    }

    /// Returns the raw form that [`from_raw`](Self::from_raw) parses. A point is uncompressed.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] for RSA.
    pub fn to_raw(&self) -> Result<Vec<u8>, Error> {
        Ok(match &*self.0 {
            Public::Rsa(_) => return Err(no_raw_form()),
            Public::Ec(key) => key.point(&mut [0; POINT_BYTES_MAX]).to_vec(),
            Public::Ed25519(key) => key.as_bytes().to_vec(),
            Public::X25519(key) => key.to_vec(),
            Public::MlKem(key) => {
                let mut bytes = vec![0; key.set().public_key_bytes()];
                key.write_to(&mut bytes)?;
                bytes
            }
            Public::MlDsa(key) => {
                let mut bytes = vec![0; key.set().public_key_bytes()];
                key.write_to(&mut bytes)?;
                bytes
            }
        })
    }

    /// Returns the type of the key.
    pub fn key_type(&self) -> KeyType {
        match &*self.0 {
            Public::Rsa(_) => KeyType::Rsa,
            Public::Ec(key) => KeyType::Ec(key.curve()),
            Public::Ed25519(_) => KeyType::Ed25519,
            Public::X25519(_) => KeyType::X25519,
            Public::MlKem(key) => KeyType::MlKem(key.set()),
            Public::MlDsa(key) => KeyType::MlDsa(key.set()),
        }
    }

    /// Returns the length in bytes of the longest signature: the modulus length for RSA, 72, 104 or 139 for ECDSA, 64 for
    /// Ed25519, 2420, 3309 or 4627 for ML-DSA; 0 if the key cannot sign.
    pub fn signature_bytes_max(&self) -> usize {
        match &*self.0 {
            Public::Rsa(key) => key.bytes(),
            Public::Ec(key) => key.curve().signature_bytes_max(),
            Public::Ed25519(_) => SIGNATURE_BYTES,
            Public::MlDsa(key) => key.set().signature_bytes(),
            Public::X25519(_) | Public::MlKem(_) => 0,
        }
    }

    /// Returns the key if it is an RSA key.
    pub fn as_rsa(&self) -> Option<&RsaPublicKey> {
        match &*self.0 {
            Public::Rsa(key) => Some(key),
            _ => None,
        }
    }
}

impl From<RsaPrivateKey> for PrivateKey {
    fn from(key: RsaPrivateKey) -> Self {
        let public = key.public_key().clone().into();
        let private = Private::Rsa(key);
        Self(Arc::new(Pair { private, public }))
    }
}

impl From<RsaPublicKey> for PublicKey {
    fn from(key: RsaPublicKey) -> Self {
        Self(Arc::new(Public::Rsa(key)))
    }
}

impl PartialEq for PublicKey {
    fn eq(&self, other: &Self) -> bool {
        match (&*self.0, &*other.0) {
            (Public::Rsa(one), Public::Rsa(other)) => one == other,
            (Public::Rsa(_), _) | (_, Public::Rsa(_)) => false,
            _ => self.key_type() == other.key_type() && self.to_raw() == other.to_raw(),
        }
    }
}

impl Eq for PublicKey {}

/// Shows only the type.
impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PrivateKey")
            .field("key_type", &self.key_type())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PublicKey")
            .field("key_type", &self.key_type())
            .finish_non_exhaustive()
    }
}

fn wrong_length(key_type: KeyType, what: &str, given: usize, expected: &str) -> Error {
    invalid(format!(
        "{given} bytes: a {what} of {key_type} has {expected}"
    ))
}

fn no_raw_form() -> Error {
    Error::InvalidInput("an RSA key is made of numbers and has no raw form".into())
}

fn invalid(what: impl Into<String>) -> Error {
    Error::InvalidKey(what.into())
}

#[cfg(test)]
mod tests;
