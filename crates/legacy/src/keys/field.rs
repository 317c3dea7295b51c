//! Linear maps on bytes, computed at compile time. They convert an inversion in one field of 256 elements to an inversion in
//! another, so that the instructions for AES serve other S-boxes.
//!
//! All fields of 256 elements are isomorphic. An S-box that inverts in its own field is an inversion in the field of AES
//! between two linear maps, and constants, which the key schedules absorb. See "Block Ciphers: Fast Implementations on
//! x86-64 Architecture", Kivilinna, 2013, section 5.2.

/// A linear map of bytes over GF(2): the image of each bit.
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

/// Returns the map that applies `inner`, then `outer`.
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

/// Returns the product in the field of AES.
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

/// Returns an element of the field of AES that is a root of `polynomial`, whose bit i is the coefficient of x^i.
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

/// Returns the map from the field of `polynomial` to that of AES, by the images of x^0 to x^7.
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
