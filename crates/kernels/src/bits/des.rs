//! Bitsliced Triple DES: register i of 64 holds bit i of many blocks, one for each bit of a register ("A fast new DES
//! implementation in software", Biham, FSE 1997).
//!
//! Permutations are then free: they rename registers. What remains of a round is eight S-boxes as circuits (`des_gates`,
//! `x86_64::tdes::ternary`), 48 XORs of the key and 32 of the other half.
//!
//! ```text
//! a pass                 instructions
//!   counter blocks       200: a bitsliced sum of the counter and a fixed pattern
//!   48 rounds            400 to 540 each with two operands, 260 with three
//!   transposition      1,150: 64 x 64 bits, in every 64-bit word of the registers at once
//! ```
//!
//! No address and no branch depends on key, data or keystream.

use inout::InOutBuf;

use super::registers::Plane;
use crate::portable::xor::xor;
use crate::wipe::wipe;

/// Blocks of a pass.
pub(crate) const fn pass_blocks<P: Plane>() -> usize {
    64 * P::LANES
}

/// Three keys, as 64 masks each. Those of the parity bits are not used.
pub(crate) type KeyMasks = [u64; 3 * 64];

/// XORs keystream onto `bytes` bytes, starting at byte `skip` of the block at `counter`.
///
/// # Safety
/// The instructions of `P` are enabled in the caller; `bytes` are readable at `from` and writable at `to`, the same place or
/// one that does not overlap; `skip` is less than 8. `room` points to memory for a `Room`, which only this function
/// accesses.
#[inline(always)]
pub(crate) unsafe fn ctr<P: Plane>(
    room: *mut Room<P>,
    keys: &KeyMasks,
    mut counter: u64,
    mut skip: usize,
    mut from: *const u8,
    mut to: *mut u8,
    mut bytes: usize,
) {
    // SAFETY: the caller has the instructions of `P` and the room; `bytes` counts what is left at both pointers. Every array
    // is written before it is read, and a pass fills all 64 registers.
    unsafe {
        let masks = &mut (*room).masks;
        for (mask, word) in masks.iter_mut().zip(keys) {
            *mask = P::mask(*word);
        }
        let pass_bytes = 8 * pass_blocks::<P>();
        let planes = &mut (*room).planes;
        while bytes > 0 {
            make(masks, counter, &mut (*room).state, planes);
            if skip == 0 && bytes >= pass_bytes {
                for (i, plane) in planes.iter().enumerate() {
                    let at = 8 * P::LANES * i;
                    P::load(from.add(at)).xor(*plane).store(to.add(at));
                }
                (from, to) = (from.add(pass_bytes), to.add(pass_bytes));
                bytes -= pass_bytes;
            } else {
                for plane in &mut *planes {
                    let place: *mut P = plane;
                    plane.store(place.cast());
                }
                let keystream =
                    core::slice::from_raw_parts(planes.as_ptr().cast::<u8>(), pass_bytes);
                let piece = bytes.min(pass_bytes - skip);
                let data = InOutBuf::from_raw(from, to, piece);
                xor(&keystream[skip..skip + piece], data);
                (from, to) = (from.add(piece), to.add(piece));
                bytes -= piece;
                skip = 0;
            }
            counter = counter.wrapping_add(pass_blocks::<P>() as u64);
        }
        let words = room.cast::<u64>();
        wipe(core::slice::from_raw_parts_mut(
            words,
            size_of::<Room<P>>() / 8,
        ));
    }
}

/// The working memory of a pass, which is all secret and wiped at the end. The caller of the function with the instructions
/// provides it, so that the frame of that function holds only spilled registers.
#[repr(C)]
pub(crate) struct Room<P: Plane> {
    masks: [P::Mask; 3 * 64],
    state: [[P; 32]; 2],
    planes: [P; 64],
}

/// Computes the keystream of a pass from `counter` on.
///
/// # Safety
/// The instructions of `P` are enabled in the caller.
#[inline(always)]
unsafe fn make<P: Plane>(
    masks: &[P::Mask; 3 * 64],
    counter: u64,
    state: &mut [[P; 32]; 2],
    planes: &mut [P; 64],
) {
    // SAFETY: the caller has the instructions of `P`.
    unsafe { count(counter, state.as_flattened_mut()) };
    let [left, right] = triple::<P, false>(masks, state);
    for (i, plane) in left.iter().chain(&*right).enumerate() {
        planes[PLACES_OUT[i]] = *plane;
    }
    transpose(planes);
}

