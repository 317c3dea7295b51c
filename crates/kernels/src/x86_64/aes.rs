//! AES-CTR for every register width, written once over [`Lanes`].
//!
//! The limit is `aesenc`: 10, 12 or 14 per block, two per cycle on 128- and 256-bit registers and one per cycle on 512-bit
//! ones (measured on Zen 4 and Sapphire Rapids). The other instructions per register, a shuffle, an add, two XORs, a load
//! and a store, use other ports, at least for the most part (see [`ctr_by_words`] for the rest), so a loop of `UNROLL`
//! independent registers reaches the limit; see bench/records for how closely.

use core::arch::{asm, x86_64::*};

use inout::InOutBuf;
use zeroize::Zeroize as _;

use super::lanes::Lanes;
use super::{AesNi, Vaes256, Vaes512};
use crate::key::{BLOCK_BYTES, KeySize, Schedule};

/// Repeats the block for every round but the last of `$rounds`, from the one after `$passed`. Written out, so that states
/// stay in registers: the compiler does not unroll a loop of this size, and spills the round keys.
macro_rules! each_round {
    ($round:ident of $rounds:ident after $passed:expr => $body:block) => {
        each_round!(@ $round $rounds ($passed) $body 1 2 3 4 5 6 7 8 9 10 11 12 13)
    };
    (@ $round:ident $rounds:ident ($passed:expr) $body:block $($i:literal)+) => {
        $(if $i > $passed && $i < $rounds {
            let $round: usize = $i;
            $body
        })+
    };
}
pub(super) use each_round;

macro_rules! entry_point {
    ($name:ident, $token:ty, $lanes:ty, $unroll:literal, $features:literal, $counter:ident) => {
        /// Applies counter mode to a run in which the low 32 bits of `counter` do not wrap.
        #[inline]
        pub(crate) fn $name(
            _: $token,
            schedule: &Schedule,
            counter: u128,
            data: InOutBuf<'_, '_, u8>,
        ) {
            /// # Safety
            /// `bytes` are readable at `from` and writable at `to`, which are the same place or do not overlap.
            #[target_feature(enable = $features)]
            unsafe fn rounds<const R: usize>(
                schedule: &Schedule,
                counter: u128,
                from: *const u8,
                to: *mut u8,
                bytes: usize,
            ) {
                // SAFETY: the instructions of `$lanes` are enabled here; the caller has `bytes` at both pointers.
                unsafe { ctr::<$lanes, R, $unroll>(schedule, counter, from, to, bytes) }
            }
            #[cfg(debug_assertions)]
            crate::dispatch::aes::$counter.hit();
            let bytes = data.len();
            let (from, to) = data.into_raw();
            // SAFETY: the token proves the features; the buffer guarantees `bytes` readable at `from` and writable at `to`,
            // the same or disjoint.
            unsafe {
                match schedule.size {
                    KeySize::Aes128 => rounds::<10>(schedule, counter, from, to, bytes),
                    KeySize::Aes192 => rounds::<12>(schedule, counter, from, to, bytes),
                    KeySize::Aes256 => rounds::<14>(schedule, counter, from, to, bytes),
                }
            }
        }
    };
}

// Unrolled so far that a round's latency (3 to 5 cycles) times its rate is covered, if there are enough registers; a power
// of two, see `ctr`.
entry_point!(ctr_aes_ni, AesNi, __m128i, 8, "aes,sse4.1", AES_NI);
entry_point!(ctr_vaes256, Vaes256, __m256i, 8, "aes,vaes,avx2", VAES256);
entry_point!(
    ctr_vaes512,
    Vaes512,
    __m512i,
    8,
    "aes,vaes,avx512f,avx512bw,avx512vl",
    VAES512
);

