//! Up to 20 digits: every unfinished column of the product has a register.
//!
//! ```text
//! for j in 0..d:  columns j.. += A[j] B
//!                 m = -column j / N[0] mod 2^52
//!                 columns j.. += m N,  and column j, now a multiple of 2^52, is carried over
//! ```
//!
//! A row of products takes twice the latency of `vpmadd52`, so low and high halves can share a sum. A square computes the
//! products of different digits first, row by row; a finished column is doubled, gets the square of a digit, and waits in
//! memory for the reduction.
//!
//! Processors since Ice Lake have two ports for `vpmadd52`, and no other port for additions and shifts of 512 bits, so any
//! other instruction costs as much as a multiplication. Therefore no sum is split in two, columns are not masked where bits
//! above 52 do no harm, and a product starts with its carries.
//!
//! With 20 digits, a product by a pair and a square with a selection are 28 KiB of instructions, and the L1 cache holds 32.
//! An exponentiation that also used the square without a selection was an eighth slower.

use super::assembly::{A, Assembly, B, N, OUT, Place, Selection, T, Zmm, emit};

/// Computes OUT = A B / 2^52d mod N.
pub fn multiply(digits: usize) -> Assembly {
    let mut kernel = Columns::new(digits);
    for i in 0..digits {
        kernel.copy(column(i, digits), ONES);
    }
    for j in 0..digits {
        kernel.text.clear(column(j + digits, digits));
        kernel.text.load(FACTOR, A.digit(j));
        for i in 0..digits {
            let b = OTHER[i % 2];
            kernel.text.load(b, B.digit(i));
            kernel.products(j + i, FACTOR, b);
        }
        kernel.reduce(j, Columns::OFFSET_BY_ONES);
    }
    kernel.end()
}

/// Computes OUT = A B / 2^52d mod N, for a B that is followed by B' = B / 2^52h mod N, where h is half of the digits: with A
/// = A' + 2^52h A", A' B' + A" B is A B / 2^52h, and only the other half of the digits has to be reduced.
pub fn multiply_by_pair(digits: usize) -> Assembly {
    let mut kernel = Columns::new(digits);
    let rows = digits.div_ceil(2);
    let half = digits - rows;
    for i in 0..rows {
        kernel.copy(column(i, digits), ONES);
    }
    for i in rows..digits {
        kernel.text.clear(column(i, digits));
    }
    for j in 0..rows {
        kernel.text.clear(column(j + digits, digits));
        let mut row = |a: usize, b: Place| {
            kernel.text.load(FACTOR, A.digit(a));
            for i in 0..digits {
                let other = OTHER[i % 2];
                kernel.text.load(other, b.digit(i));
                kernel.products(j + i, FACTOR, other);
            }
        };
        if j < half {
            row(j, Place(B.0, digits));
        }
        row(j + half, B);
        kernel.reduce(j, Columns::OFFSET_BY_ONES);
    }
    kernel.end_from(rows)
}

/// Computes OUT = A A / 2^52d mod N.
pub fn square(digits: usize) -> Assembly {
    let mut kernel = Columns::new(digits);
    if digits <= ALL_IN_REGISTERS {
        kernel.square_in_registers();
    } else {
        kernel.square_by_memory();
    }
    kernel.end()
}

/// Like `square`, with a concurrent selection of the next multiplier.
pub fn square_and_select(digits: usize, entry_lines: usize) -> Assembly {
    let selection = Selection {
        numbers: "rax",
        table: "r10",
        to: "r11",
        stride: &(64 * entry_lines).to_string(),
        index: Zmm(29),
        data: [Zmm(30), Zmm(31)],
    };
    let mut start = Assembly::default();
    start.begin_selection(selection);
    let mut other = Assembly::default();
    other.select_digits(selection, entry_lines);
    let mut text = square(digits);
    text.interleave(0, other);
    start.lines.append(&mut text.lines);
    start
}

struct Columns {
    text: Assembly,
    digits: usize,
    /// Whether each column's register has a value.
    is_begun: Vec<bool>,
}

impl Columns {
    const OFFSET_BY_ONES: bool = true;

