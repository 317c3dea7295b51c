//! AES rounds made of GFNI, for registers of every width: [`Gfni`] around one has the rounds of
//! [`Lanes`], so that the algorithms for `aesenc` run without it.
//!
//! `gf2p8affineinvqb` is the S-box, both of its steps; `gf2p8mulb` multiplies in the field of AES
//! for MixColumns. A round takes 8 or 9 instructions instead of one, where bitsliced code takes
//! 22 (see [`super::bitslice`]), and serves a single block as well as many.

use core::arch::x86_64::*;

use super::Gfni256;
use super::bitslice::{Bits, Frame, xor_bytes};
use super::lanes::{Lanes, by_contract, needs_instructions};
use crate::key::Schedule;

/// FIPS 197, section 5.2. `key` has the length that `schedule.size` says.
pub(crate) fn expand(_: Gfni256, schedule: &mut Schedule, key: &[u8]) {
    #[target_feature(enable = "avx2,gfni")]
    fn with_gfni(schedule: &mut Schedule, key: &[u8]) {
        schedule.expand_with(key, |word| {
            let word = _mm_cvtsi32_si128(word as i32);
            // SAFETY: GFNI and AVX2 are enabled here; a word lies in a register of 128 bits.
            let word = unsafe { word.map_inverse::<0x63>(S_BOX) };
            _mm_cvtsi128_si32(word) as u32
        });
    }
    // SAFETY: `Gfni256` proves GFNI and AVX2, which `with_gfni` enables to expand.
    unsafe { with_gfni(schedule, key) }
}

/// The schedule of the equivalent inverse cipher (FIPS 197, section 5.3.5), in the order of use.
pub(crate) fn invert(_: Gfni256, schedule: &Schedule, inverse: &mut Schedule) {
    #[target_feature(enable = "avx2,gfni")]
    fn with_gfni(schedule: &Schedule, inverse: &mut Schedule) {
        let rounds = schedule.size.rounds();
        for round in 0..=rounds {
            // SAFETY: a round key has 16 bytes, to be read and to be written; GFNI and AVX2 are enabled here.
            unsafe {
                let mut key = __m128i::load(schedule.round_keys[rounds - round].as_ptr().cast());
                if round > 0 && round < rounds {
                    key = inverse_mix_columns(key, _mm_setzero_si128());
                }
                key.store(inverse.round_keys[round].as_mut_ptr().cast());
            }
        }
    }
    // SAFETY: `Gfni256` proves GFNI and AVX2, which `with_gfni` enables to invert.
    unsafe { with_gfni(schedule, inverse) }
}

/// A register of blocks that GFNI encrypts. Its instructions are GFNI and those of `V`.
#[derive(Clone, Copy)]
pub(super) struct Gfni<V>(pub(super) V);

impl<V: GaloisField> Lanes for Gfni<V> {
    const BLOCKS: usize = V::BLOCKS;
    /// Rounds are too long for the compiler to unroll them all, and so to keep keys in registers.
    const KEYS_IN_MEMORY: bool = true;
    const HAS_AES: bool = false;

    by_contract! {
        fn round(self, key: Self) -> Self {
            let s = self.0.map_inverse::<0x63>(S_BOX);
            let shifted = s.shuffle(&FRAME.shift_rows);
            let below = s.shuffle(&FRAME.one_below);
            Self(mix_columns(shifted, below, key.0))
        }
        fn last_round(self, key: Self) -> Self {
            let s = self.0.map_inverse::<0x63>(S_BOX);
            Self(s.shuffle(&FRAME.shift_rows).xor(key.0))
        }
        fn inverse_round(self, key: Self) -> Self {
            let s = self.0.map::<0x05>(S_BOX_INVERSE).map_inverse::<0>(IDENTITY);
            let shifted = s.shuffle(&INVERSE_FRAME.shift_rows);
            Self(inverse_mix_columns(shifted, key.0))
        }
        fn last_inverse_round(self, key: Self) -> Self {
            let s = self.0.map::<0x05>(S_BOX_INVERSE).map_inverse::<0>(IDENTITY);
            Self(s.shuffle(&INVERSE_FRAME.shift_rows).xor(key.0))
        }
        fn last_round_partial(self, key: Self, from: *const u8, to: *mut u8, bytes: usize) {
            let mut keystream = self.last_round(key).0;
            xor_bytes((&raw const keystream).cast(), from, to, bytes);
            keystream.zeroize();
        }
        fn splat(block: __m128i) -> Self { Self(V::splat(block)) }
        fn load(from: *const u8) -> Self { Self(V::load(from)) }
        fn store(self, to: *mut u8) { self.0.store(to) }
        fn xor(self, other: Self) -> Self { Self(self.0.xor(other.0)) }
        fn one_block_on(self, before: __m128i) -> Self { Self(self.0.one_block_on(before)) }
        fn counters(first: u128) -> Self { Self(V::counters(first)) }
        fn advance(self, n: u32) -> Self { Self(self.0.advance(n)) }
        fn swap_bytes(self) -> Self { Self(self.0.swap_bytes()) }
    }

    #[inline(always)]
    unsafe fn pin(self) -> Self {
        self
    }
}

