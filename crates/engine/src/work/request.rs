//! Public-key requests, which every implementation computes in three steps: encode the input as a number, raise the number
//! to a power, and decode the result. Only the middle step takes time, and it is the same for all requests of a kind, so
//! requests with different schemes and keys can share a batch.

use std::fmt;
use std::sync::Arc;

use oarlock_kernels::modexp::{Backend, Width};
use zeroize::Zeroizing;

use super::lane_numbers::LanePrivate;
use super::modulus::{Base, ByteOrder, Modulus};
use super::rsa::key::{Holder, Place, RsaPrivateKey, RsaPublicKey};
use super::rsa::padding;
use super::rsa::scheme::{
    EncryptionScheme, SignaturePadding, SignatureScheme, check_digest, number, signature_operand,
};
use super::shape::{BatchKey, BatchKind, PublicKeyOperation, Shape};
use crate::Error;

/// Bytes that a request owns. They are wiped on drop.
pub(crate) type Buffer = Zeroizing<Vec<u8>>;

/// A request for a [`BlockingDevice`](crate::device::BlockingDevice), submitted with
/// [`complete`](crate::device::complete): a number to raise to a power, and the decoding of the result. Creating the request
/// checks its input. Wiped on drop.
pub struct PublicKeyRequest {
    target: Target,
    purpose: Purpose<Buffer>,
    /// The number to raise: big-endian, less than the modulus and of the same length. Empty until it is encoded.
    operand: Buffer,
}

/// The exponent and modulus that a number is raised with.
pub(crate) enum Target {
    /// The private exponent of this key.
    Private(RsaPrivateKey),
    /// The public exponent of this key.
    Public(RsaPublicKey),
    /// This exponent, big-endian.
    Power(Modulus, Buffer),
}

