//! One to four AES blocks in a vector register: the instructions that the algorithms of this
//! folder are written in.

use core::arch::{asm, x86_64::*};

use super::ghash::Sum;
use crate::key::BLOCK_BYTES;

/// A register of `BLOCKS` blocks.
///
/// # Safety
/// Every method needs the instructions of its implementor; the entry points of [`super::aes`] hold
/// the token and enable them. Pointers need not be aligned.
pub(super) trait Lanes: Copy {
    const BLOCKS: usize;
    const BYTES: usize = Self::BLOCKS * BLOCK_BYTES;
    /// Less than 512 bits: there are 16 registers, too few for states and round keys, and two
    /// `aesenc` a cycle leave fewer slots for what stands beside them.
    const NARROW: bool = Self::BLOCKS < 4;
    /// Round keys are read when their round comes.
    const KEYS_IN_MEMORY: bool = Self::NARROW;

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

/// Carry-less multiplication of blocks, and parts of a register, for GHASH.
///
/// # Safety
/// As [`Lanes`].
pub(super) trait Clmul: Lanes {
    /// In each block the product of two halves: bit 0 of `HALVES` picks that of `self`, bit 4 that
    /// of `other`.
    unsafe fn multiply<const HALVES: i32>(self, other: Self) -> Self;
    /// Exchanges the halves of each block.
    unsafe fn swap_halves(self) -> Self;
    /// `block` first, zeros behind.
    unsafe fn first(block: __m128i) -> Self;
    /// The first block.
    unsafe fn low(self) -> __m128i;
    /// The XOR of the blocks.
    unsafe fn fold(self) -> __m128i;
    /// The sum of two products of single blocks, and zeros in blocks beyond.
    unsafe fn two_products(a: [__m128i; 2], b: [__m128i; 2]) -> Sum<Self>;
    /// Reads `bytes` bytes (at most a block), zeros behind, touching no byte beyond.
    #[inline(always)]
    unsafe fn load_block(from: *const u8, bytes: usize) -> __m128i {
        // SAFETY: as the trait demands.
        unsafe {
            if bytes == __m128i::BYTES {
                __m128i::load(from)
            } else {
                __m128i::load_partial(from, bytes)
            }
        }
    }
    /// Reads `bytes` bytes (less than `BYTES`), zeros behind, touching no byte beyond.
    unsafe fn load_partial(from: *const u8, bytes: usize) -> Self;
    /// Writes the first `bytes` bytes (less than `BYTES`), touching no byte beyond.
    unsafe fn store_partial(self, to: *mut u8, bytes: usize);
    /// The first `bytes` bytes (less than `BYTES`), zeros behind.
    #[inline(always)]
    unsafe fn keep(self, bytes: usize) -> Self {
        // SAFETY: as the trait demands; a register from any of the first 65 bytes on is in MASK.
        unsafe { self.and(Self::load(MASK.as_ptr().add(64 - bytes))) }
    }
    unsafe fn and(self, other: Self) -> Self;
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

// SAFETY (this and the next two implementations): as those of `Lanes`.
impl Clmul for __m128i {
    #[inline(always)]
    unsafe fn multiply<const HALVES: i32>(self, other: Self) -> Self {
        // SAFETY: as the trait demands.
        unsafe { _mm_clmulepi64_si128::<HALVES>(self, other) }
    }
    #[inline(always)]
    unsafe fn swap_halves(self) -> Self {
        // SAFETY: as the trait demands.
        unsafe { _mm_shuffle_epi32::<0x4e>(self) }
    }
    #[inline(always)]
    unsafe fn first(block: __m128i) -> Self {
        block
    }
    #[inline(always)]
    unsafe fn low(self) -> __m128i {
        self
    }
    #[inline(always)]
    unsafe fn fold(self) -> __m128i {
        self
    }
    #[inline(always)]
    unsafe fn two_products(a: [__m128i; 2], b: [__m128i; 2]) -> Sum<Self> {
        // SAFETY: as the trait demands.
        unsafe { Sum::of(a[0], b[0]).plus(Sum::of(a[1], b[1])) }
    }
    /// By way of general registers, in pieces that may overlap.
    #[inline(always)]
    unsafe fn load_partial(from: *const u8, bytes: usize) -> Self {
        // SAFETY: as the trait demands; each piece lies within `bytes`.
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
        // SAFETY: as the trait demands; each piece lies within `bytes`.
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
    #[inline(always)]
    unsafe fn and(self, other: Self) -> Self {
        // SAFETY: as the trait demands.
        unsafe { _mm_and_si128(self, other) }
    }
}

impl Clmul for __m256i {
    #[inline(always)]
    unsafe fn multiply<const HALVES: i32>(self, other: Self) -> Self {
        // SAFETY: as the trait demands.
        unsafe { _mm256_clmulepi64_epi128::<HALVES>(self, other) }
    }
    #[inline(always)]
    unsafe fn swap_halves(self) -> Self {
        // SAFETY: as the trait demands.
        unsafe { _mm256_shuffle_epi32::<0x4e>(self) }
    }
    #[inline(always)]
    unsafe fn first(block: __m128i) -> Self {
        // SAFETY: as the trait demands.
        unsafe { _mm256_zextsi128_si256(block) }
    }
    #[inline(always)]
    unsafe fn low(self) -> __m128i {
        // SAFETY: as the trait demands.
        unsafe { _mm256_castsi256_si128(self) }
    }
    #[inline(always)]
    unsafe fn two_products(a: [__m128i; 2], b: [__m128i; 2]) -> Sum<Self> {
        // SAFETY: as the trait demands.
        unsafe { Sum::of(_mm256_set_m128i(a[1], a[0]), _mm256_set_m128i(b[1], b[0])) }
    }
    #[inline(always)]
    unsafe fn and(self, other: Self) -> Self {
        // SAFETY: as the trait demands.
        unsafe { _mm256_and_si256(self, other) }
    }
    #[inline(always)]
    unsafe fn fold(self) -> __m128i {
        // SAFETY: as the trait demands.
        unsafe { _mm256_castsi256_si128(self).xor(_mm256_extracti128_si256::<1>(self)) }
    }
    #[inline(always)]
    unsafe fn load_partial(from: *const u8, bytes: usize) -> Self {
        // SAFETY: as the trait demands; the low half is read whole where there are as many bytes.
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
        // SAFETY: as the trait demands; the low half is written whole where there are as many
        // bytes.
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
    #[inline(always)]
    unsafe fn multiply<const HALVES: i32>(self, other: Self) -> Self {
        // SAFETY: as the trait demands.
        unsafe { _mm512_clmulepi64_epi128::<HALVES>(self, other) }
    }
    #[inline(always)]
    unsafe fn swap_halves(self) -> Self {
        // SAFETY: as the trait demands.
        unsafe { _mm512_shuffle_epi32::<0x4e>(self) }
    }
    #[inline(always)]
    unsafe fn first(block: __m128i) -> Self {
        // SAFETY: as the trait demands.
        unsafe { _mm512_zextsi128_si512(block) }
    }
    #[inline(always)]
    unsafe fn low(self) -> __m128i {
        // SAFETY: as the trait demands.
        unsafe { _mm512_castsi512_si128(self) }
    }
    #[inline(always)]
    unsafe fn fold(self) -> __m128i {
        // SAFETY: as the trait demands.
        unsafe {
            let low = _mm512_castsi512_si256(self);
            low.xor(_mm512_extracti64x4_epi64::<1>(self)).fold()
        }
    }
    /// On half the width: the other half of the pipes is left to AES.
    #[inline(always)]
    unsafe fn two_products(a: [__m128i; 2], b: [__m128i; 2]) -> Sum<Self> {
        // SAFETY: as the trait demands.
        unsafe {
            let sum = __m256i::two_products(a, b);
            Sum {
                low: _mm512_zextsi256_si512(sum.low),
                middle: _mm512_zextsi256_si512(sum.middle),
                high: _mm512_zextsi256_si512(sum.high),
            }
        }
    }
    #[inline(always)]
    unsafe fn load_block(from: *const u8, bytes: usize) -> __m128i {
        // SAFETY: as the trait demands; bytes that the mask leaves out are not touched.
        unsafe { _mm_maskz_loadu_epi8(first_bits(bytes) as __mmask16, from.cast()) }
    }
    #[inline(always)]
    unsafe fn load_partial(from: *const u8, bytes: usize) -> Self {
        // SAFETY: as in `load_block`.
        unsafe { _mm512_maskz_loadu_epi8(first_bits(bytes), from.cast()) }
    }
    #[inline(always)]
    unsafe fn store_partial(self, to: *mut u8, bytes: usize) {
        // SAFETY: as in `load_block`.
        unsafe { _mm512_mask_storeu_epi8(to.cast(), first_bits(bytes), self) }
    }
    #[inline(always)]
    unsafe fn keep(self, bytes: usize) -> Self {
        // SAFETY: as the trait demands.
        unsafe { _mm512_maskz_mov_epi8(first_bits(bytes), self) }
    }
    #[inline(always)]
    unsafe fn and(self, other: Self) -> Self {
        // SAFETY: as the trait demands.
        unsafe { _mm512_and_si512(self, other) }
    }
}

/// Ones below bit `n`, less than 64.
#[inline(always)]
fn first_bits(n: usize) -> u64 {
    (1 << n) - 1
}