/// The algorithm: groups of `UNROLL` registers, then one register at a time.
///
/// Where registers are narrow, each instruction besides `aesenc` counts. There a group starts at a counter that is a
/// multiple of its blocks, so that its counters differ from the first by an XOR with a constant: one instruction per
/// register instead of an add, a shuffle and an XOR.
///
/// The low 32 bits of `counter` do not wrap.
///
/// # Safety
/// The instructions of `V` are enabled in the caller; `bytes` are readable at `from` and writable at `to`, which are the
/// same place or do not overlap.
#[inline(always)]
pub(super) unsafe fn ctr<V: Lanes, const R: usize, const UNROLL: usize>(
    schedule: &Schedule,
    mut counter: u128,
    mut from: *const u8,
    mut to: *mut u8,
    mut bytes: usize,
) {
    let group_blocks = UNROLL * V::BLOCKS;
    let group_bytes = UNROLL * V::BYTES;
    // SAFETY: the caller has the instructions of `V`; `bytes` counts the rest at both pointers, and no more than that is
    // accessed.
    unsafe {
        // For one block, the keys are operands in memory; for more blocks they first have to be spread over registers.
        if V::BLOCKS > 1 && bytes <= __m128i::BYTES {
            let keys = Keys::<__m128i>::new::<R>(schedule);
            let counters = __m128i::counters(counter);
            return one_by_one::<__m128i, R>(keys, counters, from, to, bytes);
        }
        if V::BLOCKS == 1 {
            if bytes >= BY_WORDS_BYTES_MIN {
                let done = ctr_by_words::<R>(schedule, counter, from, to, bytes);
                (from, to, bytes) = (from.add(done), to.add(done), bytes - done);
                counter = counter.wrapping_add((done / BLOCK_BYTES) as u128);
            }
            let keys = Keys::<V>::new::<R>(schedule);
            let mut counters = V::counters(counter);
            while bytes >= 8 * V::BYTES {
                counters = ctr_by_adds::<V, R, 8>(keys, counters, from, to);
                (from, to) = (from.add(8 * V::BYTES), to.add(8 * V::BYTES));
                bytes -= 8 * V::BYTES;
            }
            if bytes >= 4 * V::BYTES {
                counters = ctr_by_adds::<V, R, 4>(keys, counters, from, to);
                (from, to) = (from.add(4 * V::BYTES), to.add(4 * V::BYTES));
                bytes -= 4 * V::BYTES;
            }
            return one_by_one::<V, R>(keys, counters, from, to, bytes);
        }
        let mut keys = Keys::<V>::new::<R>(schedule);
        let mut counters = V::counters(counter);
        let head_blocks = if V::NARROW {
            (counter as u32).wrapping_neg() as usize % group_blocks
        } else {
            0
        };
        let head = head_blocks * BLOCK_BYTES;
        if bytes >= head + group_bytes {
            if head > 0 {
                one_by_one::<V, R>(keys, counters, from, to, head);
                (from, to, bytes) = (from.add(head), to.add(head), bytes - head);
                counters = V::counters(counter + head_blocks as u128);
            }
            while bytes >= group_bytes {
                keys.read_again();
                let key = keys.get(0);
                let mut states = [key; UNROLL];
                if V::NARROW {
                    states = [key.xor(counters.swap_bytes()); UNROLL];
                    for (i, state) in states.iter_mut().enumerate() {
                        let offset = __m128i::counters((i * V::BLOCKS) as u128).swap_bytes();
                        *state = state.xor(V::splat(offset));
                    }
                    counters = counters.advance(group_blocks as u32);
                } else {
                    for state in &mut states {
                        *state = state.xor(counters.swap_bytes());
                        counters = counters.advance(V::BLOCKS as u32);
                    }
                }
                for round in 1..R {
                    let key = keys.get(round);
                    for state in &mut states {
                        *state = state.round(key);
                    }
                }
                let key = keys.get(R);
                for (i, state) in states.iter_mut().enumerate() {
                    *state = state.last_round(key.xor(V::load(from.add(i * V::BYTES))));
                }
                for (i, state) in states.iter().enumerate() {
                    state.store(to.add(i * V::BYTES));
                }
                (from, to) = (from.add(group_bytes), to.add(group_bytes));
                bytes -= group_bytes;
            }
        }
        one_by_one::<V, R>(keys, counters, from, to, bytes);
    }
}

