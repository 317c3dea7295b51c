//! Counter-mode caching: two AES rounds are saved while only the low counter byte changes.
//!
//! Byte 15 of the counter block reaches one column after the first round, together with bytes 0, 5 and 10, and the second
//! round is linear in the columns. So with those three bytes fixed:
//!
//! ```text
//! state after 2 rounds (counter) = A[byte 15] ^ D(bytes 1-4, 6-9, 11-14)
//! ```
//!
//! A is a table of 256 states (4 KiB), valid for 2^40 blocks; D is one block of two rounds for each 256 blocks, computed at
//! byte 15 = 255. This is the FACE method ("FACE: Fast AES CTR mode Encryption Techniques based on the Reuse of Repetitive
//! Data", Park and Lee, TCHES 2018). The table is indexed by the counter alone, which is public.
//!
//! Cost per register of 4 blocks: 8 instead of 10 `aesenc` (12 instead of 14), no shuffle and no add, but one more load. A
//! register may start at any entry, and one across the wrap of byte 15 takes two constants: moving the data so that the
//! counter is a multiple of four costs more. [`ctr_fill`] fills the table with the states that the first 256 blocks pass
//! through anyway: two stores per register for ten `aesenc`, on another port.

use core::arch::x86_64::*;

use inout::InOutBuf;
use zeroize::{Zeroize, ZeroizeOnDrop};

use super::Face;
use super::aes::round_keys;
use super::lanes::Lanes;
use crate::key::{BLOCK_BYTES, KeySize, Schedule};

/// The number of blocks in a table, and in the run for which one D holds.
pub(crate) const TABLE_BLOCKS: usize = 256;
/// The number of bytes that [`ctr_fill`] processes.
pub(crate) const TABLE_BYTES: usize = TABLE_BLOCKS * BLOCK_BYTES;
/// The bytes of a counter block that a table depends on, besides the key.
pub(crate) const NONCE_MASK: u128 = 0xff << 120 | 0xff << 80 | 0xff << 40;

/// States after two rounds, by the low counter byte, up to a constant, followed by the first few again, so that a register
/// can start at any of the 256. Wiped on drop.
#[derive(Zeroize, ZeroizeOnDrop)]
#[repr(C, align(64))]
pub(crate) struct Table {
    pub(crate) states: [[u8; BLOCK_BYTES]; TABLE_BLOCKS + __m512i::BLOCKS],
}

impl Table {
    pub(crate) const EMPTY: Self = Self {
        states: [[0; BLOCK_BYTES]; TABLE_BLOCKS + __m512i::BLOCKS],
    };
}

/// Fills `table` for the key and the nonce bytes of `counter`.
pub(crate) fn fill(_: Face, schedule: &Schedule, table: &mut Table, counter: u128) {
    #[target_feature(enable = "aes,vaes,avx512f,avx512bw,avx512vl")]
    fn with_avx512(schedule: &Schedule, table: &mut Table, counter: u128) {
        let to = table.states.as_mut_ptr().cast::<u8>();
        // SAFETY: VAES and AVX-512 are enabled here; 64 registers and one more are the whole table.
        unsafe {
            let keys = round_keys::<__m512i, 10>(schedule);
            let mut counters = __m512i::counters(counter & !0xff);
            for i in 0..TABLE_BLOCKS / __m512i::BLOCKS {
                let state = keys[0].xor(counters.swap_bytes());
                counters = counters.advance(4);
                state
                    .round(keys[1])
                    .round(keys[2])
                    .store(to.add(i * __m512i::BYTES));
            }
            __m512i::load(to).store(to.add(TABLE_BYTES));
        }
    }
    // SAFETY: `Face` proves VAES and AVX-512, which `with_avx512` enables.
    unsafe { with_avx512(schedule, table, counter) }
}

