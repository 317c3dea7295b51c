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
//! block takes as long as 16, so [`super::permute`] has what is short.
//!
//! Shuffles and masks are fixed, so time does not depend on data.

use core::arch::x86_64::*;

use inout::InOutBuf;
use zeroize::Zeroize;

use super::lanes::Lanes;
use super::{Avx2, Avx512};
use crate::key::{BLOCK_BYTES, Schedule};
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
                keys: &mut KeyPlanes,
                schedule: &Schedule,
                counter: u128,
                from: *const u8,
                to: *mut u8,
                bytes: usize,
            ) {
                // SAFETY: the features are enabled here; the pointers are as the caller vouches.
                unsafe {
                    ctr::<$lanes>(
                        keys.fill(schedule, Direction::Encrypt),
                        counter,
                        from,
                        to,
                        bytes,
                    )
                }
            }
            #[cfg(debug_assertions)]
            crate::dispatch::aes::$counter.hit();
            let bytes = data.len();
            let (from, to) = data.into_raw();
            let mut keys = KeyPlanes::EMPTY;
            // SAFETY: the token proves the features; the buffer vouches for `bytes` readable at
            // `from` and writable at `to`, which are the same or do not overlap.
            unsafe {
                with_features(&mut keys, schedule, counter, from, to, bytes);
                wipe_stack::<64>();
            }
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
                keys: &mut KeyPlanes,
                inverse: &Schedule,
                iv: &mut [u8; BLOCK_BYTES],
                from: *const u8,
                to: *mut u8,
                bytes: usize,
            ) {
                // SAFETY: the features are enabled here; the pointers are as the caller vouches.
                unsafe {
                    cbc_decrypt::<$lanes>(
                        keys.fill(inverse, Direction::Decrypt),
                        iv,
                        from,
                        to,
                        bytes,
                    )
                }
            }
            #[cfg(debug_assertions)]
            crate::dispatch::aes::$counter.hit();
            let bytes = data.len();
            let (from, to) = data.into_raw();
            let mut keys = KeyPlanes::EMPTY;
            // SAFETY: the token proves the features; the buffer vouches for `bytes` readable at
            // `from` and writable at `to`, which are the same or do not overlap.
            unsafe {
                with_features(&mut keys, inverse, iv, from, to, bytes);
                wipe_stack::<64>();
            }
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

/// The algorithm: groups of eight registers, the last ones of narrower registers where those do.
///
/// # Safety
/// The instructions of `V` and AVX2 are enabled in the caller; `bytes` are readable at `from` and
/// writable at `to`, the same place or one that does not overlap; the low 32 bits of `counter` do
/// not wrap.
#[inline(always)]
unsafe fn ctr<V: Bits>(
    keys: &KeyPlanes,
    mut counter: u128,
    mut from: *const u8,
    mut to: *mut u8,
    mut bytes: usize,
) {
    while bytes > 0 {
        // SAFETY: instructions and pointers as the caller vouches; `bytes` counts what is left.
        let done = unsafe {
            if V::NARROW || bytes > GROUP_BYTES_NARROW {
                ctr_group::<V>(keys, counter, from, to, bytes)
            } else {
                ctr_group::<__m256i>(keys, counter, from, to, bytes)
            }
        };
        counter = counter.wrapping_add((done / BLOCK_BYTES) as u128);
        // SAFETY: so many bytes were there.
        unsafe { (from, to) = (from.add(done), to.add(done)) };
        bytes -= done;
    }
}

/// One group, or `bytes` where that is less; returns how many bytes it was.
///
/// # Safety
/// As [`ctr`].
#[inline(always)]
unsafe fn ctr_group<V: Bits>(
    keys: &KeyPlanes,
    counter: u128,
    from: *const u8,
    to: *mut u8,
    bytes: usize,
) -> usize {
    // SAFETY: as `ctr`.
    unsafe {
        let mut counters = V::counters(counter);
        let mut states = [counters; 8];
        for state in &mut states {
            *state = counters.swap_bytes();
            counters = counters.advance(V::BLOCKS as u32);
        }
        let mut keystream = encrypt(keys, states);
        if bytes < 8 * V::BYTES {
            xor_bytes(keystream.as_ptr().cast(), from, to, bytes);
            keystream.zeroize();
            return bytes;
        }
        for (i, keystream) in keystream.iter().enumerate() {
            let data = V::load(from.add(i * V::BYTES));
            keystream.xor(data).store(to.add(i * V::BYTES));
        }
    }
    8 * V::BYTES
}

