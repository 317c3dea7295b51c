//! Bitsliced Triple DES in vector registers: see [`des`].

mod ternary;

use core::arch::x86_64::*;
use core::mem::MaybeUninit;

use inout::InOutBuf;

use super::{Avx2, Avx512};
use crate::bits::des::{self, KeyMasks, Room};
use crate::bits::des_cbc::{Chains, LaneKeys};
use crate::bits::registers::{Plane, substitute};
use crate::bits::{des_cbc, des_gates};
use crate::contract::{by_contract, by_possession};
use crate::requests::Lanes;
use crate::wipe::wipe_stack;

macro_rules! entry_points {
    ($($name:ident $token:ty, $plane:ty, $features:literal, $counter:ident;)+) => {$(
        /// XORs keystream onto `data`, beginning at byte `skip` (less than 8) of the block at `counter`.
        pub(crate) fn $name(
            _: $token,
            keys: &KeyMasks,
            counter: u64,
            skip: usize,
            data: InOutBuf<'_, '_, u8>,
        ) {
            /// # Safety
            /// `bytes` are readable at `from` and writable at `to`, which are the same place or do not overlap; `skip` is
            /// less than 8. `room` is valid for a `Room`, with exclusive access.
            #[target_feature(enable = $features)]
            unsafe fn with_features(
                room: *mut Room<$plane>,
                keys: &KeyMasks,
                counter: u64,
                skip: usize,
                from: *const u8,
                to: *mut u8,
                bytes: usize,
            ) {
                // SAFETY: the instructions of `$plane` are enabled here; the caller guarantees `room`, `bytes` at both
                // pointers, and `skip` within a block.
                unsafe { des::ctr::<$plane>(room, keys, counter, skip, from, to, bytes) }
            }
            #[cfg(debug_assertions)]
            crate::dispatch::tdes::$counter.hit();
            let bytes = data.len();
            let (from, to) = data.into_raw();
            let mut room = MaybeUninit::uninit();
            // SAFETY: the token proves the features, and SSE2 needs none; the buffer has `bytes` at both pointers, the same
            // or disjoint, and the room belongs to this function.
            unsafe { with_features(room.as_mut_ptr(), keys, counter, skip, from, to, bytes) };
            wipe_stack();
        }
    )+};
}

macro_rules! decryption {
    ($($name:ident $token:ty, $plane:ty, $features:literal;)+) => {$(
        /// Decrypts as many passes as `data` has with CBC; the rest is left.
        pub(crate) fn $name<'a>(
            _: $token,
            keys: &KeyMasks,
            iv: &mut [u8; 8],
            data: InOutBuf<'a, 'a, u8>,
        ) -> InOutBuf<'a, 'a, u8> {
            /// # Safety
            /// `passes` passes are readable at `from` and writable at `to`, which are the same place or do not overlap.
            /// `room` is valid for a `Room`, with exclusive access.
            #[target_feature(enable = $features)]
            unsafe fn with_features(
                room: *mut des_cbc::Room<$plane>,
                keys: &KeyMasks,
                iv: &mut [u8; 8],
                from: *const u8,
                to: *mut u8,
                passes: usize,
            ) {
                // SAFETY: the instructions of `$plane` are enabled here; the caller guarantees `room`, and the passes at
                // both pointers.
                unsafe { des_cbc::decrypt::<$plane>(room, keys, iv, from, to, passes) }
            }
            let pass_bytes = 8 * des::pass_blocks::<$plane>();
            let passes = data.len() / pass_bytes;
            let (whole, rest) = data.split_at(passes * pass_bytes);
            if passes > 0 {
                #[cfg(debug_assertions)]
                crate::dispatch::batch::TDES_BITS.hit();
                let (from, to) = whole.into_raw();
                let mut room = MaybeUninit::uninit();
                // SAFETY: the token proves the features, and SSE2 needs none; the buffer has the passes at both pointers,
                // the same or disjoint, and the room belongs to this function.
                unsafe { with_features(room.as_mut_ptr(), keys, iv, from, to, passes) };
                wipe_stack();
            }
            rest
        }
    )+};
}

decryption! {
    decrypt_sse2 (), Xmm, "sse2";
    decrypt_avx2 Avx2, Ymm, "avx2";
    decrypt_avx512 Avx512, Zmm, "avx512f";
}

// SAFETY: SSE2 is part of x86-64.
unsafe impl Chains for Xmm {
    unsafe fn encrypt(keys: &LaneKeys, lanes: &mut Lanes<64>, blocks: usize) {
        #[cfg(debug_assertions)]
        crate::dispatch::batch::TDES_BITS_SSE2.hit();
        // SAFETY: every x86-64 CPU has SSE2; the caller has `blocks` in each lane that has some left.
        unsafe { des_cbc::encrypt_lanes::<Self>(keys, lanes, blocks) }
    }
}

