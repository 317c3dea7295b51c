//! The tables of shuffles, computed from their definitions.

use crate::keys::camellia::{HALVES, HALVES_OF_FOURTH, rotated};
use crate::keys::field::{self, Matrix};
use crate::keys::sbox::nibbles;
use crate::keys::tower::of_inverse;

/// The indices of a shuffle, for each 128 bits.
#[repr(align(32))]
pub(super) struct Index(pub(super) [[i8; 16]; 2]);

/// The output of the first S-box for an inverse, rotated by 0, 1, 2 and 7 bits.
pub(super) const ROTATED: [[[u8; 16]; 2]; 4] = [
    of_inverse(&rotated(0)),
    of_inverse(&rotated(1)),
    of_inverse(&rotated(2)),
    of_inverse(&rotated(7)),
];

/// Converts to the form of bytes 4 and 7.
pub(super) const ROTATE: [[u8; 16]; 2] =
    nibbles(&field::after(&HALVES_OF_FOURTH, &field::inverse(&HALVES)));

/// Converts to the form of a state and back: all bytes but 4 and 7, then those two.
pub(super) const INTO_WIDE: [[[u8; 16]; 2]; 2] = [nibbles(&HALVES), nibbles(&HALVES_OF_FOURTH)];
pub(super) const OUT_OF_WIDE: [[[u8; 16]; 2]; 2] = [
    nibbles(&field::inverse(&HALVES)),
    nibbles(&field::inverse(&HALVES_OF_FOURTH)),
];

/// Like `INTO_WIDE` and `OUT_OF_WIDE`, for [`by_place`].
pub(super) const INTO: [[[u8; 16]; 2]; 2] = by_difference(&HALVES, &HALVES_OF_FOURTH);
pub(super) const OUT_OF: [[[u8; 16]; 2]; 2] =
    by_difference(&field::inverse(&HALVES), &field::inverse(&HALVES_OF_FOURTH));

const fn by_difference(others: &Matrix, fourth: &Matrix) -> [[[u8; 16]; 2]; 2] {
    let mut difference = *others;
    let mut i = 0;
    while i < 8 {
        difference[i] ^= fourth[i];
        i += 1;
    }
    [nibbles(others), nibbles(&difference)]
}

/// The bytes whose sum P assigns to each byte (RFC 3713, section 2.4.1).
const P: [&[u8]; 8] = [
    &[1, 3, 4, 6, 7, 8],
    &[1, 2, 4, 5, 7, 8],
    &[1, 2, 3, 5, 6, 8],
    &[2, 3, 4, 5, 6, 7],
    &[1, 2, 6, 7, 8],
    &[2, 3, 5, 7, 8],
    &[3, 4, 5, 6, 8],
    &[1, 4, 5, 6, 7],
];

/// Four picks of the results rotated by 0 bits, then two for each of 1, 2 and 7.
pub(super) const NARROW_PICKS: [Index; 10] = {
    let mut picks = [const { Index([[-128; 16]; 2]) }; 10];
    let mut byte = 1;
    while byte <= 8 {
        let mut seen = [0; 8];
        let mut i = 0;
        while i < P[byte - 1].len() {
            let from = P[byte - 1][i];
            let by_box = match from {
                2 | 5 => 1,
                3 | 6 => 7,
                _ => 0,
            };
            let rotation = (by_box + matches!(byte, 4 | 7) as usize) % 8;
            let first = match rotation {
                0 => 0,
                1 => 4,
                2 => 6,
                _ => 8,
            };
            let most = if rotation == 0 { 4 } else { 2 };
            assert!(seen[rotation] < most);
            let pick = &mut picks[first + seen[rotation]].0;
            let mut half = 0;
            while half < 4 {
                pick[half / 2][half % 2 * 8 + 8 - byte] = (half % 2 * 8 + 8) as i8 - from as i8;
                half += 1;
            }
            seen[rotation] += 1;
            i += 1;
        }
        byte += 1;
    }
    picks
};

/// Spreads a half of 64 bits to the bytes of [`Wide`].
pub(super) const SPREAD: [Index; 4] = {
    let mut spread = [const { Index([[0; 16]; 2]) }; 4];
    let places = [(1, 8), (2, 5), (3, 6), (4, 7)];
    let mut i = 0;
    while i < 32 {
        let mut register = 0;
        while register < 4 {
            let (low, high) = places[register];
            let place = if i % 16 < 8 { low } else { high };
            spread[register].0[i / 16][i % 16] = 8 - place;
            register += 1;
        }
        i += 1;
    }
    spread
};

/// Gathers the bytes of four words by their place, lowest first.
pub(super) const COLUMNS: [i8; 16] = [0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15];
pub(super) const SWAP_HALVES: [i8; 16] = [8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7];
/// Moves one half to the other, the upper (`UP`) or the lower (`DOWN`); zeros elsewhere.
pub(super) const UP: [i8; 16] = [
    -128, -128, -128, -128, -128, -128, -128, -128, 0, 1, 2, 3, 4, 5, 6, 7,
];
pub(super) const DOWN: [i8; 16] = [
    8, 9, 10, 11, 12, 13, 14, 15, -128, -128, -128, -128, -128, -128, -128, -128,
];
/// Converts 64-bit words to bytes in the order of a block.
pub(super) const SWAP: [i8; 16] = [7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8];
