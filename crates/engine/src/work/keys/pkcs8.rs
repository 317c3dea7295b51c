//! Private keys in PKCS#8 (RFC 5958), SEC 1 (RFC 5915) and PKCS#1 (RFC 8017, A.1.2).

use pkcs8::PrivateKeyInfoRef;
use pkcs8::der::asn1::{AnyRef, BitStringRef, ContextSpecific, OctetStringRef, UintRef};
use pkcs8::der::pem::LineEnding;
use pkcs8::der::{
    self, Decode, Encode, Reader, SecretDocument, SliceReader, Tag, TagMode, TagNumber,
};
use subtle::ConstantTimeEq as _;
use zeroize::Zeroizing;

use super::der::{elements, first_tags, tagged};
use super::pem::{self, encrypted, unknown_label};
use super::spki::{algorithm, curve, key_type, not_written};
use super::{KeyType, Private, PrivateKey, PublicKey, invalid};
use crate::Error;
use crate::aws_lc::ec::Curve;
use crate::work::rsa::key::RsaPrivateKey;

impl PrivateKey {
    /// Parses an unencrypted private key: PKCS#8 in DER or PEM (`PRIVATE KEY`), SEC 1 in DER or PEM (`EC PRIVATE KEY`),
    /// PKCS#1 in DER or PEM (`RSA PRIVATE KEY`), or, with the feature `ssh`, OpenSSH's own format (`OPENSSH PRIVATE KEY`).
    ///
    /// An ML-KEM or ML-DSA private key may be a seed, an expanded key or both (RFC 9935, 6; RFC 9881, 6). A curve must be
    /// given by name, and be P-256, P-384 or P-521.
    ///
    /// ```
    /// use oarlock::keys::{KeyType, PrivateKey};
    ///
    /// let pem = "-----BEGIN PRIVATE KEY-----
    /// MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC
    /// -----END PRIVATE KEY-----";
    /// let key = PrivateKey::from_bytes(pem.as_bytes())?;
    /// assert_eq!(key.key_type(), KeyType::Ed25519);
    /// # Ok::<(), oarlock::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidKey`] says what is wrong: an encrypted key, an unknown format or algorithm, another curve or explicit
    /// curve parameters, a number out of range, bytes after the key, or parts that contradict each other: the halves of the
    /// key, or a seed and an expanded key.
    pub fn from_bytes(key: &[u8]) -> Result<Self, Error> {
        let Some(text) = pem::text(key, |_| false)? else {
            return Self::from_der(key);
        };
        let (label, der) = pem::decoded(text)?;
        match label {
            "PRIVATE KEY" => Self::from_pkcs8(&der),
            "EC PRIVATE KEY" => Self::from_sec1(&der, None),
            "RSA PRIVATE KEY" => Ok(RsaPrivateKey::from_pem(text)?.into()),
            "ENCRYPTED PRIVATE KEY" => Err(encrypted()),
            #[cfg(feature = "ssh")]
            "OPENSSH PRIVATE KEY" => Self::from_openssh(&der),
            label => Err(unknown_label(
                label,
                "PRIVATE KEY, EC PRIVATE KEY, RSA PRIVATE KEY or OPENSSH PRIVATE KEY",
            )),
        }
    }

    fn from_der(der: &[u8]) -> Result<Self, Error> {
        match first_tags(der) {
            Some((Tag::Integer, Tag::OctetString)) => Self::from_sec1(der, None),
            Some((Tag::Integer, Tag::Integer)) => Ok(RsaPrivateKey::from_der(der)?.into()),
            Some((Tag::Sequence, Tag::OctetString)) => Err(encrypted()),
            _ => Self::from_pkcs8(der),
        }
    }

    fn from_pkcs8(der: &[u8]) -> Result<Self, Error> {
        let info = PrivateKeyInfoRef::from_der(der)
            .map_err(|error| invalid(format!("not a PKCS#8 private key: {error}")))?;
        let key_type = key_type(info.algorithm)?;
        let private = info.private_key.as_bytes();
        let key = match key_type {
            KeyType::Rsa => RsaPrivateKey::from_der(der)?.into(),
            KeyType::Ec(curve) => Self::from_sec1(private, Some(curve))?,
            KeyType::Ed25519 | KeyType::X25519 => {
                let raw = <&OctetStringRef>::from_der(private).map_err(|error| {
                    invalid(format!(
                        "a private key of {key_type} that is no octet string (RFC 8410, 7): {error}"
                    ))
                })?;
                Self::from_raw(key_type, raw.as_bytes())?
            }
            KeyType::MlKem(_) | KeyType::MlDsa(_) => Self::from_choice(key_type, private)?,
        };
        if let Some(bits) = info.public_key {
            key.check_public(&PublicKey::from_bits(key_type, bits)?)?;
        }
        Ok(key)
    }

