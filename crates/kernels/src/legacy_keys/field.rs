//! Linear maps on bytes, worked out while this is compiled: what turns one inversion in a field of
//! 256 elements into another, so that the instructions made for AES serve other S-boxes.
//!
//! Fields of 256 elements are the same but for the names of their elements. An S-box that inverts in
//! its own field is an inversion in that of AES between two linear maps, beside constants, which
//! the key schedules take up. See "Block Ciphers: Fast Implementations on x86-64 Architecture",
//! Kivilinna, 2013, section 5.2.

use super::tower;

/// A linear map of bytes over GF(2): what each bit is mapped to.
pub(crate) type Matrix = [u8; 8];

pub(crate) const IDENTITY: Matrix = rotation(0);

/// The linear part of the S-box of AES (FIPS 197, equation 5.1), after its inversion.
pub(crate) const AES: Matrix = {
    let mut columns = [0; 8];
    let mut i = 0;
    while i < 8 {
        let bit = 1u8 << i;
        columns[i] =
            bit ^ bit.rotate_left(1) ^ bit.rotate_left(2) ^ bit.rotate_left(3) ^ bit.rotate_left(4);
        i += 1;
    }
    columns
};

pub(crate) const fn rotation(left: u32) -> Matrix {
    let mut columns = [0; 8];
    let mut i = 0;
    while i < 8 {
        columns[i] = (1u8 << i).rotate_left(left);
        i += 1;
    }
    columns
}

pub(crate) const fn times(matrix: &Matrix, byte: u8) -> u8 {
    let mut sum = 0;
    let mut i = 0;
    while i < 8 {
        if byte >> i & 1 == 1 {
            sum ^= matrix[i];
        }
        i += 1;
    }
    sum
}

/// First `inner`, then `outer`.
pub(crate) const fn after(outer: &Matrix, inner: &Matrix) -> Matrix {
    let mut columns = [0; 8];
    let mut i = 0;
    while i < 8 {
        columns[i] = times(outer, inner[i]);
        i += 1;
    }
    columns
}

pub(crate) const fn inverse(matrix: &Matrix) -> Matrix {
    let mut columns = [0; 8];
    let mut found = 0u8;
    let mut byte = 0u8;
    loop {
        let image = times(matrix, byte);
        if image.is_power_of_two() {
            columns[image.trailing_zeros() as usize] = byte;
            found |= image;
        }
        if byte == 255 {
            break;
        }
        byte += 1;
    }
    assert!(found == 255, "the matrix has an inverse");
    columns
}

/// The product in the field of AES.
pub(crate) const fn product(mut a: u8, mut b: u8) -> u8 {
    let mut sum = 0;
    while b != 0 {
        if b & 1 == 1 {
            sum ^= a;
        }
        a = (a << 1) ^ ((a >> 7) * 0x1b);
        b >>= 1;
    }
    sum
}

pub(crate) const fn power(base: u8, exponent: u32) -> u8 {
    let mut result = 1;
    let mut i = 0;
    while i < exponent {
        result = product(result, base);
        i += 1;
    }
    result
}

/// An element of AES's field that is a root of `polynomial`, whose bit i stands for x^i.
pub(crate) const fn root(polynomial: u16) -> u8 {
    let mut candidate = 2;
    loop {
        let mut sum = 0;
        let mut i = 0;
        while i <= 8 {
            if polynomial >> i & 1 == 1 {
                sum ^= power(candidate, i);
            }
            i += 1;
        }
        if sum == 0 {
            return candidate;
        }
        candidate += 1;
    }
}

/// In the field of AES, what the bits of a byte mean in the field of `polynomial`, x^7 first.
pub(crate) const fn from_field(polynomial: u16) -> Matrix {
    let root = root(polynomial);
    let mut columns = [0; 8];
    let mut i = 0;
    while i < 8 {
        columns[i] = power(root, i as u32);
        i += 1;
    }
    columns
}

/// A linear map on each byte of a register, one on the lower and one on the upper half of each 128
/// bits, in the forms that instructions take.
pub(crate) struct Map {
    /// For GFNI: row i in byte 7 - i.
    pub(crate) rows: [u64; 2],
    /// For shuffles: what the lower and the upper four bits of a byte are mapped to.
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

/// An S-box without its constants: `before`, an inversion in AES's field, `after`.
pub(crate) struct SBox {
    pub(crate) before: Map,
    pub(crate) after: Map,
    /// The same after the S-box of AES, which is an inversion and a map of its own.
    pub(crate) after_aes: Map,
    /// For S-boxes of which nothing stands after the inversion: `before`, ahead of the inverse S-box of
    /// AES without its constant, which has a map before its own inversion.
    pub(crate) before_inverse_aes: Option<Map>,
    /// For shuffles: `before`, then the halves of [`tower`]; and `after` of their inverse, by io and jo,
    /// in the lower and the upper half.
    pub(crate) into_halves: Map,
    pub(crate) of_halves: [[[u8; 16]; 2]; 2],
    pub(crate) is_same_after: bool,
}

impl SBox {
    /// Those of the lower and of the upper half of 128 bits.
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

    /// The inverse of one that is an inversion and a map, of which `before` is the inverse.
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
