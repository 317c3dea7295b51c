//! GHASH where the CPU does not multiply without carry: products by byte shuffles, constant-time.
//!
//! A shuffle is a table of 16 entries for every byte of a register. So with n the multiples of H by
//! every polynomial of 4 bits, and byte k of all of them in a register as row k, one shuffle has byte k
//! of the products of all lower halves of a block's bytes, and another, of the rows of x^4 H, that of
//! the upper ones:
//!
//! ```text
//! block * H  =  sum over k and j of  (row k at half j of the block)  x^(8k + 8j)
//! ```
//!
//! Byte j of what the shuffles give stands where it belongs, so that a row is one shuffle, and the rows
//! are summed by Horner's rule, a byte on at each step, once for all blocks that have powers of H of
//! their own. (BoringSSL's `ghash-ssse3-x86_64.pl` looks up rows so too, for one block after the other.)
//!
//! A block takes 32 shuffles and as many XORs, and a quarter of 16 steps of two shuffles and a XOR. At two
//! shuffles a cycle that is 20 cycles; the 75 products of integers of [`crate::portable::ghash`] take 150.
//! 256-bit registers take two blocks at once. Elements are those of POLYVAL, as in [`super::ghash`].

use core::arch::x86_64::*;

use super::bitslice::{Bits, wipe_stack_narrow};
use super::ghash::Powers;
use super::lanes::Lanes;
use super::{Avx2, Ssse3};
use crate::key::BLOCK_BYTES;
use crate::portable::ghash::POLYNOMIAL;
use crate::wipe::wipe;

/// Proof of one of the two widths.
#[derive(Clone, Copy)]
pub(crate) enum Shuffles {
    Narrow(Ssse3),
    Wide(Avx2),
}

impl Shuffles {
    /// Makes the rows of H, an element of POLYVAL's field.
    pub(crate) fn make(self, rows: &mut Powers, h: u128) {
        // SAFETY: either token proves SSSE3; the reference is exclusive, and has room for the rows of one
        // power.
        unsafe {
            make(Rows(rows).of(1), h);
            wipe_stack_narrow::<16>();
        }
    }

    /// Makes the rows of the other powers that this width takes.
    ///
    /// # Safety
    /// Those of H have been made; no other code uses any of the others.
    pub(crate) unsafe fn make_more(self, rows: *mut Powers, h: u128) {
        let powers = match self {
            Self::Narrow(_) => POWERS_NARROW,
            Self::Wide(_) => POWERS_WIDE,
        };
        // SAFETY: either token proves SSSE3; the rest as the caller vouches: there is room for so many
        // powers.
        unsafe {
            make_more(Rows(rows), h, powers);
            wipe_stack_narrow::<32>();
        }
    }

    /// GHASH of `data`, filled with zeros to a block, from `y` on.
    ///
    /// # Safety
    /// The rows of H have been made (or are zero), and with `has_more` the others; nothing writes them during the
    /// call.
    #[inline(always)]
    pub(crate) unsafe fn hash(
        self,
        rows: *const Powers,
        has_more: bool,
        y: u128,
        data: &[u8],
    ) -> u128 {
        let rows = Rows(rows.cast_mut());
        // SAFETY: the token proves the features; the rest as the caller vouches.
        unsafe {
            match self {
                Self::Narrow(_) => hash_narrow(rows, has_more, y, data),
                Self::Wide(_) => hash_wide(rows, has_more, y, data),
            }
        }
    }
}

/// Powers with rows: as many blocks are one sum. Four registers of halves are eight, of the sixteen.
const REGISTERS: usize = 4;
const POWERS_NARROW: usize = REGISTERS;
const POWERS_WIDE: usize = REGISTERS * __m256i::BLOCKS;

/// Wipes the rows of H, or all.
#[inline(always)]
pub(crate) fn wipe_rows(rows: &mut Powers, has_more: bool) {
    // Rows of two powers lie between each other.
    let bytes = if has_more {
        POWERS_WIDE / 2 * PAIR_BYTES
    } else {
        PAIR_BYTES
    };
    // SAFETY: there is room for all powers, of bytes.
    wipe(unsafe { core::slice::from_raw_parts_mut((&raw mut *rows).cast::<u8>(), bytes) });
}

