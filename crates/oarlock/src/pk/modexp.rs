//! Modular exponentiation without a key around it.
//!
//! Bytes of any order and length are made into a base that is less than the modulus and as long,
//! big-endian; the base is raised to a power; the result is put into the order asked for. As with
//! the requests of `request.rs`, only the middle step takes time.

use std::fmt;
use std::sync::Arc;

use zeroize::Zeroizing;

use oarlock_kernels::modexp::Ifma;

use super::Work;
use super::lanes::{Class, LaneModulus};
use super::request::failed;
use crate::Error;
use crate::accelerator::Accelerator;
use crate::device::software::modexp::SoftwareModulus;
use crate::threads::job::{Job, JobOptions, QueueFull};

/// Powers modulo one number, with an accelerator. Threads may share it; clones are cheap.
///
/// The exponent is secret: neither time nor memory accesses depend on its bits, as far as aws-lc
/// keeps to what it promises, but its length in bytes shows, leading zeros included. So does the
/// modulus, which is public. A base that is negative, has more bytes than the modulus or is not less
/// than it is divided by it first, which takes time by what it is.
///
/// ```
/// use oarlock::{Accelerator, Base, ByteOrder, JobOptions};
///
/// let accelerator = Accelerator::builder().build()?;
/// let modulus = accelerator.modexp(&[0xf1, 0x01], ByteOrder::LittleEndian)?; // 0x01f1
/// let three = modulus.power(Base::from(&[3]), &[0, 0, 1])?; // to the power of 65536
/// let base = Base { magnitude: vec![3], is_negative: true };
/// let minus_three = modulus
///     .submit_power(base, vec![0, 0, 1], JobOptions::default())
///     .expect("the queue has room for one");
/// assert_eq!(minus_three.wait()?, three);
/// # Ok::<(), oarlock::Error>(())
/// ```
#[derive(Clone)]
pub struct AcceleratedModExp {
    modulus: Modulus,
    order: ByteOrder,
    accelerator: Accelerator,
}

/// Which byte of a number comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteOrder {
    /// That of the highest value, as in RFC 8017.
    BigEndian,
    /// That of the lowest value.
    LittleEndian,
}

/// A base of any length. `B` are its bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Base<B> {
    /// Without a sign; with any leading zeros.
    pub magnitude: B,
    /// Whether it is less than zero.
    pub is_negative: bool,
}

/// One that is not negative.
impl<'a, const BYTES: usize> From<&'a [u8; BYTES]> for Base<&'a [u8]> {
    fn from(magnitude: &'a [u8; BYTES]) -> Self {
        Self::from(&magnitude[..])
    }
}

/// One that is not negative.
impl<'a> From<&'a [u8]> for Base<&'a [u8]> {
    fn from(magnitude: &'a [u8]) -> Self {
        Self {
            magnitude,
            is_negative: false,
        }
    }
}

/// One that is not negative.
impl From<Vec<u8>> for Base<Vec<u8>> {
    fn from(magnitude: Vec<u8>) -> Self {
        Self {
            magnitude,
            is_negative: false,
        }
    }
}

impl AcceleratedModExp {
    pub(crate) fn new(
        accelerator: &Accelerator,
        modulus: &[u8],
        order: ByteOrder,
    ) -> Result<Self, Error> {
        Ok(Self {
            modulus: Modulus::new(&order.big_endian(modulus))?,
            order,
            accelerator: accelerator.clone(),
        })
    }

    /// Bits of the modulus.
    pub fn bits(&self) -> usize {
        self.modulus.0.bits
    }

    /// Bytes of the modulus, and of every result.
    pub fn bytes(&self) -> usize {
        self.modulus.bytes()
    }

    /// `base` ^ `exponent` modulo the modulus: not negative, less than the modulus, and as long. An
    /// exponent of no bytes is 0, and what is raised to it, 0 too, becomes 1.
    ///
    /// # Errors
    /// [`Error::DeviceFailed`] where there is no memory, and for numbers of more than 64 MiB.
    pub fn power(&self, base: Base<&[u8]>, exponent: &[u8]) -> Result<Zeroizing<Vec<u8>>, Error> {
        let request = PowerRequest {
            base,
            exponent,
            order: self.order,
        };
        let inner = &self.accelerator.0;
        let operand = request.operand(&self.modulus)?;
        let power = inner.jobs.call(
            Class::of_power(&self.modulus, exponent.len()),
            || request.power(&self.modulus, &operand),
            || {
                let request = PowerRequest {
                    base: Base {
                        magnitude: operand.clone(),
                        is_negative: false,
                    },
                    exponent: request.big_endian_exponent(),
                    order: ByteOrder::BigEndian,
                };
                Work::Power(self.modulus.clone(), request)
            },
            || inner.serve_jobs(true),
        );
        Ok(request.result(power?))
    }

    #[cfg(test)]
    pub(super) fn work(&self, base: &[u8], exponent: &[u8]) -> Work {
        let [magnitude, exponent] = [base, exponent].map(|bytes| Zeroizing::new(bytes.to_vec()));
        let base = Base {
            magnitude,
            is_negative: false,
        };
        let order = self.order;
        let request = PowerRequest {
            base,
            exponent,
            order,
        };
        Work::Power(self.modulus.clone(), request)
    }