/// Runs the 48 rounds of encryption or decryption between the initial and the final permutation. Returns the left half, then
/// the right one.
#[inline(always)]
pub(super) fn triple<'a, P: Plane, const DECRYPT: bool>(
    masks: &[P::Mask; 3 * 64],
    state: &'a mut [[P; 32]; 2],
) -> [&'a mut [P; 32]; 2] {
    let [mut left, mut right] = state.each_mut();
    for stage in 0..3 {
        let key = if DECRYPT { 2 - stage } else { stage };
        let backwards = DECRYPT != (stage == 1);
        let masks = &masks.as_chunks::<64>().0[key];
        for pair in 0..8 {
            let (first, second) = if backwards {
                (15 - 2 * pair, 14 - 2 * pair)
            } else {
                (2 * pair, 2 * pair + 1)
            };
            round(left, right, masks, first);
            round(right, left, masks, second);
        }
        // DES ends with an exchange of the halves, and the initial permutation of the next DES undoes the final one.
        core::mem::swap(&mut left, &mut right);
    }
    [left, right]
}

/// Stores bit i of the blocks from `counter` on at `PLACES_IN[i]`.
///
/// # Safety
/// The instructions of `P` are enabled in the caller.
#[inline(always)]
unsafe fn count<P: Plane>(counter: u64, state: &mut [P]) {
    // SAFETY: the caller has the instructions of `P`, and `lanes_with` gets only the bits of lane numbers.
    unsafe {
        let lane_bits = P::LANES.ilog2() as usize;
        let mut carry = P::broadcast(0);
        for (i, place) in PLACES_IN.into_iter().enumerate() {
            let bit = P::broadcast((counter >> i & 1).wrapping_neg());
            // The number of the block in the pass: its register after the transposition, then its lane.
            let number = if i < lane_bits {
                P::lanes_with(i)
            } else if i < lane_bits + 6 {
                P::broadcast(WORDS_WITH[i - lane_bits])
            } else {
                state[place] = bit.xor(carry);
                carry = bit.and(carry);
                continue;
            };
            let sum = bit.xor(number);
            state[place] = sum.xor(carry);
            carry = bit.and(number).or(sum.and(carry));
        }
    }
}

/// The words whose bits are set where the bit's number has bit i.
const WORDS_WITH: [u64; 6] = [
    0xaaaa_aaaa_aaaa_aaaa,
    0xcccc_cccc_cccc_cccc,
    0xf0f0_f0f0_f0f0_f0f0,
    0xff00_ff00_ff00_ff00,
    0xffff_0000_ffff_0000,
    0xffff_ffff_0000_0000,
];

/// XORs f of `right` and the key of a round, counted from 0, onto `left` (FIPS 46-3).
#[inline(always)]
fn round<P: Plane>(left: &mut [P; 32], right: &[P; 32], masks: &[P::Mask; 64], number: usize) {
    let bits = &ROUND_KEYS[number];
    macro_rules! s_box {
        ($($number:literal)+) => {$({
            let mut input = [right[0]; 6];
            for (i, input) in input.iter_mut().enumerate() {
                // Selection E: four bits of the box, and one more on either side.
                let bit = right[(4 * $number + i + 31) % 32];
                // SAFETY: round keys consist of bits 0 to 63 of a key.
                let mask = unsafe { masks.get_unchecked(usize::from(bits[6 * $number + i])) };
                *input = bit.xor_mask(mask);
            }
            for (i, output) in P::substitute::<$number>(input).into_iter().enumerate() {
                let place = PLACES_AFTER_P[4 * $number + i];
                left[place] = left[place].xor(output);
            }
        })+};
    }
    s_box!(0 1 2 3 4 5 6 7);
}

/// Transposes bits: bit j of register i becomes bit i of register j, in every lane.
#[inline(always)]
pub(super) fn transpose<P: Plane>(planes: &mut [P; 64]) {
    for first in 0..8 {
        let mut x = [planes[0]; 8];
        for (i, x) in x.iter_mut().enumerate() {
            *x = planes[first + 8 * i];
        }
        exchange::<P, 32, 4>(&mut x);
        exchange::<P, 16, 2>(&mut x);
        exchange::<P, 8, 1>(&mut x);
        for (i, x) in x.into_iter().enumerate() {
            planes[first + 8 * i] = x;
        }
    }
    for planes in planes.as_chunks_mut::<8>().0 {
        let mut x = *planes;
        exchange::<P, 4, 4>(&mut x);
        exchange::<P, 2, 2>(&mut x);
        exchange::<P, 1, 1>(&mut x);
        *planes = x;
    }
}

