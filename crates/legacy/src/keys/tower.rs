//! The field of AES as an extension of one of 16 elements, so that tables of 16 entries invert: each byte is i + k w, where
//! w^2 + w = 1/a, with i in the upper and k in the lower half of the byte that represents it. A shuffle looks up a table of
//! 16 for every byte of a register, so with j = i + k
//!
//! ```text
//! io = 1 / (1/i + a/k) + j        1 / (i + k w)  =  (1/io) (1/a + w)  +  (1/jo) (1 + 1/a + w)
//! jo = 1 / (1/j + a/k) + i
//! ```
//!
//! takes five shuffles, and any linear map of the inverse two more.

use super::field::{Matrix, product, times};

/// A primitive element of the field of 16: 03 to the power of 17.
const GAMMA: u8 = 0xe1;
/// The elements w and 1/a.
const OMEGA: u8 = 0x12;
const ONE_BY_A: u8 = product(OMEGA, OMEGA) ^ OMEGA;

/// The quotients of 1 and a by each half. A quotient by zero has the highest bit set, for which a shuffle yields 0.
pub(crate) const ONE_BY: [u8; 16] = quotients(1);
pub(crate) const A_BY: [u8; 16] = quotients(inverse(ONE_BY_A));

/// Converts a byte to its halves.
pub(crate) const HALVES: Matrix = {
    let mut map = [0; 8];
    let mut halves = 0;
    while halves < 256 {
        let halves_byte = halves as u8;
        let byte = element(halves_byte >> 4) ^ product(element(halves_byte & 15), OMEGA);
        if byte.is_power_of_two() {
            map[byte.trailing_zeros() as usize] = halves_byte;
        }
        halves += 1;
    }
    map
};

/// Returns the tables for io and jo that compute `map` of an inverse.
pub(crate) const fn of_inverse(map: &Matrix) -> [[u8; 16]; 2] {
    let (mut by_io, mut by_jo) = ([0; 16], [0; 16]);
    let mut i = 1;
    while i < 16 {
        let inverse = inverse(element(i as u8));
        by_io[i] = times(map, product(inverse, ONE_BY_A ^ OMEGA));
        by_jo[i] = times(map, product(inverse, ONE_BY_A ^ OMEGA ^ 1));
        i += 1;
    }
    [by_io, by_jo]
}

/// Returns the element that a half represents.
const fn element(half: u8) -> u8 {
    let (mut power, mut sum) = (1, 0);
    let mut i = 0;
    while i < 4 {
        sum ^= power * (half >> i & 1);
        power = product(power, GAMMA);
        i += 1;
    }
    sum
}

const fn inverse(x: u8) -> u8 {
    let mut y = 0;
    while product(x, y) != 1 {
        y += 1;
    }
    y
}

/// Returns the quotients of `dividend` by each half.
const fn quotients(dividend: u8) -> [u8; 16] {
    let mut table = [0x80; 16];
    let mut i = 0;
    while i < 256 {
        let (divisor, quotient) = (i >> 4, i & 15);
        if product(element(divisor as u8), element(quotient as u8)) == dividend {
            table[divisor] = quotient as u8;
        }
        i += 1;
    }
    table
}
