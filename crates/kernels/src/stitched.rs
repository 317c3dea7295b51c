//! ChaCha20 (RFC 8439, section 2.4) with Poly1305 beside it, written once over [`Words`].
//!
//! Register i of 16 holds word i of as many blocks as it has lanes, so that a quarter round needs
//! no shuffle; the blocks are put together at the end. ChaCha20 fills the vector units and takes a
//! third to half of what a core can issue; Poly1305 runs on the integer units in what is left.
//!
//! ```text
//! seal    rounds of chunk k, beside them the MAC of chunk k - 1 of the output;  XOR chunk k
//! open    rounds of chunk k, beside them the MAC of chunk k of the input;       XOR chunk k
//! ```
//!
//! One chain of Poly1305 would be slower than the rounds beside it. So each half of a chunk has one:
//! the second begins at zero, and the first is multiplied by a power of r to join it.

use core::ptr;

use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::poly1305::{BLOCK_BYTES as MAC_BYTES, Element, Multiplier};
use crate::wipe::Secret;

/// Bytes in a ChaCha20 block.
pub(crate) const BLOCK_BYTES: usize = 64;

/// A register of 32-bit words, one of each of `BLOCKS` blocks.
///
/// # Safety
/// Every method needs the instructions of its implementor. Pointers need not be aligned.
pub(crate) trait Words: Copy {
    const BLOCKS: usize;
    const BYTES: usize = Self::BLOCKS * BLOCK_BYTES;
    /// What does the rest of a run in less time, where there is such a thing.
    type Short: Words;
    /// What does Poly1305 beside the rounds.
    type Powers: Powers;

    unsafe fn splat(word: u32) -> Self;
    /// `first`, `first + 1`, ... modulo 2^32.
    unsafe fn counters(first: u32) -> Self;
    unsafe fn add(self, other: Self) -> Self;
    unsafe fn xor(self, other: Self) -> Self;
    unsafe fn rotate_left<const BITS: u32>(self) -> Self;
    /// XORs the blocks, put together out of their 16 words, onto `BYTES` bytes of `from`, and writes
    /// the result to `to`.
    unsafe fn xor_blocks(words: [Self; 16], from: *const u8, to: *mut u8);
}

/// Where a keystream begins. The block counter wraps at 2^32 and leaves the nonce as it is.
#[derive(Clone, Copy)]
pub(crate) struct Start<'a> {
    pub(crate) key: &'a [u32; 8],
    pub(crate) counter: u32,
    pub(crate) nonce: [u32; 3],
}

/// What to authenticate: the ciphertext, which is the output of sealing and the input of opening.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Seal,
    Open,
}

/// XORs keystream from `start` on onto `bytes` of `from`, to `to`.
///
/// # Safety
/// The instructions of `V` are enabled in the caller; `bytes` are readable at `from` and writable
/// at `to`, the same place or one that does not overlap.
#[inline(always)]
pub(crate) unsafe fn crypt<V: Words>(
    mut start: Start<'_>,
    mut from: *const u8,
    mut to: *mut u8,
    mut bytes: usize,
) {
    // SAFETY: as the caller vouches; `bytes` counts what is left at both pointers.
    unsafe {
        while bytes > V::Short::BYTES {
            let words = block_words::<V, _>(start, &mut Nothing);
            if bytes < V::BYTES {
                return xor_partial(words, from, to, bytes);
            }
            V::xor_blocks(words, from, to);
            (from, to, bytes) = (from.add(V::BYTES), to.add(V::BYTES), bytes - V::BYTES);
            start.counter = start.counter.wrapping_add(V::BLOCKS as u32);
        }
        if bytes > 0 {
            let words = block_words::<V::Short, _>(start, &mut Nothing);
            if bytes < V::Short::BYTES {
                xor_partial(words, from, to, bytes);
            } else {
                V::Short::xor_blocks(words, from, to);
            }
        }
    }
}

