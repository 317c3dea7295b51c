//! S-boxes of bytes that invert in a field of 256 elements: by GFNI, which inverts in the field of AES; by `aesenclast` and
//! `aesdeclast`, which invert before or after other steps; and by shuffles, which invert in a field of 16.

use core::arch::x86_64::*;
use core::marker::PhantomData;

use super::bytes::Bytes;
use super::gfni::GaloisField;
use super::lanes::Words;
use crate::keys::sbox::{Map, SBox};
use crate::keys::tower::{A_BY, ONE_BY};
use oarlock_kernels::{by_contract, needs_instructions};

/// A way to compute S-boxes in registers `V`, with their instructions.
pub(super) trait Boxes {
    type V: Words;
    /// Whether [`substitute`](Self::substitute) also does ShiftRows in each 128 bits, or its inverse if the S-box is one for
    /// `aesdeclast`.
    const SHIFTS: bool;
    /// Whether it inverts bytes in the form of [`crate::keys::tower`], which costs nothing if the bytes have that form
    /// already.
    const TAKES_HALVES: bool = false;

    needs_instructions! {
        fn substitute(bytes: Self::V, sbox: &'static SBox) -> Self::V;
        fn map(bytes: Self::V, map: &'static Map) -> Self::V;
    }
}

/// S-boxes by GFNI.
pub(super) struct ByGfni<V>(PhantomData<V>);

impl<V: GaloisField + Words> Boxes for ByGfni<V> {
    type V = V;
    const SHIFTS: bool = false;

    by_contract! {
        fn substitute(mut bytes: V, sbox: &'static SBox) -> V {
            if !sbox.before.is_identity {
                bytes = bytes.map_by(rows(&sbox.before));
            }
            bytes.map_inverse_by(rows(&sbox.after))
        }
        fn map(bytes: V, map: &'static Map) -> V { bytes.map_by(rows(map)) }
    }
}

/// S-boxes by `aesenclast`, between maps made of shuffles: one for the lower four bits of each byte, one for the upper
/// ("Accelerating AES with Vector Permute Instructions", Hamburg, CHES 2009).
pub(super) struct ByAes<V>(PhantomData<V>);

impl<V: Words> Boxes for ByAes<V> {
    type V = V;
    const SHIFTS: bool = true;

    #[inline(always)]
    unsafe fn substitute(bytes: V, sbox: &'static SBox) -> V {
        // SAFETY: the caller has `aesenclast`, `aesdeclast` and the other instructions of `V`. The key of the
        // last round removes the constant of the S-box.
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

    by_contract! {
        fn map(bytes: V, map: &'static Map) -> V { by_nibbles(bytes, map) }
    }
}

/// S-boxes by shuffles alone, as Hamburg computes AES.
pub(super) struct ByShuffles<V>(PhantomData<V>);

impl<V: Words> Boxes for ByShuffles<V> {
    type V = V;
    const SHIFTS: bool = false;
    const TAKES_HALVES: bool = true;

    by_contract! {
        fn substitute(bytes: V, sbox: &'static SBox) -> V {
            let inverse = Inverse::of(by_nibbles(bytes, &sbox.into_halves));
            let lower = inverse.mapped(&sbox.of_halves[0]);
            if sbox.is_same_after {
                lower
            } else {
                lower.with_high_half(inverse.mapped(&sbox.of_halves[1]))
            }
        }
        fn map(bytes: V, map: &'static Map) -> V { by_nibbles(bytes, map) }
    }
}

/// The values io and jo of each byte: the inverse is the sum of a table look-up of each.
#[derive(Clone, Copy)]
pub(super) struct Inverse<V>(V, V);

impl<V: Words> Inverse<V> {
    /// Inverts bytes in the form of [`crate::keys::tower`].
    ///
    /// # Safety
    /// The instructions of `V` are enabled in the caller, here and below.
    #[inline(always)]
    pub(super) unsafe fn of(bytes: V) -> Self {
        // SAFETY: shuffles and XORs, for which the caller has the instructions of `V`.
        unsafe {
            let (k, i) = nibbles(bytes);
            let j = i.xor(k);
            let a_by_k = table::<V>(&const { A_BY }).look_up(k);
            let one_by = table::<V>(&const { ONE_BY });
            let io = one_by.look_up(one_by.look_up(i).xor(a_by_k)).xor(j);
            let jo = one_by.look_up(one_by.look_up(j).xor(a_by_k)).xor(i);
            Self(io, jo)
        }
    }

    /// Applies a linear map to the inverse.
    ///
    /// # Safety
    /// The same as for [`of`](Self::of).
    #[inline(always)]
    pub(super) unsafe fn mapped(self, [by_io, by_jo]: &'static [[u8; 16]; 2]) -> V {
        // SAFETY: two look-ups, for which the caller of `of` has the instructions of `V`.
        unsafe {
            let by_io = table::<V>(by_io).look_up(self.0);
            by_io.xor(table::<V>(by_jo).look_up(self.1))
        }
    }
}

/// # Safety
/// The CPU has the instructions of `V`.
#[inline(always)]
unsafe fn by_nibbles<V: Words>(bytes: V, map: &'static Map) -> V {
    if map.is_identity {
        return bytes;
    }
    // SAFETY: look-ups by halves of bytes, for which the caller has the instructions of `V`.
    unsafe {
        let (low, high) = nibbles(bytes);
        let lower = look_up_both(&map.nibbles[0], low, high);
        if map.is_same {
            lower
        } else {
            lower.with_high_half(look_up_both(&map.nibbles[1], low, high))
        }
    }
}

/// Returns the lower and the upper four bits of each byte.
///
/// # Safety
/// The CPU has the instructions of `V`.
#[inline(always)]
pub(super) unsafe fn nibbles<V: Words>(bytes: V) -> (V, V) {
    // SAFETY: masks and a shift, for which the caller has the instructions of `V`.
    unsafe {
        let mask = V::splat(_mm_set1_epi8(0x0f));
        (bytes.and(mask), bytes.shift_right::<4>().and(mask))
    }
}

/// # Safety
/// The CPU has the instructions of `V`.
#[inline(always)]
pub(super) unsafe fn look_up_both<V: Words>(
    [first, second]: &'static [[u8; 16]; 2],
    low: V,
    high: V,
) -> V {
    // SAFETY: each table is 16 bytes in a register; the caller has the instructions of `V` to look up in them.
    unsafe {
        let low = table::<V>(first).look_up(low);
        low.xor(table::<V>(second).look_up(high))
    }
}

/// # Safety
/// The CPU has the instructions of `V`.
#[inline(always)]
unsafe fn table<V: Bytes>(entries: &'static [u8; 16]) -> V {
    // SAFETY: a table has 16 bytes; the caller has the instructions of `V` to repeat them.
    unsafe { V::splat(_mm_loadu_si128(entries.as_ptr().cast())) }
}

/// # Safety
/// The CPU has the instructions of `V`.
#[inline(always)]
unsafe fn rows<V: Bytes>(map: &'static Map) -> V {
    // SAFETY: the rows of a map have 16 bytes; the caller has the instructions of `V` to repeat them.
    unsafe { V::splat(_mm_loadu_si128(map.rows.as_ptr().cast())) }
}
