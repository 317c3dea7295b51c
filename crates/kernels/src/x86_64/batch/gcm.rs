//! AES-GCM of independent packets whose last group of registers is long.
//!
//! The kernel for single messages processes the rest after whole groups of eight registers four by four, and hashes it
//! separately. For a packet of 1,400 bytes that is a third of the time. Here the rest is a group of its own, of one to eight
//! registers and the mask of the tag, and the group before is hashed during its rounds. On Zen 5 a `vpclmulqdq` of any width
//! starts every other cycle, but two `vaesenc` every cycle: so the products use Karatsuba's method, three multiplications
//! per register.

use core::arch::x86_64::*;

use super::super::Vaes512;
use super::super::aes::round_key;
use super::super::clmul::{Clmul, Sum};
use super::super::ghash::View;
use super::super::lanes::Lanes;
use crate::aead::NONCE_BYTES;
use crate::key::{BLOCK_BYTES, Schedule};

/// A packet: its schedule and powers, nonce, associated data, data.
pub(crate) struct Packet<'a> {
    pub(crate) schedule: &'a Schedule,
    pub(crate) view: View,
    pub(crate) nonce: &'a [u8; NONCE_BYTES],
    /// At most a block.
    pub(crate) aad: &'a [u8],
    pub(crate) from: *const u8,
    pub(crate) to: *mut u8,
    /// At most [`BYTES_MAX`].
    pub(crate) bytes: usize,
}

/// Returns whether the kernel takes a packet: those with few bytes more than whole groups are as fast alone.
#[inline(always)]
pub(crate) fn takes(aad_bytes: usize, bytes: usize) -> bool {
    let rest = bytes % GROUP_BYTES;
    aad_bytes <= BLOCK_BYTES && bytes <= BYTES_MAX && rest > GROUP_BYTES / 2
}

/// Returns whether there are enough powers.
#[inline(always)]
pub(crate) fn is_enough(view: View, bytes: usize) -> bool {
    view.limit() >= GROUP_BYTES / BLOCK_BYTES || view.holds(bytes.div_ceil(BLOCK_BYTES) + 2)
}

/// Seals or opens a packet and computes its tag.
///
/// # Safety
/// The packet's bytes are readable at `from` and writable at `to`, which are the same place or do not overlap. The kernel
/// takes it, and there are enough powers.
#[inline(always)]
pub(crate) unsafe fn crypt<const OPEN: bool>(
    _: Vaes512,
    packet: &Packet<'_>,
    tag: &mut [u8; BLOCK_BYTES],
) {
    /// # Safety
    /// The same as for [`crypt`].
    #[target_feature(enable = "aes,vaes,pclmulqdq,vpclmulqdq,avx512f,avx512bw,avx512vl")]
    unsafe fn inner<const OPEN: bool>(packet: &Packet<'_>, tag: &mut [u8; BLOCK_BYTES]) {
        // SAFETY: the instructions of `__m512i` are enabled here; the caller guarantees the packet.
        unsafe { message::<__m512i, OPEN>(packet, tag) }
    }
    #[cfg(debug_assertions)]
    crate::dispatch::batch::GCM_VAES512.hit();
    // SAFETY: `Vaes512` proves the features; the caller of `crypt` guarantees the packet's pointers and powers.
    unsafe { inner::<OPEN>(packet, tag) }
}

