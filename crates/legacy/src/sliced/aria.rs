//! ARIA (RFC 5794), sliced: register j has bytes j, j + 4, j + 8 and j + 12 of each block, which share an S-box.
//!
//! Each byte of the diffusion is a sum of seven: one or two from each register, each picked by a shuffle. `aesenclast` moves
//! bytes one way and `aesdeclast`, which computes the third S-box, the other way; a state is kept in the form that the next
//! of them needs.

use core::arch::{asm, x86_64::*};

use inout::InOutBuf;

use super::bytes::Bytes;
use super::lanes::{NONE, Words, pick};
use super::sbox::{Boxes, ByAes, ByGfni, ByShuffles};
use super::{Sliced, entry_points, transposed};
use crate::keys::aria::Aria;
use crate::keys::aria::{BOXES, Before, DIFFUSION, Steps, expand};
use oarlock_kernels::{AesNi, Avx2, Gfni256, Gfni512, Ssse3, Vaes256};

entry_points! { Aria:
    ctr_ssse3, Ssse3, ByShuffles<__m128i>, 1, "ssse3", PERMUTE_SSSE3;
    ctr_avx2, Avx2, ByShuffles<__m256i>, 1, "avx2", PERMUTE_AVX2;
    ctr_aes_ni, AesNi, ByAes<__m128i>, 1, "aes,sse4.1", AES_NI;
    ctr_vaes256, Vaes256, ByAes<__m256i>, 1, "aes,vaes,avx2", VAES256;
    ctr_gfni256, Gfni256, ByGfni<__m256i>, 1, "avx2,gfni", GFNI256;
    ctr_gfni512, Gfni512, ByGfni<__m512i>, 1, "avx2,gfni,avx512f,avx512bw,avx512vl", GFNI512;
}

macro_rules! expansions {
    ($($name:ident, $token:ty, $boxes:ty, $features:literal;)+) => {$(
        /// Expands `key`, of 16, 24 or 32 bytes.
        pub(crate) fn $name(_: $token, schedule: &mut Aria, key: &[u8]) {
            struct Here;
            impl Steps for Here {
                #[inline(always)]
                fn scramble(&self, input: u128, round: Before) -> u128 {
                    // SAFETY: only `with_features`, where the instructions of `$boxes` are enabled, has a
                    // `Here`; there is no pointer.
                    unsafe { scramble::<$boxes>(input, round) }
                }
                #[inline(always)]
                fn spread(&self, key: u128, before: Before, to: &mut [[u8; 16]; 4]) {
                    // SAFETY: only `with_features`, where the instructions of `$boxes` are enabled, has a
                    // `Here`; `to` is a key.
                    unsafe { spread::<$boxes>(key, before, to) }
                }
            }
            #[target_feature(enable = $features)]
            fn with_features(schedule: &mut Aria, key: &[u8]) {
                expand(schedule, key, &Here);
            }
            // SAFETY: the token proves the features that `with_features` enables to expand ARIA's keys.
            unsafe { with_features(schedule, key) }
        }
    )+};
}

expansions! {
    expand_ssse3, Ssse3, ByShuffles<__m128i>, "ssse3";
    expand_aes_ni, AesNi, ByAes<__m128i>, "aes,sse4.1";
    expand_gfni, Gfni256, ByGfni<__m128i>, "avx2,gfni";
}

impl<B: Boxes> Sliced<B> for Aria {
    #[inline(always)]
    unsafe fn encrypt<const N: usize>(&self, groups: &mut [[B::V; 4]; N]) {
        // SAFETY: the caller has the instructions of `B`; there is one key more than rounds, whose number is even, and the
        // loop ends with the last.
        unsafe {
            let some = some_picks::<B>();
            let mut keys = self.keys.as_ptr();
            for state in &mut *groups {
                *state = into_registers::<B>(*state, keys);
            }
            for round in (2..).step_by(2) {
                for state in &mut *groups {
                    *state = diffused::<B>(
                        substituted::<B>(*state, Before::Odd),
                        Before::Odd,
                        some,
                        keys.add(1),
                    );
                }
                keys = keys.add(2);
                for state in &mut *groups {
                    *state = substituted::<B>(*state, Before::Even);
                    if round < self.rounds {
                        *state = diffused::<B>(*state, Before::Even, some, keys);
                    }
                }
                if round == self.rounds {
                    break;
                }
            }
            for state in groups {
                for (j, register) in state.iter_mut().enumerate() {
                    *register = register.xor(key_of::<B>(keys, j));
                }
                *state = into_words::<B>(*state);
            }
        }
    }
}

