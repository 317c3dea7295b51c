//! Bitsliced Triple DES in CBC mode (SP 800-38A, section 6.2).
//!
//! Encryption is a chain, so each of 64 bits of a register belongs to another stream, which may have its own key. Decryption
//! is not: the bits of a register are blocks of one stream.

use core::marker::PhantomData;
use core::mem::MaybeUninit;

use super::des::{KeyMasks, PLACES_OUT, pass_blocks, transpose, triple};
use super::registers::Plane;
use crate::requests::{Engine, Lanes, TdesChained};
use crate::wipe::{wipe, wipe_stack};

/// A register in which each bit of the first word belongs to another stream to encrypt; its other words are idle.
///
/// 64-bit general registers would suffice, but there are too few of them, and their instructions overwrite an operand. The
/// other words are used outside the rounds, for the next blocks of a stream: `LANES` of them are transposed at once.
///
/// # Safety
/// `encrypt` is [`encrypt_lanes`], and every CPU has the instructions of the register.
pub(crate) unsafe trait Chains: Plane<Mask = Self> {
    /// # Safety
    /// The lanes that have blocks left have `blocks` of them, readable and writable.
    unsafe fn encrypt(keys: &LaneKeys, lanes: &mut Lanes<64>, blocks: usize);
}

/// Encrypts 64 streams.
pub(crate) struct Words<P> {
    keys: LaneKeys,
    _registers: PhantomData<P>,
}

/// The bits of the keys: a register for each, whose first word has a bit of each stream.
#[repr(align(16))]
pub(crate) struct LaneKeys([u64; LANES_MAX * 3 * 64]);

/// The most 64-bit lanes of a register with [`Chains`].
const LANES_MAX: usize = 2;

impl<P: Chains> Words<P> {
    pub(crate) const fn new() -> Self {
        const { assert!(P::LANES <= LANES_MAX) };
        Self {
            keys: LaneKeys([0; _]),
            _registers: PhantomData,
        }
    }
}

impl<P: Chains> Engine<64> for Words<P> {
    const REPEATS: bool = false;

    fn lay_out(&mut self, lane: usize, stream: &impl TdesChained) {
        let registers = self.keys.0.chunks_exact_mut(P::LANES);
        for (bits, mask) in registers.zip(stream.masks()) {
            bits[0] = bits[0] & !(1 << lane) | (mask & 1) << lane;
        }
    }

    unsafe fn run(&mut self, lanes: &mut Lanes<64>, blocks: usize) {
        // SAFETY: the caller has `blocks` in each lane that has some left.
        unsafe { P::encrypt(&self.keys, lanes, blocks) };
    }
}

impl<P> Drop for Words<P> {
    fn drop(&mut self) {
        wipe(&mut self.keys.0);
        wipe_stack();
    }
}

/// Encrypts the next `blocks` of the lanes that have some left.
///
/// # Safety
/// The instructions of `P` are enabled in the caller; these lanes have `blocks` blocks, readable and writable.
#[inline(always)]
pub(crate) unsafe fn encrypt_lanes<P: Plane<Mask = P>>(
    keys: &LaneKeys,
    lanes: &mut Lanes<64>,
    blocks: usize,
) {
    // SAFETY: the caller has the instructions of `P`, and `blocks` blocks where a lane has some left; the keys fill that
    // many registers of at most `LANES_MAX` words, and have their alignment. A register has `LANES` words, and its alignment
    // suffices for them.
    unsafe {
        let masks = &*keys.0.as_ptr().cast::<[P; 3 * 64]>();
        let mut planes = [P::broadcast(0); 64];
        let mut state = [[P::broadcast(0); 32]; 2];
        for (lane, (plane, chain)) in planes.iter_mut().zip(&lanes.chain).enumerate() {
            if lanes.left[lane] > 0 {
                *plane = P::broadcast(u64::from_le_bytes(*chain));
            }
        }
        enter(&mut planes, &mut state);
        let mut done = 0;
        while done < blocks {
            let at_once = P::LANES.min(blocks - done);
            let bytes = 8 * at_once;
            for (lane, plane) in planes.iter_mut().enumerate() {
                *plane = P::broadcast(0);
                if lanes.left[lane] > 0 {
                    let from = lanes.from[lane].add(8 * done);
                    let place: *mut P = plane;
                    core::ptr::copy_nonoverlapping(from, place.cast::<u8>(), bytes);
                }
            }
            transpose(&mut planes);
            for block in 0..at_once {
                let word = |i: usize, planes: *mut P| planes.add(i).cast::<u64>().add(block);
                for (i, bits) in state.as_flattened_mut().iter_mut().enumerate() {
                    let plane = *word(PLACES_OUT[i], planes.as_mut_ptr());
                    *bits = bits.xor(P::broadcast(plane));
                }
                let [left, right] = triple::<P, false>(masks, &mut state);
                state = [*left, *right];
                for (i, bits) in state.as_flattened().iter().enumerate() {
                    let first: *const P = bits;
                    *word(PLACES_OUT[i], planes.as_mut_ptr()) = *first.cast::<u64>();
                }
            }
            transpose(&mut planes);
            for (lane, plane) in planes.iter().enumerate() {
                if lanes.left[lane] > 0 {
                    let to = lanes.to[lane].add(8 * done);
                    let place: *const P = plane;
                    core::ptr::copy_nonoverlapping(place.cast::<u8>(), to, bytes);
                    let last = to.add(bytes - 8).cast::<[u8; 8]>();
                    lanes.chain[lane] = last.read();
                }
            }
            done += at_once;
        }
        for room in [planes.as_mut_slice(), state.as_flattened_mut()] {
            let words = room.len() * P::LANES;
            wipe(core::slice::from_raw_parts_mut(
                room.as_mut_ptr().cast::<u64>(),
                words,
            ));
        }
    }
}

