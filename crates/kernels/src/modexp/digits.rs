//! Numbers of one lane, in digits of 52 bits, the lowest first.

use zeroize::Zeroize;

/// The digits of one lane: twice those of the widest modulus. Wiped on drop.
pub(super) struct Digits(pub(super) [u64; 2 * DIGITS_MAX]);

impl Default for Digits {
    fn default() -> Self {
        Self([0; 2 * DIGITS_MAX])
    }
}

impl Drop for Digits {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

/// Computes `result = a b + addend`, which must fit. `a` and `b` have half of the digits of `result`, at most 80: the sum of
/// a column of products below 2^104 fits in 128 bits.
pub(super) fn multiply_add(
    result: &mut [u64],
    a: &[u64],
    b: &[u64],
    addend: impl Iterator<Item = u64>,
) {
    let mut addend = addend.chain(core::iter::repeat(0));
    let mut sum = 0_u128;
    for (k, digit) in result.iter_mut().enumerate() {
        let first = (k + 1).saturating_sub(b.len());
        let pairs = a
            .iter()
            .skip(first)
            .zip(b[..b.len().min(k + 1)].iter().rev());
        sum += u128::from(addend.next().unwrap_or(0));
        for (a, b) in pairs {
            sum += u128::from(*a) * u128::from(*b);
        }
        *digit = sum as u64 & DIGIT_MASK;
        sum >>= DIGIT_BITS;
    }
}

/// Writes the number as big-endian bytes; leading zeros that do not fit are omitted.
pub(super) fn write_bytes(digits: &Digits, result: &mut [u8]) {
    // Two digits are 13 bytes.
    let (pairs, _) = digits.0.as_chunks();
    let pairs = pairs.iter().chain(core::iter::repeat(&[0, 0]));
    for (bytes, [low, high]) in result.rchunks_mut(2 * DIGIT_BITS / 8).zip(pairs) {
        let pair = (u128::from(*high) << DIGIT_BITS | u128::from(*low)).to_be_bytes();
        bytes.copy_from_slice(&pair[pair.len() - bytes.len()..]);
    }
}

/// Returns digit `i` of big-endian bytes, counted from the lowest.
pub(super) fn digit_of(big_endian: &[u8], i: usize) -> u64 {
    bits_of(big_endian, DIGIT_BITS * i, DIGIT_BITS)
}

/// Returns `count` bits, at most `BITS_READ_MAX`, of big-endian bytes, starting with bit `start`, counted from the lowest.
pub(super) fn bits_of(big_endian: &[u8], start: usize, count: usize) -> u64 {
    let (first, shift) = (start / 8, start % 8);
    let bytes = &big_endian[..big_endian.len().saturating_sub(first)];
    let value = bytes.last_chunk().map_or_else(
        || {
            bytes
                .iter()
                .fold(0, |value, byte| value << 8 | u64::from(*byte))
        },
        |bytes| u64::from_be_bytes(*bytes),
    );
    value >> shift & ((1 << count) - 1)
}

/// Returns a digit of a difference, and the borrow: 1 if it is below 0.
pub(super) fn subtract(a: u64, b: u64, borrow: u64) -> (u64, u64) {
    let difference = a.wrapping_sub(b).wrapping_sub(borrow);
    (difference & DIGIT_MASK, difference >> 63)
}

/// Subtracts `modulus` from a number below twice that, unless the number is below it already.
pub(super) fn subtract_once(number: &mut [u64], modulus: &[u64]) {
    let mut borrow = 0;
    for (digit, subtrahend) in number.iter().zip(modulus) {
        (_, borrow) = subtract(*digit, *subtrahend, borrow);
    }
    // Keeps the compiler from turning it into a branch.
    let mask = core::hint::black_box(borrow.wrapping_sub(1));
    let mut borrow = 0;
    for (digit, subtrahend) in number.iter_mut().zip(modulus) {
        (*digit, borrow) = subtract(*digit, *subtrahend & mask, borrow);
    }
}

/// Returns -1 / `odd` modulo 2^52. Each step doubles the number of correct bits, of which there are three at first (Dumas,
/// "On Newton-Raphson iteration for multiplicative inverses modulo prime powers", IEEE Transactions on Computers 63, 2014).
pub(super) fn negative_inverse(odd: u64) -> u64 {
    let mut inverse = odd;
    for _ in 0..5 {
        inverse = inverse.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(inverse)));
    }
    inverse.wrapping_neg() & DIGIT_MASK
}

pub(super) const DIGIT_BITS: usize = 52;
pub(super) const DIGIT_MASK: u64 = (1 << DIGIT_BITS) - 1;
pub(super) const DIGITS_MAX: usize = 80;
/// The most bits that always lie within eight bytes, whatever the number of the first.
pub(super) const BITS_READ_MAX: usize = 57;
