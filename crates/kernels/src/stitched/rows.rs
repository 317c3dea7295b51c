//! ChaCha20 (RFC 8439, section 2.3) with blocks in rows, written once over [`Rows`].
//!
//! The state of a block is four rows of four words. In a set of four registers, register i holds row i of all blocks for
//! which a register has room, and one instruction does a step of all their quarter rounds; between columns and diagonals,
//! the words of three rows rotate. A set takes the latency of its chain, so further sets cost little: on Zen 4 with AVX2,
//! one takes 107 ns, two 121 ns and three 132 ns. Three still fit 16 registers.
//!
//! ```text
//! columns      a0 a1 a2 a3      diagonals    a3 a0 a1 a2
//!              b0 b1 b2 b3                   b0 b1 b2 b3
//!              c0 c1 c2 c3                   c1 c2 c3 c0
//!              d0 d1 d2 d3                   d2 d3 d0 d1
//! ```
//!
//! Row b stays: a round ends with it and the next begins with it, so rotating it, as in the usual presentation, would
//! lengthen the chain.

use core::ptr;

use crate::contract::needs_instructions;

use super::state::{
    BLOCK_BYTES, Beside, DOUBLE_ROUNDS, Data, Keystream, Register, SIGMA, Start, UNLIKE_FROM,
};
use crate::portable::xor::xor_bytes;
use crate::wipe::Secret;

/// A register of rows, one from each of `BLOCKS` blocks.
pub(crate) trait Rows: Register {
    const BLOCKS: usize;
    const SET_BYTES: usize = Self::BLOCKS * BLOCK_BYTES;

    needs_instructions! {
        /// Returns the same row for all blocks.
        fn repeat_words(row: &[u32; 4]) -> Self;
        /// Returns the same row for all blocks, its first word in the low bits.
        fn repeat(row: u128) -> Self;
        /// Returns `first`, `first + 1`, ... in the first word of each row, and zeros elsewhere.
        fn counters(first: u32) -> Self;
    }
    /// Rotates each row: word i comes from word i + `BY`, modulo 4.
    fn turn<const BY: u32>(self) -> Self;
    /// Assembles the blocks one after the other from their rows.
    fn blocks(set: [Self; 4]) -> [Self; 4];
    /// Reads a register.
    ///
    /// # Safety
    /// The CPU has the instructions of this type; `from` is valid for reads of a register, aligned or not.
    unsafe fn load(from: *const u8) -> Self;
    /// Writes a register.
    ///
    /// # Safety
    /// `to` is valid for writes of a register, aligned or not.
    unsafe fn store(self, to: *mut u8);
    /// XORs `keystream` onto the front of `data`.
    ///
    /// # Safety
    /// The CPU has the instructions of this type; `data` is at least as long as `keystream`, readable and writable, in the
    /// same place or in two that do not overlap.
    #[inline(always)]
    unsafe fn xor_bytes(keystream: &[u8], data: Data) {
        // SAFETY: the caller has the length of `keystream` at both pointers of `data`.
        unsafe { xor_bytes(keystream, data.from, data.to) }
    }
}

/// Computes the keystream of `SETS` times `R::BLOCKS` blocks, by rows. `beside` is called once in each of the ten double
/// rounds.
///
/// # Safety
/// The instructions of `R` are enabled in the caller, which also grants what `beside` needs.
#[inline(always)]
pub(crate) unsafe fn sets<R: Rows, B: Beside, const SETS: usize>(
    start: Start<'_>,
    beside: &mut B,
) -> [[R; 4]; SETS] {
    // SAFETY: the caller has the instructions of `R`, and what `beside` needs in each double round.
    unsafe {
        let (key, row) = start.parts();
        let (halves, _) = key.as_chunks();
        let (a, b, c) = (
            R::repeat_words(&SIGMA),
            R::repeat_words(&halves[0]),
            R::repeat_words(&halves[1]),
        );
        let d = R::repeat(row);
        let mut initial = [[a, b, c, d]; SETS];
        for (i, set) in initial.iter_mut().enumerate() {
            set[3] = d.add(R::counters((i * R::BLOCKS) as u32));
        }
        let mut x = initial;
        let looped = if B::IN_TWO_PHASES {
            UNLIKE_FROM
        } else {
            DOUBLE_ROUNDS
        };
        for at in 0..looped {
            double_round(&mut x, beside, at);
        }
        // A second loop, so that the compiler keeps other values in registers during it.
        for at in looped..DOUBLE_ROUNDS {
            double_round(&mut x, beside, at);
        }
        for (set, initial) in x.iter_mut().zip(initial) {
            for (row, initial) in set.iter_mut().zip(initial) {
                *row = row.add(initial);
            }
        }
        x
    }
}

/// # Safety
/// The caller grants what `beside` needs; `at` is below [`DOUBLE_ROUNDS`].
#[inline(always)]
unsafe fn double_round<R: Rows, B: Beside, const SETS: usize>(
    x: &mut [[R; 4]; SETS],
    beside: &mut B,
    at: usize,
) {
    round(x);
    for set in x.iter_mut() {
        set[0] = set[0].turn::<3>();
        set[3] = set[3].turn::<2>();
        set[2] = set[2].turn::<1>();
    }
    // SAFETY: the caller grants what `beside` needs, and `at` is one of ten.
    unsafe { beside.step(at) };
    round(x);
    for set in x.iter_mut() {
        set[0] = set[0].turn::<1>();
        set[3] = set[3].turn::<2>();
        set[2] = set[2].turn::<3>();
    }
    // SAFETY: as for the first step.
    unsafe { beside.second_step(at) };
}