/// # Safety
/// As [`ctr`]; of a last block that is not whole, nothing is touched.
#[inline(always)]
unsafe fn cbc_decrypt<V: Bits>(
    keys: &KeyPlanes,
    iv: &mut [u8; BLOCK_BYTES],
    mut from: *const u8,
    mut to: *mut u8,
    bytes: usize,
) {
    let mut bytes = bytes - bytes % BLOCK_BYTES;
    // SAFETY: as `ctr`; an IV has 16 bytes.
    unsafe {
        let mut before = __m128i::load(iv.as_ptr());
        while bytes > 0 {
            let done = bytes.min(8 * V::BYTES);
            let last = __m128i::load(from.add(done - BLOCK_BYTES));
            if V::NARROW || bytes > GROUP_BYTES_NARROW {
                cbc_decrypt_group::<V>(keys, before, from, to, bytes);
            } else {
                cbc_decrypt_group::<__m256i>(keys, before, from, to, bytes);
            }
            before = last;
            (from, to) = (from.add(done), to.add(done));
            bytes -= done;
        }
        before.store(iv.as_mut_ptr());
    }
}

/// Decrypts one group, or `bytes` where that is less; `before` is the block before the first.
///
/// # Safety
/// As [`cbc_decrypt`].
#[inline(always)]
unsafe fn cbc_decrypt_group<V: Bits>(
    keys: &KeyPlanes,
    before: __m128i,
    from: *const u8,
    to: *mut u8,
    bytes: usize,
) {
    // SAFETY: as the caller vouches; less than a group is copied to where there is room for one.
    unsafe {
        let mut states = [V::splat(_mm_setzero_si128()); 8];
        if bytes >= 8 * V::BYTES {
            for (i, state) in states.iter_mut().enumerate() {
                *state = V::load(from.add(i * V::BYTES));
            }
            let first = states[0].one_block_on(before);
            states = decrypt(keys, states);
            states[0] = states[0].xor(first);
            for (i, state) in states.iter_mut().enumerate().skip(1) {
                *state = state.xor(V::load(from.add(i * V::BYTES - BLOCK_BYTES)));
            }
            for (i, state) in states.iter().enumerate() {
                state.store(to.add(i * V::BYTES));
            }
        } else {
            from.copy_to_nonoverlapping(states.as_mut_ptr().cast(), bytes);
            states = decrypt(keys, states);
            let plain: *mut u8 = states.as_mut_ptr().cast();
            before.xor(__m128i::load(plain)).store(plain);
            let rest = plain.add(BLOCK_BYTES);
            xor_bytes(rest, from, rest, bytes - BLOCK_BYTES);
            to.copy_from_nonoverlapping(plain, bytes);
            states.zeroize();
        }
    }
}

