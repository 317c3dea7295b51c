//! Lines of digits: the operands of multiplication in lanes.

use core::sync::atomic::{Ordering, compiler_fence};

/// One digit of each of eight numbers, side by side. A digit is the low 52 bits; the bits above them are meaningless.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub struct Line(pub(crate) [u64; 8]);

impl Line {
    /// Eight zero digits; workspaces are initialised with these.
    pub const ZERO: Self = Self([0; 8]);
}

/// Sets every line to zero.
pub(crate) fn wipe_lines(lines: &mut [Line]) {
    lines.fill(Line::ZERO);
    // The zeros are never read; hide that from the compiler.
    core::hint::black_box(lines.as_mut_ptr());
    compiler_fence(Ordering::SeqCst);
}

/// The number of bits in an index: each multiplication handles this many bits of an exponent. Five make no measurable
/// difference up to 2048 bits (2 % beyond), and double the tables.
pub(crate) const WINDOW: usize = 4;

/// The numbers that the lanes' indices are compared with to select entries.
pub(super) static NUMBERS: [u64; 1 << WINDOW] = {
    let mut numbers = [0; 1 << WINDOW];
    let mut i = 0;
    while i < numbers.len() {
        numbers[i] = i as u64;
        i += 1;
    }
    numbers
};

/// The number of digits in a block: kernels process this many at a time.
pub(crate) const BLOCK: usize = 5;
