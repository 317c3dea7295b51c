//! Triple DES on bits, in vector registers: see [`des`].

use core::arch::x86_64::*;
use core::mem::MaybeUninit;

use inout::InOutBuf;

use super::{Avx2, Avx512};
use crate::bits::des::{self, KeyMasks, Room};
use crate::bits::des_cbc::{Chains, LaneKeys};
use crate::bits::registers::{Plane, Ternary, substitute};
use crate::bits::{des_cbc, des_gates, des_ternary};
use crate::requests::Lanes;
use crate::wipe::wipe_stack;

macro_rules! entry_points {
    ($($name:ident $token:ty, $plane:ty, $features:literal, $counter:ident;)+) => {$(
        /// XORs keystream onto `data`, from byte `skip` (less than 8) of the block at `counter` on.
        pub(crate) fn $name(
            _: $token,
            keys: &KeyMasks,
            counter: u64,
            skip: usize,
            data: InOutBuf<'_, '_, u8>,
        ) {
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
                // SAFETY: the features are enabled here; the rest is as the caller vouches.
                unsafe { des::ctr::<$plane>(room, keys, counter, skip, from, to, bytes) }
            }
            #[cfg(debug_assertions)]
            crate::dispatch::tdes::$counter.hit();
            let bytes = data.len();
            let (from, to) = data.into_raw();
            let mut room = MaybeUninit::uninit();
            // SAFETY: the token proves the features; the buffer vouches for `bytes` readable at
            // `from` and writable at `to`, which are the same or do not overlap.
            unsafe { with_features(room.as_mut_ptr(), keys, counter, skip, from, to, bytes) };
            wipe_stack();
        }
    )+};
}

macro_rules! decryption {
    ($($name:ident $token:ty, $plane:ty, $features:literal;)+) => {$(
        /// CBC decryption of as many passes as `data` has; the rest is left.
        pub(crate) fn $name<'a>(
            _: $token,
            keys: &KeyMasks,
            iv: &mut [u8; 8],
            data: InOutBuf<'a, 'a, u8>,
        ) -> InOutBuf<'a, 'a, u8> {
            #[target_feature(enable = $features)]
            unsafe fn with_features(
                room: *mut des_cbc::Room<$plane>,
                keys: &KeyMasks,
                iv: &mut [u8; 8],
                from: *const u8,
                to: *mut u8,
                passes: usize,
            ) {
                // SAFETY: the features are enabled here; the rest is as the caller vouches.
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
                // SAFETY: the token proves the features; the buffer vouches for the passes.
                unsafe { with_features(room.as_mut_ptr(), keys, iv, from, to, passes) };
                wipe_stack();
            }
            rest
        }
    )+};
}

decryption! {
    decrypt_sse2 (), __m128i, "sse2";
    decrypt_avx2 Avx2, __m256i, "avx2";
    decrypt_avx512 Avx512, __m512i, "avx512f";
}

// SAFETY: SSE2 is part of x86-64.
unsafe impl Chains for __m128i {
    unsafe fn encrypt(keys: &LaneKeys, lanes: &mut Lanes<64>, blocks: usize) {
        #[cfg(debug_assertions)]
        crate::dispatch::batch::TDES_BITS_SSE2.hit();
        // SAFETY: the lanes are as the caller vouches.
        unsafe { des_cbc::encrypt_lanes::<Self>(keys, lanes, blocks) }
    }
}

entry_points! {
    ctr_sse2 (), __m128i, "sse2", SSE2;
    ctr_avx2 Avx2, __m256i, "avx2", AVX2;
    ctr_avx512 Avx512, __m512i, "avx512f", AVX512;
}

