//! AES-CBC: decryption for every register width, written once over [`Lanes`], and encryption.
//!
//! Decryption has the same limit as counter mode, with `aesdec` instead of `aesenc`, see [`super::aes`]. The blocks that go
//! into the results, each shifted by one place, are read a second time: next to 10 `aesdec`, loads are free. In place, a
//! group reads everything it needs before it writes.
//!
//! Encryption is a chain: 10, 12 or 14 times the latency of `aesenc` (3 to 5 cycles) per block. `aesenclast` ends with the
//! XOR of a key; with k_last ^ k_0 ^ the next plaintext block as its key, it returns the next state at once, and no XOR is
//! in the chain. The ciphertext block comes from a second `aesenclast`, outside the chain.

use core::arch::x86_64::*;

use inout::InOutBuf;

use super::aes::{Keys, anew, each_round};
use super::lanes::Lanes;
use super::{AesNi, Vaes256, Vaes512};
use crate::key::{BLOCK_BYTES, KeySize, Schedule};

/// An entry point, and a function for each number of rounds. These are not generic, so that code that inlines the entry
/// point does not compile them again, with the options of another crate.
macro_rules! entry_point {
    (
        $(#[$doc:meta])*
        $name:ident, $token:ty, $features:literal, $counter:ident,
        |$schedule:ident, $iv:ident, $from:ident, $to:ident, $bytes:ident, $rounds:ident| $body:expr
    ) => {
        $(#[$doc])*
        #[inline(always)]
        pub(crate) fn $name(
            _: $token,
            schedule: &Schedule,
            iv: &mut [u8; BLOCK_BYTES],
            data: InOutBuf<'_, '_, u8>,
        ) {
            entry_point!(@ rounds_10, 10, $features, |$schedule, $iv, $from, $to, $bytes, $rounds| $body);
            entry_point!(@ rounds_12, 12, $features, |$schedule, $iv, $from, $to, $bytes, $rounds| $body);
            entry_point!(@ rounds_14, 14, $features, |$schedule, $iv, $from, $to, $bytes, $rounds| $body);
            #[cfg(debug_assertions)]
            crate::dispatch::aes::$counter.hit();
            let bytes = data.len();
            let (from, to) = data.into_raw();
            // SAFETY: the token proves the features; the buffer guarantees `bytes` readable at `from` and writable at `to`,
            // which are the same or do not overlap.
            unsafe {
                match schedule.size {
                    KeySize::Aes128 => rounds_10(schedule, iv, from, to, bytes),
                    KeySize::Aes192 => rounds_12(schedule, iv, from, to, bytes),
                    KeySize::Aes256 => rounds_14(schedule, iv, from, to, bytes),
                }
            }
        }
    };
    (
        @ $name:ident, $rounds:literal, $features:literal,
        |$schedule:ident, $iv:ident, $from:ident, $to:ident, $bytes:ident, $r:ident| $body:expr
    ) => {
        /// # Safety
        /// `$bytes` are readable at `$from` and writable at `$to`, which are the same place or do not overlap. The schedule
        /// has this number of rounds.
        #[target_feature(enable = $features)]
        unsafe fn $name(
            $schedule: &Schedule,
            $iv: &mut [u8; BLOCK_BYTES],
            $from: *const u8,
            $to: *mut u8,
            $bytes: usize,
        ) {
            const $r: usize = $rounds;
            // SAFETY: the instructions of every register in `$body` are enabled here; the caller has `$bytes` at both
            // pointers.
            unsafe { $body }
        }
    };
}

macro_rules! encrypt {
    ($name:ident, $token:ty, $lanes:ty, $features:literal, $counter:ident) => {
        entry_point!(
            /// Encrypts whole blocks with CBC.
            $name, $token, $features, $counter,
            |schedule, iv, from, to, bytes, R| encrypt_chain::<$lanes, R>(schedule, iv, from, to, bytes)
        );
    };
}

encrypt!(encrypt_aes_ni, AesNi, __m128i, "aes,sse4.1", AES_NI);

macro_rules! decrypt {
    ($name:ident, $token:ty, $lanes:ty, $half:ty, $one:ty, $unroll:literal, $features:literal, $counter:ident) => {
        entry_point!(
            /// Decrypts whole blocks with CBC and the schedule of the equivalent inverse cipher.
            $name, $token, $features, $counter,
            |inverse, iv, from, to, bytes, R| decrypt::<$lanes, $half, $one, R, $unroll>(inverse, iv, from, to, bytes)
        );
    };
}

decrypt!(
    decrypt_aes_ni,
    AesNi,
    __m128i,
    __m128i,
    __m128i,
    8,
    "aes,sse4.1",
    AES_NI
);
decrypt!(
    decrypt_vaes256,
    Vaes256,
    __m256i,
    __m128i,
    __m128i,
    8,
    "aes,vaes,avx2",
    VAES256
);
decrypt!(
    decrypt_vaes512,
    Vaes512,
    __m512i,
    __m256i,
    __m128i,
    8,
    "aes,vaes,avx512f,avx512bw,avx512vl",
    VAES512
);
/// # Safety
/// The instructions of `V` are enabled in the caller; `bytes` are readable at `from` and writable at `to`, which are the
/// same place or do not overlap. A last block that is not whole is not accessed.
#[inline(always)]
unsafe fn encrypt_chain<V: Lanes, const R: usize>(
    schedule: &Schedule,
    iv: &mut [u8; BLOCK_BYTES],
    mut from: *const u8,
    mut to: *mut u8,
    bytes: usize,
) {
    let mut blocks = bytes / BLOCK_BYTES;
    if blocks == 0 {
        return;
    }
    // SAFETY: `blocks` counts the rest, and no more than that is accessed; an IV has 16 bytes; the caller enables the
    // instructions. `V` has one block.
    unsafe {
        let mut keys = Keys::<V>::new::<R>(schedule);
        let both_ends = keys.get(0).xor(keys.get(R));
        // A call right after another waits for that one's IV: only one XOR follows it.
        let mut state = keys
            .get(0)
            .xor(V::load(from))
            .pin()
            .xor(V::load(iv.as_ptr()));
        loop {
            keys.read_again();
            for round in 1..R {
                state = state.round(keys.get(round));
            }
            let ciphertext = state.last_round(keys.get(R));
            ciphertext.store(to);
            blocks -= 1;
            if blocks == 0 {
                ciphertext.store(iv.as_mut_ptr());
                break;
            }
            (from, to) = (from.add(BLOCK_BYTES), to.add(BLOCK_BYTES));
            state = state.last_round(both_ends.xor(V::load(from)));
        }
    }
}

/// The algorithm: groups of `UNROLL` registers, then of fewer, then the rest on narrower ones.
///
/// # Safety
/// The instructions of `V`, `Half` and `One` are enabled in the caller; `bytes` are readable at `from` and writable at `to`,
/// which are the same place or do not overlap. A last block that is not whole is not accessed.
#[inline(always)]
unsafe fn decrypt<V: Lanes, Half: Lanes, One: Lanes, const R: usize, const UNROLL: usize>(
    inverse: &Schedule,
    iv: &mut [u8; BLOCK_BYTES],
    from: *const u8,
    to: *mut u8,
    bytes: usize,
) {
    // SAFETY: the caller has the instructions of all three, and `bytes` at both pointers, of which `left` tracks the rest;
    // an IV has 16 bytes.
    unsafe {
        let mut left = Left {
            before: __m128i::load(iv.as_ptr()),
            from,
            to,
            bytes,
        };
        if bytes >= wide_bytes_min::<V>() {
            let keys = Keys::<V>::new::<R>(inverse);
            while left.holds::<V>(UNROLL) {
                left.decrypt::<V, R, UNROLL>(keys);
            }
            // Decrypted one after the other, these registers would load the keys once each.
            if left.holds::<V>(4) {
                left.decrypt::<V, R, 4>(keys);
            }
            if left.holds::<V>(2) {
                left.decrypt::<V, R, 2>(keys);
            }
            while left.holds::<V>(1) {
                left.decrypt::<V, R, 1>(keys);
            }
        }
        if Half::BLOCKS < V::BLOCKS && left.holds::<Half>(1) {
            let keys = Keys::<Half>::new::<R>(inverse);
            if left.holds::<Half>(2) {
                left.decrypt::<Half, R, 2>(keys);
            }
            while left.holds::<Half>(1) {
                left.decrypt::<Half, R, 1>(keys);
            }
        }
        if One::BLOCKS < Half::BLOCKS {
            while left.holds::<One>(1) {
                left.decrypt::<One, R, 1>(Keys::new::<R>(inverse));
            }
        }
        left.before.store(iv.as_mut_ptr());
    }
}

/// Returns the fewest bytes for which the width of `V` is used.
///
/// For a single 512-bit register, its keys have to be spread over 13 more, and while it is in use an Intel core has half as
/// many units for all narrower registers: two 256-bit registers take 0.6 of the time (Zen 5) and can be loaded sooner from a
/// caller's stores.
#[inline(always)]
const fn wide_bytes_min<V: Lanes>() -> usize {
    if V::NARROW { V::BYTES } else { 2 * V::BYTES }
}

/// The rest to decrypt, and the block before it.
struct Left {
    before: __m128i,
    from: *const u8,
    to: *mut u8,
    bytes: usize,
}

impl Left {
    #[inline(always)]
    const fn holds<V: Lanes>(&self, registers: usize) -> bool {
        self.bytes >= registers * V::BYTES
    }

    /// # Safety
    /// The same as for [`decrypt`], with `N` registers left.
    #[inline(always)]
    unsafe fn decrypt<V: Lanes, const R: usize, const N: usize>(&mut self, keys: Keys<'_, V>) {
        let done = N * V::BYTES;
        // SAFETY: the caller has the instructions of `V`; `N` registers are left at both pointers.
        unsafe {
            self.before = decrypt_group::<V, R, N>(keys, self.before, self.from, self.to);
            (self.from, self.to) = (self.from.add(done), self.to.add(done));
        }
        self.bytes -= done;
    }
}

/// Decrypts `N` registers, `before` being the block before them, and returns the last one read.
///
/// # Safety
/// The same as for [`decrypt`], with `N` registers at the pointers.
#[inline(always)]
unsafe fn decrypt_group<V: Lanes, const R: usize, const N: usize>(
    mut keys: Keys<'_, V>,
    before: __m128i,
    from: *const u8,
    to: *mut u8,
) -> __m128i {
    // SAFETY: the caller has the instructions of `V`, and `N` registers at both pointers; from the second register on, the
    // block before lies in the register before.
    unsafe {
        keys.read_again();
        let mut states = [keys.get(0); N];
        for (i, state) in states.iter_mut().enumerate() {
            *state = state.xor(V::load(from.add(i * V::BYTES)));
        }
        each_round!(round of R after 0 => {
            keys.read_again();
            let key = keys.get(round);
            for state in &mut states {
                *state = state.inverse_round(key).pin();
            }
        });
        keys.read_again();
        let key = keys.get(R);
        // Loaded again: if they were kept from the beginning, they would not all be in registers.
        let from = if V::BLOCKS == 1 { anew(from) } else { from };
        for (i, state) in states.iter_mut().enumerate() {
            let chained = if i == 0 {
                V::load(from).one_block_on(before)
            } else {
                V::load(from.add(i * V::BYTES - BLOCK_BYTES))
            };
            *state = state.last_inverse_round(key.xor(chained)).pin();
        }
        let last = __m128i::load(from.add(N * V::BYTES - BLOCK_BYTES));
        for (i, state) in states.iter().enumerate() {
            state.store(to.add(i * V::BYTES));
        }
        last
    }
}
