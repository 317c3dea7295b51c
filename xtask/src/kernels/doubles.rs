//! Montgomery multiplication of four numbers by double-precision FMA, for CPUs without IFMA.
//!
//! The product of two 52-bit digits has 104 bits; an FMA that rounds towards zero yields either half of it (Emmart, Zheng
//! and Weems, "Faster modular exponentiation using double precision floating point arithmetic on the GPU", ARITH 2018):
//!
//! ```text
//! h = a b + 2^104                  in steps of 2^52: its mantissa is the high half
//! l = a b + (2^104 + 2^52 - h)     exact: its mantissa is the low half
//! ```
//!
//! The bit patterns of `h` and `l` are summed as integers, modulo 2^64. The contribution of their exponents to a sum depends
//! only on the number of products, so each sum begins with its negative ([`Tables`]).
//!
//! The code handles blocks of five digits by columns, as in [`blocks`](super::blocks), but with product and reduction in one
//! pass, so that one continues while the other waits for a quotient:
//!
//! ```text
//! for k in 0..b:     column k = sum of A[i] B[k-i], i <= k  + sum of M[i] N[k-i], i < k
//!                    M[k] = column (-1 / N) mod 2^260
//!                    column += M[k] N[0], of which the low five digits are zero, and only their carry counts
//! for k in b..2b:    column k in the same way, carried into 52-bit digits: the result
//! ```
//!
//! `Tables` is the struct of crates/kernels/src/x86_64/doubles/tables.rs.

use super::assembly::{Assembly, emit};

/// Computes OUT = A B / 2^260b mod N, in four lanes. Arguments are System V's rdi, rsi, rdx, rcx (five digits of -1 / N,
/// then N, as doubles), r8 scratch, r9 blocks.
pub fn multiply() -> Assembly {
    whole(Factors::Two)
}

/// Computes OUT = A A / 2^260b mod N; rdx is ignored.
pub fn square() -> Assembly {
    whole(Factors::One)
}

