//! The hybrid post-quantum recipient of age 1.3 (age v1, "The MLKEM768-X25519 (i.e. X-Wing) hybrid post-quantum recipient
//! type"). It implements the traits of the `age` crate, which lacks this type.
//!
//! ```text
//! identity     a seed of 32 bytes            AGE-SECRET-KEY-PQ-1...
//! recipient    its X-Wing key, 1216 bytes    age1pq1...
//! stanza       -> mlkem768x25519 ENC         the encapsulated key, 1120 bytes
//!              BODY                          the file key and a tag, 32 bytes
//! ```
//!
//! A stanza is the output of HPKE's SealBase (RFC 9180, section 6.1) with MLKEM768-X25519
//! (draft-ietf-hpke-pq), HKDF-SHA256 and ChaCha20-Poly1305. Breaking only one of ML-KEM and X25519 does
//! not open it.

use std::collections::HashSet;
use std::convert::Infallible;
use std::str::FromStr;
use std::{fmt, io};

use ::age::secrecy::{ExposeSecret as _, SecretString};
use ::age::{DecryptError, EncryptError};
use age_core::format::{FILE_KEY_BYTES, FileKey, Stanza};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD_NO_PAD;
use bech32::primitives::decode::CheckedHrpstring;
use bech32::{ByteIterExt as _, Checksum, Fe32IterExt as _, Fe1024, Hrp};
use hpke::aead::{AeadTag, ChaCha20Poly1305};
use hpke::inout::InOutBuf;
use hpke::kdf::HkdfSha256;
use hpke::kem::XWing;
use hpke::rand_core::{CryptoRng, TryCryptoRng, TryRng};
use hpke::{Deserializable as _, HpkeError, Kem, OpModeR, OpModeS, Serializable as _};
use zeroize::Zeroizing;

/// The first argument of its stanzas.
pub const STANZA_TAG: &str = "mlkem768x25519";

/// The label of its stanzas. It excludes recipients of other kinds, through which a quantum computer could open the file.
pub const POST_QUANTUM_LABEL: &str = "postquantum";

/// A key to encrypt to, written as `age1pq1` and 1952 more characters.
///
/// ```
/// use age::{Identity as _, Recipient as _};
/// use oarlock_recipients::hybrid;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let identity = hybrid::Identity::generate()?;
/// let recipient: hybrid::Recipient = identity.to_public().to_string().parse()?;
/// let file_key = age_core::format::FileKey::new(Box::new([7; 16]));
/// let (stanzas, _) = recipient.wrap_file_key(&file_key)?;
/// assert!(identity.unwrap_stanzas(&stanzas).is_some_and(|opened| opened.is_ok()));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Recipient(<XWing as Kem>::PublicKey);

impl ::age::Recipient for Recipient {
    fn wrap_file_key(
        &self,
        file_key: &FileKey,
    ) -> Result<(Vec<Stanza>, HashSet<String>), EncryptError> {
        let mut system = System::default();
        let sealed = seal(&self.0, INFO, file_key.expose_secret(), &[], &mut system);
        system.result()?;
        let (enc, body) = sealed.map_err(|error| EncryptError::Io(io::Error::other(error)))?;
        let stanza = Stanza {
            tag: STANZA_TAG.into(),
            args: vec![BASE64_STANDARD_NO_PAD.encode(enc.to_bytes())],
            body,
        };
        Ok((vec![stanza], HashSet::from([POST_QUANTUM_LABEL.into()])))
    }
}

impl FromStr for Recipient {
    type Err = InvalidKey;

    fn from_str(text: &str) -> Result<Self, InvalidKey> {
        let bytes: Zeroizing<[u8; RECIPIENT_BYTES]> = decode(RECIPIENT_HRP, text)?;
        if !is_contributory(&bytes[RECIPIENT_BYTES - X25519_BYTES..]) {
            return Err(InvalidKey::PublicKey);
        }
        let key = <XWing as Kem>::PublicKey::from_bytes(&bytes[..]);
        key.map(Self).map_err(|_| InvalidKey::PublicKey)
    }
}

impl fmt::Display for Recipient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        encode(RECIPIENT_HRP, &self.0.to_bytes(), |c| {
            fmt::Write::write_char(f, c)
        })
    }
}

impl fmt::Debug for Recipient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A key to decrypt with, written as `AGE-SECRET-KEY-PQ-1` and 58 more characters. It is wiped on drop.
#[derive(Clone)]
pub struct Identity(Box<<XWing as Kem>::PrivateKey>);

impl Identity {
    /// Generates a new identity.
    ///
    /// # Errors
    /// The system returns no random bytes.
    pub fn generate() -> io::Result<Self> {
        let mut seed = Zeroizing::new([0; SEED_BYTES]);
        getrandom::fill(&mut seed[..])?;
        // Any 32 bytes are a seed.
        Self::of_seed(&seed).map_err(|_| io::Error::other("random bytes that make no key"))
    }