/// A borrowed [`Target`].
#[derive(Clone, Copy)]
pub(crate) enum TargetRef<'a> {
    Private(&'a RsaPrivateKey),
    Public(&'a RsaPublicKey),
    Power(&'a Modulus, &'a [u8]),
}

/// The input that is encoded as a number and the meaning of the result. `B` holds bytes, borrowed or owned.
pub(crate) enum Purpose<B> {
    /// Sign a message.
    Sign { scheme: SignatureScheme, message: B },
    /// Sign a message by its digest.
    SignDigest { scheme: SignatureScheme, digest: B },
    /// Decrypt a ciphertext.
    Decrypt {
        scheme: EncryptionScheme,
        ciphertext: B,
    },
    /// Check that this is a signature of the message; the result is empty.
    Verify {
        scheme: SignatureScheme,
        message: B,
        signature: B,
    },
    /// Check that this is a signature of the message with this digest; the result is empty.
    VerifyDigest {
        scheme: SignatureScheme,
        digest: B,
        signature: B,
    },
    /// Encrypt a message.
    Encrypt {
        scheme: EncryptionScheme,
        message: B,
    },
    /// Raise a number.
    Raw { number: B },
    /// Raise a base of any length and sign. The result has the byte order of the base.
    Power { base: Base<B>, order: ByteOrder },
    /// Raise a number that was encoded for another request.
    Made,
}

impl<B: AsRef<[u8]>> Purpose<B> {
    /// Returns the number to raise, which is less than the modulus and of the same length.
    pub(crate) fn operand(&self, target: TargetRef<'_>) -> Result<Buffer, Error> {
        match self {
            Self::Sign { scheme, message } => {
                let digest = scheme.hash().digest(&[message.as_ref()]);
                signature_operand(*scheme, &digest, target.public_key()?).map(Zeroizing::new)
            }
            Self::SignDigest { scheme, digest } => {
                let digest = digest.as_ref();
                check_digest(*scheme, digest)?;
                signature_operand(*scheme, digest, target.public_key()?).map(Zeroizing::new)
            }
            Self::Decrypt { ciphertext, .. } => {
                let (ciphertext, key) = (ciphertext.as_ref(), target.public_key()?);
                if ciphertext.len() != key.bytes() || ciphertext >= key.modulus() {
                    return Err(Error::DecryptionFailed);
                }
                Ok(Zeroizing::new(ciphertext.to_vec()))
            }
            Self::Verify { signature, .. } | Self::VerifyDigest { signature, .. } => {
                let (signature, key) = (signature.as_ref(), target.public_key()?);
                if signature.len() != key.bytes() || signature >= key.modulus() {
                    return Err(Error::InvalidSignature);
                }
                Ok(Zeroizing::new(signature.to_vec()))
            }
            Self::Encrypt { scheme, message } => {
                let bytes = target.public_key()?.bytes();
                match scheme {
                    EncryptionScheme::Pkcs1 => padding::pkcs1_message(message.as_ref(), bytes),
                    EncryptionScheme::Oaep { hash, mgf1, label } => {
                        padding::oaep_message(*hash, *mgf1, label, message.as_ref(), bytes)
                    }
                }
            }
            Self::Raw { number: raw } => number(raw.as_ref(), target.public_key()?),
            Self::Power { base, order } => match target {
                TargetRef::Power(modulus, _) => modulus.reduced(base, *order),
                TargetRef::Private(_) | TargetRef::Public(_) => Err(mismatched()),
            },
            Self::Made => Err(mismatched()),
        }
    }

    /// Decodes the power into the result.
    pub(crate) fn result(&self, target: TargetRef<'_>, mut power: Buffer) -> Result<Buffer, Error> {
        let (scheme, digest) = match self {
            Self::Decrypt { scheme, ciphertext } => {
                let TargetRef::Private(key) = target else {
                    return Err(mismatched());
                };
                return scheme.decode(&power, ciphertext.as_ref(), Some(key));
            }
            Self::Verify {
                scheme, message, ..
            } => (*scheme, scheme.hash().digest(&[message.as_ref()])),
            Self::VerifyDigest { scheme, digest, .. } => {
                check_digest(*scheme, digest.as_ref())?;
                (*scheme, Zeroizing::new(digest.as_ref().to_vec()))
            }
            Self::Power {
                order: ByteOrder::LittleEndian,
                ..
            } => {
                power.reverse();
                return Ok(power);
            }
            _ => return Ok(power),
        };
        let key = target.public_key()?;
        let is_right = match scheme.padding() {
            // Encoding again and comparing leaves no room for what a lax parser accepts.
            SignaturePadding::Pkcs1(hash) => {
                *power == padding::pkcs1_signature(hash, &digest, key.bytes())
            }
            SignaturePadding::Pss(pss) => {
                padding::is_pss_signature(pss, &digest, key.bits(), &power)
            }
        };
        if is_right {
            Ok(Zeroizing::default())
        } else {
            Err(Error::InvalidSignature)
        }
    }
}

impl Target {
    pub(crate) fn as_ref(&self) -> TargetRef<'_> {
        match self {
            Self::Private(key) => TargetRef::Private(key),
            Self::Public(key) => TargetRef::Public(key),
            Self::Power(modulus, exponent) => TargetRef::Power(modulus, exponent),
        }
    }
}

impl From<RsaPrivateKey> for Target {
    fn from(key: RsaPrivateKey) -> Self {
        Self::Private(key)
    }
}

impl<'a> TargetRef<'a> {
    /// Returns a copy that owns its parts.
    pub(crate) fn to_owned(self) -> Target {
        match self {
            Self::Private(key) => Target::Private(key.clone()),
            Self::Public(key) => Target::Public(key.clone()),
            Self::Power(modulus, exponent) => {
                Target::Power(modulus.clone(), Zeroizing::new(exponent.to_vec()))
            }
        }
    }

