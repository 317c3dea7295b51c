//! Counter mode and GHASH in one pass over a message, for every register width.

use core::arch::{asm, x86_64::*};

use super::source::{Counters, Source};
use crate::aead::NONCE_BYTES;
use crate::key::{BLOCK_BYTES, Schedule};
use crate::wipe::Secret;
use crate::x86_64::aes::{anew, each_round, round_key};
use crate::x86_64::clmul::{Clmul, Sum};
use crate::x86_64::ghash::{Hash, View, times};
use crate::x86_64::lanes::Lanes;

/// Processes a message of `N` registers, the last of which may be partial, or of none: first everything that does not wait
/// for AES, then all keystream blocks side by side, and a single reduction.
///
/// # Safety
/// The instructions of `V` are enabled in the caller; `bytes` are readable at `from` and writable at `to`, which are the
/// same place or do not overlap; they are more than `N - 1` registers and at most `N`, and `aad` is at most a block; the
/// view covers them and two more blocks.
#[expect(clippy::too_many_arguments, reason = "each in a register")]
#[inline(always)]
pub(super) unsafe fn short<V: Clmul, const R: usize, const OPEN: bool, const N: usize>(
    schedule: &Schedule,
    view: View,
    nonce: &[u8; NONCE_BYTES],
    aad: &[u8],
    from: *const u8,
    to: *mut u8,
    bytes: usize,
    tag: &mut [u8; BLOCK_BYTES],
) {
    // SAFETY: the caller has `bytes` at both pointers, and the last register accesses only those that are left. The hash
    // takes two blocks besides the data, and the view covers them; the counters of `N` registers are in the table.
    unsafe {
        let blocks = bytes.div_ceil(BLOCK_BYTES);
        let begun = state_of(nonce, round_key(schedule, 0));
        let counters = FIRST_COUNTERS.0.as_ptr();
        let mut mask = begun.xor(__m128i::load(counters.add(16 * SHORT_BLOCKS_MAX)));
        let mut states = [V::splat(begun); N];
        for (i, state) in states.iter_mut().enumerate() {
            *state = state.xor(V::load(counters.add(i * V::BYTES)));
        }
        let lengths = _mm_set_epi64x(aad.len() as i64 * 8, bytes as i64 * 8);
        let aad = V::load_block(aad.as_ptr(), aad.len()).swap_bytes();
        let powers = [view.powers::<__m128i>(blocks + 2), view.powers(1)];
        let mut sum = V::two_products([aad, lengths], powers);
        each_round!(round of R after 0 => {
            let key = round_key::<V>(schedule, round);
            for state in &mut states {
                *state = state.round(key);
            }
            mask = mask.round(key.low());
        });
        let key = round_key::<V>(schedule, R);
        for (i, state) in states.iter().enumerate() {
            let done = i * V::BYTES;
            let (from, to) = (from.add(done), to.add(done));
            let ciphertext = if i == N - 1 && bytes < N * V::BYTES {
                let input = V::load_partial(from, bytes - done);
                let output = state.last_round(key).xor(input).keep(bytes - done);
                output.store_partial(to, bytes - done);
                if OPEN { input } else { output }
            } else {
                let input = V::load(from);
                let output = state.last_round(key.xor(input));
                output.store(to);
                if OPEN { input } else { output }
            };
            let powers = view.powers::<V>(blocks + 1 - i * V::BLOCKS);
            sum = sum.plus(Sum::of(ciphertext.swap_bytes(), powers));
        }
        let mask = mask.last_round(key.low());
        sum.reduced().swap_bytes().xor(mask).store(tag.as_mut_ptr());
    }
}

/// Returns `nonce` with a counter of zero, XORed with `key`.
///
/// # Safety
/// SSE4.1 is enabled in the caller.
#[inline(always)]
unsafe fn state_of(nonce: &[u8; NONCE_BYTES], key: __m128i) -> __m128i {
    // SAFETY: the nonce is read as 8 bytes and 4; the caller has SSE4.1 for the insertion.
    unsafe {
        let from = nonce.as_ptr();
        let head = _mm_loadl_epi64(from.cast());
        let tail = from.add(8).cast::<i32>().read_unaligned();
        _mm_insert_epi32::<2>(head, tail).xor(key)
    }
}

