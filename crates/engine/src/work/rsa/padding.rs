//! The encodings around an RSA operation (RFC 8017): from messages to numbers and back.
//!
//! A decrypted encoded message is secret, and so is any fault in it. Decoding uses no branch or index that depends on it
//! until the caller may learn the result.

use hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512, Sha512_224, Sha512_256};
use subtle::{
    Choice, ConditionallySelectable, ConstantTimeEq, ConstantTimeGreater, ConstantTimeLess,
};
use zeroize::{Zeroize, Zeroizing};

use crate::Error;
use crate::aws_lc::random::fill_random;

/// A hash function (FIPS 180-4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Hash {
    /// SHA-1, only for existing data: OAEP, MGF1, and verifying signatures. It is not used to sign, because collisions can
    /// be found.
    Sha1,
    /// SHA-224.
    Sha224,
    /// SHA-256.
    Sha256,
    /// SHA-384.
    Sha384,
    /// SHA-512.
    Sha512,
    /// SHA-512/224.
    Sha512_224,
    /// SHA-512/256.
    Sha512_256,
}

impl Hash {
    /// Returns the length of a digest in bytes: 20, 28, 32, 48 or 64.
    pub const fn bytes(self) -> usize {
        match self {
            Self::Sha1 => 20,
            Self::Sha224 | Self::Sha512_224 => 28,
            Self::Sha256 | Self::Sha512_256 => 32,
            Self::Sha384 => 48,
            Self::Sha512 => 64,
        }
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Sha1 => "SHA-1",
            Self::Sha224 => "SHA-224",
            Self::Sha256 => "SHA-256",
            Self::Sha384 => "SHA-384",
            Self::Sha512 => "SHA-512",
            Self::Sha512_224 => "SHA-512/224",
            Self::Sha512_256 => "SHA-512/256",
        }
    }

    /// Returns the digest of the concatenated `pieces`.
    pub(crate) fn digest(self, pieces: &[&[u8]]) -> Zeroizing<Vec<u8>> {
        fn of<D: Digest>(pieces: &[&[u8]]) -> Zeroizing<Vec<u8>> {
            let mut hasher = D::new();
            for piece in pieces {
                Digest::update(&mut hasher, piece);
            }
            let mut digest = hasher.finalize();
            let copy = Zeroizing::new(digest.to_vec());
            digest.as_mut_slice().zeroize();
            copy
        }
        match self {
            Self::Sha1 => of::<Sha1>(pieces),
            Self::Sha224 => of::<Sha224>(pieces),
            Self::Sha256 => of::<Sha256>(pieces),
            Self::Sha384 => of::<Sha384>(pieces),
            Self::Sha512 => of::<Sha512>(pieces),
            Self::Sha512_224 => of::<Sha512_224>(pieces),
            Self::Sha512_256 => of::<Sha512_256>(pieces),
        }
    }

    /// Returns DigestInfo up to the digest (RFC 8017, 9.2, note 1).
    const fn digest_info(self) -> &'static [u8] {
        match self {
            Self::Sha1 => b"\x30\x21\x30\x09\x06\x05\x2b\x0e\x03\x02\x1a\x05\x00\x04\x14",
            Self::Sha224 => {
                b"\x30\x2d\x30\x0d\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\x04\x05\x00\x04\x1c"
            }
            Self::Sha256 => {
                b"\x30\x31\x30\x0d\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\x01\x05\x00\x04\x20"
            }
            Self::Sha384 => {
                b"\x30\x41\x30\x0d\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\x02\x05\x00\x04\x30"
            }
            Self::Sha512 => {
                b"\x30\x51\x30\x0d\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\x03\x05\x00\x04\x40"
            }
            Self::Sha512_224 => {
                b"\x30\x2d\x30\x0d\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\x05\x05\x00\x04\x1c"
            }
            Self::Sha512_256 => {
                b"\x30\x31\x30\x0d\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\x06\x05\x00\x04\x20"
            }
        }
    }
}

/// The length of a PSS signature's salt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PssSalt {
    /// The length of the digest, as RFC 8017, 9.1 recommends.
    Digest,
    /// This number of bytes.
    Bytes(usize),
    /// Any length when verifying. A new signature's salt is as long as the digest.
    Any,
}

/// Encodes a digest by EMSA-PKCS1-v1_5 (9.2) for a modulus of `bytes` bytes.
pub(crate) fn pkcs1_signature(hash: Hash, digest: &[u8], bytes: usize) -> Vec<u8> {
    let info = hash.digest_info();
    // The modulus has at least 128 bytes, enough for a prefix of 19, a digest of 64 and 11 more.
    let mut encoded = vec![0xff; bytes - digest.len() - info.len() - 1];
    encoded[..2].copy_from_slice(&[0, 1]);
    encoded.push(0);
    encoded.extend_from_slice(info);
    encoded.extend_from_slice(digest);
    encoded
}

