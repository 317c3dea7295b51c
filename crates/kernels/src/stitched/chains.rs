//! Poly1305 (RFC 8439, section 2.5) interleaved with the rounds: its interface, and its implementation on the integer units.

use core::marker::PhantomData;
use core::ptr;

use zeroize::{Zeroize, ZeroizeOnDrop};

use super::state::{Beside, DOUBLE_ROUNDS, Data, Direction, Start};
use crate::poly1305::{BLOCK_BYTES as MAC_BYTES, Element, Multiplier, OneTimeKey, Steps};
use crate::portable::xor::xor_bytes;

/// A block of Poly1305.
pub(crate) type Block = [u8; MAC_BYTES];

/// The powers of r that Poly1305 needs when it is interleaved with the rounds.
pub(crate) trait Powers {
    type Run<'a>: Run
    where
        Self: 'a;
    /// The way to absorb data on its own, without rounds.
    type Steps: Steps;

    /// # Safety
    /// The same as for [`Run`].
    unsafe fn new(r: &Multiplier) -> Self;
    /// Begins a run after `value`.
    ///
    /// # Safety
    /// The same as for [`Run`].
    unsafe fn begin(&self, value: Element) -> Self::Run<'_>;
    /// Absorbs `data` on its own, without rounds, with the last block padded with zeros.
    ///
    /// # Safety
    /// The same as for [`Run`].
    #[inline(always)]
    unsafe fn absorb(r: &Multiplier, value: Element, data: &[u8]) -> Element {
        // SAFETY: the caller has the instructions of these powers, and so of `Self::Steps`.
        unsafe { value.absorb_padded_by::<Self::Steps>(r, data) }
    }
    /// Like [`absorb`](Self::absorb), with existing powers; absorbs `last` as well.
    ///
    /// # Safety
    /// The same as for [`Run`].
    #[inline(always)]
    unsafe fn absorb_more(
        &self,
        r: &Multiplier,
        value: Element,
        data: &[u8],
        last: Option<&Block>,
    ) -> Element {
        // SAFETY: the caller has the instructions of these powers, and so of `Self::Steps`.
        unsafe { value.absorb_all::<Self::Steps>(r, data, last) }
    }
    /// XORs `keystream` onto `data`; absorbs the ciphertext like [`absorb_more`](Self::absorb_more), without reading it a
    /// second time.
    ///
    /// # Safety
    /// The same as for [`Run`]; `data` has the length of `keystream`, and is readable and writable, in the same place or in
    /// two that do not overlap.
    unsafe fn xor_and_absorb(
        &self,
        direction: Direction,
        r: &Multiplier,
        value: Element,
        keystream: &[u8],
        data: Data,
        last: Option<&Block>,
    ) -> Element;
}

/// Computes powers during the rounds of a message's first blocks, after block 0 if r is not known.
pub(crate) trait Making {
    type Powers;
    /// The memory for powers while they are computed.
    type Room;
    /// Computes block 0, then powers.
    type Keyless<'a>: Beside;
    /// Computes only powers.
    type Keyed<'a>: Beside;

    /// The least data that is absorbed faster with powers.
    const BYTES_MIN: usize;

    fn room() -> Self::Room;
    /// Begins to compute block 0 at `start`, then powers.
    fn keyless<'a>(room: &'a mut Self::Room, start: Start<'_>, bytes: usize) -> Self::Keyless<'a>;
    fn keyed<'a>(room: &'a mut Self::Room, r: &Multiplier, bytes: usize) -> Self::Keyed<'a>;
    /// Returns the key, after all double rounds.
    fn one_time_key(beside: Self::Keyless<'_>) -> OneTimeKey;
    /// Returns the powers in the room, after all double rounds.
    ///
    /// # Safety
    /// The same as for [`Run`].
    unsafe fn powers(room: &Self::Room) -> Self::Powers;
}

/// Poly1305 of a run of chunks, each absorbed by ten calls of [`Beside::step`].
///
/// # Safety
/// Every unsafe method, and `step`, needs the instructions of its registers, and the last chunk passed must be readable.
pub(crate) trait Run: Beside {
    /// Sets the chunk to absorb next.
    fn chunk(&mut self, from: *const u8);
    /// Ends a chunk, after the ten calls.
    ///
    /// # Safety
    /// The same as for [`Run`].
    unsafe fn end_of_chunk(&mut self);
    /// Absorbs the chunk last passed, on its own.
    ///
    /// # Safety
    /// The same as for [`Run`].
    #[inline(always)]
    unsafe fn whole_chunk(&mut self) {
        // SAFETY: the caller has the instructions of this run, and the chunk, for its ten steps and their end.
        unsafe {
            for at in 0..DOUBLE_ROUNDS {
                self.step(at);
            }
            self.end_of_chunk();
        }
    }
    /// Absorbs `rest`, with the last block padded with zeros, and `last`.
    ///
    /// # Safety
    /// The CPU has the instructions of the registers that this belongs to.
    unsafe fn end(self, r: &Multiplier, rest: &[u8], last: Option<&Block>) -> Element;
}

/// Poly1305 on the integer units: the two chains of a chunk of `BYTES` bytes.
pub(crate) struct Chains<'a, const BYTES: usize, S> {
    first: Element,
    second: Element,
    powers: &'a ChainPowers<BYTES, S>,
    from: *const Block,
}

#[derive(Zeroize, ZeroizeOnDrop)]
pub(crate) struct ChainPowers<const BYTES: usize, S> {
    r: Multiplier,
    /// r to the power of half the blocks of a chunk.
    join: Element,
    /// r to the powers of 8 and 4, which join the rest after the chunks.
    shorter: [Element; 2],
    #[zeroize(skip)]
    steps: PhantomData<S>,
}

