//! AES without AES instructions: bitsliced, on 256 and 512-bit registers.
//!
//! Eight registers hold the state of 16 or 32 blocks. Plane i has bit i of every byte; a byte of a
//! 128-bit lane has the bits of the same byte of eight blocks, so that a byte shuffle moves the
//! bytes of a state ("Faster and Timing-Attack Resistant AES-GCM", Kaesper and Schwabe, CHES 2009).
//!
//! ```text
//! per round            instructions on 8 planes
//!   SubBytes           115, see [`crate::sbox`]
//!   ShiftRows            0: rounds work on states not shifted, and MixColumns shuffles accordingly
//!                        ("Fixslicing AES-like Ciphers", Adomnicai and Peyrin, TCHES 2021)
//!   MixColumns          16 shuffles, 27 XORs
//!   AddRoundKey          8
//! ```
//!
//! Together with the two transpositions some 1800 instructions for 10 rounds, and 256 bytes: 2.2 of
//! CPU time a byte where a cycle has 3 or 4 of them. With AVX-512, `vpternlog` merges a third. One
//! block takes as long as 16.
//!
//! Shuffles and masks are fixed, so time does not depend on data.

use core::arch::x86_64::*;

use inout::InOutBuf;
use zeroize::{Zeroize, ZeroizeOnDrop};

use super::lanes::Lanes;
use super::{Avx2, Avx512};
use crate::aes::{BLOCK_BYTES, Schedule};
use crate::sbox::{Gf2, sub_bytes};

macro_rules! entry_points {
    ($ctr:ident, $cbc_decrypt:ident, $token:ty, $lanes:ty, $features:literal, $counter:ident) => {
        /// CTR over a run in which the low 32 bits of `counter` do not wrap.
        pub(crate) fn $ctr(
            _: $token,
            schedule: &Schedule,
            counter: u128,
            data: InOutBuf<'_, '_, u8>,
        ) {
            #[target_feature(enable = $features)]
            unsafe fn with_features(
                schedule: &Schedule,
                counter: u128,
                from: *const u8,
                to: *mut u8,
                bytes: usize,
            ) {
                // SAFETY: the features are enabled here; the pointers are as the caller vouches.
                unsafe { ctr::<$lanes>(schedule, counter, from, to, bytes) }
            }
            #[cfg(any(test, feature = "dispatch-counters"))]
            crate::aes::dispatch::$counter.hit();
            let bytes = data.len();
            let (from, to) = data.into_raw();
            // SAFETY: the token proves the features; the buffer vouches for `bytes` readable at
            // `from` and writable at `to`, which are the same or do not overlap.
            unsafe { with_features(schedule, counter, from, to, bytes) }
            wipe_stack();
        }

        /// CBC decryption of whole blocks with the schedule of the equivalent inverse cipher.
        pub(crate) fn $cbc_decrypt(
            _: $token,
            inverse: &Schedule,
            iv: &mut [u8; BLOCK_BYTES],
            data: InOutBuf<'_, '_, u8>,
        ) {
            #[target_feature(enable = $features)]
            unsafe fn with_features(
                inverse: &Schedule,
                iv: &mut [u8; BLOCK_BYTES],
                from: *const u8,
                to: *mut u8,
                bytes: usize,
            ) {
                // SAFETY: the features are enabled here; the pointers are as the caller vouches.
                unsafe { cbc_decrypt::<$lanes>(inverse, iv, from, to, bytes) }
            }
            #[cfg(any(test, feature = "dispatch-counters"))]
            crate::aes::dispatch::$counter.hit();
            let bytes = data.len();
            let (from, to) = data.into_raw();
            // SAFETY: the token proves the features; the buffer vouches for `bytes` readable at
            // `from` and writable at `to`, which are the same or do not overlap.
            unsafe { with_features(inverse, iv, from, to, bytes) }
            wipe_stack();
        }
    };
}

