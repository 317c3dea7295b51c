//! RSA keys, parsed from their file formats and checked.

#[cfg(feature = "ssh")]
mod openssh;

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use pkcs1::RsaPrivateKeyRef;
use pkcs8::der::Decode;
use pkcs8::der::asn1::UintRef;
use pkcs8::spki::SubjectPublicKeyInfoRef;
use pkcs8::{Document, ObjectIdentifier, PrivateKeyInfoRef, SecretDocument};
use sha2::{Digest, Sha256};
use zeroize::{Zeroize, Zeroizing};

#[cfg(feature = "ssh")]
pub(in crate::work) use self::openssh::OpensshNumbers;
use crate::Error;
use crate::aws_lc::rsa::{PrivateNumbers, RsaSecretNumbers, SoftwareRsa};
use crate::work::lane_numbers::{LaneModulus, LanePrivate};

/// An RSA public key (RFC 8017, 3.1) of 1024 to 4096 bits.
///
/// ```
/// let key = oarlock::rsa::RsaPublicKey::from_pem(include_str!("../../../../oarlock/tests/keys/rsa2048.pub.pem"))?;
/// assert_eq!(key.bits(), 2048);
/// # Ok::<(), oarlock::Error>(())
/// ```
#[derive(Clone)]
pub struct RsaPublicKey(Arc<Public>);

pub(crate) struct Public {
    /// The modulus, big-endian, without leading zeros.
    pub(crate) n: Vec<u8>,
    e: Vec<u8>,
    bits: usize,
    pub(crate) short_exponent: u64,
    pub(crate) software: SoftwareRsa,
    pub(crate) lanes: LaneModulus,
}

/// An RSA private key (RFC 8017, 3.2) of 1024 to 4096 bits, with or without its two primes. Clones share it. It is wiped
/// when the last clone and the last session are dropped.
///
/// ```
/// let pem = include_str!("../../../../oarlock/tests/keys/rsa2048.pem");
/// let key = oarlock::rsa::RsaPrivateKey::from_pem(pem)?;
/// assert_eq!(key.public_key().bits(), 2048);
/// # Ok::<(), oarlock::Error>(())
/// ```
#[derive(Clone)]
pub struct RsaPrivateKey(Arc<Private>);

pub(crate) struct Private {
    public: RsaPublicKey,
    pub(crate) place: Place,
    has_primes: bool,
    pub(crate) lanes: Option<LanePrivate>,
    /// The key of implicit rejection: SHA-256 of d, padded to the length of n, or, if a device holds d, of a power with it.
    pub(crate) rejection_key: Zeroizing<[u8; 32]>,
}

/// The location of a private key.
pub(crate) enum Place {
    Here(SoftwareRsa),
    Device(Arc<dyn Holder>),
}

/// A device that holds a private key.
pub(crate) trait Holder: Any + Send + Sync {
    /// The device's name.
    fn name(&self) -> &Arc<str>;

    /// Returns the device's ID of the key.
    fn id(&self) -> &[u8];

    /// Whether the device is faster with several requests in one call than with one call for each thread.
    fn batches(&self) -> bool;

    /// Returns `number` ^ d mod n, checked. `number` is less than the modulus and of the same length.
    fn power(&self, key: &RsaPrivateKey, number: &[u8]) -> Result<Zeroizing<Vec<u8>>, Error>;
}

impl RsaPublicKey {
    /// Creates a key from a modulus and a public exponent, both big-endian. Leading zeros are ignored.
    ///
    /// # Errors
    /// [`Error::InvalidKey`] unless the modulus is odd and has 1024 to 4096 bits, and the exponent
    /// is odd and between 3 and 2^33.
    pub fn from_numbers(modulus: &[u8], exponent: &[u8]) -> Result<Self, Error> {
        let (n, e) = (significant(modulus), significant(exponent));
        let bits = check_modulus(n)?;
        let software = SoftwareRsa::public(n, e).map_err(invalid)?;
        Ok(Self(Arc::new(Public {
            n: n.to_vec(),
            e: e.to_vec(),
            bits,
            // Less than 2^33, or aws-lc would have rejected it.
            short_exponent: e.iter().fold(0, |e, byte| e << 8 | u64::from(*byte)),
            software,
            lanes: LaneModulus::default(),
        })))
    }

