//! Carry-less multiplication on one to four blocks, and sums of products.

use core::arch::x86_64::*;

use super::lanes::Lanes;
use crate::contract::{by_contract, needs_instructions};

/// Carry-less multiplication of blocks, and access to parts of a register, for GHASH.
pub(super) trait Clmul: Lanes {
    needs_instructions! {
        /// Returns in each block the product of two halves: bit 0 of `HALVES` selects the half of `self`, bit 4 that of
        /// `other`.
        fn multiply<const HALVES: i32>(self, other: Self) -> Self;
        /// Swaps the halves of each block.
        fn swap_halves(self) -> Self;
        /// Returns `block` first, followed by zeros.
        fn first(block: __m128i) -> Self;
        /// Returns the blocks of `blocks` from `first` on, a multiple of `BLOCKS`.
        fn of_blocks(blocks: &[__m128i; 4], first: usize) -> Self;
        /// Returns the first block.
        fn low(self) -> __m128i;
        /// Returns the XOR of the blocks.
        fn fold(self) -> __m128i;
        /// Returns the sum of two products of single blocks, with zeros in any further blocks.
        fn two_products(a: [__m128i; 2], b: [__m128i; 2]) -> Sum<Self>;
        fn and(self, other: Self) -> Self;
        /// Adds `n` to the last byte of every block, without a carry out of it.
        fn count(self, n: u8) -> Self;
    }
    /// Reads `bytes` bytes (at most a block), followed by zeros, without accessing any byte beyond.
    ///
    /// # Safety
    /// The CPU has the instructions of this type; `from` is valid for reads of `bytes` bytes, at most 16.
    #[inline(always)]
    unsafe fn load_block(from: *const u8, bytes: usize) -> __m128i {
        // SAFETY: the caller has `bytes` at `from`, a whole block or less than one.
        unsafe {
            if bytes == __m128i::BYTES {
                __m128i::load(from)
            } else {
                __m128i::load_partial(from, bytes)
            }
        }
    }
    /// Reads `bytes` bytes (less than `BYTES`), followed by zeros, without accessing any byte beyond.
    ///
    /// # Safety
    /// The CPU has the instructions of this type; `from` is valid for reads of `bytes` bytes, less than `BYTES`.
    unsafe fn load_partial(from: *const u8, bytes: usize) -> Self;
    /// Writes the first `bytes` bytes (less than `BYTES`), without accessing any byte beyond.
    ///
    /// # Safety
    /// The CPU has the instructions of this type; `to` is valid for writes of `bytes` bytes, less than `BYTES`.
    unsafe fn store_partial(self, to: *mut u8, bytes: usize);
    /// Reads `blocks` blocks (1 to `BLOCKS`), followed by zeros, without accessing any byte beyond.
    ///
    /// # Safety
    /// The CPU has the instructions of this type; `from` is valid for reads of `blocks` blocks, 1 to `BLOCKS`.
    unsafe fn load_blocks(from: *const u8, blocks: usize) -> Self;
    /// Writes the first `blocks` blocks (1 to `BLOCKS`), without accessing any byte beyond.
    ///
    /// # Safety
    /// The CPU has the instructions of this type; `to` is valid for writes of `blocks` blocks, 1 to `BLOCKS`.
    unsafe fn store_blocks(self, to: *mut u8, blocks: usize);
    /// Returns the first `bytes` bytes (less than `BYTES`), followed by zeros.
    ///
    /// # Safety
    /// The CPU has the instructions of this type; `bytes` is less than `BYTES`.
    #[inline(always)]
    unsafe fn keep(self, bytes: usize) -> Self {
        // SAFETY: the caller has the instructions; a register that begins at any of the first 65 bytes is within MASK, and
        // `bytes` is less than 64.
        unsafe { self.and(Self::load(MASK.as_ptr().add(64 - bytes))) }
    }
}

/// A sum of products, not reduced, each of four multiplications: for a few blocks, what this costs against Karatsuba's three
/// is made up for in latency.
#[derive(Clone, Copy)]
pub(super) struct Sum<V> {
    pub(super) low: V,
    pub(super) middle: V,
    pub(super) high: V,
}

