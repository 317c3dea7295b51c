//! DES as byte look-ups (FIPS 46-3), whose tables are computed at compile time.
//!
//! A half of a block, expanded by E, is eight bytes, one for each S-box. The output of an S-box's table is a byte too: bit q
//! goes to S-box q of the next round, if any bit does. Each S-box sends bits to six others and gets bits from six others, so
//! P and E together are the transposition of eight bytes as a matrix of bits. That leaves the six bits of an index anywhere
//! in a byte. A product in GF(2^8), with a factor for each S-box, moves them to the lower six bits: a table may be in any
//! linear order.

use super::des::{P, ROUND_KEYS};

/// The S-boxes 1 to 8, with a row of 16 entries in each word.
pub(super) const S_BOXES: [[u64; 4]; 8] = [
    [
        0xe4d1_2fb8_3a6c_5907,
        0x0f74_e2d1_a6cb_9538,
        0x41e8_d62b_fc97_3a50,
        0xfc82_4917_5b3e_a06d,
    ],
    [
        0xf18e_6b34_972d_c05a,
        0x3d47_f28e_c01a_69b5,
        0x0e7b_a4d1_58c6_932f,
        0xd8a1_3f42_b67c_05e9,
    ],
    [
        0xa09e_63f5_1dc7_b428,
        0xd709_346a_285e_cbf1,
        0xd649_8f30_b12c_5ae7,
        0x1ad0_6987_4fe3_b52c,
    ],
    [
        0x7de3_069a_1285_bc4f,
        0xd8b5_6f03_472c_1ae9,
        0xa690_cb7d_f13e_5284,
        0x3f06_a1d8_945b_c72e,
    ],
    [
        0x2c41_7ab6_853f_d0e9,
        0xeb2c_47d1_50fa_3986,
        0x421b_ad78_f9c5_630e,
        0xb8c7_1e2d_6f09_a453,
    ],
    [
        0xc1af_9268_0d34_e75b,
        0xaf42_7c95_61de_0b38,
        0x9ef5_28c3_704a_1db6,
        0x432c_95fa_be17_608d,
    ],
    [
        0x4b2e_f08d_3c97_5a61,
        0xd0b7_491a_e35c_2f86,
        0x14bd_c37e_af68_0592,
        0x6bd8_14a7_950f_e23c,
    ],
    [
        0xd284_6fb1_a93e_50c7,
        0x1fd8_a374_c56b_0e92,
        0x7b41_9ce2_06ad_f358,
        0x21e7_4a8d_fc90_356b,
    ],
];

/// Returns the bit of a half that E makes bit `i` of an S-box's input, the first bit being the lowest.
pub(super) const fn bit_of_half(number: usize, i: usize) -> usize {
    (4 * number + i + 31) % 32
}

/// Returns a byte with `bits` where the transposition leaves those of S-box `number`: bit 7 - p comes from S-box p.
const fn spread(number: usize, bits: usize) -> u8 {
    let mut byte = 0;
    let mut i = 0;
    while i < 6 {
        let from = (P[bit_of_half(number, i)] as usize - 1) / 4;
        byte |= ((bits >> i & 1) as u8) << (7 - from);
        i += 1;
    }
    byte
}

/// Returns the product in GF(2^8) with the polynomial of AES.
const fn times(a: u8, b: u8) -> u8 {
    let (mut product, mut a, mut b) = (0, a as u16, b);
    while b > 0 {
        if b & 1 == 1 {
            product ^= a;
        }
        a <<= 1;
        if a & 0x100 != 0 {
            a ^= 0x11b;
        }
        b >>= 1;
    }
    product as u8
}

/// The factor of each byte, after which its lower six bits distinguish the 64 values.
pub(crate) const FACTORS: [u8; 8] = {
    let mut factors = [0; 8];
    let mut number = 0;
    while number < 8 {
        let mut factor = 0;
        let mut seen = 0_u64;
        while seen != u64::MAX {
            factor += 1;
            seen = 0;
            let mut bits = 0;
            while bits < 64 {
                seen |= 1 << (times(factor, spread(number, bits)) & 63);
                bits += 1;
            }
        }
        factors[number] = factor;
        number += 1;
    }
    factors
};