    /// Parses text: PEM of SubjectPublicKeyInfo (`PUBLIC KEY`, RFC 7468, 13) or of PKCS#1 (`RSA PUBLIC KEY`), or, with the
    /// feature `ssh`, an OpenSSH public-key line (`ssh-rsa ...`).
    ///
    /// # Errors
    /// [`Error::InvalidKey`] says what is wrong.
    pub fn from_pem(text: &str) -> Result<Self, Error> {
        let text = text.trim();
        #[cfg(feature = "ssh")]
        if text.starts_with("ssh-") {
            return Self::from_openssh(text);
        }
        let (label, document) = Document::from_pem(text).map_err(not_pem)?;
        match label {
            "PUBLIC KEY" => Self::from_spki(document.as_bytes()),
            "RSA PUBLIC KEY" => Self::from_pkcs1(document.as_bytes()),
            label => Err(unknown_label(label, "PUBLIC KEY or RSA PUBLIC KEY")),
        }
    }

    /// Parses DER: SubjectPublicKeyInfo (RFC 5280, 4.1) or RSAPublicKey (RFC 8017, A.1.1).
    ///
    /// # Errors
    /// [`Error::InvalidKey`] says what is wrong.
    pub fn from_der(der: &[u8]) -> Result<Self, Error> {
        if SubjectPublicKeyInfoRef::from_der(der).is_ok() {
            Self::from_spki(der)
        } else {
            Self::from_pkcs1(der)
        }
    }

    /// Returns the length of the modulus in bits.
    pub fn bits(&self) -> usize {
        self.0.bits
    }

    /// Returns the length in bytes of the modulus, of a signature and of a ciphertext.
    pub fn bytes(&self) -> usize {
        self.0.n.len()
    }

    /// Returns the modulus, big-endian, without leading zeros.
    pub fn modulus(&self) -> &[u8] {
        &self.0.n
    }

    /// Returns the public exponent, big-endian, without leading zeros.
    pub fn exponent(&self) -> &[u8] {
        &self.0.e
    }

    pub(crate) fn parts(&self) -> &Public {
        &self.0
    }

    fn from_spki(der: &[u8]) -> Result<Self, Error> {
        let info = SubjectPublicKeyInfoRef::from_der(der)
            .map_err(|error| invalid(format!("not a SubjectPublicKeyInfo: {error}")))?;
        check_algorithm(info.algorithm.oid)?;
        let key = info.subject_public_key.as_bytes();
        Self::from_pkcs1(key.ok_or_else(|| invalid("the public key is not whole bytes"))?)
    }

    fn from_pkcs1(der: &[u8]) -> Result<Self, Error> {
        let key = pkcs1::RsaPublicKeyRef::from_der(der)
            .map_err(|error| invalid(format!("not an RSAPublicKey (RFC 8017, A.1.1): {error}")))?;
        Self::from_numbers(key.modulus.as_bytes(), key.public_exponent.as_bytes())
    }
}

impl RsaPrivateKey {
    /// Parses unencrypted PEM: PKCS#8 (`PRIVATE KEY`, RFC 5958), PKCS#1 (`RSA PRIVATE KEY`) or, with the feature `ssh`,
    /// OpenSSH's own format (`OPENSSH PRIVATE KEY`).
    ///
    /// # Errors
    /// [`Error::InvalidKey`] says what is wrong; see [`from_der`](Self::from_der).
    pub fn from_pem(pem: &str) -> Result<Self, Error> {
        let pem = pem.trim();
        #[cfg(feature = "ssh")]
        if pem.starts_with("-----BEGIN OPENSSH PRIVATE KEY-----") {
            return Self::from_openssh(pem);
        }
        if has_headers(pem) {
            return Err(encrypted());
        }
        let (label, document) = SecretDocument::from_pem(pem).map_err(not_pem)?;
        match label {
            "PRIVATE KEY" => Self::from_pkcs8(document.as_bytes()),
            "RSA PRIVATE KEY" => Self::from_pkcs1(document.as_bytes()),
            "ENCRYPTED PRIVATE KEY" => Err(encrypted()),
            label => Err(unknown_label(
                label,
                "PRIVATE KEY, RSA PRIVATE KEY or OPENSSH PRIVATE KEY",
            )),
        }
    }

