//! Public-key requests as devices get them, and what the devices of this library do with them.

use std::sync::Arc;
use std::time::Duration;

use oarlock_kernels::modexp::LANES;
use zeroize::Zeroizing;

use super::key::Holder;
use super::lanes::{Class, Lanes};
use super::modexp::{Base, ByteOrder, Modulus, PowerRequest};
use super::request::{self, EncryptionScheme, PrivateRequest, PublicRequest, SignatureScheme};
use super::{Buffer, RsaPrivateKey, Work};
use crate::Error;
use crate::device::{
    Answer, CpuDevice, DeviceError, PublicKeyDevice, PublicKeyOffer, PublicKeyOperation, Shape,
    SoftwareDevice,
};
use crate::threads::job::Engine;

/// Something to be computed by a [`PublicKeyDevice`], through
/// [`complete`](crate::device::complete): a number to be raised to a power, and what is made of it.
/// What it was made of is checked when it is made. Wiped on drop.
pub struct PublicKeyRequest {
    work: Work,
    /// Less than the modulus, as many bytes long, big-endian.
    operand: Buffer,
}

impl PublicKeyRequest {
    /// For the signature of `message`.
    ///
    /// # Errors
    /// As [`AcceleratedRsa::sign`](crate::AcceleratedRsa::sign).
    pub fn sign(
        key: &RsaPrivateKey,
        scheme: SignatureScheme,
        message: &[u8],
    ) -> Result<Self, Error> {
        let digest = scheme.hash().digest(&[message]);
        Self::sign_digest(key, scheme, &digest)
    }

    /// For the signature of a message whose digest, by the hash of the scheme, is `digest`.
    ///
    /// # Errors
    /// As [`AcceleratedRsa::sign_digest`](crate::AcceleratedRsa::sign_digest).
    pub fn sign_digest(
        key: &RsaPrivateKey,
        scheme: SignatureScheme,
        digest: &[u8],
    ) -> Result<Self, Error> {
        let digest = Zeroizing::new(digest.to_vec());
        Self::private(key, PrivateRequest::SignDigest { scheme, digest })
    }

    /// For the message in `ciphertext`.
    ///
    /// # Errors
    /// As [`AcceleratedRsa::decrypt`](crate::AcceleratedRsa::decrypt).
    pub fn decrypt(
        key: &RsaPrivateKey,
        scheme: &EncryptionScheme,
        ciphertext: &[u8],
    ) -> Result<Self, Error> {
        let scheme = scheme.clone();
        let ciphertext = Zeroizing::new(ciphertext.to_vec());
        Self::private(key, PrivateRequest::Decrypt { scheme, ciphertext })
    }

    /// For `number` ^ d mod n.
    ///
    /// # Errors
    /// As [`AcceleratedRsa::raw_private`](crate::AcceleratedRsa::raw_private).
    pub fn raw_private(key: &RsaPrivateKey, number: &[u8]) -> Result<Self, Error> {
        let operand = Zeroizing::new(number.to_vec());
        Self::private(key, PrivateRequest::Raw { operand })
    }