/// The length of the longest message for [`short`], in registers of data.
pub(super) const SHORT_REGISTERS_MAX: usize = 4;
/// The number of blocks in that many of the widest registers.
const SHORT_BLOCKS_MAX: usize = SHORT_REGISTERS_MAX * __m512i::BLOCKS;

/// Counters from 2 on, laid out as in blocks under an all-zero nonce; then 1.
static FIRST_COUNTERS: Aligned = {
    let mut counters = [0; 16 * (SHORT_BLOCKS_MAX + 1)];
    let mut i = 0;
    while i < SHORT_BLOCKS_MAX {
        counters[16 * i + 15] = i as u8 + 2;
        i += 1;
    }
    counters[16 * i + 15] = 1;
    Aligned(counters)
};

#[repr(C, align(64))]
struct Aligned([u8; 16 * (SHORT_BLOCKS_MAX + 1)]);

/// Processes a message in whose counters the low 32 bits do not wrap.
///
/// # Safety
/// The instructions of `V` are enabled in the caller; `bytes` are readable at `from` and writable at `to`, which are the
/// same place or do not overlap.
#[expect(clippy::too_many_arguments, reason = "each in a register")]
#[inline(always)]
pub(super) unsafe fn message<
    V: Clmul,
    S: Source<V>,
    const R: usize,
    const UNROLL: usize,
    const OPEN: bool,
>(
    schedule: &Schedule,
    view: View,
    source: S,
    j0: u128,
    aad: &[u8],
    from: *const u8,
    to: *mut u8,
    bytes: usize,
) -> u128 {
    let aad_blocks = aad.len().div_ceil(BLOCK_BYTES);
    let blocks = bytes.div_ceil(BLOCK_BYTES) + 1;
    // SAFETY: the caller has `bytes` at both pointers; the hash was created for all blocks: those of `aad`, of the data and
    // of the lengths.
    unsafe {
        let mut hash;
        if Hash::<V>::is_one_chunk(view, aad_blocks + blocks) {
            hash = Hash::<V>::new(view, _mm_setzero_si128(), aad_blocks + blocks);
            hash.absorb_bytes(aad.as_ptr(), aad.len());
        } else {
            let y = self::hash::<V>(view, 0, aad.as_ptr(), aad.len());
            hash = Hash::<V>::new(view, block(y), blocks);
        }
        let mask =
            crypt::<V, S, R, UNROLL, OPEN>(schedule, &mut hash, source, Some(j0), from, to, bytes);
        let lengths = _mm_set_epi64x(aad.len() as i64 * 8, bytes as i64 * 8);
        hash.absorb_block(lengths);
        number(hash.finish().swap_bytes().xor(mask))
    }
}

/// # Safety
/// The same as for [`message`].
#[inline(always)]
pub(super) unsafe fn update<
    V: Clmul,
    S: Source<V>,
    const R: usize,
    const UNROLL: usize,
    const OPEN: bool,
>(
    schedule: &Schedule,
    view: View,
    source: S,
    y: u128,
    from: *const u8,
    to: *mut u8,
    bytes: usize,
) -> u128 {
    if bytes == 0 {
        return y;
    }
    // SAFETY: the caller has `bytes` at both pointers, and the hash was created for their blocks.
    unsafe {
        let mut hash = Hash::<V>::new(view, block(y), bytes.div_ceil(BLOCK_BYTES));
        crypt::<V, S, R, UNROLL, OPEN>(schedule, &mut hash, source, None, from, to, bytes);
        number(hash.finish())
    }
}