entry_points!(ctr_avx2, cbc_decrypt_avx2, Avx2, __m256i, "avx2", WIDE_AVX2);
entry_points!(
    ctr_avx512,
    cbc_decrypt_avx512,
    Avx512,
    __m512i,
    "avx2,avx512f,avx512bw,avx512vl",
    WIDE_AVX512
);

/// CBC encryption of whole blocks, one after the other. There are no wider registers for it: a
/// block leaves most of the narrowest empty.
pub(crate) fn cbc_encrypt(
    _: Avx2,
    schedule: &Schedule,
    iv: &mut [u8; BLOCK_BYTES],
    data: InOutBuf<'_, '_, u8>,
) {
    #[target_feature(enable = "avx2")]
    unsafe fn with_features(
        schedule: &Schedule,
        iv: &mut [u8; BLOCK_BYTES],
        mut from: *const u8,
        mut to: *mut u8,
        bytes: usize,
    ) {
        // SAFETY: AVX2 is enabled here; no more than `bytes` are touched at the pointers, which
        // the caller vouches for.
        unsafe {
            let keys = KeyPlanes::new(schedule, Direction::Encrypt);
            let mut chain = __m128i::load(iv.as_ptr());
            for _ in 0..bytes / BLOCK_BYTES {
                let mut states = [__m256i::splat(_mm_setzero_si128()); 8];
                states[0] = _mm256_zextsi128_si256(chain.xor(__m128i::load(from)));
                states = encrypt(&keys, states);
                chain = _mm256_castsi256_si128(states[0]);
                chain.store(to);
                (from, to) = (from.add(BLOCK_BYTES), to.add(BLOCK_BYTES));
            }
            chain.store(iv.as_mut_ptr());
        }
    }
    #[cfg(any(test, feature = "dispatch-counters"))]
    crate::aes::dispatch::WIDE_AVX2.hit();
    let bytes = data.len();
    let (from, to) = data.into_raw();
    // SAFETY: the token proves the features; the buffer vouches for `bytes` readable at `from` and
    // writable at `to`, which are the same or do not overlap.
    unsafe { with_features(schedule, iv, from, to, bytes) }
    wipe_stack();
}

/// The algorithm: groups of eight registers, the last one by way of a buffer.
///
/// # Safety
/// The instructions of `V` are enabled in the caller; `bytes` are readable at `from` and writable
/// at `to`, the same place or one that does not overlap; the low 32 bits of `counter` do not wrap.
#[inline(always)]
unsafe fn ctr<V: Bits>(
    schedule: &Schedule,
    counter: u128,
    mut from: *const u8,
    mut to: *mut u8,
    mut bytes: usize,
) {
    // SAFETY: instructions and pointers as the caller vouches; `bytes` counts what is left, and no
    // more than that is touched. A group buffer has room for eight registers.
    unsafe {
        let keys = KeyPlanes::new(schedule, Direction::Encrypt);
        let mut counters = V::counters(counter);
        while bytes > 0 {
            let mut states = [counters; 8];
            for state in &mut states {
                *state = counters.swap_bytes();
                counters = counters.advance(V::BLOCKS as u32);
            }
            let keystream = encrypt(&keys, states);
            if bytes < 8 * V::BYTES {
                let mut buffer = Group::default();
                store_group(keystream, buffer.0.as_mut_ptr());
                for (i, byte) in buffer.0[..bytes].iter().enumerate() {
                    *to.add(i) = *from.add(i) ^ byte;
                }
                break;
            }
            for (i, keystream) in keystream.iter().enumerate() {
                let data = V::load(from.add(i * V::BYTES));
                keystream.xor(data).store(to.add(i * V::BYTES));
            }
            (from, to) = (from.add(8 * V::BYTES), to.add(8 * V::BYTES));
            bytes -= 8 * V::BYTES;
        }
    }
}