    /// For `base` ^ d mod n, of any base; the result is big-endian, whatever the order of `base`.
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
        let request = PowerRequest::new(base, Zeroizing::default(), ByteOrder::BigEndian);
        Ok(Self::number(key, request.operand(&modulus)?))
    }

    /// For `base` ^ `exponent` modulo `modulus`, all in the same order of bytes, as the result is.
    ///
    /// # Errors
    /// As [`Accelerator::modexp`](crate::Accelerator::modexp) and
    /// [`AcceleratedModExp::power`](crate::AcceleratedModExp::power).
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
        let exponent = Zeroizing::new(exponent.to_vec());
        Self::of(Work::Power(
            modulus,
            PowerRequest::new(base, exponent, order),
        ))
    }

    /// For `number` ^ d mod n, of a number that has been made for the key.
    pub(super) fn number(key: &RsaPrivateKey, number: Buffer) -> Self {
        let operand = number.clone();
        let request = PrivateRequest::Number { operand: number };
        let work = Work::Private(key.clone(), request);
        Self { work, operand }
    }

    fn private(key: &RsaPrivateKey, request: PrivateRequest<Buffer>) -> Result<Self, Error> {
        Self::of(Work::Private(key.clone(), request))
    }

    pub(super) fn of(work: Work) -> Result<Self, Error> {
        let operand = work.operand()?;
        Ok(Self { work, operand })
    }

    /// What it has in common with others.
    pub fn shape(&self) -> Shape {
        let class = Class::of(&self.work);
        // There are few shapes, whatever numbers are sent.
        let exact = self.work.bits().next_multiple_of(64);
        let (modulus_bits, full) = class
            .modulus_bits()
            .map_or((exact, exact), |bits| (bits, bits));
        let operation = match &self.work {
            Work::Private(key, _) => match key.holder() {
                Some(holder) => PublicKeyOperation::Held(Arc::clone(holder.name())),
                None if key.has_primes() => PublicKeyOperation::PrivateByPrimes,
                None => PublicKeyOperation::PrivateByExponent,
            },
            Work::Public(..) => PublicKeyOperation::Public,
            Work::Power(..) => PublicKeyOperation::Power,
        };
        let exponent_bits = match &self.work {
            Work::Private(..) => full,
            Work::Public(..) => PUBLIC_EXPONENT_BITS,
            Work::Power(_, request) => match 8 * request.exponent_bytes() {
                bits if bits > full / 2 && bits <= full => full,
                bits => bits.next_power_of_two(),
            },
        };
        Shape {
            operation,
            modulus_bits,
            exponent_bits,
        }
    }

    /// The modulus, big-endian, without leading zeros.
    pub fn modulus(&self) -> &[u8] {
        match &self.work {
            Work::Private(key, _) => key.public_key().modulus(),
            Work::Public(key, _) => key.modulus(),
            Work::Power(modulus, _) => modulus.number(),
        }
    }

    /// What is to be raised: less than the modulus, as many bytes long, big-endian. Of a decryption
    /// it is the ciphertext; wipe what is copied of others.
    pub fn base(&self) -> &[u8] {
        &self.operand
    }

    /// The private key, if it is a request of one.
    pub fn private_key(&self) -> Option<&RsaPrivateKey> {
        match &self.work {
            Work::Private(key, _) => Some(key),
            Work::Public(..) | Work::Power(..) => None,
        }
    }

    /// The exponent, big-endian, with any leading zeros: of a request that is not one of a private
    /// key.
    pub fn exponent(&self) -> Option<Zeroizing<Vec<u8>>> {
        match &self.work {
            Work::Private(..) => None,
            Work::Public(key, _) => Some(Zeroizing::new(key.exponent().to_vec())),
            Work::Power(_, request) => Some(request.big_endian_exponent()),
        }
    }

    pub(super) fn holder(&self) -> Option<&Holder> {
        self.private_key()?.holder()
    }

    /// A power that fits the request, as far as can be told.
    pub(crate) fn check(&self, power: Buffer, is_trusted: bool) -> Result<Buffer, DeviceError> {
        let modulus = self.modulus();
        // A result is as secret as what is asked for, but whether it is in range is not.
        if power.len() != modulus.len() || power[..] >= *modulus {
            return Err(DeviceError(format!(
                "a result of {} bytes that is no number below the modulus of {}",
                power.len(),
                modulus.len()
            )));
        }
        if let Work::Private(key, _) = &self.work
            && !is_trusted
        {
            let again = request::apply_public(key.public_key(), &power)
                .map_err(|error| DeviceError(error.to_string()))?;
            if *again != *self.operand {
                return Err(DeviceError(
                    "a result that does not agree with the public key".into(),
                ));
            }
        }
        Ok(power)
    }

    /// What was asked for, from the power.
    pub(crate) fn finish(&self, power: Buffer) -> Result<Buffer, Error> {
        self.work.result(power)
    }

    /// The same number to the same power, and nothing around it.
    fn bare(&self) -> Work {
        let operand = self.operand.clone();
        match &self.work {
            Work::Private(key, _) => Work::Private(key.clone(), PrivateRequest::Number { operand }),
            Work::Public(key, _) => Work::Public(key.clone(), PublicRequest::Number { operand }),
            Work::Power(modulus, request) => {
                let base = Base {
                    magnitude: operand,
                    is_negative: false,
                };
                let exponent = request.big_endian_exponent();
                let request = PowerRequest::new(base, exponent, ByteOrder::BigEndian);
                Work::Power(modulus.clone(), request)
            }
        }
    }
}

