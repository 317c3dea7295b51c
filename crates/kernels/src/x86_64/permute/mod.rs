//! AES without AES instructions where blocks are few: the S-box by byte shuffles within a register
//! ("Accelerating AES with Vector Permute Instructions", Hamburg, CHES 2009).
//!
//! A byte is i + k w over the field of 16 elements, where w^2 + w = 1/a, with i and k in its two
//! halves. A shuffle is a table of 16 entries for every byte of a register, so that with j = i + k
//!
//! ```text
//! io = 1 / (1/i + a/k) + j        1 / (i + k w)  =  (1/io) (1/a + w)  +  (1/jo) (1 + 1/a + w)
//! jo = 1 / (1/j + a/k) + i
//! ```
//!
//! takes five shuffles, and two more any linear map of the inverse: the rest of the S-box, times what
//! MixColumns wants, in the form of the next round's halves. 1/0 is a byte with its highest bit set,
//! which stays set when it is added to and of which a shuffle makes 0.
//!
//! A round takes 12 shuffles and 14 other instructions for the two blocks of a register, of which 13
//! wait for each other: four registers in turn take little more time than one. ShiftRows is left out, and what
//! shuffles in a round does so [where the bytes lie then](tables::Place); with it, and with the shuffles of a sum
//! applied to its parts by the compiler, a round had 14, and one of decryption 21 in place of 16. [`super::bitslice`]
//! takes 22 for two blocks, but never less than 16 blocks. On Zen 5, with two shuffles a cycle, this
//! is faster for any length (by 1.2 at 16 KiB); a CPU that does one a cycle takes 4 cycles a byte here
//! and 3 there, so long runs are left to that. On 128-bit registers too, but to code of our own
//! ([`super::bitslice_ssse3`]): without a third operand, what a compiler makes of the bitsliced code
//! does 0.82 of the bytes of this, and ours 1.35 (CTR at 16 KiB, Zen 4).
//!
//! Shuffles look nothing up in memory, so time does not depend on data.

mod tables;

use core::arch::x86_64::*;

use inout::InOutBuf;

use super::bitslice::{Bits, wipe_stack, wipe_stack_narrow, xor_bytes};
use super::bitslice_ssse3::GROUP_BYTES;
use super::lanes::Lanes;
use super::{Avx2, Ssse3};
use crate::key::{BLOCK_BYTES, Schedule};
use tables::{ENTER, INVERSE_ENTER, Map, Place, ROUND_KEY, TABLES, Table, UNSHIFTED, places};

