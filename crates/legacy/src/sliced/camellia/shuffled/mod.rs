//! Camellia by byte shuffles alone. A state is kept as the S-boxes invert it: each byte in the form of
//! [`crate::keys::tower`], with bytes 4 and 7 of a half rotated, as the fourth S-box requires.
//!
//! ```text
//! instructions a round (shuffles among them)        on 128 bits      256 bits
//! narrow   46 (23)   one register has 8 bytes of    2 blocks         4 blocks
//! wide    113 (38)   four have two of               8 blocks         16 blocks
//! ```
//!
//! **Narrow**, for requests of a few blocks, has a latency of some 17 cycles. The results of the S-boxes are needed rotated
//! by 0, 1, 2 and 7 bits, so the inverse is mapped four times; each byte of P is a sum of five or six of these, picked by
//! ten shuffles.
//!
//! **Wide**, for all others: bytes that share an S-box share a register, the first in the lower and the second in the upper
//! half: (1, 8), (2, 5), (3, 6), (4, 7). With r1 to r4 for the results of the S-boxes, s1 to s4 for the same with halves
//! swapped, and t for the sum of all eight,
//!
//! ```text
//! P = t + r2 + s2, t + r3 + s3, t + r4 + s4, t + r1 + s1;
//!     and in the upper halves + r1 + r2 + s3, r2 + r3 + s4, r3 + r4 + s1, r4 + r1 + s2
//! ```
//!
//! after which the fourth of these, bytes 4 and 7, is rotated.

mod tables;

use core::arch::x86_64::*;

use inout::InOutBuf;
use zeroize::Zeroize;

use self::tables::{
    COLUMNS, DOWN, INTO, INTO_WIDE, Index, NARROW_PICKS, OUT_OF, OUT_OF_WIDE, ROTATE, ROTATED,
    SPREAD, SWAP, SWAP_HALVES, UP,
};
use super::super::Run;
use super::super::lanes::Words;
use super::super::sbox::{Inverse, look_up_both, nibbles};
use super::{State, hidden, rounds};
use crate::keys::camellia::{Camellia, Steps, expand};
use crate::sliced::bytes::{Bytes, wipe_stack, wipe_stack_narrow};
use oarlock_kernels::{Avx2, Ssse3};
use oarlock_kernels::{by_contract, needs_instructions};

/// Expands `key`, of 16, 24 or 32 bytes.
pub(crate) fn expand_ssse3(_: Ssse3, schedule: &mut Camellia, key: &[u8]) {
    struct Here;
    impl Steps for Here {
        #[inline(always)]
        fn scramble(&self, input: u64) -> u64 {
            // SAFETY: only `with_features`, which enables SSSE3, has a `Here`; the half is in a register.
            unsafe {
                let zero = Narrow(_mm_setzero_si128());
                let half = Narrow::<__m128i>::from_integers(_mm_cvtsi64_si128(input as i64));
                let sum = half.round(zero, Narrow::<__m128i>::picks());
                _mm_cvtsi128_si64(sum.into_integers()) as u64
            }
        }
        #[inline(always)]
        fn spread(&self, key: u64, to: &mut &mut [[u8; 16]]) {
            if let Some([to]) = to.split_off_mut(..1) {
                // SAFETY: only `with_features`, which enables SSSE3, has a `Here`; an entry has 16 bytes.
                unsafe {
                    let key = _mm_set1_epi64x(key as i64);
                    Narrow::<__m128i>::from_integers(key)
                        .0
                        .store(to.as_mut_ptr());
                }
            }
        }
    }
    #[target_feature(enable = "ssse3")]
    fn with_features(schedule: &mut Camellia, key: &[u8]) {
        expand(schedule, key, &Here);
    }
    // SAFETY: `Ssse3` proves what `with_features` enables.
    unsafe { with_features(schedule, key) }
}