    /// Returns the recipient that others encrypt to.
    #[must_use]
    pub fn to_public(&self) -> Recipient {
        Recipient(XWing::sk_to_pk(&self.0))
    }

    /// Returns the string in upper case, as identities are written. It is a secret, so there is no `Display` that could
    /// print it by accident.
    #[must_use]
    pub fn to_string(&self) -> SecretString {
        let mut seed = Zeroizing::new([0; SEED_BYTES]);
        self.0.write_exact(&mut seed[..]);
        let mut text = String::with_capacity(IDENTITY_CHARACTERS);
        // Appending to a string does not fail.
        let _ = encode(IDENTITY_HRP, &seed[..], |c| {
            text.push(c.to_ascii_uppercase());
            Ok::<(), Infallible>(())
        });
        SecretString::from(text)
    }

    fn of_seed(seed: &[u8; SEED_BYTES]) -> Result<Self, HpkeError> {
        let key = <XWing as Kem>::PrivateKey::from_bytes(seed)?;
        Ok(Self(Box::new(key)))
    }
}

impl ::age::Identity for Identity {
    fn unwrap_stanza(&self, stanza: &Stanza) -> Option<Result<FileKey, DecryptError>> {
        if stanza.tag != STANZA_TAG {
            return None;
        }
        let Some((enc, sealed, tag)) = parse(stanza) else {
            return Some(Err(DecryptError::InvalidHeader));
        };
        let file_key = FileKey::try_init_with_mut(|key: &mut [u8; FILE_KEY_BYTES]| {
            key.copy_from_slice(sealed);
            open(&self.0, &enc, INFO, InOutBuf::from(&mut key[..]), &[], &tag)
        });
        // Another identity may fit: a KEM does not reveal the key that was encapsulated to.
        file_key.ok().map(Ok)
    }
}

impl FromStr for Identity {
    type Err = InvalidKey;

    fn from_str(text: &str) -> Result<Self, InvalidKey> {
        let seed = decode(IDENTITY_HRP, text)?;
        Self::of_seed(&seed).map_err(|_| InvalidKey::Length)
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Identity").finish_non_exhaustive()
    }
}

/// The reason why a string is not a key of this type. It contains nothing of the string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InvalidKey {
    /// The string lacks the prefix of such keys, or has it in the wrong case.
    Kind,
    /// The string is not Bech32 (BIP 173): a character is wrong or missing.
    Checksum,
    /// The string is Bech32 of more or fewer bytes.
    Length,
    /// No identity belongs to this recipient: a coefficient of its ML-KEM key is out of range (FIPS 203,
    /// section 7.2), or its X25519 key is a point of low order (RFC 7748, section 6.1).
    PublicKey,
}

impl fmt::Display for InvalidKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Kind => "it begins with neither `age1pq1` nor `AGE-SECRET-KEY-PQ-1`",
            Self::Checksum => "a character of it is wrong or missing",
            Self::Length => "it does not have the length of a key",
            Self::PublicKey => "it is not a public key of ML-KEM-768 and X25519",
        })
    }
}

impl std::error::Error for InvalidKey {}

type EncappedKey = <XWing as Kem>::EncappedKey;
type Tag = AeadTag<ChaCha20Poly1305>;

/// Returns the encapsulated key, the encrypted file key, and its tag; `None` unless the stanza has exactly these and is
/// bound to an identity.
fn parse(stanza: &Stanza) -> Option<(EncappedKey, &[u8], Tag)> {
    let [enc] = &stanza.args[..] else {
        return None;
    };
    let enc = BASE64_STANDARD_NO_PAD.decode(enc).ok()?;
    // With another length it might open under more than one key (age v1).
    if enc.len() != ENC_BYTES || stanza.body.len() != FILE_KEY_BYTES + Tag::size() {
        return None;
    }
    if !is_contributory(&enc[ENC_BYTES - X25519_BYTES..]) {
        return None;
    }
    let (sealed, tag) = stanza.body.split_at(FILE_KEY_BYTES);
    let enc = EncappedKey::from_bytes(&enc).ok()?;
    Some((enc, sealed, Tag::from_bytes(tag).ok()?))
}

/// Computes SealBase (RFC 9180, section 6.1).
fn seal(
    to: &<XWing as Kem>::PublicKey,
    info: &[u8],
    plaintext: &[u8],
    aad: &[u8],
    rng: &mut impl CryptoRng,
) -> Result<(EncappedKey, Vec<u8>), HpkeError> {
    let base = OpModeS::Base;
    hpke::single_shot_seal_with_rng::<ChaCha20Poly1305, HkdfSha256, XWing>(
        &base, to, info, plaintext, aad, rng,
    )
}

