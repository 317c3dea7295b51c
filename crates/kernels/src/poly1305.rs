//! Poly1305 (RFC 8439, section 2.5) on 64-bit limbs: plain Rust, constant-time.
//!
//! A vector unit that is busy with ChaCha20 leaves the integer units idle, so every backend interleaves this with it
//! ([`crate::stitched`]). The latency of a chain of Horner steps bounds it; two chains a fixed distance apart fill the
//! multiplier, and a product with a power of r joins them.

use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::contract::needs_instructions;

/// Bytes in a block.
pub(crate) const BLOCK_BYTES: usize = 16;

/// The one-time key. Wiped on drop.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub(crate) struct OneTimeKey {
    pub(crate) r: Multiplier,
    s: u128,
}

impl OneTimeKey {
    #[inline(always)]
    pub(crate) fn new(key: &[u8; 32]) -> Self {
        let (blocks, _) = key.as_chunks();
        let [r, s] = [blocks[0], blocks[1]].map(u128::from_le_bytes);
        Self::from_halves(r, s)
    }

    /// Clamps r (RFC 8439, section 2.5).
    #[inline(always)]
    pub(crate) fn from_halves(r: u128, s: u128) -> Self {
        let r = r & 0x0fff_fffc_0fff_fffc_0fff_fffc_0fff_ffff;
        let (r0, r1) = (r as u64, (r >> 64) as u64);
        Self {
            r: Multiplier {
                r0,
                r1,
                r1_by_5_4: r1 + (r1 >> 2),
            },
            s,
        }
    }

    /// Reads the key from block 0 of a keystream.
    ///
    /// # Panics
    /// If `block` has less than 32 bytes.
    #[inline(always)]
    pub(crate) fn from_block(block: &[u8]) -> Self {
        let (halves, _) = block.as_chunks();
        Self::new(&halves[0])
    }

    /// Creates a key of which only r is known.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(crate) fn of_r(r: &Multiplier) -> Self {
        Self { r: *r, s: 0 }
    }

    /// Returns the tag for the polynomial's value.
    #[inline(always)]
    pub(crate) fn tag(&self, value: Element) -> [u8; BLOCK_BYTES] {
        let [h0, h1, h2] = carry_once(value.0).0;
        // The value is now below 2^130 + 5, so it exceeds p at most once. Then, and only then, adding 5 reaches 2^130, and
        // the low 128 bits of the sum are those of h - p.
        let low = u128::from(h0) | u128::from(h1) << 64;
        let (reduced, carry) = low.overflowing_add(5);
        let is_above = 0u128.wrapping_sub(u128::from((h2 + carry as u64) >> 2));
        let low = (reduced & is_above) | (low & !is_above);
        low.wrapping_add(self.s).to_le_bytes()
    }
}

/// The ways to absorb blocks on their own, without ChaCha20's rounds.
pub(crate) trait Steps {
    needs_instructions! {
        /// Absorbs the blocks one after the other.
        fn chain(r: &Multiplier, value: Element, blocks: &[[u8; BLOCK_BYTES]]) -> Element;
    }
    /// Absorbs two halves, each in its own chain; `join` is r to the power of the blocks of one, an even number.
    ///
    /// # Safety
    /// The CPU has the instructions of the implementing type; the number of `blocks` is a positive multiple of four.
    unsafe fn halves(
        r: &Multiplier,
        join: Element,
        value: Element,
        blocks: &[[u8; BLOCK_BYTES]],
    ) -> Element;
}

/// Steps in plain Rust.
pub(crate) enum Plain {}

impl Steps for Plain {
    #[inline(always)]
    unsafe fn chain(r: &Multiplier, value: Element, blocks: &[[u8; BLOCK_BYTES]]) -> Element {
        blocks
            .iter()
            .fold(value, |value, block| value.step(r, block))
    }

    #[inline(always)]
    unsafe fn halves(
        r: &Multiplier,
        join: Element,
        value: Element,
        blocks: &[[u8; BLOCK_BYTES]],
    ) -> Element {
        let (mut one, mut other) = (value, Element::ZERO);
        let (first, second) = blocks.split_at(blocks.len() / 2);
        for (first, second) in first.iter().zip(second) {
            one = one.step(r, first);
            other = other.step(r, second);
        }
        one.times(join).plus(other)
    }
}

/// The clamped r. The low two bits of `r1` are clear, so 5 / 4 of it is an integer, the factor for products above 2^130.
#[derive(Clone, Copy, Zeroize)]
pub(crate) struct Multiplier {
    r0: u64,
    r1: u64,
    r1_by_5_4: u64,
}

/// An integer modulo p = 2^130 - 5, little-endian limbs; below 2^131, not always below p.
#[derive(Clone, Copy, Default, Zeroize)]
pub(crate) struct Element([u64; 3]);

impl Multiplier {
    #[cfg(target_arch = "x86_64")]
    pub(crate) const ZERO: Self = Self {
        r0: 0,
        r1: 0,
        r1_by_5_4: 0,
    };