macro_rules! entry_points {
    ($($name:ident, $token:ty, $lanes:ty, $features:literal, $wipe:ident, $counter:ident;)+) => {$(
        /// Applies counter mode to a run in which the low 32 bits of `counter` do not wrap.
        pub(crate) fn $name(
            _: $token,
            cipher: &Camellia,
            counter: u128,
            data: InOutBuf<'_, '_, u8>,
        ) {
            /// # Safety
            /// `data` is as [`Run::xor`] demands.
            #[target_feature(enable = $features)]
            unsafe fn with_features(cipher: &Camellia, counter: u128, data: Run) {
                // SAFETY: the instructions of `$lanes` are enabled here; the caller has the bytes of `data`.
                unsafe { ctr::<$lanes>(cipher, counter, data) }
            }
            #[cfg(debug_assertions)]
            crate::dispatch::words::$counter.hit();
            let bytes = data.len();
            let (from, to) = data.into_raw();
            // SAFETY: the token proves the features, to encrypt and to wipe; the buffer has `bytes` at both
            // pointers, which are the same or do not overlap.
            unsafe {
                with_features(cipher, counter, Run { from, to, bytes });
                if bytes > WIDE_MIN * <$lanes>::BYTES {
                    $wipe::<WIPED>();
                }
            }
        }
    )+};
}

entry_points! {
    ctr_ssse3, Ssse3, __m128i, "ssse3", wipe_stack_narrow, PERMUTE_SSSE3;
    ctr_avx2, Avx2, __m256i, "avx2", wipe_stack, PERMUTE_AVX2;
}

/// The most registers of data that the narrow form processes.
const WIDE_MIN: usize = 4;
/// The most registers that the compiler spills in the wide form.
const WIPED: usize = 32;

/// # Safety
/// The instructions of `V` are enabled in the caller; `data` is as [`Run::xor`] demands; the low 32 bits
/// of `counter` do not wrap.
#[inline(always)]
unsafe fn ctr<V: Slices>(cipher: &Camellia, mut counter: u128, mut data: Run) {
    // SAFETY: the caller has the instructions of `V`, and `data` as `Run::xor` requires it, which both forms shorten.
    unsafe {
        while data.bytes > WIDE_MIN * V::BYTES {
            wide::<V>(cipher, counter, &mut data);
            counter = counter.wrapping_add(8 * V::BLOCKS as u128);
        }
        if data.bytes > 2 * V::BYTES {
            narrow::<V, 2>(cipher, counter, &mut data);
        } else if data.bytes > 0 {
            narrow::<V, 1>(cipher, counter, &mut data);
        }
    }
}

/// Processes at most `N` times two registers.
///
/// # Safety
/// The same as for [`ctr`].
#[inline(always)]
unsafe fn narrow<V: Slices, const N: usize>(cipher: &Camellia, counter: u128, data: &mut Run) {
    // SAFETY: the caller has the instructions of `V` and the bytes of `data`; a schedule has one entry for each key, in the
    // order in which they are taken.
    unsafe {
        let mut entries = cipher.entries.as_ptr();
        let (first, second) = (Narrow::take(&mut entries), Narrow::take(&mut entries));
        let left = Narrow::from_integers(V::splat(_mm_set1_epi64x((counter >> 64) as i64)));
        let mut left = [left.add(first); N];
        let mut right = [second; N];
        for (i, right) in right.iter_mut().enumerate() {
            let number = (counter as u32).wrapping_add((i * 2 * V::BLOCKS) as u32);
            let upper = V::splat_word((counter >> 32) as u32);
            let half = Narrow::from_integers(V::numbered(number).low_words(upper));
            *right = right.add(half);
        }
        rounds(cipher.groups, entries, &mut left, &mut right);
        for (left, right) in left.into_iter().zip(right) {
            let (left, right) = (left.into_integers(), right.into_integers());
            if !data.xor(right.low_halves(left).shuffle(&SWAP))
                || !data.xor(right.high_halves(left).shuffle(&SWAP))
            {
                return;
            }
        }
    }
}

/// Halves of two blocks in each 128 bits, in reverse byte order.
#[derive(Clone, Copy)]
struct Narrow<V>(V);