/// Continues a message by whole blocks in `N` registers, the last of which may be partial: all keystream side by side, and a
/// single reduction. `y` is kept in memory as a vector, since each call waits for the `y` of the call before. The low 32
/// bits of the counters do not wrap.
///
/// # Safety
/// The same as for [`short`], without associated data, and the view covers the data.
#[inline(always)]
pub(super) unsafe fn few<V: Clmul, const R: usize, const OPEN: bool, const N: usize>(
    schedule: &Schedule,
    view: View,
    y: &mut u128,
    counter: u128,
    from: *const u8,
    to: *mut u8,
    bytes: usize,
) {
    // SAFETY: the caller has `blocks` at both pointers, and the last register reads and writes only its own; the view covers
    // that many powers.
    unsafe {
        let blocks = bytes / BLOCK_BYTES;
        let mut counters = V::counters(counter);
        let mut states = [round_key::<V>(schedule, 0); N];
        for state in &mut states {
            *state = state.xor(counters.swap_bytes());
            counters = counters.advance(V::BLOCKS as u32);
        }
        each_round!(round of R after 0 => {
            let key = round_key::<V>(schedule, round);
            for state in &mut states {
                *state = state.round(key);
            }
        });
        let key = round_key::<V>(schedule, R);
        let mut sum: Option<Sum<V>> = None;
        for (i, state) in states.iter().enumerate() {
            let (from, to) = (from.add(i * V::BYTES), to.add(i * V::BYTES));
            let in_register = if i < N - 1 {
                V::BLOCKS
            } else {
                blocks - i * V::BLOCKS
            };
            let input = V::load_blocks(from, in_register);
            let output = state.last_round(key.xor(input));
            output.store_blocks(to, in_register);
            // Whatever follows the last block is multiplied by powers that are zero.
            let mut data = if OPEN { input } else { output }.swap_bytes();
            if i == 0 {
                data = data.xor(V::first(__m128i::load((&raw const *y).cast())));
            }
            let products = Sum::of(data, view.powers::<V>(blocks - i * V::BLOCKS));
            sum = Some(match sum {
                Some(sum) => sum.plus(products),
                None => products,
            });
        }
        if let Some(sum) = sum {
            sum.reduced().store((&raw mut *y).cast());
        }
    }
}

/// Processes the first data of a message, in `N` registers, the last of which may be partial, and finishes the message as if
/// no more followed: programs mostly pass a short message in one piece. Afterwards `y` includes the last block too, padded
/// with zeros, and `tag` is the tag of `aad_bytes` and `bytes`. `begun` is the partial block of associated data, if any.
///
/// # Safety
/// The same as for [`short`], but the view covers the data and one more block; the low 32 bits of `j0` are 1.
#[expect(clippy::too_many_arguments, reason = "few go through memory")]
#[inline(always)]
pub(super) unsafe fn first<V: Clmul, const R: usize, const OPEN: bool, const N: usize>(
    schedule: &Schedule,
    view: View,
    j0: u128,
    begun: Option<&[u8; BLOCK_BYTES]>,
    y: &mut u128,
    from: *const u8,
    to: *mut u8,
    bytes: usize,
    aad_bytes: u64,
    tag: &mut [u8; BLOCK_BYTES],
) {
    // SAFETY: the caller has `bytes` at both pointers, and the last register accesses only those that are left; the hash
    // takes one block less than in `short` besides the data, and the view covers it.
    unsafe {
        let blocks = bytes.div_ceil(BLOCK_BYTES);
        let counters = FIRST_COUNTERS.0.as_ptr();
        let mut mask = block(j0).swap_bytes().xor(round_key(schedule, 0));
        let start = mask.xor(__m128i::load(counters.add(16 * SHORT_BLOCKS_MAX)));
        let mut states = [V::splat(start); N];
        for (i, state) in states.iter_mut().enumerate() {
            *state = state.xor(V::load(counters.add(i * V::BYTES)));
        }
        let mut before = __m128i::load((&raw const *y).cast());
        let mut blocks_after = blocks;
        if let Some(begun) = begun {
            before = before.xor(__m128i::load(begun.as_ptr()).swap_bytes());
            blocks_after += 1;
        }
        let mut sum = Sum::of(before, view.powers(blocks_after)).widened::<V>();
        each_round!(round of R after 0 => {
            let key = round_key::<V>(schedule, round);
            for state in &mut states {
                *state = state.round(key);
            }
            mask = mask.round(key.low());
        });
        let key = round_key::<V>(schedule, R);
        for (i, state) in states.iter().enumerate() {
            let done = i * V::BYTES;
            let (from, to) = (from.add(done), to.add(done));
            let ciphertext = if i == N - 1 && bytes < N * V::BYTES {
                let input = V::load_partial(from, bytes - done);
                let output = state.last_round(key).xor(input).keep(bytes - done);
                output.store_partial(to, bytes - done);
                if OPEN { input } else { output }
            } else {
                let input = V::load(from);
                let output = state.last_round(key.xor(input));
                output.store(to);
                if OPEN { input } else { output }
            };
            let powers = view.powers::<V>(blocks - i * V::BLOCKS);
            sum = sum.plus(Sum::of(ciphertext.swap_bytes(), powers));
        }
        let mask = mask.last_round(key.low());
        let value = sum.reduced();
        value.store((&raw mut *y).cast());
        let lengths = _mm_set_epi64x(aad_bytes as i64 * 8, bytes as i64 * 8);
        ended(view, value.xor(lengths), mask).store(tag.as_mut_ptr());
    }
}

