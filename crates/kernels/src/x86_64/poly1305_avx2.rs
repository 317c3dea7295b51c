//! Poly1305 on AVX2, four blocks per register, without ChaCha20.
//!
//! Limbs have 26 bits, so that the sum of five products fits in 64. Lane j of group g holds block 4 g + j:
//!
//! ```text
//! A(j) = (A(j) + m(j)) r^4                                    each group but the last
//! h    = (A(0) + m(0)) r^4 + (A(1) + m(1)) r^3 + ... + (A(3) + m(3)) r
//! ```
//!
//! A group takes 90 instructions. For the same number of blocks the integer units take 140, and to be busy all the time they
//! need two chains and a power of r that joins them.

use core::arch::x86_64::*;

use crate::poly1305::{BLOCK_BYTES, Element, Multiplier};
use crate::wipe::wipe;

/// The fewest bytes for which this is faster. The integer units absorb less data in the time that the powers take.
pub(super) const BYTES_MIN: usize = 384;

/// Absorbs whole groups; returns the value, and the rest.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn absorb<'a>(r: &Multiplier, value: Element, data: &'a [u8]) -> (Element, &'a [u8]) {
    let (groups, rest) = data.as_chunks::<GROUP_BYTES>();
    let Some((last, groups)) = groups.split_last() else {
        return (value, data);
    };
    let mut powers = Powers::new(r);
    let fourth = powers.fourth();
    let mut sum = zero_but_first(value.to_limbs_26());
    for group in groups {
        sum = carry(times(plus(sum, limbs(group)), &fourth));
    }
    let value = carry(times(plus(sum, limbs(last)), &powers.each()));
    wipe(&mut powers.0);
    (Element::from_limbs_26(sums(value)), rest)
}

/// By limb, the powers for the lanes, which hold blocks 0, 2, 1 and 3 of a group.
#[repr(align(32))]
struct Powers([[u64; 4]; LIMBS]);

/// A factor, and five times its upper limbs, which reduce the products.
struct Factor {
    limbs: [__m256i; LIMBS],
    by_5: [__m256i; LIMBS - 1],
}

impl Powers {
    #[inline(always)]
    fn new(r: &Multiplier) -> Self {
        let first = Element::of(r);
        let second = first.times(first);
        let powers = [second.times(second), second, second.times(first), first];
        let powers = powers.map(Element::to_limbs_26);
        Self(core::array::from_fn(|limb| powers.map(|power| power[limb])))
    }

    /// Returns the fourth power in every lane.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn fourth(&self) -> Factor {
        Factor::new(self.0.map(|[fourth, ..]| _mm256_set1_epi64x(fourth as i64)))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn each(&self) -> Factor {
        Factor::new(self.0.each_ref().map(|limb| {
            // SAFETY: AVX2 is enabled; each limb has 32 bytes.
            unsafe { _mm256_loadu_si256(limb.as_ptr().cast()) }
        }))
    }
}

impl Factor {
    #[inline]
    #[target_feature(enable = "avx2")]
    fn new(limbs: [__m256i; LIMBS]) -> Self {
        let [_, upper @ ..] = limbs;
        let by_5 = upper.map(|limb| _mm256_add_epi64(limb, _mm256_slli_epi64::<2>(limb)));
        Self { limbs, by_5 }
    }
}

/// Returns the limbs in the lane of the group's first block, and zeros in the others.
#[inline]
#[target_feature(enable = "avx2")]
fn zero_but_first(limbs: [u64; LIMBS]) -> [__m256i; LIMBS] {
    limbs.map(|limb| _mm256_zextsi128_si256(_mm_cvtsi64_si128(limb as i64)))
}

/// Returns the limbs of four blocks, each with the bit behind the block.
#[inline]
#[target_feature(enable = "avx2")]
fn limbs(group: &[u8; GROUP_BYTES]) -> [__m256i; LIMBS] {
    let [one, other] = [0, 32].map(|at| {
        // SAFETY: AVX2 is enabled; a group has 64 bytes.
        unsafe { _mm256_loadu_si256(group.as_ptr().add(at).cast()) }
    });
    let low = _mm256_unpacklo_epi64(one, other);
    let high = _mm256_unpackhi_epi64(one, other);
    let mask = _mm256_set1_epi64x(MASK);
    let middle = _mm256_or_si256(_mm256_srli_epi64::<52>(low), _mm256_slli_epi64::<12>(high));
    [
        _mm256_and_si256(low, mask),
        _mm256_and_si256(_mm256_srli_epi64::<26>(low), mask),
        _mm256_and_si256(middle, mask),
        _mm256_and_si256(_mm256_srli_epi64::<14>(high), mask),
        _mm256_or_si256(_mm256_srli_epi64::<40>(high), _mm256_set1_epi64x(1 << 24)),
    ]
}

#[inline]
#[target_feature(enable = "avx2")]
fn plus(a: [__m256i; LIMBS], b: [__m256i; LIMBS]) -> [__m256i; LIMBS] {
    core::array::from_fn(|i| _mm256_add_epi64(a[i], b[i]))
}

/// Returns a product before the carries: limbs of `a` have at most 28 bits, the sums at most 60.
#[inline]
#[target_feature(enable = "avx2")]
fn times(a: [__m256i; LIMBS], b: &Factor) -> [__m256i; LIMBS] {
    core::array::from_fn(|i| {
        let product = |j: usize| {
            let other = if j <= i {
                b.limbs[i - j]
            } else {
                b.by_5[LIMBS - 1 + i - j]
            };
            _mm256_mul_epu32(a[j], other)
        };
        let [p, q, s, t, u] = core::array::from_fn(product);
        let sum = _mm256_add_epi64(_mm256_add_epi64(p, q), _mm256_add_epi64(s, t));
        _mm256_add_epi64(sum, u)
    })
}

/// Returns limbs of 26 bits, limbs 1 and 4 at most one more. Two carries are in progress at once.
#[inline]
#[target_feature(enable = "avx2")]
fn carry(mut d: [__m256i; LIMBS]) -> [__m256i; LIMBS] {
    let mask = _mm256_set1_epi64x(MASK);
    for (from, to) in [(0, 1), (3, 4), (1, 2), (4, 0), (2, 3), (0, 1), (3, 4)] {
        let mut above = _mm256_srli_epi64::<26>(d[from]);
        d[from] = _mm256_and_si256(d[from], mask);
        if to == 0 {
            above = _mm256_add_epi64(above, _mm256_slli_epi64::<2>(above));
        }
        d[to] = _mm256_add_epi64(d[to], above);
    }
    d
}

/// Returns the sums of the lanes.
#[inline]
#[target_feature(enable = "avx2")]
fn sums(value: [__m256i; LIMBS]) -> [u64; LIMBS] {
    value.map(|limb| {
        let pair = _mm_add_epi64(
            _mm256_castsi256_si128(limb),
            _mm256_extracti128_si256::<1>(limb),
        );
        let sum = _mm_add_epi64(pair, _mm_unpackhi_epi64(pair, pair));
        _mm_cvtsi128_si64(sum) as u64
    })
}

const LIMBS: usize = 5;
const MASK: i64 = (1 << 26) - 1;
const GROUP_BYTES: usize = 4 * BLOCK_BYTES;
