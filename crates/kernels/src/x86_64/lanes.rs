//! One to four AES blocks in a vector register: the instructions used by the algorithms in this folder.

use core::arch::{asm, x86_64::*};

use crate::contract::{by_contract, needs_instructions};
use crate::key::BLOCK_BYTES;

/// A register of `BLOCKS` blocks. The entry points of [`super::aes`] hold a token for the instructions that the methods
/// need, and enable them.
pub(super) trait Lanes: Copy {
    const BLOCKS: usize;
    const BYTES: usize = Self::BLOCKS * BLOCK_BYTES;
    /// Whether a register has less than 512 bits: then there are only 16, too few for states and round keys, so that keys
    /// are read in the round that uses them, and two `aesenc` per cycle leave fewer slots for other instructions.
    const NARROW: bool = Self::BLOCKS < 4;

    needs_instructions! {
        fn splat(block: __m128i) -> Self;
        fn xor(self, other: Self) -> Self;
        fn round(self, key: Self) -> Self;
        fn last_round(self, key: Self) -> Self;
        /// Returns the same value; if registers are few, one that the compiler computes here and not elsewhere.
        fn pin(self) -> Self;
        fn inverse_round(self, key: Self) -> Self;
        fn last_inverse_round(self, key: Self) -> Self;
        /// Returns `before`, then all blocks of `self` but the last.
        fn one_block_on(self, before: __m128i) -> Self;
        /// Returns, as little-endian integers, `first`, `first + 1`, ... with no carry out of the low 32 bits.
        fn counters(first: u128) -> Self;
        /// Adds `n` to the low 32 bits of every block.
        fn advance(self, n: u32) -> Self;
        /// Converts little-endian integers to counter blocks.
        fn swap_bytes(self) -> Self;
    }
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
    /// Encrypts the last round, XORs the first `bytes` (less than `BYTES`) of the result onto those at `from` and writes
    /// them to `to`, without accessing any byte beyond.
    ///
    /// # Safety
    /// The CPU has the instructions of this type; `bytes`, less than `BYTES`, are readable at `from` and writable at `to`,
    /// which are the same place or do not overlap.
    unsafe fn last_round_partial(self, key: Self, from: *const u8, to: *mut u8, bytes: usize);
}

const REVERSE: [i8; 16] = [15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0];

/// Implements `last_round_partial` by halves of type `$half`: a whole half first, then the rest. Masked moves would do it in
/// one, but a masked move that reaches into an unmapped page costs the CPU some 170 ns, and data often ends at the end of a
/// page; nor can a load that follows take its data from the store.
macro_rules! halves {
    ($half:ty, $low:ident, $high:ident) => {
        /// # Safety
        /// The same as for the trait's method.
        #[inline(always)]
        unsafe fn last_round_partial(
            self,
            key: Self,
            mut from: *const u8,
            mut to: *mut u8,
            mut bytes: usize,
        ) {
            // SAFETY: the halves use the instructions of the whole, which the caller has; the low half is accessed whole
            // only if `bytes` cover it.
            unsafe {
                let mut state = $low(self);
                let key = $low(key);
                if bytes >= <$half>::BYTES {
                    let data = <$half>::load(from);
                    state.last_round(key.xor(data)).store(to);
                    state = $high::<1>(self);
                    (from, to) = (from.add(<$half>::BYTES), to.add(<$half>::BYTES));
                    bytes -= <$half>::BYTES;
                }
                state.last_round_partial(key, from, to, bytes);
            }
        }
    };
}

impl Lanes for __m128i {
    const BLOCKS: usize = 1;

    #[inline(always)]
    unsafe fn splat(block: __m128i) -> Self {
        block
    }
    by_contract! {
        fn load(from: *const u8) -> Self { _mm_loadu_si128(from.cast()) }
        fn store(self, to: *mut u8) { _mm_storeu_si128(to.cast(), self) }
        fn xor(self, other: Self) -> Self { _mm_xor_si128(self, other) }
        fn round(self, key: Self) -> Self { _mm_aesenc_si128(self, key) }
        fn last_round(self, key: Self) -> Self { _mm_aesenclast_si128(self, key) }
        fn inverse_round(self, key: Self) -> Self { _mm_aesdec_si128(self, key) }
        fn last_inverse_round(self, key: Self) -> Self { _mm_aesdeclast_si128(self, key) }
        fn counters(first: u128) -> Self { _mm_set_epi64x((first >> 64) as i64, first as i64) }
        fn advance(self, n: u32) -> Self { _mm_add_epi32(self, _mm_set_epi32(0, 0, 0, n as i32)) }
        fn swap_bytes(self) -> Self {
            _mm_shuffle_epi8(self, _mm_loadu_si128(REVERSE.as_ptr().cast()))
        }
    }
    #[inline(always)]
    unsafe fn pin(mut self) -> Self {
        // SAFETY: the assembly contains no instruction, and the value is unchanged.
        unsafe {
            asm!("/* {0} */", inout(xmm_reg) self, options(nomem, nostack, preserves_flags));
        }
        self
    }
    #[inline(always)]
    unsafe fn one_block_on(self, before: __m128i) -> Self {
        before
    }
    #[inline(always)]
    unsafe fn last_round_partial(self, key: Self, from: *const u8, to: *mut u8, bytes: usize) {
        // SAFETY: the caller has SSE4.1 and AES-NI, and `bytes`, less than 16, at both pointers: 8 if bit 3 is set, and the
        // rest.
        unsafe {
            let keystream = self.last_round(key);
            let low = _mm_cvtsi128_si64(keystream) as u64;
            if bytes & 8 == 0 {
                xor_partial(low, from, to, bytes);
            } else {
                let high = _mm_extract_epi64::<1>(keystream) as u64;
                let data = from.cast::<u64>().read_unaligned();
                to.cast::<u64>().write_unaligned(data ^ low);
                xor_partial(high, from.add(8), to.add(8), bytes - 8);
            }
        }
    }
}