/// Exchanges, between registers `APART` apart, the bits of the lower one whose number has bit `BITS` with those of the upper
/// one whose number lacks it.
#[inline(always)]
fn exchange<P: Plane, const BITS: u32, const APART: usize>(x: &mut [P; 8]) {
    let mask = x[0].filled_with(!WORDS_WITH[BITS.ilog2() as usize]);
    for low in (0..8).filter(|i| i & APART == 0) {
        let high = low + APART;
        let change = x[low].shift_right::<BITS>().xor(x[high]).and(mask);
        x[high] = x[high].xor(change);
        x[low] = x[low].xor(change.shift_left::<BITS>());
    }
}

/// Computes the masks of three keys (SP 800-67, section 3.2). Bit 1 of a key is its first.
pub(crate) fn expand(key: &[u8; 24], masks: &mut KeyMasks) {
    for (i, mask) in masks.iter_mut().enumerate() {
        *mask = u64::from(key[i / 8] >> (7 - i % 8) & 1).wrapping_neg();
    }
}

/// The initial permutation: the bit of the block that becomes bit i + 1 of the result.
const IP: [u8; 64] = {
    let mut ip = [0; 64];
    let mut i = 0;
    while i < 64 {
        // Even columns of bits first, each starting with the last byte.
        let column = if i < 32 {
            2 * (i / 8 + 1)
        } else {
            2 * (i / 8 - 4) + 1
        };
        ip[i] = (8 * (7 - i % 8) + column) as u8;
        i += 1;
    }
    ip
};

/// The position of bit i of a counter, counted from the lowest, after the initial permutation.
const PLACES_IN: [usize; 64] = {
    let mut places = [0; 64];
    let mut i = 0;
    while i < 64 {
        places[64 - IP[i] as usize] = i;
        i += 1;
    }
    places
};

/// The position of bit i before the final permutation, which undoes the initial one, in the eight bytes of a block as a
/// little-endian word.
pub(super) const PLACES_OUT: [usize; 64] = {
    let mut places = [0; 64];
    let mut i = 0;
    while i < 64 {
        let bit = IP[i] as usize - 1;
        places[i] = bit / 8 * 8 + 7 - bit % 8;
        i += 1;
    }
    places
};

/// Permutation P.
pub(super) const P: [u8; 32] = [
    16, 7, 20, 21, 29, 12, 28, 17, 1, 15, 23, 26, 5, 18, 31, 10, //
    2, 8, 24, 14, 32, 27, 3, 9, 19, 13, 30, 6, 22, 11, 4, 25,
];

/// The position of bit i of the S-boxes' output after P.
const PLACES_AFTER_P: [usize; 32] = {
    let mut places = [0; 32];
    let mut i = 0;
    while i < 32 {
        places[P[i] as usize - 1] = i;
        i += 1;
    }
    places
};

/// Permuted choice 1.
const PC1: [u8; 56] = [
    57, 49, 41, 33, 25, 17, 9, 1, 58, 50, 42, 34, 26, 18, //
    10, 2, 59, 51, 43, 35, 27, 19, 11, 3, 60, 52, 44, 36, //
    63, 55, 47, 39, 31, 23, 15, 7, 62, 54, 46, 38, 30, 22, //
    14, 6, 61, 53, 45, 37, 29, 21, 13, 5, 28, 20, 12, 4,
];

/// Permuted choice 2.
const PC2: [u8; 48] = [
    14, 17, 11, 24, 1, 5, 3, 28, 15, 6, 21, 10, //
    23, 19, 12, 4, 26, 8, 16, 7, 27, 20, 13, 2, //
    41, 52, 31, 37, 47, 55, 30, 40, 51, 45, 33, 48, //
    44, 49, 39, 56, 34, 53, 46, 42, 50, 36, 29, 32,
];

/// The left shifts of C and D before each round.
const SHIFTS: [u8; 16] = [1, 1, 2, 2, 2, 2, 2, 2, 1, 2, 2, 2, 2, 2, 2, 1];

/// The bits of a key, counted from 0, that form the round keys.
pub(super) const ROUND_KEYS: [[u8; 48]; 16] = {
    let mut keys = [[0; 48]; 16];
    let mut shift = 0;
    let mut round = 0;
    while round < 16 {
        shift += SHIFTS[round] as usize;
        let mut i = 0;
        while i < 48 {
            let bit = PC2[i] as usize - 1;
            let half = bit / 28 * 28;
            keys[round][i] = PC1[half + (bit - half + shift) % 28] - 1;
            i += 1;
        }
        round += 1;
    }
    keys
};
