//! Up to 20 digits: every column of the product that is not done has a register.
//!
//! ```text
//! for j in 0..d:  columns j.. += A[j] B
//!                 m = -column j / N[0] mod 2^52
//!                 columns j.. += m N,  and column j, now a multiple of 2^52, is carried over
//! ```
//!
//! A row of products is twice as long as `vpmadd52` has latency, so low and high halves can go to the
//! same sums. For a square the products of different digits come first, row by row; what is done of
//! them is doubled, gets the square of a digit, and waits in memory for the reduction.
//!
//! Processors from Ice Lake on have two ports for `vpmadd52`, and no other for any addition or shift
//! of 512 bits: what is not a multiplication counts as much as one. So there is no sum that is put
//! together from two, columns are not masked where what is above 52 bits does no harm, and a product
//! starts with what its carries need.
//!
//! Of 20 digits, a product by a pair and a square with a selection are 28 KiB of instructions, and the
//! first cache holds 32. An exponentiation that also used the square without a selection was slower by an
//! eighth.

use super::assembly::{A, Assembly, B, N, OUT, Place, Selection, T, Zmm};

/// OUT = A B / 2^52d mod N.
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

/// OUT = A B / 2^52d mod N, for a B that comes with B' = B / 2^52h mod N after it, where h is half of the
/// digits: with A = A' + 2^52h A", A' B' + A" B is A B / 2^52h, and only the other half of the digits has
/// to be reduced.
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

/// OUT = A A / 2^52d mod N.
pub fn square(digits: usize) -> Assembly {
    let mut kernel = Columns::new(digits);
    if digits <= ALL_IN_REGISTERS {
        kernel.square_in_registers();
    } else {
        kernel.square_by_memory();
    }
    kernel.end()
}

/// As `square`, with a selection of what is multiplied by next going on at the same time.
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
    /// Columns that have a register which is not empty.
    is_begun: Vec<bool>,
}

impl Columns {
    const OFFSET_BY_ONES: bool = true;

    fn new(digits: usize) -> Self {
        let mut text = Assembly::default();
        text.load(NEGATIVE_INVERSE, Place("rcx", 0).digit(0));
        text.line(format_args!("vpternlogd {ONES}, {ONES}, {ONES}, 255"));
        text.line(format_args!("vpsrlq {ONES}, {ONES}, 12"));
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
        self.text.line(format_args!("vmovdqa64 {to}, {from}"));
    }

    /// Columns `i` and the next get the halves of a product.
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

    /// What the first half of the reduction does not need yet is done during it, for its quotients
    /// follow each other in time.
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

    /// The products of digit `i` and those above it, which are the last ones for two columns.
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

    /// Column `i` has all products of different digits. It is doubled, and gets half of the square of
    /// a digit.
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

    /// The multiple of N is added that makes the low 52 bits of column `j` zero; what is above them
    /// goes to the next column.
    ///
    /// There is a carry out of the low bits where they are not zero already, as there is when 2^52 - 1
    /// is added to them. Where a column began with that, `m` begins with -1 / N, to make up for it.
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
        self.text
            .line(format_args!("vpsrlq {column}, {column}, 52"));
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

    /// What is above 52 bits goes from digit to digit; it also stays where it was.
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
                self.text.line(format_args!("vpsrlq {carry}, {column}, 52"));
            }
            self.text.store(OUT.digit(i), column);
        }
        self.text
    }
}

/// Each has its own while there are no more than 20, and else one that an earlier column has left.
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
/// Digits that are multiplied.
const OTHER: [Zmm; 2] = [Zmm(25), Zmm(26)];
/// Such of the squares that are computed during a reduction.
const BESIDE: [Zmm; 2] = [Zmm(27), Zmm(28)];
