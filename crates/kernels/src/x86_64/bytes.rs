//! Shuffles of bytes and shifts of words in registers of every width.

use core::arch::x86_64::*;

use zeroize::Zeroize;

use super::lanes::{Lanes, by_contract, needs_instructions};
use crate::key::BLOCK_BYTES;

/// Bytes and 64-bit words of a register.
pub(super) trait Bytes: Lanes + Zeroize {
    needs_instructions! {
        /// Byte i of each lane becomes byte `from[i]` of the lane.
        fn shuffle(self, from: &[i8; BLOCK_BYTES]) -> Self;
        /// Shifts 64-bit words.
        fn shift_right<const N: u32>(self) -> Self;
        /// Shifts 64-bit words.
        fn shift_left<const N: u32>(self) -> Self;
    }
}

macro_rules! bytes {
    ($lanes:ty, $shuffle:ident, $shift_right:ident, $shift_left:ident) => {
        impl Bytes for $lanes {
            by_contract! {
                fn shuffle(self, from: &[i8; BLOCK_BYTES]) -> Self {
                    $shuffle(self, Self::splat(_mm_loadu_si128(from.as_ptr().cast())))
                }
                fn shift_right<const N: u32>(self) -> Self {
                    $shift_right(self, _mm_cvtsi32_si128(N as i32))
                }
                fn shift_left<const N: u32>(self) -> Self {
                    $shift_left(self, _mm_cvtsi32_si128(N as i32))
                }
            }
        }
    };
}

bytes!(__m128i, _mm_shuffle_epi8, _mm_srl_epi64, _mm_sll_epi64);
bytes!(
    __m256i,
    _mm256_shuffle_epi8,
    _mm256_srl_epi64,
    _mm256_sll_epi64
);
bytes!(
    __m512i,
    _mm512_shuffle_epi8,
    _mm512_srl_epi64,
    _mm512_sll_epi64
);

/// Wipes the stack that the functions before used: there are not registers enough for the states,
/// so what the compiler spilled, here up to 1.5 KiB, lies there.
///
/// # Safety
/// The CPU has AVX2.
#[target_feature(enable = "avx2")]
#[inline(never)]
pub(super) unsafe fn wipe_stack<const REGISTERS: usize>() {
    let mut stack = [_mm256_setzero_si256(); REGISTERS];
    stack.zeroize();
}

/// The same, without AVX2: half as many bytes.
#[inline(never)]
pub(super) fn wipe_stack_narrow<const REGISTERS: usize>() {
    // SAFETY: every x86-64 has SSE2.
    let mut stack = unsafe { [_mm_setzero_si128(); REGISTERS] };
    stack.zeroize();
}