    /// [`power`](Self::power), as a job.
    ///
    /// # Errors
    /// [`QueueFull`], with base and exponent.
    pub fn submit_power(
        &self,
        base: Base<Vec<u8>>,
        exponent: Vec<u8>,
        options: JobOptions,
    ) -> Result<Job<Zeroizing<Vec<u8>>>, QueueFull<BaseAndExponent>> {
        let inner = &self.accelerator.0;
        let Some(slot) = inner.jobs.reserve() else {
            return Err(QueueFull((base, exponent)));
        };
        let request = PowerRequest {
            base: Base {
                magnitude: Zeroizing::new(base.magnitude),
                is_negative: base.is_negative,
            },
            exponent: Zeroizing::new(exponent),
            order: self.order,
        };
        let work = Work::Power(self.modulus.clone(), request);
        let job = slot.enter(work, options, |power| power);
        inner.serve_jobs(false);
        Ok(job)
    }
}

/// What [`AcceleratedModExp::submit_power`] takes, and hands back.
type BaseAndExponent = (Base<Vec<u8>>, Vec<u8>);

/// An odd modulus, set up.
#[derive(Clone)]
pub(crate) struct Modulus(Arc<Inner>);

struct Inner {
    /// Big-endian, without leading zeros.
    n: Vec<u8>,
    bits: usize,
    software: SoftwareModulus,
    lanes: LaneModulus,
}

impl Modulus {
    pub(super) fn new(bytes: &[u8]) -> Result<Self, Error> {
        let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
        let n = &bytes[zeros..];
        let bits = 8 * n.len() - n.first().map_or(0, |first| first.leading_zeros() as usize);
        let refused = |what: String| {
            Err(Error::InvalidInput(format!(
                "{what}: modular exponentiation takes odd ones of 2 to {BITS_MAX} bits"
            )))
        };
        match n {
            [] => return refused("the modulus is zero".into()),
            [1] => return refused("the modulus is one".into()),
            [.., last] if last.is_multiple_of(2) => return refused("the modulus is even".into()),
            _ if bits > BITS_MAX => return refused(format!("the modulus has {bits} bits")),
            _ => {}
        }
        Ok(Self(Arc::new(Inner {
            n: n.to_vec(),
            bits,
            software: SoftwareModulus::new(n).map_err(failed)?,
            lanes: LaneModulus::default(),
        })))
    }

    fn bytes(&self) -> usize {
        self.0.n.len()
    }

    /// Big-endian, without leading zeros.
    pub(super) fn number(&self) -> &[u8] {
        &self.0.n
    }

    pub(super) fn bits(&self) -> usize {
        self.0.bits
    }

    pub(super) fn lanes(&self, ifma: Ifma) -> Option<&oarlock_kernels::modexp::Modulus> {
        self.0.lanes.prepared(ifma, &self.0.n, self.0.bits)
    }
}

/// A request of a modulus. `B` are bytes, borrowed or owned.
pub(crate) struct PowerRequest<B> {
    base: Base<B>,
    exponent: B,
    /// Of base, exponent and result.
    order: ByteOrder,
}

impl<B: AsRef<[u8]>> PowerRequest<B> {
    pub(super) fn new(base: Base<B>, exponent: B, order: ByteOrder) -> Self {
        Self {
            base,
            exponent,
            order,
        }
    }

    /// Of what [`operand`](Self::operand) has given, by aws-lc.
    pub(super) fn power(
        &self,
        modulus: &Modulus,
        base: &[u8],
    ) -> Result<Zeroizing<Vec<u8>>, Error> {
        let software = &modulus.0.software;
        let exponent = self.big_endian_exponent();
        software.power(base, &exponent).map_err(failed)
    }

    /// A number less than the modulus, of as many bytes, big-endian.
    pub(super) fn operand(&self, modulus: &Modulus) -> Result<Zeroizing<Vec<u8>>, Error> {
        let magnitude = self.order.big_endian(self.base.magnitude.as_ref());
        if let Some(zeros) = modulus.bytes().checked_sub(magnitude.len())
            && !self.base.is_negative
        {
            let mut padded = Zeroizing::new(vec![0; modulus.bytes()]);
            padded[zeros..].copy_from_slice(&magnitude);
            if **padded < *modulus.0.n {
                return Ok(padded);
            }
        }
        let software = &modulus.0.software;
        software
            .reduce(&magnitude, self.base.is_negative)
            .map_err(failed)
    }

    pub(super) fn exponent_bytes(&self) -> usize {
        self.exponent.as_ref().len()
    }

    pub(super) fn big_endian_exponent(&self) -> Zeroizing<Vec<u8>> {
        self.order.big_endian(self.exponent.as_ref())
    }

    /// Of the power, big-endian.
    pub(super) fn result(&self, mut power: Zeroizing<Vec<u8>>) -> Zeroizing<Vec<u8>> {
        if self.order == ByteOrder::LittleEndian {
            power.reverse();
        }
        power
    }
}

impl ByteOrder {
    pub(super) fn big_endian(self, bytes: &[u8]) -> Zeroizing<Vec<u8>> {
        let mut bytes = Zeroizing::new(bytes.to_vec());
        if self == Self::LittleEndian {
            bytes.reverse();
        }
        bytes
    }
}

impl fmt::Debug for AcceleratedModExp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AcceleratedModExp")
            .field("bits", &self.bits())
            .field("order", &self.order)
            .finish_non_exhaustive()
    }
}

/// Does not show the number, which may be secret.
impl<B> fmt::Debug for Base<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Base").finish_non_exhaustive()
    }
}

const BITS_MAX: usize = 4096;
