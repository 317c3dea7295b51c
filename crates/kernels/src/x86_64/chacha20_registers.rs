//! Registers of 128, 256 and 512 bits that hold rows or words of ChaCha20 blocks.

use core::arch::asm;
use core::arch::x86_64::*;

use crate::contract::{by_contract, by_possession};
use crate::stitched::{self, Data, Register, Rows, Words};

/// A row.
#[derive(Clone, Copy)]
pub(super) struct Xmm(__m128i);

/// Two rows. AVX2 has no rotation; AVX-512 does, and with it `ROTATES` is set.
#[derive(Clone, Copy)]
pub(super) struct Ymm<const ROTATES: bool>(__m256i);

/// Sixteen words, or four rows.
#[derive(Clone, Copy)]
pub(super) struct Zmm(__m512i);

impl Register for Xmm {
    by_possession! {
        fn add(self, other: Self) -> Self { Self(_mm_add_epi32(self.0, other.0)) }
        fn xor(self, other: Self) -> Self { Self(_mm_xor_si128(self.0, other.0)) }
        fn rotate_left<const BITS: u32>(self) -> Self {
            Self(match BITS {
                16 => shuffle_bytes_128(self.0, byte_rotation_128(2)),
                8 => shuffle_bytes_128(self.0, byte_rotation_128(3)),
                12 => _mm_or_si128(_mm_slli_epi32::<12>(self.0), _mm_srli_epi32::<20>(self.0)),
                _ => _mm_or_si128(_mm_slli_epi32::<7>(self.0), _mm_srli_epi32::<25>(self.0)),
            })
        }
    }
}

impl Rows for Xmm {
    const BLOCKS: usize = 1;

    by_contract! {
        fn repeat_words(row: &[u32; 4]) -> Self { Self(_mm_loadu_si128(row.as_ptr().cast())) }
        fn repeat(row: u128) -> Self { Self(row_of(row)) }
        fn counters(first: u32) -> Self { Self(_mm_setr_epi32(first as i32, 0, 0, 0)) }
        fn load(from: *const u8) -> Self { Self(_mm_loadu_si128(from.cast())) }
        fn store(self, to: *mut u8) { _mm_storeu_si128(to.cast(), self.0) }
    }
    by_possession! {
        fn turn<const BY: u32>(self) -> Self {
            Self(match BY {
                1 => _mm_shuffle_epi32::<0x39>(self.0),
                2 => _mm_shuffle_epi32::<0x4e>(self.0),
                _ => _mm_shuffle_epi32::<0x93>(self.0),
            })
        }
    }
    #[inline(always)]
    fn blocks(set: [Self; 4]) -> [Self; 4] {
        set
    }
}

impl<const ROTATES: bool> Register for Ymm<ROTATES> {
    by_possession! {
        fn add(self, other: Self) -> Self { Self(_mm256_add_epi32(self.0, other.0)) }
        fn xor(self, other: Self) -> Self { Self(_mm256_xor_si256(self.0, other.0)) }
        fn rotate_left<const BITS: u32>(self) -> Self {
            if ROTATES {
                return Self(match BITS {
                    16 => _mm256_rol_epi32::<16>(self.0),
                    12 => _mm256_rol_epi32::<12>(self.0),
                    8 => _mm256_rol_epi32::<8>(self.0),
                    _ => _mm256_rol_epi32::<7>(self.0),
                });
            }
            Self(match BITS {
                16 => shuffle_bytes(self.0, byte_rotation(2)),
                8 => shuffle_bytes(self.0, byte_rotation(3)),
                12 => _mm256_or_si256(
                    _mm256_slli_epi32::<12>(self.0),
                    _mm256_srli_epi32::<20>(self.0),
                ),
                _ => _mm256_or_si256(
                    _mm256_slli_epi32::<7>(self.0),
                    _mm256_srli_epi32::<25>(self.0),
                ),
            })
        }
    }
}

impl<const ROTATES: bool> Rows for Ymm<ROTATES> {
    const BLOCKS: usize = 2;

    by_contract! {
        fn repeat_words(row: &[u32; 4]) -> Self {
            Self(_mm256_broadcastsi128_si256(_mm_loadu_si128(
                row.as_ptr().cast(),
            )))
        }
        fn repeat(row: u128) -> Self { Self(_mm256_broadcastsi128_si256(row_of(row))) }
        fn counters(first: u32) -> Self {
            let [a, b] = [0, 1].map(|i| (first + i) as i32);
            Self(_mm256_setr_epi32(a, 0, 0, 0, b, 0, 0, 0))
        }
        fn load(from: *const u8) -> Self { Self(_mm256_loadu_si256(from.cast())) }
        fn store(self, to: *mut u8) { _mm256_storeu_si256(to.cast(), self.0) }
    }
    by_possession! {
        fn turn<const BY: u32>(self) -> Self {
            Self(match BY {
                1 => _mm256_shuffle_epi32::<0x39>(self.0),
                2 => _mm256_shuffle_epi32::<0x4e>(self.0),
                _ => _mm256_shuffle_epi32::<0x93>(self.0),
            })
        }
        fn blocks([a, b, c, d]: [Self; 4]) -> [Self; 4] {
            [
                Self(_mm256_permute2x128_si256::<0x20>(a.0, b.0)),
                Self(_mm256_permute2x128_si256::<0x20>(c.0, d.0)),
                Self(_mm256_permute2x128_si256::<0x31>(a.0, b.0)),
                Self(_mm256_permute2x128_si256::<0x31>(c.0, d.0)),
            ]
        }
    }
}