/// The rows of a power: those of the lower halves, then those of the upper ones. A row of an even power
/// and of the odd one below it share 32 bytes, in the order of the blocks that they are for.
#[derive(Clone, Copy)]
struct Rows(*mut Powers);

const _: () = assert!(POWERS_WIDE / 2 * PAIR_BYTES <= size_of::<Powers>());
const ROW_BYTES: usize = __m256i::BYTES;
const HALF_BYTES: usize = BLOCK_BYTES * ROW_BYTES;
const PAIR_BYTES: usize = 2 * HALF_BYTES;

impl Rows {
    /// Where the first row of H to `power` lies.
    ///
    /// # Safety
    /// `power` is 1 to [`POWERS_WIDE`].
    #[inline(always)]
    unsafe fn of(self, power: usize) -> *mut u8 {
        let lane = BLOCK_BYTES * (power % 2);
        // SAFETY: there is room for all powers.
        unsafe { self.0.cast::<u8>().add((power - 1) / 2 * PAIR_BYTES + lane) }
    }
}

/// Makes the rows of `element` at `rows`.
///
/// # Safety
/// The CPU has SSSE3; no other code uses the rows, for which there is room.
#[target_feature(enable = "ssse3")]
unsafe fn make(rows: *mut u8, element: u128) {
    // The multiples by x^0 to x^7.
    let mut multiples = [_mm_setzero_si128(); 8];
    let mut multiple = element;
    for register in &mut multiples {
        *register = _mm_set_epi64x((multiple >> 64) as i64, multiple as i64);
        multiple = (multiple << 1) ^ ((multiple >> 127).wrapping_neg() & POLYNOMIAL);
    }
    // Entry n of a row is the sum of the multiples whose bits n has; in place of others a shuffle takes 0.
    let mut byte = [_mm_setzero_si128(); 4];
    for (byte, entries) in byte.iter_mut().zip(&ENTRIES) {
        // SAFETY: the array has 16 bytes.
        *byte = unsafe { _mm_loadu_si128(entries.as_ptr().cast()) };
    }
    for k in 0..BLOCK_BYTES {
        for (half, multiples) in multiples.as_chunks::<4>().0.iter().enumerate() {
            let mut row = _mm_setzero_si128();
            for (multiple, byte) in multiples.iter().zip(byte) {
                row = _mm_xor_si128(row, _mm_shuffle_epi8(*multiple, byte));
            }
            // SAFETY: as the caller vouches.
            unsafe { row.store(rows.add(half * HALF_BYTES + k * ROW_BYTES)) };
        }
        for byte in &mut byte {
            *byte = _mm_add_epi8(*byte, _mm_set1_epi8(1));
        }
    }
}

/// For each bit of n, where a shuffle finds its multiple.
const ENTRIES: [[u8; 16]; 4] = {
    let mut entries = [[0x80; 16]; 4];
    let mut at = 0;
    while at < 64 {
        let (bit, n) = (at / 16, at % 16);
        if n >> bit & 1 == 1 {
            entries[bit][n] = 0;
        }
        at += 1;
    }
    entries
};

/// Makes the rows of all powers of `h` from the second to `powers`.
///
/// # Safety
/// The CPU has SSSE3; the rows of `h` have been made, and no other code uses the others.
#[target_feature(enable = "ssse3")]
unsafe fn make_more(rows: Rows, h: u128, powers: usize) {
    // SAFETY: as the caller vouches.
    unsafe {
        let mut power = __m128i::load((&raw const h).cast());
        for exponent in 2..=powers {
            power = product(rows, [power]);
            let mut element = 0_u128;
            power.store((&raw mut element).cast());
            make(rows.of(exponent), element);
        }
    }
}

