//! AES-CTR of independent packets: eight registers in flight, each with consecutive blocks of one packet
//! under its own key.
//!
//! A short packet alone waits for its rounds one by one. Here a register that has ended its packet begins
//! the next one, so the units stay busy whatever the lengths. Round keys come out of the packets' schedules,
//! a load that fills the register with one block.

use core::arch::x86_64::*;

use super::super::lanes::Lanes;
use super::super::{AesNi, Vaes256, Vaes512};
use crate::key::{KeySize, Schedule};
use crate::requests::Counted;

macro_rules! apply {
    ($name:ident, $token:ty, $lanes:ty, $features:literal, $counter:ident) => {
        /// Applies keystream to the packets that are a short run.
        pub(crate) fn $name(_: $token, packets: &mut [impl Counted]) {
            #[target_feature(enable = $features)]
            unsafe fn rounds<P: Counted, const R: usize>(packets: &mut [P], size: KeySize) {
                // SAFETY: the features are enabled here.
                unsafe { apply::<$lanes, P, R>(packets, size) }
            }
            #[cfg(debug_assertions)]
            crate::dispatch::batch::$counter.hit();
            // SAFETY: the token proves the features.
            unsafe {
                rounds::<_, 10>(packets, KeySize::Aes128);
                rounds::<_, 12>(packets, KeySize::Aes192);
                rounds::<_, 14>(packets, KeySize::Aes256);
            }
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

/// What a register is at.
#[derive(Clone, Copy)]
struct Way<V> {
    schedule: *const Schedule,
    counters: V,
    from: *const u8,
    to: *mut u8,
    /// Bytes that are left.
    bytes: usize,
}

/// # Safety
/// The instructions of `V` are enabled in the caller.
#[inline(always)]
unsafe fn apply<V: Lanes, P: Counted, const R: usize>(packets: &mut [P], size: KeySize) {
    let mut waiting = packets
        .iter_mut()
        .filter(|packet| packet.fits(size) && packet.is_short_run());
    let Some(packet) = waiting.next() else {
        return;
    };
    // SAFETY: instructions as the caller vouches.
    let first = unsafe { Way::<V>::of(packet) };
    // Without a packet, a register computes keystream of the first one and writes nothing.
    let mut ways = [Way { bytes: 0, ..first }; WAYS];
    ways[0] = first;
    let mut busy = 1;
    for way in &mut ways[1..] {
        if let Some(packet) = waiting.next() {
            // SAFETY: instructions as the caller vouches.
            *way = unsafe { Way::of(packet) };
            busy += 1;
        }
    }
    while busy > 0 {
        // SAFETY: instructions as the caller vouches; a schedule has 15 round keys; each packet vouches for
        // `bytes` at its pointers.
        unsafe {
            let mut states = [first.counters; WAYS];
            for (state, way) in states.iter_mut().zip(&ways) {
                *state = way.counters.swap_bytes().xor(key(way.schedule, 0));
            }
            for round in 1..R {
                for (state, way) in states.iter_mut().zip(&ways) {
                    *state = state.round(key(way.schedule, round)).pin();
                }
            }
            for (state, way) in states.iter_mut().zip(&mut ways) {
                let last: V = key(way.schedule, R);
                if way.bytes > V::BYTES {
                    state.last_round(last.xor(V::load(way.from))).store(way.to);
                    way.counters = way.counters.advance(V::BLOCKS as u32);
                    (way.from, way.to) = (way.from.add(V::BYTES), way.to.add(V::BYTES));
                    way.bytes -= V::BYTES;
                    continue;
                }
                if way.bytes == 0 {
                    continue;
                }
                if way.bytes == V::BYTES {
                    state.last_round(last.xor(V::load(way.from))).store(way.to);
                } else {
                    state.last_round_partial(last, way.from, way.to, way.bytes);
                }
                match waiting.next() {
                    Some(packet) => *way = Way::of(packet),
                    None => {
                        way.bytes = 0;
                        busy -= 1;
                    }
                }
            }
        }
    }
}

impl<V: Lanes> Way<V> {
    /// # Safety
    /// The instructions of `V` are enabled in the caller.
    #[inline(always)]
    unsafe fn of(packet: &mut impl Counted) -> Self {
        let bytes = packet.bytes();
        let (from, to) = packet.data().into_raw();
        Self {
            schedule: packet.schedule(),
            // SAFETY: as the caller vouches.
            counters: unsafe { V::counters(packet.counter()) },
            from,
            to,
            bytes,
        }
    }
}

/// # Safety
/// The instructions of `V` are enabled in the caller; the schedule lives; `round` is at most 14.
#[inline(always)]
unsafe fn key<V: Lanes>(schedule: *const Schedule, round: usize) -> V {
    // SAFETY: as the caller vouches.
    unsafe {
        let keys = (&raw const (*schedule).round_keys).cast::<[u32; 4]>();
        V::splat(__m128i::load(keys.add(round).cast()))
    }
}

/// Registers in flight.
const WAYS: usize = 8;
