//! S-boxes of bytes that invert in a field of 256 elements: by GFNI, which inverts in the field of
//! AES, and by `aesenclast` and `aesdeclast`, which do so before and after other steps.

use core::arch::x86_64::*;
use core::marker::PhantomData;

use super::super::gfni::GaloisField;
use super::super::lanes::Lanes;
use super::lanes::Words;
use crate::legacy_keys::field::{Map, SBox};

/// A way to compute S-boxes in registers `V`.
///
/// # Safety
/// As [`Lanes`].
pub(super) trait Boxes {
    type V: Words;
    /// [`substitute`](Self::substitute) also does ShiftRows in each 128 bits, or its inverse where the
    /// S-box is one for `aesdeclast`.
    const SHIFTS: bool;

    unsafe fn substitute(bytes: Self::V, sbox: &'static SBox) -> Self::V;
    unsafe fn map(bytes: Self::V, map: &'static Map) -> Self::V;
}

/// By GFNI.
pub(super) struct ByGfni<V>(PhantomData<V>);

impl<V: GaloisField + Words> Boxes for ByGfni<V> {
    type V = V;
    const SHIFTS: bool = false;

    #[inline(always)]
    unsafe fn substitute(mut bytes: V, sbox: &'static SBox) -> V {
        // SAFETY: as the trait demands.
        unsafe {
            if !sbox.before.is_identity {
                bytes = bytes.map_by(rows(&sbox.before));
            }
            bytes.map_inverse_by(rows(&sbox.after))
        }
    }

    #[inline(always)]
    unsafe fn map(bytes: V, map: &'static Map) -> V {
        // SAFETY: as the trait demands.
        unsafe { bytes.map_by(rows(map)) }
    }
}

/// By `aesenclast`, with what stands before and after made of shuffles: one for the lower four bits
/// of each byte, one for the upper ("Accelerating AES with Vector Permute Instructions", Hamburg,
/// CHES 2009).
pub(super) struct ByAes<V>(PhantomData<V>);

impl<V: Words> Boxes for ByAes<V> {
    type V = V;
    const SHIFTS: bool = true;

    #[inline(always)]
    unsafe fn substitute(bytes: V, sbox: &'static SBox) -> V {
        // SAFETY: as the trait demands. The key of the last round removes the constant of the S-box.
        unsafe {
            if let Some(before) = &sbox.before_inverse_aes {
                let bytes = by_nibbles(bytes, before).xor(V::splat(_mm_set1_epi8(0x63)));
                return bytes.last_inverse_round(V::splat(_mm_setzero_si128()));
            }
            let bytes = by_nibbles(bytes, &sbox.before);
            let constant = V::splat(_mm_set1_epi8(0x63));
            by_nibbles(bytes.last_round(constant), &sbox.after_aes)
        }
    }

    #[inline(always)]
    unsafe fn map(bytes: V, map: &'static Map) -> V {
        // SAFETY: as the trait demands.
        unsafe { by_nibbles(bytes, map) }
    }
}

/// # Safety
/// As [`Boxes`].
#[inline(always)]
unsafe fn by_nibbles<V: Words>(bytes: V, map: &'static Map) -> V {
    if map.is_identity {
        return bytes;
    }
    // SAFETY: as the caller vouches.
    unsafe {
        let mask = V::splat(_mm_set1_epi8(0x0f));
        let (low, high) = (bytes.and(mask), bytes.shift_right::<4>().and(mask));
        let lower = look_up_both(&map.nibbles[0], low, high);
        if map.is_same {
            lower
        } else {
            lower.with_high_half(look_up_both(&map.nibbles[1], low, high))
        }
    }
}

/// # Safety
/// As [`Boxes`].
#[inline(always)]
unsafe fn look_up_both<V: Words>(tables: &'static [[u8; 16]; 2], low: V, high: V) -> V {
    // SAFETY: as the caller vouches; a table has 16 bytes.
    unsafe {
        let [first, second] = tables;
        let first = V::splat(_mm_loadu_si128(first.as_ptr().cast()));
        let second = V::splat(_mm_loadu_si128(second.as_ptr().cast()));
        first.look_up(low).xor(second.look_up(high))
    }
}

/// # Safety
/// As [`Boxes`].
#[inline(always)]
unsafe fn rows<V: Lanes>(map: &'static Map) -> V {
    // SAFETY: as the caller vouches; there are 16 bytes.
    unsafe { V::splat(_mm_loadu_si128(map.rows.as_ptr().cast())) }
}