impl<V: Clmul> Sum<V> {
    /// Returns the products block by block.
    ///
    /// # Safety
    /// The CPU has the instructions of `V`.
    #[inline(always)]
    pub(super) unsafe fn of(a: V, b: V) -> Self {
        // SAFETY: this is four multiplications and XORs, whose instructions the caller has.
        unsafe {
            Self {
                low: a.multiply::<0x00>(b),
                middle: a.multiply::<0x10>(b).xor(a.multiply::<0x01>(b)),
                high: a.multiply::<0x11>(b),
            }
        }
    }

    /// # Safety
    /// The CPU has the instructions of `V`.
    #[inline(always)]
    pub(super) unsafe fn plus(self, other: Self) -> Self {
        // SAFETY: the caller's CPU has XOR for registers of `V`.
        unsafe {
            Self {
                low: self.low.xor(other.low),
                middle: self.middle.xor(other.middle),
                high: self.high.xor(other.high),
            }
        }
    }
}

impl Sum<__m128i> {
    /// Returns the same in the first block of wider registers.
    ///
    /// # Safety
    /// The instructions of `V` are enabled in the caller.
    #[inline(always)]
    pub(super) unsafe fn widened<V: Clmul>(self) -> Sum<V> {
        // SAFETY: `V::first` needs only the instructions of `V`, which the caller has.
        unsafe {
            Sum {
                low: V::first(self.low),
                middle: V::first(self.middle),
                high: V::first(self.high),
            }
        }
    }
}

static MASK: [u8; 128] = {
    let mut mask = [0; 128];
    let mut i = 0;
    while i < 64 {
        mask[i] = 0xff;
        i += 1;
    }
    mask
};

impl Clmul for __m128i {
    by_contract! {
        fn multiply<const HALVES: i32>(self, other: Self) -> Self {
            _mm_clmulepi64_si128::<HALVES>(self, other)
        }
        fn swap_halves(self) -> Self { _mm_shuffle_epi32::<0x4e>(self) }
        fn two_products(a: [__m128i; 2], b: [__m128i; 2]) -> Sum<Self> {
            Sum::of(a[0], b[0]).plus(Sum::of(a[1], b[1]))
        }
        fn load_blocks(from: *const u8, _: usize) -> Self { Self::load(from) }
        fn store_blocks(self, to: *mut u8, _: usize) { self.store(to) }
        fn count(self, n: u8) -> Self {
            _mm_add_epi32(
                self,
                Self::splat(_mm_set_epi32(i32::from(n) << 24, 0, 0, 0)),
            )
        }
        fn and(self, other: Self) -> Self { _mm_and_si128(self, other) }
    }
    #[inline(always)]
    unsafe fn first(block: __m128i) -> Self {
        block
    }
    #[inline(always)]
    unsafe fn of_blocks(blocks: &[__m128i; 4], first: usize) -> Self {
        blocks[first]
    }
    #[inline(always)]
    unsafe fn low(self) -> __m128i {
        self
    }
    #[inline(always)]
    unsafe fn fold(self) -> __m128i {
        self
    }
    /// Goes through general registers, in pieces that may overlap.
    #[inline(always)]
    unsafe fn load_partial(from: *const u8, bytes: usize) -> Self {
        // SAFETY: the caller has `bytes` at `from`, and each piece lies within them, beginning at the start or finishing at
        // the end.
        unsafe {
            let (mut low, mut high) = (0, 0);
            if bytes >= 8 {
                low = from.cast::<u64>().read_unaligned();
                if bytes > 8 {
                    let last = from.add(bytes - 8).cast::<u64>().read_unaligned();
                    high = last >> (8 * (16 - bytes));
                }
            } else if bytes >= 4 {
                let last = from.add(bytes - 4).cast::<u32>().read_unaligned();
                low = u64::from(from.cast::<u32>().read_unaligned())
                    | u64::from(last) << (8 * (bytes - 4));
            } else if bytes > 0 {
                let (middle, last) = (bytes / 2, bytes - 1);
                low = u64::from(*from)
                    | u64::from(*from.add(middle)) << (8 * middle)
                    | u64::from(*from.add(last)) << (8 * last);
            }
            _mm_set_epi64x(high as i64, low as i64)
        }
    }
    #[inline(always)]
    unsafe fn store_partial(self, to: *mut u8, bytes: usize) {
        // SAFETY: the caller has room for `bytes` at `to`, and each piece lies within them, beginning at the start or
        // finishing at the end.
        unsafe {
            let low = _mm_cvtsi128_si64(self) as u64;
            if bytes >= 8 {
                to.cast::<u64>().write_unaligned(low);
                if bytes > 8 {
                    let high = _mm_extract_epi64::<1>(self) as u64;
                    let last = low >> (8 * (bytes - 8)) | high << (8 * (16 - bytes));
                    to.add(bytes - 8).cast::<u64>().write_unaligned(last);
                }
            } else if bytes >= 4 {
                to.cast::<u32>().write_unaligned(low as u32);
                let last = (low >> (8 * (bytes - 4))) as u32;
                to.add(bytes - 4).cast::<u32>().write_unaligned(last);
            } else if bytes > 0 {
                let (middle, last) = (bytes / 2, bytes - 1);
                *to = low as u8;
                *to.add(middle) = (low >> (8 * middle)) as u8;
                *to.add(last) = (low >> (8 * last)) as u8;
            }
        }
    }
}

