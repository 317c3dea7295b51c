//! Requests to the framework: services, keys, and the ranges of the data that they act on.

use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use zeroize::Zeroizing;

use crate::Error;
use crate::work::algorithm::{Algorithm, Direction, Kind};

/// The service that a session of the framework performs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Service {
    /// A stream cipher or AES-CBC.
    Cipher(Algorithm),
    /// An authenticated cipher.
    Aead(Algorithm),
    /// HMAC (RFC 2104).
    Mac(HashAlgorithm),
    /// A hash without a key.
    Digest(HashAlgorithm),
    /// A cipher and HMAC over the same data.
    Chained {
        /// A stream cipher or AES-CBC.
        cipher: Algorithm,
        /// The hash function of HMAC.
        mac: HashAlgorithm,
        /// The step that comes first when a message is sent.
        order: ChainOrder,
    },
    /// Random bytes.
    Random,
    /// RSA, and powers without a key.
    PublicKey,
}

/// A hash function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HashAlgorithm {
    /// MD5 (RFC 1321), only within HMAC.
    Md5,
    /// SHA-1 (FIPS 180-4).
    Sha1,
    /// SHA-256.
    Sha256,
    /// SHA-384.
    Sha384,
    /// SHA-512.
    Sha512,
}

/// The order of cipher and MAC in [`Service::Chained`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ChainOrder {
    /// The tag authenticates the ciphertext: ESP (RFC 4303), TLS with RFC 7366.
    EncryptThenMac,
    /// The tag authenticates the plaintext. In TLS 1.2 without RFC 7366 the tag is encrypted too; in SSH it follows the
    /// ciphertext. A receiver that lets senders tell wrong paddings from wrong tags reveals the plaintext (Vaudenay 2002).
    MacThenEncrypt,
}

impl HashAlgorithm {
    /// Returns the length of a digest in bytes.
    pub const fn digest_bytes(self) -> usize {
        match self {
            Self::Md5 => 16,
            Self::Sha1 => 20,
            Self::Sha256 => 32,
            Self::Sha384 => 48,
            Self::Sha512 => 64,
        }
    }

    /// Returns the name used in listings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Md5 => "md5",
            Self::Sha1 => "sha1",
            Self::Sha256 => "sha256",
            Self::Sha384 => "sha384",
            Self::Sha512 => "sha512",
        }
    }
}

impl fmt::Display for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cipher(algorithm) | Self::Aead(algorithm) => f.write_str(algorithm.name()),
            Self::Mac(hash) => write!(f, "hmac-{}", hash.name()),
            Self::Digest(hash) => f.write_str(hash.name()),
            Self::Chained { cipher, mac, order } => match order {
                ChainOrder::EncryptThenMac => write!(f, "{cipher}, then hmac-{}", mac.name()),
                ChainOrder::MacThenEncrypt => write!(f, "hmac-{}, then {cipher}", mac.name()),
            },
            Self::Random => f.write_str("random"),
            Self::PublicKey => f.write_str("public key"),
        }
    }
}

impl Service {
    /// Returns the service's cipher, if it has one.
    pub const fn cipher(self) -> Option<Algorithm> {
        match self {
            Self::Cipher(algorithm)
            | Self::Aead(algorithm)
            | Self::Chained {
                cipher: algorithm, ..
            } => Some(algorithm),
            _ => None,
        }
    }

    /// Returns the service's hash function, if it has one.
    pub const fn hash(self) -> Option<HashAlgorithm> {
        match self {
            Self::Mac(hash) | Self::Digest(hash) | Self::Chained { mac: hash, .. } => Some(hash),
            _ => None,
        }
    }

    /// The number of rows in tables by service.
    pub(crate) const ROWS: usize = 7;

    pub(crate) const fn row(self) -> usize {
        match self {
            Self::Cipher(algorithm) => match algorithm.kind() {
                Kind::Cbc => 1,
                _ => 0,
            },
            Self::Aead(_) => 2,
            Self::Mac(_) | Self::Digest(_) => 3,
            Self::Chained { .. } => 4,
            Self::Random => 5,
            Self::PublicKey => 6,
        }
    }
}