/// Like [`first`], for data of any length, with a group of `UNROLL` registers at a time.
///
/// # Safety
/// The same as for [`message`]; the low 32 bits of `j0` are 1.
#[expect(clippy::too_many_arguments, reason = "few go through memory")]
#[inline(always)]
pub(super) unsafe fn first_long<V: Clmul, const R: usize, const UNROLL: usize, const OPEN: bool>(
    schedule: &Schedule,
    view: View,
    j0: u128,
    begun: Option<&[u8; BLOCK_BYTES]>,
    y: &mut u128,
    from: *const u8,
    to: *mut u8,
    bytes: usize,
    aad_bytes: u64,
    tag: &mut [u8; BLOCK_BYTES],
) {
    // SAFETY: the caller has `bytes` at both pointers, and the hash was created for their blocks; H is always present.
    unsafe {
        let mut before = __m128i::load((&raw const *y).cast());
        if let Some(begun) = begun {
            before = before.xor(__m128i::load(begun.as_ptr()).swap_bytes());
            before = times(before, view.powers(1));
        }
        let mut hash = Hash::<V>::new(view, before, bytes.div_ceil(BLOCK_BYTES));
        let source = Counters(V::counters(j0.wrapping_add(1)));
        let mask =
            crypt::<V, _, R, UNROLL, OPEN>(schedule, &mut hash, source, Some(j0), from, to, bytes);
        let value = hash.finish();
        value.store((&raw mut *y).cast());
        let lengths = _mm_set_epi64x(aad_bytes as i64 * 8, bytes as i64 * 8);
        ended(view, value.xor(lengths), mask).store(tag.as_mut_ptr());
    }
}