impl Clmul for __m256i {
    by_contract! {
        fn multiply<const HALVES: i32>(self, other: Self) -> Self {
            _mm256_clmulepi64_epi128::<HALVES>(self, other)
        }
        fn swap_halves(self) -> Self { _mm256_shuffle_epi32::<0x4e>(self) }
        fn first(block: __m128i) -> Self { _mm256_zextsi128_si256(block) }
        fn of_blocks(blocks: &[__m128i; 4], first: usize) -> Self {
            _mm256_set_m128i(blocks[first + 1], blocks[first])
        }
        fn low(self) -> __m128i { _mm256_castsi256_si128(self) }
        fn two_products(a: [__m128i; 2], b: [__m128i; 2]) -> Sum<Self> {
            Sum::of(_mm256_set_m128i(a[1], a[0]), _mm256_set_m128i(b[1], b[0]))
        }
        fn load_blocks(from: *const u8, blocks: usize) -> Self {
            if blocks == 1 {
                Self::first(__m128i::load(from))
            } else {
                Self::load(from)
            }
        }
        fn store_blocks(self, to: *mut u8, blocks: usize) {
            if blocks == 1 {
                self.low().store(to);
            } else {
                self.store(to);
            }
        }
        fn count(self, n: u8) -> Self {
            _mm256_add_epi32(
                self,
                Self::splat(_mm_set_epi32(i32::from(n) << 24, 0, 0, 0)),
            )
        }
        fn and(self, other: Self) -> Self { _mm256_and_si256(self, other) }
        fn fold(self) -> __m128i {
            _mm256_castsi256_si128(self).xor(_mm256_extracti128_si256::<1>(self))
        }
    }
    #[inline(always)]
    unsafe fn load_partial(from: *const u8, bytes: usize) -> Self {
        // SAFETY: the caller has `bytes` at `from`; the low half is read whole only if they are at least 16.
        unsafe {
            if bytes >= 16 {
                let low = _mm256_zextsi128_si256(__m128i::load(from));
                let high = __m128i::load_partial(from.add(16), bytes - 16);
                _mm256_inserti128_si256::<1>(low, high)
            } else {
                _mm256_zextsi128_si256(__m128i::load_partial(from, bytes))
            }
        }
    }
    #[inline(always)]
    unsafe fn store_partial(self, to: *mut u8, bytes: usize) {
        // SAFETY: the caller has room for `bytes` at `to`; the low half is written whole only if they are at
        // least 16.
        unsafe {
            let low = _mm256_castsi256_si128(self);
            if bytes >= 16 {
                low.store(to);
                let high = _mm256_extracti128_si256::<1>(self);
                high.store_partial(to.add(16), bytes - 16);
            } else {
                low.store_partial(to, bytes);
            }
        }
    }
}