entry_points! {
    ctr_sse2 (), Xmm, "sse2", SSE2;
    ctr_avx2 Avx2, Ymm, "avx2", AVX2;
    ctr_avx512 Avx512, Zmm, "avx512f", AVX512;
}

/// An SSE2 register.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Xmm(__m128i);

/// An AVX2 register.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct Ymm(__m256i);

/// An AVX-512 F register.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct Zmm(__m512i);

/// The methods of [`Plane`] that take one or two intrinsics each.
macro_rules! methods {
    (
        $load:ident $store:ident $pointer:ty, $broadcast:ident
        $and:ident $or:ident $xor:ident $and_not:ident $shift_left:ident $shift_right:ident
    ) => {
        const LANES: usize = size_of::<$pointer>() / 8;

        by_contract! {
            fn broadcast(word: u64) -> Self { Self($broadcast(word as i64)) }
            fn load(from: *const u8) -> Self { Self($load(from.cast::<$pointer>())) }
            fn store(self, to: *mut u8) { $store(to.cast::<$pointer>(), self.0) }
        }
        /// # Safety
        /// The same as for the trait's method.
        #[inline(always)]
        unsafe fn lanes_with(bit: usize) -> Self {
            const LANES: usize = size_of::<$pointer>() / 8;
            const MASKS: [[u64; LANES]; 3] = {
                let mut masks = [[0; LANES]; 3];
                let mut i = 0;
                while i < 3 * LANES {
                    masks[i / LANES][i % LANES] =
                        (i % LANES >> (i / LANES) & 1).wrapping_neg() as u64;
                    i += 1;
                }
                masks
            };
            // SAFETY: the caller has the instructions of this type; the mask is as long as the register.
            unsafe { Self::load(MASKS[bit].as_ptr().cast()) }
        }
        by_possession! {
            fn filled_with(self, word: u64) -> Self { Self($broadcast(word as i64)) }
            fn and(self, other: Self) -> Self { Self($and(self.0, other.0)) }
            fn or(self, other: Self) -> Self { Self($or(self.0, other.0)) }
            fn xor(self, other: Self) -> Self { Self($xor(self.0, other.0)) }
            fn and_not(self, other: Self) -> Self { Self($and_not(other.0, self.0)) }
            fn not(self) -> Self { Self($xor(self.0, $broadcast(-1))) }
            fn shift_left<const N: u32>(self) -> Self {
                Self($shift_left(self.0, _mm_cvtsi32_si128(N as i32)))
            }
            fn shift_right<const N: u32>(self) -> Self {
                Self($shift_right(self.0, _mm_cvtsi32_si128(N as i32)))
            }
        }
    };
}

/// Masks that are registers, and S-boxes built from gates with two operands.
macro_rules! two_operands {
    () => {
        type Mask = Self;

        /// # Safety
        /// The same as for the trait's method.
        #[inline(always)]
        unsafe fn mask(word: u64) -> Self {
            // SAFETY: the caller has the instructions of this type.
            unsafe { Self::broadcast(word) }
        }
        #[inline(always)]
        fn xor_mask(self, mask: &Self) -> Self {
            self.xor(*mask)
        }
        substitute!(des_gates);
    };
}

impl Plane for Xmm {
    methods! {
        _mm_loadu_si128 _mm_storeu_si128 __m128i, _mm_set1_epi64x
        _mm_and_si128 _mm_or_si128 _mm_xor_si128 _mm_andnot_si128 _mm_sll_epi64 _mm_srl_epi64
    }
    two_operands!();
}

impl Plane for Ymm {
    methods! {
        _mm256_loadu_si256 _mm256_storeu_si256 __m256i, _mm256_set1_epi64x
        _mm256_and_si256 _mm256_or_si256 _mm256_xor_si256 _mm256_andnot_si256
        _mm256_sll_epi64 _mm256_srl_epi64
    }
    two_operands!();
}

impl Plane for Zmm {
    type Mask = u64;

    methods! {
        _mm512_loadu_si512 _mm512_storeu_si512 __m512i, _mm512_set1_epi64
        _mm512_and_si512 _mm512_or_si512 _mm512_xor_si512 _mm512_andnot_si512
        _mm512_sll_epi64 _mm512_srl_epi64
    }
    substitute!(ternary);

    #[inline(always)]
    unsafe fn mask(word: u64) -> u64 {
        word
    }
    #[inline(always)]
    fn xor_mask(self, mask: &u64) -> Self {
        self.xor(self.filled_with(*mask))
    }
}

impl Zmm {
    by_possession! {
        /// Returns bit 4 a + 2 b + c of `TABLE`, for every bit of the registers.
        fn look_up<const TABLE: i32>(a: Self, b: Self, c: Self) -> Self {
            Self(_mm512_ternarylogic_epi64::<TABLE>(a.0, b.0, c.0))
        }
    }
}