/// # Safety
/// As [`ctr`]; of a last block that is not whole, nothing is touched.
#[inline(always)]
unsafe fn cbc_decrypt<V: Bits>(
    inverse: &Schedule,
    iv: &mut [u8; BLOCK_BYTES],
    mut from: *const u8,
    mut to: *mut u8,
    bytes: usize,
) {
    let mut bytes = bytes - bytes % BLOCK_BYTES;
    // SAFETY: as `ctr`. Where less than a group is left, it is copied into a group buffer and
    // decrypted there.
    unsafe {
        let keys = KeyPlanes::new(inverse, Direction::Decrypt);
        let mut before = __m128i::load(iv.as_ptr());
        while bytes > 0 {
            let mut buffer = Group::default();
            let is_whole = bytes >= 8 * V::BYTES;
            let piece = bytes.min(8 * V::BYTES);
            let input = if is_whole {
                from
            } else {
                from.copy_to_nonoverlapping(buffer.0.as_mut_ptr(), piece);
                buffer.0.as_ptr()
            };
            let mut states = [V::load(input); 8];
            for (i, state) in states.iter_mut().enumerate() {
                *state = V::load(input.add(i * V::BYTES));
            }
            let first = states[0];
            let mut states = decrypt(&keys, states);
            states[0] = states[0].xor(first.one_block_on(before));
            for (i, state) in states.iter_mut().enumerate().skip(1) {
                *state = state.xor(V::load(input.add(i * V::BYTES - BLOCK_BYTES)));
            }
            before = __m128i::load(input.add(piece - BLOCK_BYTES));
            if is_whole {
                store_group(states, to);
            } else {
                store_group(states, buffer.0.as_mut_ptr());
                to.copy_from_nonoverlapping(buffer.0.as_ptr(), piece);
            }
            (from, to) = (from.add(piece), to.add(piece));
            bytes -= piece;
        }
        before.store(iv.as_mut_ptr());
    }
}

/// # Safety
/// The instructions of `V` are enabled in the caller, and eight registers writable at `to`.
#[inline(always)]
unsafe fn store_group<V: Bits>(states: [V; 8], to: *mut u8) {
    for (i, state) in states.iter().enumerate() {
        // SAFETY: as the caller vouches.
        unsafe { state.store(to.add(i * V::BYTES)) }
    }
}

/// Encrypts the blocks of eight registers (FIPS 197, section 5.1).
///
/// # Safety
/// The instructions of `V` are enabled in the caller.
#[inline(always)]
unsafe fn encrypt<V: Bits>(keys: &KeyPlanes, states: [V; 8]) -> [V; 8] {
    // SAFETY: as the caller vouches.
    unsafe {
        let mut planes = add_key(transpose(states), &keys.planes[0]);
        for round in 1..keys.rounds {
            planes = mix_columns(sub_bytes(planes), &FRAMES[round % 4]);
            planes = add_key(planes, &keys.planes[round]);
        }
        planes = add_key(sub_bytes(planes), &keys.planes[keys.rounds]);
        transpose(shuffle(planes, &FRAMES[keys.rounds % 4].shift_rows))
    }
}

/// Decrypts the blocks of eight registers (FIPS 197, section 5.3.5).
///
/// # Safety
/// The instructions of `V` are enabled in the caller.
#[inline(always)]
unsafe fn decrypt<V: Bits>(keys: &KeyPlanes, states: [V; 8]) -> [V; 8] {
    // SAFETY: as the caller vouches.
    unsafe {
        let mut planes = add_key(transpose(states), &keys.planes[0]);
        for round in 1..keys.rounds {
            planes = inverse_mix_columns(inverse_sub_bytes(planes), &FRAMES[(4 - round % 4) % 4]);
            planes = add_key(planes, &keys.planes[round]);
        }
        planes = add_key(inverse_sub_bytes(planes), &keys.planes[keys.rounds]);
        let frame = &FRAMES[(4 - keys.rounds % 4) % 4];
        transpose(shuffle(planes, &frame.shift_rows))
    }
}