/// Applies counter mode to the first [`TABLE_BYTES`] bytes of `data`, filling `table` on the way, and returns the rest. The
/// low 32 bits of `counter` do not wrap within the run.
pub(crate) fn ctr_fill<'inp, 'out>(
    _: Face,
    schedule: &Schedule,
    table: &mut Table,
    counter: u128,
    data: InOutBuf<'inp, 'out, u8>,
) -> InOutBuf<'inp, 'out, u8> {
    #[cfg(debug_assertions)]
    crate::dispatch::aes::FACE_FILL.hit();
    let (run, rest) = data.split_at(TABLE_BYTES);
    let (from, to) = run.into_raw();
    // SAFETY: `Face` proves the features; the buffer guarantees TABLE_BYTES at both pointers, since `split_at` panics if
    // there are fewer.
    unsafe {
        match schedule.size {
            KeySize::Aes128 => fill_rounds::<10>(schedule, table, counter, from, to),
            KeySize::Aes192 => fill_rounds::<12>(schedule, table, counter, from, to),
            KeySize::Aes256 => fill_rounds::<14>(schedule, table, counter, from, to),
        }
    }
    rest
}

/// Applies counter mode to a run in which the low 32 bits of `counter` do not wrap. `table` was filled for this key and for
/// a counter that is equal under [`NONCE_MASK`].
pub(crate) fn ctr_cached(
    _: Face,
    schedule: &Schedule,
    table: &Table,
    counter: u128,
    data: InOutBuf<'_, '_, u8>,
) {
    #[cfg(debug_assertions)]
    crate::dispatch::aes::FACE.hit();
    let bytes = data.len();
    let (from, to) = data.into_raw();
    // SAFETY: `Face` proves the features; the buffer guarantees `bytes` at both pointers, the same or disjoint.
    unsafe {
        match schedule.size {
            KeySize::Aes128 => cached_rounds::<10>(schedule, table, counter, from, to, bytes),
            KeySize::Aes192 => cached_rounds::<12>(schedule, table, counter, from, to, bytes),
            KeySize::Aes256 => cached_rounds::<14>(schedule, table, counter, from, to, bytes),
        }
    }
}

/// Measured on Zen 4: 4, 6 and 8 registers give AES-128 28.6, 28.3 and 28.0 GB/s of a possible 29.5
/// and AES-256 19.1, 19.4 and 19.0 of 19.7.
const UNROLL: usize = 6;

/// # Safety
/// The same as for [`ctr_fill`], with TABLE_BYTES at both pointers.
#[target_feature(enable = "aes,vaes,avx512f,avx512bw,avx512vl")]
unsafe fn fill_rounds<const R: usize>(
    schedule: &Schedule,
    table: &mut Table,
    mut counter: u128,
    mut from: *const u8,
    mut to: *mut u8,
) {
    let states_to = table.states.as_mut_ptr().cast::<u8>();
    let phase = counter as usize % __m512i::BLOCKS;
    // SAFETY: the features are enabled; the spans are 256 blocks in total, which both pointers have, and each stays in the
    // table within a register from entry 255 on.
    unsafe {
        let keys = round_keys::<__m512i, R>(schedule);
        let end = counter.wrapping_add(TABLE_BLOCKS as u128);
        let zero = __m512i::splat(_mm_setzero_si128());
        // The entries beyond the wrap of the low byte, as if it had not wrapped.
        let wrapped = __m512i::splat(last_state(schedule, counter).xor(last_state(schedule, end)));
        let mut constant = zero;
        while counter != end {
            let first = counter as usize % TABLE_BLOCKS;
            let blocks = match TABLE_BLOCKS - first {
                before_wrap @ 0..__m512i::BLOCKS => {
                    constant = upper_blocks(before_wrap, zero, wrapped);
                    __m512i::BLOCKS
                }
                before_wrap => {
                    let left = end.wrapping_sub(counter) as usize;
                    left.min(before_wrap - before_wrap % __m512i::BLOCKS)
                }
            };
            let bytes = blocks * BLOCK_BYTES;
            let states_to = states_to.add(first * BLOCK_BYTES);
            fill_span::<R>(&keys, counter, constant, states_to, from, to, bytes);
            (from, to) = (from.add(bytes), to.add(bytes));
            counter = counter.wrapping_add(blocks as u128);
            constant = wrapped;
        }
        // Of the entries that the table has twice, the register across the wrap stored `phase` in the second place, and the
        // others were stored in the first.
        let again_to = states_to.add(TABLE_BYTES);
        let again = upper_blocks(phase, __m512i::load(again_to), __m512i::load(states_to));
        again.store(states_to);
        again.store(again_to);
    }
}

