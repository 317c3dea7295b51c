//! Counter-mode caching: two AES rounds fall away while only the low counter byte moves.
//!
//! Byte 15 of the counter block reaches one column after the first round, together with bytes 0, 5
//! and 10, and the second round is linear in the columns. So with those three bytes fixed
//!
//! ```text
//! state after 2 rounds (counter) = A[byte 15] ^ D(bytes 1-4, 6-9, 11-14)
//! ```
//!
//! A is a table of 256 states (4 KiB), good for 2^40 blocks; D is one block of two rounds for each
//! 256 blocks, found at byte 15 = 255. This is the FACE method ("FACE: Fast AES CTR mode Encryption
//! Techniques based on the Reuse of Repetitive Data", Park and Lee, TCHES 2018). The table is
//! indexed by the counter alone, which is public.
//!
//! Cost per register of 4 blocks: 8 instead of 10 `aesenc` (12 instead of 14), no shuffle and no
//! add, but a load more. [`ctr_fill`] makes the table out of the states that the first 256 blocks
//! pass through anyway: two stores a register beside ten `aesenc`, on another port.

use core::arch::x86_64::*;

use inout::InOutBuf;
use zeroize::{Zeroize, ZeroizeOnDrop};

use super::Face;
use super::aes::{ctr, round_keys};
use super::lanes::Lanes;
use crate::aes::{BLOCK_BYTES, KeySize, Schedule};

/// Blocks in a table, and the run for which one D holds.
pub(crate) const TABLE_BLOCKS: usize = 256;
/// Bytes that [`ctr_fill`] takes.
pub(crate) const TABLE_BYTES: usize = TABLE_BLOCKS * BLOCK_BYTES;
/// The bytes of a counter block that a table depends on, beside the key.
pub(crate) const NONCE_MASK: u128 = 0xff << 120 | 0xff << 80 | 0xff << 40;

/// States after two rounds, by the low counter byte, up to a constant. Wiped on drop.
#[derive(Zeroize, ZeroizeOnDrop)]
#[repr(C, align(64))]
pub(crate) struct Table {
    states: [[u8; BLOCK_BYTES]; TABLE_BLOCKS],
}

impl Table {
    pub(crate) const EMPTY: Self = Self {
        states: [[0; BLOCK_BYTES]; TABLE_BLOCKS],
    };
}

/// Fills `table` for the key and the nonce bytes of `counter`.
pub(crate) fn fill(_: Face, schedule: &Schedule, table: &mut Table, counter: u128) {
    #[target_feature(enable = "aes,vaes,avx512f,avx512bw,avx512vl")]
    unsafe fn with_avx512(schedule: &Schedule, table: &mut Table, counter: u128) {
        let to = table.states.as_mut_ptr().cast::<u8>();
        // SAFETY: the features are enabled here; the table has room for 64 registers, and the
        // three round keys exist at every key size.
        unsafe {
            let keys = round_keys::<__m512i, 10>(schedule);
            let mut counters = __m512i::counters(counter & !0xff);
            for i in 0..TABLE_BYTES / __m512i::BYTES {
                let state = keys[0].xor(counters.swap_bytes());
                counters = counters.advance(4);
                state
                    .round(keys[1])
                    .round(keys[2])
                    .store(to.add(i * __m512i::BYTES));
            }
        }
    }
    // SAFETY: the token proves the features.
    unsafe { with_avx512(schedule, table, counter) }
}

/// CTR over the first [`TABLE_BYTES`] bytes of `data`, filling `table` on the way; returns the
/// rest. The low two bits of `counter` are zero, and its low 32 bits do not wrap within the run.
pub(crate) fn ctr_fill<'inp, 'out>(
    _: Face,
    schedule: &Schedule,
    table: &mut Table,
    counter: u128,
    data: InOutBuf<'inp, 'out, u8>,
) -> InOutBuf<'inp, 'out, u8> {
    #[cfg(feature = "dispatch-counters")]
    crate::aes::dispatch::FACE_FILL.hit();
    debug_assert!(counter.is_multiple_of(4));
    let (run, rest) = data.split_at(TABLE_BYTES);
    let (from, to) = run.into_raw();
    // SAFETY: the token proves the features; the buffer vouches for TABLE_BYTES at both pointers,
    // as `split_at` panics where there are fewer.
    unsafe {
        match schedule.size {
            KeySize::Aes128 => fill_rounds::<10>(schedule, table, counter, from, to),
            KeySize::Aes192 => fill_rounds::<12>(schedule, table, counter, from, to),
            KeySize::Aes256 => fill_rounds::<14>(schedule, table, counter, from, to),
        }
    }
    rest
}

