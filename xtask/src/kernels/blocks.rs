//! Loops over blocks of five digits.
//!
//! A product of two blocks takes 50 multiplications, ten loads and no store: the sums of its nine columns stay in registers,
//! low halves (`l`) separate from high halves (`h`), so that 18 chains of dependent additions hide the latency of
//! `vpmadd52`. For operands of `b` blocks, the code computes
//!
//! ```text
//! for k in 0..2b-1:  column k of T = sum of A[i] B[k-i]               (a square doubles i < k-i)
//! for k in 0..b:     column k of T += sum of M[i] N[k-i], i < k
//!                    M[k] = -column / N mod 2^260, digit by digit     takes the place of the column
//! for k in b..2b:    column k of T += sum of M[i] N[k-i], carried into 52-bit digits: the result
//! ```

use super::assembly::{Assembly, N, OUT, Place, Selection, Zmm, emit};

/// Computes OUT = A B / 2^260b mod N, for the number of blocks in r9.
pub fn multiply() -> Assembly {
    whole(Assembly::multiply_looped)
}

/// Computes OUT = A A / 2^260b mod N.
pub fn square() -> Assembly {
    whole(|text| text.square_looped(None))
}

/// Like `square`, with a concurrent selection.
pub fn square_and_select() -> Assembly {
    let selection = Selection {
        numbers: "rbp",
        table: "rsi",
        to: "rdx",
        stride: "r13",
        index: Zmm(30),
        data: [Zmm(31), Zmm(23)],
    };
    whole(|text| text.square_looped(Some(selection)))
}

fn whole(product: impl FnOnce(&mut Assembly)) -> Assembly {
    let mut text = Assembly::default();
    text.save_registers();
    product(&mut text);
    text.reduce_looped();
    text.restore_registers();
    text
}

