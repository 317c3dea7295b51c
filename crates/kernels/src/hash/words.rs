//! The register operations that hash functions need; each word of a register belongs to another message.

use crate::contract::needs_instructions;

/// A word of a hash function, and its register type.
pub trait Word: Copy + Default + 'static {
    /// The register that holds this word of a single message.
    type One: Words<Word = Self>;
}

/// A word of each of `LANES` messages.
///
/// A value proves that the CPU has the instructions of its type: only unsafe methods create one from anything else.
pub trait Words: Copy {
    /// Messages in a register.
    const LANES: usize;
    /// A word of one message.
    type Word: Word;

    needs_instructions! {
        /// Returns a register with the same word for all messages.
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
    /// Reads the 16 words of a block of each message, `at` bytes after its pointer.
    ///
    /// # Safety
    /// The CPU has the instructions of this type; `from` has `LANES` pointers, each valid for reads of a block `at` bytes
    /// after it, aligned or not.
    unsafe fn block<const BIG_ENDIAN: bool>(from: *const *const u8, at: usize) -> [Self; 16];
    /// Returns the sums modulo two to the power of a word's bits.
    fn plus(self, other: Self) -> Self;
    /// Returns the XOR of both.
    fn xor(self, other: Self) -> Self;
    /// Rotates each word to the left; `BACK` is the bits of a word minus `N`.
    fn rotate_left<const N: i32, const BACK: i32>(self) -> Self;
    /// Shifts each word to the right, and shifts in zeros.
    fn shift_right<const N: u32>(self) -> Self;
    /// Returns the bits of `y` where those of `self` are set, and of `z` elsewhere.
    fn choose(self, y: Self, z: Self) -> Self;
    /// Returns the bits that are set in at least two of the three.
    fn majority(self, y: Self, z: Self) -> Self;
    /// Returns the XOR of the three.
    fn parity(self, y: Self, z: Self) -> Self;
    /// Returns `y ^ (x | !z)`, where `self` is `x` (RFC 1321, section 3.4).
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
