//! Words of many messages in 256-bit and 512-bit registers.
//!
//! With AVX-512 a rotation and any function of three bits are one instruction each.

use core::arch::x86_64::*;

use super::gather::transpose;
use crate::contract::{by_contract, by_possession};
use crate::hash::words::{Word, Words};
use crate::hash::{Function, Rows};
use crate::x86_64::{Avx2, Avx512};

/// Eight words of 32 bits.
#[derive(Clone, Copy)]
pub struct Eight32(__m256i);
/// Four words of 64 bits.
#[derive(Clone, Copy)]
pub struct Four64(__m256i);
/// Sixteen words of 32 bits.
#[derive(Clone, Copy)]
pub struct Sixteen32(__m512i);
/// Eight words of 64 bits.
#[derive(Clone, Copy)]
pub struct Eight64(__m512i);

/// A word, and the registers that hold many.
pub trait Registers: Word {
    /// On 256-bit registers.
    type Avx2: Words<Word = Self>;
    /// On 512-bit registers.
    type Avx512: Words<Word = Self>;
}

impl Registers for u32 {
    type Avx2 = Eight32;
    type Avx512 = Sixteen32;
}

impl Registers for u64 {
    type Avx2 = Four64;
    type Avx512 = Eight64;
}

macro_rules! kernel {
    ($name:ident, $token:ty, $words:ident, $features:literal, $counter:ident) => {
        /// Absorbs `blocks` blocks of each message into their states.
        ///
        /// # Safety
        /// For each lane of the registers, `from` has a pointer valid for that many blocks.
        pub(crate) unsafe fn $name<H: Function<Word: Registers>>(
            _: $token,
            rows: &mut Rows<H::Word>,
            from: *const *const u8,
            blocks: usize,
        ) {
            /// # Safety
            /// The same as for the enclosing function.
            #[target_feature(enable = $features)]
            unsafe fn absorb<H: Function<Word: Registers>>(
                rows: &mut Rows<H::Word>,
                from: *const *const u8,
                blocks: usize,
            ) {
                // SAFETY: the instructions of `$words` are enabled here; the caller guarantees a pointer to each message,
                // valid for `blocks` blocks.
                unsafe { H::absorb::<<H::Word as Registers>::$words>(rows, from, blocks, ()) }
            }
            #[cfg(debug_assertions)]
            crate::dispatch::batch::$counter.hit();
            // SAFETY: the token proves the features; the caller of this function guarantees `from`.
            unsafe { absorb::<H>(rows, from, blocks) }
        }
    };
}

kernel!(absorb_avx2, Avx2, Avx2, "avx2", HASH_AVX2);
kernel!(
    absorb_avx512,
    Avx512,
    Avx512,
    "avx512f,avx512bw,avx512vl",
    HASH_AVX512
);