impl<V: Slices> Narrow<V> {
    /// Converts 64-bit words.
    ///
    /// # Safety
    /// The instructions of `V` are enabled in the caller, here and below.
    #[inline(always)]
    unsafe fn from_integers(words: V) -> Self {
        // SAFETY: a map of bytes, for which the caller has the instructions of `V`.
        Self(unsafe { by_place(words, const { &INTO }) })
    }

    /// # Safety
    /// The CPU has the instructions of `V`.
    #[inline(always)]
    unsafe fn into_integers(self) -> V {
        // SAFETY: the inverse map of bytes, for which the caller has the instructions of `V`.
        unsafe { by_place(self.0, const { &OUT_OF }) }
    }
}

impl<V: Slices> State for Narrow<V> {
    type Picks = [Index; 10];

    #[inline(always)]
    fn picks() -> &'static Self::Picks {
        hidden(const { &NARROW_PICKS })
    }

    by_contract! {
        fn take(entries: &mut *const [u8; 16]) -> Self {
            let key = V::splat(_mm_loadu_si128((*entries).cast()));
            *entries = entries.add(1);
            Self(key)
        }
        fn add(self, other: Self) -> Self { Self(self.0.xor(other.0)) }
        fn round(self, other: Self, picks: &'static Self::Picks) -> Self {
            let [by_0, by_1, by_2, by_7] = const { &ROTATED };
            let inverse = Inverse::of(self.0);
            let by_0 = inverse.mapped(by_0);
            let by_1 = inverse.mapped(by_1);
            let by_2 = inverse.mapped(by_2);
            let by_7 = inverse.mapped(by_7);
            let [a, b, c, d, e, f, g, h, i, j] = picks;
            let by_0 =
                (picked(by_0, a).xor(picked(by_0, b))).xor(picked(by_0, c).xor(picked(by_0, d)));
            let by_1 = picked(by_1, e).xor(picked(by_1, f));
            let by_2 = picked(by_2, g).xor(picked(by_2, h));
            let by_7 = picked(by_7, i).xor(picked(by_7, j));
            Self(by_0.xor(other.0).xor(by_1).xor(by_2.xor(by_7)))
        }
        fn fl(self, key: *const u32) -> Self {
            let key = both_words::<V>(key);
            let mut words = self.into_integers();
            let rotated = words.and(key.shift_left::<32>()).rotate_words::<1, 31>();
            words = words.xor(rotated.shift_right::<32>());
            words = words.xor(words.or(key.shift_right::<32>()).shift_left::<32>());
            Self::from_integers(words)
        }
        fn fl_inverse(self, key: *const u32) -> Self {
            let key = both_words::<V>(key);
            let mut words = self.into_integers();
            words = words.xor(words.or(key.shift_right::<32>()).shift_left::<32>());
            let rotated = words.and(key.shift_left::<32>()).rotate_words::<1, 31>();
            words = words.xor(rotated.shift_right::<32>());
            Self::from_integers(words)
        }
    }
}

/// Returns the two words at `key` in each 64 bits.
///
/// # Safety
/// The instructions of `V` are enabled in the caller; `key` points to two words.
#[inline(always)]
unsafe fn both_words<V: Bytes>(key: *const u32) -> V {
    // SAFETY: the caller has two words at `key`, which are 8 bytes; the read needs no alignment.
    unsafe { V::splat(_mm_set1_epi64x(key.cast::<i64>().read_unaligned())) }
}

