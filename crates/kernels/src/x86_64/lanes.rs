//! One to four AES blocks in a vector register: the instructions that the algorithms of this
//! folder are written in.

use core::arch::{asm, x86_64::*};

use crate::key::BLOCK_BYTES;

/// A register of `BLOCKS` blocks.
///
/// # Safety
/// Every method needs the instructions of its implementor; the entry points of [`super::aes`] hold
/// the token and enable them. Pointers need not be aligned.
pub(super) trait Lanes: Copy {
    const BLOCKS: usize;
    const BYTES: usize = Self::BLOCKS * BLOCK_BYTES;
    /// Less than 512 bits: there are 16 registers, too few for states and round keys, and two `aesenc` a cycle leave
    /// fewer slots for other instructions.
    const NARROW: bool = Self::BLOCKS < 4;
    /// Round keys are read when their round comes.
    const KEYS_IN_MEMORY: bool = Self::NARROW;
    /// A round is one instruction.
    const HAS_AES: bool = true;

    unsafe fn splat(block: __m128i) -> Self;
    /// Reads `BYTES` bytes.
    unsafe fn load(from: *const u8) -> Self;
    /// Writes `BYTES` bytes.
    unsafe fn store(self, to: *mut u8);
    unsafe fn xor(self, other: Self) -> Self;
    unsafe fn round(self, key: Self) -> Self;
    unsafe fn last_round(self, key: Self) -> Self;
    /// The same value; where registers are few, one that the compiler computes here and not
    /// elsewhere.
    unsafe fn pin(self) -> Self;
    unsafe fn inverse_round(self, key: Self) -> Self;
    unsafe fn last_inverse_round(self, key: Self) -> Self;
    /// `before`, then all blocks of this but the last.
    unsafe fn one_block_on(self, before: __m128i) -> Self;
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

/// `last_round_partial` by halves of type `$half`: whole ones first, then what is left. Masked moves
/// would do it in one, but one that reaches into a page not mapped takes the CPU some 170 ns, and
/// data often ends at the end of a page; nor can a load that follows take its data from the store.
macro_rules! halves {
    ($half:ty, $low:ident, $high:ident) => {
        #[inline(always)]
        unsafe fn last_round_partial(
            self,
            key: Self,
            mut from: *const u8,
            mut to: *mut u8,
            mut bytes: usize,
        ) {
            // SAFETY: as the trait demands; the low half is taken whole where there are as many
            // bytes.
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
    unsafe fn pin(mut self) -> Self {
        // SAFETY: there is no instruction, and the value stays what it was.
        unsafe {
            asm!("/* {0} */", inout(xmm_reg) self, options(nomem, nostack, preserves_flags));
        }
        self
    }
    #[inline(always)]
    unsafe fn inverse_round(self, key: Self) -> Self {
        // SAFETY: as the trait demands.
        unsafe { _mm_aesdec_si128(self, key) }
    }
    #[inline(always)]
    unsafe fn last_inverse_round(self, key: Self) -> Self {
        // SAFETY: as the trait demands.
        unsafe { _mm_aesdeclast_si128(self, key) }
    }
    #[inline(always)]
    unsafe fn one_block_on(self, before: __m128i) -> Self {
        before
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
    #[inline(always)]
    unsafe fn last_round_partial(self, key: Self, from: *const u8, to: *mut u8, bytes: usize) {
        // SAFETY: as the trait demands; the bits of `bytes` add up to it.
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

/// XORs the first `bytes` (less than 8) of `keystream` onto `from` and writes them to `to`. By way
/// of general registers, so that no keystream gets to the stack.
#[inline(always)]
unsafe fn xor_partial(mut keystream: u64, mut from: *const u8, mut to: *mut u8, bytes: usize) {
    // SAFETY: the caller vouches for `bytes` at both pointers; the pieces are its bits.
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
    unsafe fn pin(self) -> Self {
        self
    }
    #[inline(always)]
    unsafe fn inverse_round(self, key: Self) -> Self {
        // SAFETY: as the trait demands.
        unsafe { _mm256_aesdec_epi128(self, key) }
    }
    #[inline(always)]
    unsafe fn last_inverse_round(self, key: Self) -> Self {
        // SAFETY: as the trait demands.
        unsafe { _mm256_aesdeclast_epi128(self, key) }
    }
    #[inline(always)]
    unsafe fn one_block_on(self, before: __m128i) -> Self {
        // SAFETY: as the trait demands.
        unsafe {
            let low = _mm256_castsi256_si128(self);
            _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(before), low)
        }
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
    halves!(__m128i, _mm256_castsi256_si128, _mm256_extracti128_si256);
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
    unsafe fn pin(self) -> Self {
        self
    }
    #[inline(always)]
    unsafe fn inverse_round(self, key: Self) -> Self {
        // SAFETY: as the trait demands.
        unsafe { _mm512_aesdec_epi128(self, key) }
    }
    #[inline(always)]
    unsafe fn last_inverse_round(self, key: Self) -> Self {
        // SAFETY: as the trait demands.
        unsafe { _mm512_aesdeclast_epi128(self, key) }
    }
    #[inline(always)]
    unsafe fn one_block_on(self, before: __m128i) -> Self {
        // SAFETY: as the trait demands.
        unsafe { _mm512_alignr_epi64::<6>(self, Self::splat(before)) }
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
    halves!(__m256i, _mm512_castsi512_si256, _mm512_extracti64x4_epi64);
}