/// The methods of [`Plane`] that are one intrinsic each.
macro_rules! methods {
    (
        $load:ident $store:ident $pointer:ty, $broadcast:ident
        $and:ident $or:ident $xor:ident $and_not:ident $shift_left:ident $shift_right:ident
    ) => {
        const LANES: usize = size_of::<Self>() / 8;

        #[inline(always)]
        unsafe fn broadcast(word: u64) -> Self {
            // SAFETY: as the trait demands.
            unsafe { $broadcast(word as i64) }
        }
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
            // SAFETY: as the trait demands; the mask is as long as the register.
            unsafe { Self::load(MASKS[bit].as_ptr().cast()) }
        }
        #[inline(always)]
        unsafe fn load(from: *const u8) -> Self {
            // SAFETY: as the trait demands.
            unsafe { $load(from.cast::<$pointer>()) }
        }
        #[inline(always)]
        unsafe fn store(self, to: *mut u8) {
            // SAFETY: as the trait demands.
            unsafe { $store(to.cast::<$pointer>(), self) }
        }
        #[inline(always)]
        unsafe fn and(self, other: Self) -> Self {
            // SAFETY: as the trait demands.
            unsafe { $and(self, other) }
        }
        #[inline(always)]
        unsafe fn or(self, other: Self) -> Self {
            // SAFETY: as the trait demands.
            unsafe { $or(self, other) }
        }
        #[inline(always)]
        unsafe fn xor(self, other: Self) -> Self {
            // SAFETY: as the trait demands.
            unsafe { $xor(self, other) }
        }
        #[inline(always)]
        unsafe fn and_not(self, other: Self) -> Self {
            // SAFETY: as the trait demands.
            unsafe { $and_not(other, self) }
        }
        #[inline(always)]
        unsafe fn not(self) -> Self {
            // SAFETY: as the trait demands.
            unsafe { self.xor(Self::broadcast(u64::MAX)) }
        }
        #[inline(always)]
        unsafe fn shift_left<const N: u32>(self) -> Self {
            // SAFETY: as the trait demands.
            unsafe { $shift_left(self, _mm_cvtsi32_si128(N as i32)) }
        }
        #[inline(always)]
        unsafe fn shift_right<const N: u32>(self) -> Self {
            // SAFETY: as the trait demands.
            unsafe { $shift_right(self, _mm_cvtsi32_si128(N as i32)) }
        }
    };
}

// SAFETY (of all three): each method is one or two intrinsics whose features the contract demands of the
// caller, on pointers that the caller vouches for.
impl Plane for __m128i {
    type Mask = __m128i;

    methods! {
        _mm_loadu_si128 _mm_storeu_si128 __m128i, _mm_set1_epi64x
        _mm_and_si128 _mm_or_si128 _mm_xor_si128 _mm_andnot_si128 _mm_sll_epi64 _mm_srl_epi64
    }
    substitute!(des_gates);

    #[inline(always)]
    unsafe fn mask(word: u64) -> Self::Mask {
        // SAFETY: as the trait demands.
        unsafe { Self::broadcast(word) }
    }
    #[inline(always)]
    unsafe fn xor_mask(self, mask: *const Self::Mask) -> Self {
        // SAFETY: as the trait demands.
        unsafe { self.xor(*mask) }
    }
}

impl Plane for __m256i {
    type Mask = __m256i;

    methods! {
        _mm256_loadu_si256 _mm256_storeu_si256 __m256i, _mm256_set1_epi64x
        _mm256_and_si256 _mm256_or_si256 _mm256_xor_si256 _mm256_andnot_si256
        _mm256_sll_epi64 _mm256_srl_epi64
    }
    substitute!(des_gates);

    #[inline(always)]
    unsafe fn mask(word: u64) -> Self::Mask {
        // SAFETY: as the trait demands.
        unsafe { Self::broadcast(word) }
    }
    #[inline(always)]
    unsafe fn xor_mask(self, mask: *const Self::Mask) -> Self {
        // SAFETY: as the trait demands.
        unsafe { self.xor(*mask) }
    }
}

impl Plane for __m512i {
    type Mask = u64;

    methods! {
        _mm512_loadu_si512 _mm512_storeu_si512 __m512i, _mm512_set1_epi64
        _mm512_and_si512 _mm512_or_si512 _mm512_xor_si512 _mm512_andnot_si512
        _mm512_sll_epi64 _mm512_srl_epi64
    }
    substitute!(des_ternary);

    #[inline(always)]
    unsafe fn mask(word: u64) -> Self::Mask {
        word
    }
    #[inline(always)]
    unsafe fn xor_mask(self, mask: *const Self::Mask) -> Self {
        // SAFETY: as the trait demands.
        unsafe { self.xor(Self::broadcast(*mask)) }
    }
}

// SAFETY: the method is one intrinsic, whose features the contract demands of the caller.
impl Ternary for __m512i {
    #[inline(always)]
    unsafe fn look_up<const TABLE: i32>(a: Self, b: Self, c: Self) -> Self {
        // SAFETY: as the trait demands.
        unsafe { _mm512_ternarylogic_epi64::<TABLE>(a, b, c) }
    }
}
