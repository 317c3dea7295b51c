//! A message in progress: its position, its MAC so far, and keystream computed ahead.

use core::fmt;

use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::chacha20::{BLOCK_BYTES, KeptPowers};
use crate::poly1305::{BLOCK_BYTES as MAC_BYTES, Element, OneTimeKey};
use crate::wipe::wipe;

/// A message in progress: its nonce, its position, and the MAC so far. Wiped on drop.
#[derive(Clone)]
pub struct Message {
    pub(super) nonce: [u32; 3],
    pub(super) one_time: OneTimeKey,
    pub(super) value: Element,
    pub(super) aad_bytes: u64,
    /// Equals `aad_bytes` while associated data may still be added, otherwise 0.
    pub(super) aad_bytes_begun: u64,
    pub(super) bytes: u64,
    /// The keystream of block `keystream_of` of the data. No message has a block `u64::MAX`, which means none.
    pub(super) keystream: [u8; BLOCK_BYTES],
    pub(super) keystream_of: u64,
    /// The ciphertext of a partial MAC block, of `pending_bytes` bytes.
    pub(super) pending: [u8; MAC_BYTES],
    pub(super) pending_bytes: usize,
    /// r to the power of `power_blocks`.
    pub(super) power: Element,
    pub(super) power_blocks: u64,
}

impl Message {
    /// Returns the bytes of data so far.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn new(nonce: [u32; 3], block: &[u8; BLOCK_BYTES], aad: &[u8]) -> Self {
        let (halves, _) = block.as_chunks();
        let one_time = OneTimeKey::new(&halves[0]);
        let value = Element::ZERO.absorb_padded(&one_time.r, aad);
        Self::of(nonce, one_time, value, aad.len() as u64)
    }

    /// Creates a message whose associated data is absorbed.
    #[inline(always)]
    pub(super) fn of(
        nonce: [u32; 3],
        one_time: OneTimeKey,
        value: Element,
        aad_bytes: u64,
    ) -> Self {
        Self {
            nonce,
            value,
            one_time,
            aad_bytes,
            aad_bytes_begun: 0,
            bytes: 0,
            keystream: [0; BLOCK_BYTES],
            keystream_of: u64::MAX,
            pending: [0; MAC_BYTES],
            pending_bytes: 0,
            power: Element::ONE,
            power_blocks: 0,
        }
    }

    /// Returns the position, for tests to change.
    #[cfg(debug_assertions)]
    pub(crate) fn bytes_mut(&mut self) -> &mut u64 {
        &mut self.bytes
    }

    /// Adds ciphertext to the MAC and to the position.
    pub(super) fn absorb(&mut self, ciphertext: &[u8]) {
        self.take_in(ciphertext);
        self.bytes += ciphertext.len() as u64;
    }

    /// Adds associated data or ciphertext to the MAC.
    pub(super) fn take_in(&mut self, mut bytes: &[u8]) {
        if self.pending_bytes > 0 {
            let (_, place) = self.pending.split_at_mut(self.pending_bytes);
            let (first, rest) = bytes.split_at(place.len().min(bytes.len()));
            place[..first.len()].copy_from_slice(first);
            self.pending_bytes += first.len();
            if self.pending_bytes < MAC_BYTES {
                return;
            }
            self.value = self.value.step(&self.one_time.r, &self.pending);
            bytes = rest;
        }
        let (blocks, rest) = bytes.as_chunks::<MAC_BYTES>();
        if blocks.len() >= TWO_CHAINS_BLOCKS_MIN {
            self.take_in_halves(blocks);
        } else {
            self.value = self
                .value
                .absorb_padded(&self.one_time.r, blocks.as_flattened());
        }
        self.pending[..rest.len()].copy_from_slice(rest);
        self.pending_bytes = rest.len();
    }

    /// Absorbs two halves in two chains, since one chain waits for its products half of the time. A power of r joins the
    /// first half to the second.
    fn take_in_halves(&mut self, blocks: &[[u8; MAC_BYTES]]) {
        let (odd, blocks) = blocks.split_at(blocks.len() % 2);
        let r = &self.one_time.r;
        let mut first = self.value.absorb_padded(r, odd.as_flattened());
        let (one, other) = blocks.split_at(blocks.len() / 2);
        if self.power_blocks != one.len() as u64 {
            self.power = Element::power(r, one.len() as u64);
            self.power_blocks = one.len() as u64;
        }
        let mut second = Element::ZERO;
        for (one, other) in one.iter().zip(other) {
            first = first.step(r, one);
            second = second.step(r, other);
        }
        self.value = first.times(self.power).plus(second);
    }

    /// Pads a partial block of the associated data with zeros before the data.
    #[inline(always)]
    pub(super) fn end_aad(&mut self) {
        if self.aad_bytes_begun > 0 {
            self.aad_bytes_begun = 0;
            self.flush();
        }
    }

    /// Pads a partial block with zeros and absorbs it.
    pub(super) fn flush(&mut self) {
        let begun = &self.pending[..self.pending_bytes];
        self.value = self.value.absorb_padded(&self.one_time.r, begun);
        self.pending_bytes = 0;
    }
}

impl ZeroizeOnDrop for Message {}

impl Drop for Message {
    #[inline]
    fn drop(&mut self) {
        self.value.zeroize();
        self.power.zeroize();
        wipe(&mut self.pending);
        if self.keystream_of != u64::MAX {
            wipe(&mut self.keystream);
        }
    }
}

/// Keystream for the next parts of a message, used by [`seal_next_ahead`](super::ChaCha20Poly1305::seal_next_ahead). Wiped
/// on drop.
pub struct Ahead {
    /// The nonce of the message that it was last used for.
    pub(super) nonce: Option<[u32; 3]>,
    /// The position in that message at which the keystream begins; `None` before there is any.
    pub(super) from: Option<u64>,
    pub(super) keystream: [u8; AHEAD_BYTES],
    /// The bytes of keystream available.
    pub(super) made: usize,
    /// The powers of the message's r.
    pub(super) powers: Option<KeptPowers>,
}

/// The fewest bytes to absorb during rounds. With less data, the MAC takes no longer than the extra cost of computing
/// keystream in two runs.
#[cfg(target_arch = "x86_64")]
pub(super) const BESIDE_BYTES_MIN: usize = 256;

/// Bytes of keystream computed at once: sixteen blocks, which fill the widest registers.
pub(super) const AHEAD_BYTES: usize = 16 * BLOCK_BYTES;

impl Ahead {
    /// Returns the available keystream from a position on.
    pub(super) fn at(&self, position: u64) -> &[u8] {
        let at = |from| usize::try_from(position.checked_sub(from?)?).ok();
        at(self.from)
            .and_then(|at| self.keystream.get(at..self.made))
            .unwrap_or_default()
    }
}

impl Default for Ahead {
    fn default() -> Self {
        Self {
            nonce: None,
            from: None,
            keystream: [0; AHEAD_BYTES],
            made: 0,
            powers: None,
        }
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        wipe(&mut self.keystream);
    }
}

impl fmt::Debug for Ahead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ahead").finish_non_exhaustive()
    }
}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Message")
            .field("aad_bytes", &self.aad_bytes)
            .field("bytes", &self.bytes)
            .finish_non_exhaustive()
    }
}

/// The MAC polynomial of a single stripe. Wiped on drop.
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct Partial {
    pub(super) value: Element,
}

impl fmt::Debug for Partial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Partial")
    }
}

/// The fewest blocks for two chains: a power of r and the product that joins them take as long as four blocks.
const TWO_CHAINS_BLOCKS_MIN: usize = 12;