/// Converts 64 blocks in each lane to the state.
#[inline(always)]
fn enter<P: Plane>(planes: &mut [P; 64], state: &mut [[P; 32]; 2]) {
    transpose(planes);
    for (i, bits) in state.as_flattened_mut().iter_mut().enumerate() {
        *bits = planes[PLACES_OUT[i]];
    }
}

/// The working memory of decryption, all of it secret.
#[repr(C)]
pub(crate) struct Room<P: Plane> {
    masks: [P::Mask; 3 * 64],
    state: [[P; 32]; 2],
    planes: [P; 64],
}

/// Decrypts whole passes. `iv` is the ciphertext block before the first, and becomes the last.
///
/// # Safety
/// The instructions of `P` are enabled in the caller; the passes are readable at `from` and writable at `to`, the same place
/// or one that does not overlap. `room` points to memory for a `Room`, which only this function accesses.
#[inline(always)]
pub(crate) unsafe fn decrypt<P: Plane>(
    room: *mut Room<P>,
    keys: &KeyMasks,
    iv: &mut [u8; 8],
    mut from: *const u8,
    mut to: *mut u8,
    passes: usize,
) {
    // SAFETY: the caller has the instructions of `P`, the room, and the passes at both pointers. All of the room is written
    // before it is read.
    unsafe {
        let masks = &mut (*room).masks;
        for (mask, word) in masks.iter_mut().zip(keys) {
            *mask = P::mask(*word);
        }
        let register = 8 * P::LANES;
        let pass_bytes = 8 * pass_blocks::<P>();
        let (planes, state) = (&mut (*room).planes, &mut (*room).state);
        for _ in 0..passes {
            for (i, plane) in planes.iter_mut().enumerate() {
                *plane = P::load(from.add(register * i));
            }
            enter(planes, state);
            let [left, right] = triple::<P, true>(masks, state);
            for (i, bits) in left.iter().chain(&*right).enumerate() {
                planes[PLACES_OUT[i]] = *bits;
            }
            transpose(planes);
            let last = from.add(pass_bytes - 8).cast::<[u8; 8]>().read();
            // Backwards: in place, each register overwrites what the next one no longer needs.
            for (i, plane) in planes.iter().enumerate().skip(1).rev() {
                let before = P::load(from.add(register * i - 8));
                plane.xor(before).store(to.add(register * i));
            }
            let mut before = [0; 64];
            before[..8].copy_from_slice(iv);
            let rest = before[8..].as_mut_ptr();
            core::ptr::copy_nonoverlapping(from, rest, register - 8);
            planes[0].xor(P::load(before.as_ptr())).store(to);
            *iv = last;
            (from, to) = (from.add(pass_bytes), to.add(pass_bytes));
        }
        wipe(core::slice::from_raw_parts_mut(
            room.cast::<u64>(),
            size_of::<Room<P>>() / 8,
        ));
    }
}

/// Decrypts fewer than 64 blocks.
pub(crate) fn decrypt_rest(keys: &KeyMasks, iv: &mut [u8; 8], data: inout::InOutBuf<'_, '_, u8>) {
    let bytes = data.len();
    if bytes == 0 {
        return;
    }
    let (from, to) = data.into_raw();
    let mut padded = [0; 512];
    let mut room = MaybeUninit::uninit();
    assert!(bytes <= padded.len() && bytes.is_multiple_of(8));
    // SAFETY: the buffer guarantees `bytes`, and the other pointer has 512.
    unsafe {
        core::ptr::copy_nonoverlapping(from, padded.as_mut_ptr(), bytes);
        let last = padded[..bytes].last_chunk().copied().unwrap_or(*iv);
        let buffer = padded.as_mut_ptr();
        decrypt::<u64>(room.as_mut_ptr(), keys, iv, buffer, buffer, 1);
        *iv = last;
        core::ptr::copy_nonoverlapping(padded.as_ptr(), to, bytes);
    }
    wipe(&mut padded);
    wipe_stack();
}