/// # Safety
/// The instructions of `V` are enabled in the caller.
#[inline(always)]
unsafe fn add_key<V: Bits>(mut planes: [V; 8], key: &[__m128i; 8]) -> [V; 8] {
    for (plane, key) in planes.iter_mut().zip(key) {
        // SAFETY: as the caller vouches.
        *plane = unsafe { plane.xor(V::splat(*key)) };
    }
    planes
}

/// Each column times 03 x^3 + 01 x^2 + 01 x + 02: with a the byte and b, c, d those below it, the
/// result is 02 (a + b) + b + c + d.
///
/// # Safety
/// The instructions of `V` are enabled in the caller.
#[inline(always)]
unsafe fn mix_columns<V: Bits>(planes: [V; 8], frame: &Frame) -> [V; 8] {
    // SAFETY: as the caller vouches.
    unsafe {
        let below = shuffle(planes, &frame.one_below);
        let sum = add(planes, below);
        let second = shuffle(sum, &frame.two_below);
        add(double(sum), add(below, second))
    }
}

/// MixColumns after each column times 04 x^2 + 05, which makes 0b x^3 + 0d x^2 + 09 x + 0e.
///
/// # Safety
/// The instructions of `V` are enabled in the caller.
#[inline(always)]
unsafe fn inverse_mix_columns<V: Bits>(planes: [V; 8], frame: &Frame) -> [V; 8] {
    // SAFETY: as the caller vouches.
    unsafe {
        let sum = add(planes, shuffle(planes, &frame.two_below));
        mix_columns(add(planes, double(double(sum))), frame)
    }
}

/// The inverse S-box, for planes that [`KeyPlanes`] has added 0x63 to. With L the linear part of
/// the S-box L(1/x) + 0x63, it is 1/(L'(x)), L' being the inverse of L, and 1/x is L'(S(x)).
///
/// # Safety
/// The instructions of `V` are enabled in the caller.
#[inline(always)]
unsafe fn inverse_sub_bytes<V: Bits>(planes: [V; 8]) -> [V; 8] {
    // SAFETY: as the caller vouches.
    unsafe { unmap(sub_bytes(unmap(planes))) }
}

/// The inverse of the linear part of the S-box (FIPS 197, section 5.3.2).
///
/// # Safety
/// The instructions of `V` are enabled in the caller.
#[inline(always)]
unsafe fn unmap<V: Bits>(x: [V; 8]) -> [V; 8] {
    let mut y = x;
    for (i, y) in y.iter_mut().enumerate() {
        // SAFETY: as the caller vouches.
        *y = unsafe { x[(i + 2) % 8].xor(x[(i + 5) % 8]).xor(x[(i + 7) % 8]) };
    }
    y
}

/// # Safety
/// The instructions of `V` are enabled in the caller.
#[inline(always)]
unsafe fn add<V: Bits>(mut x: [V; 8], y: [V; 8]) -> [V; 8] {
    for (x, y) in x.iter_mut().zip(y) {
        // SAFETY: as the caller vouches.
        *x = unsafe { x.xor(y) };
    }
    x
}

/// # Safety
/// The instructions of `V` are enabled in the caller.
#[inline(always)]
unsafe fn shuffle<V: Bits>(mut planes: [V; 8], from: &[i8; BLOCK_BYTES]) -> [V; 8] {
    for plane in &mut planes {
        // SAFETY: as the caller vouches.
        *plane = unsafe { plane.shuffle(from) };
    }
    planes
}

/// # Safety
/// The instructions of `V` are enabled in the caller.
#[inline(always)]
unsafe fn double<V: Bits>(x: [V; 8]) -> [V; 8] {
    // SAFETY: as the caller vouches.
    unsafe {
        [
            x[7],
            x[0].xor(x[7]),
            x[1],
            x[2].xor(x[7]),
            x[3].xor(x[7]),
            x[4],
            x[5],
            x[6],
        ]
    }
}