    /// Generates a key with the public exponent 65537 and a modulus of `bits` bits: 2048, 3072 or 4096. It takes from a tenth of
    /// a second to several.
    ///
    /// ```
    /// let key = oarlock::rsa::RsaPrivateKey::generate(2048)?;
    /// assert_eq!(key.public_key().bits(), 2048);
    /// # Ok::<(), oarlock::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidInput`] for another length; [`Error::DeviceFailed`] if memory is exhausted.
    pub fn generate(bits: u16) -> Result<Self, Error> {
        match bits {
            2048 | 3072 | 4096 => Self::from_pkcs1(&SoftwareRsa::generate_der(bits)?),
            _ => Err(Error::InvalidInput(format!(
                "an RSA key can be generated with 2048, 3072 or 4096 bits, not {bits}"
            ))),
        }
    }

    /// Parses DER: PrivateKeyInfo (PKCS#8) or RSAPrivateKey (RFC 8017, A.1.2).
    ///
    /// # Errors
    /// [`Error::InvalidKey`] says what is wrong: the format, a modulus that is even or not between 1024 and 4096 bits long,
    /// a public exponent that is even or not between 3 and 2^33, or parts that contradict each other. The primes are not
    /// tested for primality; with composite ones, operations fail with [`Error::DeviceFailed`].
    pub fn from_der(der: &[u8]) -> Result<Self, Error> {
        if PrivateKeyInfoRef::from_der(der).is_ok() {
            Self::from_pkcs8(der)
        } else {
            Self::from_pkcs1(der)
        }
    }

    /// Creates a key without its primes from a modulus, a public and a private exponent, big-endian. Its operations take
    /// about four times as long as those of a key with primes.
    ///
    /// # Errors
    /// [`Error::InvalidKey`] says what is wrong, as for [`from_der`](Self::from_der). The first operation shows whether the
    /// exponents match.
    pub fn from_numbers(n: &[u8], e: &[u8], d: &[u8]) -> Result<Self, Error> {
        let public = RsaPublicKey::from_numbers(n, e)?;
        check_length(d, public.modulus())?;
        let software = SoftwareRsa::private_without_primes(n, e, d).map_err(invalid)?;
        let mut two = vec![0; public.bytes()];
        two[public.bytes() - 1] = 2;
        software
            .apply_private(&two)
            .map_err(|_| invalid("the private exponent is not the inverse of the public one"))?;
        let lanes = LanePrivate::without_primes(d, public.bits());
        Ok(Self::new(public, software, false, lanes, d))
    }

    /// Creates a key from all numbers of a two-prime key.
    ///
    /// # Errors
    /// [`Error::InvalidKey`] says what is wrong, as for [`from_der`](Self::from_der).
    pub fn from_all_numbers(numbers: &PrivateNumbers<'_>) -> Result<Self, Error> {
        let public = RsaPublicKey::from_numbers(numbers.n, numbers.e)?;
        let PrivateNumbers {
            d,
            p,
            q,
            dp,
            dq,
            qinv,
            ..
        } = numbers;
        for part in [d, p, q, dp, dq, qinv] {
            check_length(part, public.modulus())?;
        }
        let software = SoftwareRsa::private(numbers).map_err(invalid)?;
        let lanes = LanePrivate::new(numbers, public.bits());
        Ok(Self::new(public, software, true, lanes, numbers.d))
    }

    /// Creates a handle for a key that `holder` holds. `rejection_key` is the key of implicit rejection.
    pub(crate) fn held_by_holder(
        public: RsaPublicKey,
        holder: Arc<dyn Holder>,
        rejection_key: Zeroizing<[u8; 32]>,
    ) -> Self {
        Self(Arc::new(Private {
            public,
            place: Place::Device(holder),
            has_primes: false,
            lanes: None,
            rejection_key,
        }))
    }

