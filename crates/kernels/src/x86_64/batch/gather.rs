//! Blocks of several streams in one register.

use core::arch::x86_64::*;

use super::super::gfni::{GaloisField, Gfni};
use super::super::lanes::Lanes;
use crate::key::BLOCK_BYTES;

/// A register whose blocks belong to streams of their own.
///
/// # Safety
/// As [`Lanes`]. `from` and `to` have as many pointers as the register has blocks; each is good for
/// the blocks that are read or written `at` bytes after it.
pub(super) trait Gather: Lanes {
    /// Whether four blocks of each stream are read and written at once.
    const FOURS: bool;

    /// As `load`, from memory aligned to the register, so that it may become part of an instruction.
    #[inline(always)]
    unsafe fn load_aligned(from: *const u8) -> Self {
        // SAFETY: as the trait demands.
        unsafe { Self::load(from) }
    }
    /// A block of each stream.
    unsafe fn gather(from: *const *const u8, at: usize) -> Self;
    /// Writes a block of each stream.
    unsafe fn scatter(self, to: *const *mut u8, at: usize);
    /// The next four blocks of each stream, in their order.
    #[inline(always)]
    unsafe fn gather_fours(from: *const *const u8, at: usize) -> [Self; 4] {
        // SAFETY: as the trait demands.
        unsafe {
            let mut blocks = [Self::gather(from, at); 4];
            for (i, block) in blocks.iter_mut().enumerate() {
                *block = Self::gather(from, at + i * BLOCK_BYTES);
            }
            blocks
        }
    }
    /// Writes four blocks of each stream.
    #[inline(always)]
    unsafe fn scatter_fours(blocks: [Self; 4], to: *const *mut u8, at: usize) {
        for (i, block) in blocks.into_iter().enumerate() {
            // SAFETY: as the trait demands.
            unsafe { block.scatter(to, at + i * BLOCK_BYTES) };
        }
    }
}

// SAFETY (all implementations): features and pointers are as the trait demands of the caller.
impl Gather for __m128i {
    const FOURS: bool = false;

    #[inline(always)]
    unsafe fn load_aligned(from: *const u8) -> Self {
        // SAFETY: as the trait demands.
        unsafe { _mm_load_si128(from.cast()) }
    }

    #[inline(always)]
    unsafe fn gather(from: *const *const u8, at: usize) -> Self {
        // SAFETY: as the trait demands.
        unsafe { Self::load((*from).add(at)) }
    }
    #[inline(always)]
    unsafe fn scatter(self, to: *const *mut u8, at: usize) {
        // SAFETY: as the trait demands.
        unsafe { self.store((*to).add(at)) }
    }
}

impl Gather for __m256i {
    const FOURS: bool = false;

    #[inline(always)]
    unsafe fn gather(from: *const *const u8, at: usize) -> Self {
        // SAFETY: as the trait demands.
        unsafe {
            let [low, high] = [__m128i::gather(from, at), __m128i::gather(from.add(1), at)];
            _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(low), high)
        }
    }
    #[inline(always)]
    unsafe fn scatter(self, to: *const *mut u8, at: usize) {
        // SAFETY: as the trait demands.
        unsafe {
            _mm256_castsi256_si128(self).scatter(to, at);
            _mm256_extracti128_si256::<1>(self).scatter(to.add(1), at);
        }
    }
}

impl Gather for __m512i {
    const FOURS: bool = true;

    #[inline(always)]
    unsafe fn gather(from: *const *const u8, at: usize) -> Self {
        // SAFETY: as the trait demands.
        unsafe {
            let [low, high] = [__m256i::gather(from, at), __m256i::gather(from.add(2), at)];
            _mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high)
        }
    }
    #[inline(always)]
    unsafe fn scatter(self, to: *const *mut u8, at: usize) {
        // SAFETY: as the trait demands.
        unsafe {
            _mm512_castsi512_si256(self).scatter(to, at);
            _mm512_extracti64x4_epi64::<1>(self).scatter(to.add(2), at);
        }
    }
    #[inline(always)]
    unsafe fn gather_fours(from: *const *const u8, at: usize) -> [Self; 4] {
        // SAFETY: as the trait demands; four blocks are a register.
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
        // SAFETY: as the trait demands; four blocks are a register.
        unsafe {
            for (i, blocks) in transpose(blocks).into_iter().enumerate() {
                blocks.store((*to.add(i)).add(at));
            }
        }
    }
}

/// Four registers as a matrix of blocks, turned over its diagonal.
#[inline(always)]
pub(super) unsafe fn transpose(rows: [__m512i; 4]) -> [__m512i; 4] {
    // SAFETY: the caller enables AVX-512.
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

impl<V: GaloisField + Gather> Gather for Gfni<V> {
    const FOURS: bool = false;

    #[inline(always)]
    unsafe fn gather(from: *const *const u8, at: usize) -> Self {
        // SAFETY: as the trait demands.
        Self(unsafe { V::gather(from, at) })
    }
    #[inline(always)]
    unsafe fn scatter(self, to: *const *mut u8, at: usize) {
        // SAFETY: as the trait demands.
        unsafe { self.0.scatter(to, at) }
    }
}
