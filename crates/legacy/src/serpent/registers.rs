//! The register operations that Serpent needs.

use oarlock_kernels::needs_instructions;

/// A register of 32-bit words.
///
/// A value proves that the CPU has the instructions of its type: only unsafe methods create one from anything else.
pub(super) trait Words: Copy {
    /// Words of a register, each of a different block.
    const LANES: usize;

    needs_instructions! {
        fn broadcast(word: u32) -> Self;
    }
    /// Reads a register.
    ///
    /// # Safety
    /// The CPU has the instructions of this type; `from` is valid for reads of `4 * LANES` bytes, aligned or not.
    unsafe fn load(from: *const u8) -> Self;
    /// Writes a register.
    ///
    /// # Safety
    /// `to` is valid for writes of `4 * LANES` bytes, aligned or not.
    unsafe fn store(self, to: *mut u8);
    /// Returns `word` in every lane, like [`broadcast`](Self::broadcast); `self` proves that the CPU can.
    fn filled_with(self, word: u32) -> Self;
    fn and(self, other: Self) -> Self;
    fn or(self, other: Self) -> Self;
    fn xor(self, other: Self) -> Self;
    /// Returns `self` AND NOT `other`.
    fn and_not(self, other: Self) -> Self;
    fn not(self) -> Self;
    fn shift_left<const N: i32, const REST: i32>(self) -> Self;
    /// Rotates each word; `REST` is 32 - `N`.
    fn rotate_left<const N: i32, const REST: i32>(self) -> Self;
    /// Returns the XOR of three registers.
    fn xor3(self, second: Self, third: Self) -> Self;
    /// Applies S-box `BOX`.
    fn substitute<const BOX: usize>(words: [Self; 4]) -> [Self; 4];
    /// Converts word i of all blocks in register i to blocks: in each part of 128 bits, row i becomes column i.
    fn transpose(words: [Self; 4]) -> [Self; 4];
}

/// Implements `substitute` by the circuits of a module.
macro_rules! substitute_words {
    ($circuits:ident) => {
        #[inline(always)]
        fn substitute<const BOX: usize>(words: [Self; 4]) -> [Self; 4] {
            match BOX {
                0 => $circuits::s0(words),
                1 => $circuits::s1(words),
                2 => $circuits::s2(words),
                3 => $circuits::s3(words),
                4 => $circuits::s4(words),
                5 => $circuits::s5(words),
                6 => $circuits::s6(words),
                _ => $circuits::s7(words),
            }
        }
    };
}
pub(super) use substitute_words;