/// Processes at most eight registers.
///
/// # Safety
/// The same as for [`ctr`].
#[inline(always)]
unsafe fn wide<V: Slices>(cipher: &Camellia, counter: u128, data: &mut Run) {
    // SAFETY: the caller has the instructions of `V` and the bytes of `data`; entries are taken as in `narrow`.
    unsafe {
        let mut entries = cipher.entries.as_ptr();
        let (first, second) = (Wide::take(&mut entries), Wide::take(&mut entries));
        let left = V::splat(_mm_set1_epi64x((counter >> 64) as i64));
        let left = Wide::all(left).mapped(const { &INTO_WIDE }).add(first);

        // The lower word counts, one byte at a time.
        let mut right = Wide::all(V::splat(_mm_set1_epi64x(counter as i64)));
        let later = (counter as u32).wrapping_add((4 * V::BLOCKS) as u32);
        let numbers = V::numbered(counter as u32).shuffle(&COLUMNS);
        let later = V::numbered(later).shuffle(&COLUMNS);
        let (low, high) = (numbers.low_words(later), numbers.high_words(later));
        let [r1, r2, r3, r4] = right.0;
        right.0 = [
            r1.low_halves(low),
            r2.with_high_half(high),
            r3.low_halves(high),
            r4.with_high_half(low),
        ];
        let right = right.mapped(const { &INTO_WIDE }).add(second);

        let (mut left, mut right) = ([left], [right]);
        rounds(cipher.groups, entries, &mut left, &mut right);
        let [a0, a1, b0, b1] = right[0].into_words();
        let [a2, a3, b2, b3] = left[0].into_words();
        for group in [[a0, a1, a2, a3], [b0, b1, b2, b3]] {
            for keystream in super::super::transposed(group) {
                if !data.xor(keystream) {
                    return;
                }
            }
        }
    }
}

/// Halves of eight blocks in each 128 bits: bytes 1 and 8, 2 and 5, 3 and 6, 4 and 7.
#[derive(Clone, Copy)]
struct Wide<V>([V; 4]);

impl<V: Slices> Wide<V> {
    /// Converts 64-bit words that are all equal.
    ///
    /// # Safety
    /// The instructions of `V` are enabled in the caller, here and below.
    #[inline(always)]
    unsafe fn all(words: V) -> Self {
        // SAFETY: four picks of bytes, for which the caller has the instructions of `V`.
        unsafe {
            let [a, b, c, d] = hidden(const { &SPREAD });
            Self([
                picked(words, a),
                picked(words, b),
                picked(words, c),
                picked(words, d),
            ])
        }
    }

    /// # Safety
    /// The CPU has the instructions of `V`.
    #[inline(always)]
    unsafe fn mapped(self, [others, fourth]: &'static [[[u8; 16]; 2]; 2]) -> Self {
        let [r1, r2, r3, r4] = self.0;
        // SAFETY: maps of four registers, for which the caller has the instructions of `V`.
        unsafe {
            Self([
                by_nibbles(r1, others),
                by_nibbles(r2, others),
                by_nibbles(r3, others),
                by_nibbles(r4, fourth),
            ])
        }
    }

    /// Returns the bytes of the first and the second word of the first four blocks, then of the other four.
    ///
    /// # Safety
    /// The CPU has the instructions of `V`.
    #[inline(always)]
    unsafe fn into_words(self) -> [V; 4] {
        // SAFETY: bytes and pairs are interleaved by instructions of `V`, which the caller has.
        unsafe {
            let [r1, r2, r3, r4] = self.mapped(const { &OUT_OF_WIDE }).0;
            let (bytes12, bytes34) = (r1.low_bytes(r2), r3.low_bytes(r4));
            let (bytes56, bytes78) = (r2.high_bytes(r3), r4.high_bytes(r1));
            [
                bytes12.low_pairs(bytes34),
                bytes56.low_pairs(bytes78),
                bytes12.high_pairs(bytes34),
                bytes56.high_pairs(bytes78),
            ]
        }
    }

    /// Adds to the second word the first one AND `key`, rotated by one bit.
    ///
    /// # Safety
    /// The CPU has the instructions of `V`.
    #[inline(always)]
    unsafe fn with_second_word(self, key: Self) -> Self {
        let ([r1, r2, r3, r4], [k1, k2, k3, k4]) = (self.0, key.0);
        // SAFETY: ANDs, shifts and shuffles, for which the caller has the instructions of `V`.
        unsafe {
            let low = V::splat(_mm_set_epi64x(0, -1));
            let (t1, t2) = (r1.and(k1.and(low)), r2.and(k2.and(low)));
            let (t3, t4) = (r3.and(k3.and(low)), r4.and(k4.and(low)));
            Self([
                r1.xor(t4.shifted_with(t1).shuffle(&UP)),
                r2.xor(t1.shifted_with(t2).shuffle(&UP)),
                r3.xor(t2.shifted_with(t3).shuffle(&UP)),
                r4.xor(t3.shifted_with(t4).shuffle(&UP)),
            ])
        }
    }

