//! The tables of shuffles, computed from the arithmetic that they stand for.

use crate::key::BLOCK_BYTES;
use crate::x86_64::bitslice::Frame;
use crate::x86_64::gfni::compose;

#[repr(align(16))]
pub(super) struct Table(pub(super) [u8; 16]);

/// A linear map of bytes: by their halves, or of inverses by io and jo.
pub(super) struct Map(pub(super) Table, pub(super) Table);

pub(super) struct Tables {
    pub(super) one_by: Table,
    pub(super) a_by: Table,
    /// The S-box without its constant 0x63: FIPS 197, equation 5.2.
    pub(super) s_box: Map,
    /// The same in the form of the rounds, and times 02 and 03.
    pub(super) once: Map,
    pub(super) twice: Map,
    pub(super) thrice: Map,
    /// The inverse alone.
    pub(super) inverse: Map,
    /// Times 0e, 0b, 0d and 09, in the form of the inverse rounds.
    pub(super) inverse_mix: [Map; 4],
}

/// From bytes to i and k.
pub(super) static ENTER: Map = enter(&IDENTITY, 0);
/// The same for a round key, with the constant of the S-box, which MixColumns lets through.
pub(super) static ROUND_KEY: Map = enter(&IDENTITY, 0x63);
/// For decryption, which undoes what follows the inversion in the S-box first.
pub(super) static INVERSE_ENTER: Map = enter(&UNMAP, 0x63);

pub(super) static TABLES: Tables = Tables {
    one_by: quotients(1),
    a_by: quotients(A),
    s_box: of_inverse(&MAP),
    once: of_inverse(&to_halves(&MAP, 1)),
    twice: of_inverse(&to_halves(&MAP, 2)),
    thrice: of_inverse(&to_halves(&MAP, 3)),
    inverse: of_inverse(&IDENTITY),
    inverse_mix: [
        of_inverse(&to_halves(&unmap_times(0x0e), 1)),
        of_inverse(&to_halves(&unmap_times(0x0b), 1)),
        of_inverse(&to_halves(&unmap_times(0x0d), 1)),
        of_inverse(&to_halves(&unmap_times(0x09), 1)),
    ],
};

pub(super) const UNSHIFTED: Frame = Frame::new(0);

/// ShiftRows, and what lies 0 to 3 below after it; the same of InvShiftRows.
pub(super) static FRAME: [[i8; BLOCK_BYTES]; 4] = below(1);
pub(super) static INVERSE_FRAME: [[i8; BLOCK_BYTES]; 4] = below(3);

const fn below(shifts: usize) -> [[i8; BLOCK_BYTES]; 4] {
    let a = Frame::new(shifts).shift_rows;
    let b = compose(&a, &UNSHIFTED.one_below);
    let c = compose(&b, &UNSHIFTED.one_below);
    let d = compose(&c, &UNSHIFTED.one_below);
    [a, b, c, d]
}

/// A linear map of bytes: what becomes of each bit.
type Bytes = [u8; 8];

const IDENTITY: Bytes = sum_of_rotations(&[0]);
/// The linear part of the S-box, and of its inverse (FIPS 197, sections 5.1.1 and 5.3.2).
const MAP: Bytes = sum_of_rotations(&[0, 1, 2, 3, 4]);
const UNMAP: Bytes = sum_of_rotations(&[1, 3, 6]);

/// [`UNMAP`] of a byte times `factor`.
const fn unmap_times(factor: u8) -> Bytes {
    let mut map = IDENTITY;
    let mut i = 0;
    while i < 8 {
        map[i] = apply(&UNMAP, times(map[i], factor));
        i += 1;
    }
    map
}

const fn sum_of_rotations(by: &[u32]) -> Bytes {
    let mut map = [0; 8];
    let mut i = 0;
    while i < 8 * by.len() {
        map[i % 8] ^= (1u8 << (i % 8)).rotate_left(by[i / 8]);
        i += 1;
    }
    map
}

const fn apply(map: &Bytes, x: u8) -> u8 {
    let mut y = 0;
    let mut i = 0;
    while i < 8 {
        y ^= map[i] * (x >> i & 1);
        i += 1;
    }
    y
}

/// The product in the field of AES.
const fn times(a: u8, b: u8) -> u8 {
    let (mut a, mut product) = (a, 0);
    let mut i = 0;
    while i < 8 {
        product ^= a * (b >> i & 1);
        a = (a << 1) ^ (0x1b * (a >> 7));
        i += 1;
    }
    product
}

/// An element of the field of 16, of which this is a primitive element: 03 to the power of 17.
const GAMMA: u8 = 0xe1;
/// w of this file's head, and 1/a.
const OMEGA: u8 = 0x12;
const ONE_BY_A: u8 = times(OMEGA, OMEGA) ^ OMEGA;
const A: u8 = inverse(ONE_BY_A);

/// The byte that stands for a half.
const fn element(half: u8) -> u8 {
    let (mut power, mut sum) = (1, 0);
    let mut i = 0;
    while i < 4 {
        sum ^= power * (half >> i & 1);
        power = times(power, GAMMA);
        i += 1;
    }
    sum
}

const fn inverse(x: u8) -> u8 {
    let mut y = 0;
    while times(x, y) != 1 {
        y += 1;
    }
    y
}

/// The halves of the bytes that have one bit.
const HALVES: Bytes = {
    let mut map = [0; 8];
    let mut halves = 0;
    while halves < 256 {
        let halves_byte = halves as u8;
        let byte = element(halves_byte >> 4) ^ times(element(halves_byte & 15), OMEGA);
        if byte.is_power_of_two() {
            map[byte.trailing_zeros() as usize] = halves_byte;
        }
        halves += 1;
    }
    map
};

/// The halves of the map, times `factor`.
const fn to_halves(map: &Bytes, factor: u8) -> Bytes {
    let mut map = *map;
    let mut i = 0;
    while i < 8 {
        map[i] = apply(&HALVES, times(map[i], factor));
        i += 1;
    }
    map
}

/// The halves of `map` of a byte plus `constant`.
const fn enter(map: &Bytes, constant: u8) -> Map {
    let map = to_halves(map, 1);
    let (mut low, mut high) = ([0; 16], [0; 16]);
    let mut i = 0;
    while i < 16 {
        low[i] = apply(&map, i as u8 ^ constant);
        high[i] = apply(&map, (i as u8) << 4);
        i += 1;
    }
    Map(Table(low), Table(high))
}

/// `map` of an inverse, by io and jo.
const fn of_inverse(map: &Bytes) -> Map {
    let (mut by_io, mut by_jo) = ([0; 16], [0; 16]);
    let mut i = 1;
    while i < 16 {
        let inverse = inverse(element(i as u8));
        by_io[i] = apply(map, times(inverse, ONE_BY_A ^ OMEGA));
        by_jo[i] = apply(map, times(inverse, ONE_BY_A ^ OMEGA ^ 1));
        i += 1;
    }
    Map(Table(by_io), Table(by_jo))
}

/// `dividend` by each half.
const fn quotients(dividend: u8) -> Table {
    let mut table = [0x80; 16];
    let mut i = 0;
    while i < 256 {
        let (divisor, quotient) = (i >> 4, i & 15);
        if times(element(divisor as u8), element(quotient as u8)) == dividend {
            table[divisor] = quotient as u8;
        }
        i += 1;
    }
    Table(table)
}