/// Like [`first`], for a key's first messages: a tenth of the code, for every key size and message size. Between two
/// handshakes a TLS server executes more code than its caches hold, and then straight-line code for 16 blocks costs more to
/// fetch (16 KiB, some 20 µs on Zen 3) than to execute.
///
/// # Safety
/// The same as for [`message`]; the low 32 bits of `j0` are 1; the view covers 8 blocks.
#[expect(clippy::too_many_arguments, reason = "few go through memory")]
#[inline(always)]
pub(super) unsafe fn first_compact<V: Clmul, const OPEN: bool>(
    schedule: &Schedule,
    view: View,
    j0: u128,
    begun: Option<&[u8; BLOCK_BYTES]>,
    y: &mut u128,
    mut from: *const u8,
    mut to: *mut u8,
    bytes: usize,
    aad_bytes: u64,
    tag: &mut [u8; BLOCK_BYTES],
) {
    let registers = const { if V::BLOCKS == 4 { 2 } else { 4 } };
    let group_bytes = registers * V::BYTES;
    // SAFETY: the caller has `bytes` at both pointers: `left` counts the rest, and no more than that is accessed; each
    // register of keystream is written before it is read, and lies within its buffer; H is always present.
    unsafe {
        let zero = _mm_setzero_si128();
        let rounds = schedule.size.rounds();
        let mut before = __m128i::load((&raw const *y).cast());
        if let Some(begun) = begun {
            before = before.xor(__m128i::load(begun.as_ptr()).swap_bytes());
            before = times(before, view.powers(1));
        }
        let mut counters = V::counters(j0.wrapping_add(1));
        let mut keystream = Secret::<COMPACT_BYTES>::new();
        let mut left = bytes;
        let mask = loop {
            let schedule = &*anew(schedule);
            let mut states = [round_key::<V>(schedule, 0); 4];
            let states = &mut states[..registers];
            let mut mask = block(j0).swap_bytes().xor(round_key(schedule, 0));
            for state in &mut *states {
                *state = state.xor(counters.swap_bytes());
                counters = counters.advance(V::BLOCKS as u32);
            }
            for round in 1..rounds {
                let key = round_key::<V>(schedule, round);
                for state in &mut *states {
                    *state = state.round(key);
                }
                mask = mask.round(key.low());
            }
            let key = round_key::<V>(schedule, rounds);
            let stream = keystream.write(group_bytes);
            for (i, state) in states.iter().enumerate() {
                state.last_round(key).store(stream.add(i * V::BYTES));
            }
            let group = left.min(group_bytes);
            let mut sum = Sum::of(before, zero).widened::<V>();
            let mut done = 0;
            while done < group {
                let stream = V::load(stream.add(done));
                let bytes = (group - done).min(V::BYTES);
                let (input, output);
                if bytes == V::BYTES {
                    input = V::load(from.add(done));
                    output = stream.xor(input);
                    output.store(to.add(done));
                } else {
                    input = V::load_partial(from.add(done), bytes);
                    output = stream.xor(input).keep(bytes);
                    output.store_partial(to.add(done), bytes);
                }
                let ciphertext = if OPEN { input } else { output };
                let data = ciphertext.swap_bytes().xor(V::first(before));
                before = zero;
                let powers = view.powers::<V>((group - done).div_ceil(BLOCK_BYTES));
                sum = sum.plus(Sum::of(data, powers));
                done += bytes;
            }
            before = sum.reduced();
            (from, to, left) = (from.add(group), to.add(group), left - group);
            if left == 0 {
                break mask.last_round(key.low());
            }
        };
        before.store((&raw mut *y).cast());
        let lengths = _mm_set_epi64x(aad_bytes as i64 * 8, bytes as i64 * 8);
        ended(view, before.xor(lengths), mask).store(tag.as_mut_ptr());
    }
}

/// The most keystream that [`first_compact`] computes at a time: a block for each of the few powers.
const COMPACT_BYTES: usize = 8 * BLOCK_BYTES;

/// Computes the tag of a message; `value` is the last block that GHASH still has to absorb. The numbers are passed in
/// registers: values stored in halves by other functions could not be loaded whole without waiting.
///
/// # Safety
/// AES-NI, SSE4.1 and carry-less multiplication are enabled in the caller.
#[inline(always)]
pub(super) unsafe fn end<const R: usize>(
    schedule: &Schedule,
    value: u128,
    j0: u128,
    tag: &mut [u8; BLOCK_BYTES],
    view: View,
) {
    // SAFETY: the caller has AES-NI, SSE4.1 and carry-less multiplication; a tag has 16 bytes.
    unsafe {
        let mask = keystream::<R>(schedule, j0);
        ended(view, block(value), mask).store(tag.as_mut_ptr());
    }
}

/// # Safety
/// The same as for [`end`].
#[inline(always)]
unsafe fn ended(view: View, value: __m128i, mask: __m128i) -> __m128i {
    // SAFETY: the caller has carry-less multiplication; H is always present.
    unsafe { times(value, view.powers(1)).swap_bytes().xor(mask) }
}

