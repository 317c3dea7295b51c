//! ARIA: its S-boxes, its diffusion and its key schedule.

use super::field::{self, Matrix};
use super::sbox::SBox;
use oarlock_kernels::wipe::wipe;

/// An expanded key of ARIA. Wiped on drop.
#[repr(C, align(16))]
pub struct Aria {
    /// The key that is added to each register of a sliced state, for each round and the end.
    pub(crate) keys: [[[u8; 16]; 4]; 17],
    /// The number of rounds: 12, 14 or 16.
    pub(crate) rounds: usize,
}

impl Aria {
    pub(crate) const UNKEYED: Self = Self {
        keys: [[[0; 16]; 4]; 17],
        rounds: 12,
    };
}

impl Drop for Aria {
    fn drop(&mut self) {
        wipe(self.keys.as_flattened_mut());
    }
}

/// The step before which a key is added.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Before {
    /// The S-boxes of an odd round, counted from 1.
    Odd,
    Even,
    /// The end.
    Nothing,
}

/// The steps of [`expand`] that a backend provides.
pub(crate) trait Steps {
    /// Applies the S-boxes of an odd or an even round and the diffusion, without constants.
    fn scramble(&self, input: u128, round: Before) -> u128;
    /// Stores the bytes of `key` in `to` as a sliced state has them before that step.
    fn spread(&self, key: u128, before: Before, to: &mut [[u8; 16]; 4]);
}

/// Expands a key (RFC 5794, section 2.2). Kernels leave out the constants of the S-boxes, which are added to the keys.
#[inline(always)]
pub(crate) fn expand(schedule: &mut Aria, key: &[u8], steps: &impl Steps) {
    let half = |at: usize| {
        let mut bytes = [0; 16];
        for (to, from) in bytes.iter_mut().zip(key.iter().skip(at)) {
            *to = *from;
        }
        u128::from_be_bytes(bytes)
    };
    let (left, right) = (half(0), half(16));
    let first = key.len() / 8 - 2;
    let c = |i: usize| C[(first + i) % 3];
    let w0 = left;
    let w1 = odd(steps, w0 ^ c(0)) ^ right;
    let w2 = steps.scramble(w1 ^ c(1) ^ INTO_EVEN, Before::Even) ^ diffused(OUT_OF_EVEN) ^ w0;
    let w3 = odd(steps, w2 ^ c(2)) ^ w1;
    let mut keys = [
        w0 ^ w1.rotate_right(19),
        w1 ^ w2.rotate_right(19),
        w2 ^ w3.rotate_right(19),
        w3 ^ w0.rotate_right(19),
        w0 ^ w1.rotate_right(31),
        w1 ^ w2.rotate_right(31),
        w2 ^ w3.rotate_right(31),
        w3 ^ w0.rotate_right(31),
        w0 ^ w1.rotate_left(61),
        w1 ^ w2.rotate_left(61),
        w2 ^ w3.rotate_left(61),
        w3 ^ w0.rotate_left(61),
        w0 ^ w1.rotate_left(31),
        w1 ^ w2.rotate_left(31),
        w2 ^ w3.rotate_left(31),
        w3 ^ w0.rotate_left(31),
        w0 ^ w1.rotate_left(19),
    ];
    schedule.rounds = key.len() / 4 + 8;
    for (i, (key, to)) in keys
        .iter()
        .zip(&mut schedule.keys)
        .enumerate()
        .take(schedule.rounds + 1)
    {
        let (constants, before) = if i == schedule.rounds {
            (OUT_OF_EVEN, Before::Nothing)
        } else if i == 0 {
            (INTO_ODD, Before::Odd)
        } else if i % 2 == 1 {
            (INTO_EVEN ^ OUT_OF_ODD, Before::Even)
        } else {
            (INTO_ODD ^ diffused(OUT_OF_EVEN), Before::Odd)
        };
        steps.spread(key ^ constants, before, to);
    }
    wipe(&mut keys);
}