/// CTR over a run in which the low 32 bits of `counter` do not wrap. `table` was filled for this
/// key and for a counter that is equal under [`NONCE_MASK`].
pub(crate) fn ctr_cached(
    _: Face,
    schedule: &Schedule,
    table: &Table,
    counter: u128,
    data: InOutBuf<'_, '_, u8>,
) {
    #[cfg(feature = "dispatch-counters")]
    crate::aes::dispatch::FACE.hit();
    let bytes = data.len();
    let (from, to) = data.into_raw();
    // SAFETY: the token proves the features; the buffer vouches for `bytes` at both pointers.
    unsafe {
        match schedule.size {
            KeySize::Aes128 => cached_rounds::<10>(schedule, table, counter, from, to, bytes),
            KeySize::Aes192 => cached_rounds::<12>(schedule, table, counter, from, to, bytes),
            KeySize::Aes256 => cached_rounds::<14>(schedule, table, counter, from, to, bytes),
        }
    }
}

const UNROLL: usize = 4;

/// # Safety
/// As [`ctr_fill`] says, with TABLE_BYTES at both pointers.
#[target_feature(enable = "aes,vaes,avx512f,avx512bw,avx512vl")]
unsafe fn fill_rounds<const R: usize>(
    schedule: &Schedule,
    table: &mut Table,
    counter: u128,
    from: *const u8,
    to: *mut u8,
) {
    let states_to = table.states.as_mut_ptr().cast::<u8>();
    // SAFETY: the features are enabled; the first loop runs over the blocks up to low byte 255, the
    // second over those from 0 on, together 256 blocks, which both pointers and the table have.
    unsafe {
        let keys = round_keys::<__m512i, R>(schedule);
        let first = (counter & 0xff) as usize * BLOCK_BYTES;
        let split = TABLE_BYTES - first;
        let counters = __m512i::counters(counter);
        let zero = __m512i::splat(_mm_setzero_si128());
        fill_span::<R>(&keys, counters, zero, states_to.add(first), from, to, split);
        if first > 0 {
            let next = (counter | 0xff).wrapping_add(1);
            let constant = constant(schedule, table, next);
            let counters = __m512i::counters(next);
            let (from, to) = (from.add(split), to.add(split));
            fill_span::<R>(&keys, counters, constant, states_to, from, to, first);
        }
    }
}

/// # Safety
/// The features are enabled in the caller; `bytes`, a multiple of a register, are there at the
/// three pointers.
#[inline(always)]
unsafe fn fill_span<const R: usize>(
    keys: &[__m512i; 15],
    mut counters: __m512i,
    constant: __m512i,
    states_to: *mut u8,
    from: *const u8,
    to: *mut u8,
    bytes: usize,
) {
    let mut at = 0;
    while at < bytes {
        // SAFETY: `at` is a multiple of a register less than `bytes`.
        unsafe {
            let mut state = keys[0]
                .xor(counters.swap_bytes())
                .round(keys[1])
                .round(keys[2]);
            counters = counters.advance(4);
            state.xor(constant).store(states_to.add(at));
            for key in &keys[3..R] {
                state = state.round(*key);
            }
            state
                .last_round(keys[R].xor(__m512i::load(from.add(at))))
                .store(to.add(at));
        }
        at += __m512i::BYTES;
    }
}