    /// Returns r0, r1, and r1 times 5 / 4.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn words(&self) -> [u64; 3] {
        [self.r0, self.r1, self.r1_by_5_4]
    }
}

impl Element {
    pub(crate) const ZERO: Self = Self([0; 3]);
    pub(crate) const ONE: Self = Self([1, 0, 0]);

    /// Returns (self + block + 2^128) r.
    #[inline(always)]
    pub(crate) fn step(self, r: &Multiplier, block: &[u8; BLOCK_BYTES]) -> Self {
        let [h0, h1, h2] = self.0;
        let block = u128::from_le_bytes(*block);
        let (h0, carry) = h0.overflowing_add(block as u64);
        let (h1, carry) = h1.carrying_add((block >> 64) as u64, carry);
        let h2 = h2 + 1 + carry as u64;
        // Nothing overflows: r0, r1 < 2^60 and h2 < 16.
        let wide = |a: u64, b: u64| u128::from(a) * u128::from(b);
        let d0 = wide(h0, r.r0) + wide(h1, r.r1_by_5_4);
        let d1 = wide(h0, r.r1) + wide(h1, r.r0) + u128::from(h2 * r.r1_by_5_4);
        let d1 = d1 + (d0 >> 64);
        let d2 = h2 * r.r0 + (d1 >> 64) as u64;
        carry_once([d0 as u64, d1 as u64, d2])
    }

    /// Absorbs `data`, with the last block padded with zeros (RFC 8439, section 2.8).
    #[inline(always)]
    pub(crate) fn absorb_padded(self, r: &Multiplier, data: &[u8]) -> Self {
        // SAFETY: `Plain` needs no instructions beyond the target's.
        unsafe { self.absorb_padded_by::<Plain>(r, data) }
    }

    /// Like [`absorb_padded`](Self::absorb_padded), by the steps of `S`.
    ///
    /// # Safety
    /// The CPU has the instructions of `S`.
    pub(crate) unsafe fn absorb_padded_by<S: Steps>(mut self, r: &Multiplier, data: &[u8]) -> Self {
        let (mut blocks, rest) = data.as_chunks();
        while blocks.len() >= TWO_CHAINS_BLOCKS_MIN {
            let half = (blocks.len() / 4 * 2).min(CHAIN_BLOCKS_MAX);
            let join = Self::power(r, half as u64);
            while blocks.len() >= 2 * half {
                let (halves, others) = blocks.split_at(2 * half);
                // SAFETY: the caller has the instructions of `S`; a half has an even number of blocks, at least 14.
                self = unsafe { S::halves(r, join, self, halves) };
                blocks = others;
            }
        }
        // SAFETY: the caller has the instructions of `S`, which is all that a chain of steps takes.
        unsafe {
            self = S::chain(r, self, blocks);
            if !rest.is_empty() {
                self = S::chain(r, self, &[padded(rest)]);
            }
        }
        self
    }

    /// Absorbs `data`, like [`absorb_padded`](Self::absorb_padded), and then `last`.
    ///
    /// # Safety
    /// The CPU has the instructions of `S`.
    #[inline(always)]
    pub(crate) unsafe fn absorb_all<S: Steps>(
        self,
        r: &Multiplier,
        data: &[u8],
        last: Option<&[u8; BLOCK_BYTES]>,
    ) -> Self {
        // SAFETY: the caller has the instructions of `S` for the data and for the block after it.
        unsafe {
            let value = self.absorb_padded_by::<S>(r, data);
            match last {
                Some(last) => S::chain(r, value, core::slice::from_ref(last)),
                None => value,
            }
        }
    }

    #[inline(always)]
    pub(crate) fn plus(self, other: Self) -> Self {
        let ([a0, a1, a2], [b0, b1, b2]) = (self.0, other.0);
        let (h0, carry) = a0.overflowing_add(b0);
        let (h1, carry) = a1.carrying_add(b1, carry);
        carry_once([h0, h1, a2 + b2 + carry as u64])
    }

    #[inline(always)]
    pub(crate) fn times(self, other: Self) -> Self {
        let ([a0, a1, a2], [b0, b1, b2]) = (self.0, other.0);
        let (p0, carry) = a0.carrying_mul(b0, 0);
        let (p1, carry) = a0.carrying_mul(b1, carry);
        let (p2, p3) = a0.carrying_mul(b2, carry);
        let (p1, carry) = a1.carrying_mul_add(b0, p1, 0);
        let (p2, carry) = a1.carrying_mul_add(b1, p2, carry);
        let (p3, p4) = a1.carrying_mul_add(b2, p3, carry);
        let (p2, carry) = a2.carrying_mul_add(b0, p2, 0);
        let (p3, carry) = a2.carrying_mul_add(b1, p3, carry);
        let p4 = a2 * b2 + p4 + carry;
        // 2^130 is congruent to 5: what is above it is added four times and once.
        let four = [p2 & !3, p3, p4];
        let one = [p2 >> 2 | p3 << 62, p3 >> 2 | p4 << 62, p4 >> 2];
        let add = |a: [u64; 3], b: [u64; 3]| {
            let (h0, carry) = a[0].overflowing_add(b[0]);
            let (h1, carry) = a[1].carrying_add(b[1], carry);
            [h0, h1, a[2] + b[2] + carry as u64]
        };
        carry_once(add(add([p0, p1, p2 & 3], four), one))
    }