/// Computes OpenBase (RFC 9180, section 6.1).
fn open(
    with: &<XWing as Kem>::PrivateKey,
    enc: &EncappedKey,
    info: &[u8],
    ciphertext: InOutBuf<'_, '_, u8>,
    aad: &[u8],
    tag: &Tag,
) -> Result<(), HpkeError> {
    let base = OpModeR::Base;
    hpke::single_shot_open_inout_detached::<ChaCha20Poly1305, HkdfSha256, XWing>(
        &base, with, enc, info, ciphertext, aad, tag,
    )
}

/// Whether X25519 with this point depends on the other side's secret. With a point of low order the result is always zero,
/// because every secret is a multiple of 8. age refuses such points; X-Wing's draft leaves this open.
fn is_contributory(point: &[u8]) -> bool {
    let any_secret = [0; X25519_BYTES];
    let product = |point| x25519_dalek::x25519(any_secret, point);
    point
        .try_into()
        .is_ok_and(|point| product(point) != [0; X25519_BYTES])
}

/// The system's random bytes for a caller that accepts no error. The caller's result is valid only if
/// [`result`](Self::result) is `Ok`.
#[derive(Default)]
struct System {
    failed: Option<getrandom::Error>,
}

impl System {
    fn result(self) -> io::Result<()> {
        self.failed.map_or(Ok(()), |error| Err(error.into()))
    }
}

impl TryRng for System {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        let mut bytes = [0; 4];
        self.try_fill_bytes(&mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let mut bytes = [0; 8];
        self.try_fill_bytes(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.failed = getrandom::fill(bytes).err().or(self.failed);
        Ok(())
    }
}

impl TryCryptoRng for System {}

/// Encodes `bytes` in Bech32, one character at a time, so that no copy of a secret remains.
fn encode<E>(hrp: &str, bytes: &[u8], mut put: impl FnMut(char) -> Result<(), E>) -> Result<(), E> {
    let hrp = Hrp::parse_unchecked(hrp);
    let characters = bytes.iter().copied().bytes_to_fes();
    characters
        .with_checksum::<Unlimited>(&hrp)
        .chars()
        .try_for_each(&mut put)
}

/// Decodes a string with the prefix `hrp`, in the same case.
fn decode<const BYTES: usize>(hrp: &str, text: &str) -> Result<Zeroizing<[u8; BYTES]>, InvalidKey> {
    let is_of_kind = text
        .strip_prefix(hrp)
        .is_some_and(|rest| rest.starts_with('1'));
    if !is_of_kind {
        return Err(InvalidKey::Kind);
    }
    let checked = CheckedHrpstring::new::<Unlimited>(text).map_err(|_| InvalidKey::Checksum)?;
    // A second `1` further on would end a longer prefix.
    if checked.hrp() != Hrp::parse_unchecked(hrp) {
        return Err(InvalidKey::Kind);
    }
    if checked.byte_iter().len() != BYTES || checked.validate_segwit_padding().is_err() {
        return Err(InvalidKey::Length);
    }
    let mut bytes = Zeroizing::new([0; BYTES]);
    for (byte, decoded) in bytes.iter_mut().zip(checked.byte_iter()) {
        *byte = decoded;
    }
    Ok(bytes)
}

/// Bech32 "without length limits on the data part" (age v1, "Conventions used in this document").
enum Unlimited {}

impl Checksum for Unlimited {
    type MidstateRepr = <bech32::Bech32 as Checksum>::MidstateRepr;
    type CorrectionField = Fe1024;
    const ROOT_GENERATOR: Fe1024 = bech32::Bech32::ROOT_GENERATOR;
    const ROOT_EXPONENTS: std::ops::RangeInclusive<usize> = bech32::Bech32::ROOT_EXPONENTS;
    const CODE_LENGTH: usize = usize::MAX;
    const CHECKSUM_LENGTH: usize = bech32::Bech32::CHECKSUM_LENGTH;
    const GENERATOR_SH: [Self::MidstateRepr; 5] = bech32::Bech32::GENERATOR_SH;
    const TARGET_RESIDUE: Self::MidstateRepr = bech32::Bech32::TARGET_RESIDUE;
}

const INFO: &[u8] = b"age-encryption.org/mlkem768x25519";
const RECIPIENT_HRP: &str = "age1pq";
const IDENTITY_HRP: &str = "AGE-SECRET-KEY-PQ-";
/// The length of an identity, with its prefix.
const IDENTITY_CHARACTERS: usize = 77;
const SEED_BYTES: usize = 32;
const RECIPIENT_BYTES: usize = 1216;
const ENC_BYTES: usize = 1120;
/// The length of the point at the end of a recipient and of an encapsulated key.
const X25519_BYTES: usize = 32;

#[cfg(test)]
mod tests;