    /// Returns the public key, or the public half of the private key.
    fn public_key(self) -> Result<&'a RsaPublicKey, Error> {
        match self {
            Self::Private(key) => Ok(key.public_key()),
            Self::Public(key) => Ok(key),
            Self::Power(..) => Err(mismatched()),
        }
    }

    /// Returns the modulus, big-endian, without leading zeros.
    fn modulus(self) -> &'a [u8] {
        match self {
            Self::Private(key) => key.public_key().modulus(),
            Self::Public(key) => key.modulus(),
            Self::Power(modulus, _) => modulus.number(),
        }
    }

    /// Returns the length of the modulus in bits.
    fn bits(self) -> usize {
        match self {
            Self::Private(key) => key.public_key().bits(),
            Self::Public(key) => key.bits(),
            Self::Power(modulus, _) => modulus.bits(),
        }
    }

    /// Returns the key of the batches that the request can join.
    ///
    /// All lanes take the time of the longest exponent, so a power with a much shorter or longer exponent is computed alone.
    /// So is one with a modulus much shorter than any width.
    pub(crate) fn batch_key(self) -> BatchKey {
        match self {
            Self::Private(key) => match &key.parts().lanes {
                None if key.holder().is_some_and(Holder::batches) => BatchKey::HELD,
                None => BatchKey::ALONE,
                Some(LanePrivate::Crt(lanes)) => BatchKey::of(BatchKind::Private, lanes.width),
                Some(LanePrivate::Plain(lanes)) => BatchKey::of(BatchKind::Power, lanes.width),
            },
            Self::Public(key) => Width::for_bits(key.bits()).map_or(BatchKey::ALONE, |width| {
                BatchKey::of(BatchKind::Public, width)
            }),
            Self::Power(modulus, exponent) => power_batch_key(modulus.bits(), exponent.len()),
        }
    }

    /// Raises `operand`, a number from [`Purpose::operand`], by aws-lc or by the device that holds the key.
    pub(crate) fn power(self, operand: &[u8]) -> Result<Buffer, Error> {
        match self {
            Self::Private(key) => private_power(key, operand),
            Self::Public(key) => key.parts().software.apply_public(operand),
            Self::Power(modulus, exponent) => modulus.power(operand, exponent),
        }
    }

    /// Returns the modulus in the kernels' form. For a private key it is the public modulus, not the primes.
    pub(crate) fn lane_modulus(
        self,
        backend: Backend,
    ) -> Option<&'a oarlock_kernels::modexp::Modulus> {
        let key = match self {
            Self::Private(key) => key.public_key(),
            Self::Public(key) => key,
            Self::Power(modulus, _) => return modulus.lanes(backend),
        };
        key.parts()
            .lanes
            .prepared(backend, key.modulus(), key.bits())
    }
}

/// Returns the key of the batches that a power can join.
fn power_batch_key(modulus_bits: usize, exponent_bytes: usize) -> BatchKey {
    match Width::for_bits(modulus_bits) {
        Some(width)
            if modulus_bits > POWER_BITS_MIN
                && exponent_bytes <= width.bytes()
                && exponent_bytes > width.bytes() / 2 =>
        {
            BatchKey::of(BatchKind::Power, width)
        }
        _ => BatchKey::ALONE,
    }
}

impl Shape {
    /// Returns the shape of a power with numbers that belong to no key, before they are checked.
    pub fn of_power(modulus_bits: usize, exponent_bytes: usize) -> Self {
        let exact = modulus_bits.next_multiple_of(64);
        let full = power_batch_key(modulus_bits, exponent_bytes)
            .modulus_bits()
            .unwrap_or(exact);
        Self {
            operation: PublicKeyOperation::Power,
            modulus_bits: full,
            exponent_bits: match 8 * exponent_bytes {
                bits if bits > full / 2 && bits <= full => full,
                bits => bits.next_power_of_two(),
            },
        }
    }

    /// Returns the shape of a private operation whose primes have half the modulus's bits each, before the key is checked.
    pub fn of_private_by_primes(modulus_bits: usize) -> Self {
        let full = match Width::for_bits(modulus_bits.div_ceil(2)) {
            Some(half) => 2 * half.bits(),
            None => modulus_bits.next_multiple_of(64),
        };
        Self {
            operation: PublicKeyOperation::PrivateByPrimes,
            modulus_bits: full,
            exponent_bits: full,
        }
    }
}

impl PublicKeyRequest {
    /// Creates a request for the signature of `message`.
    ///
    /// # Errors
    /// Those of [`AcceleratedRsa::sign`](crate::rsa::AcceleratedRsa::sign).
    pub fn sign(
        key: &RsaPrivateKey,
        scheme: SignatureScheme,
        message: &[u8],
    ) -> Result<Self, Error> {
        let digest = scheme.hash().digest(&[message]);
        Self::sign_digest(key, scheme, &digest)
    }