/// The role of each range of a request's data. Offsets count from the first byte of all segments.
///
/// | service | `authenticated` | `encrypted` | `tag` |
/// |---|---|---|---|
/// | cipher | empty | the bytes to encrypt | |
/// | AEAD | associated data | the bytes to encrypt | 16 bytes |
/// | MAC, digest | the message | empty | the session's tag length |
/// | chained | bytes only authenticated, before the rest | bytes encrypted and authenticated | the session's tag length |
/// | random | empty | the bytes to fill | |
///
/// The ranges do not overlap, with one exception: under [`ChainOrder::MacThenEncrypt`] the tag may lie within `encrypted`.
/// It is then encrypted too; of `encrypted`, the bytes before the tag are authenticated and those after it are padding.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// The bytes that are authenticated and not encrypted.
    pub authenticated: Range<usize>,
    /// The bytes that are encrypted or decrypted.
    pub encrypted: Range<usize>,
    /// The offset of the tag's first byte.
    pub tag: usize,
}

impl Layout {
    /// Returns a layout that encrypts all of `bytes` bytes.
    pub fn whole(bytes: usize) -> Self {
        Self {
            encrypted: 0..bytes,
            ..Self::default()
        }
    }

    /// Returns a layout of associated data, then the bytes to encrypt, then the tag, with these lengths in bytes.
    pub fn packet(authenticated: usize, encrypted: usize) -> Self {
        Self {
            authenticated: 0..authenticated,
            encrypted: authenticated..authenticated + encrypted,
            tag: authenticated + encrypted,
        }
    }

    /// Moves empty ranges to the beginning, where they fit any data.
    pub(crate) fn settled(mut self, tag_bytes: usize) -> Self {
        for range in [&mut self.authenticated, &mut self.encrypted] {
            if range.start >= range.end {
                *range = 0..0;
            }
        }
        if tag_bytes == 0 {
            self.tag = 0;
        }
        self
    }

    /// Whether the tag is encrypted.
    pub(crate) fn tag_is_inside(&self, tag_bytes: usize) -> bool {
        tag_bytes > 0
            && self.encrypted.start <= self.tag
            && self.tag.saturating_add(tag_bytes) <= self.encrypted.end
    }

    /// Returns an error that says why the layout does not fit `bytes` bytes of data.
    pub(crate) fn check(&self, material: &Material, bytes: usize) -> Result<(), String> {
        let tag_bytes = material.tag_bytes;
        let end = self.tag.checked_add(tag_bytes);
        let tag = self.tag..end.ok_or_else(|| format!("the tag is not within {bytes} bytes"))?;
        for (range, what) in [
            (&self.authenticated, "authenticated"),
            (&self.encrypted, "encrypted"),
            (&tag, "the tag"),
        ] {
            if range.start > range.end || (!range.is_empty() && range.end > bytes) {
                return Err(format!("{what}: {range:?} is not within {bytes} bytes"));
            }
        }
        let overlap = |a: &Range<usize>, b: &Range<usize>| {
            !a.is_empty() && !b.is_empty() && a.start < b.end && b.start < a.end
        };
        let may_be_inside = matches!(
            material.service,
            Service::Chained {
                order: ChainOrder::MacThenEncrypt,
                ..
            }
        ) && self.tag_is_inside(tag_bytes);
        if overlap(&self.authenticated, &self.encrypted)
            || overlap(&self.authenticated, &tag)
            || (overlap(&self.encrypted, &tag) && !may_be_inside)
        {
            return Err("what is authenticated, what is encrypted and the tag overlap".into());
        }
        let is_cbc = material
            .service
            .cipher()
            .is_some_and(|cipher| cipher.kind() == Kind::Cbc);
        if is_cbc && !self.encrypted.len().is_multiple_of(16) {
            return Err(format!(
                "{} bytes to be encrypted: AES-CBC takes whole blocks of 16",
                self.encrypted.len()
            ));
        }
        Ok(())
    }
}

/// An IV, nonce or counter block.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct IvBytes {
    bytes: [u8; IV_BYTES_MAX],
    len: u8,
}

impl IvBytes {
    /// Copies an IV of at most 16 bytes.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] for more than 16 bytes.
    pub fn new(iv: &[u8]) -> Result<Self, Error> {
        let mut bytes = [0; IV_BYTES_MAX];
        let Some(place) = bytes.get_mut(..iv.len()) else {
            return Err(Error::InvalidInput(format!(
                "an IV of {} bytes: give 16 at most",
                iv.len()
            )));
        };
        place.copy_from_slice(iv);
        Ok(Self {
            bytes,
            len: iv.len() as u8,
        })
    }