/// The entry points, in a module for each register.
macro_rules! entry_points {
    ($module:ident, $token:ty, $lanes:ty, $features:literal, $wipe:ident, $counter:ident) => {
        pub(crate) mod $module {
            use super::*;

            /// FIPS 197, section 5.2. `key` has the length that `schedule.size` says.
            pub(crate) fn expand(_: $token, schedule: &mut Schedule, key: &[u8]) {
                #[target_feature(enable = $features)]
                fn with_features(schedule: &mut Schedule, key: &[u8]) {
                    schedule.expand_with(key, |word| {
                        // SAFETY: the features are enabled here.
                        let word = unsafe {
                            let halves =
                                Halves::of(_mm_cvtsi32_si128(word as i32).by_nibbles(&ENTER));
                            halves.invert().map(&TABLES.s_box)
                        };
                        _mm_cvtsi128_si32(word) as u32 ^ 0x6363_6363
                    });
                }
                // SAFETY: the token proves the features.
                unsafe { with_features(schedule, key) }
            }

            /// The schedule of the equivalent inverse cipher (FIPS 197, section 5.3.5), in the order of use.
            pub(crate) fn invert(_: $token, schedule: &Schedule, inverse: &mut Schedule) {
                #[target_feature(enable = $features)]
                fn with_features(schedule: &Schedule, inverse: &mut Schedule) {
                    let rounds = schedule.size.rounds();
                    for round in 0..=rounds {
                        // SAFETY: a round key has 16 bytes; the features are enabled here.
                        unsafe {
                            let mut key =
                                __m128i::load(schedule.round_keys[rounds - round].as_ptr().cast());
                            if round > 0 && round < rounds {
                                // With 05 a + 04 c in place of a, MixColumns is its inverse.
                                let sum = key.xor(key.shuffle(&UNSHIFTED.two_below));
                                let key_times = key.xor(double(double(sum)));
                                let below = key_times.shuffle(&UNSHIFTED.one_below);
                                let sum = key_times.xor(below);
                                let rest = below.xor(sum.shuffle(&UNSHIFTED.two_below));
                                key = double(sum).xor(rest);
                            }
                            key.store(inverse.round_keys[round].as_mut_ptr().cast());
                        }
                    }
                }
                // SAFETY: the token proves the features.
                unsafe { with_features(schedule, inverse) }
            }

            /// CTR over a run in which the low 32 bits of `counter` do not wrap.
            pub(crate) fn ctr(
                _: $token,
                schedule: &Schedule,
                counter: u128,
                data: InOutBuf<'_, '_, u8>,
            ) {
                #[target_feature(enable = $features)]
                unsafe fn with_features(
                    schedule: &Schedule,
                    counter: u128,
                    mut from: *const u8,
                    mut to: *mut u8,
                    mut bytes: usize,
                ) {
                    // SAFETY: the features are enabled here; the caller vouches for the pointers, and `bytes` counts what
                    // is left.
                    unsafe {
                        let mut counters = <$lanes>::counters(counter);
                        while bytes > 0 {
                            let registers = match bytes.div_ceil(<$lanes>::BYTES) {
                                1 => ctr_group::<$lanes, 1>(schedule, counters, from, to, bytes),
                                2 => ctr_group::<$lanes, 2>(schedule, counters, from, to, bytes),
                                3 => ctr_group::<$lanes, 3>(schedule, counters, from, to, bytes),
                                _ => ctr_group::<$lanes, 4>(schedule, counters, from, to, bytes),
                            };
                            let done = (registers * <$lanes>::BYTES).min(bytes);
                            counters = counters.advance((registers * <$lanes>::BLOCKS) as u32);
                            (from, to) = (from.add(done), to.add(done));
                            bytes -= done;
                        }
                    }
                }
                #[cfg(debug_assertions)]
                crate::dispatch::aes::$counter.hit();
                let bytes = data.len();
                let (from, to) = data.into_raw();
                // SAFETY: the token proves the features; the buffer vouches for `bytes` readable at `from` and writable at
                // `to`, which are the same or do not overlap.
                unsafe {
                    with_features(schedule, counter, from, to, bytes);
                    $wipe::<16>();
                }
            }

            /// CBC encryption of whole blocks, one after the other.
            pub(crate) fn cbc_encrypt(
                _: $token,
                schedule: &Schedule,
                iv: &mut [u8; BLOCK_BYTES],
                data: InOutBuf<'_, '_, u8>,
            ) {
                #[target_feature(enable = $features)]
                unsafe fn with_features<const KEPT: bool>(
                    schedule: &Schedule,
                    iv: &mut [u8; BLOCK_BYTES],
                    mut from: *const u8,
                    mut to: *mut u8,
                    bytes: usize,
                ) {
                    let mut blocks = bytes / BLOCK_BYTES;
                    if blocks == 0 {
                        return;
                    }
                    // SAFETY: the features are enabled here; no more than `bytes` are touched at the pointers, which the
                    // caller vouches for.
                    unsafe {
                        let rounds = schedule.size.rounds();
                        let (first, last) = (key(schedule, 0), key(schedule, rounds));
                        let places = places();
                        let shift_rows = &places[(4 - rounds % 4) % 4].key;
                        // A call right after another waits for that one's IV: only one XOR comes after it.
                        let start = __m128i::load(from).xor(first).pin();
                        let mut state = start.xor(__m128i::load(iv.as_ptr())).by_nibbles(&ENTER);
                        // One block after the other waits for its chain alone: 13 instructions a round, where a CPU with one
                        // unit for shuffles has time for 12. (One less in the chain with two shuffles more takes longer.)
                        // Round keys are kept, since what makes them takes shuffles from the chain.
                        let mut keys = [_mm_setzero_si128(); 14];
                        let mut are_made = false;
                        loop {
                            for round in 1..rounds {
                                let place = &places[round % 4];
                                let key = if KEPT && are_made {
                                    keys[round]
                                } else {
                                    round_key::<__m128i>(schedule, round, place)
                                };
                                if KEPT && !are_made {
                                    keys[round] = key;
                                }
                                state = state.next_round(key, place);
                            }
                            are_made = true;
                            let inverses = Halves::of(state).invert();
                            let ciphertext = inverses.map(&TABLES.s_box).shuffle(shift_rows);
                            let ciphertext = ciphertext.xor(last).xor(_mm_set1_epi8(0x63));
                            ciphertext.store(to);
                            blocks -= 1;
                            if blocks == 0 {
                                ciphertext.store(iv.as_mut_ptr());
                                break;
                            }
                            (from, to) = (from.add(BLOCK_BYTES), to.add(BLOCK_BYTES));
                            // The next state at once, in the form of the rounds.
                            let next = first.xor(last).xor(__m128i::load(from));
                            let shifted = inverses.map(&TABLES.once).shuffle(shift_rows);
                            state = shifted.xor(next.by_nibbles(&ROUND_KEY));
                        }
                    }
                }
                #[cfg(debug_assertions)]
                crate::dispatch::aes::$counter.hit();
                let bytes = data.len();
                let (from, to) = data.into_raw();
                // SAFETY: as in `ctr`.
                unsafe {
                    if bytes >= KEPT_BYTES_MIN {
                        with_features::<true>(schedule, iv, from, to, bytes);
                        $wipe::<32>();
                    } else {
                        with_features::<false>(schedule, iv, from, to, bytes);
                        $wipe::<16>();
                    }
                }
            }

            /// CBC decryption of whole blocks with the schedule of the equivalent inverse cipher.
            pub(crate) fn cbc_decrypt(
                _: $token,
                inverse: &Schedule,
                iv: &mut [u8; BLOCK_BYTES],
                data: InOutBuf<'_, '_, u8>,
            ) {
                #[target_feature(enable = $features)]
                unsafe fn with_features(
                    inverse: &Schedule,
                    iv: &mut [u8; BLOCK_BYTES],
                    mut from: *const u8,
                    mut to: *mut u8,
                    mut bytes: usize,
                ) {
                    // SAFETY: as in `ctr`; an IV has 16 bytes.
                    unsafe {
                        let mut before = __m128i::load(iv.as_ptr());
                        while bytes >= BLOCK_BYTES {
                            let done;
                            (before, done) = match bytes / <$lanes>::BYTES {
                                0 => cbc_decrypt_group::<__m128i, 1>(inverse, before, from, to),
                                1 => cbc_decrypt_group::<$lanes, 1>(inverse, before, from, to),
                                2 => cbc_decrypt_group::<$lanes, 2>(inverse, before, from, to),
                                3 => cbc_decrypt_group::<$lanes, 3>(inverse, before, from, to),
                                _ => cbc_decrypt_group::<$lanes, 4>(inverse, before, from, to),
                            };
                            (from, to) = (from.add(done), to.add(done));
                            bytes -= done;
                        }
                        before.store(iv.as_mut_ptr());
                    }
                }
                #[cfg(debug_assertions)]
                crate::dispatch::aes::$counter.hit();
                let bytes = data.len();
                let (from, to) = data.into_raw();
                // SAFETY: as in `ctr`.
                unsafe {
                    with_features(inverse, iv, from, to, bytes);
                    $wipe::<16>();
                }
            }
        }
    };
}

