//! Bitsliced Triple DES, 64 blocks at a time in ordinary words.

use core::mem::MaybeUninit;

use inout::InOutBuf;

use crate::bits::des::{self, KeyMasks};
use crate::bits::des_cbc::{Chains, LaneKeys};
use crate::bits::registers::{Plane, substitute};
use crate::bits::{des_cbc, des_gates};
use crate::requests::Lanes;
use crate::wipe::wipe_stack;

/// XORs keystream onto `data`, starting at byte `skip` (less than 8) of the block at `counter`.
pub(crate) fn ctr(keys: &KeyMasks, counter: u64, skip: usize, data: InOutBuf<'_, '_, u8>) {
    #[cfg(debug_assertions)]
    crate::dispatch::tdes::PORTABLE.hit();
    let bytes = data.len();
    let (from, to) = data.into_raw();
    let mut room = MaybeUninit::uninit();
    // SAFETY: words need no special instruction; the buffer guarantees that `bytes` are readable at `from` and writable at
    // `to`, which are the same or do not overlap.
    unsafe { des::ctr::<u64>(room.as_mut_ptr(), keys, counter, skip, from, to, bytes) };
    wipe_stack();
}

/// Decrypts whole blocks in CBC mode. `iv` is the ciphertext block before the first, and becomes the last.
pub(crate) fn decrypt(keys: &KeyMasks, iv: &mut [u8; 8], data: InOutBuf<'_, '_, u8>) {
    #[cfg(debug_assertions)]
    crate::dispatch::batch::TDES_BITS.hit();
    let passes = data.len() / (8 * des::pass_blocks::<u64>());
    let (whole, rest) = data.split_at(passes * 8 * des::pass_blocks::<u64>());
    let (from, to) = whole.into_raw();
    let mut room = MaybeUninit::uninit();
    // SAFETY: words need no special instruction; the buffer guarantees the passes.
    unsafe { des_cbc::decrypt::<u64>(room.as_mut_ptr(), keys, iv, from, to, passes) };
    des_cbc::decrypt_rest(keys, iv, rest);
    wipe_stack();
}

// SAFETY: words need no special instruction.
unsafe impl Chains for u64 {
    unsafe fn encrypt(keys: &LaneKeys, lanes: &mut Lanes<64>, blocks: usize) {
        #[cfg(debug_assertions)]
        crate::dispatch::batch::TDES_BITS.hit();
        // SAFETY: words need no special instruction; the caller has `blocks` in each lane that has some left.
        unsafe { des_cbc::encrypt_lanes::<Self>(keys, lanes, blocks) }
    }
}

impl Plane for u64 {
    const LANES: usize = 1;
    type Mask = Self;

    #[inline(always)]
    unsafe fn broadcast(word: u64) -> Self {
        word
    }
    #[inline(always)]
    unsafe fn lanes_with(_: usize) -> Self {
        // There is only lane 0.
        0
    }
    #[inline(always)]
    unsafe fn mask(word: u64) -> Self::Mask {
        word
    }
    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: the caller has 8 bytes to read at `from`, and an array of them needs no alignment.
        u64::from_le_bytes(unsafe { from.cast::<[u8; 8]>().read() })
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        // SAFETY: the caller has room for 8 bytes at `to`, and an array of them needs no alignment.
        unsafe { to.cast::<[u8; 8]>().write(self.to_le_bytes()) }
    }
    #[inline(always)]
    fn filled_with(self, word: u64) -> Self {
        word
    }
    #[inline(always)]
    fn xor_mask(self, mask: &Self::Mask) -> Self {
        self ^ *mask
    }
    #[inline(always)]
    fn and(self, other: Self) -> Self {
        self & other
    }
    #[inline(always)]
    fn or(self, other: Self) -> Self {
        self | other
    }
    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        self ^ other
    }
    #[inline(always)]
    fn and_not(self, other: Self) -> Self {
        self & !other
    }
    #[inline(always)]
    fn not(self) -> Self {
        !self
    }
    #[inline(always)]
    fn shift_left<const N: u32>(self) -> Self {
        self << N
    }
    #[inline(always)]
    fn shift_right<const N: u32>(self) -> Self {
        self >> N
    }
    substitute!(des_gates);
}
