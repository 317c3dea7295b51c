//! AES-CBC encryption of independent streams, one in each block of the registers.
//!
//! A chain waits 10, 12 or 14 times the latency of `aesenc` for each block, and a CPU starts two in each of these cycles: 8
//! registers keep it busy, and fewer take as long as one. Round keys differ from block to block, so they are laid out lane
//! by lane in a table, and read from there.
//!
//! All lanes run for as many blocks as the shortest stream has left. When there is no further stream, a lane repeats what
//! the lane with the longest stream does: all input of a step is read before any output of it is written, so both write the
//! same bytes, and the inner loop needs no case for idle lanes.

use core::arch::{asm, x86_64::*};
use core::mem::MaybeUninit;
use core::sync::atomic::{Ordering, compiler_fence};

use inout::InOutBuf;

use super::super::{AesNi, Vaes256, Vaes512, cbc};
use super::gather::Gather;
use crate::key::{BLOCK_BYTES, KeySize, Schedule};
use crate::requests::Chained;

macro_rules! encrypt {
    ($name:ident, $token:ty, $lanes:ty, $registers:literal x $blocks:literal, $features:literal, $counter:ident, $one:expr) => {
        /// Encrypts streams of whole blocks with CBC.
        pub(crate) fn $name(token: $token, streams: &mut [impl Chained]) {
            #[target_feature(enable = $features)]
            fn rounds<S: Chained, const R: usize>(
                streams: &mut [S],
                size: KeySize,
                one: &mut One<'_>,
            ) {
                // SAFETY: the instructions of `$lanes` are enabled here, and the number of lanes is `$registers` times its
                // blocks.
                unsafe {
                    encrypt::<$lanes, S, R, $registers, { $registers * $blocks }>(
                        streams, size, one,
                    )
                }
            }
            #[cfg(debug_assertions)]
            crate::dispatch::batch::$counter.hit();
            let one: &mut One<'_> = &mut |schedule, iv, data| $one(token, schedule, iv, data);
            for size in [KeySize::Aes128, KeySize::Aes192, KeySize::Aes256] {
                // SAFETY: the token proves the features that `rounds` enables.
                unsafe {
                    match size {
                        KeySize::Aes128 => rounds::<_, 10>(streams, size, one),
                        KeySize::Aes192 => rounds::<_, 12>(streams, size, one),
                        KeySize::Aes256 => rounds::<_, 14>(streams, size, one),
                    }
                }
            }
        }
    };
}

encrypt!(
    encrypt_aes_ni,
    AesNi,
    __m128i,
    8 x 1,
    "aes,sse4.1",
    CBC_AES_NI,
    cbc::encrypt_aes_ni
);
encrypt!(
    encrypt_vaes256,
    Vaes256,
    __m256i,
    8 x 2,
    "aes,vaes,avx2",
    CBC_VAES256,
    |token: Vaes256, schedule, iv, data| cbc::encrypt_aes_ni(token.aes_ni(), schedule, iv, data)
);
encrypt!(
    encrypt_vaes512,
    Vaes512,
    __m512i,
    4 x 4,
    "aes,vaes,avx512f,avx512bw,avx512vl",
    CBC_VAES512,
    |token: Vaes512, schedule, iv, data| cbc::encrypt_aes_ni(token.aes_ni(), schedule, iv, data)
);
/// A kernel for one stream.
type One<'a> = dyn FnMut(&Schedule, &mut [u8; BLOCK_BYTES], InOutBuf<'_, '_, u8>) + 'a;

/// Encrypts the streams whose keys have `size`.
///
/// # Safety
/// The instructions of `V` are enabled in the caller. `LANES` is `REGISTERS` times the blocks of `V`.
#[inline(always)]
unsafe fn encrypt<
    V: Gather,
    S: Chained,
    const R: usize,
    const REGISTERS: usize,
    const LANES: usize,
>(
    streams: &mut [S],
    size: KeySize,
    one: &mut One<'_>,
) {
    let mut queue = Queue { next: 0, size };
    let Some(first) = queue.next(streams) else {
        return;
    };
    let Some(second) = queue.next(streams) else {
        let (schedule, chain, data) = streams[first].parts();
        return one(schedule, chain, data);
    };
    let mut lanes = Lanes::<LANES>::new(R);
    lanes.take(0, first, &mut streams[first]);
    lanes.take(1, second, &mut streams[second]);
    for lane in 2..LANES {
        match queue.next(streams) {
            Some(i) => lanes.take(lane, i, &mut streams[i]),
            None => break,
        }
    }
    lanes.fill_idle(streams);
    loop {
        let blocks = lanes.left.iter().copied().min().unwrap_or(0);
        // SAFETY: the caller enables the instructions of `V`, and `blocks` is the fewest that any lane has left.
        unsafe { run::<V, R, REGISTERS, LANES>(&mut lanes, blocks) };
        let mut idle = false;
        let mut busy = 0;
        for lane in 0..LANES {
            lanes.advance(lane, blocks);
            let Some(stream) = lanes.stream[lane] else {
                continue;
            };
            if lanes.left[lane] > 0 {
                busy += 1;
                continue;
            }
            *streams[stream].chain() = lanes.chain.0[lane];
            lanes.stream[lane] = None;
            match queue.next(streams) {
                Some(i) => {
                    lanes.take(lane, i, &mut streams[i]);
                    busy += 1;
                }
                None => idle = true,
            }
        }
        match busy {
            0 => return,
            1 => break,
            _ if idle => lanes.fill_idle(streams),
            _ => {}
        }
    }
    // The rest is one chain.
    for lane in 0..LANES {
        if let Some(i) = lanes.stream[lane] {
            let stream = &mut streams[i];
            let done = stream.bytes() - lanes.left[lane] * BLOCK_BYTES;
            *stream.chain() = lanes.chain.0[lane];
            let (schedule, chain, data) = stream.parts();
            one(schedule, chain, data.split_at(done).1);
        }
    }
}