/// Long runs on 128 bits: whole groups of eight blocks. Returns the number of bytes processed.
///
/// Zen's two units for `aesenc` also execute vector XORs, and each XOR delays a round: of the 56 cycles that eight blocks
/// need under a 256-bit key, counters by XOR cost 3. Instead, general registers write the last words of counters into
/// memory, two groups ahead, since a load that meets a narrower store in flight waits for it. With the results stored one by
/// one: 55.8 cycles, from 60.
///
/// # Safety
/// The same as for [`ctr`], with AES-NI and SSSE3 for `V`.
#[inline(always)]
unsafe fn ctr_by_words<const R: usize>(
    schedule: &Schedule,
    counter: u128,
    mut from: *const u8,
    mut to: *mut u8,
    bytes: usize,
) -> usize {
    const GROUP: usize = 8;
    const AHEAD: usize = 2 * GROUP;
    let groups = bytes / (GROUP * BLOCK_BYTES);
    // SAFETY: the caller has AES-NI and SSSE3, and `bytes` at both pointers, which contain the groups; the index is below
    // `AHEAD`.
    unsafe {
        let mut keys = Keys::<__m128i>::new::<R>(schedule);
        let first_key = keys.get(0);
        // With the first key, so that they are wiped at the end.
        let mut inputs = [first_key; AHEAD];
        let mut counters = __m128i::counters(counter);
        for input in &mut inputs {
            *input = first_key.xor(counters.swap_bytes());
            counters = counters.advance(1);
        }
        let last_key_word = schedule.round_keys[0][3];
        let mut next = (counter as u32).wrapping_add(AHEAD as u32);
        let inputs_start = (&raw mut inputs).cast::<__m128i>();
        let mut half = 0;
        for _ in 0..groups {
            let inputs = inputs_start.add(half);
            half ^= GROUP;
            let mut states = [first_key; GROUP];
            for (i, state) in states.iter_mut().enumerate() {
                *state = inputs.add(i).read_volatile();
            }
            keys.read_again();
            each_round!(round of R after 0 => {
                let key = keys.get(round);
                for state in &mut states {
                    *state = state.round(key).pin();
                }
                if round <= GROUP {
                    let word = inputs.add(round - 1).cast::<u32>().add(3);
                    word.write_volatile(next.swap_bytes() ^ last_key_word);
                    next = next.wrapping_add(1);
                }
            });
            let key = keys.get(R);
            for (i, state) in states.iter().enumerate() {
                let data = __m128i::load(from.add(i * BLOCK_BYTES));
                state
                    .last_round(key.xor(data))
                    .store(to.add(i * BLOCK_BYTES));
            }
            (from, to) = (from.add(GROUP * BLOCK_BYTES), to.add(GROUP * BLOCK_BYTES));
        }
        inputs.zeroize();
    }
    groups * GROUP * BLOCK_BYTES
}

/// A few groups on 128 bits: `N` registers from `counters` on, with any alignment of the counters. Returns the counters
/// after them.
///
/// # Safety
/// The same as for [`ctr`], with `N` registers at the pointers.
#[inline(always)]
unsafe fn ctr_by_adds<V: Lanes, const R: usize, const N: usize>(
    mut keys: Keys<'_, V>,
    mut counters: V,
    from: *const u8,
    to: *mut u8,
) -> V {
    // SAFETY: the caller has the instructions of `V`, and `N` registers at both pointers.
    unsafe {
        keys.read_again();
        let mut states = [keys.get(0); N];
        for state in &mut states {
            *state = state.xor(counters.swap_bytes());
            counters = counters.advance(V::BLOCKS as u32);
        }
        each_round!(round of R after 0 => {
            keys.read_again();
            let key = keys.get(round);
            for state in &mut states {
                *state = state.round(key).pin();
            }
        });
        keys.read_again();
        let key = keys.get(R);
        for (i, state) in states.iter().enumerate() {
            let data = V::load(from.add(i * V::BYTES));
            state.last_round(key.xor(data)).store(to.add(i * V::BYTES));
        }
        counters
    }
}

/// Fewer bytes do not repay the counters kept ahead, which take 160 instructions to start and to wipe.
const BY_WORDS_BYTES_MIN: usize = 1024;