impl Clmul for __m512i {
    by_contract! {
        fn multiply<const HALVES: i32>(self, other: Self) -> Self {
            _mm512_clmulepi64_epi128::<HALVES>(self, other)
        }
        fn swap_halves(self) -> Self { _mm512_shuffle_epi32::<0x4e>(self) }
        fn first(block: __m128i) -> Self { _mm512_zextsi128_si512(block) }
        fn of_blocks(blocks: &[__m128i; 4], first: usize) -> Self {
            let low = _mm256_set_m128i(blocks[first + 1], blocks[first]);
            let high = _mm256_set_m128i(blocks[first + 3], blocks[first + 2]);
            _mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high)
        }
        fn low(self) -> __m128i { _mm512_castsi512_si128(self) }
        fn fold(self) -> __m128i {
            let low = _mm512_castsi512_si256(self);
            low.xor(_mm512_extracti64x4_epi64::<1>(self)).fold()
        }
        /// Uses half the width: the other half of the pipes is left to AES.
        fn two_products(a: [__m128i; 2], b: [__m128i; 2]) -> Sum<Self> {
            let sum = __m256i::two_products(a, b);
            Sum {
                low: _mm512_zextsi256_si512(sum.low),
                middle: _mm512_zextsi256_si512(sum.middle),
                high: _mm512_zextsi256_si512(sum.high),
            }
        }
        fn keep(self, bytes: usize) -> Self { _mm512_maskz_mov_epi8(first_bits(bytes), self) }
        fn count(self, n: u8) -> Self {
            _mm512_add_epi32(
                self,
                Self::splat(_mm_set_epi32(i32::from(n) << 24, 0, 0, 0)),
            )
        }
        fn and(self, other: Self) -> Self { _mm512_and_si512(self, other) }
    }
    #[inline(always)]
    unsafe fn load_block(from: *const u8, bytes: usize) -> __m128i {
        // SAFETY: the caller has AVX-512 BW and `bytes` at `from`; bytes that the mask excludes are not accessed.
        unsafe {
            // The pointer of an empty slice may lie in an unmapped page, which costs the CPU 50 ns or more even if nothing
            // is read.
            if bytes == 0 {
                return _mm_setzero_si128();
            }
            _mm_maskz_loadu_epi8(first_bits(bytes) as __mmask16, from.cast())
        }
    }
    #[inline(always)]
    unsafe fn load_partial(from: *const u8, bytes: usize) -> Self {
        // SAFETY: the mask excludes everything beyond the `bytes` that the caller has at `from`.
        unsafe { _mm512_maskz_loadu_epi8(first_bits(bytes), from.cast()) }
    }
    #[inline(always)]
    unsafe fn store_partial(self, to: *mut u8, bytes: usize) {
        // SAFETY: the mask excludes everything beyond the `bytes` that the caller has room for at `to`.
        unsafe { _mm512_mask_storeu_epi8(to.cast(), first_bits(bytes), self) }
    }
    #[inline(always)]
    unsafe fn load_blocks(from: *const u8, blocks: usize) -> Self {
        // SAFETY: the mask has two words for each of the `blocks` that the caller has at `from`.
        unsafe { _mm512_maskz_loadu_epi64(first_bits(2 * blocks) as __mmask8, from.cast()) }
    }
    #[inline(always)]
    unsafe fn store_blocks(self, to: *mut u8, blocks: usize) {
        // SAFETY: the mask has two words for each of the `blocks` that the caller has room for at `to`.
        unsafe { _mm512_mask_storeu_epi64(to.cast(), first_bits(2 * blocks) as __mmask8, self) }
    }
}

/// Returns ones below bit `n`, less than 64.
#[inline(always)]
fn first_bits(n: usize) -> u64 {
    (1 << n) - 1
}
