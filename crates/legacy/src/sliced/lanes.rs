//! Word and byte operations on registers for the ciphers of this folder.

use core::arch::x86_64::*;

use super::bytes::Bytes;
use oarlock_kernels::{by_contract, needs_instructions};

/// Words of 32 bits and halves of 64 in each 128 bits of a register.
pub(super) trait Words: Bytes {
    needs_instructions! {
        fn splat_word(word: u32) -> Self;
        /// Returns in each word the number of its block, counting from `first` in the order that blocks have once words are
        /// transposed.
        fn numbered(first: u32) -> Self;
        /// Looks up each byte in `self`, a table of 16 bytes, by the low four bits of `index`.
        fn look_up(self, index: Self) -> Self;
        /// Interleaves words 0 and 1 of both; `high_words` interleaves words 2 and 3.
        fn low_words(self, other: Self) -> Self;
        fn high_words(self, other: Self) -> Self;
        /// Joins the lower halves of both; `high_halves` joins the upper ones.
        fn low_halves(self, other: Self) -> Self;
        fn high_halves(self, other: Self) -> Self;
        /// Returns the lower half of `self` and the upper half of `other`.
        fn with_high_half(self, other: Self) -> Self;
        fn and(self, other: Self) -> Self;
        fn or(self, other: Self) -> Self;
        fn xor3(self, second: Self, third: Self) -> Self;
        fn rotate_words<const LEFT: i32, const RIGHT: i32>(self) -> Self;
    }
}

macro_rules! words {
    (
        $lanes:ty, $set:ident, $add:ident, $look_up:ident, $low_words:ident,
        $high_words:ident, $low_halves:ident, $high_halves:ident, $and:ident, $or:ident, $left:ident,
        $right:ident, |$low:ident, $high:ident| $mixed:expr, |$a:ident, $b:ident, $c:ident| $xor3:expr
    ) => {
        impl Words for $lanes {
            by_contract! {
                fn splat_word(word: u32) -> Self { $set(word as i32) }
                fn look_up(self, index: Self) -> Self { $look_up(self, index) }
                fn low_words(self, other: Self) -> Self { $low_words(self, other) }
                fn high_words(self, other: Self) -> Self { $high_words(self, other) }
                fn low_halves(self, other: Self) -> Self { $low_halves(self, other) }
                fn high_halves(self, other: Self) -> Self { $high_halves(self, other) }
                fn with_high_half(self, other: Self) -> Self {
                    let ($low, $high) = (self, other);
                    $mixed
                }
                fn and(self, other: Self) -> Self { $and(self, other) }
                fn or(self, other: Self) -> Self { $or(self, other) }
                fn xor3(self, second: Self, third: Self) -> Self {
                    let ($a, $b, $c) = (self, second, third);
                    $xor3
                }
                fn rotate_words<const LEFT: i32, const RIGHT: i32>(self) -> Self {
                    const { assert!(LEFT + RIGHT == 32) };
                    let right = $right(self, _mm_cvtsi32_si128(RIGHT));
                    $or($left(self, _mm_cvtsi32_si128(LEFT)), right)
                }
            }
            #[inline(always)]
            unsafe fn numbered(first: u32) -> Self {
                const NUMBERS: [u32; 4 * <$lanes>::BLOCKS] = numbers();
                // SAFETY: the caller has the instructions of this register, and there is a number for each of its words.
                unsafe { $add(Self::splat_word(first), Self::load(NUMBERS.as_ptr().cast())) }
            }
        }
    };
}

words!(
    __m128i,
    _mm_set1_epi32,
    _mm_add_epi32,
    _mm_shuffle_epi8,
    _mm_unpacklo_epi32,
    _mm_unpackhi_epi32,
    _mm_unpacklo_epi64,
    _mm_unpackhi_epi64,
    _mm_and_si128,
    _mm_or_si128,
    _mm_sll_epi32,
    _mm_srl_epi32,
    // `movsd`, since SSE4.1 may be missing.
    |low, high| _mm_castpd_si128(_mm_move_sd(_mm_castsi128_pd(high), _mm_castsi128_pd(low))),
    |a, b, c| _mm_xor_si128(_mm_xor_si128(a, b), c)
);
words!(
    __m256i,
    _mm256_set1_epi32,
    _mm256_add_epi32,
    _mm256_shuffle_epi8,
    _mm256_unpacklo_epi32,
    _mm256_unpackhi_epi32,
    _mm256_unpacklo_epi64,
    _mm256_unpackhi_epi64,
    _mm256_and_si256,
    _mm256_or_si256,
    _mm256_sll_epi32,
    _mm256_srl_epi32,
    |low, high| _mm256_blend_epi32::<0xcc>(low, high),
    |a, b, c| _mm256_xor_si256(_mm256_xor_si256(a, b), c)
);
words!(
    __m512i,
    _mm512_set1_epi32,
    _mm512_add_epi32,
    _mm512_shuffle_epi8,
    _mm512_unpacklo_epi32,
    _mm512_unpackhi_epi32,
    _mm512_unpacklo_epi64,
    _mm512_unpackhi_epi64,
    _mm512_and_si512,
    _mm512_or_si512,
    _mm512_sll_epi32,
    _mm512_srl_epi32,
    |low, high| _mm512_mask_blend_epi64(0xaa, low, high),
    |a, b, c| _mm512_ternarylogic_epi64::<0x96>(a, b, c)
);

/// Returns the block number of each word: word `i` of 128-bit part `p`, of Q parts, is in block i Q + p.
const fn numbers<const N: usize>() -> [u32; N] {
    let mut numbers = [0; N];
    let mut i = 0;
    while i < N {
        numbers[i] = (i % 4 * (N / 4) + i / 4) as u32;
        i += 1;
    }
    numbers
}

/// Marks a position without a word.
pub(super) const NONE: usize = 4;

/// Returns a shuffle that moves word `words[i]` to word i, from bytes of which each block lies `from_turn` words ahead of
/// the previous one, to bytes of which it lies `to_turn` ahead.
pub(super) const fn pick(words: [usize; 4], from_turn: usize, to_turn: usize) -> [i8; 16] {
    let mut from = [-128; 16];
    let mut i = 0;
    while i < 16 {
        let (word, block) = (i / 4, i % 4);
        let picked = words[(word + 4 - to_turn * block % 4) % 4];
        if picked != NONE {
            from[i] = (4 * ((picked + from_turn * block) % 4) + block) as i8;
        }
        i += 1;
    }
    from
}