    /// Returns a copy of the secret numbers, for a device that receives them with a request; `None` if a device holds the
    /// key.
    ///
    /// The copy lies in heap memory that may be swapped out and appears in core dumps. It reveals the key: keep it only for
    /// the time of a request.
    ///
    /// # Errors
    /// [`Error::DeviceFailed`] if memory is exhausted.
    pub fn secret_numbers(&self) -> Result<Option<RsaSecretNumbers>, Error> {
        match &self.0.place {
            Place::Here(software) => software.secret_numbers().map(Some),
            Place::Device(_) => Ok(None),
        }
    }

    /// Returns a name for this key that only a holder of the private half can compute: SHA-256 of `purpose`, its length, and
    /// all secret numbers. `None` if a device holds the key.
    ///
    /// # Errors
    /// [`Error::DeviceFailed`] if memory is exhausted.
    pub fn secret_name(&self, purpose: &str) -> Result<Option<Zeroizing<[u8; 32]>>, Error> {
        let Some(secret) = self.secret_numbers()? else {
            return Ok(None);
        };
        let mut hashed = Zeroizing::new(Vec::with_capacity(
            8 + purpose.len() + self.public_key().bytes() + secret.d.len(),
        ));
        hashed.extend_from_slice(&(purpose.len() as u64).to_le_bytes());
        hashed.extend_from_slice(purpose.as_bytes());
        hashed.extend_from_slice(self.public_key().modulus());
        hashed.extend_from_slice(&secret.d);
        Ok(Some(digest(&hashed)))
    }

    /// Returns the ID that the device holding this key uses for it; `None` for a key in this process.
    pub fn held_id(&self) -> Option<&[u8]> {
        self.holder().map(|holder| holder.id())
    }

    /// Returns the name of the device that holds this key; `None` for a key in this process.
    pub fn held_by(&self) -> Option<&str> {
        self.holder().map(|holder| &**holder.name())
    }

    /// Whether the key is in this process and has its two primes.
    pub fn has_primes(&self) -> bool {
        self.0.has_primes
    }

    pub(crate) fn holder(&self) -> Option<&dyn Holder> {
        match &self.0.place {
            Place::Here(_) => None,
            Place::Device(holder) => Some(&**holder),
        }
    }

    /// Returns the public half.
    pub fn public_key(&self) -> &RsaPublicKey {
        &self.0.public
    }

    pub(crate) fn parts(&self) -> &Private {
        &self.0
    }

    fn from_pkcs8(der: &[u8]) -> Result<Self, Error> {
        let info = PrivateKeyInfoRef::from_der(der)
            .map_err(|error| invalid(format!("not a PKCS#8 private key: {error}")))?;
        check_algorithm(info.algorithm.oid)?;
        Self::from_pkcs1(info.private_key.as_bytes())
    }

    fn from_pkcs1(der: &[u8]) -> Result<Self, Error> {
        let key = RsaPrivateKeyRef::from_der(der)
            .map_err(|error| invalid(format!("not an RSAPrivateKey (RFC 8017, A.1.2): {error}")))?;
        if key.other_prime_infos.is_some() {
            return Err(invalid("the key has more than two primes"));
        }
        let has_none = |numbers: &[UintRef<'_>]| {
            let mut numbers = numbers.iter();
            numbers.all(|number| significant(number.as_bytes()).is_empty())
        };
        if has_none(&[
            key.prime1,
            key.prime2,
            key.exponent1,
            key.exponent2,
            key.coefficient,
        ]) {
            return Self::from_numbers(
                key.modulus.as_bytes(),
                key.public_exponent.as_bytes(),
                key.private_exponent.as_bytes(),
            );
        }
        Self::from_all_numbers(&PrivateNumbers {
            n: key.modulus.as_bytes(),
            e: key.public_exponent.as_bytes(),
            d: key.private_exponent.as_bytes(),
            p: key.prime1.as_bytes(),
            q: key.prime2.as_bytes(),
            dp: key.exponent1.as_bytes(),
            dq: key.exponent2.as_bytes(),
            qinv: key.coefficient.as_bytes(),
        })
    }

