//! Poly1305 (RFC 8439, section 2.5) beside the rounds: what it takes, and how the integer units do it.

use core::ptr;

use zeroize::{Zeroize, ZeroizeOnDrop};

use super::state::{BLOCK_BYTES, Beside};
use crate::poly1305::{BLOCK_BYTES as MAC_BYTES, Element, Multiplier};

/// The powers of r that Poly1305 beside the rounds needs.
pub(crate) trait Powers {
    type Run<'a>: Run
    where
        Self: 'a;

    fn new(r: &Multiplier) -> Self;
    /// A run after `value`.
    ///
    /// # Safety
    /// As [`Run`].
    unsafe fn begin(&self, value: Element) -> Self::Run<'_>;
    /// Absorbs `data` with nothing beside, the last block filled up with zeros.
    ///
    /// # Safety
    /// As [`Run`].
    #[inline(always)]
    unsafe fn absorb(r: &Multiplier, value: Element, data: &[u8]) -> Element {
        value.absorb_padded(r, data)
    }
    /// As [`absorb`](Self::absorb), by powers that are there.
    ///
    /// # Safety
    /// As [`Run`].
    #[inline(always)]
    unsafe fn absorb_more(&self, r: &Multiplier, value: Element, data: &[u8]) -> Element {
        value.absorb_padded(r, data)
    }
}

/// Poly1305 of a run of chunks, each absorbed by ten calls of [`Beside::step`].
///
/// # Safety
/// Every method, and `step`, needs the instructions of the registers it belongs to, and the chunk
/// last named to be readable.
pub(crate) trait Run: Beside {
    /// What is absorbed next.
    unsafe fn chunk(&mut self, from: *const u8);
    /// What is absorbed first: as [`chunk`](Self::chunk), but for [`BLOCK_BYTES`] that are not there
    /// before `from`.
    unsafe fn first_chunk(&mut self, from: *const u8);
    unsafe fn end_of_chunk(&mut self);
    /// Absorbs less than a chunk, the last block filled up with zeros.
    unsafe fn end(self, r: &Multiplier, rest: &[u8]) -> Element;
}

/// Poly1305 on the integer units: the two chains of a chunk of `BYTES` bytes.
pub(crate) struct Chains<'a, const BYTES: usize> {
    first: Element,
    second: Element,
    powers: &'a ChainPowers<BYTES>,
    from: *const [u8; MAC_BYTES],
    /// Blocks of the chunk that are not there.
    missing: usize,
}

#[derive(Zeroize, ZeroizeOnDrop)]
pub(crate) struct ChainPowers<const BYTES: usize> {
    r: Multiplier,
    /// To the power of half the blocks of a chunk.
    join: Element,
}

impl<const BYTES: usize> Chains<'_, BYTES> {
    const HALF_BLOCKS: usize = BYTES / MAC_BYTES / 2;
    const STEPS: usize = Self::HALF_BLOCKS / BLOCKS_A_STEP;
}

impl<const BYTES: usize> Powers for ChainPowers<BYTES> {
    type Run<'a> = Chains<'a, BYTES>;

    fn new(r: &Multiplier) -> Self {
        Self {
            r: *r,
            join: Element::power(r, (BYTES / MAC_BYTES / 2) as u64),
        }
    }
    #[inline(always)]
    unsafe fn begin(&self, value: Element) -> Chains<'_, BYTES> {
        Chains {
            first: value,
            second: Element::ZERO,
            powers: self,
            from: ptr::null(),
            missing: 0,
        }
    }
}

// SAFETY: there are no instructions beyond the target's; the caller vouches for the chunk.
impl<const BYTES: usize> Run for Chains<'_, BYTES> {
    #[inline(always)]
    unsafe fn chunk(&mut self, from: *const u8) {
        self.from = from.cast();
    }
    #[inline(always)]
    unsafe fn first_chunk(&mut self, from: *const u8) {
        self.from = from.wrapping_sub(BLOCK_BYTES).cast();
        self.missing = BLOCK_BYTES / MAC_BYTES;
    }
    #[inline(always)]
    unsafe fn end_of_chunk(&mut self) {
        self.first = self.first.times(self.powers.join).plus(self.second);
        self.second = Element::ZERO;
        self.missing = 0;
    }
    #[inline(always)]
    unsafe fn end(self, r: &Multiplier, rest: &[u8]) -> Element {
        self.first.absorb_padded(r, rest)
    }
}

impl<const BYTES: usize> Beside for Chains<'_, BYTES> {
    #[inline(always)]
    unsafe fn step(&mut self, at: usize) {
        if at >= Self::STEPS {
            return;
        }
        for i in at * BLOCKS_A_STEP..(at + 1) * BLOCKS_A_STEP {
            // SAFETY: `i` is less than half the blocks of a chunk, and block `i` is there.
            unsafe {
                if i >= self.missing {
                    let first = self.from.wrapping_add(i);
                    self.first = self.first.step(&self.powers.r, &*first);
                }
                let second = self.from.wrapping_add(i + Self::HALF_BLOCKS);
                self.second = self.second.step(&self.powers.r, &*second);
            }
        }
    }
}

/// A chain beside the rounds takes so many blocks in a double round.
const BLOCKS_A_STEP: usize = 2;