impl std::fmt::Debug for PublicKeyRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PublicKeyRequest")
            .field("shape", &self.shape())
            .finish_non_exhaustive()
    }
}

/// Up to eight at once, in lanes, where that pays, and else one after the other by aws-lc.
impl PublicKeyDevice for CpuDevice {
    fn name(&self) -> &str {
        "cpu"
    }

    fn offer(&self, shape: &Shape) -> Option<PublicKeyOffer> {
        let class = Class::of_shape(shape)?;
        let lanes = self.lanes();
        let latency = lanes.cost(class.number());
        let (size, took) = lanes.best_group(class.number());
        Some(PublicKeyOffer {
            latency,
            per_second: size as f64 / took.as_secs_f64(),
        })
    }

    fn batch_size(&self, shape: &Shape, waiting: usize) -> usize {
        let class = Class::of_shape(shape);
        class.map_or(1, |class| {
            self.lanes().group_size(class.number(), waiting.max(1))
        })
    }

    fn run(&self, batch: &[&PublicKeyRequest], answer: &mut Answer<'_>) {
        run_in_lanes(self.lanes(), batch, answer);
    }

    /// In lanes by [`Lanes`], alone by aws-lc.
    fn checks_results(&self) -> bool {
        true
    }

    fn answers_together(&self) -> bool {
        true
    }
}

fn run_in_lanes(lanes: &Lanes, batch: &[&PublicKeyRequest], answer: &mut Answer<'_>) {
    for (first, group) in (0..).step_by(LANES).zip(batch.chunks(LANES)) {
        let class = Class::of(&group[0].work);
        let works = group.iter().map(|request| request.bare()).collect();
        lanes.run(class.number(), works, &mut |place, result| {
            answer(first + place, result.map_err(reason));
        });
    }
}

/// One after the other by aws-lc.
impl PublicKeyDevice for SoftwareDevice {
    fn name(&self) -> &str {
        "software"
    }

    fn offer(&self, shape: &Shape) -> Option<PublicKeyOffer> {
        let class = Class::of_shape(shape)?;
        let latency = Duration::from_micros(class.first_cost_us().into());
        Some(PublicKeyOffer {
            latency,
            per_second: latency.as_secs_f64().recip(),
        })
    }

    fn run(&self, batch: &[&PublicKeyRequest], answer: &mut Answer<'_>) {
        for (place, request) in batch.iter().enumerate() {
            // Of a request that comes around to its own device there would be no end.
            let power = match request.holder() {
                Some(holder) => Err(DeviceError(format!("the key is held by {}", holder.name()))),
                None => request.bare().power(&request.operand).map_err(reason),
            };
            answer(place, power);
        }
    }

    /// aws-lc does.
    fn checks_results(&self) -> bool {
        true
    }
}

/// What a device says of a request that the library could not carry out.
fn reason(error: Error) -> DeviceError {
    match error {
        Error::DeviceFailed { reason, .. } => DeviceError(reason),
        other => DeviceError(other.to_string()),
    }
}

/// Of what a public exponent has in most keys: 65537.
const PUBLIC_EXPONENT_BITS: usize = 17;