    /// Creates a key from checked parts. `d` is no longer than the modulus.
    fn new(
        public: RsaPublicKey,
        software: SoftwareRsa,
        has_primes: bool,
        lanes: Option<LanePrivate>,
        d: &[u8],
    ) -> Self {
        let mut padded = Zeroizing::new(vec![0; public.bytes()]);
        let d = significant(d);
        let at = padded.len() - d.len();
        padded[at..].copy_from_slice(d);
        Self(Arc::new(Private {
            public,
            place: Place::Here(software),
            has_primes,
            lanes,
            rejection_key: digest(&padded),
        }))
    }
}

impl PartialEq for RsaPublicKey {
    fn eq(&self, other: &Self) -> bool {
        (self.modulus(), self.exponent()) == (other.modulus(), other.exponent())
    }
}

impl Eq for RsaPublicKey {}

impl fmt::Debug for RsaPublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RsaPublicKey")
            .field("bits", &self.bits())
            .finish_non_exhaustive()
    }
}

/// Shows only the size.
impl fmt::Debug for RsaPrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RsaPrivateKey")
            .field("bits", &self.public_key().bits())
            .finish_non_exhaustive()
    }
}

/// Returns the length of `n` in bits and checks it. `n` has no leading zeros.
fn check_modulus(n: &[u8]) -> Result<usize, Error> {
    let bits = 8 * n.len() - n.first().map_or(0, |first| first.leading_zeros() as usize);
    if !(BITS_MIN..=BITS_MAX).contains(&bits) {
        return Err(invalid(format!(
            "the modulus has {bits} bits: RSA keys have {BITS_MIN} to {BITS_MAX} here"
        )));
    }
    if n[n.len() - 1].is_multiple_of(2) {
        return Err(invalid("the modulus is even"));
    }
    Ok(bits)
}

/// Rejects a part of a private key that is longer than the modulus. Lengths are not secret.
fn check_length(part: &[u8], modulus: &[u8]) -> Result<(), Error> {
    if significant(part).len() > significant(modulus).len() {
        return Err(invalid(
            "a part of the private key is longer than the modulus",
        ));
    }
    Ok(())
}

/// Whether the first line of a PEM block has headers behind it, as those of encrypted keys do (RFC 1421, 4.6.1.1). Reads that line
/// alone, since secrets follow where there are none.
pub(crate) fn has_headers(text: &str) -> bool {
    let block = text.split_once("-----BEGIN ").map(|(_, block)| block);
    let second = block.and_then(|block| block.lines().nth(1));
    second.is_some_and(|line| line.starts_with("Proc-Type:"))
}

fn check_algorithm(oid: ObjectIdentifier) -> Result<(), Error> {
    if oid == pkcs1::ALGORITHM_OID {
        Ok(())
    } else {
        Err(not_rsa(&oid.to_string()))
    }
}

fn significant(number: &[u8]) -> &[u8] {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    &number[zeros..]
}

pub(crate) fn digest(secret: &[u8]) -> Zeroizing<[u8; 32]> {
    let mut kept = Zeroizing::new([0; 32]);
    let mut digest = Sha256::digest(secret);
    kept.copy_from_slice(&digest);
    digest.zeroize();
    kept
}

fn invalid(what: impl Into<String>) -> Error {
    Error::InvalidKey(what.into())
}

fn encrypted() -> Error {
    invalid("the private key is encrypted: decrypt it first, as with openssl pkey or ssh-keygen -p")
}

fn not_pem(error: impl fmt::Display) -> Error {
    invalid(format!("not a key in PEM: {error}"))
}

fn unknown_label(label: &str, known: &str) -> Error {
    invalid(format!("PEM of {label:?}: expected {known}"))
}

fn not_rsa(algorithm: &str) -> Error {
    invalid(format!("a key of {algorithm}, not of RSA (rsaEncryption)"))
}

const BITS_MIN: usize = 1024;
const BITS_MAX: usize = 4096;