macro_rules! wide {
    ($name:ident, $register:ident, $word:ident, $lanes:literal,
     $splat:ident($cast:ident), $load:ident, $store:ident, $add:ident, $rol:ident, $srlv:ident) => {
        impl Words for $name {
            const LANES: usize = $lanes;
            type Word = $word;

            by_contract! {
                fn splat(word: $word) -> Self { Self($splat(word as $cast)) }
                fn load(from: *const $word) -> Self { Self($load(from.cast())) }
                fn store(self, to: *mut $word) { $store(to.cast(), self.0) }
                fn block<const BIG_ENDIAN: bool>(from: *const *const u8, at: usize) -> [Self; 16] {
                    Self::words::<BIG_ENDIAN>(from, at)
                }
            }
            by_possession! {
                fn plus(self, other: Self) -> Self { Self($add(self.0, other.0)) }
                fn shift_right<const N: u32>(self) -> Self {
                    Self($srlv(self.0, _mm_cvtsi32_si128(N as i32)))
                }
            }
            wide!(@ $register, $rol);
        }
    };
    (@ __m512i, $rol:ident) => {
        by_possession! {
            fn xor(self, other: Self) -> Self { Self(_mm512_xor_si512(self.0, other.0)) }
            fn rotate_left<const N: i32, const BACK: i32>(self) -> Self { Self($rol::<N>(self.0)) }
            fn choose(self, y: Self, z: Self) -> Self {
                Self(_mm512_ternarylogic_epi32::<0xca>(self.0, y.0, z.0))
            }
            fn majority(self, y: Self, z: Self) -> Self {
                Self(_mm512_ternarylogic_epi32::<0xe8>(self.0, y.0, z.0))
            }
            fn parity(self, y: Self, z: Self) -> Self {
                Self(_mm512_ternarylogic_epi32::<0x96>(self.0, y.0, z.0))
            }
            fn md5_i(self, y: Self, z: Self) -> Self {
                Self(_mm512_ternarylogic_epi32::<0x39>(self.0, y.0, z.0))
            }
        }
    };
    (@ __m256i, $shifts:ident) => {
        by_possession! {
            fn xor(self, other: Self) -> Self { Self(_mm256_xor_si256(self.0, other.0)) }
            fn rotate_left<const N: i32, const BACK: i32>(self) -> Self {
                Self($shifts::<N, BACK>(self.0))
            }
            fn choose(self, y: Self, z: Self) -> Self {
                Self(_mm256_xor_si256(z.0, _mm256_and_si256(self.0, _mm256_xor_si256(y.0, z.0))))
            }
            fn majority(self, y: Self, z: Self) -> Self {
                let either = _mm256_or_si256(self.0, y.0);
                Self(_mm256_or_si256(_mm256_and_si256(self.0, y.0), _mm256_and_si256(z.0, either)))
            }
            fn parity(self, y: Self, z: Self) -> Self {
                Self(_mm256_xor_si256(self.0, _mm256_xor_si256(y.0, z.0)))
            }
            fn md5_i(self, y: Self, z: Self) -> Self {
                let ones = _mm256_set1_epi32(-1);
                Self(_mm256_xor_si256(y.0, _mm256_or_si256(self.0, _mm256_xor_si256(z.0, ones))))
            }
        }
    };
}

wide!(
    Eight32,
    __m256i,
    u32,
    8,
    _mm256_set1_epi32(i32),
    _mm256_loadu_si256,
    _mm256_storeu_si256,
    _mm256_add_epi32,
    rotate_32,
    _mm256_srl_epi32
);
wide!(
    Four64,
    __m256i,
    u64,
    4,
    _mm256_set1_epi64x(i64),
    _mm256_loadu_si256,
    _mm256_storeu_si256,
    _mm256_add_epi64,
    rotate_64,
    _mm256_srl_epi64
);
wide!(
    Sixteen32,
    __m512i,
    u32,
    16,
    _mm512_set1_epi32(i32),
    _mm512_loadu_si512,
    _mm512_storeu_si512,
    _mm512_add_epi32,
    _mm512_rol_epi32,
    _mm512_srl_epi32
);
wide!(
    Eight64,
    __m512i,
    u64,
    8,
    _mm512_set1_epi64(i64),
    _mm512_loadu_si512,
    _mm512_storeu_si512,
    _mm512_add_epi64,
    _mm512_rol_epi64,
    _mm512_srl_epi64
);

/// # Safety
/// The CPU has AVX2.
#[inline(always)]
unsafe fn rotate_32<const N: i32, const BACK: i32>(x: __m256i) -> __m256i {
    // SAFETY: the caller has AVX2, which shifts 32-bit words.
    unsafe { _mm256_or_si256(_mm256_slli_epi32::<N>(x), _mm256_srli_epi32::<BACK>(x)) }
}

/// # Safety
/// The CPU has AVX2.
#[inline(always)]
unsafe fn rotate_64<const N: i32, const BACK: i32>(x: __m256i) -> __m256i {
    // SAFETY: the caller has AVX2, which shifts 64-bit words.
    unsafe { _mm256_or_si256(_mm256_slli_epi64::<N>(x), _mm256_srli_epi64::<BACK>(x)) }
}