    fn new(digits: usize) -> Self {
        let mut text = Assembly::default();
        text.load(NEGATIVE_INVERSE, Place("rcx", 0).digit(0));
        emit!(text; "
            vpternlogd {ONES}, {ONES}, {ONES}, 255
            vpsrlq {ONES}, {ONES}, 12
        ");
        Self {
            text,
            digits,
            is_begun: vec![false; 2 * digits],
        }
    }

    fn column(&self, i: usize) -> Zmm {
        column(i, self.digits)
    }

    fn copy(&mut self, to: Zmm, from: Zmm) {
        emit!(self.text; "vmovdqa64 {to}, {from}");
    }

    /// Adds the halves of a product to columns `i` and `i + 1`.
    fn products(&mut self, i: usize, a: Zmm, b: Zmm) {
        let (low, high) = (self.column(i), self.column(i + 1));
        self.text.multiply_low(low, a, b);
        self.text.multiply_high(high, a, b);
    }

    fn square_by_memory(&mut self) {
        let digits = self.digits;
        self.square_row_end(0);
        for i in 0..digits - 1 {
            self.square_row(i);
        }
        self.square_row_end(2 * digits - 1);
        for i in 0..digits {
            let column = self.column(i);
            self.text.load(column, T.digit(i));
        }
        for j in 0..digits {
            let next = self.column(j + digits);
            self.text.load(next, T.digit(j + digits));
            self.reduce(j, !Self::OFFSET_BY_ONES);
        }
    }

    /// Squares during the reduction whatever its first half does not need, because its quotients depend on each other.
    fn square_in_registers(&mut self) {
        let digits = self.digits;
        self.square_row_end(0);
        for i in 0..digits / 2 {
            self.square_row(i);
        }
        for j in 0..digits {
            let start = self.text.lines.len();
            let i = j + digits / 2;
            if i < digits - 1 {
                self.square_row(i);
            } else if i == digits - 1 {
                self.square_row_end(2 * digits - 1);
            }
            let beside = self.text.lines.split_off(start);
            self.reduce(j, !Self::OFFSET_BY_ONES);
            self.text.interleave(start, Assembly { lines: beside });
        }
    }

    /// Adds the products of digit `i` and higher digits, which complete two columns.
    fn square_row(&mut self, i: usize) {
        self.text.load(FACTOR, A.digit(i));
        for k in i + 1..self.digits {
            let a = BESIDE[k % 2];
            self.text.load(a, A.digit(k));
            for column in i + k..=i + k + 1 {
                if !self.is_begun[column] {
                    self.is_begun[column] = true;
                    self.text.clear(self.column(column));
                }
            }
            self.products(i + k, FACTOR, a);
        }
        self.square_row_end(2 * i + 1);
        self.square_row_end(2 * i + 2);
    }

    /// Completes column `i`, which has all products of different digits: doubles it, and adds half of a digit's square.
    fn square_row_end(&mut self, i: usize) {
        let column = self.column(i);
        if self.is_begun[i] {
            self.text.add(column, column);
        } else {
            self.text.clear(column);
        }
        let a = BESIDE[i % 2];
        self.text.load(a, A.digit(i / 2));
        if i.is_multiple_of(2) {
            self.text.multiply_low(column, a, a);
        } else {
            self.text.multiply_high(column, a, a);
        }
        if self.digits > ALL_IN_REGISTERS {
            self.text.store(T.digit(i), column);
        }
    }

    /// Adds the multiple of N that clears the low 52 bits of column `j`, and adds the upper bits to the next column.
    ///
    /// There is a carry out of the low bits unless they are zero, as there is when 2^52 - 1 is added to them. If a column
    /// began with 2^52 - 1, `m` begins with -1 / N to compensate.
    fn reduce(&mut self, j: usize, is_offset: bool) {
        let (column, next) = (self.column(j), self.column(j + 1));
        if is_offset {
            self.copy(QUOTIENT, NEGATIVE_INVERSE);
        } else {
            self.text.clear(QUOTIENT);
        }
        self.text.multiply_low(QUOTIENT, column, NEGATIVE_INVERSE);
        if !is_offset {
            self.text.add(column, ONES);
        }
        emit!(self.text; "vpsrlq {column}, {column}, 52");
        self.text.add(next, column);
        for i in 0..self.digits {
            let n = OTHER[i % 2];
            self.text.load(n, N.digit(i));
            if i == 0 {
                self.text.multiply_high(next, QUOTIENT, n);
            } else {
                self.products(j + i, QUOTIENT, n);
            }
        }
    }

    /// Propagates the bits above 52 from digit to digit; they also stay in their digit.
    fn end(self) -> Assembly {
        let digits = self.digits;
        self.end_from(digits)
    }

    /// Ends a result that begins with column `first`.
    fn end_from(mut self, first: usize) -> Assembly {
        let carry = QUOTIENT;
        for i in 0..self.digits {
            let column = self.column(first + i);
            if i > 0 {
                self.text.add(column, carry);
            }
            if i + 1 < self.digits {
                emit!(self.text; "vpsrlq {carry}, {column}, 52");
            }
            self.text.store(OUT.digit(i), column);
        }
        self.text
    }
}

/// Returns a column's register: its own if there are at most 20 columns, otherwise one that an earlier column has released.
fn column(i: usize, digits: usize) -> Zmm {
    if digits <= ALL_IN_REGISTERS {
        Zmm(i)
    } else {
        Zmm(i % (digits + 1))
    }
}

const ALL_IN_REGISTERS: usize = 10;
const QUOTIENT: Zmm = Zmm(21);
/// 2^52 - 1.
const ONES: Zmm = Zmm(22);
const NEGATIVE_INVERSE: Zmm = Zmm(23);
/// The digit that a row multiplies by.
const FACTOR: Zmm = Zmm(24);
/// The digits that are multiplied by it.
const OTHER: [Zmm; 2] = [Zmm(25), Zmm(26)];
/// Such digits of squares that are computed during a reduction.
const BESIDE: [Zmm; 2] = [Zmm(27), Zmm(28)];