/// What shuffles need beyond [`Bits`].
///
/// # Safety
/// As [`Lanes`].
trait Register: Bits {
    /// Returns the bytes of each lane at `places`, of 0 to 15.
    unsafe fn take(self, places: Self) -> Self;
    /// Shifts each lane up by a byte.
    unsafe fn up(self) -> Self;
    /// The same, with the last byte of `below` coming in.
    unsafe fn up_from(self, below: Self) -> Self;
    /// The sum of the lanes.
    unsafe fn folded(self) -> __m128i;
    /// With `y` added to the first lane.
    unsafe fn plus_in_first(self, y: __m128i) -> Self;
}

// SAFETY (both): each method is one or two intrinsics whose features the trait's contract demands.
impl Register for __m128i {
    #[inline(always)]
    unsafe fn take(self, places: Self) -> Self {
        // SAFETY: as the trait demands.
        unsafe { _mm_shuffle_epi8(self, places) }
    }
    #[inline(always)]
    unsafe fn up(self) -> Self {
        // SAFETY: as the trait demands.
        unsafe { _mm_slli_si128::<1>(self) }
    }
    #[inline(always)]
    unsafe fn up_from(self, below: Self) -> Self {
        // SAFETY: as the trait demands.
        unsafe { _mm_alignr_epi8::<15>(self, below) }
    }
    #[inline(always)]
    unsafe fn folded(self) -> __m128i {
        self
    }
    #[inline(always)]
    unsafe fn plus_in_first(self, y: __m128i) -> Self {
        // SAFETY: as the trait demands.
        unsafe { self.xor(y) }
    }
}

impl Register for __m256i {
    #[inline(always)]
    unsafe fn take(self, places: Self) -> Self {
        // SAFETY: as the trait demands.
        unsafe { _mm256_shuffle_epi8(self, places) }
    }
    #[inline(always)]
    unsafe fn up(self) -> Self {
        // SAFETY: as the trait demands.
        unsafe { _mm256_slli_si256::<1>(self) }
    }
    #[inline(always)]
    unsafe fn up_from(self, below: Self) -> Self {
        // SAFETY: as the trait demands.
        unsafe { _mm256_alignr_epi8::<15>(self, below) }
    }
    #[inline(always)]
    unsafe fn folded(self) -> __m128i {
        // SAFETY: as the trait demands.
        unsafe {
            _mm_xor_si128(
                _mm256_castsi256_si128(self),
                _mm256_extracti128_si256::<1>(self),
            )
        }
    }
    #[inline(always)]
    unsafe fn plus_in_first(self, y: __m128i) -> Self {
        // SAFETY: as the trait demands.
        unsafe { self.xor(_mm256_zextsi128_si256(y)) }
    }
}

/// The sum of the products of `blocks` with as many falling powers of H, of which the last is H.
///
/// # Safety
/// The instructions of `V` are enabled in the caller; the rows of those powers are there.
#[inline(always)]
unsafe fn product<V: Register, const N: usize>(rows: Rows, blocks: [V; N]) -> __m128i {
    // SAFETY: as the caller vouches.
    unsafe {
        let mask = V::splat(_mm_set1_epi8(0x0f));
        let zero = V::splat(_mm_setzero_si128());
        let mut halves = [[zero; 2]; N];
        for (halves, block) in halves.iter_mut().zip(blocks) {
            *halves = [block.mul(mask), block.shift_right::<4>().mul(mask)];
        }
        let (mut low, mut high) = (zero, zero);
        for k in (0..BLOCK_BYTES).rev() {
            let mut sum = zero;
            for (i, halves) in halves.iter().enumerate() {
                let rows = rows.of((N - i) * V::BLOCKS);
                for (half, places) in halves.iter().enumerate() {
                    let row = V::load(rows.add(half * HALF_BYTES + k * ROW_BYTES));
                    sum = sum.xor(row.take(*places));
                }
            }
            high = high.up_from(low);
            low = low.up().xor(sum);
        }
        reduced(low.folded(), high.folded())
    }
}