/// The bytes of each 32-bit word, and of each 64-bit word, reversed.
const SWAP_32: [u8; 16] = [3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12];
const SWAP_64: [u8; 16] = [7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8];

// In each of the four, rows are a register of each message, which are merged word by word within 128 bits; then these are
// moved to their places. There are no closures: the compiler does not give them the features of the function that they are
// inlined into, and a call for each word costs four times what the hash does.

macro_rules! merged {
    ($name:ident, $register:ident, $lo32:ident, $hi32:ident, $lo64:ident, $hi64:ident) => {
        /// Collects word i of four rows in each 128 bits of register i.
        ///
        /// # Safety
        /// The CPU has AVX2, or AVX-512 F for 512 bits.
        #[inline(always)]
        unsafe fn $name(a: $register, b: $register, c: $register, d: $register) -> [$register; 4] {
            // SAFETY: unpacking needs AVX2 or, for 512 bits, AVX-512 F, which the caller has.
            unsafe {
                let [ab, cd] = [$lo32(a, b), $lo32(c, d)];
                let [ab_high, cd_high] = [$hi32(a, b), $hi32(c, d)];
                [
                    $lo64(ab, cd),
                    $hi64(ab, cd),
                    $lo64(ab_high, cd_high),
                    $hi64(ab_high, cd_high),
                ]
            }
        }
    };
}

merged!(
    merged_256,
    __m256i,
    _mm256_unpacklo_epi32,
    _mm256_unpackhi_epi32,
    _mm256_unpacklo_epi64,
    _mm256_unpackhi_epi64
);
merged!(
    merged_512,
    __m512i,
    _mm512_unpacklo_epi32,
    _mm512_unpackhi_epi32,
    _mm512_unpacklo_epi64,
    _mm512_unpackhi_epi64
);

macro_rules! rows {
    ($zero:expr, $number:literal, |$i:ident| $row:expr) => {{
        let mut rows = [$zero; $number];
        let mut $i = 0;
        while $i < $number {
            rows[$i] = $row;
            $i += 1;
        }
        rows
    }};
}

impl Eight32 {
    /// # Safety
    /// The CPU has AVX2; `from` has 8 pointers, each valid for reads of 64 bytes after `at`.
    #[inline(always)]
    unsafe fn words<const SWAP: bool>(from: *const *const u8, at: usize) -> [Self; 16] {
        // SAFETY: the caller has AVX2, and the two registers read after `at` at each of 8 pointers.
        unsafe {
            let swap = _mm256_broadcastsi128_si256(_mm_loadu_si128(SWAP_32.as_ptr().cast()));
            let mut words = [Self(_mm256_setzero_si256()); 16];
            for half in 0..2 {
                let rows = rows!(_mm256_setzero_si256(), 8, |i| {
                    let row = _mm256_loadu_si256((*from.add(i)).add(at + 32 * half).cast());
                    if SWAP {
                        _mm256_shuffle_epi8(row, swap)
                    } else {
                        row
                    }
                });
                let first = merged_256(rows[0], rows[1], rows[2], rows[3]);
                let second = merged_256(rows[4], rows[5], rows[6], rows[7]);
                for i in 0..4 {
                    let at = 8 * half + i;
                    words[at] = Self(_mm256_permute2x128_si256::<0x20>(first[i], second[i]));
                    words[at + 4] = Self(_mm256_permute2x128_si256::<0x31>(first[i], second[i]));
                }
            }
            words
        }
    }
}

