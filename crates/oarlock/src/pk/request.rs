//! What is asked of a key, in the three steps that whoever computes it goes through: a number is
//! made of it, the number is raised to a power, and the result is taken apart. The middle step
//! alone takes time, and is the same for every request of its direction, so that requests of
//! different kinds, schemes and keys can be computed together.

use zeroize::Zeroizing;

use super::PublicKeyRequest;
use super::key::{Place, RsaPrivateKey, RsaPublicKey};
use super::padding::{self, Hash, Pss, PssSalt};
use crate::Error;
use crate::device::software::rsa::fill_random;
use crate::device::{DeviceError, complete};

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

    pub(super) fn padding(self) -> SignaturePadding {
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
pub(super) enum SignaturePadding {
    Pkcs1(Hash),
    Pss(Pss),
}

/// How a message is made into a ciphertext (RFC 8017, 7).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EncryptionScheme {
    /// RSAES-PKCS1-v1_5 (7.2), for what exists: new protocols take OAEP. Decryption rejects
    /// implicitly: see [`AcceleratedRsa::decrypt`](crate::AcceleratedRsa::decrypt).
    Pkcs1,
    /// RSAES-OAEP (7.1).
    Oaep {
        /// Of the label.
        hash: Hash,
        /// Of MGF1: mostly the same.
        mgf1: Hash,
        /// Which both sides know; mostly empty.
        label: Vec<u8>,
    },
}

impl EncryptionScheme {
    /// OAEP with MGF1 of the same hash and without a label. With SHA-1 it is what OpenSSL and others
    /// take where nothing else is said.
    pub const fn oaep(hash: Hash) -> Self {
        Self::Oaep {
            hash,
            mgf1: hash,
            label: Vec::new(),
        }
    }
}

/// A request of a private key. `B` are bytes, borrowed or owned.
pub(crate) enum PrivateRequest<B> {
    /// The signature of a message.
    Sign { scheme: SignatureScheme, message: B },
    /// The signature of a message whose digest this is.
    SignDigest { scheme: SignatureScheme, digest: B },
    /// The message in a ciphertext.
    Decrypt {
        scheme: EncryptionScheme,
        ciphertext: B,
    },
    /// A number to the power of d.
    Raw { operand: B },
    /// As above, of one that [`operand`](Self::operand) has given for another request.
    Number { operand: Zeroizing<Vec<u8>> },
}

/// A request of a public key.
pub(crate) enum PublicRequest<B> {
    /// Nothing, if the signature is that of the message.
    Verify {
        scheme: SignatureScheme,
        message: B,
        signature: B,
    },
    /// As above, of a message whose digest this is.
    VerifyDigest {
        scheme: SignatureScheme,
        digest: B,
        signature: B,
    },
    /// The ciphertext of a message.
    Encrypt {
        scheme: EncryptionScheme,
        message: B,
    },
    /// A number to the power of e.
    Raw { operand: B },
    /// As above, of one that [`operand`](Self::operand) has given for another request.
    Number { operand: Zeroizing<Vec<u8>> },
}

impl<B: AsRef<[u8]>> PrivateRequest<B> {
    /// A number less than the modulus, of as many bytes.
    pub(super) fn operand(&self, key: &RsaPublicKey) -> Result<Zeroizing<Vec<u8>>, Error> {
        match self {
            Self::Sign { scheme, message } => {
                let digest = scheme.hash().digest(&[message.as_ref()]);
                signature_operand(*scheme, &digest, key).map(Zeroizing::new)
            }
            Self::SignDigest { scheme, digest } => {
                let digest = digest.as_ref();
                check_digest(*scheme, digest)?;
                signature_operand(*scheme, digest, key).map(Zeroizing::new)
            }
            Self::Decrypt { ciphertext, .. } => {
                let ciphertext = ciphertext.as_ref();
                if ciphertext.len() != key.bytes() || ciphertext >= key.modulus() {
                    return Err(Error::DecryptionFailed);
                }
                Ok(Zeroizing::new(ciphertext.to_vec()))
            }
            Self::Raw { operand } => number(operand.as_ref(), key),
            Self::Number { operand } => Ok(operand.clone()),
        }
    }

    /// What was asked for, from a number to the power of d.
    pub(super) fn result(
        &self,
        key: &RsaPrivateKey,
        result: Zeroizing<Vec<u8>>,
    ) -> Result<Zeroizing<Vec<u8>>, Error> {
        let Self::Decrypt { scheme, ciphertext } = self else {
            return Ok(result);
        };
        match scheme {
            EncryptionScheme::Pkcs1 => {
                let rejection_key = &key.parts().rejection_key;
                Ok(padding::pkcs1_message_or_other(
                    &result,
                    ciphertext.as_ref(),
                    rejection_key,
                ))
            }
            EncryptionScheme::Oaep { hash, mgf1, label } => {
                padding::oaep_plaintext(*hash, *mgf1, label, &result)
            }
        }
    }
}