/// Runs four quarter rounds of every block.
#[inline(always)]
fn round<R: Rows, const SETS: usize>(x: &mut [[R; 4]; SETS]) {
    macro_rules! half {
        ($rotate_d:literal $rotate_b:literal) => {
            for [a, b, _, _] in x.iter_mut() {
                *a = a.add(*b);
            }
            for [a, _, _, d] in x.iter_mut() {
                *d = d.xor(*a).rotate_left::<$rotate_d>();
            }
            for [_, _, c, d] in x.iter_mut() {
                *c = c.add(*d);
            }
            for [_, b, c, _] in x.iter_mut() {
                *b = b.xor(*c).rotate_left::<$rotate_b>();
            }
        };
    }
    half!(16 12);
    half!(8 7);
}

/// Assembles sets and writes them to `to`.
///
/// # Safety
/// `SETS` times `R::SET_BYTES` bytes are writable at `to`.
#[inline(always)]
unsafe fn store_sets<R: Rows, const SETS: usize>(sets: [[R; 4]; SETS], to: *mut u8) {
    // SAFETY: the caller has room for the sets at `to`; each takes `R::SET_BYTES`.
    unsafe {
        for (i, set) in sets.into_iter().enumerate() {
            for (j, part) in R::blocks(set).into_iter().enumerate() {
                part.store(to.add(i * R::SET_BYTES + j * size_of::<R>()));
            }
        }
    }
}

/// Computes keystream of at least `bytes` in `place`, in whole sets, preceded by `before` zeros.
///
/// # Safety
/// The same as for [`sets`]; `bytes` is at most [`SETS_MAX`] sets.
#[inline(always)]
pub(crate) unsafe fn keystream<R: Rows, B: Beside>(
    start: Start<'_>,
    bytes: usize,
    place: &mut Keystream,
    before: usize,
    beside: &mut B,
) {
    debug_assert!(bytes <= SETS_MAX * R::SET_BYTES);
    // SAFETY: the caller has the instructions of `R`, and grants what `beside` needs; `write` has room for the sets that it
    // gets.
    unsafe {
        let mut write = |sets| {
            let to = place.write(before + sets * R::SET_BYTES);
            ptr::write_bytes(to, 0, before);
            to.add(before)
        };
        match bytes.div_ceil(R::SET_BYTES) {
            0 | 1 => store_sets::<R, 1>(sets(start, beside), write(1)),
            2 => store_sets::<R, 2>(sets(start, beside), write(2)),
            _ => store_sets::<R, 3>(sets(start, beside), write(3)),
        }
    }
}

/// XORs keystream onto `data`, which has at least one byte.
///
/// # Safety
/// The same as for [`sets`]; `data` is at most [`SETS_MAX`] sets long, readable and writable, in the same place or in two
/// that do not overlap.
#[inline(always)]
pub(crate) unsafe fn crypt<R: Rows, B: Beside>(start: Start<'_>, beside: &mut B, data: Data) {
    debug_assert!(data.bytes <= SETS_MAX * R::SET_BYTES);
    // SAFETY: the caller has the instructions of `R`, grants what `beside` needs, and has `data` at both pointers, which is
    // no longer than the sets.
    unsafe {
        match data.bytes.div_ceil(R::SET_BYTES) {
            0 | 1 => xor_sets::<R, 1>(sets(start, beside), data),
            2 => xor_sets::<R, 2>(sets(start, beside), data),
            _ => xor_sets::<R, 3>(sets(start, beside), data),
        }
    }
}

/// Assembles the sets and XORs as much of them as the length of the data. Only a register within which the data ends goes
/// through memory.
///
/// # Safety
/// The instructions of `R` are enabled in the caller; `data` is no longer than the sets, readable and writable, in the same
/// place or in two that do not overlap.
#[inline(always)]
unsafe fn xor_sets<R: Rows, const SETS: usize>(sets: [[R; 4]; SETS], data: Data) {
    const { assert!(size_of::<R>() <= BLOCK_BYTES) };
    let mut at = 0;
    // SAFETY: the caller has the instructions of `R`, and `data` at both pointers; `at` counts its processed bytes.
    unsafe {
        let last = 'parts: {
            for set in sets {
                for part in R::blocks(set) {
                    if data.bytes - at < size_of::<R>() {
                        break 'parts part;
                    }
                    let xored = part.xor(R::load(data.from.add(at)));
                    xored.store(data.to.add(at));
                    at += size_of::<R>();
                }
            }
            return;
        };
        let left = data.bytes - at;
        if left > 0 {
            let mut place = Secret::<BLOCK_BYTES>::zeros(BLOCK_BYTES);
            last.store(place.bytes().as_mut_ptr());
            xor_bytes(&place.bytes()[..left], data.from.add(at), data.to.add(at));
        }
    }
}

/// The most sets for which there are registers.
pub(crate) const SETS_MAX: usize = 3;
