//! Blocks of several streams in one register.

use core::arch::x86_64::*;

use super::super::lanes::Lanes;
use crate::contract::by_contract;
use crate::key::BLOCK_BYTES;

/// A register whose blocks belong to different streams. `from` and `to` of the methods have a pointer for each block of the
/// register.
pub(super) trait Gather: Lanes {
    /// Whether four blocks of each stream are read and written at once.
    const FOURS: bool;

    /// Like `load`, from memory aligned to the register, so that it may become part of an instruction.
    ///
    /// # Safety
    /// The CPU has the instructions of this type; `from` is valid for reads of `BYTES` bytes, and aligned to as many.
    #[inline(always)]
    unsafe fn load_aligned(from: *const u8) -> Self {
        // SAFETY: the caller has a register at `from`, and `load` accepts it aligned too.
        unsafe { Self::load(from) }
    }
    /// Loads a block of each stream.
    ///
    /// # Safety
    /// The CPU has the instructions of this type; each pointer of `from` is valid for reads of a block after `at` bytes.
    unsafe fn gather(from: *const *const u8, at: usize) -> Self;
    /// Writes a block of each stream.
    ///
    /// # Safety
    /// The CPU has the instructions of this type; each pointer of `to` is valid for writes of a block after `at` bytes.
    unsafe fn scatter(self, to: *const *mut u8, at: usize);
    /// Loads the next four blocks of each stream, in their order.
    ///
    /// # Safety
    /// The same as for [`gather`](Self::gather), for four blocks.
    #[inline(always)]
    unsafe fn gather_fours(from: *const *const u8, at: usize) -> [Self; 4] {
        // SAFETY: each block lies within the four that the caller has at every pointer.
        unsafe {
            let mut blocks = [Self::gather(from, at); 4];
            for (i, block) in blocks.iter_mut().enumerate() {
                *block = Self::gather(from, at + i * BLOCK_BYTES);
            }
            blocks
        }
    }
    /// Writes four blocks of each stream.
    ///
    /// # Safety
    /// The same as for [`scatter`](Self::scatter), for four blocks.
    #[inline(always)]
    unsafe fn scatter_fours(blocks: [Self; 4], to: *const *mut u8, at: usize) {
        for (i, block) in blocks.into_iter().enumerate() {
            // SAFETY: each block lies within the four that the caller has room for at every pointer.
            unsafe { block.scatter(to, at + i * BLOCK_BYTES) };
        }
    }
}

impl Gather for __m128i {
    const FOURS: bool = false;

    by_contract! {
        fn load_aligned(from: *const u8) -> Self { _mm_load_si128(from.cast()) }
        fn gather(from: *const *const u8, at: usize) -> Self { Self::load((*from).add(at)) }
        fn scatter(self, to: *const *mut u8, at: usize) { self.store((*to).add(at)) }
    }
}

impl Gather for __m256i {
    const FOURS: bool = false;

    by_contract! {
        fn gather(from: *const *const u8, at: usize) -> Self {
            let [low, high] = [__m128i::gather(from, at), __m128i::gather(from.add(1), at)];
            _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(low), high)
        }
        fn scatter(self, to: *const *mut u8, at: usize) {
            _mm256_castsi256_si128(self).scatter(to, at);
            _mm256_extracti128_si256::<1>(self).scatter(to.add(1), at);
        }
    }
}

impl Gather for __m512i {
    const FOURS: bool = true;

    by_contract! {
        fn gather(from: *const *const u8, at: usize) -> Self {
            let [low, high] = [__m256i::gather(from, at), __m256i::gather(from.add(2), at)];
            _mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high)
        }
        fn scatter(self, to: *const *mut u8, at: usize) {
            _mm512_castsi512_si256(self).scatter(to, at);
            _mm512_extracti64x4_epi64::<1>(self).scatter(to.add(2), at);
        }
    }
    #[inline(always)]
    unsafe fn gather_fours(from: *const *const u8, at: usize) -> [Self; 4] {
        // SAFETY: four blocks of a stream are a register, and the caller guarantees them at each of the four pointers.
        unsafe {
            let mut rows = [_mm512_setzero_si512(); 4];
            for (i, row) in rows.iter_mut().enumerate() {
                *row = Self::load((*from.add(i)).add(at));
            }
            transpose(rows)
        }
    }
    #[inline(always)]
    unsafe fn scatter_fours(blocks: [Self; 4], to: *const *mut u8, at: usize) {
        // SAFETY: the caller guarantees room for four blocks, which are a register, at each of the four pointers.
        unsafe {
            for (i, blocks) in transpose(blocks).into_iter().enumerate() {
                blocks.store((*to.add(i)).add(at));
            }
        }
    }
}

/// Transposes four registers as a matrix of blocks.
///
/// # Safety
/// The CPU has AVX-512 F.
#[inline(always)]
pub(super) unsafe fn transpose(rows: [__m512i; 4]) -> [__m512i; 4] {
    // SAFETY: the caller has AVX-512 F, which includes all of these shuffles.
    unsafe {
        let low_01 = _mm512_shuffle_i64x2::<0x44>(rows[0], rows[1]);
        let low_23 = _mm512_shuffle_i64x2::<0x44>(rows[2], rows[3]);
        let high_01 = _mm512_shuffle_i64x2::<0xee>(rows[0], rows[1]);
        let high_23 = _mm512_shuffle_i64x2::<0xee>(rows[2], rows[3]);
        [
            _mm512_shuffle_i64x2::<0x88>(low_01, low_23),
            _mm512_shuffle_i64x2::<0xdd>(low_01, low_23),
            _mm512_shuffle_i64x2::<0x88>(high_01, high_23),
            _mm512_shuffle_i64x2::<0xdd>(high_01, high_23),
        ]
    }
}