/// # Safety
/// The instructions of `V` are enabled in the caller; `bytes` are readable at `from`.
#[inline(always)]
pub(super) unsafe fn hash<V: Clmul>(view: View, y: u128, from: *const u8, bytes: usize) -> u128 {
    if bytes == 0 {
        return y;
    }
    // SAFETY: the caller has `bytes` at `from`, and the hash was created for their blocks.
    unsafe {
        let mut hash = Hash::<V>::new(view, block(y), bytes.div_ceil(BLOCK_BYTES));
        hash.absorb_bytes(from, bytes);
        number(hash.finish())
    }
}

/// Applies counter mode, and lets `hash` absorb the ciphertext. Returns the block of keystream at `j0` if it is requested.
///
/// # Safety
/// The same as for [`message`], and the requirements of `source`.
#[inline(always)]
unsafe fn crypt<V: Clmul, S: Source<V>, const R: usize, const UNROLL: usize, const OPEN: bool>(
    schedule: &Schedule,
    hash: &mut Hash<V>,
    mut source: S,
    j0: Option<u128>,
    mut from: *const u8,
    mut to: *mut u8,
    mut bytes: usize,
) -> __m128i {
    let group_blocks = UNROLL * V::BLOCKS;
    let group_bytes = UNROLL * V::BYTES;
    // SAFETY: `bytes` counts the rest of those that the caller has at both pointers, and no more than that is accessed; a
    // group that is hashed after its encryption lies before `to`.
    unsafe {
        if bytes >= group_bytes && hash.takes_groups(group_blocks) {
            if !OPEN {
                group::<V, S, R, UNROLL, false>(schedule, hash, &mut source, from, from, to);
                (from, to) = (from.add(group_bytes), to.add(group_bytes));
                bytes -= group_bytes;
            }
            while bytes >= group_bytes {
                let ciphertext = if OPEN {
                    from
                } else {
                    to.cast_const().sub(group_bytes)
                };
                group::<V, S, R, UNROLL, true>(schedule, hash, &mut source, ciphertext, from, to);
                hash.advance(group_blocks);
                (from, to) = (from.add(group_bytes), to.add(group_bytes));
                bytes -= group_bytes;
            }
            if !OPEN {
                let ciphertext = to.cast_const().sub(group_bytes);
                for i in 0..UNROLL {
                    let data = V::load(ciphertext.add(i * V::BYTES));
                    hash.add_product(data.swap_bytes(), i);
                }
                hash.advance(group_blocks);
            }
        }
        let mut mask = _mm_setzero_si128();
        if let Some(j0) = j0 {
            mask = keystream::<R>(schedule, j0);
        }
        let mut counters = source.counters();
        while bytes > 4 * V::BYTES {
            tail::<V, R, OPEN, 4>(schedule, hash, counters, from, to, 4 * V::BYTES);
            counters = counters.advance(4 * V::BLOCKS as u32);
            (from, to) = (from.add(4 * V::BYTES), to.add(4 * V::BYTES));
            bytes -= 4 * V::BYTES;
        }
        let registers = bytes.div_ceil(V::BYTES);
        if registers > 0 {
            let last = match registers {
                1 => tail::<V, R, OPEN, 1>(schedule, hash, counters, from, to, bytes),
                2 => tail::<V, R, OPEN, 2>(schedule, hash, counters, from, to, bytes),
                3 => tail::<V, R, OPEN, 3>(schedule, hash, counters, from, to, bytes),
                _ => tail::<V, R, OPEN, 4>(schedule, hash, counters, from, to, bytes),
            };
            let done = (registers - 1) * V::BYTES;
            (from, to, bytes) = (from.add(done), to.add(done), bytes - done);
            if bytes < V::BYTES {
                let input = V::load_partial(from, bytes);
                let output = last.xor(input).keep(bytes);
                output.store_partial(to, bytes);
                let ciphertext = if OPEN { input } else { output };
                hash.absorb(ciphertext, bytes.div_ceil(BLOCK_BYTES));
            }
        }
        mask
    }
}

