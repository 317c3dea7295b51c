//! Modular exponentiation without a key.

use std::fmt;
use std::sync::Arc;

use zeroize::Zeroizing;

use super::call;
use crate::Error;
use crate::plan::engine::Engine;
use crate::work::modulus::{Base, ByteOrder, Modulus};
use crate::work::request::{PublicKeyRequest, Purpose, Target, TargetRef};
use oarlock_threads::job::{Job, JobOptions, QueueFull};

/// A modulus with an accelerator, from `Accelerator::modexp`, that computes powers. Threads may share it; clones are cheap.
///
/// The exponent is secret: neither time nor memory accesses depend on its bits, provided that aws-lc keeps its promises. Its
/// length in bytes, including leading zeros, is not hidden. The modulus is public. A base that is negative or not less than
/// the modulus is reduced first, in a time that depends on it.
///
/// ```
/// use oarlock::Accelerator;
/// use oarlock::job::JobOptions;
/// use oarlock::rsa::{Base, ByteOrder};
///
/// let accelerator = Accelerator::builder().build()?;
/// let modulus = accelerator.modexp(&[0xf1, 0x01], ByteOrder::LittleEndian)?; // 0x01f1
/// let three = modulus.power(Base::from(&[3]), &[0, 0, 1])?; // to the power of 65536
/// let base = Base { magnitude: &[3][..], is_negative: true };
/// let minus_three = modulus.submit_power(base, [0, 0, 1], JobOptions::default())?;
/// assert_eq!(minus_three.wait()?, three);
/// # Ok::<(), oarlock::Error>(())
/// ```
#[derive(Clone)]
pub struct AcceleratedModExp {
    modulus: Modulus,
    order: ByteOrder,
    engine: Arc<Engine>,
}

impl AcceleratedModExp {
    #[doc(hidden)]
    pub fn new(engine: &Arc<Engine>, modulus: &[u8], order: ByteOrder) -> Result<Self, Error> {
        Ok(Self {
            modulus: Modulus::new(&order.big_endian(modulus))?,
            order,
            engine: Arc::clone(engine),
        })
    }

    /// Returns the length of the modulus in bits.
    pub fn bits(&self) -> usize {
        self.modulus.bits()
    }

    /// Returns the length in bytes of the modulus and of every result.
    pub fn bytes(&self) -> usize {
        self.modulus.bytes()
    }

    /// Returns `base` ^ `exponent` modulo the modulus: not negative, less than the modulus, and of the same length. An empty
    /// exponent is 0. Any base, even 0, to the power of 0 is 1.
    ///
    /// # Errors
    /// [`Error::DeviceFailed`] if memory is exhausted, and for numbers of more than 64 MiB.
    pub fn power(&self, base: Base<&[u8]>, exponent: &[u8]) -> Result<Zeroizing<Vec<u8>>, Error> {
        let exponent = self.order.big_endian(exponent);
        let purpose = Purpose::Power {
            base,
            order: self.order,
        };
        let target = TargetRef::Power(&self.modulus, &exponent);
        call(&self.engine, target, &purpose)
    }

    /// Submits a job of [`power`](Self::power).
    ///
    /// # Errors
    /// [`QueueFull`], with base and exponent.
    pub fn submit_power(
        &self,
        base: impl Into<Base<Vec<u8>>>,
        exponent: impl Into<Vec<u8>>,
        options: JobOptions,
    ) -> Result<Job<Zeroizing<Vec<u8>>>, QueueFull<BaseAndExponent>> {
        let order = self.order;
        let make = |(base, exponent): BaseAndExponent| {
            let exponent = Zeroizing::new(exponent);
            let target = Target::Power(self.modulus.clone(), order.big_endian(&exponent));
            let base = Base {
                magnitude: Zeroizing::new(base.magnitude),
                is_negative: base.is_negative,
            };
            PublicKeyRequest::new(target, Purpose::Power { base, order })
        };
        self.engine
            .submit((base.into(), exponent.into()), make, options, |power| power)
    }
}

/// A base and an exponent, returned if the queue is full.
type BaseAndExponent = (Base<Vec<u8>>, Vec<u8>);

impl fmt::Debug for AcceleratedModExp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AcceleratedModExp")
            .field("bits", &self.bits())
            .field("order", &self.order)
            .finish_non_exhaustive()
    }
}
