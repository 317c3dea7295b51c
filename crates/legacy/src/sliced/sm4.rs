//! SM4 (GB/T 32907), sliced: four registers, each with one word of every block.
//!
//! Words stay in the field of AES, or in the halves that shuffles invert, so an S-box is an inversion and a matrix; the
//! linear map after it is three matrices for the four places of a word that a byte affects. The input of the next S-boxes is
//! summed in parallel with the word that a round changes, not after it.

use core::arch::x86_64::*;

use inout::InOutBuf;

use super::bytes::Bytes;
use super::lanes::Words;
use super::sbox::{Boxes, ByAes, ByGfni, ByShuffles};
use super::{Sliced, entry_points};
use crate::keys::sm4::Sm4;
use crate::keys::sm4::{FIELD_OF_AES, HALVES, PLAIN, Steps, Within, expand};
use oarlock_kernels::{AesNi, Avx2, Gfni256, Gfni512, Ssse3, Vaes256};

entry_points! { Sm4:
    ctr_ssse3, Ssse3, ByShuffles<__m128i>, 1, "ssse3", PERMUTE_SSSE3;
    ctr_avx2, Avx2, ByShuffles<__m256i>, 1, "avx2", PERMUTE_AVX2;
    ctr_aes_ni, AesNi, ByAes<__m128i>, 2, "aes,sse4.1", AES_NI;
    ctr_vaes256, Vaes256, ByAes<__m256i>, 2, "aes,vaes,avx2", VAES256;
    ctr_gfni256, Gfni256, ByGfni<__m256i>, 2, "avx2,gfni", GFNI256;
    ctr_gfni512, Gfni512, ByGfni<__m512i>, 2, "avx2,gfni,avx512f,avx512bw,avx512vl", GFNI512;
}

macro_rules! expansions {
    ($($name:ident, $token:ty, $boxes:ty, $features:literal;)+) => {$(
        /// Expands `key`, of 16 bytes.
        pub(crate) fn $name(_: $token, schedule: &mut Sm4, key: &[u8]) {
            struct Here;
            impl Steps for Here {
                #[inline(always)]
                fn substitute(&self, word: u32) -> u32 {
                    // SAFETY: only `with_features`, where the instructions of `$boxes` are enabled, has a
                    // `Here`. All words of the register are the same, so that ShiftRows changes nothing.
                    unsafe {
                        let word = __m128i::splat_word(word);
                        _mm_cvtsi128_si32(<$boxes>::substitute(word, &PLAIN)) as u32
                    }
                }
                #[inline(always)]
                fn map_into(&self, words: &mut [u32; 36]) {
                    for four in words.as_chunks_mut::<4>().0 {
                        // SAFETY: only `with_features`, where the instructions of `$boxes` are enabled, has a
                        // `Here`; four words have 16 bytes.
                        unsafe {
                            let bytes = __m128i::load(four.as_ptr().cast());
                            let within = const { within::<$boxes>() };
                            <$boxes>::map(bytes, &within.into).store(four.as_mut_ptr().cast());
                        }
                    }
                }
            }
            #[target_feature(enable = $features)]
            fn with_features(schedule: &mut Sm4, key: &[u8]) {
                expand(schedule, key, &Here);
            }
            // SAFETY: the token proves the features that `with_features` enables to expand the keys of SM4.
            unsafe { with_features(schedule, key) }
        }
    )+};
}

expansions! {
    expand_ssse3, Ssse3, ByShuffles<__m128i>, "ssse3";
    expand_aes_ni, AesNi, ByAes<__m128i>, "aes,sse4.1";
    expand_gfni, Gfni256, ByGfni<__m128i>, "avx2,gfni";
}

impl<B: Boxes> Sliced<B> for Sm4 {
    #[inline(always)]
    unsafe fn encrypt<const N: usize>(&self, groups: &mut [[B::V; 4]; N]) {
        // SAFETY: the caller has the instructions of `B`; keys are read by index, and words stay in registers.
        unsafe {
            let within = const { within::<B>() };
            let first = B::V::splat_word(self.keys[0]);
            let mut inputs = [first; N];
            for (group, input) in groups.iter_mut().zip(&mut inputs) {
                for word in &mut *group {
                    *word = B::map(*word, &within.into);
                }
                *input = first.xor(group[1]).xor3(group[2], group[3]);
            }
            for four in 0..8 {
                for i in 0..4 {
                    let key = B::V::splat_word(self.keys[4 * four + i + 1]);
                    for (group, input) in groups.iter_mut().zip(&mut inputs) {
                        let same = B::substitute(*input, &within.same_place);
                        let next = B::substitute(*input, &within.next_places);
                        let third = B::substitute(*input, &within.third_place);
                        let mut own = same;
                        if B::SHIFTS {
                            own = same.shuffle(const { &moved(0, 3) });
                        }
                        let (one, two, three) = if B::SHIFTS {
                            (
                                next.shuffle(const { &moved(1, 3) }),
                                next.shuffle(const { &moved(2, 3) }),
                                third.shuffle(const { &moved(3, 3) }),
                            )
                        } else {
                            (
                                next.shuffle(const { &moved(1, 0) }),
                                next.shuffle(const { &moved(2, 0) }),
                                third.shuffle(const { &moved(3, 0) }),
                            )
                        };
                        // All terms of the next input except what this round computes.
                        let rest = group[(i + 2) % 4].xor3(group[(i + 3) % 4], key);
                        let sum = one.xor3(two, three);
                        let word = group[i].xor(own);
                        group[i] = word.xor(sum);
                        *input = rest.xor(word).xor(sum);
                    }
                }
            }
            for group in groups {
                let [w0, w1, w2, w3] = *group;
                *group = [w3, w2, w1, w0];
                for word in group {
                    *word = B::map(*word, &within.out_of).shuffle(&SWAP);
                }
            }
        }
    }
}

/// Returns the maps for the form that `B` inverts.
const fn within<B: Boxes>() -> &'static Within {
    if B::TAKES_HALVES {
        const { &HALVES }
    } else {
        const { &FIELD_OF_AES }
    }
}

/// Returns a shuffle that moves each byte of a word to the left by `left` bytes, from bytes of which those at the same place
/// in a word lie `turn` words ahead for each place.
const fn moved(left: usize, turn: usize) -> [i8; 16] {
    let mut from = [0; 16];
    let mut i = 0;
    while i < 16 {
        let (word, place) = (i / 4, (i % 4 + 4 - left) % 4);
        from[i] = (4 * ((word + turn * place) % 4) + place) as i8;
        i += 1;
    }
    from
}

/// Converts integers to bytes in the order of a block.
const SWAP: [i8; 16] = [3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12];