/// Returns six bits, the first of E lowest, in the form of the state.
pub(super) const fn placed(number: usize, bits: usize) -> u8 {
    times(FACTORS[number], spread(number, bits))
}

/// Tables of two S-boxes each: 64 entries of one, then 64 of the other.
pub(crate) type Tables = [[u8; 128]; 4];

/// The output of each S-box for an index.
pub(crate) const SUBSTITUTE: Tables = {
    let mut tables = [[0; 128]; 4];
    let mut number = 0;
    while number < 8 {
        let mut bits = 0;
        while bits < 64 {
            let row = (bits & 1) << 1 | bits >> 5;
            let column = (bits >> 1 & 1) << 3
                | (bits >> 2 & 1) << 2
                | (bits >> 3 & 1) << 1
                | (bits >> 4 & 1);
            let output = S_BOXES[number][row] >> (60 - 4 * column) & 15;
            let mut byte = 0;
            let mut to = 0;
            while to < 8 {
                let mut i = 0;
                while i < 6 {
                    let from = P[bit_of_half(to, i)] as usize - 1;
                    if from / 4 == number {
                        byte |= ((output >> (3 - from % 4) & 1) as u8) << to;
                    }
                    i += 1;
                }
                to += 1;
            }
            let index = placed(number, bits) & 63;
            tables[number / 2][64 * (number % 2) + index as usize] = byte;
            bits += 1;
        }
        number += 1;
    }
    tables
};

/// Converts six bits, the first of E lowest, to the state.
pub(crate) const ENTER: Tables = {
    let mut tables = [[0; 128]; 4];
    let mut number = 0;
    while number < 8 {
        let mut bits = 0;
        while bits < 64 {
            tables[number / 2][64 * (number % 2) + bits] = placed(number, bits);
            bits += 1;
        }
        number += 1;
    }
    tables
};

/// Converts the state to the four bits of a half that an S-box shares with no other: the lower ones of a byte for an odd
/// S-box, as FIPS 46-3 counts them, the upper ones for an even one.
pub(crate) const LEAVE: Tables = {
    let mut tables = [[0; 128]; 4];
    let mut number = 0;
    while number < 8 {
        let mut bits = 0;
        while bits < 64 {
            let index = placed(number, bits) & 63;
            let nibble = (bits >> 1 & 15) as u8;
            tables[number / 2][64 * (number % 2) + index as usize] = nibble << (4 * (number % 2));
            bits += 1;
        }
        number += 1;
    }
    tables
};

/// Converts a state to indexes by XOR: bytes of odd number use the second half of their table.
pub(crate) const SECOND_HALVES: u64 = 0x4000_4000_4000_4000;

/// The round keys of Triple DES in the order of encryption, in the form that [`SUBSTITUTE`] takes.
pub(crate) type Rounds = [u64; 48];

/// Expands three keys (SP 800-67, section 3.2).
pub(crate) fn expand(key: &[u8; 24], rounds: &mut Rounds) {
    for (stage, (key, rounds)) in key
        .as_chunks::<8>()
        .0
        .iter()
        .zip(rounds.as_chunks_mut::<16>().0)
        .enumerate()
    {
        *rounds = [SECOND_HALVES; 16];
        let key = u64::from_be_bytes(*key);
        for (bit, in_rounds) in IN_ROUNDS.iter().enumerate() {
            // Without it, the compiler skips the loop by a branch if the bit is clear.
            let mask = core::hint::black_box((key >> (63 - bit) & 1).wrapping_neg());
            for (round, bits) in rounds.iter_mut().zip(in_rounds) {
                *round ^= bits & mask;
            }
        }
        if stage == 1 {
            rounds.reverse();
        }
    }
}

/// The contribution of each bit of a key, starting with its first, to each round key.
static IN_ROUNDS: [[u64; 16]; 64] = {
    let mut in_rounds = [[0; 16]; 64];
    let mut round = 0;
    while round < 16 {
        let mut i = 0;
        while i < 48 {
            let number = i / 6;
            let byte = placed(number, 1 << (i % 6)) & 63;
            in_rounds[ROUND_KEYS[round][i] as usize][round] |= (byte as u64) << (8 * number);
            i += 1;
        }
        round += 1;
    }
    in_rounds
};
