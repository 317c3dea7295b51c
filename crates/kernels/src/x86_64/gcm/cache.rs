//! Counter-mode caching (FACE, see [`crate::x86_64::face`]) for GCM under a 12-byte nonce.
//!
//! There the data begins with counter 2, and so does this table: its entries are the states of the low counter bytes 2 to
//! 255, 0 and 1, in registers, which then occupy whole cache lines. One register in 64 spans two values of the upper bytes,
//! always in its middle.
//!
//! Each call fills its own table, on its stack, with the first 4 KiB of the message that begin at a multiple of 4 KiB and
//! are encrypted anyway; the following data uses it. So stripes share nothing, and a stripe of 64 KiB loses a sixteenth of
//! the gain.

use core::arch::{asm, x86_64::*};
use core::mem::MaybeUninit;

use super::source::Source;
use crate::key::{BLOCK_BYTES, Schedule};
use crate::x86_64::Face;
use crate::x86_64::aes::round_key;
use crate::x86_64::face::{last_state, upper_blocks};
use crate::x86_64::lanes::Lanes;

/// Memory for the table of one nonce, to be [wiped](Self::wipe) after use.
#[repr(C, align(64))]
pub(crate) struct Table(MaybeUninit<[u8; TABLE_BLOCKS * BLOCK_BYTES]>);

/// The number of blocks in a table, and in the run for which one constant holds.
const TABLE_BLOCKS: usize = 256;
/// The counter of the first entry.
const FIRST: usize = 2;
/// Data at multiples of this many bytes start a group in the table.
pub(crate) const CACHED_ALIGN: u64 = 512;

impl Table {
    pub(crate) const fn new() -> Self {
        Self(MaybeUninit::uninit())
    }

    /// Overwrites the table with zeros.
    pub(crate) fn wipe(&mut self, _: Face) {
        #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
        fn inner(table: &mut Table) {
            let to = table.0.as_mut_ptr().cast::<u8>();
            // SAFETY: the features are enabled here; 64 registers are the whole table. To the compiler, the empty assembly
            // may read it, so the stores are kept.
            unsafe {
                let zero = _mm512_setzero_si512();
                for i in 0..TABLE_BLOCKS / __m512i::BLOCKS {
                    zero.store(to.add(i * __m512i::BYTES));
                }
                asm!("/* {0} */", in(reg) to, options(nostack, preserves_flags));
            }
        }
        // SAFETY: `Face` includes AVX-512, which `inner` enables.
        unsafe { inner(self) }
    }
}

/// States that first fill a table and then are read from it.
pub(super) struct Cached {
    table: *mut u8,
    /// Whether the current 256 blocks have been processed from the first on.
    is_whole: bool,
    is_filled: bool,
    /// The counter of the next block.
    counter: u128,
    /// D of the 256 blocks that contain this block, once the table is filled.
    constant: __m512i,
}

impl Cached {
    /// Begins at `counter`: 2 plus a multiple of 32 blocks. `table` outlives the value and is not used otherwise.
    pub(super) fn new(table: &mut Table, counter: u128) -> Self {
        Self {
            table: table.0.as_mut_ptr().cast(),
            is_whole: false,
            is_filled: false,
            counter,
            // SAFETY: an all-zero register is valid.
            constant: unsafe { core::mem::zeroed() },
        }
    }

    /// Returns D of the 256 blocks that contain `counter`.
    ///
    /// # Safety
    /// The features are enabled in the caller, and the table is filled.
    #[inline(always)]
    unsafe fn constant(&self, schedule: &Schedule, counter: u128) -> __m512i {
        // SAFETY: the features are enabled; the entry is within the table.
        unsafe {
            let last = self.table.add((TABLE_BLOCKS - 1 - FIRST) * BLOCK_BYTES);
            __m512i::splat(last_state(schedule, counter).xor(__m128i::load(last)))
        }
    }
}

impl Source<__m512i> for Cached {
    const ROUNDS: usize = 2;

    #[inline(always)]
    unsafe fn group<const UNROLL: usize>(&mut self, schedule: &Schedule) -> [__m512i; UNROLL] {
        const REGISTER: usize = __m512i::BYTES;
        // SAFETY: the features are enabled in the caller; a group begins at a multiple of its blocks, and 256 is a multiple
        // of them, so it stays within the table.
        unsafe {
            let first = (self.counter as usize).wrapping_sub(FIRST) % TABLE_BLOCKS;
            self.is_whole |= first == 0;
            let is_last = first + UNROLL * __m512i::BLOCKS == TABLE_BLOCKS;
            let entries = self.table.add(first * BLOCK_BYTES);
            // That of the first block beyond the wrap of the low byte, in the last group.
            let next = self
                .counter
                .wrapping_add((UNROLL * __m512i::BLOCKS) as u128);
            let zero = _mm512_setzero_si512();
            let mut states = [zero; UNROLL];
            if self.is_filled {
                states = [self.constant; UNROLL];
                if is_last {
                    let constant = self.constant(schedule, next);
                    states[UNROLL - 1] = upper_blocks(2, self.constant, constant);
                    self.constant = constant;
                }
                for (i, state) in states.iter_mut().enumerate() {
                    *state = state.xor(__m512i::load(entries.add(i * REGISTER)));
                }
            } else {
                let key = round_key::<__m512i>(schedule, 0);
                let mut counters = __m512i::counters(self.counter);
                for state in &mut states {
                    *state = key.xor(counters.swap_bytes());
                    counters = counters.advance(__m512i::BLOCKS as u32);
                }
                for i in 1..=Self::ROUNDS {
                    let key = round_key::<__m512i>(schedule, i);
                    for state in &mut states {
                        *state = state.round(key);
                    }
                }
                for (i, state) in states.iter().enumerate() {
                    state.store(entries.add(i * REGISTER));
                }
                if is_last && self.is_whole {
                    self.is_filled = true;
                    let constant =
                        last_state(schedule, self.counter).xor(last_state(schedule, next));
                    let constant = upper_blocks(2, zero, __m512i::splat(constant));
                    let last = states[UNROLL - 1].xor(constant);
                    last.store(entries.add((UNROLL - 1) * REGISTER));
                    self.constant = self.constant(schedule, next);
                }
            }
            self.counter = next;
            states
        }
    }

    #[inline(always)]
    unsafe fn counters(&self) -> __m512i {
        // SAFETY: AVX-512 F is enabled in the caller, as the trait requires for `__m512i`.
        unsafe { __m512i::counters(self.counter) }
    }
}
