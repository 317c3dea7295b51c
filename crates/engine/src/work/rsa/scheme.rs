//! Schemes that encode messages as numbers for RSA (RFC 8017).

use zeroize::Zeroizing;

use super::key::{RsaPrivateKey, RsaPublicKey};
use super::padding::{self, Hash, Pss, PssSalt};
use crate::Error;
use crate::aws_lc::random::fill_random;

/// A signature scheme of RSA (RFC 8017, 8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SignatureScheme {
    /// RSASSA-PKCS1-v1_5 (8.2).
    Pkcs1(Hash),
    /// RSASSA-PSS (8.1) with MGF1 of the same hash and a salt as long as its digest.
    Pss(Hash),
    /// RSASSA-PSS with explicit parameters.
    PssWith {
        /// The hash function of the message.
        hash: Hash,
        /// The hash function of MGF1.
        mgf1: Hash,
        /// The length of the salt.
        salt: PssSalt,
    },
}

impl SignatureScheme {
    /// Returns the hash function of the message.
    pub const fn hash(self) -> Hash {
        match self {
            Self::Pkcs1(hash) | Self::Pss(hash) | Self::PssWith { hash, .. } => hash,
        }
    }

    /// Returns the encoded digest, which the private operation turns into a signature (RFC 8017, 9). It is as long as the
    /// modulus. With PSS, each call draws a new salt.
    ///
    /// ```
    /// use oarlock::Accelerator;
    /// use oarlock::rsa::{Hash, RsaPrivateKey, SignatureScheme};
    ///
    /// let key = RsaPrivateKey::from_pem(include_str!("../../../../oarlock/tests/keys/rsa2048.pem"))?;
    /// let rsa = Accelerator::builder().build()?.rsa(&key);
    /// let scheme = SignatureScheme::Pkcs1(Hash::Sha256);
    /// let number = scheme.encode(&[7; 32], key.public_key())?;
    /// assert_eq!(**rsa.raw_private(&number)?, *rsa.sign_digest(scheme, &[7; 32])?);
    /// # Ok::<(), oarlock::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidInput`] for a digest of another length, a key that is too short for the scheme, and [`Hash::Sha1`].
    pub fn encode(self, digest: &[u8], key: &RsaPublicKey) -> Result<Vec<u8>, Error> {
        check_digest(self, digest)?;
        signature_operand(self, digest, key)
    }

    pub(crate) fn padding(self) -> SignaturePadding {
        match self {
            Self::Pkcs1(hash) => SignaturePadding::Pkcs1(hash),
            Self::Pss(hash) => SignaturePadding::Pss(Pss {
                hash,
                mgf1: hash,
                salt: PssSalt::Digest,
            }),
            Self::PssWith { hash, mgf1, salt } => SignaturePadding::Pss(Pss { hash, mgf1, salt }),
        }
    }
}

/// A signature scheme with its parameters resolved.
pub(crate) enum SignaturePadding {
    Pkcs1(Hash),
    Pss(Pss),
}

/// An encryption scheme of RSA (RFC 8017, 7).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EncryptionScheme {
    /// RSAES-PKCS1-v1_5 (7.2), for existing protocols; use OAEP in new ones. Decryption rejects implicitly: see
    /// [`AcceleratedRsa::decrypt`](crate::rsa::AcceleratedRsa::decrypt).
    Pkcs1,
    /// RSAES-OAEP (7.1).
    Oaep {
        /// The hash function of the label.
        hash: Hash,
        /// The hash function of MGF1, usually the same.
        mgf1: Hash,
        /// The label, known to both sides and usually empty.
        label: Vec<u8>,
    },
}

impl EncryptionScheme {
    /// OAEP with MGF1 of the same hash and no label. With SHA-1 it is the default of OpenSSL and other libraries.
    pub const fn oaep(hash: Hash) -> Self {
        Self::Oaep {
            hash,
            mgf1: hash,
            label: Vec::new(),
        }
    }

    /// Decodes `power`, the private power of `ciphertext`, as
    /// [`AcceleratedRsa::decrypt`](crate::rsa::AcceleratedRsa::decrypt) does. Both are as long as the modulus. The time
    /// depends on nothing but the length of the message. `key` is the key of implicit rejection; OAEP does not need it.
    ///
    /// ```
    /// use oarlock::Accelerator;
    /// use oarlock::rsa::{EncryptionScheme, Hash, RsaPrivateKey};
    ///
    /// let key = RsaPrivateKey::from_pem(include_str!("../../../../oarlock/tests/keys/rsa2048.pem"))?;
    /// let rsa = Accelerator::builder().build()?.rsa(&key);
    /// let scheme = EncryptionScheme::oaep(Hash::Sha256);
    /// let ciphertext = rsa.public().encrypt(&scheme, b"a message")?;
    /// let power = rsa.raw_private(&ciphertext)?;
    /// assert_eq!(**scheme.decode(&power, &ciphertext, None)?, *b"a message");
    /// # Ok::<(), oarlock::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::DecryptionFailed`] if OAEP's padding is wrong; PKCS#1 v1.5 rejects implicitly. [`Error::InvalidInput`] if
    /// the two lengths do not belong to one modulus, or for PKCS#1 v1.5 without the key.
    pub fn decode(
        &self,
        power: &[u8],
        ciphertext: &[u8],
        key: Option<&RsaPrivateKey>,
    ) -> Result<Zeroizing<Vec<u8>>, Error> {
        let bytes = key.map_or(power.len(), |key| key.public_key().bytes());
        check_power(power)?;
        if (power.len(), ciphertext.len()) != (bytes, bytes) {
            return Err(Error::InvalidInput(format!(
                "a power of {} bytes and a ciphertext of {}: the modulus has {bytes}",
                power.len(),
                ciphertext.len()
            )));
        }
        match self {
            Self::Pkcs1 => {
                let key = key.ok_or_else(|| {
                    Error::InvalidInput("PKCS#1 v1.5 rejects implicitly, by the key".into())
                })?;
                Ok(padding::pkcs1_message_or_other(
                    power,
                    ciphertext,
                    &key.parts().rejection_key,
                ))
            }
            Self::Oaep { hash, mgf1, label } => padding::oaep_plaintext(*hash, *mgf1, label, power),
        }
    }
}

