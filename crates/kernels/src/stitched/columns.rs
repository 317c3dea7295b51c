//! ChaCha20 (RFC 8439, section 2.3) with blocks in columns, written once over [`Words`].
//!
//! Register i of 16 holds word i of one block for each lane, so that a quarter round needs no shuffle; the blocks are
//! assembled at the end.

use crate::contract::needs_instructions;

use super::state::{Beside, DOUBLE_ROUNDS, Register, SIGMA, Start, UNLIKE_FROM};

/// A register of 32-bit words, one from each of `BLOCKS` blocks.
pub(crate) trait Words: Register {
    const BLOCKS: usize;

    needs_instructions! {
        fn splat(word: u32) -> Self;
        /// Returns `first`, `first + 1`, ... modulo 2^32.
        fn counters(first: u32) -> Self;
    }
    /// XORs the blocks, assembled from their 16 words, onto the bytes at `from`, and writes the result to `to`.
    ///
    /// # Safety
    /// `BLOCKS` blocks are readable at `from` and writable at `to`, aligned or not, the same place or one that does not
    /// overlap.
    unsafe fn xor_blocks(words: [Self; 16], from: *const u8, to: *mut u8);
    /// Like [`xor_blocks`](Self::xor_blocks), in [`XOR_STEPS`] steps, of which this is number `step`; `words` must not move
    /// from the first to the last.
    ///
    /// # Safety
    /// The same as for [`xor_blocks`](Self::xor_blocks).
    #[inline(always)]
    unsafe fn xor_blocks_step(words: &mut [Self; 16], step: usize, from: *const u8, to: *mut u8) {
        if step + 1 == XOR_STEPS {
            // SAFETY: the caller has `BLOCKS` blocks at both pointers.
            unsafe { Self::xor_blocks(*words, from, to) }
        }
    }
}

/// Computes the keystream of `V::BLOCKS` blocks. `beside` is called once in each of the ten double rounds.
///
/// # Safety
/// The instructions of `V` are enabled in the caller, which also grants what the ten steps of `beside` need.
#[inline(always)]
pub(super) unsafe fn block_words<V: Words, B: Beside>(start: Start<'_>, beside: &mut B) -> [V; 16] {
    // SAFETY: the caller has the instructions of `V`, and what `beside` needs in each double round.
    unsafe {
        let mut initial = [V::splat(0); 16];
        for (to, word) in initial.iter_mut().zip(SIGMA.iter().chain(start.key)) {
            *to = V::splat(*word);
        }
        initial[12] = V::counters(start.row as u32);
        for (to, shift) in initial[13..].iter_mut().zip([32, 64, 96]) {
            *to = V::splat((start.row >> shift) as u32);
        }
        let mut x = initial;
        macro_rules! double_rounds {
            ($($at:literal)+) => {
                $(
                    round(&mut x, 0);
                    beside.step($at);
                    round(&mut x, 1);
                )+
            };
        }
        if B::IS_NOTHING {
            for _ in 0..DOUBLE_ROUNDS {
                round(&mut x, 0);
                round(&mut x, 1);
            }
        } else if B::IN_TWO_PHASES {
            for at in 0..UNLIKE_FROM {
                round(&mut x, 0);
                beside.step(at);
                round(&mut x, 1);
                beside.second_step(at);
            }
            for at in UNLIKE_FROM..DOUBLE_ROUNDS {
                round(&mut x, 0);
                beside.step(at);
                round(&mut x, 1);
            }
        } else {
            // Not a loop: the work of `step` depends on its number.
            double_rounds!(0 1 2 3 4 5 6 7 8 9);
        }
        for (word, initial) in x.iter_mut().zip(initial) {
            *word = word.add(initial);
        }
        x
    }
}

/// Runs four quarter rounds at once: columns with a `turn` of 0, diagonals with 1.
///
/// Two of them run one instruction behind the others. In lockstep, four rotations would wait for the two pipes that rotate
/// while the others idle: on Zen 4 that takes 650 cycles for 1 KiB, and this takes 580 (480 would be the limit).
#[inline(always)]
fn round<V: Words>(x: &mut [V; 16], turn: usize) {
    macro_rules! staggered {
        ($($at:literal)+) => {
            $(
                instruction::<V, $at>(x, turn, 0);
                instruction::<V, $at>(x, turn, 3);
                instruction::<V, { $at - 1 }>(x, turn, 1);
                instruction::<V, { $at - 1 }>(x, turn, 2);
            )+
        };
    }
    staggered!(0 1 2 3 4 5 6 7 8 9 10 11 12);
}

/// Runs instruction `AT` of the twelve of quarter round `i`; nothing for any other `AT`.
#[inline(always)]
fn instruction<V: Words, const AT: i32>(x: &mut [V; 16], turn: usize, i: usize) {
    let a = i;
    let b = 4 + (i + turn) % 4;
    let c = 8 + (i + 2 * turn) % 4;
    let d = 12 + (i + 3 * turn) % 4;
    match AT {
        0 | 6 => x[a] = x[a].add(x[b]),
        1 | 7 => x[d] = x[d].xor(x[a]),
        2 => x[d] = x[d].rotate_left::<16>(),
        3 | 9 => x[c] = x[c].add(x[d]),
        4 | 10 => x[b] = x[b].xor(x[c]),
        5 => x[b] = x[b].rotate_left::<12>(),
        8 => x[d] = x[d].rotate_left::<8>(),
        11 => x[b] = x[b].rotate_left::<7>(),
        _ => {}
    }
}

/// The steps of XORing a chunk: at most [`DOUBLE_ROUNDS`], as each runs during one of those.
pub(super) const XOR_STEPS: usize = 8;
