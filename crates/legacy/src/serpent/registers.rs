//! What Serpent needs of a register.

/// A register of words of 32 bits.
///
/// # Safety
/// Every method needs the instructions of its implementor. Pointers need not be aligned.
pub(super) trait Words: Copy {
    /// Words, and so blocks.
    const LANES: usize;

    unsafe fn broadcast(word: u32) -> Self;
    unsafe fn load(from: *const u8) -> Self;
    unsafe fn store(self, to: *mut u8);
    unsafe fn and(self, other: Self) -> Self;
    unsafe fn or(self, other: Self) -> Self;
    unsafe fn xor(self, other: Self) -> Self;
    /// `self` and not `other`.
    unsafe fn and_not(self, other: Self) -> Self;
    unsafe fn not(self) -> Self;
    unsafe fn shift_left<const N: i32, const REST: i32>(self) -> Self;
    /// `REST` is 32 less `N`.
    unsafe fn rotate_left<const N: i32, const REST: i32>(self) -> Self;
    /// XOR of three.
    unsafe fn xor3(self, second: Self, third: Self) -> Self;
    /// S-box `BOX`.
    unsafe fn substitute<const BOX: usize>(words: [Self; 4]) -> [Self; 4];
    /// From word i of all blocks in register i to blocks: in each part of 128 bits, row i becomes
    /// column i.
    unsafe fn transpose(words: [Self; 4]) -> [Self; 4];
}

/// `substitute` by the circuits of that module.
macro_rules! substitute_words {
    ($circuits:ident) => {
        #[inline(always)]
        unsafe fn substitute<const BOX: usize>(words: [Self; 4]) -> [Self; 4] {
            // SAFETY: as the trait demands.
            unsafe {
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
        }
    };
}
pub(super) use substitute_words;

#[cfg(target_arch = "x86_64")]
/// Bits that are looked up by three.
///
/// # Safety
/// The methods need the instructions of their implementor.
pub(super) trait Ternary: Copy {
    /// Bit 4 a + 2 b + c of `TABLE`, for every bit of the registers.
    unsafe fn look_up<const TABLE: i32>(a: Self, b: Self, c: Self) -> Self;
}