/// # Safety
/// The instructions of `V` are enabled in the caller; otherwise the same as for [`crypt`].
#[inline(always)]
unsafe fn message<V: Clmul, const OPEN: bool>(packet: &Packet<'_>, tag: &mut [u8; BLOCK_BYTES]) {
    let Packet {
        schedule,
        view,
        nonce,
        aad,
        mut from,
        mut to,
        bytes,
    } = *packet;
    // SAFETY: the caller enables the instructions of `V`. `left` counts the rest at both pointers, and no more than that is
    // accessed; ciphertext that is hashed was written by the group before, or is about to be opened; the counters of so few
    // blocks fit in one byte.
    unsafe {
        let rounds = 10 + 2 * schedule.size as usize;
        let blocks = bytes.div_ceil(BLOCK_BYTES);
        let first = _mm_insert_epi32::<2>(
            _mm_loadl_epi64(nonce.as_ptr().cast()),
            nonce.as_ptr().add(8).cast::<i32>().read_unaligned(),
        );
        let mut counters = V::splat(first).xor(V::load(FIRST_COUNTERS.0.as_ptr()));
        let j0 = V::splat(_mm_insert_epi32::<3>(first, 1 << 24));
        let lengths = _mm_set_epi64x(aad.len() as i64 * 8, bytes as i64 * 8);
        let aad = V::load_block(aad.as_ptr(), aad.len()).swap_bytes();
        let mut chunk = Chunk::<V>::begin(view, blocks, aad, lengths);
        let mut left = bytes;
        let mut pending = 0;
        while left >= GROUP * V::BYTES {
            let mut states = [counters; GROUP];
            let zero = round_key::<V>(schedule, 0);
            for state in &mut states {
                *state = counters.xor(zero);
                counters = counters.count(V::BLOCKS as u8);
            }
            // Data opened in place is overwritten by its own group; sealed ciphertext exists only after its group.
            let (ciphertext, count) = if OPEN {
                (from, GROUP)
            } else {
                (to.cast_const().wrapping_sub(pending * V::BYTES), pending)
            };
            encrypt::<V, GROUP>(schedule, rounds, &mut states, &mut chunk, ciphertext, count);
            if count > 0 {
                chunk.advance(GROUP, lengths);
            }
            let key = round_key::<V>(schedule, rounds);
            for (i, state) in states.iter().enumerate() {
                let input = V::load(from.add(i * V::BYTES));
                state.last_round(key.xor(input)).store(to.add(i * V::BYTES));
            }
            (from, to) = (from.add(GROUP * V::BYTES), to.add(GROUP * V::BYTES));
            left -= GROUP * V::BYTES;
            pending = if OPEN { 0 } else { GROUP };
        }
        macro_rules! of {
            ($n:literal) => {
                last::<V, OPEN, $n>(
                    schedule, rounds, counters, j0, chunk, pending, lengths, from, to, left, tag,
                )
            };
        }
        match left.div_ceil(V::BYTES) {
            0..=5 => of!(6),
            6 => of!(7),
            7 => of!(8),
            _ => of!(9),
        }
    }
}

/// Processes the rest of a packet: `N - 1` registers, the last of which may be partial, and the mask.
///
/// # Safety
/// The same as for [`message`], for `left` bytes, which are more than `N - 2` registers and at most `N - 1`.
#[expect(clippy::too_many_arguments, reason = "each in a register")]
#[inline(always)]
unsafe fn last<V: Clmul, const OPEN: bool, const N: usize>(
    schedule: &Schedule,
    rounds: usize,
    mut counters: V,
    j0: V,
    mut chunk: Chunk<V>,
    pending: usize,
    lengths: __m128i,
    from: *const u8,
    to: *mut u8,
    left: usize,
    tag: &mut [u8; BLOCK_BYTES],
) {
    debug_assert!((N - 2) * V::BYTES < left && left <= (N - 1) * V::BYTES);
    // SAFETY: the caller guarantees `left` bytes, and the last register accesses only those left after `done`; the registers
    // of ciphertext before `to` were written by `message`.
    unsafe {
        let zero = round_key::<V>(schedule, 0);
        let mut states = [j0.xor(zero); N];
        for state in &mut states[..N - 1] {
            *state = counters.xor(zero);
            counters = counters.count(V::BLOCKS as u8);
        }
        let ciphertext = to.cast_const().wrapping_sub(pending * V::BYTES);
        encrypt::<V, N>(
            schedule,
            rounds,
            &mut states,
            &mut chunk,
            ciphertext,
            pending,
        );
        if pending > 0 {
            chunk.advance(GROUP, lengths);
        }
        let key = round_key::<V>(schedule, rounds);
        let mut y = chunk.take_y();
        for (i, state) in states[..N - 1].iter().enumerate() {
            let done = i * V::BYTES;
            let (from, to) = (from.add(done), to.add(done));
            let ciphertext = if i == N - 2 && left < (N - 1) * V::BYTES {
                let input = V::load_partial(from, left - done);
                let output = state.last_round(key).xor(input).keep(left - done);
                output.store_partial(to, left - done);
                if OPEN { input } else { output }
            } else {
                let input = V::load(from);
                let output = state.last_round(key.xor(input));
                output.store(to);
                if OPEN { input } else { output }
            };
            chunk.add(ciphertext.swap_bytes().xor(y), i);
            y = V::first(_mm_setzero_si128());
        }
        let mask = states[N - 1].low().last_round(key.low());
        let value = chunk.sum.reduced();
        value.swap_bytes().xor(mask).store(tag.as_mut_ptr());
    }
}

