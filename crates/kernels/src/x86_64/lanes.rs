//! One to four AES blocks in a vector register: the instructions that the algorithms of this
//! folder are written in.

use core::arch::x86_64::*;

use crate::aes::BLOCK_BYTES;

/// A register of `BLOCKS` blocks.
///
/// # Safety
/// Every method needs the instructions of its implementor; the entry points of [`super::aes`] hold
/// the token and enable them. Pointers need not be aligned.
pub(super) trait Lanes: Copy {
    const BLOCKS: usize;
    const BYTES: usize = Self::BLOCKS * BLOCK_BYTES;

    unsafe fn splat(block: __m128i) -> Self;
    /// Reads `BYTES` bytes.
    unsafe fn load(from: *const u8) -> Self;
    /// Writes `BYTES` bytes.
    unsafe fn store(self, to: *mut u8);
    unsafe fn xor(self, other: Self) -> Self;
    unsafe fn round(self, key: Self) -> Self;
    unsafe fn last_round(self, key: Self) -> Self;
    /// As little-endian integers: `first`, `first + 1`, ... with no carry out of the low 32 bits.
    unsafe fn counters(first: u128) -> Self;
    /// Adds `n` to the low 32 bits of every block.
    unsafe fn advance(self, n: u32) -> Self;
    /// Turns little-endian integers into counter blocks.
    unsafe fn swap_bytes(self) -> Self;
    /// Encrypts the last round, XORs the first `bytes` (less than `BYTES`) of the result onto
    /// `from` and writes as many to `to`, touching no byte beyond.
    unsafe fn last_round_partial(self, key: Self, from: *const u8, to: *mut u8, bytes: usize);
}

const REVERSE: [i8; 16] = [15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0];

macro_rules! partial_through_a_buffer {
    () => {
        #[inline(always)]
        unsafe fn last_round_partial(self, key: Self, from: *const u8, to: *mut u8, bytes: usize) {
            let mut buffer = [0u8; Self::BYTES];
            // SAFETY: the caller vouches for `bytes` at both pointers; the buffer has BYTES, which
            // is more. What is written back to the buffer is output, no keystream stays behind.
            unsafe {
                core::ptr::copy_nonoverlapping(from, buffer.as_mut_ptr(), bytes);
                self.last_round(key.xor(Self::load(buffer.as_ptr())))
                    .store(buffer.as_mut_ptr());
                core::ptr::copy_nonoverlapping(buffer.as_ptr(), to, bytes);
                // The bytes past the end are bare keystream.
                core::ptr::write_volatile(&mut buffer, [0; Self::BYTES]);
            }
        }
    };
}

// SAFETY (this and the next two implementations): each method is one or two intrinsics whose
// features the trait's contract demands of the caller, on pointers the caller vouches for.
impl Lanes for __m128i {
    const BLOCKS: usize = 1;

    #[inline(always)]
    unsafe fn splat(block: __m128i) -> Self {
        block
    }
    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: as the trait demands.
        unsafe { _mm_loadu_si128(from.cast()) }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        // SAFETY: as the trait demands.
        unsafe { _mm_storeu_si128(to.cast(), self) }
    }
    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        // SAFETY: as the trait demands.
        unsafe { _mm_xor_si128(self, other) }
    }
    #[inline(always)]
    unsafe fn round(self, key: Self) -> Self {
        // SAFETY: as the trait demands.
        unsafe { _mm_aesenc_si128(self, key) }
    }
    #[inline(always)]
    unsafe fn last_round(self, key: Self) -> Self {
        // SAFETY: as the trait demands.
        unsafe { _mm_aesenclast_si128(self, key) }
    }
    #[inline(always)]
    unsafe fn counters(first: u128) -> Self {
        // SAFETY: as the trait demands.
        unsafe { _mm_set_epi64x((first >> 64) as i64, first as i64) }
    }
    #[inline(always)]
    unsafe fn advance(self, n: u32) -> Self {
        // SAFETY: as the trait demands.
        unsafe { _mm_add_epi32(self, _mm_set_epi32(0, 0, 0, n as i32)) }
    }
    #[inline(always)]
    unsafe fn swap_bytes(self) -> Self {
        // SAFETY: as the trait demands.
        unsafe { _mm_shuffle_epi8(self, _mm_loadu_si128(REVERSE.as_ptr().cast())) }
    }
    partial_through_a_buffer!();
}

