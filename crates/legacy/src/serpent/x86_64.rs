//! Serpent on vector registers: see [`words`].

mod ternary;

use core::arch::x86_64::*;

use inout::InOutBuf;

use super::gates;
use super::registers::{Words, substitute_words};
use super::words::{self, RoundKeys};
use oarlock_kernels::wipe::wipe_stack;
use oarlock_kernels::{Avx2, Avx512, by_contract, by_possession};

macro_rules! entry_points {
    ($($name:ident $token:ty, $words:ty, $features:literal, $counter:ident;)+) => {$(
        /// XORs keystream onto `data`, starting at byte `skip` (less than 16) of the block at `counter`.
        pub(crate) fn $name(
            _: $token,
            keys: &RoundKeys,
            counter: u128,
            skip: usize,
            data: InOutBuf<'_, '_, u8>,
        ) {
            /// # Safety
            /// `bytes` are readable at `from` and writable at `to`, the same place or one that does not overlap; `skip` is
            /// less than 16.
            #[target_feature(enable = $features)]
            unsafe fn with_features(
                keys: &RoundKeys,
                counter: u128,
                skip: usize,
                from: *const u8,
                to: *mut u8,
                bytes: usize,
            ) {
                // SAFETY: the instructions of `$words` are enabled here; the caller has `bytes` at both
                // pointers, and `skip` within a block.
                unsafe { words::ctr::<$words>(keys, counter, skip, from, to, bytes) }
            }
            #[cfg(debug_assertions)]
            crate::dispatch::serpent::$counter.hit();
            let bytes = data.len();
            let (from, to) = data.into_raw();
            // SAFETY: the token proves the features, and SSE2 needs none; the buffer has `bytes` at both pointers, which are
            // the same or disjoint.
            unsafe { with_features(keys, counter, skip, from, to, bytes) };
            wipe_stack();
        }
    )+};
}

entry_points! {
    ctr_sse2 (), Xmm, "sse2", SSE2;
    ctr_avx2 Avx2, Ymm, "avx2", AVX2;
    ctr_avx512 Avx512, Zmm, "avx512f", AVX512;
}

/// A register of SSE2.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct Xmm(__m128i);

/// A register of AVX2.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct Ymm(__m256i);

/// A register of AVX-512F.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct Zmm(__m512i);

macro_rules! methods {
    (
        $load:ident $store:ident $pointer:ty, $broadcast:ident
        $and:ident $or:ident $xor:ident $and_not:ident
        $low_32:ident $high_32:ident $low_64:ident $high_64:ident
    ) => {
        const LANES: usize = size_of::<Self>() / 4;

        by_contract! {
            fn broadcast(word: u32) -> Self { Self($broadcast(word as i32)) }
            fn load(from: *const u8) -> Self { Self($load(from.cast::<$pointer>())) }
            fn store(self, to: *mut u8) { $store(to.cast::<$pointer>(), self.0) }
        }
        by_possession! {
            fn filled_with(self, word: u32) -> Self { Self($broadcast(word as i32)) }
            fn and(self, other: Self) -> Self { Self($and(self.0, other.0)) }
            fn or(self, other: Self) -> Self { Self($or(self.0, other.0)) }
            fn xor(self, other: Self) -> Self { Self($xor(self.0, other.0)) }
            fn and_not(self, other: Self) -> Self { Self($and_not(other.0, self.0)) }
            fn not(self) -> Self { Self($xor(self.0, $broadcast(-1))) }
            fn transpose([a, b, c, d]: [Self; 4]) -> [Self; 4] {
                let (ab, cd) = ($low_32(a.0, b.0), $low_32(c.0, d.0));
                let (high_ab, high_cd) = ($high_32(a.0, b.0), $high_32(c.0, d.0));
                [
                    Self($low_64(ab, cd)),
                    Self($high_64(ab, cd)),
                    Self($low_64(high_ab, high_cd)),
                    Self($high_64(high_ab, high_cd)),
                ]
            }
        }
    };
}

/// Operations that take more than one instruction if instructions have only two operands.
macro_rules! two_operands {
    ($or:ident $xor:ident $shift_left:ident $shift_right:ident) => {
        by_possession! {
            fn shift_left<const N: i32, const REST: i32>(self) -> Self {
                Self($shift_left::<N>(self.0))
            }
            fn rotate_left<const N: i32, const REST: i32>(self) -> Self {
                Self($or($shift_left::<N>(self.0), $shift_right::<REST>(self.0)))
            }
            fn xor3(self, second: Self, third: Self) -> Self {
                Self($xor($xor(self.0, second.0), third.0))
            }
        }
        substitute_words!(gates);
    };
}

impl Words for Xmm {
    methods! {
        _mm_loadu_si128 _mm_storeu_si128 __m128i, _mm_set1_epi32
        _mm_and_si128 _mm_or_si128 _mm_xor_si128 _mm_andnot_si128
        _mm_unpacklo_epi32 _mm_unpackhi_epi32 _mm_unpacklo_epi64 _mm_unpackhi_epi64
    }
    two_operands!(_mm_or_si128 _mm_xor_si128 _mm_slli_epi32 _mm_srli_epi32);
}

impl Words for Ymm {
    methods! {
        _mm256_loadu_si256 _mm256_storeu_si256 __m256i, _mm256_set1_epi32
        _mm256_and_si256 _mm256_or_si256 _mm256_xor_si256 _mm256_andnot_si256
        _mm256_unpacklo_epi32 _mm256_unpackhi_epi32 _mm256_unpacklo_epi64 _mm256_unpackhi_epi64
    }
    two_operands!(_mm256_or_si256 _mm256_xor_si256 _mm256_slli_epi32 _mm256_srli_epi32);
}

impl Words for Zmm {
    methods! {
        _mm512_loadu_si512 _mm512_storeu_si512 __m512i, _mm512_set1_epi32
        _mm512_and_si512 _mm512_or_si512 _mm512_xor_si512 _mm512_andnot_si512
        _mm512_unpacklo_epi32 _mm512_unpackhi_epi32 _mm512_unpacklo_epi64 _mm512_unpackhi_epi64
    }
    by_possession! {
        fn shift_left<const N: i32, const REST: i32>(self) -> Self {
            Self(_mm512_sll_epi32(self.0, _mm_cvtsi32_si128(N)))
        }
        fn rotate_left<const N: i32, const REST: i32>(self) -> Self {
            Self(_mm512_rol_epi32::<N>(self.0))
        }
        fn xor3(self, second: Self, third: Self) -> Self {
            const XOR: i32 = 0x96;
            Self(_mm512_ternarylogic_epi64::<XOR>(self.0, second.0, third.0))
        }
    }
    substitute_words!(ternary);
}

impl Zmm {
    by_possession! {
        /// Returns bit 4 a + 2 b + c of `TABLE`, for every bit of the registers.
        fn look_up<const TABLE: i32>(a: Self, b: Self, c: Self) -> Self {
            Self(_mm512_ternarylogic_epi64::<TABLE>(a.0, b.0, c.0))
        }
    }
}
