//! What the hash functions ask of a register of words, each word of another message.

use crate::contract::needs_instructions;

/// A word of a hash function, and the registers that hold many.
pub trait Word: Copy + Default + 'static {
    /// The register that holds this word of one message alone.
    type One: Words<Word = Self>;
}

/// A word of each of `LANES` messages.
///
/// A value proves that the CPU has the instructions of its type: only unsafe methods make one out of anything else.
pub trait Words: Copy {
    /// Messages in a register.
    const LANES: usize;
    /// A word of one of them.
    type Word: Word;

    needs_instructions! {
        /// The same word for all.
        fn splat(word: Self::Word) -> Self;
    }
    /// Reads `LANES` words.
    ///
    /// # Safety
    /// The CPU has the instructions of this type; `from` is valid for reads of `LANES` words, aligned or not.
    unsafe fn load(from: *const Self::Word) -> Self;
    /// Writes `LANES` words.
    ///
    /// # Safety
    /// `to` is valid for writes of `LANES` words, aligned or not.
    unsafe fn store(self, to: *mut Self::Word);
    /// The 16 words of a block of each message, `at` bytes after its pointer.
    ///
    /// # Safety
    /// The CPU has the instructions of this type; `from` has `LANES` pointers, each valid for reads of a block `at` bytes
    /// after it, aligned or not.
    unsafe fn block<const BIG_ENDIAN: bool>(from: *const *const u8, at: usize) -> [Self; 16];
    /// The sums modulo two to the power of a word's bits.
    fn plus(self, other: Self) -> Self;
    /// Bits that are set in one of both.
    fn xor(self, other: Self) -> Self;
    /// `BACK` is the bits of a word less `N`.
    fn rotate_left<const N: i32, const BACK: i32>(self) -> Self;
    /// Zeros come in.
    fn shift_right<const N: u32>(self) -> Self;
    /// The bits of `y` where those of this are set, else those of `z`.
    fn choose(self, y: Self, z: Self) -> Self;
    /// Bits that are set in two of the three.
    fn majority(self, y: Self, z: Self) -> Self;
    /// Bits that are set in one of the three, or in all.
    fn parity(self, y: Self, z: Self) -> Self;
    /// `y ^ (x | !z)`, where this is `x` (RFC 1321, section 3.4).
    fn md5_i(self, y: Self, z: Self) -> Self;
}

macro_rules! one_message {
    ($($word:ident),+) => {$(
        impl Word for $word {
            type One = Self;
        }

        impl Words for $word {
            const LANES: usize = 1;
            type Word = Self;

            #[inline(always)]
            unsafe fn splat(word: Self) -> Self {
                word
            }
            #[inline(always)]
            unsafe fn load(from: *const Self) -> Self {
                // SAFETY: the caller has a word to read at `from`, aligned or not.
                unsafe { from.read_unaligned() }
            }
            #[inline(always)]
            unsafe fn store(self, to: *mut Self) {
                // SAFETY: the caller has room for a word at `to`, aligned or not.
                unsafe { to.write_unaligned(self) }
            }
            #[inline(always)]
            unsafe fn block<const BIG_ENDIAN: bool>(from: *const *const u8, at: usize) -> [Self; 16] {
                core::array::from_fn(|i| {
                    // SAFETY: the caller has a pointer at `from`, and 16 words to read `at` bytes after it.
                    let word = unsafe { (*from).add(at).cast::<Self>().add(i).read_unaligned() };
                    if BIG_ENDIAN { Self::from_be(word) } else { Self::from_le(word) }
                })
            }
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn xor(self, other: Self) -> Self {
                self ^ other
            }
            #[inline(always)]
            fn rotate_left<const N: i32, const BACK: i32>(self) -> Self {
                $word::rotate_left(self, N as u32)
            }
            #[inline(always)]
            fn shift_right<const N: u32>(self) -> Self {
                self >> N
            }
            #[inline(always)]
            fn choose(self, y: Self, z: Self) -> Self {
                z ^ (self & (y ^ z))
            }
            #[inline(always)]
            fn majority(self, y: Self, z: Self) -> Self {
                (self & y) | (z & (self | y))
            }
            #[inline(always)]
            fn parity(self, y: Self, z: Self) -> Self {
                self ^ y ^ z
            }
            #[inline(always)]
            fn md5_i(self, y: Self, z: Self) -> Self {
                y ^ (self | !z)
            }
        }
    )+};
}

one_message! { u32, u64 }