    /// Parses an ECPrivateKey (RFC 5915, 3), whose curve may be named in the enclosing structure.
    fn from_sec1(der: &[u8], named: Option<Curve>) -> Result<Self, Error> {
        let parts = || {
            let mut reader = elements(der)?;
            let version: u8 = reader.decode()?;
            let scalar: &OctetStringRef = reader.decode()?;
            let parameters = tagged(&mut reader, 0)?;
            let point = match tagged(&mut reader, 1)? {
                Some(point) => Some(point.decode_as::<BitStringRef<'_>>()?),
                None => None,
            };
            reader.finish()?;
            Ok((version, scalar.as_bytes(), parameters, point))
        };
        let (version, scalar, parameters, point) = parts().map_err(|error: der::Error| {
            invalid(format!("not an EC private key (RFC 5915): {error}"))
        })?;
        if version != 1 {
            return Err(invalid(format!(
                "an EC private key of version {version}: RFC 5915 has version 1"
            )));
        }
        let curve = match (named, parameters.map(curve).transpose()?) {
            (Some(outer), Some(inner)) if outer != inner => {
                return Err(invalid(format!(
                    "the key names two curves, {} and {}",
                    outer.name(),
                    inner.name()
                )));
            }
            (Some(curve), _) | (None, Some(curve)) => curve,
            (None, None) => return Err(invalid("the key does not name its curve")),
        };
        let key_type = KeyType::Ec(curve);
        let key = Self::from_raw(key_type, scalar)?;
        if let Some(bits) = point {
            key.check_public(&PublicKey::from_bits(key_type, bits)?)?;
        }
        Ok(key)
    }

    /// Parses a seed, an expanded key or both, for ML-KEM (RFC 9935, 6) or ML-DSA (RFC 9881, 6).
    fn from_choice(key_type: KeyType, der: &[u8]) -> Result<Self, Error> {
        let malformed = |error: der::Error| {
            let rfc = match key_type {
                KeyType::MlKem(_) => "RFC 9935, 6",
                _ => "RFC 9881, 6",
            };
            invalid(format!(
                "a private key of {key_type} that is no seed, expanded key or both ({rfc}): {error}"
            ))
        };
        let seed_bytes = match key_type {
            KeyType::MlKem(_) => 64,
            _ => 32,
        };
        let seeded = |seed: &[u8]| {
            if seed.len() == seed_bytes {
                return Self::from_raw(key_type, seed);
            }
            Err(invalid(format!(
                "{} bytes: a seed of {key_type} has {seed_bytes}",
                seed.len()
            )))
        };
        let expanded = |bytes: &[u8]| {
            if bytes.len() == seed_bytes {
                return Err(invalid(format!(
                    "a private key of {key_type} whose expanded key has the length of a seed"
                )));
            }
            Self::from_raw(key_type, bytes)
        };
        let mut reader = SliceReader::new(der).map_err(malformed)?;
        match Tag::peek(&reader).map_err(malformed)? {
            Tag::ContextSpecific { .. } => {
                let seed = ContextSpecific::<&OctetStringRef>::decode_implicit(&mut reader, SEED)
                    .and_then(|seed| seed.ok_or_else(|| der::ErrorKind::TagNumberInvalid.into()))
                    .map_err(malformed)?;
                reader.finish().map_err(malformed)?;
                seeded(seed.value.as_bytes())
            }
            Tag::Sequence => {
                let both = || {
                    let mut reader = elements(der)?;
                    let seed: &OctetStringRef = reader.decode()?;
                    let key: &OctetStringRef = reader.decode()?;
                    reader.finish()?;
                    Ok((seed.as_bytes(), key.as_bytes()))
                };
                let (seed, key) = both().map_err(malformed)?;
                let seeded = seeded(seed)?;
                if seeded.expanded()?.ct_eq(key).into() {
                    return Ok(seeded);
                }
                Err(invalid(format!(
                    "a private key of {key_type} whose expanded key is not that of its seed"
                )))
            }
            _ => {
                let key = <&OctetStringRef>::from_der(der).map_err(malformed)?;
                expanded(key.as_bytes())
            }
        }
    }

    /// Checks that the public half equals `public`, which was stored with the private key.
    pub(super) fn check_public(&self, public: &PublicKey) -> Result<(), Error> {
        if self.public_key() == public {
            return Ok(());
        }
        Err(invalid(format!(
            "the public half that comes along is not that of the private key of {}",
            self.key_type()
        )))
    }

    /// Encodes the key as PKCS#8 in DER, version 1. A NIST-curve key includes its public half (RFC 5915, 3). An ML-KEM or
    /// ML-DSA key is written as its seed, or expanded if the seed is unknown.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] for an RSA key that a device holds or that lacks its primes.
    pub fn to_pkcs8_der(&self) -> Result<Zeroizing<Vec<u8>>, Error> {
        self.document().map(|document| document.to_bytes())
    }

    /// Encodes the key as PKCS#8 in PEM (`PRIVATE KEY`), with a newline at the end of each line.
    ///
    /// # Errors
    /// Those of [`to_pkcs8_der`](Self::to_pkcs8_der).
    pub fn to_pkcs8_pem(&self) -> Result<Zeroizing<String>, Error> {
        let pem = self.document()?.to_pem("PRIVATE KEY", LineEnding::LF);
        pem.map_err(|error| not_written(&error))
    }

    fn document(&self) -> Result<SecretDocument, Error> {
        let private = self.inner()?;
        let write = || {
            SecretDocument::encode_msg(&PrivateKeyInfoRef {
                algorithm: algorithm(self.key_type()),
                private_key: OctetStringRef::new(&private)?,
                public_key: None,
            })
        };
        write().map_err(|error| not_written(&error))
    }

    /// Returns the content of PKCS#8's `privateKey`.
    fn inner(&self) -> Result<Zeroizing<Vec<u8>>, Error> {
        if let Private::Rsa(key) = &self.0.private {
            return pkcs1(key);
        }
        let raw = self.to_raw()?;
        let write = || {
            let octets = OctetStringRef::new(&raw)?;
            match &self.0.private {
                Private::Ec(_) => sec1(octets, self.public_key()),
                Private::MlKem(key) if key.seed().is_some() => seed(octets),
                Private::MlDsa(key) if key.seed().is_some() => seed(octets),
                _ => octets.to_der(),
            }
        };
        let inner = write().map_err(|error| not_written(&error))?;
        Ok(Zeroizing::new(inner))
    }
}

/// Encodes an ECPrivateKey without the curve, which the enclosing structure names.
fn sec1(scalar: &OctetStringRef, public: &PublicKey) -> Result<Vec<u8>, der::Error> {
    let point = public.to_raw().map_err(|_| Tag::BitString.value_error())?;
    let point = ContextSpecific {
        tag_number: TagNumber(1),
        tag_mode: TagMode::Explicit,
        value: BitStringRef::from_bytes(&point)?,
    };
    // Enough capacity for the whole body: growing it would leave a copy of the scalar behind.
    let mut body = Zeroizing::new(Vec::with_capacity(SEC1_BYTES_MAX));
    1u8.encode_to_vec(&mut body)?;
    scalar.encode_to_vec(&mut body)?;
    point.encode_to_vec(&mut body)?;
    AnyRef::new(Tag::Sequence, &body)?.to_der()
}

fn seed(octets: &OctetStringRef) -> Result<Vec<u8>, der::Error> {
    let seed = ContextSpecific {
        tag_number: SEED,
        tag_mode: TagMode::Implicit,
        value: octets,
    };
    seed.to_der()
}

/// Encodes an RSAPrivateKey (RFC 8017, A.1.2).
fn pkcs1(key: &RsaPrivateKey) -> Result<Zeroizing<Vec<u8>>, Error> {
    let numbers = key.secret_numbers()?.ok_or_else(|| {
        Error::InvalidInput("the key is held by a device, which does not give it away".into())
    })?;
    let primes = numbers.primes.as_ref().ok_or_else(|| {
        Error::InvalidInput("the key is without its primes, which PKCS#1 and PKCS#8 need".into())
    })?;
    let write = || {
        pkcs1::RsaPrivateKeyRef {
            modulus: UintRef::new(key.public_key().modulus())?,
            public_exponent: UintRef::new(key.public_key().exponent())?,
            private_exponent: UintRef::new(&numbers.d)?,
            prime1: UintRef::new(&primes.p)?,
            prime2: UintRef::new(&primes.q)?,
            exponent1: UintRef::new(&primes.dp)?,
            exponent2: UintRef::new(&primes.dq)?,
            coefficient: UintRef::new(&primes.qinv)?,
            other_prime_infos: None,
        }
        .to_der()
    };
    let der = write().map_err(|error| not_written(&error))?;
    Ok(Zeroizing::new(der))
}

/// The tag of the seed in the CHOICE that is an ML-KEM or ML-DSA private key.
const SEED: TagNumber = TagNumber(0);
/// More than the longest ECPrivateKey body, that of P-521 with about 210 bytes.
const SEC1_BYTES_MAX: usize = 256;
