//! The common parts of all ways to compute keystream: its start, registers, and the work interleaved with it.

use inout::InOutBuf;

use crate::wipe::Secret;

/// Bytes in a ChaCha20 block.
pub(crate) const BLOCK_BYTES: usize = 64;

/// The start of a keystream.
#[derive(Clone, Copy)]
pub(crate) struct Start<'a> {
    pub(super) key: &'a [u32; 8],
    pub(super) row: u128,
}

impl<'a> Start<'a> {
    #[inline(always)]
    pub(crate) fn new(key: &'a [u32; 8], counter: u32, nonce: [u32; 3]) -> Self {
        let [n0, n1, n2] = nonce.map(u128::from);
        let row = u128::from(counter) | n0 << 32 | n1 << 64 | n2 << 96;
        Self { key, row }
    }

    /// Creates a start from the results of [`parts`](Self::parts).
    #[inline(always)]
    pub(crate) fn from_parts(key: &'a [u32; 8], row: u128) -> Self {
        Self { key, row }
    }

    /// Returns the key, and the last row of the state: the counter in the low word, the nonce above it. A kernel takes these
    /// in registers. From memory it would load a row that was stored word by word, which waits until all preceding
    /// instructions are done.
    #[inline(always)]
    pub(crate) fn parts(self) -> (&'a [u32; 8], u128) {
        (self.key, self.row)
    }

    /// Returns the start `blocks` later. The counter wraps at 2^32 and does not change the nonce.
    #[inline(always)]
    #[must_use]
    pub(crate) fn later(self, blocks: u32) -> Self {
        let counter = (self.row as u32).wrapping_add(blocks);
        let row = self.row & !u128::from(u32::MAX) | u128::from(counter);
        Self { row, ..self }
    }
}

/// A register of 32-bit words.
///
/// A value proves that the CPU has the instructions of its type: only unsafe methods create one from anything else.
pub(crate) trait Register: Copy {
    fn add(self, other: Self) -> Self;
    fn xor(self, other: Self) -> Self;
    fn rotate_left<const BITS: u32>(self) -> Self;
}

/// The data to encrypt or decrypt.
#[derive(Clone, Copy)]
pub(crate) struct Data {
    pub(crate) from: *const u8,
    pub(crate) to: *mut u8,
    pub(crate) bytes: usize,
}

impl From<InOutBuf<'_, '_, u8>> for Data {
    fn from(data: InOutBuf<'_, '_, u8>) -> Self {
        let bytes = data.len();
        let (from, to) = data.into_raw();
        Self { from, to, bytes }
    }
}

impl Data {
    /// Returns the data without the first `bytes`.
    ///
    /// # Safety
    /// The data has at least `bytes` bytes.
    #[inline(always)]
    pub(crate) unsafe fn behind(self, bytes: usize) -> Self {
        // SAFETY: `bytes` are part of the data that both pointers lead to.
        unsafe {
            Self {
                from: self.from.add(bytes),
                to: self.to.add(bytes),
                bytes: self.bytes - bytes,
            }
        }
    }
}

/// The direction of a message. The MAC covers the ciphertext: the output of sealing and the input of opening.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Seal,
    Open,
}

impl Direction {
    pub(crate) const fn opening(is: bool) -> Self {
        if is { Self::Open } else { Self::Seal }
    }
}

/// Room for block 0 and the keystream of the longest chunk.
pub(crate) type Keystream = Secret<{ 17 * BLOCK_BYTES }>;

/// The work that is interleaved with the rounds. It is a trait, as a closure that is not inlined has neither its caller's
/// instructions nor its registers, and takes three times as long.
pub(crate) trait Beside {
    const IS_NOTHING: bool = false;
    /// Whether the steps before [`UNLIKE_FROM`] are all alike, and the others are not.
    const IN_TWO_PHASES: bool = false;

    /// # Safety
    /// The preconditions of the implementor; `double_round` is below [`DOUBLE_ROUNDS`].
    unsafe fn step(&mut self, double_round: usize);
    /// Called half a double round later.
    ///
    /// # Safety
    /// The same as for [`step`](Self::step).
    #[inline(always)]
    unsafe fn second_step(&mut self, _double_round: usize) {}
}

pub(crate) struct Nothing;

impl Beside for Nothing {
    const IS_NOTHING: bool = true;

    #[inline(always)]
    unsafe fn step(&mut self, _: usize) {}
}

pub(crate) const DOUBLE_ROUNDS: usize = 10;
pub(crate) const UNLIKE_FROM: usize = 5;
/// "expand 32-byte k"
pub(crate) const SIGMA: [u32; 4] = [0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574];
