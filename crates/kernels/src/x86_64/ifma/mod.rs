//! Montgomery multiplication of eight numbers under eight moduli, in AVX-512 IFMA.
//!
//! The assembly is written by `cargo xtask kernels`; `xtask/src/kernels.rs` says how it works. It is
//! assembly because compilers spill: nearly every register is in use.

use core::arch::naked_asm;
use core::ptr;

use super::Ifma;
use super::line::{BLOCK, Line, NUMBERS, WINDOW};

/// Montgomery multiplication for one width.
#[derive(Clone, Copy)]
pub(crate) struct Montgomery {
    digits: usize,
    multiply: Kernel,
    square: Kernel,
    square_and_select: Kernel,
    multiply_by_entry: Kernel,
}

impl Montgomery {
    /// For numbers of `digits` digits, a multiple of 5 and 10 to 80.
    pub(crate) fn new(_: Ifma, digits: usize) -> Self {
        assert!(digits.is_multiple_of(BLOCK) && (10..=80).contains(&digits));
        let [multiply, square, square_and_select, multiply_by_entry]: [Kernel; 4] = match digits {
            10 => [multiply_10, square_10, square_and_select_10, multiply_10],
            15 => [
                multiply_15,
                square_15,
                square_and_select_15,
                multiply_by_pair_15,
            ],
            20 => [
                multiply_20,
                square_20,
                square_and_select_20,
                multiply_by_pair_20,
            ],
            _ => [multiply, square, square_and_select, multiply],
        };
        Self {
            digits,
            multiply,
            square,
            square_and_select,
            multiply_by_entry,
        }
    }

    /// `a = a b / 2^(52 digits)` modulo `n`, in each lane: below `a b / 2^(52 digits) + n`, which must
    /// be below `2^(52 digits)`.
    ///
    /// `a` and `b` are digits, the lowest first. `n` has a line with `-1 / n` modulo 2^52, then the
    /// digits of the odd moduli. `scratch` has two lines for each digit.
    pub(crate) fn multiply(&self, a: &mut [Line], b: &[Line], n: &[Line], scratch: &mut [Line]) {
        assert!(b.len() == self.digits);
        self.call(self.multiply, a, b.as_ptr(), n, scratch);
    }

    /// As `multiply` with `b` equal to `a`.
    pub(crate) fn square(&self, a: &mut [Line], n: &[Line], scratch: &mut [Line]) {
        self.call(self.square, a, ptr::null(), n, scratch);
    }

    /// As `multiply` by an entry of a table: `b` and, where an entry has twice as many lines as there
    /// are digits, `b / 2^(52 half)` modulo `n`, with [`half`] of the digits. Then the result is below the
    /// sum of `n`, the latter, and a 32nd of `b`, for `a` below a 32nd of `2^(52 digits)`.
    pub(crate) fn multiply_by_entry(
        &self,
        a: &mut [Line],
        entry: &[Line],
        n: &[Line],
        scratch: &mut [Line],
    ) {
        assert!(entry.len() == entry_lines(self.digits));
        self.call(self.multiply_by_entry, a, entry.as_ptr(), n, scratch);
    }

    /// As `square`, interleaved with part number `part` of what [`select`](Self::select) does, of [`WINDOW`].
    #[expect(clippy::too_many_arguments, reason = "two operations at once")]
    pub(crate) fn square_and_select(
        &self,
        a: &mut [Line],
        n: &[Line],
        scratch: &mut [Line],
        to: &mut [Line],
        table: &[Line],
        index: &Line,
        part: usize,
    ) {
        assert!(to.len() == entry_lines(self.digits));
        assert!(table.len() == to.len() << WINDOW && part < WINDOW);
        let first = (part << WINDOW) / WINDOW;
        let table = &table[first * to.len()..];
        let selection = Selection {
            index,
            numbers: NUMBERS[first..].as_ptr(),
            table: table.as_ptr(),
            to: to.as_mut_ptr(),
        };
        let b = (&raw const selection).cast();
        self.call(self.square_and_select, a, b, n, scratch);
    }

