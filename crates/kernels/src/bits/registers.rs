//! What the algorithms of this folder need of a register.

use crate::contract::needs_instructions;

/// A register as `LANES` words of 64 bits; a bit of it belongs to a block.
///
/// A value proves that the CPU has the instructions of its type: only unsafe methods make one out of anything else.
pub(crate) trait Plane: Copy {
    const LANES: usize;
    /// What is XORed with a plane: all ones or all zeros.
    type Mask: Copy;

    needs_instructions! {
        fn broadcast(word: u64) -> Self;
        /// All ones in the lanes whose number has bit `bit`.
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
    /// `word` in every lane, as [`broadcast`](Self::broadcast); the register says that this can be done.
    fn filled_with(self, word: u64) -> Self;
    fn xor_mask(self, mask: &Self::Mask) -> Self;
    fn and(self, other: Self) -> Self;
    fn or(self, other: Self) -> Self;
    fn xor(self, other: Self) -> Self;
    /// `self` and not `other`.
    fn and_not(self, other: Self) -> Self;
    fn not(self) -> Self;
    fn shift_left<const N: u32>(self) -> Self;
    fn shift_right<const N: u32>(self) -> Self;
    /// S-box `BOX` + 1.
    fn substitute<const BOX: usize>(input: [Self; 6]) -> [Self; 4];
}

/// `substitute` by the circuits of that module.
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

/// Bits that are looked up by three. A value proves that the CPU has the instructions, as one of [`Plane`] does.
pub(crate) trait Ternary: Copy {
    /// Bit 4 a + 2 b + c of `TABLE`, for every bit of the registers.
    fn look_up<const TABLE: i32>(a: Self, b: Self, c: Self) -> Self;
}
