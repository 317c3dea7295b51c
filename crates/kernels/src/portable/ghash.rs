//! GHASH (SP 800-38D, section 6.4) without carry-less multiplication, constant-time.
//!
//! It is computed as POLYVAL (RFC 8452, appendix A): blocks have their bytes reversed and the key is x times H, so that a
//! product needs no shift.
//!
//! Holes make integer multiplication carry-less. If a number is split by bit position modulo 5, each part has at most 13
//! bits set, so in the product of two parts no more than 13 meet in one position, and the carries of a sum up to 13 end
//! below the next position of its class, 5 bits up. (BearSSL's ghash_ctmul64 leaves 3 bits, which is enough for the lower
//! half of a product, and reverses all bits to compute the upper one; 25 multiplications for both halves are fewer than 32.)

use zeroize::Zeroize;

/// Converts the key block H to the key of GHASH, an element of POLYVAL's field.
pub(crate) const fn key(h: [u8; 16]) -> u128 {
    // mulX_POLYVAL; a bit shifted out is reduced.
    let h = u128::from_be_bytes(h);
    (h << 1) ^ ((h >> 127).wrapping_neg() & POLYNOMIAL)
}

/// Returns GHASH of `data`, padded with zeros to a block, starting with `y`.
pub(crate) fn hash(key: u128, mut y: u128, data: &[u8]) -> u128 {
    let mut key = Factor::new(key);
    let (blocks, tail) = data.as_chunks();
    for block in blocks {
        y = key.times(y ^ u128::from_be_bytes(*block));
    }
    if !tail.is_empty() {
        let mut block = [0; 16];
        block[..tail.len()].copy_from_slice(tail);
        y = key.times(y ^ u128::from_be_bytes(block));
    }
    key.zeroize();
    y
}

/// Returns the product of two elements of POLYVAL's field.
pub(crate) fn times(a: u128, b: u128) -> u128 {
    let mut factor = Factor::new(a);
    let product = factor.times(b);
    factor.zeroize();
    product
}

/// x^128 + x^127 + x^126 + x^121 + 1, without its first term.
pub(crate) const POLYNOMIAL: u128 = 0xc200_0000_0000_0000_0000_0000_0000_0001;

/// The halves of an element and their sum, each split into classes.
#[derive(Zeroize)]
struct Factor {
    low: [u64; 5],
    high: [u64; 5],
    sum: [u64; 5],
}

impl Factor {
    fn new(element: u128) -> Self {
        let (low, high) = (element as u64, (element >> 64) as u64);
        Self {
            low: classes(low),
            high: classes(high),
            sum: classes(low ^ high),
        }
    }

    fn times(&self, other: u128) -> u128 {
        let (low, high) = (other as u64, (other >> 64) as u64);
        let sum = multiply(&self.sum, &classes(low ^ high));
        let low = multiply(&self.low, &classes(low));
        let high = multiply(&self.high, &classes(high));
        reduced(low, sum, high)
    }
}

/// Combines the products of the halves and of their sums, and reduces the result.
#[inline(always)]
fn reduced(low: u128, sum: u128, high: u128) -> u128 {
    let middle = sum ^ low ^ high;
    // Montgomery's reduction: the polynomial's lower half is 1, so the lowest 64 bits are themselves the multiple to add to
    // clear them.
    let middle = middle ^ (low >> 64) ^ times_upper_half(low as u64) ^ (low << 64);
    high ^ (middle >> 64) ^ times_upper_half(middle as u64) ^ (middle << 64)
}

/// Returns the product with the upper half of [`POLYNOMIAL`].
const fn times_upper_half(x: u64) -> u128 {
    let x = x as u128;
    (x << 63) ^ (x << 62) ^ (x << 57)
}

/// Returns the bits at positions 0, 1, 2, 3 and 4 modulo 5.
#[inline(always)]
fn classes(x: u64) -> [u64; 5] {
    core::array::from_fn(|i| x & (CLASS << i) as u64)
}

/// Returns the carry-less product of two numbers.
#[inline(always)]
fn multiply(a: &[u64; 5], b: &[u64; 5]) -> u128 {
    let mut product = 0;
    for class in 0..5 {
        let mut sum = 0;
        for i in 0..5 {
            sum ^= u128::from(a[i]) * u128::from(b[(class + 5 - i) % 5]);
        }
        product |= sum & (CLASS << class);
    }
    product
}

/// Every fifth bit, starting with bit 0; the last is 125.
const CLASS: u128 = 0x2108_4210_8421_0842_1084_2108_4210_8421;