/// Applies all rounds but the last, the first of them interleaved with the products of `pending` registers of ciphertext.
///
/// # Safety
/// The instructions of `V` are enabled in the caller; the schedule has this number of rounds; the registers of ciphertext
/// and their powers are readable.
#[inline(always)]
unsafe fn encrypt<V: Clmul, const N: usize>(
    schedule: &Schedule,
    rounds: usize,
    states: &mut [V; N],
    chunk: &mut Chunk<V>,
    ciphertext: *const u8,
    pending: usize,
) {
    // SAFETY: the caller has the registers of ciphertext and their powers; there are at most eight, and at least nine
    // rounds.
    unsafe {
        let mut y = match pending {
            0 => V::first(_mm_setzero_si128()),
            _ => chunk.take_y(),
        };
        for i in 0..pending {
            let key = round_key::<V>(schedule, i + 1);
            for state in &mut *states {
                *state = state.round(key);
            }
            let data = V::load(ciphertext.add(i * V::BYTES));
            chunk.add(data.swap_bytes().xor(y), i);
            y = V::first(_mm_setzero_si128());
        }
        for round in pending + 1..rounds {
            let key = round_key::<V>(schedule, round);
            for state in &mut *states {
                *state = state.round(key);
            }
        }
    }
}

/// The blocks between two reductions, in progress.
struct Chunk<V> {
    sum: Karatsuba<V>,
    /// The result of the chunks before, to be added to the next block.
    y: V,
    /// The address of the powers for the next block.
    at: *const u8,
    /// The number of bytes of powers left in this chunk, without those for the block of lengths.
    left: usize,
    /// The number of blocks of data in later chunks.
    later: usize,
    view: View,
}

impl<V: Clmul> Chunk<V> {
    /// # Safety
    /// The instructions of `V` are enabled in the caller of this and the other methods; there are enough powers.
    #[inline(always)]
    unsafe fn begin(view: View, blocks: usize, aad: __m128i, lengths: __m128i) -> Self {
        // SAFETY: the caller enables the instructions of `V`. If `holds`, the power to `blocks + 2` exists; else those to
        // the limit plus four do.
        unsafe {
            let zero = V::first(_mm_setzero_si128());
            if view.holds(blocks + 2) {
                return Self {
                    sum: Karatsuba::one(aad, view, blocks + 2)
                        .plus(Karatsuba::one(lengths, view, 1)),
                    y: zero,
                    at: view.place(blocks + 1),
                    left: 16 * blocks,
                    later: 0,
                    view,
                };
            }
            let limit = view.limit();
            Self {
                sum: Karatsuba::one(aad, view, limit + 1),
                y: zero,
                at: view.place(limit),
                left: 16 * limit,
                later: blocks - limit,
                view,
            }
        }
    }

    /// # Safety
    /// The same as for [`begin`](Self::begin).
    #[inline(always)]
    unsafe fn take_y(&mut self) -> V {
        // SAFETY: the caller of `begin` has the instructions of `V`.
        let zero = unsafe { V::first(_mm_setzero_si128()) };
        core::mem::replace(&mut self.y, zero)
    }

    /// Adds the products of `data`, which is register `i` counted from the next block.
    ///
    /// # Safety
    /// The same as for [`begin`](Self::begin); the registers up to `i` are within the chunk.
    #[inline(always)]
    unsafe fn add(&mut self, data: V, i: usize) {
        // SAFETY: the register lies within the chunk, and the powers extend to H and a register beyond.
        unsafe {
            let at = self.at.add(i * V::BYTES);
            self.sum = self.sum.plus(Karatsuba::of(data, at, self.view.sums()));
        }
    }

