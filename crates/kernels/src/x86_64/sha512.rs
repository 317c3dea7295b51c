//! The compression of SHA-512 for one message: the schedule of two blocks, or of a last one, in vector registers, and the
//! rounds in integer registers.
//!
//! A round is a chain from e to e, and one from a to a, each of at least four operations. So what the chains do not need is
//! computed separately: `h + k + w` beforehand, and the part of the majority that the next round needs too. The schedule
//! goes to memory, from which each round adds its word.

use core::arch::x86_64::*;

use super::Avx2;
use crate::hash::K512;

/// Absorbs `blocks` into `state`.
#[inline]
pub(crate) fn absorb(_: Avx2, state: &mut [u64; 8], blocks: &[[u8; 128]]) {
    #[cfg(debug_assertions)]
    crate::dispatch::sha512::AVX2.hit();
    // SAFETY: `Avx2` proves AVX2 and BMI2.
    unsafe { absorb_with_features(state, blocks) }
}

#[target_feature(enable = "avx2,bmi2")]
fn absorb_with_features(state: &mut [u64; 8], blocks: &[[u8; 128]]) {
    let (pairs, last) = blocks.as_chunks::<2>();
    for pair in pairs {
        absorb_two(state, pair);
    }
    if let [block] = last {
        absorb_one(state, block);
    }
}

/// One round, after which the names are rotated by one. `$bc` is the difference of b and c.
macro_rules! round {
    ($a:ident $b:ident $c:ident $d:ident $e:ident $f:ident $g:ident $h:ident, $bc:ident, $word:expr) => {
        let sum = $e.rotate_right(14) ^ $e.rotate_right(18) ^ $e.rotate_right(41);
        let choice = $g ^ ($e & ($f ^ $g));
        let t = $h
            .wrapping_add($word)
            .wrapping_add(sum)
            .wrapping_add(choice);
        $d = $d.wrapping_add(t);
        let sum = $a.rotate_right(28) ^ $a.rotate_right(34) ^ $a.rotate_right(39);
        let ab = $a ^ $b;
        let majority = $b ^ (ab & $bc);
        $h = t.wrapping_add(sum).wrapping_add(majority);
        $bc = ab;
    };
}

/// Runs `$step!(pair, names)` for each of the eight pairs of rounds after which the names are back in their places.
macro_rules! eight_pairs {
    ($step:ident, $a:ident $b:ident $c:ident $d:ident $e:ident $f:ident $g:ident $h:ident) => {
        $step!(0, $a $b $c $d $e $f $g $h);
        $step!(1, $g $h $a $b $c $d $e $f);
        $step!(2, $e $f $g $h $a $b $c $d);
        $step!(3, $c $d $e $f $g $h $a $b);
        $step!(4, $a $b $c $d $e $f $g $h);
        $step!(5, $g $h $a $b $c $d $e $f);
        $step!(6, $e $f $g $h $a $b $c $d);
        $step!(7, $c $d $e $f $g $h $a $b);
    };
}

/// Defines a function that computes the next two words of a schedule from its last sixteen, which are a ring of eight
/// registers that begins at `at`.
macro_rules! schedule {
    ($name:ident, $register:ty, $plus:ident, $between:ident, $right:ident, $left:ident, $xor:ident) => {
        #[inline]
        #[target_feature(enable = "avx2,bmi2")]
        fn $name(ring: &[$register; 8], at: usize) -> $register {
            let word = |behind: usize| ring[(at + behind) % 8];
            let (second, tenth) = (
                $between::<8>(word(1), word(0)),
                $between::<8>(word(5), word(4)),
            );
            let last = word(7);
            macro_rules! sigma {
                ($of:ident, $one:literal, $other:literal, $shift:literal) => {
                    $xor(
                        $xor($right::<$one>($of), $left::<{ 64 - $one }>($of)),
                        $xor(
                            $xor($right::<$other>($of), $left::<{ 64 - $other }>($of)),
                            $right::<$shift>($of),
                        ),
                    )
                };
            }
            let sums = $plus(sigma!(second, 1, 8, 7), sigma!(last, 19, 61, 6));
            $plus($plus(word(0), tenth), sums)
        }
    };
}

schedule! { next, __m128i, _mm_add_epi64, _mm_alignr_epi8, _mm_srli_epi64, _mm_slli_epi64, _mm_xor_si128 }
schedule! { next_of_both, __m256i, _mm256_add_epi64, _mm256_alignr_epi8, _mm256_srli_epi64, _mm256_slli_epi64, _mm256_xor_si256 }

/// Loads a pair of words.
#[inline]
#[target_feature(enable = "avx2,bmi2")]
fn pair_of(words: &[u64; 16], pair: usize) -> __m128i {
    let words = &words[2 * pair..][..2];
    // SAFETY: two words are as long as a register.
    unsafe { _mm_loadu_si128(words.as_ptr().cast()) }
}