entry_points!(avx2, Avx2, __m256i, "avx2", wipe_stack, PERMUTE_AVX2);
entry_points!(
    ssse3,
    Ssse3,
    __m128i,
    "ssse3",
    wipe_stack_narrow,
    PERMUTE_SSSE3
);

/// Each byte times 02.
///
/// # Safety
/// the instructions of the register are enabled in the caller.
#[inline(always)]
unsafe fn double(bytes: __m128i) -> __m128i {
    // SAFETY: as the caller vouches.
    unsafe {
        let carry = _mm_cmpgt_epi8(_mm_setzero_si128(), bytes);
        let carry = _mm_and_si128(carry, _mm_set1_epi8(0x1b));
        _mm_add_epi8(bytes, bytes).xor(carry)
    }
}

/// What [`super::bitslice`] takes of a run, in groups of `GROUP` bytes, and the rest: all, where there
/// are at most `FEW` bytes, and none that fills a group by half.
pub(crate) fn split<'i, 'o, const GROUP: usize, const FEW: usize>(
    data: InOutBuf<'i, 'o, u8>,
) -> (InOutBuf<'i, 'o, u8>, InOutBuf<'i, 'o, u8>) {
    let (bytes, rest) = (data.len(), data.len() % GROUP);
    data.split_at(if bytes <= FEW {
        0
    } else if rest <= 256 {
        bytes - rest
    } else {
        bytes
    })
}

