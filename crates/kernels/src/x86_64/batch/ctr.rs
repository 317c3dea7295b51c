//! AES-CTR of independent packets, one after the other: a core overlaps several short ones by itself, as long as there is
//! nothing but rounds between them (docs/internals/packets.md). Round keys are loaded from the packets' schedules, each by a
//! load that fills the register with one block.

use core::arch::x86_64::*;

use super::super::lanes::Lanes;
use super::super::{AesNi, Vaes256, Vaes512};
use crate::key::Schedule;
use crate::requests::Counted;

macro_rules! apply {
    ($name:ident, $token:ty, $lanes:ty, $features:literal, $counter:ident) => {
        /// XORs keystream onto all packets, calling `alone` for long ones.
        pub(crate) fn $name<P: Counted>(_: $token, packets: &mut [P], alone: impl Fn(&mut P)) {
            #[target_feature(enable = $features)]
            fn inner<P: Counted>(packets: &mut [P], alone: impl Fn(&mut P)) {
                // SAFETY: the instructions of `$lanes` are enabled here.
                unsafe { apply::<$lanes, P>(packets, alone) }
            }
            #[cfg(debug_assertions)]
            crate::dispatch::batch::$counter.hit();
            // SAFETY: the token proves the features that `inner` enables.
            unsafe { inner(packets, alone) }
        }
    };
}

apply!(apply_aes_ni, AesNi, __m128i, "aes,sse4.1", CTR_AES_NI);
apply!(
    apply_vaes256,
    Vaes256,
    __m256i,
    "aes,vaes,avx2",
    CTR_VAES256
);
apply!(
    apply_vaes512,
    Vaes512,
    __m512i,
    "aes,vaes,avx512f,avx512bw,avx512vl",
    CTR_VAES512
);

/// # Safety
/// The instructions of `V` are enabled in the caller.
#[inline(always)]
unsafe fn apply<V: Lanes, P: Counted>(packets: &mut [P], alone: impl Fn(&mut P)) {
    for packet in packets {
        let mut left = packet.bytes();
        if left > REGISTERS_MAX * V::BYTES || !packet.is_one_run() {
            alone(packet);
            continue;
        }
        let schedule = packet.schedule();
        let rounds = 10 + 2 * schedule.size as usize;
        let schedule = &raw const *schedule;
        let counter = packet.counter();
        let (mut from, mut to) = packet.data().into_raw();
        // SAFETY: the caller enables the instructions of `V`; the packet guarantees its bytes at both pointers; the schedule
        // is part of a key that the packet borrows.
        unsafe {
            let mut counters = V::counters(counter);
            while left > GROUP * V::BYTES {
                few::<V, GROUP>(schedule, rounds, counters, from, to, GROUP * V::BYTES);
                counters = counters.advance((GROUP * V::BLOCKS) as u32);
                (from, to) = (from.add(GROUP * V::BYTES), to.add(GROUP * V::BYTES));
                left -= GROUP * V::BYTES;
            }
            match left.div_ceil(V::BYTES) {
                0 => {}
                1 => few::<V, 1>(schedule, rounds, counters, from, to, left),
                2 => few::<V, 2>(schedule, rounds, counters, from, to, left),
                3 => few::<V, 3>(schedule, rounds, counters, from, to, left),
                4 => few::<V, 4>(schedule, rounds, counters, from, to, left),
                5 => few::<V, 5>(schedule, rounds, counters, from, to, left),
                6 => few::<V, 6>(schedule, rounds, counters, from, to, left),
                7 => few::<V, 7>(schedule, rounds, counters, from, to, left),
                _ => few::<V, 8>(schedule, rounds, counters, from, to, left),
            }
        }
    }
}

/// Processes `N` registers, the last of which may be partial.
///
/// # Safety
/// The instructions of `V` are enabled in the caller; the schedule is live and has this number of rounds; `bytes` are
/// readable at `from` and writable at `to`, more than `N - 1` registers and at most `N`.
#[inline(always)]
unsafe fn few<V: Lanes, const N: usize>(
    schedule: *const Schedule,
    rounds: usize,
    mut counters: V,
    from: *const u8,
    to: *mut u8,
    bytes: usize,
) {
    // SAFETY: the caller enables the instructions of `V`; the schedule has keys up to `rounds`; each register but the last
    // is within `bytes`, and of the last no more than `bytes - done` is accessed.
    unsafe {
        let zero = key::<V>(schedule, 0);
        let mut states = [zero; N];
        for state in &mut states {
            *state = state.xor(counters.swap_bytes());
            counters = counters.advance(V::BLOCKS as u32);
        }
        let mut round = |round: usize| {
            let key = key::<V>(schedule, round);
            for state in &mut states {
                *state = state.round(key);
            }
        };
        for i in 1..10 {
            round(i);
        }
        if rounds > 10 {
            round(10);
            round(11);
            if rounds > 12 {
                round(12);
                round(13);
            }
        }
        let last = key::<V>(schedule, rounds);
        for (i, state) in states.iter().enumerate() {
            let done = i * V::BYTES;
            if i == N - 1 && bytes < N * V::BYTES {
                state.last_round_partial(last, from.add(done), to.add(done), bytes - done);
            } else {
                let data = V::load(from.add(done));
                state.last_round(last.xor(data)).store(to.add(done));
            }
        }
    }
}

/// # Safety
/// The instructions of `V` are enabled in the caller; the schedule is live; `round` is at most 14.
#[inline(always)]
unsafe fn key<V: Lanes>(schedule: *const Schedule, round: usize) -> V {
    // SAFETY: the caller guarantees that the schedule is live and has a key for `round`, which is 16 bytes.
    unsafe {
        let keys = (&raw const (*schedule).round_keys).cast::<[u32; 4]>();
        V::splat(__m128i::load(keys.add(round).cast()))
    }
}

/// The number of registers side by side: enough to keep two units with a latency of four cycles busy.
const GROUP: usize = 8;
/// The most registers of a packet that is processed here.
const REGISTERS_MAX: usize = 16;