impl Four64 {
    /// # Safety
    /// The CPU has AVX2; `from` has 4 pointers, each valid for reads of 128 bytes after `at`.
    #[inline(always)]
    unsafe fn words<const SWAP: bool>(from: *const *const u8, at: usize) -> [Self; 16] {
        // SAFETY: the caller has AVX2, and the four registers read after `at` at each of 4 pointers.
        unsafe {
            let swap = _mm256_broadcastsi128_si256(_mm_loadu_si128(SWAP_64.as_ptr().cast()));
            let mut words = [Self(_mm256_setzero_si256()); 16];
            for quarter in 0..4 {
                let [a, b, c, d] = rows!(_mm256_setzero_si256(), 4, |i| {
                    let row = _mm256_loadu_si256((*from.add(i)).add(at + 32 * quarter).cast());
                    if SWAP {
                        _mm256_shuffle_epi8(row, swap)
                    } else {
                        row
                    }
                });
                let low = [_mm256_unpacklo_epi64(a, b), _mm256_unpacklo_epi64(c, d)];
                let high = [_mm256_unpackhi_epi64(a, b), _mm256_unpackhi_epi64(c, d)];
                let at = 4 * quarter;
                words[at] = Self(_mm256_permute2x128_si256::<0x20>(low[0], low[1]));
                words[at + 1] = Self(_mm256_permute2x128_si256::<0x20>(high[0], high[1]));
                words[at + 2] = Self(_mm256_permute2x128_si256::<0x31>(low[0], low[1]));
                words[at + 3] = Self(_mm256_permute2x128_si256::<0x31>(high[0], high[1]));
            }
            words
        }
    }
}

impl Sixteen32 {
    /// # Safety
    /// The CPU has AVX-512 F and BW; `from` has 16 pointers, each valid for reads of 64 bytes after `at`.
    #[inline(always)]
    unsafe fn words<const SWAP: bool>(from: *const *const u8, at: usize) -> [Self; 16] {
        // SAFETY: the caller has AVX-512 F and BW, and a register after `at` at each of 16 pointers.
        unsafe {
            let swap = _mm512_broadcast_i32x4(_mm_loadu_si128(SWAP_32.as_ptr().cast()));
            let mut quads = [[_mm512_setzero_si512(); 4]; 4];
            for (i, quad) in quads.iter_mut().enumerate() {
                let [a, b, c, d] = rows!(_mm512_setzero_si512(), 4, |j| {
                    let row = _mm512_loadu_si512((*from.add(4 * i + j)).add(at).cast());
                    if SWAP {
                        _mm512_shuffle_epi8(row, swap)
                    } else {
                        row
                    }
                });
                *quad = merged_512(a, b, c, d);
            }
            let mut words = [Self(_mm512_setzero_si512()); 16];
            for i in 0..4 {
                let placed = transpose([quads[0][i], quads[1][i], quads[2][i], quads[3][i]]);
                for j in 0..4 {
                    words[4 * j + i] = Self(placed[j]);
                }
            }
            words
        }
    }
}

impl Eight64 {
    /// # Safety
    /// The CPU has AVX-512 F and BW; `from` has 8 pointers, each valid for reads of 128 bytes after `at`.
    #[inline(always)]
    unsafe fn words<const SWAP: bool>(from: *const *const u8, at: usize) -> [Self; 16] {
        // SAFETY: the caller has AVX-512 F and BW, and two registers after `at` at each of 8 pointers.
        unsafe {
            let swap = _mm512_broadcast_i32x4(_mm_loadu_si128(SWAP_64.as_ptr().cast()));
            let mut words = [Self(_mm512_setzero_si512()); 16];
            for half in 0..2 {
                let rows = rows!(_mm512_setzero_si512(), 8, |i| {
                    let row = _mm512_loadu_si512((*from.add(i)).add(at + 64 * half).cast());
                    if SWAP {
                        _mm512_shuffle_epi8(row, swap)
                    } else {
                        row
                    }
                });
                let low = rows!(_mm512_setzero_si512(), 4, |i| {
                    _mm512_unpacklo_epi64(rows[2 * i], rows[2 * i + 1])
                });
                let high = rows!(_mm512_setzero_si512(), 4, |i| {
                    _mm512_unpackhi_epi64(rows[2 * i], rows[2 * i + 1])
                });
                let [low, high] = [transpose(low), transpose(high)];
                for j in 0..4 {
                    words[8 * half + 2 * j] = Self(low[j]);
                    words[8 * half + 2 * j + 1] = Self(high[j]);
                }
            }
            words
        }
    }
}
