//! Numbers for modular exponentiation without a key.

use std::fmt;
use std::sync::Arc;

use oarlock_kernels::modexp::Backend;
use zeroize::Zeroizing;

use super::lane_numbers::LaneModulus;
use crate::Error;
use crate::aws_lc::modexp::SoftwareModulus;

/// The order of a number's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteOrder {
    /// The most significant byte comes first, as in RFC 8017.
    BigEndian,
    /// The least significant byte comes first.
    LittleEndian,
}

/// A base of any length; `B` holds its bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Base<B> {
    /// The absolute value, with any number of leading zeros.
    pub magnitude: B,
    /// Whether the base is less than zero.
    pub is_negative: bool,
}

/// Converts to a base that is not negative.
impl<'a, const BYTES: usize> From<&'a [u8; BYTES]> for Base<&'a [u8]> {
    fn from(magnitude: &'a [u8; BYTES]) -> Self {
        Self::from(&magnitude[..])
    }
}

/// Converts to a base that is not negative.
impl<'a> From<&'a [u8]> for Base<&'a [u8]> {
    fn from(magnitude: &'a [u8]) -> Self {
        Self {
            magnitude,
            is_negative: false,
        }
    }
}

/// Converts to a base that is not negative.
impl From<Vec<u8>> for Base<Vec<u8>> {
    fn from(magnitude: Vec<u8>) -> Self {
        Self {
            magnitude,
            is_negative: false,
        }
    }
}

/// Copies the number into an owned base.
impl From<Base<&[u8]>> for Base<Vec<u8>> {
    fn from(base: Base<&[u8]>) -> Self {
        Self {
            magnitude: base.magnitude.to_vec(),
            is_negative: base.is_negative,
        }
    }
}

/// An odd modulus, set up for exponentiation.
#[derive(Clone)]
pub(crate) struct Modulus(Arc<Numbers>);

struct Numbers {
    /// The modulus, big-endian, without leading zeros.
    n: Vec<u8>,
    bits: usize,
    software: SoftwareModulus,
    lanes: LaneModulus,
}

impl Modulus {
    pub(crate) fn new(bytes: &[u8]) -> Result<Self, Error> {
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
        Ok(Self(Arc::new(Numbers {
            n: n.to_vec(),
            bits,
            software: SoftwareModulus::new(n)?,
            lanes: LaneModulus::default(),
        })))
    }

    pub(crate) fn bytes(&self) -> usize {
        self.0.n.len()
    }

    /// Returns the modulus, big-endian, without leading zeros.
    pub(crate) fn number(&self) -> &[u8] {
        &self.0.n
    }

    pub(crate) fn bits(&self) -> usize {
        self.0.bits
    }

    pub(crate) fn lanes(&self, backend: Backend) -> Option<&oarlock_kernels::modexp::Modulus> {
        self.0.lanes.prepared(backend, &self.0.n, self.0.bits)
    }

    /// Reduces a base of any length and sign. The result is less than the modulus, as long, and big-endian.
    pub(crate) fn reduced<B: AsRef<[u8]>>(
        &self,
        base: &Base<B>,
        order: ByteOrder,
    ) -> Result<Zeroizing<Vec<u8>>, Error> {
        let magnitude = order.big_endian(base.magnitude.as_ref());
        if let Some(zeros) = self.bytes().checked_sub(magnitude.len())
            && !base.is_negative
        {
            let mut padded = Zeroizing::new(vec![0; self.bytes()]);
            padded[zeros..].copy_from_slice(&magnitude);
            if **padded < *self.0.n {
                return Ok(padded);
            }
        }
        self.0.software.reduce(&magnitude, base.is_negative)
    }

    /// Returns `base` to the power of `exponent`, both big-endian. `base` is a result of [`reduced`](Self::reduced).
    pub(crate) fn power(&self, base: &[u8], exponent: &[u8]) -> Result<Zeroizing<Vec<u8>>, Error> {
        self.0.software.power(base, exponent)
    }
}

impl ByteOrder {
    pub(crate) fn big_endian(self, bytes: &[u8]) -> Zeroizing<Vec<u8>> {
        let mut bytes = Zeroizing::new(bytes.to_vec());
        if self == Self::LittleEndian {
            bytes.reverse();
        }
        bytes
    }
}

/// Hides the number, which may be secret.
impl<B> fmt::Debug for Base<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Base").finish_non_exhaustive()
    }
}

const BITS_MAX: usize = 4096;
