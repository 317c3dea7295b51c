//! What every way to compute keystream shares: where it begins, registers, and the work interleaved with it.

use inout::InOutBuf;

use crate::wipe::Secret;

/// Bytes in a ChaCha20 block.
pub(crate) const BLOCK_BYTES: usize = 64;

/// Where a keystream begins.
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

    /// As [`parts`](Self::parts) gave it.
    #[inline(always)]
    pub(crate) fn from_parts(key: &'a [u32; 8], row: u128) -> Self {
        Self { key, row }
    }

    /// The key, and the last row of the state: the counter in the low word, above it the nonce. A
    /// kernel takes these in registers. Out of memory it would load at once what was stored word by
    /// word, which waits until all instructions before are done.
    #[inline(always)]
    pub(crate) fn parts(self) -> (&'a [u32; 8], u128) {
        (self.key, self.row)
    }

    /// `blocks` later. The counter wraps at 2^32 and leaves the nonce as it is.
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
/// A value proves that the CPU has the instructions of its type: only unsafe methods make one out of anything else.
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
    /// Without the first `bytes`.
    ///
    /// # Safety
    /// There are as many.
    #[inline(always)]
    pub(crate) unsafe fn behind(self, bytes: usize) -> Self {
        // SAFETY: `bytes` are part of the data, which both pointers lead to.
        unsafe {
            Self {
                from: self.from.add(bytes),
                to: self.to.add(bytes),
                bytes: self.bytes - bytes,
            }
        }
    }
}

/// What to authenticate: the ciphertext, which is the output of sealing and the input of opening.
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

/// The work that is interleaved with the rounds. A trait, not a closure: a closure that is not inlined, and so has
/// neither the instructions of its caller nor its registers, takes three times as long.
pub(crate) trait Beside {
    const IS_NOTHING: bool = false;
    /// Whether the steps before [`UNLIKE_FROM`] are all alike, and those from there on are not.
    const IN_TWO_PHASES: bool = false;

    /// # Safety
    /// As the implementor says; `double_round` is below [`DOUBLE_ROUNDS`].
    unsafe fn step(&mut self, double_round: usize);
    /// Called half a double round later.
    ///
    /// # Safety
    /// As [`step`](Self::step).
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