impl Lanes for __m256i {
    const BLOCKS: usize = 2;

    #[inline(always)]
    unsafe fn splat(block: __m128i) -> Self {
        // SAFETY: as the trait demands.
        unsafe { _mm256_broadcastsi128_si256(block) }
    }
    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: as the trait demands.
        unsafe { _mm256_loadu_si256(from.cast()) }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        // SAFETY: as the trait demands.
        unsafe { _mm256_storeu_si256(to.cast(), self) }
    }
    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        // SAFETY: as the trait demands.
        unsafe { _mm256_xor_si256(self, other) }
    }
    #[inline(always)]
    unsafe fn round(self, key: Self) -> Self {
        // SAFETY: as the trait demands.
        unsafe { _mm256_aesenc_epi128(self, key) }
    }
    #[inline(always)]
    unsafe fn last_round(self, key: Self) -> Self {
        // SAFETY: as the trait demands.
        unsafe { _mm256_aesenclast_epi128(self, key) }
    }
    #[inline(always)]
    unsafe fn counters(first: u128) -> Self {
        // SAFETY: as the trait demands.
        unsafe {
            _mm256_add_epi32(
                Self::splat(__m128i::counters(first)),
                _mm256_set_epi32(0, 0, 0, 1, 0, 0, 0, 0),
            )
        }
    }
    #[inline(always)]
    unsafe fn advance(self, n: u32) -> Self {
        // SAFETY: as the trait demands.
        unsafe { _mm256_add_epi32(self, Self::splat(_mm_set_epi32(0, 0, 0, n as i32))) }
    }
    #[inline(always)]
    unsafe fn swap_bytes(self) -> Self {
        // SAFETY: as the trait demands.
        unsafe { _mm256_shuffle_epi8(self, Self::splat(_mm_loadu_si128(REVERSE.as_ptr().cast()))) }
    }
    partial_through_a_buffer!();
}

impl Lanes for __m512i {
    const BLOCKS: usize = 4;

    #[inline(always)]
    unsafe fn splat(block: __m128i) -> Self {
        // SAFETY: as the trait demands.
        unsafe { _mm512_broadcast_i32x4(block) }
    }
    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: as the trait demands.
        unsafe { _mm512_loadu_si512(from.cast()) }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        // SAFETY: as the trait demands.
        unsafe { _mm512_storeu_si512(to.cast(), self) }
    }
    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        // SAFETY: as the trait demands.
        unsafe { _mm512_xor_si512(self, other) }
    }
    #[inline(always)]
    unsafe fn round(self, key: Self) -> Self {
        // SAFETY: as the trait demands.
        unsafe { _mm512_aesenc_epi128(self, key) }
    }
    #[inline(always)]
    unsafe fn last_round(self, key: Self) -> Self {
        // SAFETY: as the trait demands.
        unsafe { _mm512_aesenclast_epi128(self, key) }
    }
    #[inline(always)]
    unsafe fn counters(first: u128) -> Self {
        // SAFETY: as the trait demands.
        unsafe {
            _mm512_add_epi32(
                Self::splat(__m128i::counters(first)),
                _mm512_set_epi32(0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0),
            )
        }
    }
    #[inline(always)]
    unsafe fn advance(self, n: u32) -> Self {
        // SAFETY: as the trait demands.
        unsafe { _mm512_add_epi32(self, Self::splat(_mm_set_epi32(0, 0, 0, n as i32))) }
    }
    #[inline(always)]
    unsafe fn swap_bytes(self) -> Self {
        // SAFETY: as the trait demands.
        unsafe { _mm512_shuffle_epi8(self, Self::splat(_mm_loadu_si128(REVERSE.as_ptr().cast()))) }
    }
    #[inline(always)]
    unsafe fn last_round_partial(self, key: Self, from: *const u8, to: *mut u8, bytes: usize) {
        let mask = (1 << bytes) - 1;
        // SAFETY: as the trait demands; bytes outside the mask are neither read nor written.
        unsafe {
            let data = _mm512_maskz_loadu_epi8(mask, from.cast());
            _mm512_mask_storeu_epi8(to.cast(), mask, self.last_round(key.xor(data)));
        }
    }
}
