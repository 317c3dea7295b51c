//! SHA-1 and SHA-256 with dedicated instructions (Intel SDM, "SHA Extensions"), one message or two interleaved: a chain of
//! `sha1rnds4` or `sha256rnds2` leaves room for another.

use core::arch::x86_64::*;

use crate::hash::{Beside, Function, K256, LANES_MAX, Own, Rows};
use crate::x86_64::ShaNi;

/// Absorbs `blocks` blocks of `N` messages into their states.
///
/// # Safety
/// `H` has dedicated instructions; `N` pointers are valid for `blocks` blocks; the CPU has the instructions of `beside` too.
#[inline(always)]
pub(super) unsafe fn absorb_beside<H: Function, const N: usize>(
    rows: &mut Rows<H::Word>,
    from: &[*const u8; LANES_MAX],
    blocks: usize,
    beside: impl Beside,
) {
    // 32-bit words, as in both functions.
    let rows = core::ptr::from_mut(rows).cast::<Rows<u32>>();
    // SAFETY: both functions of `Own` have 32-bit words; the caller guarantees the blocks, SHA-NI, and the instructions of
    // `beside`.
    unsafe {
        match H::OWN {
            Own::Sha1 => sha1::<N>(&mut *rows, from, blocks, beside),
            Own::Sha256 => sha256::<N>(&mut *rows, from, blocks, beside),
            Own::None => {}
        }
    }
}

/// Absorbs `blocks` blocks of `N` messages into their states.
///
/// # Safety
/// `H` has dedicated instructions; `N` pointers are valid for `blocks` blocks.
pub(crate) unsafe fn absorb<H: Function, const N: usize>(
    _: ShaNi,
    rows: &mut Rows<H::Word>,
    from: &[*const u8; LANES_MAX],
    blocks: usize,
) {
    /// # Safety
    /// `H` has dedicated instructions; `N` pointers are valid for reads of `blocks` blocks of 64 bytes.
    #[target_feature(enable = "sha,sse4.1,ssse3")]
    unsafe fn with_features<H: Function, const N: usize>(
        rows: &mut Rows<H::Word>,
        from: &[*const u8; LANES_MAX],
        blocks: usize,
    ) {
        // SAFETY: SHA-NI is enabled here; `()` does nothing.
        unsafe { absorb_beside::<H, N>(rows, from, blocks, ()) }
    }
    #[cfg(debug_assertions)]
    crate::dispatch::batch::HASH_SHA_NI.hit();
    // SAFETY: `ShaNi` proves the features; the caller guarantees `H` and the messages.
    unsafe { with_features::<H, N>(rows, from, blocks) }
}

/// Returns the state of a lane.
#[inline(always)]
fn words(rows: &Rows<u32>, lane: usize) -> [i32; 8] {
    rows.0.map(|row| row[lane] as i32)
}

/// # Safety
/// The same as for [`absorb_beside`].
#[inline(always)]
unsafe fn sha1<const N: usize>(
    rows: &mut Rows<u32>,
    from: &[*const u8; LANES_MAX],
    blocks: usize,
    mut beside: impl Beside,
) {
    // SAFETY: SHA-NI is enabled in the caller; each block read is one of the `blocks` at its pointer, of four registers.
    unsafe {
        // The first word is the highest.
        let swap = _mm_set_epi64x(0x0001_0203_0405_0607, 0x0809_0a0b_0c0d_0e0f);
        let mut abcd = [_mm_setzero_si128(); N];
        let mut e = abcd;
        for i in 0..N {
            let [a, b, c, d, e_word, ..] = words(rows, i);
            abcd[i] = _mm_set_epi32(a, b, c, d);
            e[i] = _mm_set_epi32(e_word, 0, 0, 0);
        }
        for block in 0..blocks {
            beside.begin();
            let mut w = [[_mm_setzero_si128(); 4]; N];
            for i in 0..N {
                for (j, w) in w[i].iter_mut().enumerate() {
                    let at = from[i].add(64 * block + 16 * j);
                    *w = _mm_shuffle_epi8(_mm_loadu_si128(at.cast()), swap);
                }
            }
            let (first, first_e) = (abcd, e);
            macro_rules! rounds {
                ($f:literal; $($group:literal)+) => {$(
                    for i in 0..N {
                        let w = &mut w[i];
                        if $group >= 4 {
                            let sum = _mm_sha1msg1_epu32(w[$group % 4], w[($group + 1) % 4]);
                            let sum = _mm_xor_si128(sum, w[($group + 2) % 4]);
                            w[$group % 4] = _mm_sha1msg2_epu32(sum, w[($group + 3) % 4]);
                        }
                        let with_e = if $group == 0 {
                            _mm_add_epi32(e[i], w[0])
                        } else {
                            _mm_sha1nexte_epu32(e[i], w[$group % 4])
                        };
                        e[i] = abcd[i];
                        abcd[i] = _mm_sha1rnds4_epu32::<$f>(abcd[i], with_e);
                    }
                    beside.step::<{ $group % 5 }, 5>();
                )+};
            }
            rounds!(0; 0 1 2 3 4);
            rounds!(1; 5 6 7 8 9);
            rounds!(2; 10 11 12 13 14);
            rounds!(3; 15 16 17 18 19);
            beside.end();
            for i in 0..N {
                e[i] = _mm_sha1nexte_epu32(e[i], first_e[i]);
                abcd[i] = _mm_add_epi32(abcd[i], first[i]);
            }
        }
        for i in 0..N {
            rows.0[0][i] = _mm_extract_epi32::<3>(abcd[i]) as u32;
            rows.0[1][i] = _mm_extract_epi32::<2>(abcd[i]) as u32;
            rows.0[2][i] = _mm_extract_epi32::<1>(abcd[i]) as u32;
            rows.0[3][i] = _mm_extract_epi32::<0>(abcd[i]) as u32;
            rows.0[4][i] = _mm_extract_epi32::<3>(e[i]) as u32;
        }
    }
}