/// GHASH of as many registers of blocks as are at `from`, from `y` on.
///
/// # Safety
/// As [`product`]; the blocks are there.
#[inline(always)]
unsafe fn absorb<V: Register, const N: usize>(rows: Rows, y: __m128i, from: *const u8) -> __m128i {
    // SAFETY: as the caller vouches.
    unsafe {
        let mut registers = [V::splat(_mm_setzero_si128()); N];
        for (i, register) in registers.iter_mut().enumerate() {
            *register = V::load(from.add(i * V::BYTES)).swap_bytes();
        }
        registers[0] = registers[0].plus_in_first(y);
        product(rows, registers)
    }
}

/// Montgomery's reduction, as `portable::ghash` has it: the polynomial's lower half is 1, so the lowest 64
/// bits say themselves how often it is to be added to clear them; then the next 64 bits.
///
/// # Safety
/// The CPU has SSE2.
#[inline(always)]
unsafe fn reduced(low: __m128i, high: __m128i) -> __m128i {
    // SAFETY: every x86-64 has SSE2.
    unsafe {
        // The product of each half with x^63 + x^62 + x^57: its lower 64 bits, and its upper ones.
        let times = |halves: __m128i| {
            let sum = _mm_xor_si128(_mm_slli_epi64::<63>(halves), _mm_slli_epi64::<62>(halves));
            _mm_xor_si128(sum, _mm_slli_epi64::<57>(halves))
        };
        let over = |halves: __m128i| {
            let sum = _mm_xor_si128(_mm_srli_epi64::<1>(halves), _mm_srli_epi64::<2>(halves));
            _mm_xor_si128(sum, _mm_srli_epi64::<7>(halves))
        };
        let low = _mm_xor_si128(low, _mm_slli_si128::<8>(times(low)));
        let carried = _mm_xor_si128(low, over(low));
        let carried = _mm_xor_si128(carried, _mm_srli_si128::<8>(times(low)));
        _mm_xor_si128(high, carried)
    }
}

macro_rules! hash {
    ($name:ident, $register:ty, $features:literal, $counter:ident) => {
        /// See [`Shuffles::hash`].
        ///
        /// # Safety
        /// As there, and the CPU has the features.
        #[target_feature(enable = $features)]
        unsafe fn $name(rows: Rows, has_more: bool, y: u128, data: &[u8]) -> u128 {
            #[cfg(debug_assertions)]
            crate::dispatch::aes::$counter.hit();
            // SAFETY: as the caller vouches; the pointers stay within the data.
            unsafe {
                let mut y = __m128i::load((&raw const y).cast());
                let (blocks, tail) = data.as_chunks::<BLOCK_BYTES>();
                let mut rest = blocks;
                if has_more {
                    const GROUP: usize = REGISTERS * <$register>::BLOCKS;
                    let (groups, after) = blocks.as_chunks::<GROUP>();
                    for group in groups {
                        y = absorb::<$register, REGISTERS>(rows, y, group.as_ptr().cast());
                    }
                    let whole = after.len() / <$register>::BLOCKS * <$register>::BLOCKS;
                    let (few, last) = after.split_at(whole);
                    let from = few.as_ptr().cast();
                    y = match few.len() / <$register>::BLOCKS {
                        1 => absorb::<$register, 1>(rows, y, from),
                        2 => absorb::<$register, 2>(rows, y, from),
                        3 => absorb::<$register, 3>(rows, y, from),
                        _ => y,
                    };
                    rest = last;
                }
                for block in rest {
                    y = absorb::<__m128i, 1>(rows, y, block.as_ptr());
                }
                if !tail.is_empty() {
                    let mut block = [0; BLOCK_BYTES];
                    block[..tail.len()].copy_from_slice(tail);
                    y = absorb::<__m128i, 1>(rows, y, block.as_ptr());
                }
                let mut value = 0_u128;
                y.store((&raw mut value).cast());
                value
            }
        }
    };
}

hash!(hash_narrow, __m128i, "ssse3", GHASH_SSSE3);
hash!(hash_wide, __m256i, "avx2", GHASH_AVX2);