impl Register for Zmm {
    by_possession! {
        fn add(self, other: Self) -> Self { Self(_mm512_add_epi32(self.0, other.0)) }
        fn xor(self, other: Self) -> Self { Self(_mm512_xor_si512(self.0, other.0)) }
        fn rotate_left<const BITS: u32>(self) -> Self {
            Self(match BITS {
                16 => _mm512_rol_epi32::<16>(self.0),
                12 => _mm512_rol_epi32::<12>(self.0),
                8 => _mm512_rol_epi32::<8>(self.0),
                _ => _mm512_rol_epi32::<7>(self.0),
            })
        }
    }
}

impl Words for Zmm {
    const BLOCKS: usize = 16;

    by_contract! {
        fn splat(word: u32) -> Self { Self(_mm512_set1_epi32(word as i32)) }
        fn counters(first: u32) -> Self {
            let each = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
            Self::splat(first).add(Self(each))
        }
        fn xor_blocks(mut words: [Self; 16], from: *const u8, to: *mut u8) {
            Self::xor_blocks_step(&mut words, 0, from, to);
            Self::xor_blocks_step(&mut words, 1, from, to);
            Self::xor_blocks_step(&mut words, 2, from, to);
            Self::xor_blocks_step(&mut words, 3, from, to);
            Self::xor_blocks_step(&mut words, 4, from, to);
            Self::xor_blocks_step(&mut words, 5, from, to);
            Self::xor_blocks_step(&mut words, 6, from, to);
            Self::xor_blocks_step(&mut words, 7, from, to);
        }
    }
    #[inline(always)]
    unsafe fn xor_blocks_step(words: &mut [Self; 16], step: usize, from: *const u8, to: *mut u8) {
        // SAFETY: the caller has AVX-512 F, and 16 blocks at both pointers, of which four quarters are accessed.
        unsafe {
            if step < 4 {
                let four = &mut words[4 * step..4 * step + 4];
                let turned = transpose_words([four[0].0, four[1].0, four[2].0, four[3].0]);
                for (word, turned) in four.iter_mut().zip(turned) {
                    word.0 = turned;
                }
                return;
            }
            // Quarter g of each of the blocks i, i + 4, i + 8 and i + 12.
            let i = step - 4;
            let quarters = [words[i], words[4 + i], words[8 + i], words[12 + i]];
            let blocks = transpose_quarters(quarters.map(|word| word.0));
            for (k, block) in blocks.into_iter().enumerate() {
                let at = (4 * k + i) * stitched::BLOCK_BYTES;
                let data = _mm512_loadu_si512(from.add(at).cast());
                _mm512_storeu_si512(to.add(at).cast(), _mm512_xor_si512(block, data));
            }
        }
    }
}

impl Rows for Zmm {
    const BLOCKS: usize = 4;

    by_contract! {
        fn repeat_words(row: &[u32; 4]) -> Self {
            Self(_mm512_broadcast_i32x4(_mm_loadu_si128(row.as_ptr().cast())))
        }
        fn repeat(row: u128) -> Self { Self(_mm512_broadcast_i32x4(row_of(row))) }
        fn counters(first: u32) -> Self {
            let [a, b, c, d] = [0, 1, 2, 3].map(|i| (first + i) as i32);
            let each = _mm512_setr_epi32(a, 0, 0, 0, b, 0, 0, 0, c, 0, 0, 0, d, 0, 0, 0);
            Self(each)
        }
        fn load(from: *const u8) -> Self { Self(_mm512_loadu_si512(from.cast())) }
        fn store(self, to: *mut u8) { _mm512_storeu_si512(to.cast(), self.0) }
    }
    by_possession! {
        fn turn<const BY: u32>(self) -> Self {
            Self(match BY {
                1 => _mm512_shuffle_epi32::<0x39>(self.0),
                2 => _mm512_shuffle_epi32::<0x4e>(self.0),
                _ => _mm512_shuffle_epi32::<0x93>(self.0),
            })
        }
        fn blocks(set: [Self; 4]) -> [Self; 4] {
            transpose_quarters(set.map(|row| row.0)).map(Self)
        }
    }
    #[inline(always)]
    unsafe fn xor_bytes(keystream: &[u8], Data { from, to, .. }: Data) {
        // As wide as Poly1305's loads: a load that spans several stores waits for them to finish.
        // SAFETY: the caller has AVX-512 BW, and the bytes of `keystream` at both pointers; masked bytes are not accessed.
        unsafe {
            let (registers, rest) = keystream.as_chunks::<64>();
            for (i, key) in registers.iter().enumerate() {
                let xored = Self::load(key.as_ptr()).xor(Self::load(from.add(64 * i)));
                xored.store(to.add(64 * i));
            }
            if !rest.is_empty() {
                let at = 64 * registers.len();
                let mask = u64::MAX >> (64 - rest.len());
                let key = _mm512_maskz_loadu_epi8(mask, rest.as_ptr().cast());
                let data = _mm512_maskz_loadu_epi8(mask, from.add(at).cast());
                let xored = _mm512_xor_si512(key, data);
                _mm512_mask_storeu_epi8(to.add(at).cast(), mask, xored);
            }
        }
    }
}