/// What [`super::bitslice_ssse3`] takes of a run, whole groups, and the rest: all, where making planes of the
/// keys takes longer than they save.
pub(crate) fn split_whole<'i, 'o>(
    data: InOutBuf<'i, 'o, u8>,
) -> (InOutBuf<'i, 'o, u8>, InOutBuf<'i, 'o, u8>) {
    let (bytes, rest) = (data.len(), data.len() % GROUP_BYTES);
    data.split_at(if bytes < 2 * GROUP_BYTES {
        0
    } else {
        bytes - rest
    })
}

/// `N` registers, or `bytes` where that is less, but more than `N - 1`; returns `N`.
///
/// # Safety
/// the instructions of the register are enabled in the caller, and the pointers are as in [`ctr`].
#[inline(always)]
unsafe fn ctr_group<V: Permute, const N: usize>(
    schedule: &Schedule,
    mut counters: V,
    from: *const u8,
    to: *mut u8,
    bytes: usize,
) -> usize {
    // SAFETY: as the caller vouches.
    unsafe {
        let mut states = [counters; N];
        for state in &mut states {
            *state = counters.swap_bytes();
            counters = counters.advance(V::BLOCKS as u32);
        }
        let states = encrypt(schedule, states);
        for (i, &state) in states.iter().enumerate() {
            let done = i * V::BYTES;
            let (from, to) = (from.add(done), to.add(done));
            if i == N - 1 && bytes < N * V::BYTES {
                xor_begun(state, from, to, bytes - done);
            } else {
                state.xor(V::load(from)).store(to);
            }
        }
        N
    }
}

/// XORs `bytes` (less than a register) of `keystream` onto `from` and writes them to `to`.
///
/// # Safety
/// As [`ctr_group`].
#[inline(always)]
unsafe fn xor_begun<V: Permute>(mut keystream: V, from: *const u8, to: *mut u8, bytes: usize) {
    // SAFETY: as the caller vouches.
    unsafe {
        if bytes == BLOCK_BYTES {
            return keystream.first().xor(__m128i::load(from)).store(to);
        }
        xor_bytes((&raw const keystream).cast(), from, to, bytes);
        keystream.zeroize();
    }
}

/// Decrypts `N` registers, `before` being the block before them; returns the last block read, and how
/// many bytes it was.
///
/// # Safety
/// the instructions of the register are enabled in the caller, and the pointers are as in [`ctr`], for `N` registers.
#[inline(always)]
unsafe fn cbc_decrypt_group<V: Permute, const N: usize>(
    inverse: &Schedule,
    before: __m128i,
    from: *const u8,
    to: *mut u8,
) -> (__m128i, usize) {
    // SAFETY: as the caller vouches; from the second register on, the block before one lies in the
    // register before it.
    unsafe {
        let mut states = [V::splat(before); N];
        for (i, state) in states.iter_mut().enumerate() {
            *state = V::load(from.add(i * V::BYTES));
        }
        let mut states = decrypt(inverse, states);
        for (i, state) in states.iter_mut().enumerate() {
            let chained = if i == 0 {
                V::load(from).one_block_on(before)
            } else {
                V::load(from.add(i * V::BYTES - BLOCK_BYTES))
            };
            *state = state.xor(chained);
        }
        let last = __m128i::load(from.add(N * V::BYTES - BLOCK_BYTES));
        for (i, state) in states.iter().enumerate() {
            state.store(to.add(i * V::BYTES));
        }
        (last, N * V::BYTES)
    }
}