    /// Adds to the first word the second one OR `key`.
    ///
    /// # Safety
    /// The CPU has the instructions of `V`.
    #[inline(always)]
    unsafe fn with_first_word(self, key: Self) -> Self {
        let ([r1, r2, r3, r4], [k1, k2, k3, k4]) = (self.0, key.0);
        // SAFETY: ORs and shuffles, for which the caller has the instructions of `V`.
        unsafe {
            Self([
                r1.xor(r2.or(k2).shuffle(&DOWN)),
                r2.xor(r3.or(k3).shuffle(&DOWN)),
                r3.xor(r4.or(k4).shuffle(&DOWN)),
                r4.xor(r1.or(k1).shuffle(&DOWN)),
            ])
        }
    }
}

/// The state in which a key has one entry, as for [`Narrow`].
impl<V: Slices> State for Wide<V> {
    type Picks = [Index; 4];

    #[inline(always)]
    fn picks() -> &'static Self::Picks {
        hidden(const { &SPREAD })
    }

    by_contract! {
        fn take(entries: &mut *const [u8; 16]) -> Self { Self::all(Narrow::<V>::take(entries).0) }
        fn add(self, other: Self) -> Self {
            let ([r1, r2, r3, r4], [k1, k2, k3, k4]) = (self.0, other.0);
            Self([r1.xor(k1), r2.xor(k2), r3.xor(k3), r4.xor(k4)])
        }
        fn round(self, other: Self, _: &'static Self::Picks) -> Self {
            let [r1, r2, r3, r4] = self.0;
            let [by_0, by_1, _, by_7] = const { &ROTATED };
            let r1 = Inverse::of(r1).mapped(by_0);
            let r2 = Inverse::of(r2).mapped(by_1);
            let r3 = Inverse::of(r3).mapped(by_7);
            let r4 = Inverse::of(r4).mapped(by_0);
            let (s1, s2) = (r1.shuffle(&SWAP_HALVES), r2.shuffle(&SWAP_HALVES));
            let (s3, s4) = (r3.shuffle(&SWAP_HALVES), r4.shuffle(&SWAP_HALVES));
            let (d1, d2, d3, d4) = (r1.xor(s1), r2.xor(s2), r3.xor(s3), r4.xor(s4));
            let t = d1.xor(d2).xor(d3.xor(d4));
            let high = V::splat(_mm_set_epi64x(-1, 0));
            let p1 = t.xor(d2).xor(r1.xor(r2).xor(s3).and(high));
            let p2 = t.xor(d3).xor(r2.xor(r3).xor(s4).and(high));
            let p3 = t.xor(d4).xor(r3.xor(r4).xor(s1).and(high));
            let p4 = t.xor(d1).xor(r4.xor(r1).xor(s2).and(high));
            let p4 = by_nibbles(p4, const { &ROTATE });
            other.add(Self([p1, p2, p3, p4]))
        }
        fn fl(self, key: *const u32) -> Self {
            let key = Self::of_words(key);
            self.mapped(const { &OUT_OF_WIDE })
                .with_second_word(key)
                .with_first_word(key)
                .mapped(const { &INTO_WIDE })
        }
        fn fl_inverse(self, key: *const u32) -> Self {
            let key = Self::of_words(key);
            self.mapped(const { &OUT_OF_WIDE })
                .with_first_word(key)
                .with_second_word(key)
                .mapped(const { &INTO_WIDE })
        }
    }
}

impl<V: Slices> Wide<V> {
    /// Converts two words of a key.
    ///
    /// # Safety
    /// The instructions of `V` are enabled in the caller; `key` points to two words.
    #[inline(always)]
    unsafe fn of_words(key: *const u32) -> Self {
        // SAFETY: the caller has two words at `key`, and the instructions of `V` to exchange and spread them.
        unsafe {
            let words = both_words::<V>(key);
            Self::all(words.shift_left::<32>().or(words.shift_right::<32>()))
        }
    }
}

