//! Triple DES in CBC mode (SP 800-38A, section 6.2) on bits.
//!
//! Encryption chains: each of 64 bits of a word belongs to a stream of its own, which has its own key too.
//! Decryption does not: the bits of a register are blocks of one stream.

use core::mem::MaybeUninit;

use super::des::{KeyMasks, PLACES_OUT, pass_blocks, transpose, triple};
use super::registers::Plane;
use crate::requests::{Engine, Lanes, TdesChained};
use crate::wipe::wipe;

/// Encryption of 64 streams.
pub(crate) struct Words {
    /// The keys' bits, a bit of each word for each stream.
    keys: KeyMasks,
}

impl Words {
    pub(crate) const fn new() -> Self {
        Self { keys: [0; _] }
    }
}

impl Engine<64> for Words {
    const REPEATS: bool = false;

    fn lay_out(&mut self, lane: usize, stream: &impl TdesChained) {
        for (bits, mask) in self.keys.iter_mut().zip(stream.masks()) {
            *bits = *bits & !(1 << lane) | (mask & 1) << lane;
        }
    }

    unsafe fn run(&mut self, lanes: &mut Lanes<64>, blocks: usize) {
        #[cfg(debug_assertions)]
        crate::dispatch::batch::TDES_BITS.hit();
        let mut planes = [0; 64];
        let mut state = [[0; 32]; 2];
        for (plane, chain) in planes.iter_mut().zip(&lanes.chain) {
            *plane = u64::from_le_bytes(*chain);
        }
        // SAFETY: words need no special instructions; busy lanes are good for as many blocks.
        unsafe {
            enter(&mut planes, &mut state);
            for block in 0..blocks {
                for (lane, plane) in planes.iter_mut().enumerate() {
                    *plane = 0;
                    if lanes.left[lane] > 0 {
                        *plane = u64::load(lanes.from[lane].add(8 * block));
                    }
                }
                transpose(&mut planes);
                for (i, bits) in state.as_flattened_mut().iter_mut().enumerate() {
                    *bits ^= planes[PLACES_OUT[i]];
                }
                let [left, right] = triple::<u64, false>(&self.keys, &mut state);
                state = [*left, *right];
                leave(&state, &mut planes);
                for (lane, plane) in planes.iter().enumerate() {
                    if lanes.left[lane] > 0 {
                        plane.store(lanes.to[lane].add(8 * block));
                    }
                }
            }
        }
        if blocks > 0 {
            for (plane, chain) in planes.iter().zip(&mut lanes.chain) {
                *chain = plane.to_le_bytes();
            }
        }
        wipe(&mut planes);
        wipe(state.as_flattened_mut());
    }
}

impl Drop for Words {
    fn drop(&mut self) {
        wipe(&mut self.keys);
        super::des::wipe_stack();
    }
}

/// From 64 blocks in each lane to the state.
///
/// # Safety
/// The instructions of `P` are enabled in the caller.
#[inline(always)]
unsafe fn enter<P: Plane>(planes: &mut [P; 64], state: &mut [[P; 32]; 2]) {
    // SAFETY: as the caller vouches.
    unsafe { transpose(planes) };
    for (i, bits) in state.as_flattened_mut().iter_mut().enumerate() {
        *bits = planes[PLACES_OUT[i]];
    }
}

/// Undoes [`enter`].
///
/// # Safety
/// The instructions of `P` are enabled in the caller.
#[inline(always)]
unsafe fn leave<P: Plane>(state: &[[P; 32]; 2], planes: &mut [P; 64]) {
    for (i, bits) in state.as_flattened().iter().enumerate() {
        planes[PLACES_OUT[i]] = *bits;
    }
    // SAFETY: as the caller vouches.
    unsafe { transpose(planes) };
}

/// What decryption works on, all of it secret.
#[repr(C)]
pub(crate) struct Room<P: Plane> {
    masks: [P::Mask; 3 * 64],
    state: [[P; 32]; 2],
    planes: [P; 64],
}

/// Decrypts whole passes. `iv` is the ciphertext block before the first, and becomes the last.
///
/// # Safety
/// The instructions of `P` are enabled in the caller; as many passes are readable at `from` and writable at
/// `to`, the same place or one that does not overlap. There is room at `room`, to write alone.
#[inline(always)]
pub(crate) unsafe fn decrypt<P: Plane>(
    room: *mut Room<P>,
    keys: &KeyMasks,
    iv: &mut [u8; 8],
    mut from: *const u8,
    mut to: *mut u8,
    passes: usize,
) {
    // SAFETY: the instructions, the room and the pointers are the caller's promise. All of the room is
    // written before it is read.
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
    // SAFETY: the buffer vouches for `bytes`; there are 512 in the other.
    unsafe {
        core::ptr::copy_nonoverlapping(from, padded.as_mut_ptr(), bytes);
        let last = padded[..bytes].last_chunk().copied().unwrap_or(*iv);
        let buffer = padded.as_mut_ptr();
        decrypt::<u64>(room.as_mut_ptr(), keys, iv, buffer, buffer, 1);
        *iv = last;
        core::ptr::copy_nonoverlapping(padded.as_ptr(), to, bytes);
    }
    wipe(&mut padded);
    super::des::wipe_stack();
}