/// Each column times 03 x^3 + 01 x^2 + 01 x + 02, plus `key`: with a the byte and b, c, d those
/// below it, the result is 02 (a + b) + b + c + d. `below` has b where `a` has a.
///
/// # Safety
/// The instructions of `V` are enabled in the caller.
#[inline(always)]
unsafe fn mix_columns<V: GaloisField>(a: V, below: V, key: V) -> V {
    // SAFETY: a shuffle, a product and XORs, for which the caller has GFNI and the instructions of `V`.
    unsafe {
        let sum = a.xor(below);
        let rest = below.xor(key).xor(sum.shuffle(&UNSHIFTED.two_below));
        sum.times(2).xor(rest)
    }
}

/// MixColumns after each column times 04 x^2 + 05, which makes 0b x^3 + 0d x^2 + 09 x + 0e; plus
/// `key`.
///
/// # Safety
/// The instructions of `V` are enabled in the caller.
#[inline(always)]
unsafe fn inverse_mix_columns<V: GaloisField>(a: V, key: V) -> V {
    // SAFETY: two shuffles and a product before `mix_columns`, for all of which the caller has GFNI and the
    // instructions of `V`.
    unsafe {
        let sum = a.xor(a.shuffle(&UNSHIFTED.two_below));
        let multiplied = a.xor(sum.times(4));
        let below = multiplied.shuffle(&UNSHIFTED.one_below);
        mix_columns(multiplied, below, key)
    }
}

/// What GFNI does to each byte of a register, of whose instructions GFNI is one.
pub(super) trait GaloisField: Bits {
    needs_instructions! {
        /// `matrix` times x, plus `B`.
        fn map<const B: i32>(self, matrix: i64) -> Self;
        /// `matrix` times 1 / x (0 for 0), plus `B`.
        fn map_inverse<const B: i32>(self, matrix: i64) -> Self;
        fn times(self, factor: i8) -> Self;
        /// The matrix in each 64 bits of `matrices` times x in the same ones.
        fn map_by(self, matrices: Self) -> Self;
        /// The same times 1 / x.
        fn map_inverse_by(self, matrices: Self) -> Self;
    }
}

macro_rules! galois_field {
    ($lanes:ty, $map:ident, $map_inverse:ident, $times:ident) => {
        impl GaloisField for $lanes {
            by_contract! {
                fn map<const B: i32>(self, matrix: i64) -> Self {
                    $map::<B>(self, Self::splat(_mm_set1_epi64x(matrix)))
                }
                fn map_inverse<const B: i32>(self, matrix: i64) -> Self {
                    $map_inverse::<B>(self, Self::splat(_mm_set1_epi64x(matrix)))
                }
                fn times(self, factor: i8) -> Self {
                    $times(self, Self::splat(_mm_set1_epi8(factor)))
                }
                fn map_by(self, matrices: Self) -> Self { $map::<0>(self, matrices) }
                fn map_inverse_by(self, matrices: Self) -> Self {
                    $map_inverse::<0>(self, matrices)
                }
            }
        }
    };
}

galois_field!(
    __m128i,
    _mm_gf2p8affine_epi64_epi8,
    _mm_gf2p8affineinv_epi64_epi8,
    _mm_gf2p8mul_epi8
);
galois_field!(
    __m256i,
    _mm256_gf2p8affine_epi64_epi8,
    _mm256_gf2p8affineinv_epi64_epi8,
    _mm256_gf2p8mul_epi8
);
galois_field!(
    __m512i,
    _mm512_gf2p8affine_epi64_epi8,
    _mm512_gf2p8affineinv_epi64_epi8,
    _mm512_gf2p8mul_epi8
);

/// The matrix in which bit i of the result is the sum of the bits `terms` above it, around the byte
/// (the form of FIPS 197, equations 5.2 and 5.4), in GFNI's order: row i in byte 7 - i.
const fn matrix(terms: &[usize]) -> i64 {
    let mut rows = [0u8; 8];
    let mut i = 0;
    while i < 64 {
        let (row, term) = (i % 8, i / 8);
        if term < terms.len() {
            rows[7 - row] |= 1 << ((row + terms[term]) % 8);
        }
        i += 1;
    }
    i64::from_le_bytes(rows)
}

const S_BOX: i64 = matrix(&[0, 4, 5, 6, 7]);
const S_BOX_INVERSE: i64 = matrix(&[2, 5, 7]);
const IDENTITY: i64 = matrix(&[0]);

const UNSHIFTED: Frame = Frame::new(0);
const INVERSE_FRAME: Frame = Frame::new(3);
/// ShiftRows, and what lies below after it.
const FRAME: Shifted = Shifted {
    shift_rows: Frame::new(1).shift_rows,
    one_below: compose(&Frame::new(1).shift_rows, &UNSHIFTED.one_below),
};

struct Shifted {
    shift_rows: [i8; 16],
    one_below: [i8; 16],
}

/// The shuffle that does what `first` and then `second` do.
pub(super) const fn compose(first: &[i8; 16], second: &[i8; 16]) -> [i8; 16] {
    let mut both = [0; 16];
    let mut i = 0;
    while i < 16 {
        both[i] = first[second[i] as usize];
        i += 1;
    }
    both
}