/// All parameters of RSASSA-PSS.
#[derive(Clone, Copy)]
pub(crate) struct Pss {
    /// The hash function of the message.
    pub(crate) hash: Hash,
    pub(crate) mgf1: Hash,
    pub(crate) salt: PssSalt,
}

impl Pss {
    /// Returns the length of the salt in new signatures.
    pub(crate) fn salt_bytes(self) -> usize {
        match self.salt {
            PssSalt::Bytes(bytes) => bytes,
            PssSalt::Digest | PssSalt::Any => self.hash.bytes(),
        }
    }
}

/// Encodes a digest by EMSA-PSS (9.1.1) for a modulus of `bits` bits. `fill` generates the salt, once there is room for it.
pub(crate) fn pss_signature<E: From<Error>>(
    pss: Pss,
    digest: &[u8],
    bits: usize,
    fill: impl FnOnce(&mut [u8]) -> Result<(), E>,
) -> Result<Vec<u8>, E> {
    let shape = PssShape::new(pss, pss.salt_bytes(), bits)?;
    let mut salt = vec![0; pss.salt_bytes()];
    fill(&mut salt)?;
    let mut encoded = vec![0; shape.modulus_bytes];
    let (data, rest) = encoded[shape.skipped..].split_at_mut(shape.data_bytes);
    let at = data.len() - salt.len();
    data[at - 1] = 1;
    data[at..].copy_from_slice(&salt);
    let hashed = pss.hash.digest(&[&[0; 8], digest, &salt]);
    mask(pss.mgf1, &hashed, data);
    data[0] &= shape.top_mask;
    rest[..hashed.len()].copy_from_slice(&hashed);
    rest[hashed.len()] = 0xbc;
    Ok(encoded)
}

/// Verifies an encoded message by EMSA-PSS-VERIFY (9.1.2). `encoded` is as long as the modulus.
pub(crate) fn is_pss_signature(pss: Pss, digest: &[u8], bits: usize, encoded: &[u8]) -> bool {
    let salt_bytes_min = match pss.salt {
        PssSalt::Any => 0,
        _ => pss.salt_bytes(),
    };
    let Ok(shape) = PssShape::new(pss, salt_bytes_min, bits) else {
        return false;
    };
    let (skipped, encoded) = encoded.split_at(shape.skipped);
    let (data, rest) = encoded.split_at(shape.data_bytes);
    let (hashed, trailer) = rest.split_at(pss.hash.bytes());
    if skipped.iter().any(|byte| *byte != 0) || trailer != [0xbc] || data[0] & !shape.top_mask != 0
    {
        return false;
    }
    let mut data = data.to_vec();
    mask(pss.mgf1, hashed, &mut data);
    data[0] &= shape.top_mask;
    let Some(one_at) = data.iter().position(|byte| *byte != 0) else {
        return false;
    };
    let salt = &data[one_at + 1..];
    data[one_at] == 1
        && (pss.salt == PssSalt::Any || salt.len() == pss.salt_bytes())
        && **pss.hash.digest(&[&[0; 8], digest, salt]) == *hashed
}

/// The layout of an EMSA-PSS message in the bytes of a modulus.
struct PssShape {
    modulus_bytes: usize,
    /// Zero bytes before the message, which has one bit less than the modulus.
    skipped: usize,
    /// The length of DB.
    data_bytes: usize,
    /// The bits of DB's first byte that may be set.
    top_mask: u8,
}

impl PssShape {
    fn new(pss: Pss, salt_bytes: usize, bits: usize) -> Result<Self, Error> {
        let (modulus_bytes, bytes) = (bits.div_ceil(8), (bits - 1).div_ceil(8));
        let Some(data_bytes) = (bytes - 1)
            .checked_sub(pss.hash.bytes())
            .filter(|data_bytes| *data_bytes > salt_bytes)
        else {
            return Err(Error::InvalidInput(format!(
                "a key of {bits} bits is too short for PSS with {} and a salt of {salt_bytes} bytes",
                pss.hash.name()
            )));
        };
        Ok(Self {
            modulus_bytes,
            skipped: modulus_bytes - bytes,
            data_bytes,
            top_mask: 0xff >> (8 * bytes - (bits - 1)),
        })
    }
}