/// FIPS 197, section 5.1.
///
/// # Safety
/// the instructions of the register are enabled in the caller.
#[inline(always)]
unsafe fn encrypt<V: Permute, const N: usize>(schedule: &Schedule, mut states: [V; N]) -> [V; N] {
    // SAFETY: as the caller vouches.
    unsafe {
        let first: V = key(schedule, 0);
        for state in &mut states {
            *state = state.xor(first).by_nibbles(&ENTER);
        }
        let rounds = schedule.size.rounds();
        let places = places();
        for round in 1..rounds {
            let place = &places[round % 4];
            let key = round_key::<V>(schedule, round, place);
            for state in &mut states {
                *state = state.next_round(key, place);
            }
        }
        let last = key::<V>(schedule, rounds).xor(V::splat(_mm_set1_epi8(0x63)));
        for state in &mut states {
            let s = Halves::of(*state).invert().map(&TABLES.s_box);
            *state = s.shuffle(&places[(4 - rounds % 4) % 4].key).xor(last);
        }
        states
    }
}

/// FIPS 197, section 5.3.5.
///
/// # Safety
/// the instructions of the register are enabled in the caller.
#[inline(always)]
unsafe fn decrypt<V: Permute, const N: usize>(inverse: &Schedule, mut states: [V; N]) -> [V; N] {
    // SAFETY: as the caller vouches.
    unsafe {
        let first: V = key(inverse, 0);
        for state in &mut states {
            *state = state.xor(first).by_nibbles(&INVERSE_ENTER);
        }
        let rounds = inverse.size.rounds();
        let places = places();
        for round in 1..rounds {
            let place = &places[(4 - round % 4) % 4];
            let key: V = key(inverse, round);
            let key = key.by_nibbles(&INVERSE_ENTER).shuffle(&place.key);
            for state in &mut states {
                *state = state.next_inverse_round(key, place);
            }
        }
        let last: V = key(inverse, rounds);
        for state in &mut states {
            let s = Halves::of(*state).invert().map(&TABLES.inverse);
            *state = s.shuffle(&places[rounds % 4].key).xor(last);
        }
        states
    }
}

/// The fewest bytes for which CBC encryption keeps its round keys.
const KEPT_BYTES_MIN: usize = 4 * BLOCK_BYTES;

/// Round key `i` in every block of a register.
///
/// # Safety
/// the instructions of the register are enabled in the caller; `i` is at most the number of rounds.
#[inline(always)]
unsafe fn key<V: Lanes>(schedule: &Schedule, i: usize) -> V {
    // SAFETY: as the caller vouches; a round key has 16 bytes.
    unsafe { V::splat(_mm_load_si128(schedule.round_keys[i].as_ptr().cast())) }
}

/// Round key `i` in the form of the rounds.
///
/// # Safety
/// As [`key`].
#[inline(always)]
unsafe fn round_key<V: Permute>(schedule: &Schedule, i: usize, place: &Place) -> V {
    // SAFETY: as the caller vouches.
    unsafe {
        let key: V = key(schedule, i);
        key.by_nibbles(&ROUND_KEY).shuffle(&place.key)
    }
}

/// The halves of each byte as they are inverted: i and k, and then io and jo.
#[derive(Clone, Copy)]
struct Halves<V>(V, V);

impl<V: Permute> Halves<V> {
    /// # Safety
    /// the instructions of the register are enabled in the caller of this and the other methods.
    #[inline(always)]
    unsafe fn of(state: V) -> Self {
        // SAFETY: as the caller vouches.
        unsafe {
            let mask = V::splat(_mm_set1_epi8(0x0f));
            Self(state.shift_right::<4>().mul(mask), state.mul(mask))
        }
    }

