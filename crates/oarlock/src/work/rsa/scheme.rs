//! How messages become numbers that a key is applied to (RFC 8017).

use zeroize::Zeroizing;

use super::key::RsaPublicKey;
use super::padding::{self, Hash, Pss, PssSalt};
use crate::Error;
use crate::aws_lc::rsa::fill_random;

/// How a message is made into a signature (RFC 8017, 8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SignatureScheme {
    /// RSASSA-PKCS1-v1_5 (8.2).
    Pkcs1(Hash),
    /// RSASSA-PSS (8.1) with MGF1 of the same hash and a salt as long as its digests.
    Pss(Hash),
    /// RSASSA-PSS with parameters of its own.
    PssWith {
        /// Of the message.
        hash: Hash,
        /// Of MGF1.
        mgf1: Hash,
        /// How long the salt is.
        salt: PssSalt,
    },
}

impl SignatureScheme {
    /// Of the message.
    pub const fn hash(self) -> Hash {
        match self {
            Self::Pkcs1(hash) | Self::Pss(hash) | Self::PssWith { hash, .. } => hash,
        }
    }

    /// What a signature is the private power of (RFC 8017, 9): the digest, padded to the bytes of the
    /// modulus. With PSS each call takes another salt.
    ///
    /// ```
    /// use oarlock::Accelerator;
    /// use oarlock::rsa::{Hash, RsaPrivateKey, SignatureScheme};
    ///
    /// let key = RsaPrivateKey::from_pem(include_str!("../../../tests/keys/rsa2048.pem"))?;
    /// let rsa = Accelerator::builder().build()?.rsa(&key);
    /// let scheme = SignatureScheme::Pkcs1(Hash::Sha256);
    /// let number = scheme.encode(&[7; 32], key.public_key())?;
    /// assert_eq!(**rsa.raw_private(&number)?, *rsa.sign_digest(scheme, &[7; 32])?);
    /// # Ok::<(), oarlock::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidInput`] for a digest of another length, a key that is too short for the scheme,
    /// and for [`Hash::Sha1`].
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

/// A scheme with nothing left to be understood.
pub(crate) enum SignaturePadding {
    Pkcs1(Hash),
    Pss(Pss),
}

/// How a message is made into a ciphertext (RFC 8017, 7).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EncryptionScheme {
    /// RSAES-PKCS1-v1_5 (7.2), for existing protocols; new ones use OAEP. Decryption rejects
    /// implicitly: see [`AcceleratedRsa::decrypt`](crate::rsa::AcceleratedRsa::decrypt).
    Pkcs1,
    /// RSAES-OAEP (7.1).
    Oaep {
        /// Of the label.
        hash: Hash,
        /// Of MGF1: usually the same.
        mgf1: Hash,
        /// Known to both sides; usually empty.
        label: Vec<u8>,
    },
}

impl EncryptionScheme {
    /// OAEP with MGF1 of the same hash and without a label. With SHA-1 it is the default of OpenSSL and
    /// others.
    pub const fn oaep(hash: Hash) -> Self {
        Self::Oaep {
            hash,
            mgf1: hash,
            label: Vec::new(),
        }
    }
}

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

/// The number that a signature is a power of. `fill` makes the salt, where there is one.
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

/// A big-endian number, which must be less than the modulus, with as many bytes as that.
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