/// # Safety
/// The same as for [`absorb_beside`].
#[inline(always)]
unsafe fn sha256<const N: usize>(
    rows: &mut Rows<u32>,
    from: &[*const u8; LANES_MAX],
    blocks: usize,
    mut beside: impl Beside,
) {
    // SAFETY: SHA-NI is enabled in the caller; of `blocks` blocks at each pointer, one is read at a time;
    // `K256` has 16 registers.
    unsafe {
        let swap = _mm_set_epi64x(0x0c0d_0e0f_0809_0a0b, 0x0405_0607_0001_0203);
        let mut abef = [_mm_setzero_si128(); N];
        let mut cdgh = abef;
        for i in 0..N {
            let [a, b, c, d, e, f, g, h] = words(rows, i);
            abef[i] = _mm_set_epi32(a, b, e, f);
            cdgh[i] = _mm_set_epi32(c, d, g, h);
        }
        for block in 0..blocks {
            beside.begin();
            let mut w = [[_mm_setzero_si128(); 4]; N];
            for i in 0..N {
                for (j, w) in w[i].iter_mut().enumerate() {
                    let at = from[i].add(64 * block + 16 * j);
                    *w = _mm_shuffle_epi8(_mm_loadu_si128(at.cast()), swap);
                }
            }
            let first = [abef, cdgh];
            macro_rules! rounds {
                ($($group:literal)+) => {$(
                    let k = _mm_loadu_si128(K256.as_ptr().cast::<__m128i>().add($group));
                    for i in 0..N {
                        let w = &mut w[i];
                        if $group >= 4 {
                            let sum = _mm_sha256msg1_epu32(w[$group % 4], w[($group + 1) % 4]);
                            let [before, last] = [w[($group + 2) % 4], w[($group + 3) % 4]];
                            let sum = _mm_add_epi32(sum, _mm_alignr_epi8::<4>(last, before));
                            w[$group % 4] = _mm_sha256msg2_epu32(sum, last);
                        }
                        let sum = _mm_add_epi32(w[$group % 4], k);
                        cdgh[i] = _mm_sha256rnds2_epu32(cdgh[i], abef[i], sum);
                        let sum = _mm_shuffle_epi32::<0x0e>(sum);
                        abef[i] = _mm_sha256rnds2_epu32(abef[i], cdgh[i], sum);
                    }
                    beside.step::<{ $group % 4 }, 4>();
                )+};
            }
            rounds!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
            beside.end();
            for i in 0..N {
                abef[i] = _mm_add_epi32(abef[i], first[0][i]);
                cdgh[i] = _mm_add_epi32(cdgh[i], first[1][i]);
            }
        }
        for i in 0..N {
            for (pair, register) in [(0, abef[i]), (2, cdgh[i])] {
                rows.0[pair][i] = _mm_extract_epi32::<3>(register) as u32;
                rows.0[pair + 1][i] = _mm_extract_epi32::<2>(register) as u32;
                rows.0[pair + 4][i] = _mm_extract_epi32::<1>(register) as u32;
                rows.0[pair + 5][i] = _mm_extract_epi32::<0>(register) as u32;
            }
        }
    }
}