/// As [`crypt`]; and returns `mac` with all whole MAC blocks of the ciphertext absorbed.
///
/// # Safety
/// As [`crypt`].
#[inline(always)]
pub(crate) unsafe fn crypt_and_mac<V: Words>(
    direction: Direction,
    mut start: Start<'_>,
    r: &Multiplier,
    mut mac: Element,
    mut from: *const u8,
    mut to: *mut u8,
    mut bytes: usize,
) -> Element {
    // SAFETY: as the caller vouches; `bytes` counts what is left at both pointers. Behind the first
    // chunk, the one before `to` has been written.
    unsafe {
        if bytes >= 2 * V::BYTES {
            let powers = V::Powers::new(r);
            let mut running = powers.begin(mac);
            if direction == Direction::Seal {
                let words = block_words::<V, _>(start, &mut Nothing);
                V::xor_blocks(words, from, to);
                (from, to, bytes) = (from.add(V::BYTES), to.add(V::BYTES), bytes - V::BYTES);
                start.counter = start.counter.wrapping_add(V::BLOCKS as u32);
            }
            while bytes >= V::BYTES {
                running.chunk(match direction {
                    Direction::Seal => to.cast_const().sub(V::BYTES),
                    Direction::Open => from,
                });
                let words = block_words::<V, _>(start, &mut running);
                running.end_of_chunk();
                V::xor_blocks(words, from, to);
                (from, to, bytes) = (from.add(V::BYTES), to.add(V::BYTES), bytes - V::BYTES);
                start.counter = start.counter.wrapping_add(V::BLOCKS as u32);
            }
            if direction == Direction::Seal {
                running.chunk(to.cast_const().sub(V::BYTES));
                for at in 0..DOUBLE_ROUNDS {
                    running.step(at);
                }
                running.end_of_chunk();
            }
            mac = running.end();
        }
        let whole = bytes - bytes % MAC_BYTES;
        if direction == Direction::Open {
            mac = mac.absorb_padded(r, core::slice::from_raw_parts(from, whole));
        }
        crypt::<V>(start, from, to, bytes);
        if direction == Direction::Seal {
            mac = mac.absorb_padded(r, core::slice::from_raw_parts(to, whole));
        }
        mac
    }
}

/// What is done beside the rounds. A trait, not a closure: one that is not inlined, and so neither
/// has the instructions of its caller nor its registers, takes three times as long.
pub(crate) trait Beside {
    const IS_NOTHING: bool = false;

    /// # Safety
    /// As the implementor says.
    unsafe fn step(&mut self, double_round: usize);
}

struct Nothing;

impl Beside for Nothing {
    const IS_NOTHING: bool = true;

    #[inline(always)]
    unsafe fn step(&mut self, _: usize) {}
}

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
}

/// Poly1305 of a run of chunks, each absorbed by ten calls of [`Beside::step`].
///
/// # Safety
/// Every method, and `step`, needs the instructions of the registers it belongs to, and the chunk
/// last named to be readable.
pub(crate) trait Run: Beside {
    /// What is absorbed next.
    unsafe fn chunk(&mut self, from: *const u8);
    unsafe fn end_of_chunk(&mut self);
    unsafe fn end(self) -> Element;
}

/// Poly1305 on the integer units: the two chains of a chunk of `BYTES` bytes.
pub(crate) struct Chains<'a, const BYTES: usize> {
    first: Element,
    second: Element,
    powers: &'a ChainPowers<BYTES>,
    from: *const [u8; MAC_BYTES],
}

#[derive(Zeroize, ZeroizeOnDrop)]
pub(crate) struct ChainPowers<const BYTES: usize> {
    r: Multiplier,
    /// To the power of half the blocks of a chunk.
    join: Element,
}

/// Double rounds that have steps of chains beside them.
const STEPS: usize = 8;

impl<const BYTES: usize> Chains<'_, BYTES> {
    const HALF_BLOCKS: usize = BYTES / MAC_BYTES / 2;
    const BLOCKS_A_STEP: usize = Self::HALF_BLOCKS / STEPS;
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
    unsafe fn end_of_chunk(&mut self) {
        self.first = self.first.times(self.powers.join).plus(self.second);
        self.second = Element::ZERO;
    }
    #[inline(always)]
    unsafe fn end(self) -> Element {
        self.first
    }
}

impl<const BYTES: usize> Beside for Chains<'_, BYTES> {
    #[inline(always)]
    unsafe fn step(&mut self, at: usize) {
        if at >= STEPS {
            return;
        }
        for i in at * Self::BLOCKS_A_STEP..(at + 1) * Self::BLOCKS_A_STEP {
            // SAFETY: `i` is less than half the blocks of a chunk.
            unsafe {
                self.first = self.first.step(&self.powers.r, &*self.from.add(i));
                let second = self.from.add(i + Self::HALF_BLOCKS);
                self.second = self.second.step(&self.powers.r, &*second);
            }
        }
    }
}

