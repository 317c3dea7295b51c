//! Serpent on ordinary words, one block at a time.

use inout::InOutBuf;

use super::gates;
use super::registers::{Words, substitute_words};
use super::words::{self, RoundKeys};

/// XORs keystream onto `data`, starting at byte `skip` (less than 16) of the block at `counter`.
pub(crate) fn ctr(keys: &RoundKeys, counter: u128, skip: usize, data: InOutBuf<'_, '_, u8>) {
    #[cfg(debug_assertions)]
    crate::dispatch::serpent::PORTABLE.hit();
    let bytes = data.len();
    let (from, to) = data.into_raw();
    // SAFETY: words need no special instruction; the buffer guarantees `bytes` readable at `from` and writable at `to`,
    // which are the same or do not overlap.
    unsafe { words::ctr::<u32>(keys, counter, skip, from, to, bytes) }
}

impl Words for u32 {
    const LANES: usize = 1;

    #[inline(always)]
    unsafe fn broadcast(word: u32) -> Self {
        word
    }
    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: the caller has 4 bytes to read at `from`, and an array of them needs no alignment.
        u32::from_le_bytes(unsafe { from.cast::<[u8; 4]>().read() })
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        // SAFETY: the caller has room for 4 bytes at `to`, and an array of them needs no alignment.
        unsafe { to.cast::<[u8; 4]>().write(self.to_le_bytes()) }
    }
    #[inline(always)]
    fn filled_with(self, word: u32) -> Self {
        word
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
    fn shift_left<const N: i32, const REST: i32>(self) -> Self {
        self << N
    }
    #[inline(always)]
    fn rotate_left<const N: i32, const REST: i32>(self) -> Self {
        self << N | self >> REST
    }
    #[inline(always)]
    fn xor3(self, second: Self, third: Self) -> Self {
        self ^ second ^ third
    }
    substitute_words!(gates);
    #[inline(always)]
    fn transpose(words: [Self; 4]) -> [Self; 4] {
        words
    }
}