/// Converts words as integers to registers, and adds the first key.
///
/// # Safety
/// The instructions of `B` are enabled in the caller, here and below; `keys` has a key.
#[inline(always)]
unsafe fn into_registers<B: Boxes>(mut state: [B::V; 4], keys: *const [[u8; 16]; 4]) -> [B::V; 4] {
    // SAFETY: the caller has the instructions of `B`, and a key at `keys`.
    unsafe {
        for word in &mut state {
            *word = word.shuffle(&FROM_WORD);
        }
        state = transposed(state);
        for (j, register) in state.iter_mut().enumerate() {
            if B::SHIFTS {
                *register = register.shuffle(&const { turns() }[turn::<B>(Before::Odd, j)]);
            }
            *register = register.xor(key_of::<B>(keys, j));
        }
        state
    }
}

/// Converts registers to words whose bytes are in the order of a block.
///
/// # Safety
/// The same as for [`into_registers`].
#[inline(always)]
unsafe fn into_words<B: Boxes>(state: [B::V; 4]) -> [B::V; 4] {
    // SAFETY: the caller has the instructions of `B`, with which words are transposed and shuffled.
    unsafe {
        let mut words = transposed(state);
        for word in &mut words {
            *word = word.shuffle(&INTO_WORD);
        }
        words
    }
}

/// # Safety
/// The same as for [`into_registers`].
#[inline(always)]
unsafe fn key_of<B: Boxes>(keys: *const [[u8; 16]; 4], j: usize) -> B::V {
    // SAFETY: the caller has a key at `keys`, which has 16 bytes for each register.
    unsafe { B::V::splat(_mm_loadu_si128((&raw const (*keys)[j]).cast())) }
}

/// # Safety
/// The same as for [`into_registers`].
#[inline(always)]
unsafe fn substituted<B: Boxes>([a, b, c, d]: [B::V; 4], round: Before) -> [B::V; 4] {
    // SAFETY: S-boxes in registers, for which the caller has the instructions of `B`.
    unsafe {
        let [s1, s2, x1, x2] = const { &BOXES };
        if matches!(round, Before::Odd) {
            [
                B::substitute(a, s1),
                B::substitute(b, s2),
                B::substitute(c, x1),
                B::substitute(d, x2),
            ]
        } else {
            [
                B::substitute(a, x1),
                B::substitute(b, x2),
                B::substitute(c, s1),
                B::substitute(d, s2),
            ]
        }
    }
}

/// Applies the diffusion after `round`, and adds the key of the next one.
///
/// # Safety
/// The same as for [`into_registers`].
#[inline(always)]
unsafe fn diffused<B: Boxes>(
    state: [B::V; 4],
    round: Before,
    some: &'static [Picks; 2],
    keys: *const [[u8; 16]; 4],
) -> [B::V; 4] {
    // SAFETY: the caller has the instructions of `B`, and at `keys` the key of the next round.
    unsafe {
        let number = usize::from(matches!(round, Before::Even));
        let all = &const { all_picks::<B>(0) }[number];
        let some = &some[number];
        let mut sums = state;
        for (j, sum) in sums.iter_mut().enumerate() {
            let (all, some) = (&all[j], &some[j]);
            let [a, b, c, d] = state;
            let first = a
                .shuffle(&all[0])
                .xor3(b.shuffle(&all[1]), c.shuffle(&all[2]));
            let second = d
                .shuffle(&all[3])
                .xor3(a.shuffle(&some[0]), b.shuffle(&some[1]));
            let third = c
                .shuffle(&some[2])
                .xor3(d.shuffle(&some[3]), key_of::<B>(keys, j));
            *sum = first.xor3(second, third);
        }
        sums
    }
}

/// See [`Steps::scramble`].
///
/// # Safety
/// The instructions of `B` are enabled in the caller.
#[inline(always)]
unsafe fn scramble<B: Boxes<V = __m128i>>(input: u128, round: Before) -> u128 {
    // SAFETY: the caller has the instructions of `B`; parts of `key`, and `bytes`, have 16 bytes.
    unsafe {
        let mut state = [_mm_setzero_si128(); 4];
        let mut key = [[0; 16]; 4];
        spread::<B>(input, round, &mut key);
        for (register, key) in state.iter_mut().zip(&key) {
            *register = _mm_loadu_si128(key.as_ptr().cast());
        }
        // Without a turn and without a key.
        let state = substituted::<B>(state, round);
        let mut sums = [_mm_setzero_si128(); 4];
        for (j, sum) in sums.iter_mut().enumerate() {
            for (i, register) in state.iter().enumerate() {
                for which in 0..2 {
                    let picks = &const { plain_picks() }[which][j][i];
                    *sum = sum.xor(register.shuffle(picks));
                }
            }
        }
        let [w0, w1, w2, w3] = into_words::<B>(sums);
        let mut bytes = [0; 16];
        w0.low_words(w1)
            .low_halves(w2.low_words(w3))
            .store(bytes.as_mut_ptr());
        u128::from_be_bytes(bytes)
    }
}