impl Assembly {
    /// Computes T = A B, for the number of blocks in r9.
    fn multiply_looped(&mut self) {
        self.clear_carried();
        emit!(self; "
            mov r10, rsi // A[first i]
            mov r11, rdx // B[k - first i]
            mov r12, 1 // products in the column
            mov r15, r8 // T[k]
        ");
        let column = |assembly: &mut Self| {
            assembly.clear_sums();
            emit!(assembly; "
                mov rax, r10
                mov rbx, r11
                mov r13, r12
            ");
            assembly.products();
            assembly.store_product(Place("r15", 0));
            emit!(assembly; "add r15, {BLOCK_BYTES}");
        };
        emit!(self; "2:");
        column(self);
        emit!(self; "
            add r11, {BLOCK_BYTES}
            inc r12
            cmp r12, r9
            jbe 2b
            sub r11, {BLOCK_BYTES}
            lea r12, [r9 - 1]
        ");
        self.count_down("r12", 3, |text| {
            emit!(text; "add r10, {BLOCK_BYTES}");
            column(text);
        });
        self.store_carried(Place("r15", 0));
    }

    /// Computes T = A A, in the same way.
    fn square_looped(&mut self, selection: Option<Selection<'_>>) {
        self.clear_carried();
        emit!(self; "
            mov r10, rsi // A[first i]
            mov r11, rsi // A[k - first i]
            xor r12d, r12d // products in the column that are doubled
            xor r14d, r14d // k
            mov r15, r8 // T[k]
        ");
        if let Some(selection) = selection {
            // After this, rsi is free, and then rdx.
            self.begin_selection(selection);
        }
        emit!(self; "2:");
        self.clear_sums();
        emit!(self; "
            mov rax, r10
            mov rbx, r11
            mov r13, r12
            test r13, r13
            jz 3f
        ");
        self.products();
        emit!(self; "
            3:
            test r14, 1
            jnz 4f
        ");
        // After every i < k / 2, rax points to A[k / 2].
        self.block_square(Place("rax", 0), selection);
        emit!(self; "
            jmp 5f
            4:
        ");
        self.double();
        emit!(self; "5:");
        self.store_doubled(Place("r15", 0));
        emit!(self; "
            add r15, {BLOCK_BYTES}
            inc r14
        ");
        // The next column: first i = max(0, k + 1 - b), and (k + 1) / 2 - first i products.
        emit!(self; "
            lea r12, [r14 + 1]
            shr r12
            cmp r14, r9
            jae 6f
            add r11, {BLOCK_BYTES}
            jmp 2b
            6:
            add r10, {BLOCK_BYTES}
            lea rax, [r14 + 1]
            sub rax, r9
            sub r12, rax
            lea rax, [r9 + r9 - 1]
            cmp r14, rax
            jb 2b
        ");
        self.store_carried(Place("r15", 0));
    }

    /// Computes OUT = T / 2^260b mod N, in the same way.
    fn reduce_looped(&mut self) {
        self.begin_reduction();
        emit!(self; "
            lea r11, [rcx + 64] // N[k - first i]
            mov r15, r8 // T[k]
            xor r12d, r12d // products in the column
            2:
        ");
        self.clear_sums();
        emit!(self; "
            mov rax, r8
            mov rbx, r11
            mov r13, r12
            test r13, r13
            jz 3f
        ");
        self.products();
        emit!(self; "3:");
        self.quotient(Place("r15", 0), N);
        emit!(self; "
            add r15, {BLOCK_BYTES}
            add r11, {BLOCK_BYTES}
            inc r12
            cmp r12, r9
            jb 2b
        ");
        self.begin_result();
        emit!(self; "
            sub r11, {BLOCK_BYTES}
            mov r10, r8 // M[first i]
            2:
        ");
        self.clear_sums();
        emit!(self; "
            add r10, {BLOCK_BYTES}
            dec r12
            jz 3f
            mov rax, r10
            mov rbx, r11
            mov r13, r12
        ");
        self.products();
        self.store_result(Place("r15", 0), OUT);
        emit!(self; "
            add r15, {BLOCK_BYTES}
            add rdi, {BLOCK_BYTES}
            jmp 2b
            3:
        ");
        self.store_result(Place("r15", 0), OUT);
    }

    /// Adds r13 products of a block from rax upwards and one from rbx downwards.
    fn products(&mut self) {
        self.count_down("r13", 9, |text| {
            text.block_product(Place("rax", 0), Place("rbx", 0));
            emit!(text; "
                add rax, {BLOCK_BYTES}
                sub rbx, {BLOCK_BYTES}
            ");
        });
    }

    fn clear_carried(&mut self) {
        for i in 0..BLOCK {
            self.clear(carried(i));
        }
    }

    fn clear_sums(&mut self) {
        for i in 0..2 * BLOCK - 1 {
            self.clear(low(i));
            self.clear(high(i + 1));
        }
    }

    /// Adds the product of two blocks to the column sums.
    fn block_product(&mut self, a: Place, b: Place) {
        for i in 0..BLOCK {
            self.load(factor(i), a.digit(i));
        }
        for j in 0..BLOCK {
            self.load(digit(j), b.digit(j));
            for i in 0..BLOCK {
                self.multiply_low(low(i + j), factor(i), digit(j));
            }
            for i in 0..BLOCK {
                self.multiply_high(high(i + j + 1), factor(i), digit(j));
            }
        }
    }

    /// Doubles the column sums, including the products of different digits of a block; then adds the squares of its digits.
    /// A block of a table may be selected from at the same time.
    fn block_square(&mut self, a: Place, selection: Option<Selection<'_>>) {
        if let Some(Selection { table, .. }) = selection {
            emit!(self; "
                mov rbx, {table}
                imul r13, r9, {BLOCK_BYTES}
            ");
        }
        let start = self.lines.len();
        for i in 0..BLOCK {
            self.load(factor(i), a.digit(i));
        }
        for j in 1..BLOCK {
            for i in 0..j {
                self.multiply_low(low(i + j), factor(i), factor(j));
            }
            for i in 0..j {
                self.multiply_high(high(i + j + 1), factor(i), factor(j));
            }
        }
        self.double();
        for i in 0..BLOCK {
            self.multiply_low(doubled(2 * i), factor(i), factor(i));
            self.multiply_high(doubled(2 * i + 1), factor(i), factor(i));
        }
        if let Some(selection) = selection {
            let Selection { table, to, .. } = selection;
            let mut other = Self::default();
            let table_of_block = Selection {
                table: "rbx",
                ..selection
            };
            other.select_digits(table_of_block, BLOCK);
            self.interleave(start, other);
            emit!(self; "
                add {table}, {BLOCK_BYTES}
                add {to}, {BLOCK_BYTES}
            ");
        }
    }

    /// Adds the low and high halves of each column, and doubles the sums.
    fn double(&mut self) {
        for i in 0..2 * BLOCK {
            let column = doubled(i);
            if i > 0 && column != high(i) {
                self.add(column, high(i));
            }
            self.add(column, column);
        }
    }

    /// Stores the lower columns and carries the upper ones over.
    fn store_product(&mut self, to: Place) {
        for i in 0..BLOCK {
            self.add(carried(i), low(i));
            if i > 0 {
                self.add(carried(i), high(i));
            }
            self.store(to.digit(i), carried(i));
        }
        self.carry_over();
    }

    /// Makes the upper columns the lower ones of the next block.
    fn carry_over(&mut self) {
        for i in 0..BLOCK - 1 {
            let (next, l, h) = (carried(i), low(i + BLOCK), high(i + BLOCK));
            emit!(self; "vpaddq {next}, {l}, {h}");
        }
        let (next, h) = (carried(BLOCK - 1), high(2 * BLOCK - 1));
        emit!(self; "vmovdqa64 {next}, {h}");
    }

    /// Like `store_product`, but for columns whose halves have been added.
    fn store_doubled(&mut self, to: Place) {
        for i in 0..BLOCK {
            self.add(carried(i), doubled(i));
            self.store(to.digit(i), carried(i));
            let (next, column) = (carried(i), doubled(i + BLOCK));
            emit!(self; "vmovdqa64 {next}, {column}");
        }
    }

    fn store_carried(&mut self, to: Place) {
        for i in 0..BLOCK {
            self.store(to.digit(i), carried(i));
        }
    }

    fn begin_reduction(&mut self) {
        self.clear_carried();
        self.load(NEGATIVE_INVERSE, Place("rcx", 0).digit(0));
        emit!(self; "
            vpternlogd {MASK}, {MASK}, {MASK}, 255
            vpsrlq {MASK}, {MASK}, 12
        ");
    }

    /// Replaces a block of T, which becomes zero, by digits of the quotient.
    fn quotient(&mut self, t: Place, n: Place) {
        for i in 0..BLOCK {
            self.add(carried(i), t.digit(i));
        }
        for i in 0..BLOCK {
            let (sum, m) = (carried(i), factor(i));
            self.add(sum, low(i));
            if i > 0 {
                self.add(sum, high(i));
            }
            self.clear(m);
            self.multiply_low(m, sum, NEGATIVE_INVERSE);
            self.multiply_high(high(i + 1), m, n.digit(0));
            for j in 1..BLOCK {
                self.multiply_low(low(i + j), m, n.digit(j));
                self.multiply_high(high(i + j + 1), m, n.digit(j));
            }
            self.store(t.digit(i), m);
            // Adding the mask clears the low 52 bits, with a carry unless they were zero; the upper bits are added to the
            // next column.
            self.add(sum, MASK);
            emit!(self; "vpsrlq {sum}, {sum}, 52");
            if i + 1 < BLOCK {
                self.add(carried(i + 1), sum);
            } else {
                self.add(low(BLOCK), sum);
            }
        }
        self.carry_over();
    }

    /// Begins the propagation of bits above 52 from digit to digit of the result; they also stay in their digit.
    fn begin_result(&mut self) {
        self.clear(CARRY);
    }

    fn store_result(&mut self, t: Place, to: Place) {
        for i in 0..BLOCK {
            self.add(carried(i), t.digit(i));
            self.add(carried(i), low(i));
            if i > 0 {
                self.add(carried(i), high(i));
            }
        }
        for i in 0..BLOCK {
            let sum = carried(i);
            self.add(sum, CARRY);
            emit!(self; "vpsrlq {CARRY}, {sum}, 52");
            self.store(to.digit(i), sum);
        }
        self.carry_over();
    }
}

/// Returns the sum of low halves for column `i` of 0 to 8.
fn low(i: usize) -> Zmm {
    Zmm(i)
}

/// Returns the sum of high halves for column `i` of 1 to 9.
fn high(i: usize) -> Zmm {
    Zmm(2 * BLOCK - 2 + i)
}

/// Returns the sum of both for column `i` of 0 to 9.
fn doubled(i: usize) -> Zmm {
    if i < 2 * BLOCK - 1 { low(i) } else { high(i) }
}

/// Returns digit `i` of the block that stays in registers.
fn factor(i: usize) -> Zmm {
    Zmm(18 + i)
}

/// Returns the register for a digit of the other block; two alternate.
fn digit(j: usize) -> Zmm {
    Zmm(23 + j % 2)
}

/// Returns what the previous columns carry into column `i`.
fn carried(i: usize) -> Zmm {
    Zmm(25 + i)
}

/// -1 / N mod 2^52, while quotients are computed.
const NEGATIVE_INVERSE: Zmm = Zmm(30);
/// The bits above a digit of the result, afterwards.
const CARRY: Zmm = Zmm(30);
/// The mask 2^52 - 1, during the reduction.
const MASK: Zmm = Zmm(31);

const BLOCK: usize = 5;
const BLOCK_BYTES: usize = 64 * BLOCK;