    /// In each lane of `to`, the lines of the entry of `table` that the lane's `index` names, which
    /// must exist. All entries are read. The lines of entry 0 come first, then those of entry 1, and
    /// so on to 2^[`WINDOW`].
    pub(crate) fn select(&self, to: &mut [Line], table: &[Line], index: &Line) {
        assert!(!to.is_empty() && table.len() == to.len() << WINDOW);
        for (entry, number) in table.chunks_exact(to.len()).zip(&NUMBERS) {
            // SAFETY: `self` was made with a token, so the instructions exist. The entry has the lines of `to`,
            // of which there is one at least.
            unsafe { select_entry(to.as_mut_ptr(), entry.as_ptr(), number, index, to.len()) };
        }
    }

    #[inline]
    fn call(
        &self,
        kernel: Kernel,
        a: &mut [Line],
        b: *const Line,
        n: &[Line],
        scratch: &mut [Line],
    ) {
        let digits = self.digits;
        assert!(a.len() == digits && n.len() == 1 + digits && scratch.len() == 2 * digits);
        let a = a.as_mut_ptr();
        let (n, scratch) = (n.as_ptr(), scratch.as_mut_ptr());
        // SAFETY: `self` was made with a token, so the instructions exist. The lines are as many as the kernel
        // reads and writes: asserted here, and by the callers for `b`, which is as the kernel wants it. The
        // factors are read for the last time before the result is written, which may take their place.
        unsafe { kernel(a, a, b, n, scratch, digits / BLOCK) };
        #[cfg(debug_assertions)]
        crate::dispatch::modexp::IFMA.hit();
    }
}

/// Lines of an entry of a table: those of [`Montgomery::multiply_by_entry`]. A pair is reduced in half
/// the time and selected in twice the time: of 10 digits that would be 2 % more in all.
pub(crate) const fn entry_lines(digits: usize) -> usize {
    match digits {
        15 | 20 => 2 * digits,
        _ => digits,
    }
}

/// How many digits the second half of an entry has been divided by.
pub(crate) const fn half(digits: usize) -> usize {
    digits / 2
}

/// What is selected during a square.
#[repr(C)]
struct Selection {
    index: *const Line,
    numbers: *const u64,
    table: *const Line,
    to: *mut Line,
}

/// Result, two factors (or one and a [`Selection`]), moduli, scratch, blocks of five digits.
type Kernel =
    unsafe extern "sysv64" fn(*mut Line, *const Line, *const Line, *const Line, *mut Line, usize);

macro_rules! kernels {
    ($($name:ident $file:literal)+) => { $(
        /// # Safety
        /// AVX-512 F and IFMA must be there. The result and both factors have the digits of the
        /// name, or five for each block, a pair twice those, the moduli one line more, the scratch
        /// twice as many.
        #[unsafe(naked)]
        unsafe extern "sysv64" fn $name(
            result: *mut Line,
            a: *const Line,
            b: *const Line,
            n: *const Line,
            scratch: *mut Line,
            blocks: usize,
        ) {
            naked_asm!(include_str!($file), options(raw))
        }
    )+ };
}

kernels! {
    multiply_10 "multiply_10.s"
    multiply_15 "multiply_15.s"
    multiply_by_pair_15 "multiply_by_pair_15.s"
    multiply_by_pair_20 "multiply_by_pair_20.s"
    multiply_20 "multiply_20.s"
    multiply "multiply.s"
    square_10 "square_10.s"
    square_15 "square_15.s"
    square_20 "square_20.s"
    square "square.s"
    square_and_select_10 "square_and_select_10.s"
    square_and_select_15 "square_and_select_15.s"
    square_and_select_20 "square_and_select_20.s"
    square_and_select "square_and_select.s"
}

/// # Safety
/// AVX-512 F must be there. `to` and `entry` have `digits` lines, at least one.
#[unsafe(naked)]
unsafe extern "sysv64" fn select_entry(
    to: *mut Line,
    entry: *const Line,
    number: *const u64,
    index: *const Line,
    digits: usize,
) {
    naked_asm!(include_str!("select.s"), options(raw))
}