/// XORs `bytes` of `keystream` onto `from` and writes them to `to`.
///
/// # Safety
/// The three are as long, and `to` is the same as one of the others or does not overlap.
#[inline(always)]
pub(super) unsafe fn xor_bytes(
    mut keystream: *const u8,
    mut from: *const u8,
    mut to: *mut u8,
    mut bytes: usize,
) {
    // SAFETY: the caller vouches for the pointers; `bytes` counts what is left.
    unsafe {
        while bytes >= BLOCK_BYTES {
            let data = __m128i::load(from);
            data.xor(__m128i::load(keystream)).store(to);
            keystream = keystream.add(BLOCK_BYTES);
            (from, to) = (from.add(BLOCK_BYTES), to.add(BLOCK_BYTES));
            bytes -= BLOCK_BYTES;
        }
        for i in 0..bytes {
            *to.add(i) = *from.add(i) ^ *keystream.add(i);
        }
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
pub(super) trait Bits: Lanes + Gf2 + Zeroize {
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
    __m128i,
    _mm_xor_si128,
    _mm_and_si128,
    _mm_shuffle_epi8,
    _mm_srl_epi64,
    _mm_sll_epi64
);
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

pub(super) enum Direction {
    Encrypt,
    Decrypt,
}

/// Round keys as planes, each in the frame of its round; a lane serves all blocks. Wiped on drop.
struct KeyPlanes {
    planes: [[__m128i; 8]; 15],
    rounds: usize,
}

impl KeyPlanes {
    // SAFETY: zeros are a value of these types.
    const EMPTY: Self = unsafe { core::mem::zeroed() };

    /// `schedule` is the inverse one for decryption.
    ///
    /// # Safety
    /// SSSE3 is enabled in the caller.
    #[inline(always)]
    unsafe fn fill(&mut self, schedule: &Schedule, direction: Direction) -> &Self {
        self.rounds = schedule.size.rounds();
        // SAFETY: as the caller vouches; there is room for the planes of any schedule.
        unsafe { write_key_planes(schedule, direction, self.planes.as_mut_ptr()) };
        self
    }
}

/// Writes the planes of each round key.
///
/// # Safety
/// SSSE3 is enabled in the caller, and at `to`, which is aligned to 16 bytes, there is room for one more than the
/// rounds of `schedule`.
#[inline(always)]
pub(super) unsafe fn write_key_planes(
    schedule: &Schedule,
    direction: Direction,
    to: *mut [__m128i; 8],
) {
    // SAFETY: as the caller vouches; a round key has 16 bytes, and so has a shuffle.
    unsafe {
        let rounds = schedule.size.rounds();
        for round in 0..=rounds {
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
            let planes = to.add(round).cast::<__m128i>();
            for i in 0..8 {
                let bit = _mm_set1_epi8((1u8 << i) as i8);
                let plane = _mm_cmpeq_epi8(_mm_and_si128(key, bit), bit);
                _mm_store_si128(planes.add(i), plane);
            }
        }
    }
}

impl Drop for KeyPlanes {
    fn drop(&mut self) {
        self.planes.zeroize();
    }
}

/// Wipes the stack that the functions before used: there are not registers enough for the states,
/// so what the compiler spilled, here up to 1.5 KiB, lies there.
///
/// # Safety
/// AVX2 is there.
#[target_feature(enable = "avx2")]
#[inline(never)]
pub(super) unsafe fn wipe_stack<const REGISTERS: usize>() {
    let mut stack = [_mm256_setzero_si256(); REGISTERS];
    stack.zeroize();
}

/// The same, without AVX2: half as many bytes.
///
/// # Safety
/// None: every x86-64 has SSE2.
#[inline(never)]
pub(super) unsafe fn wipe_stack_narrow<const REGISTERS: usize>() {
    // SAFETY: as above.
    let mut stack = unsafe { [_mm_setzero_si128(); REGISTERS] };
    stack.zeroize();
}

/// Bytes in a group of the narrower registers.
const GROUP_BYTES_NARROW: usize = 8 * __m256i::BYTES;

/// How states that were not shifted for so many rounds are worked on.
pub(super) struct Frame {
    /// ShiftRows as often.
    pub(super) shift_rows: [i8; BLOCK_BYTES],
    /// The byte below in the column, and the one below that.
    pub(super) one_below: [i8; BLOCK_BYTES],
    pub(super) two_below: [i8; BLOCK_BYTES],
}

/// By the number of ShiftRows left out. Four of them change nothing, so an inverse one is three.
pub(super) const FRAMES: [Frame; 4] = [Frame::new(0), Frame::new(1), Frame::new(2), Frame::new(3)];

impl Frame {
    pub(super) const fn new(shifts: usize) -> Self {
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