/// Applies counter mode to `N` registers, then computes their products. If the last is not full, its keystream is returned
/// instead.
///
/// # Safety
/// The same as for [`message`], for `bytes`, which are more than `N - 1` registers and at most `N`.
#[inline(always)]
unsafe fn tail<V: Clmul, const R: usize, const OPEN: bool, const N: usize>(
    schedule: &Schedule,
    hash: &mut Hash<V>,
    mut counters: V,
    from: *const u8,
    to: *mut u8,
    bytes: usize,
) -> V {
    // SAFETY: the caller has more than `N - 1` registers at both pointers; the last is accessed only if it is full.
    unsafe {
        let schedule = &*anew(schedule);
        let mut states = [round_key::<V>(schedule, 0); N];
        for state in &mut states {
            *state = state.xor(counters.swap_bytes());
            counters = counters.advance(V::BLOCKS as u32);
        }
        each_round!(round of R after 0 => {
            let key = round_key::<V>(schedule, round);
            for state in &mut states {
                *state = state.round(key);
            }
        });
        let key = round_key::<V>(schedule, R);
        for (i, state) in states.iter().enumerate() {
            if i == N - 1 && bytes < N * V::BYTES {
                return state.last_round(key);
            }
            let input = V::load(from.add(i * V::BYTES));
            let output = state.last_round(key.xor(input));
            output.store(to.add(i * V::BYTES));
            hash.absorb(if OPEN { input } else { output }, V::BLOCKS);
        }
        key
    }
}

/// Returns the block of keystream at `counter`.
///
/// # Safety
/// AES-NI and SSE4.1 are enabled in the caller.
#[inline(always)]
unsafe fn keystream<const R: usize>(schedule: &Schedule, counter: u128) -> __m128i {
    // SAFETY: the caller has AES-NI and SSE4.1; the assembly contains no instruction.
    unsafe {
        let schedule = &*anew(schedule);
        let mut state = block(counter).swap_bytes().xor(round_key(schedule, 0));
        each_round!(round of R after 0 => {
            state = state.round(round_key(schedule, round));
        });
        state = state.last_round(round_key(schedule, R));
        // Here, not at the use: because of stores between the two, the compiler would spill the round keys, which it loads
        // before them, to the stack.
        asm!("/* {0} */", inout(xmm_reg) state, options(nomem, nostack, preserves_flags));
        state
    }
}

/// Applies counter mode to a group of registers and, with `HASH`, computes the products of the group at `ciphertext`, which
/// may be the one at `from`.
///
/// # Safety
/// The same as for [`message`], for a group at each pointer.
#[inline(always)]
unsafe fn group<V: Clmul, S: Source<V>, const R: usize, const UNROLL: usize, const HASH: bool>(
    schedule: &Schedule,
    hash: &mut Hash<V>,
    source: &mut S,
    ciphertext: *const u8,
    from: *const u8,
    to: *mut u8,
) {
    // SAFETY: the caller has a group at each of the three pointers, and the instructions of `V`; the group at `ciphertext`
    // is read before it may be overwritten.
    unsafe {
        let schedule = &*anew(schedule);
        let mut states = source.group::<UNROLL>(schedule);
        each_round!(round of R after S::ROUNDS => {
            let key = round_key::<V>(schedule, round);
            for state in &mut states {
                *state = state.round(key);
            }
            if HASH {
                let rounds = R - 1 - S::ROUNDS;
                for i in 0..UNROLL {
                    if i * rounds / UNROLL == round - 1 - S::ROUNDS {
                        let data = V::load(ciphertext.add(i * V::BYTES));
                        hash.add_product(data.swap_bytes(), i);
                    }
                }
            }
        });
        let key = round_key::<V>(schedule, R);
        for (i, state) in states.iter_mut().enumerate() {
            *state = state.last_round(key.xor(V::load(from.add(i * V::BYTES))));
        }
        for (i, state) in states.iter().enumerate() {
            state.store(to.add(i * V::BYTES));
        }
    }
}

#[inline(always)]
pub(super) fn block(number: u128) -> __m128i {
    // SAFETY: both are 16 bytes of plain data, as for `number`.
    unsafe { core::mem::transmute(number) }
}

#[inline(always)]
pub(super) fn number(block: __m128i) -> u128 {
    // SAFETY: both are 16 bytes of plain data, as for `block`.
    unsafe { core::mem::transmute(block) }
}