/// Encodes a message by EME-PKCS1-v1_5 (7.2.1) for a modulus of `bytes` bytes.
pub(crate) fn pkcs1_message(message: &[u8], bytes: usize) -> Result<Zeroizing<Vec<u8>>, Error> {
    let at = fits(message, bytes, 11, "PKCS#1 v1.5")?;
    let mut encoded = Zeroizing::new(vec![0; bytes]);
    encoded[1] = 2;
    let padding = &mut encoded[2..at - 1];
    fill_random(padding);
    // Padding bytes are not zero, so zeros are drawn again.
    while let Some(zero) = padding.iter().position(|byte| *byte == 0) {
        fill_random(&mut padding[zero..=zero]);
    }
    encoded[at..].copy_from_slice(message);
    Ok(encoded)
}

/// Decodes EME-PKCS1-v1_5. If the padding is wrong, it returns a message derived from the key and the ciphertext, the same
/// each time. A sender of altered ciphertexts then cannot tell which of them decrypt (draft-irtf-cfrg-rsa-guidance, 7;
/// OpenSSL from 3.2 on derives the same message).
///
/// `encoded` and `ciphertext` are as long as the modulus.
pub(crate) fn pkcs1_message_or_other(
    encoded: &[u8],
    ciphertext: &[u8],
    rejection_key: &[u8; 32],
) -> Zeroizing<Vec<u8>> {
    let bytes = encoded.len();
    let key = hmac_sha256(rejection_key, &[ciphertext]);
    let lengths = pseudo_random(&key, b"length", 2 * LENGTHS_TRIED);
    let other = pseudo_random(&key, b"message", bytes);

    // The last of the lengths tried that is below the maximum, or 0.
    let length_max = (bytes - 2 - PADDING_BYTES_MIN) as u32;
    let length_mask = length_max.next_power_of_two() - 1;
    let length_mask = length_mask | length_max;
    let mut other_length = 0u32;
    for pair in lengths.chunks_exact(2) {
        let length = u32::from(u16::from_be_bytes([pair[0], pair[1]])) & length_mask;
        other_length.conditional_assign(&length, length.ct_lt(&length_max));
    }

    let mut is_good = encoded[0].ct_eq(&0) & encoded[1].ct_eq(&2);
    let mut zero_at = 0u32;
    let mut is_found = Choice::from(0);
    for (i, byte) in encoded.iter().enumerate().skip(2) {
        let is_zero = byte.ct_eq(&0);
        zero_at.conditional_assign(&(i as u32), is_zero & !is_found);
        is_found |= is_zero;
    }
    is_good &= zero_at.ct_gt(&(2 + PADDING_BYTES_MIN as u32 - 1));

    let begins = u32::conditional_select(&(bytes as u32 - other_length), &(zero_at + 1), is_good);
    let mut message = Zeroizing::new(Vec::with_capacity(bytes));
    for (encoded, other) in encoded.iter().zip(&*other) {
        message.push(u8::conditional_select(other, encoded, is_good));
    }
    // The start of the message reveals its length, which the caller learns anyway.
    let begins = begins as usize;
    message.copy_within(begins.., 0);
    truncate_wiped(&mut message, bytes - begins);
    message
}

/// Returns the premaster secret that a client of TLS 1.2 or earlier sent in EME-PKCS1-v1_5, or `other` if the padding is
/// wrong or the secret does not begin with one of `versions`. Nothing reveals which of them it is (RFC 5246, 7.4.7.1).
///
/// `encoded` is as long as the modulus, and `other` as long as the secret.
pub(crate) fn tls_premaster_secret(
    encoded: &[u8],
    versions: &[u16],
    mut other: Zeroizing<Vec<u8>>,
) -> Zeroizing<Vec<u8>> {
    // A modulus has at least 128 bytes.
    let (padding, secret) = encoded.split_at(encoded.len() - other.len());
    let (zero, padding) = (padding[padding.len() - 1], &padding[..padding.len() - 1]);
    let mut is_good = padding[0].ct_eq(&0) & padding[1].ct_eq(&2) & zero.ct_eq(&0);
    for byte in &padding[2..] {
        is_good &= !byte.ct_eq(&0);
    }
    let mut has_version = Choice::from(0);
    for version in versions {
        has_version |= secret[..2].ct_eq(&version.to_be_bytes());
    }
    is_good &= has_version;
    for (byte, secret) in other.iter_mut().zip(secret) {
        byte.conditional_assign(secret, is_good);
    }
    other
}

/// Encodes a message by EME-OAEP (7.1.1) for a modulus of `bytes` bytes.
pub(crate) fn oaep_message(
    hash: Hash,
    mgf1: Hash,
    label: &[u8],
    message: &[u8],
    bytes: usize,
) -> Result<Zeroizing<Vec<u8>>, Error> {
    let at = fits(message, bytes, 2 * hash.bytes() + 2, "OAEP")?;
    let mut encoded = Zeroizing::new(vec![0; bytes]);
    encoded[at - 1] = 1;
    encoded[at..].copy_from_slice(message);
    let (seed, data) = encoded[1..].split_at_mut(hash.bytes());
    fill_random(seed);
    data[..hash.bytes()].copy_from_slice(&hash.digest(&[label]));
    mask(mgf1, seed, data);
    mask(mgf1, data, seed);
    Ok(encoded)
}