/// Selects, for each of four lanes, the digits of the entry with the lane's index: rdi destination, rsi entry 0, rdx
/// indices, rcx numbers of entries, r8 digits, r9 bytes from an entry to the next. All entries are read.
pub fn select() -> Assembly {
    let mut text = Assembly::default();
    emit!(text; "vmovdqa ymm15, ymmword ptr [rdx]");
    for round in 0..SELECTED / ENTRIES {
        for entry in 0..ENTRIES {
            let number = 8 * (ENTRIES * round + entry);
            emit!(text; "
                vpbroadcastq ymm{entry}, qword ptr [rcx + {number}]
                vpcmpeqq ymm{entry}, ymm{entry}, ymm15
            ");
        }
        emit!(text; "
            mov r10, rdi
            mov r11, r8
            2:
            mov rax, rsi
        ");
        for entry in 0..ENTRIES {
            let to = if entry < 2 { 8 + entry } else { 10 };
            emit!(text; "vpand ymm{to}, ymm{entry}, ymmword ptr [rax]");
            if entry > 1 {
                let sum = 8 + entry % 2;
                emit!(text; "vpor ymm{sum}, ymm{sum}, ymm10");
            }
            emit!(text; "add rax, r9");
        }
        if round > 0 {
            emit!(text; "vpor ymm9, ymm9, ymmword ptr [r10]");
        }
        emit!(text; "
            vpor ymm8, ymm8, ymm9
            vmovdqa ymmword ptr [r10], ymm8
            add rsi, {LINE}
            add r10, {LINE}
            dec r11
            jnz 2b
        ");
        if round + 1 < SELECTED / ENTRIES {
            // Advance to the next entries, from the end of the first.
            emit!(text; "
                mov rsi, rax
                mov rax, r8
                shl rax, 6
                sub rsi, rax
                add rsi, {LINE}
            ");
        }
    }
    text
}

#[derive(Clone, Copy, PartialEq)]
enum Factors {
    One,
    Two,
}

/// The half of the columns.
#[derive(Clone, Copy, PartialEq)]
enum Half {
    Low,
    High,
}

fn whole(factors: Factors) -> Assembly {
    let mut text = Assembly::default();
    text.save_registers();
    emit!(text; "sub rsp, 16");
    // The caller may have set any rounding mode.
    emit!(text; "
        stmxcsr dword ptr [rsp]
        lea rbp, [rip + {{tables}}]
        ldmxcsr dword ptr [rbp + {MXCSR}]
        imul r10, r9, {BLOCK} // bytes of an operand
    ");
    text.convert("rsi", "r8");
    emit!(text; "lea r11, [r8 + r10]");
    if factors == Factors::Two {
        text.convert("rdx", "r11");
    }
    emit!(text; "
        lea rdx, [r11 + r10*2] // carried over
        lea r10, [r8 + r10*2] // M
        mov r15, r10 // M[k]
        vmovapd {HIGH_ONE}, ymmword ptr [rbp + {HIGH}]
        vmovapd {BOTH_ONES}, ymmword ptr [rbp + {BOTH}]
        vpxor {H}, {H}, {H}
    ");
    for i in 0..BLOCK_DIGITS {
        emit!(text; "vmovdqa ymmword ptr [rdx + {}], {H}", DIGIT * i);
    }
    emit!(text; "
        xor r14d, r14d // k
        2:
    ");
    text.product(factors, Half::Low);
    emit!(text; "
        mov rax, r10
        mov r13, r14
        imul rbx, r14, {LINES}
        lea rbx, [rcx + rbx + {LINES}]
    ");
    text.tiles("r13", LINE);
    text.block_of_quotient();
    text.keep_upper_half();
    emit!(text; "
        add r15, {BLOCK}
        inc r14
        cmp r14, r9
        jb 2b
    ");

    emit!(text; "
        2:
        lea rax, [r9 + r9 - 1]
        cmp r14, rax
        jae 8f
    ");
    text.product(factors, Half::High);
    emit!(text; "
        lea rax, [r14 + 1]
        sub rax, r9
        lea r13, [r9 + r9 - 1]
        sub r13, r14
        imul rax, rax, {BLOCK}
        add rax, r10
        imul rbx, r9, {LINES}
        add rbx, rcx
    ");
    text.tiles("r13", LINE);
    text.result();
    emit!(text; "vpaddq {0}, {0}, {H}", sum(BLOCK_DIGITS));
    text.keep_upper_half();
    emit!(text; "
        inc r14
        jmp 2b
        8:
    ");
    for i in 0..BLOCK_DIGITS {
        emit!(text; "vmovdqa {}, ymmword ptr [rdx + {}]", sum(i), DIGIT * i);
    }
    text.result();
    emit!(text; "
        ldmxcsr dword ptr [rsp]
        add rsp, 16
    ");
    text.restore_registers();
    text
}

impl Assembly {
    /// Converts the low 52 bits to a double.
    fn make_double(&mut self, register: &str) {
        self.make_pattern(register);
        emit!(self; "vsubpd {register}, {register}, ymmword ptr [rbp + {LOW}]");
    }

    /// Makes the low 52 bits the mantissa of a number from 2^52 on.
    fn make_pattern(&mut self, register: &str) {
        emit!(self; "
            vpand {register}, {register}, ymmword ptr [rbp + {MASK}]
            vpor {register}, {register}, ymmword ptr [rbp + {LOW}]
        ");
    }

    /// Converts lines of digits to doubles, for the number of blocks in r9.
    fn convert(&mut self, from: &str, to: &str) {
        emit!(self; "
            mov rax, {from}
            mov rbx, {to}
            lea r13, [r9 + r9*4]
            7:
            vmovdqa {H}, ymmword ptr [rax]
        ");
        self.make_double(H);
        emit!(self; "
            vmovapd ymmword ptr [rbx], {H}
            add rax, {LINE}
            add rbx, {DIGIT}
            dec r13
            jnz 7b
        ");
    }

    /// Adds the halves of a product to the given sums.
    fn halves(
        &mut self,
        a: &str,
        b: std::fmt::Arguments<'_>,
        low: Option<&str>,
        high: Option<&str>,
    ) {
        emit!(self; "
            vmovapd {H}, {HIGH_ONE}
            vfmadd231pd {H}, {a}, ymmword ptr [{b}]
        ");
        if low.is_some() {
            emit!(self; "
                vsubpd {L}, {BOTH_ONES}, {H}
                vfmadd231pd {L}, {a}, ymmword ptr [{b}]
            ");
        }
        if let Some(high) = high {
            emit!(self; "vpaddq {high}, {high}, {H}");
        }
        if let Some(low) = low {
            emit!(self; "vpaddq {low}, {low}, {L}");
        }
    }

    /// Adds the halves of the product of the loaded digit and digit `i` from rax on, to a column and the next.
    fn add_product(&mut self, i: usize, column: usize) {
        let (low, high) = (sum(column), sum(column + 1));
        let digit = DIGIT * i;
        self.halves(D, format_args!("rax + {digit}"), Some(&low), Some(&high));
    }

    /// Computes column k of the product on top of what was carried over. Sets rsi to the row of the tables.
    fn product(&mut self, factors: Factors, half: Half) {
        let other = if factors == Factors::One { "r8" } else { "r11" };
        // First i, and A[i]; B[k - i]; the number of products, for a square that of the doubled ones.
        match half {
            Half::Low => {
                emit!(self; "
                    mov rax, r8
                    lea r12, [r14 + 1]
                    imul rbx, r14, {BLOCK}
                    mov rsi, r14
                ");
            }
            Half::High => {
                emit!(self; "
                    lea rax, [r14 + 1]
                    sub rax, r9
                    lea r12, [r9 + r9 - 1]
                    sub r12, r14
                    imul rax, rax, {BLOCK}
                    add rax, r8
                    lea rbx, [r9 - 1]
                    imul rbx, rbx, {BLOCK}
                    mov rsi, r12
                ");
            }
        }
        emit!(self; "add rbx, {other}");
        if factors == Factors::One {
            emit!(self; "shr r12");
        }
        let table = match (factors, half) {
            (Factors::Two, Half::Low) => 0,
            (Factors::Two, Half::High) => 1,
            (Factors::One, Half::Low) => 2,
            (Factors::One, Half::High) => 3,
        };
        emit!(self; "
            shl rsi, {}
            add rsi, rbp
        ", ROW.ilog2());
        for i in 0..2 * BLOCK_DIGITS {
            let at = ROWS + table * ROW * BLOCKS_MAX + 8 * i;
            emit!(self; "vpbroadcastq {}, qword ptr [rsi + {at}]", sum(i));
        }
        self.tiles("r12", DIGIT);
        if factors == Factors::One {
            // In every other column, rax now points to the block that is multiplied by itself.
            emit!(self; "
                test r14, 1
                jnz 5f
            ");
            for j in 1..BLOCK_DIGITS {
                self.load_digit(format_args!("rax + {}", DIGIT * j));
                for i in 0..j {
                    self.add_product(i, i + j);
                }
            }
            self.double_sums();
            for i in 0..BLOCK_DIGITS {
                self.load_digit(format_args!("rax + {}", DIGIT * i));
                self.add_product(i, 2 * i);
            }
            emit!(self; "
                jmp 6f
                5:
            ");
            self.double_sums();
            emit!(self; "6:");
        }
        for i in 0..BLOCK_DIGITS {
            emit!(self; "vpaddq {0}, {0}, ymmword ptr [rdx + {1}]", sum(i), DIGIT * i);
        }
    }

    fn double_sums(&mut self) {
        for i in 0..2 * BLOCK_DIGITS {
            emit!(self; "vpaddq {0}, {0}, {0}", sum(i));
        }
    }

    fn load_digit(&mut self, from: std::fmt::Arguments<'_>) {
        emit!(self; "vmovapd {D}, ymmword ptr [{from}]");
    }

    /// Adds the products of blocks from rax upwards and from rbx downwards, whose digits are `stride` bytes apart. The
    /// register `count` has the number of products.
    fn tiles(&mut self, count: &str, stride: usize) {
        emit!(self; "
            test {count}, {count}
            jz 4f
            3:
        ");
        for j in 0..BLOCK_DIGITS {
            self.load_digit(format_args!("rbx + {}", stride * j));
            for i in 0..BLOCK_DIGITS {
                self.add_product(i, i + j);
            }
        }
        emit!(self; "add rax, {BLOCK}");
        emit!(self; "sub rbx, {}", stride * BLOCK_DIGITS);
        emit!(self; "
            dec {count}
            jnz 3b
            4:
        ");
    }

    /// Stores M[k] at r15, and adds M[k] N[0] to the column's upper half.
    fn block_of_quotient(&mut self) {
        for i in 0..BLOCK_DIGITS {
            let digit = sum(i);
            if i > 0 {
                emit!(self; "vpaddq {digit}, {digit}, {H}");
            }
            emit!(self; "vpsrlq {H}, {digit}, 52");
            if i + 1 < BLOCK_DIGITS {
                self.make_double(&digit);
            } else {
                self.make_pattern(&digit);
                emit!(self; "
                    vmovdqa ymmword ptr [rdx + {BLOCK}], {digit}
                    vsubpd {digit}, {digit}, ymmword ptr [rbp + {LOW}]
                ");
            }
        }
        emit!(self; "vpaddq {0}, {0}, {H}", sum(BLOCK_DIGITS));
        // Two column sums: this one, and the next.
        let column = |k: usize| [D, X][k % 2];
        self.begin_sum(column(0), 0);
        for k in 0..BLOCK_DIGITS {
            let has_next = k + 1 < BLOCK_DIGITS;
            if has_next {
                self.begin_sum(column(k + 1), k + 1);
            }
            for i in 0..=k {
                let high = has_next.then(|| column(k + 1));
                let inverse = LINE * (k - i);
                self.halves(
                    &sum(i),
                    format_args!("rcx + {inverse}"),
                    Some(column(k)),
                    high,
                );
            }
            if has_next {
                emit!(self; "vpsrlq {H}, {}, 52", column(k));
                emit!(self; "vpaddq {0}, {0}, {H}", column(k + 1));
            }
            self.make_double(column(k));
            emit!(self; "vmovapd ymmword ptr [r15 + {}], {}", DIGIT * k, column(k));
        }
        // The column and M[k] N[0] together are a multiple of 2^260. The lower digits' columns are needed only for their
        // carry: the sum of digit 4 alone is less than 2^4 below a multiple of 2^52, and the carry is that sum rounded.
        let last = sum(BLOCK_DIGITS - 1);
        emit!(self; "vmovdqa {last}, ymmword ptr [rdx + {BLOCK}]");
        self.begin_sum(X, BLOCK_DIGITS);
        emit!(self; "vpaddq {last}, {last}, {X}");
        for i in 0..BLOCK_DIGITS {
            self.load_digit(format_args!("r15 + {}", DIGIT * i));
            for j in (BLOCK_DIGITS - 2).saturating_sub(i)..BLOCK_DIGITS {
                let low = (i + j + 1 >= BLOCK_DIGITS).then(|| sum(i + j));
                let n = LINE * (BLOCK_DIGITS + j);
                let high = sum(i + j + 1);
                self.halves(D, format_args!("rcx + {n}"), low.as_deref(), Some(&high));
            }
        }
        emit!(self; "vpsrlq {last}, {last}, 52");
        emit!(self; "vpaddq {0}, {0}, {last}", sum(BLOCK_DIGITS));
    }

    fn begin_sum(&mut self, register: &str, number: usize) {
        emit!(self; "vpbroadcastq {register}, qword ptr [rbp + {}]", QUOTIENT + 8 * number);
    }

    /// Keeps the upper half of the column, with which the next one begins.
    fn keep_upper_half(&mut self) {
        for i in 0..BLOCK_DIGITS {
            emit!(self; "vmovdqa ymmword ptr [rdx + {}], {}", DIGIT * i, sum(BLOCK_DIGITS + i));
        }
    }

    /// Propagates the bits above 52 from digit to digit; they also stay in their digit.
    fn result(&mut self) {
        for i in 0..BLOCK_DIGITS {
            let digit = sum(i);
            if i > 0 {
                emit!(self; "vpaddq {digit}, {digit}, {H}");
            }
            emit!(self; "vpsrlq {H}, {digit}, 52");
            emit!(self; "vmovdqa ymmword ptr [rdi + {}], {digit}", LINE * i);
        }
        emit!(self; "add rdi, {LINES}");
    }
}

/// Returns the sum of column `i` of 0 to 9.
fn sum(i: usize) -> String {
    format!("ymm{i}")
}

/// The digit that the others are multiplied by.
const D: &str = "ymm10";
/// 2^104.
const HIGH_ONE: &str = "ymm11";
/// 2^104 + 2^52.
const BOTH_ONES: &str = "ymm12";
/// The halves of a product.
const H: &str = "ymm13";
const L: &str = "ymm14";
const X: &str = "ymm15";

/// Bytes of four digits, and of the eight in an operand's line.
const DIGIT: usize = 32;
const LINE: usize = 64;
const BLOCK_DIGITS: usize = 5;
const BLOCK: usize = DIGIT * BLOCK_DIGITS;
const LINES: usize = LINE * BLOCK_DIGITS;
/// Entries of a table, and how many are read at once.
const SELECTED: usize = 16;
const ENTRIES: usize = 8;

// Offsets in `Tables`.
const MASK: usize = 0;
const LOW: usize = 32;
const HIGH: usize = 64;
const BOTH: usize = 96;
const QUOTIENT: usize = 128;
const MXCSR: usize = 176;
const ROWS: usize = 192;
const ROW: usize = 128;
const BLOCKS_MAX: usize = 16;