/// Streams that no lane has taken yet.
struct Queue {
    next: usize,
    size: KeySize,
}

impl Queue {
    /// Takes the next stream that has a key of this size, and data.
    #[inline(always)]
    fn next(&mut self, streams: &[impl Chained]) -> Option<usize> {
        while let Some(stream) = streams.get(self.next) {
            self.next += 1;
            if stream.fits(self.size) {
                return Some(self.next - 1);
            }
        }
        None
    }
}

/// The current state of the lanes.
pub(crate) struct Lanes<const LANES: usize> {
    /// The round keys of each round, lane by lane.
    pub(super) keys: Table<LANES>,
    /// The last ciphertext block of each lane.
    pub(super) chain: Row<LANES>,
    pub(crate) from: [*const u8; LANES],
    pub(crate) to: [*mut u8; LANES],
    /// The number of blocks left.
    left: [usize; LANES],
    /// `None` for a lane that repeats another.
    stream: [Option<usize>; LANES],
}

/// A block for each lane, aligned like the widest register.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Row<const LANES: usize>(pub(super) [[u8; BLOCK_BYTES]; LANES]);

/// Rows of round keys, of which only the first `used` are ever written, and wiped.
pub(super) struct Table<const LANES: usize> {
    pub(super) rows: MaybeUninit<[Row<LANES>; 15]>,
    used: usize,
}

impl<const LANES: usize> Table<LANES> {
    #[inline(always)]
    fn put(&mut self, round: usize, lane: usize, key: [u32; 4]) {
        assert!(round < self.used && self.used <= 15 && lane < LANES);
        let keys = self.rows.as_mut_ptr().cast::<[u32; 4]>();
        // SAFETY: the index was just checked to be within the rows, which are aligned for `[u32; 4]`.
        unsafe { keys.add(round * LANES + lane).write(key) };
    }
}

impl<const LANES: usize> Drop for Table<LANES> {
    #[inline(always)]
    fn drop(&mut self) {
        let keys = self.rows.as_mut_ptr().cast::<MaybeUninit<u8>>();
        let bytes = self.used.min(15) * size_of::<Row<LANES>>();
        // SAFETY: the counted bytes are within the rows. `MaybeUninit` bytes may have any value.
        unsafe { core::ptr::write_bytes(keys, 0, bytes) };
        // The zeros are never read; hide that from the compiler.
        core::hint::black_box(keys);
        compiler_fence(Ordering::SeqCst);
    }
}

impl<const LANES: usize> Lanes<LANES> {
    /// Creates lanes for keys with this number of rounds.
    #[inline(always)]
    pub(crate) fn new(rounds: usize) -> Self {
        Self {
            keys: Table {
                rows: MaybeUninit::uninit(),
                used: rounds + 1,
            },
            chain: Row([[0; BLOCK_BYTES]; LANES]),
            from: [core::ptr::null(); LANES],
            to: [core::ptr::null_mut(); LANES],
            left: [0; LANES],
            stream: [None; LANES],
        }
    }

    /// Starts stream `i`.
    #[inline(always)]
    fn take(&mut self, lane: usize, i: usize, stream: &mut impl Chained) {
        self.lay_out(lane, stream.schedule());
        self.chain.0[lane] = *stream.chain();
        self.left[lane] = stream.bytes() / BLOCK_BYTES;
        (self.from[lane], self.to[lane]) = stream.data().into_raw();
        self.stream[lane] = Some(i);
    }

    /// Lets lanes without a stream repeat the one that has the most left. No stream is left to take, so that one stays the
    /// longest.
    #[inline(always)]
    fn fill_idle(&mut self, streams: &[impl Chained]) {
        let mut longest = None;
        for (lane, stream) in self.stream.iter().enumerate() {
            if let Some(stream) = *stream
                && longest.is_none_or(|(_, other)| self.left[lane] > self.left[other])
            {
                longest = Some((stream, lane));
            }
        }
        let Some((stream, longest)) = longest else {
            return;
        };
        for lane in 0..LANES {
            if self.left[lane] == 0 {
                self.lay_out(lane, streams[stream].schedule());
                self.chain.0[lane] = self.chain.0[longest];
                self.from[lane] = self.from[longest];
                self.to[lane] = self.to[longest];
                self.left[lane] = self.left[longest];
            }
        }
    }