/// # Safety
/// As [`ctr_cached`] says, with `bytes` at both pointers.
#[target_feature(enable = "aes,vaes,avx512f,avx512bw,avx512vl")]
unsafe fn cached_rounds<const R: usize>(
    schedule: &Schedule,
    table: &Table,
    mut counter: u128,
    mut from: *const u8,
    mut to: *mut u8,
    mut bytes: usize,
) {
    // SAFETY: the features are enabled; `bytes` counts what is left at both pointers, and every
    // step takes no more than that. Table offsets end at TABLE_BYTES because a span ends where the
    // low byte wraps, and are multiples of a register because the head brought it to one.
    unsafe {
        let head = (counter.wrapping_neg() % 4) as usize * BLOCK_BYTES;
        if head > 0 {
            let head = head.min(bytes);
            ctr::<__m512i, R, 1>(schedule, counter, from, to, head);
            (from, to, bytes) = (from.add(head), to.add(head), bytes - head);
            counter = (counter | 3).wrapping_add(1);
        }
        let keys = round_keys::<__m512i, R>(schedule);
        while bytes > 0 {
            let constant = constant(schedule, table, counter);
            let first = (counter & 0xff) as usize * BLOCK_BYTES;
            let states = table.states.as_ptr().cast::<u8>().add(first);
            let span = bytes.min(TABLE_BYTES - first);
            cached_span::<R>(&keys, constant, states, from, to, span);
            (from, to, bytes) = (from.add(span), to.add(span), bytes - span);
            counter = (counter | 0xff).wrapping_add(1);
        }
    }
}

/// # Safety
/// The features are enabled in the caller; `bytes` are there at `from` and `to`, and as many
/// rounded up to a register at `states`.
#[inline(always)]
unsafe fn cached_span<const R: usize>(
    keys: &[__m512i; 15],
    constant: __m512i,
    mut states: *const u8,
    mut from: *const u8,
    mut to: *mut u8,
    mut bytes: usize,
) {
    const REGISTER: usize = __m512i::BYTES;
    // SAFETY: `bytes` counts what is left, and no more than that is touched at `from` and `to`.
    unsafe {
        while bytes >= UNROLL * REGISTER {
            let mut lanes = [constant; UNROLL];
            for (i, state) in lanes.iter_mut().enumerate() {
                *state = state.xor(__m512i::load(states.add(i * REGISTER)));
            }
            for key in &keys[3..R] {
                for state in &mut lanes {
                    *state = state.round(*key);
                }
            }
            for (i, state) in lanes.iter().enumerate() {
                let data = __m512i::load(from.add(i * REGISTER));
                state
                    .last_round(keys[R].xor(data))
                    .store(to.add(i * REGISTER));
            }
            states = states.add(UNROLL * REGISTER);
            from = from.add(UNROLL * REGISTER);
            to = to.add(UNROLL * REGISTER);
            bytes -= UNROLL * REGISTER;
        }
        while bytes > 0 {
            let mut state = constant.xor(__m512i::load(states));
            for key in &keys[3..R] {
                state = state.round(*key);
            }
            if bytes < REGISTER {
                state.last_round_partial(keys[R], from, to, bytes);
                break;
            }
            state.last_round(keys[R].xor(__m512i::load(from))).store(to);
            states = states.add(REGISTER);
            from = from.add(REGISTER);
            to = to.add(REGISTER);
            bytes -= REGISTER;
        }
    }
}

/// D of the 256 blocks that `counter` lies in.
///
/// # Safety
/// The features are enabled in the caller. Entry 255 of `table` is filled.
#[inline(always)]
unsafe fn constant(schedule: &Schedule, table: &Table, counter: u128) -> __m512i {
    // SAFETY: the features are enabled; the round keys and the entry are 16 bytes each.
    unsafe {
        let key = |i: usize| _mm_loadu_si128(schedule.round_keys[i].as_ptr().cast());
        let block = __m128i::counters(counter | 0xff).swap_bytes();
        let state = block.xor(key(0)).round(key(1)).round(key(2));
        let last = __m128i::load(table.states[TABLE_BLOCKS - 1].as_ptr());
        __m512i::splat(state.xor(last))
    }
}