/// Transposes the matrix that has bit j of a byte of register i in row i and column j, for all
/// bytes: blocks to planes, and planes to blocks.
///
/// # Safety
/// The instructions of `V` are enabled in the caller.
#[inline(always)]
unsafe fn transpose<V: Bits>(mut x: [V; 8]) -> [V; 8] {
    // SAFETY: as the caller vouches.
    unsafe {
        for i in [0, 2, 4, 6] {
            (x[i], x[i + 1]) = swap::<V, 1>(x[i], x[i + 1], 0x55);
        }
        for i in [0, 1, 4, 5] {
            (x[i], x[i + 2]) = swap::<V, 2>(x[i], x[i + 2], 0x33);
        }
        for i in [0, 1, 2, 3] {
            (x[i], x[i + 4]) = swap::<V, 4>(x[i], x[i + 4], 0x0f);
        }
        x
    }
}

/// Exchanges the bits of `low` that lie `N` above `mask`, in every byte, with those of `high` at
/// `mask`.
///
/// # Safety
/// The instructions of `V` are enabled in the caller.
#[inline(always)]
unsafe fn swap<V: Bits, const N: u32>(low: V, high: V, mask: i8) -> (V, V) {
    // SAFETY: as the caller vouches.
    unsafe {
        let mask = V::splat(_mm_set1_epi8(mask));
        let change = low.shift_right::<N>().xor(high).mul(mask);
        (low.xor(change.shift_left::<N>()), high.xor(change))
    }
}

/// What bitsliced code needs of a register.
///
/// # Safety
/// As [`Lanes`].
trait Bits: Lanes + Gf2 {
    /// Byte i of each lane becomes byte `from[i]` of the lane.
    unsafe fn shuffle(self, from: &[i8; BLOCK_BYTES]) -> Self;
    /// Shifts 64-bit words.
    unsafe fn shift_right<const N: u32>(self) -> Self;
    unsafe fn shift_left<const N: u32>(self) -> Self;
}

macro_rules! bits {
    ($lanes:ty, $xor:ident, $and:ident, $shuffle:ident, $shift_right:ident, $shift_left:ident) => {
        // SAFETY: each method is one intrinsic, whose features the contract demands of the caller.
        impl Gf2 for $lanes {
            #[inline(always)]
            unsafe fn add(self, other: Self) -> Self {
                // SAFETY: as the trait demands.
                unsafe { $xor(self, other) }
            }
            #[inline(always)]
            unsafe fn mul(self, other: Self) -> Self {
                // SAFETY: as the trait demands.
                unsafe { $and(self, other) }
            }
        }

        impl Bits for $lanes {
            #[inline(always)]
            unsafe fn shuffle(self, from: &[i8; BLOCK_BYTES]) -> Self {
                // SAFETY: as the trait demands; the array has 16 bytes.
                unsafe { $shuffle(self, Self::splat(_mm_loadu_si128(from.as_ptr().cast()))) }
            }
            #[inline(always)]
            unsafe fn shift_right<const N: u32>(self) -> Self {
                // SAFETY: as the trait demands.
                unsafe { $shift_right(self, _mm_cvtsi32_si128(N as i32)) }
            }
            #[inline(always)]
            unsafe fn shift_left<const N: u32>(self) -> Self {
                // SAFETY: as the trait demands.
                unsafe { $shift_left(self, _mm_cvtsi32_si128(N as i32)) }
            }
        }
    };
}

bits!(
    __m256i,
    _mm256_xor_si256,
    _mm256_and_si256,
    _mm256_shuffle_epi8,
    _mm256_srl_epi64,
    _mm256_sll_epi64
);
bits!(
    __m512i,
    _mm512_xor_si512,
    _mm512_and_si512,
    _mm512_shuffle_epi8,
    _mm512_srl_epi64,
    _mm512_sll_epi64
);