/// Loads the bytes of a pair of words.
#[inline]
#[target_feature(enable = "avx2,bmi2")]
fn part(block: &[u8; 128], pair: usize) -> __m128i {
    let part = &block[16 * pair..][..16];
    // SAFETY: the part is as long as a register.
    unsafe { _mm_loadu_si128(part.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2,bmi2")]
fn put(words: &mut [u64; 16], pair: usize, both: __m128i) {
    let place = &mut words[2 * pair..][..2];
    // SAFETY: the destination is as long as a register.
    unsafe { _mm_storeu_si128(place.as_mut_ptr().cast(), both) };
}

/// Returns the shuffle that reverses the bytes of words: their first byte is the highest.
#[inline]
#[target_feature(enable = "avx2,bmi2")]
fn byte_order() -> __m128i {
    _mm_set_epi64x(0x0809_0a0b_0c0d_0e0f, 0x0001_0203_0405_0607)
}

fn add(state: &mut [u64; 8], words: [u64; 8]) {
    for (sum, word) in state.iter_mut().zip(words) {
        *sum = sum.wrapping_add(word);
    }
}

#[inline]
#[target_feature(enable = "avx2,bmi2")]
fn absorb_one(state: &mut [u64; 8], block: &[u8; 128]) {
    let mut ring = [_mm_setzero_si128(); 8];
    let mut due = [0; 16];
    for (pair, words) in ring.iter_mut().enumerate() {
        *words = _mm_shuffle_epi8(part(block, pair), byte_order());
        put(
            &mut due,
            pair,
            _mm_add_epi64(*words, pair_of(&K512[0], pair)),
        );
    }
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *state;
    let mut bc = b ^ c;
    for constants in &K512[1..] {
        macro_rules! step {
            ($pair:literal, $a:ident $b:ident $c:ident $d:ident $e:ident $f:ident $g:ident $h:ident) => {
                ring[$pair] = next(&ring, $pair);
                round!($a $b $c $d $e $f $g $h, bc, due[2 * $pair]);
                round!($h $a $b $c $d $e $f $g, bc, due[2 * $pair + 1]);
                let words = _mm_add_epi64(ring[$pair], pair_of(constants, $pair));
                put(&mut due, $pair, words);
            };
        }
        eight_pairs!(step, a b c d e f g h);
    }
    macro_rules! step {
        ($pair:literal, $a:ident $b:ident $c:ident $d:ident $e:ident $f:ident $g:ident $h:ident) => {
            round!($a $b $c $d $e $f $g $h, bc, due[2 * $pair]);
            round!($h $a $b $c $d $e $f $g, bc, due[2 * $pair + 1]);
        };
    }
    eight_pairs!(step, a b c d e f g h);
    let _ = bc;
    add(state, [a, b, c, d, e, f, g, h]);
}

/// Interleaves the first block's rounds with the schedule of both.
#[inline]
#[target_feature(enable = "avx2,bmi2")]
fn absorb_two(state: &mut [u64; 8], blocks: &[[u8; 128]; 2]) {
    let mut ring = [_mm256_setzero_si256(); 8];
    let (mut due, mut later) = ([0; 16], [[0; 16]; 5]);
    let order = _mm256_broadcastsi128_si256(byte_order());
    for (pair, words) in ring.iter_mut().enumerate() {
        let [one, other] = [0, 1].map(|block| part(&blocks[block], pair));
        *words = _mm256_shuffle_epi8(_mm256_set_m128i(other, one), order);
        let constants = _mm256_broadcastsi128_si256(pair_of(&K512[0], pair));
        let words = _mm256_add_epi64(*words, constants);
        put(&mut due, pair, _mm256_castsi256_si128(words));
        put(&mut later[0], pair, _mm256_extracti128_si256::<1>(words));
    }
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *state;
    let mut bc = b ^ c;
    for (constants, later) in K512[1..].iter().zip(&mut later[1..]) {
        macro_rules! step {
            ($pair:literal, $a:ident $b:ident $c:ident $d:ident $e:ident $f:ident $g:ident $h:ident) => {
                ring[$pair] = next_of_both(&ring, $pair);
                round!($a $b $c $d $e $f $g $h, bc, due[2 * $pair]);
                round!($h $a $b $c $d $e $f $g, bc, due[2 * $pair + 1]);
                let both = _mm256_broadcastsi128_si256(pair_of(constants, $pair));
                let words = _mm256_add_epi64(ring[$pair], both);
                put(&mut due, $pair, _mm256_castsi256_si128(words));
                put(later, $pair, _mm256_extracti128_si256::<1>(words));
            };
        }
        eight_pairs!(step, a b c d e f g h);
    }
    macro_rules! step {
        ($pair:literal, $a:ident $b:ident $c:ident $d:ident $e:ident $f:ident $g:ident $h:ident) => {
            round!($a $b $c $d $e $f $g $h, bc, due[2 * $pair]);
            round!($h $a $b $c $d $e $f $g, bc, due[2 * $pair + 1]);
        };
    }
    eight_pairs!(step, a b c d e f g h);
    let _ = bc;
    add(state, [a, b, c, d, e, f, g, h]);
    [a, b, c, d, e, f, g, h] = *state;
    bc = b ^ c;
    for due in &later {
        macro_rules! step {
            ($pair:literal, $a:ident $b:ident $c:ident $d:ident $e:ident $f:ident $g:ident $h:ident) => {
                round!($a $b $c $d $e $f $g $h, bc, due[2 * $pair]);
                round!($h $a $b $c $d $e $f $g, bc, due[2 * $pair + 1]);
            };
        }
        eight_pairs!(step, a b c d e f g h);
    }
    let _ = bc;
    add(state, [a, b, c, d, e, f, g, h]);
}