    /// Creates a request for the signature of a message whose digest, by the scheme's hash, is `digest`.
    ///
    /// # Errors
    /// Those of [`AcceleratedRsa::sign_digest`](crate::rsa::AcceleratedRsa::sign_digest).
    pub fn sign_digest(
        key: &RsaPrivateKey,
        scheme: SignatureScheme,
        digest: &[u8],
    ) -> Result<Self, Error> {
        let digest = Zeroizing::new(digest.to_vec());
        Self::private(key, Purpose::SignDigest { scheme, digest })
    }

    /// Creates a request for the message in `ciphertext`.
    ///
    /// # Errors
    /// Those of [`AcceleratedRsa::decrypt`](crate::rsa::AcceleratedRsa::decrypt).
    pub fn decrypt(
        key: &RsaPrivateKey,
        scheme: &EncryptionScheme,
        ciphertext: &[u8],
    ) -> Result<Self, Error> {
        let scheme = scheme.clone();
        let ciphertext = Zeroizing::new(ciphertext.to_vec());
        Self::private(key, Purpose::Decrypt { scheme, ciphertext })
    }

    /// Creates a request for `number` ^ d mod n.
    ///
    /// # Errors
    /// Those of [`AcceleratedRsa::raw_private`](crate::rsa::AcceleratedRsa::raw_private).
    pub fn raw_private(key: &RsaPrivateKey, number: &[u8]) -> Result<Self, Error> {
        let number = Zeroizing::new(number.to_vec());
        Self::private(key, Purpose::Raw { number })
    }

    /// Creates a request for `base` ^ d mod n for any base. The result is big-endian, whatever the byte order of `base`.
    ///
    /// # Errors
    /// [`Error::DeviceFailed`] for a base of more than 64 MiB.
    pub fn raw_private_of_any(
        key: &RsaPrivateKey,
        base: Base<&[u8]>,
        order: ByteOrder,
    ) -> Result<Self, Error> {
        let magnitude = order.big_endian(base.magnitude);
        if !base.is_negative
            && let Ok(request) = Self::raw_private(key, &magnitude)
        {
            return Ok(request);
        }
        let modulus = Modulus::new(key.public_key().modulus())?;
        let base = Base {
            magnitude,
            is_negative: base.is_negative,
        };
        let number = modulus.reduced(&base, ByteOrder::BigEndian)?;
        Ok(Self::of_number(key.clone().into(), number))
    }

    /// Creates a request for `base` ^ `exponent` mod `modulus`. All three and the result have the same byte order.
    ///
    /// # Errors
    /// Those of `Accelerator::modexp` and [`AcceleratedModExp::power`](crate::rsa::AcceleratedModExp::power).
    pub fn power(
        modulus: &[u8],
        base: Base<&[u8]>,
        exponent: &[u8],
        order: ByteOrder,
    ) -> Result<Self, Error> {
        let modulus = Modulus::new(&order.big_endian(modulus))?;
        let base = Base {
            magnitude: Zeroizing::new(base.magnitude.to_vec()),
            is_negative: base.is_negative,
        };
        let target = Target::Power(modulus, order.big_endian(exponent));
        Self::new(target, Purpose::Power { base, order }).made()
    }

    /// Creates a request whose number is encoded later, by [`made`](Self::made).
    pub(crate) fn new(target: Target, purpose: Purpose<Buffer>) -> Self {
        Self {
            target,
            purpose,
            operand: Zeroizing::default(),
        }
    }

    /// Creates a request for the power of a number that is already encoded for the target.
    pub(crate) fn of_number(target: Target, operand: Buffer) -> Self {
        Self {
            target,
            purpose: Purpose::Made,
            operand,
        }
    }

    fn private(key: &RsaPrivateKey, purpose: Purpose<Buffer>) -> Result<Self, Error> {
        Self::new(Target::Private(key.clone()), purpose).made()
    }

    /// Encodes the number, if it is not encoded yet.
    pub(crate) fn made(mut self) -> Result<Self, Error> {
        if self.operand.is_empty() {
            self.operand = self.purpose.operand(self.target.as_ref())?;
        }
        Ok(self)
    }

