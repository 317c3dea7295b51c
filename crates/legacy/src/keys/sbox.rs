//! S-boxes that invert in a field of 256 elements, in the forms that instructions use.

use super::field::{AES, IDENTITY, Matrix, after, inverse, times};
use super::tower;

/// A linear map on each byte of a register, one on the lower and one on the upper half of each 128 bits, in the forms that
/// instructions use.
pub(crate) struct Map {
    /// The matrices for GFNI: row i in byte 7 - i.
    pub(crate) rows: [u64; 2],
    /// The tables for shuffles: the images of the lower and the upper four bits of a byte.
    pub(crate) nibbles: [[[u8; 16]; 2]; 2],
    pub(crate) is_identity: bool,
    pub(crate) is_same: bool,
}

impl Map {
    pub(crate) const fn new(lower: &Matrix, upper: &Matrix) -> Self {
        Self {
            rows: [rows(lower), rows(upper)],
            nibbles: [nibbles(lower), nibbles(upper)],
            is_identity: equal(lower, &IDENTITY) && equal(upper, &IDENTITY),
            is_same: equal(lower, upper),
        }
    }
}

/// An S-box without its constants: `before`, an inversion in the field of AES, `after`.
pub(crate) struct SBox {
    pub(crate) before: Map,
    pub(crate) after: Map,
    /// Like `after`, following the S-box of AES, which is an inversion and a map of its own.
    pub(crate) after_aes: Map,
    /// For S-boxes with nothing after the inversion: `before`, preceding the inverse S-box of AES without its constant,
    /// which has a map before its own inversion.
    pub(crate) before_inverse_aes: Option<Map>,
    /// For shuffles: `before`, then the conversion to the halves of [`tower`]; and `after` of their inverse, by io and jo,
    /// in the lower and the upper half.
    pub(crate) into_halves: Map,
    pub(crate) of_halves: [[[u8; 16]; 2]; 2],
    pub(crate) is_same_after: bool,
}

impl SBox {
    /// Creates the S-boxes of the lower and of the upper half of 128 bits.
    pub(crate) const fn new(before: [&Matrix; 2], after_it: [&Matrix; 2]) -> Self {
        let undo = inverse(&AES);
        Self {
            before: Map::new(before[0], before[1]),
            after: Map::new(after_it[0], after_it[1]),
            after_aes: Map::new(&after(after_it[0], &undo), &after(after_it[1], &undo)),
            before_inverse_aes: None,
            into_halves: Map::new(
                &after(&tower::HALVES, before[0]),
                &after(&tower::HALVES, before[1]),
            ),
            of_halves: [
                tower::of_inverse(after_it[0]),
                tower::of_inverse(after_it[1]),
            ],
            is_same_after: equal(after_it[0], after_it[1]),
        }
    }

    /// Creates the inverse of an S-box that is an inversion and a map; `before` is the inverse of that map.
    pub(crate) const fn inverted(before: &Matrix) -> Self {
        let ahead = after(&AES, before);
        Self {
            before_inverse_aes: Some(Map::new(&ahead, &ahead)),
            ..Self::new([before, before], [&IDENTITY, &IDENTITY])
        }
    }
}

const fn rows(matrix: &Matrix) -> u64 {
    let mut rows = [0u8; 8];
    let mut i = 0;
    while i < 64 {
        let (row, column) = (i / 8, i % 8);
        rows[7 - row] |= (matrix[column] >> row & 1) << column;
        i += 1;
    }
    u64::from_le_bytes(rows)
}

pub(crate) const fn nibbles(matrix: &Matrix) -> [[u8; 16]; 2] {
    let mut tables = [[0; 16]; 2];
    let mut i = 0;
    while i < 16 {
        tables[0][i] = times(matrix, i as u8);
        tables[1][i] = times(matrix, (i as u8) << 4);
        i += 1;
    }
    tables
}

const fn equal(a: &Matrix, b: &Matrix) -> bool {
    let mut i = 0;
    while i < 8 {
        if a[i] != b[i] {
            return false;
        }
        i += 1;
    }
    true
}
