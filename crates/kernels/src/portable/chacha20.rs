//! Four lanes of plain Rust, which compilers vectorize if the target has vectors.

use inout::InOutBuf;

use crate::poly1305::{self, Element, Multiplier, OneTimeKey};
use crate::stitched::{self, BLOCK_BYTES, Direction, Keystream, Register, Start, Words};

/// XORs keystream onto `data`, beginning at `start`.
pub(crate) fn crypt(start: Start<'_>, data: InOutBuf<'_, '_, u8>) {
    #[cfg(debug_assertions)]
    crate::dispatch::chacha20::PORTABLE.hit();
    crypt_blocks(start, data);
}

/// Like [`crypt`]; returns `mac` with all whole MAC blocks of the ciphertext absorbed. That happens before or after the
/// rounds: interleaving them took more than half of this crate's compile time.
pub(crate) fn crypt_and_mac(
    direction: Direction,
    start: Start<'_>,
    r: &Multiplier,
    mut mac: Element,
    mut data: InOutBuf<'_, '_, u8>,
) -> Element {
    #[cfg(debug_assertions)]
    crate::dispatch::chacha20::PORTABLE_AND_MAC.hit();
    let whole = data.len() - data.len() % poly1305::BLOCK_BYTES;
    if direction == Direction::Open {
        mac = mac.absorb_padded(r, &data.get_in()[..whole]);
    }
    crypt_blocks(start, data.reborrow());
    if direction == Direction::Seal {
        mac = mac.absorb_padded(r, &data.get_out()[..whole]);
    }
    mac
}

/// Encrypts or decrypts the first data of a message, as [`stitched::first`] documents.
pub(crate) fn first(
    direction: Direction,
    start: Start<'_>,
    aad: &[u8],
    mut data: InOutBuf<'_, '_, u8>,
    ends: bool,
) -> (OneTimeKey, Element) {
    #[cfg(debug_assertions)]
    crate::dispatch::chacha20::PORTABLE_AND_MAC.hit();
    let absorbed = match ends {
        true => data.len(),
        false => data.len() - data.len() % poly1305::BLOCK_BYTES,
    };
    let lengths = (aad.len() as u128 | (data.len() as u128) << 64).to_le_bytes();
    let mut block = Keystream::new();
    crypt_blocks(start, block.fill(BLOCK_BYTES).into());
    let one_time = OneTimeKey::from_block(&block.bytes()[..BLOCK_BYTES]);
    let r = &one_time.r;
    let mut mac = Element::ZERO.absorb_padded(r, aad);
    if direction == Direction::Open {
        mac = mac.absorb_padded(r, &data.get_in()[..absorbed]);
    }
    crypt_blocks(start.later(1), data.reborrow());
    if direction == Direction::Seal {
        mac = mac.absorb_padded(r, &data.get_out()[..absorbed]);
    }
    if ends {
        mac = mac.step(r, &lengths);
    }
    (one_time, mac)
}

/// One copy of the rounds for all three functions.
#[inline(never)]
fn crypt_blocks(start: Start<'_>, data: InOutBuf<'_, '_, u8>) {
    // SAFETY: no instructions beyond the target's; the buffer guarantees the bytes at both pointers.
    unsafe { stitched::crypt_in_columns::<Lanes>(start, data.into()) }
}

type Lanes = [u32; 4];

impl Register for Lanes {
    #[inline(always)]
    fn add(mut self, other: Self) -> Self {
        for (word, other) in self.iter_mut().zip(other) {
            *word = word.wrapping_add(other);
        }
        self
    }
    #[inline(always)]
    fn xor(mut self, other: Self) -> Self {
        for (word, other) in self.iter_mut().zip(other) {
            *word ^= other;
        }
        self
    }
    #[inline(always)]
    fn rotate_left<const BITS: u32>(mut self) -> Self {
        for word in &mut self {
            *word = word.rotate_left(BITS);
        }
        self
    }
}

impl Words for Lanes {
    const BLOCKS: usize = 4;

    #[inline(always)]
    unsafe fn splat(word: u32) -> Self {
        [word; 4]
    }
    #[inline(always)]
    unsafe fn counters(first: u32) -> Self {
        [0, 1, 2, 3].map(|i| first.wrapping_add(i))
    }
    #[inline(always)]
    unsafe fn xor_blocks(words: [Self; 16], from: *const u8, to: *mut u8) {
        for block in 0..Self::BLOCKS {
            for (i, word) in words.iter().enumerate() {
                let at = block * BLOCK_BYTES + 4 * i;
                // SAFETY: the caller has four blocks at both pointers, and `at` is the start of a word in them.
                unsafe {
                    let data = u32::from_le_bytes(from.add(at).cast::<[u8; 4]>().read());
                    let data = (data ^ word[block]).to_le_bytes();
                    to.add(at).cast::<[u8; 4]>().write(data);
                }
            }
        }
    }
}