/// # Safety
/// The features are enabled in the caller; `bytes`, a multiple of a register, are available at the three pointers.
#[inline(always)]
unsafe fn fill_span<const R: usize>(
    keys: &[__m512i; 15],
    counter: u128,
    constant: __m512i,
    states_to: *mut u8,
    from: *const u8,
    to: *mut u8,
    bytes: usize,
) {
    // SAFETY: the features are enabled; `at` is a multiple of a register and less than `bytes`.
    unsafe {
        let mut counters = __m512i::counters(counter);
        let mut at = 0;
        while at < bytes {
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
            at += __m512i::BYTES;
        }
    }
}

/// # Safety
/// The same as for [`ctr_cached`], with `bytes` at both pointers.
#[target_feature(enable = "aes,vaes,avx512f,avx512bw,avx512vl")]
unsafe fn cached_rounds<const R: usize>(
    schedule: &Schedule,
    table: &Table,
    mut counter: u128,
    mut from: *const u8,
    mut to: *mut u8,
    mut bytes: usize,
) {
    // SAFETY: the features are enabled; `bytes` counts the rest at both pointers, and no step takes more than that. A span
    // stops before the wrap of the low byte or is the register across it, so it stays within the table.
    unsafe {
        let keys = round_keys::<__m512i, R>(schedule);
        while bytes > 0 {
            let first = counter as usize % TABLE_BLOCKS;
            let mut constant = constant(schedule, table, counter);
            let blocks = match TABLE_BLOCKS - first {
                before_wrap @ 0..__m512i::BLOCKS => {
                    let next = self::constant(schedule, table, counter.wrapping_add(4));
                    constant = upper_blocks(before_wrap, constant, next);
                    __m512i::BLOCKS
                }
                before_wrap => before_wrap - before_wrap % __m512i::BLOCKS,
            };
            let states = table.states.as_ptr().cast::<u8>().add(first * BLOCK_BYTES);
            let span = bytes.min(blocks * BLOCK_BYTES);
            cached_span::<R>(&keys, constant, states, from, to, span);
            (from, to, bytes) = (from.add(span), to.add(span), bytes - span);
            counter = counter.wrapping_add(blocks as u128);
        }
    }
}

/// # Safety
/// The features are enabled in the caller; `bytes` are available at `from` and `to`, and the same number rounded up to a
/// register at `states`.
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
    // SAFETY: `bytes` counts the rest, and no more than that is accessed at `from` and `to`.
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
            for (i, state) in lanes.iter_mut().enumerate() {
                *state = state.last_round(keys[R].xor(__m512i::load(from.add(i * REGISTER))));
            }
            for (i, state) in lanes.iter().enumerate() {
                state.store(to.add(i * REGISTER));
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

/// Returns D of the 256 blocks that contain `counter`.
///
/// # Safety
/// The features are enabled in the caller. Entry 255 of `table` is filled.
#[inline(always)]
unsafe fn constant(schedule: &Schedule, table: &Table, counter: u128) -> __m512i {
    // SAFETY: the features are enabled; an entry is 16 bytes.
    unsafe {
        let last = __m128i::load(table.states[TABLE_BLOCKS - 1].as_ptr());
        __m512i::splat(last_state(schedule, counter).xor(last))
    }
}

/// Returns the state after two rounds of the last of the 256 blocks that contain `counter`.
///
/// # Safety
/// The features are enabled in the caller.
#[inline(always)]
pub(super) unsafe fn last_state(schedule: &Schedule, counter: u128) -> __m128i {
    // SAFETY: the features are enabled; every schedule has more than three round keys.
    unsafe {
        let keys = round_keys::<__m128i, 2>(schedule);
        let block = __m128i::counters(counter | 0xff).swap_bytes();
        block.xor(keys[0]).round(keys[1]).round(keys[2])
    }
}

/// Returns the first `n` blocks of `lower` and the others of `upper`.
///
/// # Safety
/// The features are enabled in the caller.
#[inline(always)]
pub(super) unsafe fn upper_blocks(n: usize, lower: __m512i, upper: __m512i) -> __m512i {
    // SAFETY: AVX-512 F, which blends 64-bit words, is enabled in the caller.
    unsafe { _mm512_mask_blend_epi64(0xff << (2 * n), lower, upper) }
}
