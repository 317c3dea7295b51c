//! Montgomery multiplication of four or eight numbers under as many moduli, by double-precision FMA.
//!
//! The assembly is written by `cargo xtask kernels`; `xtask/src/kernels/doubles.rs` says how it works.
//! The operands are those of `ifma`; kernels take half a line of each, in 256-bit registers.

mod tables;

use core::arch::{asm, naked_asm};
use core::ptr;

use super::Fma;
use super::line::{BLOCK, Line, NUMBERS, WINDOW};

/// Montgomery multiplication for one width.
#[derive(Clone, Copy)]
pub(crate) struct Montgomery {
    digits: usize,
    /// How many halves of a line are in use.
    halves: usize,
}

impl Montgomery {
    /// For numbers of `digits` digits, a multiple of 5 and 10 to 80, in the first `lanes` lanes.
    pub(crate) fn new(_: Fma, digits: usize, lanes: usize) -> Self {
        assert!(digits.is_multiple_of(BLOCK) && (10..=80).contains(&digits));
        let halves = if lanes <= HALF { 1 } else { 2 };
        Self { digits, halves }
    }

    /// `a = a b / 2^(52 digits)` modulo `n`, in each lane: below `a b / 2^(52 digits) + n`, which must
    /// be below `2^(52 digits)`.
    ///
    /// `a` and `b` are digits, the lowest first. `n` is what [`set_moduli`] makes. `scratch` has two lines
    /// for each digit.
    pub(crate) fn multiply(&self, a: &mut [Line], b: &[Line], n: &[Line], scratch: &mut [Line]) {
        assert!(b.len() == self.digits);
        self.call(multiply, a, Some(b), n, scratch);
    }

    /// As `multiply` with `b` equal to `a`.
    pub(crate) fn square(&self, a: &mut [Line], n: &[Line], scratch: &mut [Line]) {
        self.call(square, a, None, n, scratch);
    }

    /// In each lane of `to`, the lines of the entry of `table` that the lane's `index` names, which
    /// must exist. All entries are read. The lines of entry 0 come first, then those of entry 1, and
    /// so on to 2^[`WINDOW`].
    pub(crate) fn select(&self, to: &mut [Line], table: &[Line], index: &Line) {
        assert!(to.len() == self.digits && table.len() == to.len() << WINDOW);
        for half in 0..self.halves {
            let lanes = HALF * half;
            let stride = size_of_val(to);
            // SAFETY: `self` was made with a token, so the instructions exist. `to` and the table were just
            // checked to have the lines that the kernel wants, and each has two halves.
            unsafe {
                select(
                    to.as_mut_ptr().cast::<u64>().add(lanes),
                    table.as_ptr().cast::<u64>().add(lanes),
                    index.0.as_ptr().add(lanes),
                    &NUMBERS,
                    to.len(),
                    stride,
                );
            }
        }
    }

    #[inline]
    fn call(
        &self,
        kernel: Kernel,
        a: &mut [Line],
        b: Option<&[Line]>,
        n: &[Line],
        scratch: &mut [Line],
    ) {
        let digits = self.digits;
        assert!(a.len() == digits && n.len() == BLOCK + digits && scratch.len() == 2 * digits);
        let (a, n) = (a.as_mut_ptr().cast::<u64>(), n.as_ptr().cast::<u64>());
        let b = b.map(|b| b.as_ptr().cast::<u64>());
        for half in 0..self.halves {
            let lanes = HALF * half;
            // SAFETY: `self` was made with a token, so the instructions exist. The lines are as many as the
            // kernel reads and writes: asserted here, and by `multiply` for `b`, which a square does not read.
            // Each has two halves. The factors are read for the last time before the result is written, which
            // may take their place.
            unsafe {
                let a = a.add(lanes);
                let b = b.map_or(ptr::null(), |b| b.add(lanes));
                kernel(a, a, b, n.add(lanes), scratch.as_mut_ptr(), digits / BLOCK);
            }
        }
        #[cfg(debug_assertions)]
        crate::dispatch::modexp::FMA.hit();
    }
}