/// See [`Steps::spread`].
///
/// # Safety
/// The instructions of `B` are enabled in the caller.
#[inline(always)]
unsafe fn spread<B: Boxes<V = __m128i>>(key: u128, before: Before, to: &mut [[u8; 16]; 4]) {
    // SAFETY: the caller has the instructions of `B`; `bytes` and each part of `to` have 16 bytes.
    unsafe {
        let bytes = key.to_be_bytes();
        let key = _mm_loadu_si128(bytes.as_ptr().cast());
        for (j, to) in to.iter_mut().enumerate() {
            let from = &const { spreads() }[turn::<B>(before, j)][j];
            key.shuffle(from).store(to.as_mut_ptr());
        }
    }
}

/// Returns the distance in words by which the bytes of each block lie ahead of those of the previous block, in register `j`
/// before the S-boxes of a round.
const fn turn<B: Boxes>(before: Before, j: usize) -> usize {
    match before {
        _ if !B::SHIFTS => 0,
        Before::Odd if j < 2 => 1,
        Before::Even if j >= 2 => 1,
        Before::Nothing => 0,
        _ => 3,
    }
}

/// The picks from each register, for each register of the sum.
type Picks = [[[i8; 16]; 4]; 4];

/// Returns the first (`which` = 0) or second picks, after odd rounds and after even ones.
const fn all_picks<B: Boxes>(which: usize) -> [Picks; 2] {
    let mut picks = [[[[0; 16]; 4]; 4]; 2];
    let mut i = 0;
    while i < 32 {
        let (round, j, from) = (i / 16, i / 4 % 4, i % 4);
        let next = if round == 0 {
            Before::Even
        } else {
            Before::Odd
        };
        picks[round][j][from] = pick(picked(which, j, from), 0, turn::<B>(next, j));
        i += 1;
    }
    picks
}

/// Returns the picks without turns: all first ones, then all second ones.
const fn plain_picks() -> [Picks; 2] {
    let mut picks = [[[[0; 16]; 4]; 4]; 2];
    let mut i = 0;
    while i < 32 {
        let (which, j, from) = (i / 16, i / 4 % 4, i % 4);
        picks[which][j][from] = pick(picked(which, j, from), 0, 0);
        i += 1;
    }
    picks
}

/// Returns the words of register `from` that are the first (`which` = 0) or second terms of the words of register `j`.
const fn picked(which: usize, j: usize, from: usize) -> [usize; 4] {
    let mut words = [NONE; 4];
    let mut word = 0;
    while word < 4 {
        let (mut i, mut seen) = (0, 0);
        while i < 7 {
            let byte = DIFFUSION[4 * word + j][i];
            if byte % 4 == from {
                if seen == which {
                    words[word] = byte / 4;
                }
                seen += 1;
            }
            i += 1;
        }
        assert!(seen == 1 || seen == 2);
        word += 1;
    }
    words
}

/// Returns the second picks, some of which are empty, hidden from the compiler: if it knows that a shuffle produces zeros,
/// it substitutes others that take two steps or twice as long.
#[inline(always)]
fn some_picks<B: Boxes>() -> &'static [Picks; 2] {
    let mut picks: *const [Picks; 2] = const { &all_picks::<B>(1) };
    // SAFETY: the assembly has no instruction, so the address does not change.
    unsafe {
        asm!("/* {0} */", inout(reg) picks, options(pure, readonly, nostack, preserves_flags));
        &*picks
    }
}

/// Returns, by turn, the shuffles that turn a register.
const fn turns() -> [[i8; 16]; 4] {
    let mut turns = [[0; 16]; 4];
    let mut turn = 0;
    while turn < 4 {
        turns[turn] = pick([0, 1, 2, 3], 0, turn);
        turn += 1;
    }
    turns
}

/// Returns, by turn and register, the shuffles that fill the words of a register with the bytes of a key.
const fn spreads() -> [[[i8; 16]; 4]; 4] {
    let mut spreads = [[[0; 16]; 4]; 4];
    let mut i = 0;
    while i < 16 * 16 {
        let (turn, j, to) = (i / 64, i / 16 % 4, i % 16);
        let word = (to / 4 + 4 - turn * (to % 4) % 4) % 4;
        spreads[turn][j][to] = (4 * word + j) as i8;
        i += 1;
    }
    spreads
}

/// Converts integers of four blocks to their bytes 0, 1, 2 and 3.
const FROM_WORD: [i8; 16] = [3, 7, 11, 15, 2, 6, 10, 14, 1, 5, 9, 13, 0, 4, 8, 12];
/// The inverse of `FROM_WORD`, with the bytes in the order of a block.
const INTO_WORD: [i8; 16] = [0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15];