/// Applies a linear map to bytes, by tables for their lower and their upper four bits.
///
/// # Safety
/// The instructions of `V` are enabled in the caller.
#[inline(always)]
unsafe fn by_nibbles<V: Words>(bytes: V, map: &'static [[u8; 16]; 2]) -> V {
    // SAFETY: two look-ups by halves of bytes, for which the caller has the instructions of `V`.
    unsafe {
        let (low, high) = nibbles(bytes);
        look_up_both(map, low, high)
    }
}

/// Applies a linear map to bytes, and adds another map for bytes 4 and 7.
///
/// # Safety
/// The instructions of `V` are enabled in the caller.
#[inline(always)]
unsafe fn by_place<V: Words>(bytes: V, [map, added]: &'static [[[u8; 16]; 2]; 2]) -> V {
    // SAFETY: four look-ups and a mask, for which the caller has the instructions of `V`.
    unsafe {
        let (low, high) = nibbles(bytes);
        let mask = V::splat(_mm_set1_epi64x(0x0000_00ff_0000_ff00));
        look_up_both(map, low, high).xor(look_up_both(added, low, high).and(mask))
    }
}

/// # Safety
/// The instructions of `V` are enabled in the caller.
#[inline(always)]
unsafe fn picked<V: Words>(bytes: V, index: &'static Index) -> V {
    // SAFETY: an index has the bytes of the widest register here; the caller has the instructions of `V`.
    unsafe { bytes.look_up(V::load(index.0.as_flattened().as_ptr().cast())) }
}

/// Byte operations of the wide form on a register of at most 256 bits.
trait Slices: Words + Zeroize {
    needs_instructions! {
        /// Interleaves the lower eight bytes of both; `high_bytes` the upper ones.
        fn low_bytes(self, other: Self) -> Self;
        fn high_bytes(self, other: Self) -> Self;
        /// The same for pairs of bytes.
        fn low_pairs(self, other: Self) -> Self;
        fn high_pairs(self, other: Self) -> Self;
        /// Shifts each byte to the left by one bit, and shifts in the highest bit of the byte of `next`.
        fn shifted_with(self, next: Self) -> Self;
    }
}

macro_rules! slices {
    (
        $lanes:ty, $low_bytes:ident, $high_bytes:ident, $low_pairs:ident, $high_pairs:ident, $zero:ident,
        $add:ident, $subtract:ident, $greater:ident
    ) => {
        impl Slices for $lanes {
            by_contract! {
                fn low_bytes(self, other: Self) -> Self { $low_bytes(self, other) }
                fn high_bytes(self, other: Self) -> Self { $high_bytes(self, other) }
                fn low_pairs(self, other: Self) -> Self { $low_pairs(self, other) }
                fn high_pairs(self, other: Self) -> Self { $high_pairs(self, other) }
            }
            #[inline(always)]
            unsafe fn shifted_with(self, next: Self) -> Self {
                // SAFETY: the caller has the instructions of this register. Where the bit is set, the comparison yields -1,
                // which is subtracted.
                unsafe { $subtract($add(self, self), $greater($zero(), next)) }
            }
        }
    };
}

slices!(
    __m128i,
    _mm_unpacklo_epi8,
    _mm_unpackhi_epi8,
    _mm_unpacklo_epi16,
    _mm_unpackhi_epi16,
    _mm_setzero_si128,
    _mm_add_epi8,
    _mm_sub_epi8,
    _mm_cmpgt_epi8
);
slices!(
    __m256i,
    _mm256_unpacklo_epi8,
    _mm256_unpackhi_epi8,
    _mm256_unpacklo_epi16,
    _mm256_unpackhi_epi16,
    _mm256_setzero_si256,
    _mm256_add_epi8,
    _mm256_sub_epi8,
    _mm256_cmpgt_epi8
);