/// XORs the first `bytes` (less than 8) of `keystream` onto those at `from` and writes them to `to`. Goes through general
/// registers, so that no keystream reaches the stack.
///
/// # Safety
/// `bytes`, less than 8, are readable at `from` and writable at `to`, which are the same place or do not overlap.
#[inline(always)]
unsafe fn xor_partial(mut keystream: u64, mut from: *const u8, mut to: *mut u8, bytes: usize) {
    // SAFETY: the caller has `bytes` at both pointers; the pieces correspond to its bits.
    unsafe {
        if bytes & 4 != 0 {
            let data = from.cast::<u32>().read_unaligned();
            to.cast::<u32>().write_unaligned(data ^ keystream as u32);
            keystream >>= 32;
            (from, to) = (from.add(4), to.add(4));
        }
        if bytes & 2 != 0 {
            let data = from.cast::<u16>().read_unaligned();
            to.cast::<u16>().write_unaligned(data ^ keystream as u16);
            keystream >>= 16;
            (from, to) = (from.add(2), to.add(2));
        }
        if bytes & 1 != 0 {
            *to = *from ^ keystream as u8;
        }
    }
}

impl Lanes for __m256i {
    const BLOCKS: usize = 2;

    by_contract! {
        fn splat(block: __m128i) -> Self { _mm256_broadcastsi128_si256(block) }
        fn load(from: *const u8) -> Self { _mm256_loadu_si256(from.cast()) }
        fn store(self, to: *mut u8) { _mm256_storeu_si256(to.cast(), self) }
        fn xor(self, other: Self) -> Self { _mm256_xor_si256(self, other) }
        fn round(self, key: Self) -> Self { _mm256_aesenc_epi128(self, key) }
        fn last_round(self, key: Self) -> Self { _mm256_aesenclast_epi128(self, key) }
        fn inverse_round(self, key: Self) -> Self { _mm256_aesdec_epi128(self, key) }
        fn last_inverse_round(self, key: Self) -> Self { _mm256_aesdeclast_epi128(self, key) }
        fn one_block_on(self, before: __m128i) -> Self {
            let low = _mm256_castsi256_si128(self);
            _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(before), low)
        }
        fn counters(first: u128) -> Self {
            _mm256_add_epi32(
                Self::splat(__m128i::counters(first)),
                _mm256_set_epi32(0, 0, 0, 1, 0, 0, 0, 0),
            )
        }
        fn advance(self, n: u32) -> Self {
            _mm256_add_epi32(self, Self::splat(_mm_set_epi32(0, 0, 0, n as i32)))
        }
        fn swap_bytes(self) -> Self {
            _mm256_shuffle_epi8(self, Self::splat(_mm_loadu_si128(REVERSE.as_ptr().cast())))
        }
    }
    #[inline(always)]
    unsafe fn pin(self) -> Self {
        self
    }
    halves!(__m128i, _mm256_castsi256_si128, _mm256_extracti128_si256);
}

impl Lanes for __m512i {
    const BLOCKS: usize = 4;

    by_contract! {
        fn splat(block: __m128i) -> Self { _mm512_broadcast_i32x4(block) }
        fn load(from: *const u8) -> Self { _mm512_loadu_si512(from.cast()) }
        fn store(self, to: *mut u8) { _mm512_storeu_si512(to.cast(), self) }
        fn xor(self, other: Self) -> Self { _mm512_xor_si512(self, other) }
        fn round(self, key: Self) -> Self { _mm512_aesenc_epi128(self, key) }
        fn last_round(self, key: Self) -> Self { _mm512_aesenclast_epi128(self, key) }
        fn inverse_round(self, key: Self) -> Self { _mm512_aesdec_epi128(self, key) }
        fn last_inverse_round(self, key: Self) -> Self { _mm512_aesdeclast_epi128(self, key) }
        fn one_block_on(self, before: __m128i) -> Self {
            _mm512_alignr_epi64::<6>(self, Self::splat(before))
        }
        fn counters(first: u128) -> Self {
            _mm512_add_epi32(
                Self::splat(__m128i::counters(first)),
                _mm512_set_epi32(0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0),
            )
        }
        fn advance(self, n: u32) -> Self {
            _mm512_add_epi32(self, Self::splat(_mm_set_epi32(0, 0, 0, n as i32)))
        }
        fn swap_bytes(self) -> Self {
            _mm512_shuffle_epi8(self, Self::splat(_mm_loadu_si128(REVERSE.as_ptr().cast())))
        }
    }
    #[inline(always)]
    unsafe fn pin(self) -> Self {
        self
    }
    halves!(__m256i, _mm512_castsi512_si256, _mm512_extracti64x4_epi64);
}