    /// Returns the limbs, for another implementation.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn limbs(self) -> [u64; 3] {
        self.0
    }

    /// Creates an element from the limbs of another implementation, below 2^131.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn from_limbs(limbs: [u64; 3]) -> Self {
        Self(limbs)
    }

    /// Reads an element that another implementation has written to memory limb by limb. It is read in the same way: on
    /// Intel's CPUs, a load that spans several stores waits until these have left the core.
    ///
    /// # Safety
    /// `from` points to three limbs, below 2^131.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(crate) unsafe fn read(from: *const [u64; 3]) -> Self {
        // SAFETY: the caller has three limbs at `from`.
        Self([0, 1, 2].map(|i| unsafe { from.cast::<u64>().add(i).read_volatile() }))
    }

    /// Returns limbs of 44 bits, the top one slightly shorter.
    pub(crate) fn to_limbs_44(self) -> [u64; 3] {
        const MASK: u64 = (1 << 44) - 1;
        let [h0, h1, h2] = self.0;
        [h0 & MASK, (h0 >> 44 | h1 << 20) & MASK, h1 >> 24 | h2 << 40]
    }

    /// Creates an element from limbs of 44 bits, each of which may have up to 60.
    pub(crate) fn from_limbs_44([a, b, c]: [u64; 3]) -> Self {
        let (a, b, c) = (u128::from(a), u128::from(b), u128::from(c));
        let low = a + (b << 44);
        let (low, carry) = low.overflowing_add(c << 88);
        let top = (c >> 40) as u64 + carry as u64;
        carry_once([low as u64, (low >> 64) as u64, top])
    }

    /// Returns limbs of 26 bits, the top one slightly longer.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(crate) fn to_limbs_26(self) -> [u64; 5] {
        const MASK: u64 = (1 << 26) - 1;
        let [h0, h1, h2] = self.0;
        [
            h0 & MASK,
            h0 >> 26 & MASK,
            (h0 >> 52 | h1 << 12) & MASK,
            h1 >> 14 & MASK,
            h1 >> 40 | h2 << 24,
        ]
    }

    /// Creates an element from limbs of 26 bits, each of which may have up to 32.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(crate) fn from_limbs_26([a, b, c, d, e]: [u64; 5]) -> Self {
        let low = u128::from(a) + (u128::from(b) << 26) + (u128::from(c) << 52);
        let low = low + (u128::from(d) << 78);
        let (low, carry) = low.overflowing_add(u128::from(e) << 104);
        let top = (e >> 24) + carry as u64;
        carry_once([low as u64, (low >> 64) as u64, top])
    }

    #[inline(always)]
    pub(crate) fn of(r: &Multiplier) -> Self {
        Self([r.r0, r.r1, 0])
    }

    /// Returns r to the power of `exponent`, which is public.
    pub(crate) fn power(r: &Multiplier, exponent: u64) -> Self {
        let r = Self::of(r);
        let Some(top) = exponent.checked_ilog2() else {
            return Self::ONE;
        };
        let mut power = r;
        for bit in (0..top).rev() {
            power = power.times(power);
            if exponent >> bit & 1 == 1 {
                power = power.times(r);
            }
        }
        power
    }
}

/// Pads a block of 1 to 15 bytes with zeros. Two reads that may overlap and no call: a message has two of these.
#[inline(always)]
fn padded(data: &[u8]) -> [u8; BLOCK_BYTES] {
    let bits_before = |bytes: usize| 8 * (data.len() - bytes);
    let block = if let (Some(first), Some(last)) = (data.first_chunk(), data.last_chunk()) {
        let last = u128::from(u64::from_le_bytes(*last));
        u128::from(u64::from_le_bytes(*first)) | last << bits_before(8)
    } else if let (Some(first), Some(last)) = (data.first_chunk(), data.last_chunk()) {
        let last = u128::from(u32::from_le_bytes(*last));
        u128::from(u32::from_le_bytes(*first)) | last << bits_before(4)
    } else {
        let middle = data.len() / 2;
        u128::from(data[0])
            | u128::from(data[middle]) << (8 * middle)
            | u128::from(data[data.len() - 1]) << bits_before(1)
    };
    block.to_le_bytes()
}

/// Reduces the bits above 2^130, each of which counts five times. The result is below 2^130 + 5 · (h2 >> 2).
#[inline(always)]
fn carry_once([h0, h1, h2]: [u64; 3]) -> Element {
    let above = (h2 >> 2) + (h2 & !3);
    let (h0, carry) = h0.overflowing_add(above);
    let (h1, carry) = h1.carrying_add(0, carry);
    Element([h0, h1, (h2 & 3) + carry as u64])
}

/// The fewest blocks for two chains: with fewer, the power of r that joins them costs more than they save.
const TWO_CHAINS_BLOCKS_MIN: usize = 28;
const CHAIN_BLOCKS_MAX: usize = 64;