/// Moves byte i of every word to i + `4 - n`: a rotation to the left by 8 (4 - n) bits.
///
/// # Safety
/// AVX2 is enabled in the caller.
#[inline(always)]
unsafe fn byte_rotation(n: u32) -> __m256i {
    // SAFETY: AVX2 is enabled in the caller, to repeat 128 bits.
    unsafe { _mm256_broadcastsi128_si256(byte_rotation_128(n)) }
}

/// # Safety
/// Needs SSE2, which every x86-64 CPU has.
#[inline(always)]
unsafe fn byte_rotation_128(n: u32) -> __m128i {
    let word = |i: u32| (0x0302_0100u32.rotate_right(8 * n) + 0x0404_0404 * i) as i32;
    // SAFETY: a register of words is set with SSE2, which every x86-64 CPU has.
    unsafe { _mm_setr_epi32(word(0), word(1), word(2), word(3)) }
}

/// Like `_mm256_shuffle_epi8`, which compilers would replace with two shuffles of words, or with one on either side of the
/// XOR before it.
///
/// # Safety
/// The CPU has AVX2.
#[target_feature(enable = "avx2")]
#[inline]
unsafe fn shuffle_bytes(bytes: __m256i, order: __m256i) -> __m256i {
    let shuffled;
    // SAFETY: AVX2 is enabled for `vpshufb`, which accesses no memory.
    unsafe {
        asm!(
            "vpshufb {0}, {1}, {2}",
            lateout(ymm_reg) shuffled,
            in(ymm_reg) bytes,
            in(ymm_reg) order,
            options(pure, nomem, nostack, preserves_flags)
        );
    }
    shuffled
}

/// The same for 128 bits.
///
/// # Safety
/// The CPU has SSSE3.
#[target_feature(enable = "ssse3")]
#[inline]
unsafe fn shuffle_bytes_128(mut bytes: __m128i, order: __m128i) -> __m128i {
    // SAFETY: SSSE3 is enabled for `pshufb`, which accesses no memory.
    unsafe {
        asm!(
            "pshufb {0}, {1}",
            inout(xmm_reg) bytes,
            in(xmm_reg) order,
            options(pure, nomem, nostack, preserves_flags)
        );
    }
    bytes
}

/// # Safety
/// Needs SSE2, which every x86-64 CPU has.
#[inline(always)]
unsafe fn row_of(row: u128) -> __m128i {
    // SAFETY: two halves are set with SSE2, which every x86-64 CPU has.
    unsafe { _mm_set_epi64x((row >> 64) as i64, row as i64) }
}

/// Transposes four by four words in every 128 bits.
///
/// # Safety
/// AVX-512 F is enabled in the caller.
#[inline(always)]
unsafe fn transpose_words([a, b, c, d]: [__m512i; 4]) -> [__m512i; 4] {
    // SAFETY: the caller has AVX-512 F to unpack words.
    unsafe {
        let (ab_low, ab_high) = (_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
        let (cd_low, cd_high) = (_mm512_unpacklo_epi32(c, d), _mm512_unpackhi_epi32(c, d));
        [
            _mm512_unpacklo_epi64(ab_low, cd_low),
            _mm512_unpackhi_epi64(ab_low, cd_low),
            _mm512_unpacklo_epi64(ab_high, cd_high),
            _mm512_unpackhi_epi64(ab_high, cd_high),
        ]
    }
}

/// Transposes four by four quarters of 128 bits.
///
/// # Safety
/// AVX-512 F is enabled in the caller.
#[inline(always)]
unsafe fn transpose_quarters([a, b, c, d]: [__m512i; 4]) -> [__m512i; 4] {
    // SAFETY: the caller has AVX-512 F, which swaps quarters.
    unsafe {
        let ab_low = _mm512_shuffle_i32x4::<0x88>(a, b);
        let ab_high = _mm512_shuffle_i32x4::<0xdd>(a, b);
        let cd_low = _mm512_shuffle_i32x4::<0x88>(c, d);
        let cd_high = _mm512_shuffle_i32x4::<0xdd>(c, d);
        [
            _mm512_shuffle_i32x4::<0x88>(ab_low, cd_low),
            _mm512_shuffle_i32x4::<0x88>(ab_high, cd_high),
            _mm512_shuffle_i32x4::<0xdd>(ab_low, cd_low),
            _mm512_shuffle_i32x4::<0xdd>(ab_high, cd_high),
        ]
    }
}