/// The keystream of `V::BLOCKS` blocks. `beside` is called once in each of the ten double rounds.
///
/// # Safety
/// The instructions of `V` are enabled in the caller.
#[inline(always)]
unsafe fn block_words<V: Words, B: Beside>(start: Start<'_>, beside: &mut B) -> [V; 16] {
    // SAFETY: as the caller vouches.
    unsafe {
        let mut initial = [V::splat(0); 16];
        for (to, word) in initial.iter_mut().zip(SIGMA.iter().chain(start.key)) {
            *to = V::splat(*word);
        }
        initial[12] = V::counters(start.counter);
        for (to, word) in initial[13..].iter_mut().zip(start.nonce) {
            *to = V::splat(word);
        }
        let mut x = initial;
        macro_rules! double_rounds {
            ($($at:literal)+) => {
                $(
                    round(&mut x, 0);
                    beside.step($at);
                    round(&mut x, 1);
                )+
            };
        }
        if B::IS_NOTHING {
            for _ in 0..DOUBLE_ROUNDS {
                round(&mut x, 0);
                round(&mut x, 1);
            }
        } else {
            // Not a loop: what `step` does depends on where it is.
            double_rounds!(0 1 2 3 4 5 6 7 8 9);
        }
        for (word, initial) in x.iter_mut().zip(initial) {
            *word = word.add(initial);
        }
        x
    }
}

/// Four quarter rounds at once: columns with a `turn` of 0, diagonals with 1.
///
/// Two of them run one instruction behind the others. In step, four rotations would wait for the
/// two pipes that rotate while the others idle: on Zen 4 that takes 650 cycles for 1 KiB where
/// this takes 580 (and 480 would be the limit).
///
/// # Safety
/// The instructions of `V` are enabled in the caller.
#[inline(always)]
unsafe fn round<V: Words>(x: &mut [V; 16], turn: usize) {
    macro_rules! staggered {
        ($($at:literal)+) => {
            $(
                instruction::<V, $at>(x, turn, 0);
                instruction::<V, $at>(x, turn, 3);
                instruction::<V, { $at - 1 }>(x, turn, 1);
                instruction::<V, { $at - 1 }>(x, turn, 2);
            )+
        };
    }
    // SAFETY: as the caller vouches.
    unsafe {
        staggered!(0 1 2 3 4 5 6 7 8 9 10 11 12);
    }
}

/// Instruction `AT` of the twelve of quarter round `i`; none beside them.
///
/// # Safety
/// The instructions of `V` are enabled in the caller.
#[inline(always)]
unsafe fn instruction<V: Words, const AT: i32>(x: &mut [V; 16], turn: usize, i: usize) {
    let a = i;
    let b = 4 + (i + turn) % 4;
    let c = 8 + (i + 2 * turn) % 4;
    let d = 12 + (i + 3 * turn) % 4;
    // SAFETY: as the caller vouches.
    unsafe {
        match AT {
            0 | 6 => x[a] = x[a].add(x[b]),
            1 | 7 => x[d] = x[d].xor(x[a]),
            2 => x[d] = x[d].rotate_left::<16>(),
            3 | 9 => x[c] = x[c].add(x[d]),
            4 | 10 => x[b] = x[b].xor(x[c]),
            5 => x[b] = x[b].rotate_left::<12>(),
            8 => x[d] = x[d].rotate_left::<8>(),
            11 => x[b] = x[b].rotate_left::<7>(),
            _ => {}
        }
    }
}

/// The first `bytes`, less than `V::BYTES`, of the blocks. By way of memory, which is wiped.
///
/// # Safety
/// As [`crypt`].
#[inline(always)]
unsafe fn xor_partial<V: Words>(words: [V; 16], from: *const u8, to: *mut u8, bytes: usize) {
    let mut keystream = Secret::<BYTES_MAX>::zeros(V::BYTES);
    let keystream = keystream.bytes();
    // SAFETY: as the caller vouches; `bytes` is less than V::BYTES, which the keystream has.
    unsafe {
        V::xor_blocks(words, keystream.as_ptr(), keystream.as_mut_ptr());
        xor_bytes(&keystream[..bytes], from, to);
    }
}

/// XORs `keystream` onto as many bytes of `from`, to `to`.
///
/// # Safety
/// They are readable at `from` and writable at `to`, the same place or one that does not overlap.
#[inline(always)]
pub(crate) unsafe fn xor_bytes(keystream: &[u8], from: *const u8, to: *mut u8) {
    let (whole, rest) = keystream.as_chunks::<16>();
    let done = whole.as_flattened().len();
    // SAFETY: as the caller vouches; together the parts are as long as `keystream`.
    unsafe {
        for (i, keystream) in whole.iter().enumerate() {
            let data = from.add(16 * i).cast::<u128>().read_unaligned();
            let data = data ^ u128::from_ne_bytes(*keystream);
            to.add(16 * i).cast::<u128>().write_unaligned(data);
        }
        for (i, keystream) in rest.iter().enumerate() {
            *to.add(done + i) = *from.add(done + i) ^ keystream;
        }
    }
}

/// The most that a register holds words of.
const BYTES_MAX: usize = 16 * BLOCK_BYTES;
const DOUBLE_ROUNDS: usize = 10;
/// "expand 32-byte k"
const SIGMA: [u32; 4] = [0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574];