    /// Gives a lane a key and the block before its first.
    pub(crate) fn begin(&mut self, lane: usize, schedule: &Schedule, chain: &[u8; BLOCK_BYTES]) {
        self.lay_out(lane, schedule);
        self.chain.0[lane] = *chain;
    }

    #[inline(always)]
    fn lay_out(&mut self, lane: usize, schedule: &Schedule) {
        for (round, key) in schedule.round_keys[..self.keys.used].iter().enumerate() {
            self.keys.put(round, lane, *key);
        }
    }

    #[inline(always)]
    fn advance(&mut self, lane: usize, blocks: usize) {
        self.from[lane] = self.from[lane].wrapping_add(blocks * BLOCK_BYTES);
        self.to[lane] = self.to[lane].wrapping_add(blocks * BLOCK_BYTES);
        self.left[lane] -= blocks;
    }
}

/// Encrypts the next `blocks` blocks of every lane.
///
/// # Safety
/// The instructions of `V` are enabled in the caller; every lane has `blocks` blocks left; `LANES` is `REGISTERS` times the
/// blocks of `V`.
#[inline(always)]
pub(super) unsafe fn run<V: Gather, const R: usize, const REGISTERS: usize, const LANES: usize>(
    lanes: &mut Lanes<LANES>,
    blocks: usize,
) {
    const { assert!(LANES == REGISTERS * V::BLOCKS) };
    let bytes = blocks * BLOCK_BYTES;
    let (from, to) = (lanes.from.as_ptr(), lanes.to.as_ptr());
    let mut keys = lanes.keys.rows.as_ptr().cast::<u8>();
    let lane = |register| register * V::BLOCKS;
    // SAFETY: the caller enables the instructions of `V`. A row has all registers of `REGISTERS`; the lanes' pointers are
    // valid for `bytes`, since every lane has `blocks` left; the table has `R + 1` rows.
    unsafe {
        let mut chain = [V::load(lanes.chain.0.as_ptr().cast()); REGISTERS];
        for (i, chain) in chain.iter_mut().enumerate() {
            *chain = V::load(lanes.chain.0.as_ptr().add(lane(i)).cast());
        }
        let mut at = 0;
        if V::FOURS {
            while at + 4 * BLOCK_BYTES <= bytes {
                let mut data = [[chain[0]; 4]; REGISTERS];
                for (i, data) in data.iter_mut().enumerate() {
                    *data = V::gather_fours(from.add(lane(i)), at);
                }
                #[allow(clippy::needless_range_loop)] // of the inner arrays
                for block in 0..4 {
                    asm!("/* {0} */", inout(reg) keys, options(readonly, nostack, preserves_flags));
                    step::<V, R, REGISTERS>(keys, &mut chain, |i| data[i][block]);
                    for i in 0..REGISTERS {
                        data[i][block] = chain[i];
                    }
                }
                for (i, data) in data.into_iter().enumerate() {
                    V::scatter_fours(data, to.add(lane(i)), at);
                }
                at += 4 * BLOCK_BYTES;
            }
        }
        while at < bytes {
            // The compiler must not read round keys in advance, since no registers are free for them.
            asm!("/* {0} */", inout(reg) keys, options(readonly, nostack, preserves_flags));
            let mut data = [chain[0]; REGISTERS];
            for (i, data) in data.iter_mut().enumerate() {
                *data = V::gather(from.add(lane(i)), at);
            }
            step::<V, R, REGISTERS>(keys, &mut chain, |i| data[i]);
            for (i, block) in chain.iter().enumerate() {
                block.scatter(to.add(lane(i)), at);
            }
            at += BLOCK_BYTES;
        }
        for (i, block) in chain.iter().enumerate() {
            block.store(lanes.chain.0.as_mut_ptr().add(lane(i)).cast());
        }
    }
}

/// Encrypts a block of each lane: `chain` is the ciphertext before, and becomes that of `data`.
///
/// # Safety
/// The instructions of `V` are enabled in the caller; there are `R + 1` rows of `REGISTERS` at `keys`.
#[inline(always)]
unsafe fn step<V: Gather, const R: usize, const REGISTERS: usize>(
    keys: *const u8,
    chain: &mut [V; REGISTERS],
    data: impl Fn(usize) -> V,
) {
    // SAFETY: the caller enables the instructions of `V`, and `key` is called for rounds 0 to `R` of `REGISTERS` registers,
    // which are at `keys`.
    unsafe {
        let key =
            |round: usize, i: usize| V::load_aligned(keys.add((round * REGISTERS + i) * V::BYTES));
        for (i, state) in chain.iter_mut().enumerate() {
            *state = state.xor(key(0, i).xor(data(i)));
        }
        for round in 1..R {
            for (i, state) in chain.iter_mut().enumerate() {
                *state = state.round(key(round, i)).pin();
            }
        }
        for (i, state) in chain.iter_mut().enumerate() {
            *state = state.last_round(key(R, i));
        }
    }
}