    /// See the head of this file.
    #[inline(always)]
    unsafe fn invert(self) -> Self {
        // SAFETY: as `of` demands.
        unsafe {
            let Self(i, k) = self;
            let j = i.xor(k);
            let a_by_k = k.pick(&TABLES.a_by);
            let iak = i.pick(&TABLES.one_by).xor(a_by_k);
            let jak = j.pick(&TABLES.one_by).xor(a_by_k);
            let io = iak.pick(&TABLES.one_by).xor(j);
            let jo = jak.pick(&TABLES.one_by).xor(i);
            Self(io, jo)
        }
    }

    /// A linear map of the inverse.
    #[inline(always)]
    unsafe fn map(self, map: &Map) -> V {
        // SAFETY: as `of` demands.
        unsafe { self.0.pick(&map.0).xor(self.1.pick(&map.1)) }
    }
}

/// What this takes of a register.
///
/// # Safety
/// As [`Bits`].
trait Permute: Bits {
    /// Each byte is replaced by the entry of the table that it names, or 0 if its highest bit is set.
    unsafe fn pick(self, table: &Table) -> Self;
    /// The first block.
    unsafe fn first(self) -> __m128i;

    /// A map of bytes, by tables for their low and their high halves.
    #[inline(always)]
    unsafe fn by_nibbles(self, map: &Map) -> Self {
        // SAFETY: as the trait demands.
        unsafe {
            let Halves(high, low) = Halves::of(self);
            low.pick(&map.0).xor(high.pick(&map.1))
        }
    }

    /// SubBytes, MixColumns: with a the byte and b, c, d those below it, 2 a + 3 b + c + d,
    /// which is x = 2 a + b, the x below it, and d; and AddRoundKey.
    #[inline(always)]
    unsafe fn next_round(self, key: Self, place: &Place) -> Self {
        // SAFETY: as the trait demands.
        unsafe {
            let inverses = Halves::of(self).invert();
            let [one, _, three] = &place.below;
            let once = inverses.map(&TABLES.once);
            let x = inverses.map(&TABLES.twice).xor(once.shuffle(one));
            // The shuffle comes last: pinned, or the compiler adds up in another order.
            let rest = x.xor(once.shuffle(three).xor(key).pin()).pin();
            x.shuffle(one).xor(rest)
        }
    }

    /// InvSubBytes, InvMixColumns: 0e a + 0b b + 0d c + 09 d; and AddRoundKey.
    #[inline(always)]
    unsafe fn next_inverse_round(self, key: Self, place: &Place) -> Self {
        // SAFETY: as the trait demands.
        unsafe {
            let inverses = Halves::of(self).invert();
            let [a, b, c, d] = &TABLES.inverse_mix;
            let [one, two, three] = &place.below;
            let b = inverses.map(b).shuffle(one);
            let c = inverses.map(c).shuffle(two);
            let d = inverses.map(d).shuffle(three);
            inverses.map(a).xor(key).xor(b).xor(c.xor(d))
        }
    }
}

// SAFETY (both): each method is at most an intrinsic, whose feature the contract demands of the caller.
impl Permute for __m128i {
    #[inline(always)]
    unsafe fn pick(self, table: &Table) -> Self {
        // SAFETY: as the trait demands; a table has 16 bytes.
        unsafe { _mm_shuffle_epi8(_mm_load_si128(table.0.as_ptr().cast()), self) }
    }
    #[inline(always)]
    unsafe fn first(self) -> __m128i {
        self
    }
}

impl Permute for __m256i {
    #[inline(always)]
    unsafe fn pick(self, table: &Table) -> Self {
        // SAFETY: as the trait demands; a table has 16 bytes.
        unsafe {
            let table = Self::splat(_mm_load_si128(table.0.as_ptr().cast()));
            _mm256_shuffle_epi8(table, self)
        }
    }
    #[inline(always)]
    unsafe fn first(self) -> __m128i {
        // SAFETY: as the trait demands.
        unsafe { _mm256_castsi256_si128(self) }
    }
}
