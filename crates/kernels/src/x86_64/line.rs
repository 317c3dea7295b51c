//! Lines of digits: the operands of multiplication in lanes.

use core::sync::atomic::{Ordering, compiler_fence};

/// One digit of each of eight numbers, which lie side by side. A digit is the low 52 bits; what is
/// above them means nothing.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub struct Line(pub(crate) [u64; 8]);

impl Line {
    /// Eight digits of zero: what a workspace is made of.
    pub const ZERO: Self = Self([0; 8]);
}

/// Makes every line zero.
pub(crate) fn wipe_lines(lines: &mut [Line]) {
    lines.fill(Line::ZERO);
    // The zeros are never read: the compiler must not know.
    core::hint::black_box(lines.as_mut_ptr());
    compiler_fence(Ordering::SeqCst);
}

/// Bits of an index: each multiplication is for as many of an exponent. Five make no difference that can
/// be measured up to 2048 bits (2 % beyond), and tables of twice the size.
pub(crate) const WINDOW: usize = 4;

/// What entries are compared with the lanes' indices by.
pub(super) static NUMBERS: [u64; 1 << WINDOW] = {
    let mut numbers = [0; 1 << WINDOW];
    let mut i = 0;
    while i < numbers.len() {
        numbers[i] = i as u64;
        i += 1;
    }
    numbers
};

/// Digits of a block: kernels take so many at a time.
pub(crate) const BLOCK: usize = 5;