/// Decodes the premaster secret that a client of TLS 1.2 or earlier encrypted with PKCS#1 v1.5. `power` is the private power
/// of its message and as long as the modulus. If the padding is wrong, or the secret does not begin with one of `versions`,
/// this returns 48 random bytes, and neither the result nor the time reveals which (RFC 5246, 7.4.7.1). The server continues
/// with them, and the client's Finished message fails.
///
/// `versions` holds the version that the client offered in its ClientHello, such as `0x0303` for TLS 1.2, and, to support
/// faulty clients, the negotiated version.
///
/// ```
/// use oarlock::Accelerator;
/// use oarlock::rsa::{EncryptionScheme, RsaPrivateKey, tls_premaster_secret};
///
/// let key = RsaPrivateKey::from_pem(include_str!("../../../../oarlock/tests/keys/rsa2048.pem"))?;
/// let rsa = Accelerator::builder().build()?.rsa(&key);
/// let mut secret = [7; 48];
/// secret[..2].copy_from_slice(&[3, 3]);
/// let sent = rsa.public().encrypt(&EncryptionScheme::Pkcs1, &secret)?;
/// let power = rsa.raw_private(&sent)?;
/// assert_eq!(**tls_premaster_secret(&power, &[0x0303])?, secret);
/// assert_ne!(**tls_premaster_secret(&power, &[0x0302])?, secret);
/// # Ok::<(), oarlock::Error>(())
/// ```
///
/// # Errors
/// [`Error::InvalidInput`] for a power of fewer than 128 bytes.
pub fn tls_premaster_secret(power: &[u8], versions: &[u16]) -> Result<Zeroizing<Vec<u8>>, Error> {
    check_power(power)?;
    let mut other = Zeroizing::new(vec![0; PREMASTER_SECRET_BYTES]);
    fill_random(&mut other);
    Ok(padding::tls_premaster_secret(power, versions, other))
}

/// Checks that a power is at least as long as the shortest modulus, which its users rely on.
fn check_power(power: &[u8]) -> Result<(), Error> {
    if power.len() >= MODULUS_BYTES_MIN {
        return Ok(());
    }
    Err(Error::InvalidInput(format!(
        "a power of {} bytes: a modulus has at least {MODULUS_BYTES_MIN}",
        power.len()
    )))
}

const MODULUS_BYTES_MIN: usize = 128;
/// The length of a premaster secret (RFC 5246, 7.4.7.1).
const PREMASTER_SECRET_BYTES: usize = 48;

pub(crate) fn signature_operand(
    scheme: SignatureScheme,
    digest: &[u8],
    key: &RsaPublicKey,
) -> Result<Vec<u8>, Error> {
    signature_operand_salted(scheme, digest, key, |salt| {
        fill_random(salt);
        Ok(())
    })
}

/// Returns the encoded digest, whose private power is the signature. `fill` generates the salt if there is one.
pub(crate) fn signature_operand_salted<E: From<Error>>(
    scheme: SignatureScheme,
    digest: &[u8],
    key: &RsaPublicKey,
    fill: impl FnOnce(&mut [u8]) -> Result<(), E>,
) -> Result<Vec<u8>, E> {
    if scheme.hash() == Hash::Sha1 {
        return Err(Error::InvalidInput(
            "signatures of SHA-1 digests are verified, and not made: take SHA-256".into(),
        )
        .into());
    }
    match scheme.padding() {
        SignaturePadding::Pkcs1(hash) => Ok(padding::pkcs1_signature(hash, digest, key.bytes())),
        SignaturePadding::Pss(pss) => padding::pss_signature(pss, digest, key.bits(), fill),
    }
}

pub(crate) fn check_digest(scheme: SignatureScheme, digest: &[u8]) -> Result<(), Error> {
    let bytes = scheme.hash().bytes();
    if digest.len() == bytes {
        return Ok(());
    }
    Err(Error::InvalidInput(format!(
        "a digest of {} bytes: those of this scheme have {bytes}",
        digest.len()
    )))
}

/// Pads a big-endian number, which must be less than the modulus, to the length of the modulus.
pub(crate) fn number(bytes: &[u8], key: &RsaPublicKey) -> Result<Zeroizing<Vec<u8>>, Error> {
    let too_large = || Error::InvalidInput("the number is not less than the modulus".into());
    let (zeros, digits) = bytes.split_at(bytes.len().saturating_sub(key.bytes()));
    if zeros.iter().any(|byte| *byte != 0) {
        return Err(too_large());
    }
    let mut number = Zeroizing::new(vec![0; key.bytes()]);
    let at = number.len() - digits.len();
    number[at..].copy_from_slice(digits);
    if number[..] >= *key.modulus() {
        return Err(too_large());
    }
    Ok(number)
}