/// Computes an odd round. Always inlined, like its callees: instructions are only available in the function that enables
/// them.
#[inline(always)]
fn odd(steps: &impl Steps, input: u128) -> u128 {
    steps.scramble(input ^ INTO_ODD, Before::Odd) ^ OUT_OF_ODD
}

/// The S-boxes of bytes 0, 1, 2 and 3 in odd rounds, and of bytes 2, 3, 0 and 1 in even ones. The first is that of AES; the
/// second raises to the power 247 and applies a matrix; the others are their inverses (RFC 5794, section 2.4.2, which has
/// them as tables).
pub(crate) const BOXES: [SBox; 4] = [
    SBox::new(
        [&field::IDENTITY, &field::IDENTITY],
        [&field::AES, &field::AES],
    ),
    SBox::new([&field::IDENTITY, &field::IDENTITY], [&SECOND, &SECOND]),
    SBox::inverted(&field::inverse(&field::AES)),
    SBox::inverted(&field::inverse(&SECOND)),
];

/// The linear part of the second S-box: x^247 is 1 / x raised to the power 8, which is linear. Row i selects the bits of
/// that whose sum is bit i ("New Block Cipher: ARIA", Kwon et al., ICISC 2003, section 2.1).
const SECOND: Matrix = {
    const ROWS: [u8; 8] = [
        0b0111_1010,
        0b1011_1100,
        0b1110_1011,
        0b1011_1001,
        0b0011_0100,
        0b1000_0001,
        0b1011_1010,
        0b1100_1011,
    ];
    let mut columns = [0; 8];
    let mut i = 0;
    while i < 8 {
        let power = field::power(1 << i, 8);
        let mut row = 0;
        while row < 8 {
            columns[i] |= ((ROWS[row] & power).count_ones() as u8 & 1) << row;
            row += 1;
        }
        i += 1;
    }
    columns
};

/// The constants of the S-boxes, before and after them.
const INTO_ODD: u128 = 0x0000_63e2 * EACH_WORD;
const INTO_EVEN: u128 = 0x63e2_0000 * EACH_WORD;
const OUT_OF_ODD: u128 = diffused(0x63e2_0000 * EACH_WORD);
const OUT_OF_EVEN: u128 = 0x0000_63e2 * EACH_WORD;
const EACH_WORD: u128 = 1 | 1 << 32 | 1 << 64 | 1 << 96;

const fn diffused(bytes: u128) -> u128 {
    let x = bytes.to_be_bytes();
    let mut y = [0; 16];
    let mut i = 0;
    while i < 16 {
        let mut j = 0;
        while j < 7 {
            y[i] ^= x[DIFFUSION[i][j]];
            j += 1;
        }
        i += 1;
    }
    u128::from_be_bytes(y)
}

/// The bytes whose sum each byte becomes (RFC 5794, section 2.4.3).
pub(crate) const DIFFUSION: [[usize; 7]; 16] = [
    [3, 4, 6, 8, 9, 13, 14],
    [2, 5, 7, 8, 9, 12, 15],
    [1, 4, 6, 10, 11, 12, 15],
    [0, 5, 7, 10, 11, 13, 14],
    [0, 2, 5, 8, 11, 14, 15],
    [1, 3, 4, 9, 10, 14, 15],
    [0, 2, 7, 9, 10, 12, 13],
    [1, 3, 6, 8, 11, 12, 13],
    [0, 1, 4, 7, 10, 13, 15],
    [0, 1, 5, 6, 11, 12, 14],
    [2, 3, 5, 6, 8, 13, 15],
    [2, 3, 4, 7, 9, 12, 14],
    [1, 2, 6, 7, 9, 11, 12],
    [0, 3, 6, 7, 8, 10, 13],
    [0, 3, 4, 5, 9, 11, 14],
    [1, 2, 4, 5, 8, 10, 15],
];

const C: [u128; 3] = [
    0x517c_c1b7_2722_0a94_fe13_abe8_fa9a_6ee0,
    0x6db1_4acc_9e21_c820_ff28_b1d5_ef5d_e2b0,
    0xdb92_371d_2126_e970_0324_9775_04e8_c90e,
];
