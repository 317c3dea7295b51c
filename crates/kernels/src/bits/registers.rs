//! What the algorithms of this folder need of a register.

/// A register as `LANES` words of 64 bits; a bit of it belongs to a block.
///
/// # Safety
/// Every method needs the instructions of its implementor. Pointers need not be aligned.
pub(crate) trait Plane: Copy {
    const LANES: usize;
    /// What is XORed with a plane: all ones or all zeros.
    type Mask: Copy;

    unsafe fn broadcast(word: u64) -> Self;
    /// All ones in the lanes whose number has bit `bit`.
    unsafe fn lanes_with(bit: usize) -> Self;
    unsafe fn load(from: *const u8) -> Self;
    unsafe fn store(self, to: *mut u8);
    unsafe fn mask(word: u64) -> Self::Mask;
    unsafe fn xor_mask(self, mask: *const Self::Mask) -> Self;
    unsafe fn and(self, other: Self) -> Self;
    unsafe fn or(self, other: Self) -> Self;
    unsafe fn xor(self, other: Self) -> Self;
    /// `self` and not `other`.
    unsafe fn and_not(self, other: Self) -> Self;
    unsafe fn not(self) -> Self;
    unsafe fn shift_left<const N: u32>(self) -> Self;
    unsafe fn shift_right<const N: u32>(self) -> Self;
    /// S-box `BOX` + 1.
    unsafe fn substitute<const BOX: usize>(input: [Self; 6]) -> [Self; 4];
}

/// `substitute` by the circuits of that module.
macro_rules! substitute {
    ($circuits:ident) => {
        #[inline(always)]
        unsafe fn substitute<const BOX: usize>(input: [Self; 6]) -> [Self; 4] {
            // SAFETY: as the trait demands.
            unsafe {
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
        }
    };
}
pub(crate) use substitute;

/// Bits that are looked up by three.
///
/// # Safety
/// The methods need the instructions of their implementor.
pub(crate) trait Ternary: Copy {
    /// Bit 4 a + 2 b + c of `TABLE`, for every bit of the registers.
    unsafe fn look_up<const TABLE: i32>(a: Self, b: Self, c: Self) -> Self;
}
