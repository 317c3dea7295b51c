//! Widths, and moduli with the constants for multiplication under them.

use core::fmt;

use zeroize::Zeroize;

use super::backend::Moduli;
use super::digits::{
    DIGIT_BITS, DIGIT_MASK, DIGITS_MAX, digit_of, negative_inverse, subtract, subtract_once,
};
use crate::x86_64::ifma::entry_lines;
use crate::x86_64::line::WINDOW;

/// The widths of moduli for which there are kernels.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Width {
    /// Up to 512 bits.
    Bits512,
    /// Up to 768 bits.
    Bits768,
    /// Up to 1024 bits.
    Bits1024,
    /// Up to 1536 bits.
    Bits1536,
    /// Up to 2048 bits.
    Bits2048,
    /// Up to 3072 bits.
    Bits3072,
    /// Up to 4096 bits.
    Bits4096,
}

impl Width {
    /// Every width, the narrowest first.
    pub const ALL: [Self; 7] = [
        Self::Bits512,
        Self::Bits768,
        Self::Bits1024,
        Self::Bits1536,
        Self::Bits2048,
        Self::Bits3072,
        Self::Bits4096,
    ];

    /// Returns the narrowest width that fits a modulus of `bits` bits; `None` beyond 4096.
    pub fn for_bits(bits: usize) -> Option<Self> {
        Self::ALL.into_iter().find(|width| bits <= width.bits())
    }

    /// Returns the bits of the longest modulus.
    pub const fn bits(self) -> usize {
        match self {
            Self::Bits512 => 512,
            Self::Bits768 => 768,
            Self::Bits1024 => 1024,
            Self::Bits1536 => 1536,
            Self::Bits2048 => 2048,
            Self::Bits3072 => 3072,
            Self::Bits4096 => 4096,
        }
    }

    /// Returns the bytes of the longest modulus and result, which are half of those of the longest base.
    pub const fn bytes(self) -> usize {
        self.bits() / 8
    }

    /// Returns the lines of workspace that `exponentiate` needs.
    pub const fn workspace_lines(self) -> usize {
        // The selected table entry takes the place of one more entry.
        Moduli::lines(self.digits())
            + 5 * self.digits()
            + ((1 << WINDOW) + 1) * entry_lines(self.digits())
    }

    /// Returns the lines of workspace that `exponentiate_crt` needs.
    pub const fn crt_workspace_lines(self) -> usize {
        self.workspace_lines() + self.digits()
    }

    /// Returns the lines of workspace that suffice for `exponentiate_public` and `prepare`.
    pub const fn public_workspace_lines(self) -> usize {
        Moduli::lines(self.digits()) + (5 + PUBLIC_ENTRIES) * self.digits()
    }

    /// Returns the number of digits, a multiple of 5, because kernels work in blocks of five digits.
    pub(super) const fn digits(self) -> usize {
        (self.bits() + SPARE_BITS).div_ceil(DIGIT_BITS * 5) * 5
    }
}

/// An odd modulus, and the constants for multiplication under it. Wiped on drop.
pub struct Modulus {
    pub(super) width: Width,
    pub(super) bits: usize,
    /// -1 / modulus, modulo 2^52.
    pub(super) negative_inverse: u64,
    pub(super) digits: [u64; DIGITS_MAX],
    /// R^2 modulo the modulus if `is_prepared`, otherwise 2 R.
    pub(super) power: [u64; DIGITS_MAX],
    pub(super) is_prepared: bool,
}

impl Modulus {
    /// Creates a modulus that is not set: it is 1, under which everything is 0.
    pub const fn unset(width: Width) -> Self {
        let mut digits = [0; DIGITS_MAX];
        digits[0] = 1;
        Self {
            width,
            bits: 1,
            negative_inverse: DIGIT_MASK,
            digits,
            power: [0; DIGITS_MAX],
            is_prepared: true,
        }
    }

