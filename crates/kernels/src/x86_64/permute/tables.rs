//! The tables of shuffles, computed from the arithmetic that they stand for.

use crate::key::BLOCK_BYTES;
use crate::legacy_keys::field::{Matrix, product, times};
use crate::legacy_keys::tower::{self, A_BY, HALVES, ONE_BY};
use crate::x86_64::aes::anew;
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
    /// The same in the form of the rounds, and times 02.
    pub(super) once: Map,
    pub(super) twice: Map,
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
    one_by: Table(ONE_BY),
    a_by: Table(A_BY),
    s_box: of_inverse(&MAP),
    once: of_inverse(&to_halves(&MAP, 1)),
    twice: of_inverse(&to_halves(&MAP, 2)),
    inverse: of_inverse(&IDENTITY),
    inverse_mix: [
        of_inverse(&to_halves(&unmap_times(0x0e), 1)),
        of_inverse(&to_halves(&unmap_times(0x0b), 1)),
        of_inverse(&to_halves(&unmap_times(0x0d), 1)),
        of_inverse(&to_halves(&unmap_times(0x09), 1)),
    ],
};

pub(super) const UNSHIFTED: Frame = Frame::new(0);

/// How states that were not shifted for so many rounds are worked on, as in [`crate::x86_64::bitslice`]. A table is read
/// by the number of the round and [through an address](places) that the compiler cannot follow: a shuffle that it knows
/// it applies to both parts of a sum instead of the sum, and a CPU that does one a cycle has no time for more of them.
#[repr(align(64))]
pub(super) struct Place {
    /// What lies 1 to 3 below in the column.
    pub(super) below: [[i8; BLOCK_BYTES]; 3],
    /// The shuffle that undoes ShiftRows once for each such round, and so brings a key there. The one that does ShiftRows
    /// as often is in the place whose number makes 4 with this one.
    pub(super) key: [i8; BLOCK_BYTES],
}

/// By the number of ShiftRows left out; an inverse one is three.
static PLACES: [Place; 4] = [Place::new(0), Place::new(1), Place::new(2), Place::new(3)];

/// The places, by the number of ShiftRows left out modulo 4.
#[inline(always)]
pub(super) fn places() -> &'static [Place; 4] {
    // SAFETY: the address stays what it was.
    unsafe { &*anew(&raw const PLACES) }
}

impl Place {
    const fn new(shifts: usize) -> Self {
        let Frame {
            one_below,
            two_below,
            ..
        } = Frame::new(shifts);
        Self {
            below: [one_below, two_below, compose(&two_below, &one_below)],
            key: Frame::new((4 - shifts) % 4).shift_rows,
        }
    }
}

const IDENTITY: Matrix = sum_of_rotations(&[0]);
/// The linear part of the S-box, and of its inverse (FIPS 197, sections 5.1.1 and 5.3.2).
const MAP: Matrix = sum_of_rotations(&[0, 1, 2, 3, 4]);
const UNMAP: Matrix = sum_of_rotations(&[1, 3, 6]);

/// [`UNMAP`] of a byte times `factor`.
const fn unmap_times(factor: u8) -> Matrix {
    let mut map = IDENTITY;
    let mut i = 0;
    while i < 8 {
        map[i] = times(&UNMAP, product(map[i], factor));
        i += 1;
    }
    map
}

const fn sum_of_rotations(by: &[u32]) -> Matrix {
    let mut map = [0; 8];
    let mut i = 0;
    while i < 8 * by.len() {
        map[i % 8] ^= (1u8 << (i % 8)).rotate_left(by[i / 8]);
        i += 1;
    }
    map
}

/// The halves of the map, times `factor`.
const fn to_halves(map: &Matrix, factor: u8) -> Matrix {
    let mut map = *map;
    let mut i = 0;
    while i < 8 {
        map[i] = times(&HALVES, product(map[i], factor));
        i += 1;
    }
    map
}

/// The halves of `map` of a byte plus `constant`.
const fn enter(map: &Matrix, constant: u8) -> Map {
    let map = to_halves(map, 1);
    let (mut low, mut high) = ([0; 16], [0; 16]);
    let mut i = 0;
    while i < 16 {
        low[i] = times(&map, i as u8 ^ constant);
        high[i] = times(&map, (i as u8) << 4);
        i += 1;
    }
    Map(Table(low), Table(high))
}

/// `map` of an inverse, by io and jo.
const fn of_inverse(map: &Matrix) -> Map {
    let [by_io, by_jo] = tower::of_inverse(map);
    Map(Table(by_io), Table(by_jo))
}
