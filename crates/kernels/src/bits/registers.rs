//! The register operations that the algorithms of this folder need.

use crate::contract::needs_instructions;

/// A register of `LANES` 64-bit words; each bit belongs to another block.
///
/// A value proves that the CPU has the instructions of its type: only unsafe methods create one from anything else.
pub(crate) trait Plane: Copy {
    const LANES: usize;
    /// A mask that is XORed with a plane: all ones or all zeros.
    type Mask: Copy;

    needs_instructions! {
        fn broadcast(word: u64) -> Self;
        /// Returns ones in the lanes whose number has bit `bit`, and zeros in the others.
        fn lanes_with(bit: usize) -> Self;
        fn mask(word: u64) -> Self::Mask;
    }
    /// Reads a register.
    ///
    /// # Safety
    /// The CPU has the instructions of this type; `from` is valid for reads of `8 * LANES` bytes, aligned or not.
    unsafe fn load(from: *const u8) -> Self;
    /// Writes a register.
    ///
    /// # Safety
    /// `to` is valid for writes of `8 * LANES` bytes, aligned or not.
    unsafe fn store(self, to: *mut u8);
    /// Returns `word` in every lane, like [`broadcast`](Self::broadcast); `self` proves that the CPU can.
    fn filled_with(self, word: u64) -> Self;
    fn xor_mask(self, mask: &Self::Mask) -> Self;
    fn and(self, other: Self) -> Self;
    fn or(self, other: Self) -> Self;
    fn xor(self, other: Self) -> Self;
    /// Returns `self` AND NOT `other`.
    fn and_not(self, other: Self) -> Self;
    fn not(self) -> Self;
    fn shift_left<const N: u32>(self) -> Self;
    fn shift_right<const N: u32>(self) -> Self;
    /// Applies S-box `BOX` + 1.
    fn substitute<const BOX: usize>(input: [Self; 6]) -> [Self; 4];
}

/// Implements `substitute` by the circuits of a module.
macro_rules! substitute {
    ($circuits:ident) => {
        #[inline(always)]
        fn substitute<const BOX: usize>(input: [Self; 6]) -> [Self; 4] {
            match BOX {
                0 => $circuits::s1(input),
                1 => $circuits::s2(input),
                2 => $circuits::s3(input),
                3 => $circuits::s4(input),
                4 => $circuits::s5(input),
                5 => $circuits::s6(input),
                6 => $circuits::s7(input),
                _ => $circuits::s8(input),
            }
        }
    };
}
pub(crate) use substitute;
