//! Modular exponentiation without a key around it.

use std::fmt;
use std::sync::Arc;

use zeroize::Zeroizing;

use super::call;
use crate::Error;
use crate::plan::engine::Engine;
use crate::work::modulus::{Base, ByteOrder, Modulus};
use crate::work::request::{PublicKeyRequest, Purpose, Target, TargetRef};
use oarlock_threads::job::{Job, JobOptions, QueueFull};

/// Powers modulo one number, with an accelerator, from
/// `Accelerator::modexp`. Threads may share it; clones are cheap.
///
/// The exponent is secret: neither time nor memory accesses depend on its bits, provided that aws-lc
/// keeps its promises. Its length in bytes shows, leading zeros included; the modulus is public. A base
/// that is negative or not less than the modulus is reduced first, in a time that depends on it.
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

    /// Bits of the modulus.
    pub fn bits(&self) -> usize {
        self.modulus.bits()
    }

    /// Bytes of the modulus, and of every result.
    pub fn bytes(&self) -> usize {
        self.modulus.bytes()
    }

    /// `base` ^ `exponent` modulo the modulus: not negative, less than the modulus, and as many bytes
    /// long. An exponent of no bytes is 0; any base to the power of 0, 0 included, is 1.
    ///
    /// # Errors
    /// [`Error::DeviceFailed`] if memory runs out, and for numbers of more than 64 MiB.
    pub fn power(&self, base: Base<&[u8]>, exponent: &[u8]) -> Result<Zeroizing<Vec<u8>>, Error> {
        let exponent = self.order.big_endian(exponent);
        let purpose = Purpose::Power {
            base,
            order: self.order,
        };
        let target = TargetRef::Power(&self.modulus, &exponent);
        call(&self.engine, target, &purpose)
    }

    /// [`power`](Self::power), as a job.
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

/// What [`AcceleratedModExp::submit_power`] takes, and hands back.
type BaseAndExponent = (Base<Vec<u8>>, Vec<u8>);

impl fmt::Debug for AcceleratedModExp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AcceleratedModExp")
            .field("bits", &self.bits())
            .field("order", &self.order)
            .finish_non_exhaustive()
    }
}