    /// Counts registers that have been multiplied.
    ///
    /// # Safety
    /// The same as for [`begin`](Self::begin); this many registers of the chunk have been added.
    #[inline(always)]
    unsafe fn advance(&mut self, registers: usize, lengths: __m128i) {
        // SAFETY: the address moves within the powers of the chunk, by registers that were added; a new chunk begins at a
        // power that exists according to `holds` or the limit.
        unsafe {
            self.at = self.at.add(registers * V::BYTES);
            self.left -= registers * V::BYTES;
            if self.left > 0 || self.later == 0 {
                return;
            }
            self.y = V::first(self.sum.reduced());
            if self.view.holds(self.later + 2) {
                self.sum = Karatsuba::one(lengths, self.view, 1);
                self.at = self.view.place(self.later + 1);
                self.left = 16 * self.later;
                self.later = 0;
            } else {
                let limit = self.view.limit();
                let zero = V::first(_mm_setzero_si128());
                self.sum = Karatsuba {
                    low: zero,
                    middle: zero,
                    high: zero,
                };
                self.at = self.view.place(limit);
                self.left = 16 * limit;
                self.later -= limit;
            }
        }
    }
}

/// A sum of products by Karatsuba's method: `middle` still includes the other two.
#[derive(Clone, Copy)]
struct Karatsuba<V> {
    low: V,
    middle: V,
    high: V,
}

impl<V: Clmul> Karatsuba<V> {
    /// # Safety
    /// The instructions of `V` are enabled in the caller of this and the other methods; the pointer is that of powers, and
    /// their sums are this many bytes further on.
    #[inline(always)]
    unsafe fn of(data: V, at: *const u8, sums: usize) -> Self {
        // SAFETY: the caller has a register of powers at `at`, and one of their sums `sums` bytes on.
        unsafe {
            let (power, sum) = (V::load(at), V::load(at.add(sums)));
            Self {
                low: data.multiply::<0x00>(power),
                middle: data.xor(data.swap_halves()).multiply::<0x00>(sum),
                high: data.multiply::<0x11>(power),
            }
        }
    }

    /// # Safety
    /// The CPU has the instructions of `V`.
    #[inline(always)]
    unsafe fn plus(self, other: Self) -> Self {
        // SAFETY: the caller has the instructions of `V`, with which its registers are XORed.
        unsafe {
            Self {
                low: self.low.xor(other.low),
                middle: self.middle.xor(other.middle),
                high: self.high.xor(other.high),
            }
        }
    }

    /// Returns the product of one block and the power of H to `exponent`, in the first lane of the register.
    ///
    /// # Safety
    /// The CPU has the instructions of `V`; the view has the power to `exponent`.
    #[inline(always)]
    unsafe fn one(data: __m128i, view: View, exponent: usize) -> Self {
        // SAFETY: the caller guarantees that the view has this power; one block of it and one of its sum are read.
        unsafe {
            let one = Karatsuba::of(data, view.place(exponent), view.sums());
            Self {
                low: V::first(one.low),
                middle: V::first(one.middle),
                high: V::first(one.high),
            }
        }
    }

    /// # Safety
    /// The CPU has the instructions of `V`.
    #[inline(always)]
    unsafe fn reduced(self) -> __m128i {
        // SAFETY: this is XORs and a reduction, for which the caller has the instructions of `V`.
        unsafe {
            Sum {
                low: self.low,
                middle: self.middle.xor(self.low).xor(self.high),
                high: self.high,
            }
            .reduced()
        }
    }
}

/// The number of registers in a group.
const GROUP: usize = 8;
const GROUP_BYTES: usize = GROUP * __m512i::BYTES;
/// Including the mask's, all blocks are counted in one byte.
const BYTES_MAX: usize = 253 * BLOCK_BYTES;

/// Counters from 2 on, laid out as in blocks.
static FIRST_COUNTERS: Aligned = {
    let mut bytes = [0; 64];
    let mut i = 0;
    while i < 4 {
        bytes[16 * i + 15] = i as u8 + 2;
        i += 1;
    }
    Aligned(bytes)
};

#[repr(C, align(64))]
struct Aligned([u8; 64]);