    /// Sets the modulus from big-endian bytes; leading zeros do not matter. The time may reveal its bit length, but not its
    /// value.
    ///
    /// Each exponentiation then prepares it again, which is as much work as a dozen multiplications. For a key that is used
    /// often, call `prepare`.
    ///
    /// # Errors
    /// [`InvalidModulus`] if it is even, below 3, or longer than the width. The modulus is then unset.
    pub fn set(&mut self, big_endian: &[u8]) -> Result<(), InvalidModulus> {
        self.unset_again();
        let zeros = big_endian.iter().take_while(|byte| **byte == 0).count();
        let big_endian = &big_endian[zeros..];
        let Some((first, last)) = big_endian.first().zip(big_endian.last()) else {
            return Err(InvalidModulus::TooSmall);
        };
        let bits = 8 * big_endian.len() - first.leading_zeros() as usize;
        if bits > self.width.bits() {
            return Err(InvalidModulus::TooLong {
                bits,
                bits_max: self.width.bits(),
            });
        }
        if last & 1 == 0 {
            return Err(InvalidModulus::Even);
        }
        if bits == 1 {
            return Err(InvalidModulus::TooSmall);
        }
        let count = self.width.digits();
        for (i, digit) in self.digits[..count].iter_mut().enumerate() {
            *digit = digit_of(big_endian, i);
        }
        self.bits = bits;
        self.negative_inverse = negative_inverse(self.digits[0]);
        self.set_power();
        Ok(())
    }

    /// Returns the width of the modulus.
    pub fn width(&self) -> Width {
        self.width
    }

    /// Returns its length in bits, without leading zeros.
    pub fn bits(&self) -> usize {
        self.bits
    }

    /// Returns its length in bytes, without leading zeros.
    pub fn bytes(&self) -> usize {
        self.bits.div_ceil(8)
    }

    /// Sets the power to 2 R modulo the modulus: from 2^bits minus the modulus, by doubling.
    fn set_power(&mut self) {
        let count = self.width.digits();
        let digits = &self.digits[..count];
        let power = &mut self.power[..count];
        let mut borrow = 0;
        for (i, (power, digit)) in power.iter_mut().zip(digits).enumerate() {
            let bit = if i == self.bits / DIGIT_BITS {
                1 << (self.bits % DIGIT_BITS)
            } else {
                0
            };
            (*power, borrow) = subtract(bit, *digit, borrow);
        }
        for _ in self.bits..count * DIGIT_BITS + 1 {
            let mut carry = 0;
            for digit in power.iter_mut() {
                let doubled = *digit << 1 | carry;
                *digit = doubled & DIGIT_MASK;
                carry = doubled >> DIGIT_BITS;
            }
            subtract_once(power, digits);
        }
        self.is_prepared = false;
    }

    /// Returns the numbers that are wiped on drop, for tests.
    #[cfg(debug_assertions)]
    pub(crate) fn secrets(&self) -> impl Iterator<Item = u64> {
        let count = self.width.digits();
        let numbers = self.digits[..count].iter().chain(&self.power[..count]);
        numbers.copied().chain([self.negative_inverse])
    }

    fn unset_again(&mut self) {
        self.digits.zeroize();
        self.power.zeroize();
        self.digits[0] = 1;
        self.negative_inverse = DIGIT_MASK;
        self.bits = 1;
        self.is_prepared = true;
    }
}

impl Drop for Modulus {
    fn drop(&mut self) {
        self.digits.zeroize();
        self.power.zeroize();
        self.negative_inverse.zeroize();
    }
}

impl fmt::Debug for Modulus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Modulus")
            .field("width", &self.width)
            .field("bits", &self.bits)
            .finish_non_exhaustive()
    }
}

/// The reason why a modulus was refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InvalidModulus {
    /// It is even; Montgomery's multiplication needs an odd one.
    Even,
    /// It is 0 or 1.
    TooSmall,
    /// It is longer than its width.
    TooLong {
        /// Bits of the modulus.
        bits: usize,
        /// Bits of the width.
        bits_max: usize,
    },
}

impl fmt::Display for InvalidModulus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Even => f.write_str("the modulus is even: use an odd one"),
            Self::TooSmall => f.write_str("the modulus is below 3: use a greater one"),
            Self::TooLong { bits, bits_max } => write!(
                f,
                "the modulus has {bits} bits where {bits_max} fit: use a greater width"
            ),
        }
    }
}

impl core::error::Error for InvalidModulus {}

/// R is at least 2^SPARE_BITS times a modulus.
const SPARE_BITS: usize = 8;
/// The number of table entries for public exponents.
const PUBLIC_ENTRIES: usize = 2;