enum Direction {
    Encrypt,
    Decrypt,
}

/// Round keys as planes, each in the frame of its round; a lane serves all blocks. Wiped on drop.
struct KeyPlanes {
    planes: [[__m128i; 8]; 15],
    rounds: usize,
}

impl KeyPlanes {
    /// `schedule` is the inverse one for decryption.
    ///
    /// # Safety
    /// AVX2 is enabled in the caller.
    #[inline(always)]
    unsafe fn new(schedule: &Schedule, direction: Direction) -> Self {
        // SAFETY: as the caller vouches; a round key has 16 bytes, and so has a shuffle.
        unsafe {
            let rounds = schedule.size.rounds();
            let mut planes = [[_mm_setzero_si128(); 8]; 15];
            for (round, planes) in planes[..=rounds].iter_mut().enumerate() {
                // Into the frame, which is out of it in the other direction; and what makes up
                // for the constant of the S-box, which MixColumns lets through.
                let (frame, is_beside_s_box) = match direction {
                    Direction::Encrypt => ((4 - round % 4) % 4, round > 0),
                    Direction::Decrypt => (round % 4, round < rounds),
                };
                let key = _mm_loadu_si128(schedule.round_keys[round].as_ptr().cast());
                let shuffle = _mm_loadu_si128(FRAMES[frame].shift_rows.as_ptr().cast());
                let mut key = _mm_shuffle_epi8(key, shuffle);
                if is_beside_s_box {
                    key = _mm_xor_si128(key, _mm_set1_epi8(0x63));
                }
                for (i, plane) in planes.iter_mut().enumerate() {
                    let bit = _mm_set1_epi8((1u8 << i) as i8);
                    *plane = _mm_cmpeq_epi8(_mm_and_si128(key, bit), bit);
                }
            }
            Self { planes, rounds }
        }
    }
}

impl Drop for KeyPlanes {
    fn drop(&mut self) {
        self.planes.zeroize();
    }
}

/// A group of registers of any width, wiped on drop.
#[derive(Zeroize, ZeroizeOnDrop)]
#[repr(C, align(64))]
struct Group([u8; 8 * __m512i::BYTES]);

impl Default for Group {
    fn default() -> Self {
        Self([0; 8 * __m512i::BYTES])
    }
}

/// Wipes the stack that the functions before used: there are not registers enough for the states,
/// so what the compiler spilled lies there.
#[inline(never)]
fn wipe_stack() {
    let mut stack = [0u64; 512];
    stack.zeroize();
}

/// How states that were not shifted for so many rounds are worked on.
struct Frame {
    /// ShiftRows as often.
    shift_rows: [i8; BLOCK_BYTES],
    /// The byte below in the column, and the one below that.
    one_below: [i8; BLOCK_BYTES],
    two_below: [i8; BLOCK_BYTES],
}

/// By the number of ShiftRows left out. Four of them change nothing, so an inverse one is three.
const FRAMES: [Frame; 4] = [Frame::new(0), Frame::new(1), Frame::new(2), Frame::new(3)];

impl Frame {
    const fn new(shifts: usize) -> Self {
        let mut frame = Self {
            shift_rows: [0; BLOCK_BYTES],
            one_below: [0; BLOCK_BYTES],
            two_below: [0; BLOCK_BYTES],
        };
        let mut i = 0;
        while i < BLOCK_BYTES {
            let (column, row) = (i / 4, i % 4);
            frame.shift_rows[i] = at(column + row * shifts, row);
            frame.one_below[i] = at(column + shifts, row + 1);
            frame.two_below[i] = at(column + 2 * shifts, row + 2);
            i += 1;
        }
        frame
    }
}

const fn at(column: usize, row: usize) -> i8 {
    (4 * (column % 4) + row % 4) as i8
}