    pub(crate) fn block(bytes: [u8; IV_BYTES_MAX]) -> Self {
        Self {
            bytes,
            len: IV_BYTES_MAX as u8,
        }
    }

    /// Returns the bytes.
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.len.into()]
    }
}

impl fmt::Debug for IvBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IvBytes({} bytes)", self.len)
    }
}

/// The keys of a session and the service that they are for. Wiped on drop.
pub struct Material {
    /// A number unique in the process, by which a device that keeps keys recognizes them.
    pub(crate) id: u64,
    pub(crate) is_of_one: bool,
    pub(crate) service: Service,
    pub(crate) cipher_key: Zeroizing<Vec<u8>>,
    pub(crate) mac_key: Zeroizing<Vec<u8>>,
    pub(crate) tag_bytes: usize,
}

impl Material {
    pub(crate) fn new(
        service: Service,
        cipher_key: &[u8],
        mac_key: &[u8],
        tag_bytes: usize,
    ) -> Result<Self, Error> {
        if let Some(cipher) = service.cipher() {
            if cipher_key.len() != cipher.key_bytes() || cipher_key.is_empty() {
                return Err(Error::InvalidKey(format!(
                    "a key of {} bytes: {cipher} takes {}",
                    cipher_key.len(),
                    cipher.key_bytes()
                )));
            }
            let is_aead = cipher.kind() == Kind::Aead;
            if is_aead != matches!(service, Service::Aead(_)) {
                return Err(Error::InvalidInput(format!("{cipher} does not fit here")));
            }
        }
        if let Some(hash) = service.hash()
            && (tag_bytes == 0 || tag_bytes > hash.digest_bytes())
        {
            return Err(Error::InvalidInput(format!(
                "a tag of {tag_bytes} bytes: {} has 1 to {}",
                hash.name(),
                hash.digest_bytes()
            )));
        }
        if service == Service::Digest(HashAlgorithm::Md5) {
            return Err(Error::InvalidInput("MD5 is there in HMAC alone".into()));
        }
        static IDS: AtomicU64 = AtomicU64::new(1);
        Ok(Self {
            id: IDS.fetch_add(1, Ordering::Relaxed),
            is_of_one: false,
            service,
            cipher_key: Zeroizing::new(cipher_key.to_vec()),
            mac_key: Zeroizing::new(mac_key.to_vec()),
            tag_bytes,
        })
    }

    /// Returns the service that the keys are for.
    pub fn service(&self) -> Service {
        self.service
    }

    /// Returns a number that no other keys of the process have.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Whether the keys serve a single request, so that a device need not keep them.
    pub fn is_of_one_request(&self) -> bool {
        self.is_of_one
    }

    /// Returns the cipher's key, or an empty slice if there is no cipher.
    pub fn cipher_key(&self) -> &[u8] {
        &self.cipher_key
    }

    /// Returns HMAC's key, or an empty slice if there is no HMAC.
    pub fn mac_key(&self) -> &[u8] {
        &self.mac_key
    }

    /// Returns the length of a tag or a digest in bytes; 0 if there is none.
    pub fn tag_bytes(&self) -> usize {
        self.tag_bytes
    }
}

impl fmt::Debug for Material {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Material")
            .field("id", &self.id)
            .field("service", &self.service)
            .finish_non_exhaustive()
    }
}

/// The parameters of a request without its data.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) direction: Direction,
    /// The IV: the counter block of the first byte for stream ciphers, the previous block for CBC, the nonce for AEADs.
    pub(crate) iv: IvBytes,
    /// Bytes of the first keystream block that are already used, for stream ciphers.
    pub(crate) skip: usize,
    pub(crate) layout: Layout,
}

impl Step {
    /// Returns the IV as the counter of a stream cipher.
    pub(crate) fn counter(&self) -> u128 {
        let bytes = self.iv.as_slice();
        let mut counter = [0; IV_BYTES_MAX];
        counter[IV_BYTES_MAX - bytes.len()..].copy_from_slice(bytes);
        u128::from_be_bytes(counter)
    }
}

pub(crate) const IV_BYTES_MAX: usize = 16;