    pub(crate) fn target(&self) -> TargetRef<'_> {
        self.target.as_ref()
    }

    /// Returns the shape of the request.
    pub fn shape(&self) -> Shape {
        let target = self.target();
        // Rounding keeps the number of shapes small, whatever numbers are sent.
        let exact = target.bits().next_multiple_of(64);
        let full = target.batch_key().modulus_bits().unwrap_or(exact);
        let (operation, exponent_bits) = match target {
            TargetRef::Private(key) => {
                let operation = match key.holder() {
                    Some(holder) => PublicKeyOperation::Held(Arc::clone(holder.name())),
                    None if key.has_primes() => PublicKeyOperation::PrivateByPrimes,
                    None => PublicKeyOperation::PrivateByExponent,
                };
                (operation, full)
            }
            TargetRef::Public(_) => (PublicKeyOperation::Public, PUBLIC_EXPONENT_BITS),
            TargetRef::Power(modulus, exponent) => {
                return Shape::of_power(modulus.bits(), exponent.len());
            }
        };
        Shape {
            operation,
            modulus_bits: full,
            exponent_bits,
        }
    }

    /// Returns the modulus, big-endian, without leading zeros.
    pub fn modulus(&self) -> &[u8] {
        self.target().modulus()
    }

    /// Returns the number to raise, which is less than the modulus, of the same length, and big-endian. For a decryption it
    /// is the ciphertext; wipe copies of others.
    pub fn base(&self) -> &[u8] {
        &self.operand
    }

    /// Returns the private key of a private operation.
    pub fn private_key(&self) -> Option<&RsaPrivateKey> {
        match &self.target {
            Target::Private(key) => Some(key),
            Target::Public(_) | Target::Power(..) => None,
        }
    }

    /// Returns the exponent, big-endian, possibly with leading zeros; `None` for private operations.
    pub fn exponent(&self) -> Option<Zeroizing<Vec<u8>>> {
        match &self.target {
            Target::Private(_) => None,
            Target::Public(key) => Some(Zeroizing::new(key.exponent().to_vec())),
            Target::Power(_, exponent) => Some(exponent.clone()),
        }
    }

    /// Checks that a power fits the request, as far as that is possible, and returns it or the reason why not. The check
    /// with the public key is skipped if `is_trusted`.
    pub(crate) fn check(&self, power: Buffer, is_trusted: bool) -> Result<Buffer, String> {
        let modulus = self.modulus();
        // The value is as secret as the request's result, but whether it is in range is not.
        if power.len() != modulus.len() || power[..] >= *modulus {
            return Err(format!(
                "a result of {} bytes that is no number below the modulus of {}",
                power.len(),
                modulus.len()
            ));
        }
        if let Target::Private(key) = &self.target
            && !is_trusted
        {
            let again = TargetRef::Public(key.public_key())
                .power(&power)
                .map_err(|error| error.to_string())?;
            if *again != *self.operand {
                return Err("a result that does not agree with the public key".into());
            }
        }
        Ok(power)
    }

    /// Decodes the power into the result.
    pub(crate) fn finish(&self, power: Buffer) -> Result<Buffer, Error> {
        self.purpose.result(self.target(), power)
    }
}

impl fmt::Debug for PublicKeyRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PublicKeyRequest")
            .field("shape", &self.shape())
            .finish_non_exhaustive()
    }
}

/// Raises `operand` to the power of d.
fn private_power(key: &RsaPrivateKey, operand: &[u8]) -> Result<Buffer, Error> {
    // 0, 1 and n - 1 are their own powers because d is odd. No padding produces them, and aws-lc rejects them.
    let (last, before) = (operand[operand.len() - 1], &operand[..operand.len() - 1]);
    let n = key.public_key().modulus();
    let is_small = last <= 1 && before.iter().all(|byte| *byte == 0);
    let is_largest = before == &n[..n.len() - 1] && last == n[n.len() - 1] - 1;
    if is_small || is_largest {
        return Ok(Zeroizing::new(operand.to_vec()));
    }
    match &key.parts().place {
        Place::Here(software) => software.apply_private(operand),
        Place::Device(holder) => holder.power(key, operand),
    }
}

/// Returns the error for a request of the wrong kind for its key. No public function creates one.
#[cold]
fn mismatched() -> Error {
    Error::InvalidInput("the request does not fit its key".into())
}

/// Bits of the usual public exponent, 65537.
const PUBLIC_EXPONENT_BITS: usize = 17;
/// Moduli of at most this many bits are faster alone by aws-lc than in the narrowest width.
const POWER_BITS_MIN: usize = 448;