/// Decodes EME-OAEP (7.1.2). The error does not reveal what is wrong.
pub(crate) fn oaep_plaintext(
    hash: Hash,
    mgf1: Hash,
    label: &[u8],
    encoded: &[u8],
) -> Result<Zeroizing<Vec<u8>>, Error> {
    if encoded.len() < 2 * hash.bytes() + 2 {
        return Err(Error::DecryptionFailed);
    }
    let mut encoded = Zeroizing::new(encoded.to_vec());
    let (first, rest) = encoded.split_at_mut(1);
    let (seed, data) = rest.split_at_mut(hash.bytes());
    mask(mgf1, data, seed);
    mask(mgf1, seed, data);
    let (label_hash, padded) = data.split_at(hash.bytes());
    let mut is_good = first[0].ct_eq(&0) & label_hash.ct_eq(&hash.digest(&[label]));
    let mut one_at = 0u32;
    let mut is_found = Choice::from(0);
    for (i, byte) in padded.iter().enumerate() {
        let is_one = byte.ct_eq(&1);
        one_at.conditional_assign(&(i as u32), is_one & !is_found);
        is_good &= is_found | is_one | byte.ct_eq(&0);
        is_found |= is_one;
    }
    if !bool::from(is_good & is_found) {
        return Err(Error::DecryptionFailed);
    }
    // From here on, the caller may learn everything.
    Ok(Zeroizing::new(padded[one_at as usize + 1..].to_vec()))
}

/// Returns the offset of a message at the end of the encoding, with at least `overhead` bytes before it.
fn fits(message: &[u8], bytes: usize, overhead: usize, scheme: &str) -> Result<usize, Error> {
    match bytes.checked_sub(overhead) {
        Some(bytes_max) if message.len() <= bytes_max => Ok(bytes - message.len()),
        Some(bytes_max) => Err(Error::InvalidInput(format!(
            "a message of {} bytes: this key takes {bytes_max} at most with {scheme}",
            message.len()
        ))),
        None => Err(Error::InvalidInput(format!(
            "a key of {bytes} bytes is too short for {scheme} with this hash"
        ))),
    }
}

/// XORs MGF1 (B.2.1) of `seed` into `data`.
fn mask(hash: Hash, seed: &[u8], data: &mut [u8]) {
    for (counter, data) in (0u32..).zip(data.chunks_mut(hash.bytes())) {
        let digest = hash.digest(&[seed, &counter.to_be_bytes()]);
        data.iter_mut()
            .zip(&*digest)
            .for_each(|(byte, mask)| *byte ^= mask);
    }
}

/// Derives `bytes` bytes from a key for `label` (draft-irtf-cfrg-rsa-guidance, 7.1).
fn pseudo_random(key: &[u8; 32], label: &[u8], bytes: usize) -> Zeroizing<Vec<u8>> {
    let bits = (8 * bytes as u16).to_be_bytes();
    let mut made = Zeroizing::new(Vec::with_capacity(bytes.next_multiple_of(32)));
    let mut counter = 0u16;
    while made.len() < bytes {
        let block = hmac_sha256(key, &[&counter.to_be_bytes(), label, &bits]);
        made.extend_from_slice(&*block);
        counter += 1;
    }
    truncate_wiped(&mut made, bytes);
    made
}

fn hmac_sha256(key: &[u8; 32], pieces: &[&[u8]]) -> Zeroizing<[u8; 32]> {
    // HMAC pads a key that is shorter than a block with zeros.
    let mut block = Zeroizing::new([0; 64]);
    block[..32].copy_from_slice(key);
    let mut hmac = Hmac::<Sha256>::new((&*block).into());
    for piece in pieces {
        Mac::update(&mut hmac, piece);
    }
    Zeroizing::new(hmac.finalize().into_bytes().into())
}

/// Truncates a buffer and wipes the rest.
fn truncate_wiped(buffer: &mut Zeroizing<Vec<u8>>, bytes: usize) {
    buffer[bytes..].zeroize();
    buffer.truncate(bytes);
}

/// The fewest bytes of padding in EME-PKCS1-v1_5.
const PADDING_BYTES_MIN: usize = 8;
/// Candidate lengths that implicit rejection tries. Each fits with a probability of at least 1/2.
const LENGTHS_TRIED: usize = 128;