impl<B: AsRef<[u8]>> PublicRequest<B> {
    /// A number less than the modulus, of as many bytes.
    pub(super) fn operand(&self, key: &RsaPublicKey) -> Result<Zeroizing<Vec<u8>>, Error> {
        match self {
            Self::Verify { signature, .. } | Self::VerifyDigest { signature, .. } => {
                let signature = signature.as_ref();
                if signature.len() != key.bytes() || signature >= key.modulus() {
                    return Err(Error::InvalidSignature);
                }
                Ok(Zeroizing::new(signature.to_vec()))
            }
            Self::Encrypt { scheme, message } => match scheme {
                EncryptionScheme::Pkcs1 => padding::pkcs1_message(message.as_ref(), key.bytes()),
                EncryptionScheme::Oaep { hash, mgf1, label } => {
                    padding::oaep_message(*hash, *mgf1, label, message.as_ref(), key.bytes())
                }
            },
            Self::Raw { operand } => number(operand.as_ref(), key),
            Self::Number { operand } => Ok(operand.clone()),
        }
    }

    /// What was asked for, from a number to the power of e.
    pub(super) fn result(
        &self,
        key: &RsaPublicKey,
        result: Zeroizing<Vec<u8>>,
    ) -> Result<Zeroizing<Vec<u8>>, Error> {
        let (scheme, digest) = match self {
            Self::Encrypt { .. } | Self::Raw { .. } | Self::Number { .. } => return Ok(result),
            Self::Verify {
                scheme, message, ..
            } => (*scheme, scheme.hash().digest(&[message.as_ref()])),
            Self::VerifyDigest { scheme, digest, .. } => {
                check_digest(*scheme, digest.as_ref())?;
                (*scheme, Zeroizing::new(digest.as_ref().to_vec()))
            }
        };
        let is_right = match scheme.padding() {
            // Made anew and compared, which leaves no room for what a parser might let pass.
            SignaturePadding::Pkcs1(hash) => {
                *result == padding::pkcs1_signature(hash, &digest, key.bytes())
            }
            SignaturePadding::Pss(pss) => {
                padding::is_pss_signature(pss, &digest, key.bits(), &result)
            }
        };
        if is_right {
            Ok(Zeroizing::default())
        } else {
            Err(Error::InvalidSignature)
        }
    }
}

/// `operand`, as [`number`] makes it, to the power of e.
pub(super) fn apply_public(
    key: &RsaPublicKey,
    operand: &[u8],
) -> Result<Zeroizing<Vec<u8>>, Error> {
    key.parts().software.apply_public(operand).map_err(failed)
}

/// `operand`, as [`number`] makes it, to the power of d.
pub(super) fn apply_private(
    key: &RsaPrivateKey,
    operand: &[u8],
) -> Result<Zeroizing<Vec<u8>>, Error> {
    let public = key.public_key();
    // 0, 1 and n - 1 are their own powers, for d is odd. They are no ones that a padding makes, and
    // aws-lc refuses them.
    let (last, before) = (operand[operand.len() - 1], &operand[..operand.len() - 1]);
    let n = public.modulus();
    let is_small = last <= 1 && before.iter().all(|byte| *byte == 0);
    let is_largest = before == &n[..n.len() - 1] && last == n[n.len() - 1] - 1;
    if is_small || is_largest {
        return Ok(Zeroizing::new(operand.to_vec()));
    }
    match &key.parts().place {
        Place::Here(software) => software.apply_private(operand).map_err(failed),
        Place::Device(holder) => {
            let number = Zeroizing::new(operand.to_vec());
            let request = PublicKeyRequest::number(key, number);
            let mut power = Err(Error::Cancelled);
            complete(&**holder.device(), &[&request], &mut |_, result| {
                power = result
            });
            power
        }
    }
}

fn signature_operand(
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
pub(super) fn signature_operand_salted<E: From<Error>>(
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

pub(super) fn check_digest(scheme: SignatureScheme, digest: &[u8]) -> Result<(), Error> {
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
fn number(bytes: &[u8], key: &RsaPublicKey) -> Result<Zeroizing<Vec<u8>>, Error> {
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

pub(super) fn failed(error: DeviceError) -> Error {
    Error::DeviceFailed {
        device: "software".into(),
        reason: error.0,
    }
}
