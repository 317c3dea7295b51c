//! Counter mode by byte shuffles with GHASH beside it, where the CPU does not multiply without carry: the one
//! takes vector units, the other integer units.

use core::arch::x86_64::*;

use inout::InOutBuf;

use super::tables::{ENTER, FRAME, ROUND_KEY, TABLES};
use super::{Halves, Permute, encrypt, key, ssse3};
use crate::key::{BLOCK_BYTES, Schedule};
use crate::portable::ghash::Ghash;
use crate::x86_64::Ssse3;
use crate::x86_64::bitslice::{Bits, wipe_stack_narrow};
use crate::x86_64::lanes::Lanes;

/// CTR as [`ssse3::ctr`], and GHASH of the ciphertext beside it: after the block before to encrypt, and
/// before the same one to decrypt. Shuffles and multiplications of integers do not wait for each other.
pub(crate) fn ctr_and_hash<const OPEN: bool>(
    token: Ssse3,
    schedule: &Schedule,
    counter: u128,
    hash: &mut Ghash,
    data: InOutBuf<'_, '_, u8>,
) {
    #[target_feature(enable = "ssse3")]
    unsafe fn with_features<const OPEN: bool>(
        schedule: &Schedule,
        counter: u128,
        hash: &mut Ghash,
        mut from: *const u8,
        mut to: *mut u8,
        groups: usize,
    ) {
        // SAFETY: the features are enabled here; the caller vouches for the pointers, and to seal, the
        // group before the second and each later one is written.
        unsafe {
            let mut counters = __m128i::counters(counter);
            for group in 0..groups {
                let mut states = [counters; HASHED_BLOCKS];
                for state in &mut states {
                    *state = counters.swap_bytes();
                    counters = counters.advance(1);
                }
                let states = if OPEN {
                    encrypt_beside(schedule, states, hash, from)
                } else if group > 0 {
                    encrypt_beside(schedule, states, hash, to.sub(HASHED_BYTES))
                } else {
                    encrypt(schedule, states)
                };
                for state in states {
                    state.xor(__m128i::load(from)).store(to);
                    (from, to) = (from.add(BLOCK_BYTES), to.add(BLOCK_BYTES));
                }
            }
            if !OPEN {
                hash.absorb_padded(core::slice::from_raw_parts(
                    to.sub(HASHED_BYTES),
                    HASHED_BYTES,
                ));
            }
        }
    }
    let groups = data.len() / HASHED_BYTES;
    let next = counter.wrapping_add((groups * HASHED_BLOCKS) as u128);
    let (whole, mut rest) = data.split_at(groups * HASHED_BYTES);
    if groups > 0 {
        #[cfg(debug_assertions)]
        crate::dispatch::aes::PERMUTE_AND_HASH.hit();
        let (from, to) = whole.into_raw();
        // SAFETY: the token proves the features; the buffer vouches for the groups readable at `from` and
        // writable at `to`, which are the same or do not overlap.
        unsafe {
            with_features::<OPEN>(schedule, counter, hash, from, to, groups);
            wipe_stack_narrow::<64>();
        }
    }
    if !rest.is_empty() {
        if OPEN {
            hash.absorb_padded(rest.get_in());
        }
        ssse3::ctr(token, schedule, next, rest.reborrow());
        if !OPEN {
            hash.absorb_padded(rest.get_out());
        }
    }
}

/// FIPS 197, section 5.1, and beside it GHASH of as many blocks at `hashed`: a third of a product in each
/// round, and after the rounds what those were too few for.
///
/// # Safety
/// SSSE3 is enabled in the caller, and the blocks are there.
#[inline(always)]
unsafe fn encrypt_beside(
    schedule: &Schedule,
    mut states: [__m128i; HASHED_BLOCKS],
    hash: &mut Ghash,
    hashed: *const u8,
) -> [__m128i; HASHED_BLOCKS] {
    // SAFETY: as the caller vouches.
    unsafe {
        let hashed: &[[u8; BLOCK_BYTES]; HASHED_BLOCKS] = &*hashed.cast();
        let first: __m128i = key(schedule, 0);
        for state in &mut states {
            *state = state.xor(first).by_nibbles(&ENTER);
        }
        let rounds = schedule.size.rounds();
        let (mut round, mut done) = (1, 0);
        macro_rules! next_round {
            () => {
                let key: __m128i = key(schedule, round);
                let key = key.by_nibbles(&ROUND_KEY);
                for state in &mut states {
                    *state = state.next_round(key);
                }
                round += 1;
            };
        }
        while round + 3 <= rounds {
            hash.begin(&hashed[done]);
            next_round!();
            hash.go_on();
            next_round!();
            hash.end();
            next_round!();
            done += 1;
        }
        while round < rounds {
            next_round!();
        }
        for block in &hashed[done..] {
            hash.absorb(block);
        }
        let last = key::<__m128i>(schedule, rounds).xor(_mm_set1_epi8(0x63));
        for state in &mut states {
            let s = Halves::of(*state).invert().map(&TABLES.s_box);
            *state = s.shuffle(&FRAME[0]).xor(last);
        }
        states
    }
}

/// What is encrypted and hashed at once.
const HASHED_BLOCKS: usize = 4;
const HASHED_BYTES: usize = HASHED_BLOCKS * BLOCK_BYTES;