impl<const BYTES: usize, S> Chains<'_, BYTES, S> {
    const HALF_BLOCKS: usize = BYTES / MAC_BYTES / 2;
    const STEPS: usize = Self::HALF_BLOCKS / BLOCKS_A_STEP;

    /// Returns what another implementation needs in order to absorb: r, the power that joins two halves of a chunk, the
    /// address of the data to absorb next, and the value before it.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(crate) fn parts(&mut self) -> (&Multiplier, Element, *const u8, &mut Element) {
        let powers = self.powers;
        (&powers.r, powers.join, self.from.cast(), &mut self.first)
    }

    /// Returns the value with whole chunks absorbed.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(crate) fn value(self) -> Element {
        self.first
    }
}

impl<const BYTES: usize, S> ChainPowers<BYTES, S> {
    /// Returns r, and the power that joins the halves of 256 bytes, or of a chunk.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(crate) fn of_halves(&self, bytes: usize) -> (&Multiplier, Element) {
        let [eighth, _] = self.shorter;
        let join = if bytes == 256 { eighth } else { self.join };
        (&self.r, join)
    }
}

impl<const BYTES: usize, S: Steps> Powers for ChainPowers<BYTES, S> {
    type Run<'a>
        = Chains<'a, BYTES, S>
    where
        S: 'a;
    type Steps = S;

    unsafe fn new(r: &Multiplier) -> Self {
        const { assert!(matches!(BYTES / MAC_BYTES / 2, 8 | 16)) };
        let first = Element::of(r);
        let second = first.times(first);
        let fourth = second.times(second);
        let eighth = fourth.times(fourth);
        Self {
            r: *r,
            join: if BYTES / MAC_BYTES / 2 == 8 {
                eighth
            } else {
                eighth.times(eighth)
            },
            shorter: [eighth, fourth],
            steps: PhantomData,
        }
    }
    #[inline(always)]
    unsafe fn begin(&self, value: Element) -> Chains<'_, BYTES, S> {
        Chains {
            first: value,
            second: Element::ZERO,
            powers: self,
            from: ptr::null(),
        }
    }

    #[inline(always)]
    unsafe fn xor_and_absorb(
        &self,
        direction: Direction,
        r: &Multiplier,
        value: Element,
        keystream: &[u8],
        data: Data,
        last: Option<&Block>,
    ) -> Element {
        // SAFETY: the caller has the instructions of `S`, and `data` at both pointers, with the length of the keystream. It
        // is read before it is decrypted, or after it was encrypted.
        unsafe {
            if direction == Direction::Open {
                let ciphertext = core::slice::from_raw_parts(data.from, data.bytes);
                let value = value.absorb_all::<S>(r, ciphertext, last);
                xor_bytes(keystream, data.from, data.to);
                return value;
            }
            xor_bytes(keystream, data.from, data.to);
            let ciphertext = core::slice::from_raw_parts(data.to, data.bytes);
            value.absorb_all::<S>(r, ciphertext, last)
        }
    }
}

impl<const BYTES: usize, S: Steps> Run for Chains<'_, BYTES, S> {
    #[inline(always)]
    fn chunk(&mut self, from: *const u8) {
        self.from = from.cast();
    }
    #[inline(always)]
    unsafe fn end_of_chunk(&mut self) {
        self.first = self.first.times(self.powers.join).plus(self.second);
        self.second = Element::ZERO;
    }
    #[inline(always)]
    unsafe fn whole_chunk(&mut self) {
        let Self { powers, from, .. } = *self;
        // SAFETY: the caller has the instructions of `S`, and the chunk that `from` names: two halves, of 8 or 16 blocks.
        self.first = unsafe {
            let chunk = core::slice::from_raw_parts(from, 2 * Self::HALF_BLOCKS);
            S::halves(&powers.r, powers.join, self.first, chunk)
        };
    }
    #[inline(always)]
    unsafe fn end(self, r: &Multiplier, rest: &[u8], last: Option<&Block>) -> Element {
        let (mut value, mut rest) = (self.first, rest);
        for (power, blocks) in self.powers.shorter.into_iter().zip([8, 4]) {
            let half = blocks * MAC_BYTES;
            if rest.len() >= 2 * half {
                let (halves, left) = rest.split_at(2 * half);
                // SAFETY: the caller has the instructions of `S`; there are twice 8 blocks, or twice 4.
                value = unsafe { S::halves(r, power, value, halves.as_chunks().0) };
                rest = left;
            }
        }
        // SAFETY: the caller has the instructions of `S`.
        unsafe { value.absorb_all::<S>(r, rest, last) }
    }
}

impl<const BYTES: usize, S: Steps> Beside for Chains<'_, BYTES, S> {
    #[inline(always)]
    unsafe fn step(&mut self, at: usize) {
        if at >= Self::STEPS {
            return;
        }
        for i in at * BLOCKS_A_STEP..(at + 1) * BLOCKS_A_STEP {
            // SAFETY: `i` is less than half the blocks of a chunk, so block `i` of both halves exists.
            unsafe {
                let first = self.from.wrapping_add(i);
                self.first = self.first.step(&self.powers.r, &*first);
                let second = self.from.wrapping_add(i + Self::HALF_BLOCKS);
                self.second = self.second.step(&self.powers.r, &*second);
            }
        }
    }
}

/// The blocks that a chain absorbs during one double round.
const BLOCKS_A_STEP: usize = 2;