/// # Safety
/// The same as for [`ctr`].
#[inline(always)]
unsafe fn one_by_one<V: Lanes, const R: usize>(
    mut keys: Keys<'_, V>,
    mut counters: V,
    mut from: *const u8,
    mut to: *mut u8,
    mut bytes: usize,
) {
    // SAFETY: the caller has the instructions of `V`, and `bytes` at both pointers, which are processed a register at a
    // time.
    unsafe {
        while bytes > 0 {
            keys.read_again();
            let mut state = keys.get(0).xor(counters.swap_bytes());
            counters = counters.advance(V::BLOCKS as u32);
            for round in 1..R {
                state = state.round(keys.get(round));
            }
            let key = keys.get(R);
            if bytes < V::BYTES {
                state.last_round_partial(key, from, to, bytes);
                break;
            }
            state.last_round(key.xor(V::load(from))).store(to);
            (from, to) = (from.add(V::BYTES), to.add(V::BYTES));
            bytes -= V::BYTES;
        }
    }
}

/// Returns each round key in every block of a register; those past `R` are zero and unused.
///
/// # Safety
/// The instructions of `V` are enabled in the caller.
#[inline(always)]
pub(super) unsafe fn round_keys<V: Lanes, const R: usize>(schedule: &Schedule) -> [V; 15] {
    // SAFETY: the caller enables the instructions of `V`; a schedule is aligned to 16 bytes.
    unsafe {
        let mut keys = [V::splat(_mm_setzero_si128()); 15];
        for (i, key) in keys[..=R].iter_mut().enumerate() {
            *key = round_key(schedule, i);
        }
        keys
    }
}

/// Round keys: in registers if there are enough, else in memory.
///
/// For keys in memory, the compiler cannot tell after [`read_again`](Self::read_again) that they are unchanged. If it could,
/// it would spill them to memory that is never wiped, and to spill less it would put each block's rounds one after the
/// other, which gives AES-256-CTR on 128 bits 0.69 of OpenSSL's speed instead of 0.94.
#[derive(Clone, Copy)]
pub(super) struct Keys<'a, V> {
    schedule: &'a Schedule,
    registers: [V; 15],
}

impl<'a, V: Lanes> Keys<'a, V> {
    /// # Safety
    /// The instructions of `V` are enabled in the caller.
    #[inline(always)]
    pub(super) unsafe fn new<const R: usize>(schedule: &'a Schedule) -> Self {
        Self {
            schedule,
            // SAFETY: the caller has the instructions of `V`.
            registers: unsafe { round_keys::<V, R>(schedule) },
        }
    }

    #[inline(always)]
    pub(super) fn read_again(&mut self) {
        if V::NARROW {
            // SAFETY: the address is unchanged, and valid for as long.
            self.schedule = unsafe { &*anew(self.schedule) };
        }
    }

    /// Returns the key of `round`, 0 to `R`.
    ///
    /// # Safety
    /// The instructions of `V` are enabled in the caller.
    #[inline(always)]
    pub(super) unsafe fn get(&self, round: usize) -> V {
        if V::NARROW {
            let words = &self.schedule.round_keys[round];
            // SAFETY: the caller has the instructions of `V`; a schedule is aligned to 16 bytes.
            unsafe { V::splat(_mm_load_si128(words.as_ptr().cast())) }
        } else {
            self.registers[round]
        }
    }
}

/// Returns the same address, but the compiler cannot tell that it is.
#[inline(always)]
pub(super) fn anew<T>(mut address: *const T) -> *const T {
    // SAFETY: the assembly contains no instruction; the address is unchanged.
    unsafe { asm!("/* {0} */", inout(reg) address, options(readonly, nostack, preserves_flags)) };
    address
}

/// Returns round key `i` in every block of a register.
///
/// # Safety
/// The instructions of `V` are enabled in the caller; `i` is at most the number of rounds.
#[inline(always)]
pub(super) unsafe fn round_key<V: Lanes>(schedule: &Schedule, i: usize) -> V {
    // SAFETY: the caller has the instructions of `V` to spread a key of a schedule, which is aligned to 16 bytes.
    unsafe { V::splat(_mm_load_si128(schedule.round_keys[i].as_ptr().cast())) }
}
