//! Byte shuffles and word shifts in registers of every width.

use core::arch::x86_64::*;

use oarlock_kernels::{by_contract, needs_instructions};
use zeroize::Zeroize;

const BLOCK_BYTES: usize = 16;

/// A register of `BLOCKS` blocks, seen as bytes and 64-bit words.
pub(super) trait Bytes: Copy + Zeroize {
    const BLOCKS: usize;
    const BYTES: usize = Self::BLOCKS * BLOCK_BYTES;

    /// Reads `BYTES` bytes.
    ///
    /// # Safety
    /// The CPU has the instructions of this type; `from` is valid for reads of `BYTES` bytes, aligned or not.
    unsafe fn load(from: *const u8) -> Self;
    /// Writes `BYTES` bytes.
    ///
    /// # Safety
    /// The CPU has the instructions of this type; `to` is valid for writes of `BYTES` bytes, aligned or not.
    unsafe fn store(self, to: *mut u8);
    needs_instructions! {
        fn splat(block: __m128i) -> Self;
        fn xor(self, other: Self) -> Self;
        /// Performs the last round of AES. The CPU has AES-NI, or VAES if the register has two blocks or more.
        fn last_round(self, key: Self) -> Self;
        /// Performs the last round of the inverse cipher, under the same condition.
        fn last_inverse_round(self, key: Self) -> Self;
        /// Moves byte `from[i]` of each lane to byte i of the lane.
        fn shuffle(self, from: &[i8; BLOCK_BYTES]) -> Self;
        /// Shifts 64-bit words to the right.
        fn shift_right<const N: u32>(self) -> Self;
        /// Shifts 64-bit words to the left.
        fn shift_left<const N: u32>(self) -> Self;
    }
}

macro_rules! bytes {
    (
        $lanes:ty, $blocks:literal, $load:ident, $store:ident, $splat:ident, $xor:ident, $last_round:ident,
        $last_inverse_round:ident, $shuffle:ident, $shift_right:ident, $shift_left:ident
    ) => {
        impl Bytes for $lanes {
            const BLOCKS: usize = $blocks;

            by_contract! {
                fn load(from: *const u8) -> Self { $load(from.cast()) }
                fn store(self, to: *mut u8) { $store(to.cast(), self) }
                fn splat(block: __m128i) -> Self { $splat(block) }
                fn xor(self, other: Self) -> Self { $xor(self, other) }
                fn last_round(self, key: Self) -> Self { $last_round(self, key) }
                fn last_inverse_round(self, key: Self) -> Self { $last_inverse_round(self, key) }
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

bytes!(
    __m128i,
    1,
    _mm_loadu_si128,
    _mm_storeu_si128,
    same,
    _mm_xor_si128,
    _mm_aesenclast_si128,
    _mm_aesdeclast_si128,
    _mm_shuffle_epi8,
    _mm_srl_epi64,
    _mm_sll_epi64
);
bytes!(
    __m256i,
    2,
    _mm256_loadu_si256,
    _mm256_storeu_si256,
    _mm256_broadcastsi128_si256,
    _mm256_xor_si256,
    _mm256_aesenclast_epi128,
    _mm256_aesdeclast_epi128,
    _mm256_shuffle_epi8,
    _mm256_srl_epi64,
    _mm256_sll_epi64
);
bytes!(
    __m512i,
    4,
    _mm512_loadu_si512,
    _mm512_storeu_si512,
    _mm512_broadcast_i32x4,
    _mm512_xor_si512,
    _mm512_aesenclast_epi128,
    _mm512_aesdeclast_epi128,
    _mm512_shuffle_epi8,
    _mm512_srl_epi64,
    _mm512_sll_epi64
);

/// Spreads a block over a register of one block.
#[inline(always)]
const fn same(block: __m128i) -> __m128i {
    block
}

/// Wipes the stack that the preceding functions used: there are too few registers for the states, so the compiler spills up
/// to 1.5 KiB of them there.
///
/// # Safety
/// The CPU has AVX2.
#[target_feature(enable = "avx2")]
#[inline(never)]
pub(super) unsafe fn wipe_stack<const REGISTERS: usize>() {
    let mut stack = [_mm256_setzero_si256(); REGISTERS];
    stack.zeroize();
}

/// Like [`wipe_stack`], without AVX2 and for half the bytes.
#[inline(never)]
pub(super) fn wipe_stack_narrow<const REGISTERS: usize>() {
    // SAFETY: every x86-64 has SSE2.
    let mut stack = unsafe { [_mm_setzero_si128(); REGISTERS] };
    stack.zeroize();
}
