//! Eight Poly1305 elements in 44-bit limbs, one in each lane of a register.

use core::arch::x86_64::*;

/// Splits eight elements into three limbs of 44 bits.
///
/// # Safety
/// AVX-512 F is enabled in the caller.
#[inline(always)]
pub(super) unsafe fn limbs(elements: &[[u64; 8]; 3]) -> [__m512i; 3] {
    // SAFETY: the caller has AVX-512 F; each limb is a register of eight lanes.
    unsafe {
        let h0 = _mm512_loadu_si512(elements[0].as_ptr().cast());
        let h1 = _mm512_loadu_si512(elements[1].as_ptr().cast());
        let h2 = _mm512_loadu_si512(elements[2].as_ptr().cast());
        let mask = _mm512_set1_epi64(MASK_44);
        [
            _mm512_and_si512(h0, mask),
            // (a | b) & c
            _mm512_ternarylogic_epi64::<0xa8>(
                _mm512_srli_epi64::<44>(h0),
                _mm512_slli_epi64::<20>(h1),
                mask,
            ),
            _mm512_or_si512(_mm512_srli_epi64::<24>(h1), _mm512_slli_epi64::<40>(h2)),
        ]
    }
}

/// Converts eight blocks to limbs of 44, 44 and 41 bits; in the given `lanes` the last limb gets the bit above the block.
///
/// # Safety
/// AVX-512 F is enabled in the caller.
#[inline(always)]
pub(super) unsafe fn take_apart([first, second]: [__m512i; 2], lanes: __mmask8) -> [__m512i; 3] {
    // SAFETY: the caller has AVX-512 F to unpack, shift and mask.
    unsafe {
        let low = _mm512_unpacklo_epi64(first, second);
        let high = _mm512_unpackhi_epi64(first, second);
        let mask = _mm512_set1_epi64(MASK_44);
        // (a | b) & c
        let middle = _mm512_ternarylogic_epi64::<0xa8>(
            _mm512_srli_epi64::<44>(low),
            _mm512_slli_epi64::<20>(high),
            mask,
        );
        let top = _mm512_or_si512(
            _mm512_srli_epi64::<24>(high),
            _mm512_maskz_set1_epi64(lanes, 1 << 40),
        );
        [_mm512_and_si512(low, mask), middle, top]
    }
}

/// Returns a power for each lane, with 20 times its upper limbs.
///
/// # Safety
/// AVX-512 F is enabled in the caller.
#[inline(always)]
pub(super) unsafe fn with_returns([a, b, c]: [__m512i; 3]) -> [__m512i; 5] {
    // SAFETY: this is shifts and sums of AVX-512 F, which the caller has.
    unsafe {
        let mut returns = [b, c];
        for limb in &mut returns {
            let (by_16, by_4) = (_mm512_slli_epi64::<4>(*limb), _mm512_slli_epi64::<2>(*limb));
            *limb = _mm512_add_epi64(by_16, by_4);
        }
        [a, b, c, returns[0], returns[1]]
    }
}

/// Returns the limbs of one group's power, each in all lanes.
///
/// # Safety
/// AVX-512 F is enabled in the caller.
#[inline(always)]
pub(super) unsafe fn broadcast(limbs: &[[u64; 8]; 5], group: usize) -> [__m512i; 5] {
    // SAFETY: the caller has AVX-512 F to fill registers with a limb.
    unsafe {
        let mut all = [_mm512_setzero_si512(); 5];
        for (all, limb) in all.iter_mut().zip(limbs) {
            *all = _mm512_set1_epi64(limb[group] as i64);
        }
        all
    }
}

/// Adds a product to the sums of the low and of the high 52 bits.
///
/// # Safety
/// AVX-512 F and IFMA are enabled in the caller.
#[inline(always)]
pub(super) unsafe fn multiply_add(
    mut low: [__m512i; 3],
    mut high: [__m512i; 3],
    [h0, h1, h2]: [__m512i; 3],
    [r0, r1, r2, s1, s2]: [__m512i; 5],
) -> ([__m512i; 3], [__m512i; 3]) {
    macro_rules! add {
        ($($i:literal $h:ident $r:ident),+) => {
            $(
                low[$i] = _mm512_madd52lo_epu64(low[$i], $h, $r);
                high[$i] = _mm512_madd52hi_epu64(high[$i], $h, $r);
            )+
        };
    }
    // SAFETY: `vpmadd52` is an instruction of AVX-512 IFMA, which the caller has.
    unsafe {
        add!(0 h0 r0, 1 h0 r1, 2 h0 r2);
        add!(0 h1 s2, 1 h1 r0, 2 h1 r1);
        add!(0 h2 s1, 1 h2 s2, 2 h2 r0);
    }
    (low, high)
}

/// Reduces to limbs of at most 45 bits again. The sums are of at most 28 products of 45 by 49 bits: below 2^57 low and 2^47
/// high.
///
/// # Safety
/// AVX-512 F is enabled in the caller.
#[inline(always)]
pub(super) unsafe fn carry(low: [__m512i; 3], high: [__m512i; 3]) -> [__m512i; 3] {
    // SAFETY: the caller has AVX-512 F for shifts, masks and sums.
    unsafe {
        let mask_44 = _mm512_set1_epi64(MASK_44);
        // The high half of a product of limb i is 52 bits above it, that is, one limb and 8 bits.
        let t0 = low[0];
        let t1 = _mm512_add_epi64(low[1], _mm512_slli_epi64::<8>(high[0]));
        let t2 = _mm512_add_epi64(low[2], _mm512_slli_epi64::<8>(high[1]));
        let t1 = _mm512_add_epi64(t1, _mm512_srli_epi64::<44>(t0));
        let t2 = _mm512_add_epi64(t2, _mm512_srli_epi64::<44>(t1));
        let above = _mm512_srli_epi64::<42>(t2);
        // 2^140 = 5120, 2^130 = 5.
        let wrapped = _mm512_add_epi64(
            _mm512_add_epi64(
                _mm512_slli_epi64::<12>(high[2]),
                _mm512_slli_epi64::<10>(high[2]),
            ),
            _mm512_add_epi64(above, _mm512_slli_epi64::<2>(above)),
        );
        let t0 = _mm512_add_epi64(_mm512_and_si512(t0, mask_44), wrapped);
        let t1 = _mm512_add_epi64(_mm512_and_si512(t1, mask_44), _mm512_srli_epi64::<44>(t0));
        [
            _mm512_and_si512(t0, mask_44),
            t1,
            _mm512_and_si512(t2, _mm512_set1_epi64(MASK_42)),
        ]
    }
}

const MASK_44: i64 = (1 << 44) - 1;
const MASK_42: i64 = (1 << 42) - 1;