/// Makes of odd moduli what the kernels want: `-1 / n` modulo 2^260, and `n`, their digits as doubles.
/// `n` has a line with `-1 / n` modulo 2^52, then the digits.
pub(crate) fn set_moduli(doubles: &mut [Line], n: &[Line]) {
    let (inverses, digits) = doubles.split_at_mut(BLOCK);
    for lane in 0..2 * HALF {
        let digit_inverse = n[0].0[lane];
        // What is still missing of n x = -1, from digit i on.
        let mut missing = [0_u64; BLOCK];
        missing[0] = 1;
        for (i, inverse) in inverses.iter_mut().enumerate() {
            let x = missing[i].wrapping_mul(digit_inverse) & DIGIT_MASK;
            inverse.0[lane] = double(x);
            let mut carry = 0_u128;
            for (missing, n) in missing[i..].iter_mut().zip(&n[1..]) {
                let sum = u128::from(*missing) + u128::from(x) * u128::from(n.0[lane]) + carry;
                *missing = sum as u64 & DIGIT_MASK;
                carry = sum >> 52;
            }
        }
    }
    for (double_line, line) in digits.iter_mut().zip(&n[1..]) {
        double_line.0 = line.0.map(double);
    }
}

/// The pattern of a digit as a double. As a signed number, of which the conversion has no branch.
fn double(digit: u64) -> u64 {
    (digit.cast_signed() as f64).to_bits()
}

/// Whether fused products are rounded as the control word says. An emulator may not: under Valgrind 3.19 they are always
/// rounded to nearest (its manual, "Limitations"), and lanes would compute wrongly.
pub(crate) fn rounds_as_told(fma: Fma) -> bool {
    let _ = fma;
    // 1 + 2^-52 and 1.5, whose product lies in the middle between two doubles: the lower one is towards zero, and the upper
    // one is even.
    let factors = [0x3ff0_0000_0000_0001_u64, 0x3ff8_0000_0000_0000];
    const TOWARDS_ZERO: u64 = 0x3ff8_0000_0000_0001;
    let [control, ..] = tables::TABLES.mxcsr;
    let (mut before, mut products) = (0_u32, [0_u64; HALF]);
    // SAFETY: the token proves the instructions. Memory is read and written in the places that are named, which have the
    // sizes of their operands; the control word is put back, and flags of exceptions are not looked at.
    unsafe {
        asm!(
            "stmxcsr dword ptr [{before}]",
            "ldmxcsr dword ptr [{control}]",
            "vbroadcastsd ymm0, qword ptr [{factors}]",
            "vbroadcastsd ymm1, qword ptr [{factors} + 8]",
            "vxorpd xmm2, xmm2, xmm2",
            "vfmadd231pd ymm2, ymm0, ymm1",
            "vmovupd ymmword ptr [{products}], ymm2",
            "vzeroupper",
            "ldmxcsr dword ptr [{before}]",
            before = in(reg) &raw mut before,
            control = in(reg) &raw const control,
            factors = in(reg) factors.as_ptr(),
            products = in(reg) products.as_mut_ptr(),
            // As of a call: upper halves are not kept.
            clobber_abi("sysv64"),
            options(nostack),
        );
    }
    products == [TOWARDS_ZERO; HALF]
}

const DIGIT_MASK: u64 = (1 << 52) - 1;
/// Lanes of a register.
const HALF: usize = 4;

/// Result, two factors, what `set_moduli` makes, scratch, blocks of five digits.
type Kernel =
    unsafe extern "sysv64" fn(*mut u64, *const u64, *const u64, *const u64, *mut Line, usize);

macro_rules! kernels {
    ($($name:ident $file:literal)+) => { $(
        /// # Safety
        /// AVX2 and FMA must be there. The result, the factors and the moduli are the same half of
        /// lines: five for each block, and for the moduli five more. The scratch has twice as many
        /// whole lines, and at least 20.
        #[unsafe(naked)]
        unsafe extern "sysv64" fn $name(
            result: *mut u64,
            a: *const u64,
            b: *const u64,
            n: *const u64,
            scratch: *mut Line,
            blocks: usize,
        ) {
            naked_asm!(include_str!($file), tables = sym tables::TABLES)
        }
    )+ };
}

kernels! {
    multiply "multiply.s"
    square "square.s"
}

/// # Safety
/// AVX2 must be there. `to` and `table` are the same half of lines, of which `to` has `digits`, at
/// least one, and the table as many for each number; its entries lie `stride` bytes apart.
#[unsafe(naked)]
unsafe extern "sysv64" fn select(
    to: *mut u64,
    table: *const u64,
    index: *const u64,
    numbers: &[u64; 1 << WINDOW],
    digits: usize,
    stride: usize,
) {
    naked_asm!(include_str!("select.s"))
}
