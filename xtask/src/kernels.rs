//! `cargo xtask kernels`: writes the assembly of the Montgomery kernels for AVX-512 IFMA.
//!
//! An operand is eight numbers, one in each lane: line `i` (64 bytes) holds digit `i`, of 52 bits,
//! of all eight. Everything is done in blocks of five digits. A product of two blocks takes 50
//! multiplications, ten loads and no store: the sums of its nine columns stay in registers, those of
//! low halves (`l`) apart from those of high halves (`h`), so that 18 chains of dependent additions
//! hide the latency of `vpmadd52`. What is written is, for operands of `b` blocks,
//!
//! ```text
//! for k in 0..2b-1:  column k of T = sum of A[i] B[k-i]               (a square doubles i < k-i)
//! for k in 0..b:     column k of T += sum of M[i] N[k-i], i < k
//!                    M[k] = -column / N mod 2^260, digit by digit     takes the place of the column
//! for k in b..2b:    column k of T += sum of M[i] N[k-i], carried into 52-bit digits: the result
//! ```
//!
//! Sums of columns are not carried before the end: 4 x 80 products of less than 2^52 fit in 64 bits.
//! Up to [`UNROLLED_DIGITS`] the loops are unrolled; beyond, the same blocks stand in loops, and
//! one text serves every width.

use std::path::Path;

use crate::tool::{Metadata, Result};

/// Writes the files anew.
pub fn run() -> Result<()> {
    let metadata = Metadata::load()?;
    for (name, text) in files() {
        let path = metadata.workspace_root.join(FOLDER).join(name);
        std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(())
}

/// `--check`: see [`check`].
pub fn check_all() -> Result<()> {
    check(&Metadata::load()?.workspace_root)
}

/// That the files are as this program would write them.
pub fn check(root: &Path) -> Result<()> {
    for (name, text) in files() {
        let path = root.join(FOLDER).join(&name);
        let there = std::fs::read_to_string(&path)
            .map_err(|error| format!("{}: {error}: run `cargo xtask kernels`", path.display()))?;
        if there != text {
            return Err(format!(
                "{FOLDER}/{name} is not as `cargo xtask kernels` writes it: run that, or undo what was edited"
            ));
        }
    }
    Ok(())
}

/// Names and texts.
fn files() -> Vec<(String, String)> {
    let mut files = Vec::new();
    for digits in UNROLLED_DIGITS {
        let blocks = digits / BLOCK;
        let unrolled = |product: fn(&mut Assembly, usize)| {
            let mut assembly = Assembly::default();
            product(&mut assembly, blocks);
            assembly.reduce_unrolled(blocks);
            assembly.end()
        };
        files.push((
            format!("multiply_{digits}.s"),
            unrolled(Assembly::multiply_unrolled),
        ));
        files.push((
            format!("square_{digits}.s"),
            unrolled(Assembly::square_unrolled),
        ));
        files.push((
            format!("square_and_select_{digits}.s"),
            unrolled(|assembly, blocks| {
                let (table, to) = ("r10", "r11");
                assembly.square_and_select_unrolled(blocks, Some(Selection { table, to }));
            }),
        ));
    }
    let looped = |product: fn(&mut Assembly)| {
        let mut assembly = Assembly::default();
        for register in SAVED {
            assembly.line(format_args!("push {register}"));
        }
        product(&mut assembly);
        assembly.reduce_looped();
        for register in SAVED.into_iter().rev() {
            assembly.line(format_args!("pop {register}"));
        }
        assembly.end()
    };
    files.push(("multiply.s".to_owned(), looped(Assembly::multiply_looped)));
    files.push(("square.s".to_owned(), looped(Assembly::square_looped)));
    files.push((
        "square_and_select.s".to_owned(),
        looped(|assembly| {
            let (table, to) = ("rdx", "rsi");
            assembly.square_and_select_looped(Some(Selection { table, to }));
        }),
    ));
    files.push(("select.s".to_owned(), select()));
    files
}

/// Where a line of an operand lies: a general register, and lines from there.
#[derive(Clone, Copy)]
struct Place(&'static str, usize);

impl Place {
    fn digit(self, digit: usize) -> String {
        match 64 * (self.1 + digit) {
            0 => format!("zmmword ptr [{}]", self.0),
            bytes => format!("zmmword ptr [{} + {bytes}]", self.0),
        }
    }

    fn block(self, block: usize) -> Self {
        Self(self.0, self.1 + BLOCK * block)
    }
}

/// Registers that name the next digit of a table, and where what is selected of it goes.
#[derive(Clone, Copy)]
struct Selection {
    table: &'static str,
    to: &'static str,
}

/// The text of one function, and what it is made of.
#[derive(Default)]
struct Assembly {
    lines: Vec<String>,
}

impl Assembly {
    fn line(&mut self, instruction: std::fmt::Arguments<'_>) {
        self.lines.push(format!("    {instruction}\n"));
    }

    fn end(mut self) -> String {
        self.line(format_args!("vzeroupper"));
        self.line(format_args!("ret"));
        format!("{HEADER}{}", self.lines.concat())
    }

    /// T = A B.
    fn multiply_unrolled(&mut self, blocks: usize) {
        self.clear_carried();
        for k in 0..2 * blocks - 1 {
            self.clear_sums();
            for i in (k + 1).saturating_sub(blocks)..blocks.min(k + 1) {
                self.block_product(A.block(i), B.block(k - i));
            }
            self.store_product(T.block(k));
        }
        self.store_carried(T.block(2 * blocks - 1));
    }

    /// T = A A.
    fn square_unrolled(&mut self, blocks: usize) {
        self.square_and_select_unrolled(blocks, None);
    }

    fn square_and_select_unrolled(&mut self, blocks: usize, selection: Option<Selection>) {
        if let Some(Selection { table, to }) = selection {
            self.line(format_args!("mov rax, [rdx]"));
            self.begin_selection("rax");
            self.line(format_args!("mov {table}, [rdx + 8]"));
            self.line(format_args!("mov {to}, [rdx + 16]"));
        }
        self.clear_carried();
        for k in 0..2 * blocks - 1 {
            self.clear_sums();
            for i in (k + 1).saturating_sub(blocks)..k.div_ceil(2) {
                self.block_product(A.block(i), A.block(k - i));
            }
            if k % 2 == 0 {
                self.block_square(A.block(k / 2), selection);
            } else {
                self.double();
            }
            self.store_doubled(T.block(k));
        }
        self.store_carried(T.block(2 * blocks - 1));
    }

    /// OUT = T / 2^260b mod N.
    fn reduce_unrolled(&mut self, blocks: usize) {
        self.begin_reduction();
        for k in 0..blocks {
            self.clear_sums();
            for i in 0..k {
                self.block_product(T.block(i), N.block(k - i));
            }
            self.quotient(T.block(k), N);
        }
        self.begin_result();
        for k in blocks..2 * blocks {
            self.clear_sums();
            for i in k + 1 - blocks..blocks {
                self.block_product(T.block(i), N.block(k - i));
            }
            self.store_result(T.block(k), OUT.block(k - blocks));
        }
    }

    /// As `multiply_unrolled`, for as many blocks as r9 says.
    fn multiply_looped(&mut self) {
        self.clear_carried();
        self.line(format_args!("mov r10, rsi")); // A[first i]
        self.line(format_args!("mov r11, rdx")); // B[k - first i]
        self.line(format_args!("mov r12, 1")); // products in the column
        self.line(format_args!("mov r15, r8")); // T[k]
        let column = |assembly: &mut Self| {
            assembly.clear_sums();
            assembly.line(format_args!("mov rax, r10"));
            assembly.line(format_args!("mov rbx, r11"));
            assembly.line(format_args!("mov r13, r12"));
            assembly.products();
            assembly.store_product(Place("r15", 0));
            assembly.line(format_args!("add r15, {BLOCK_BYTES}"));
        };
        self.label(2);
        column(self);
        self.line(format_args!("add r11, {BLOCK_BYTES}"));
        self.line(format_args!("inc r12"));
        self.line(format_args!("cmp r12, r9"));
        self.line(format_args!("jbe 2b"));
        self.line(format_args!("sub r11, {BLOCK_BYTES}"));
        self.line(format_args!("lea r12, [r9 - 1]"));
        self.label(3);
        self.line(format_args!("add r10, {BLOCK_BYTES}"));
        column(self);
        self.line(format_args!("dec r12"));
        self.line(format_args!("jnz 3b"));
        self.store_carried(Place("r15", 0));
    }

    /// As `square_unrolled`, for as many blocks as r9 says.
    fn square_looped(&mut self) {
        self.square_and_select_looped(None);
    }

    fn square_and_select_looped(&mut self, selection: Option<Selection>) {
        if selection.is_some() {
            self.line(format_args!("mov rax, [rdx]"));
            self.begin_selection("rax");
        }
        self.clear_carried();
        self.line(format_args!("mov r10, rsi")); // A[first i]
        self.line(format_args!("mov r11, rsi")); // A[k - first i]
        self.line(format_args!("xor r12d, r12d")); // products in the column that are doubled
        self.line(format_args!("xor r14d, r14d")); // k
        self.line(format_args!("mov r15, r8")); // T[k]
        self.line(format_args!("lea rbp, [r9 + r9 - 1]"));
        if let Some(Selection { table, to }) = selection {
            self.line(format_args!("mov {to}, [rdx + 16]"));
            self.line(format_args!("mov {table}, [rdx + 8]"));
        }
        self.label(2);
        self.clear_sums();
        self.line(format_args!("mov rax, r10"));
        self.line(format_args!("mov rbx, r11"));
        self.line(format_args!("mov r13, r12"));
        self.line(format_args!("test r13, r13"));
        self.line(format_args!("jz 3f"));
        self.products();
        self.label(3);
        self.line(format_args!("test r14, 1"));
        self.line(format_args!("jnz 4f"));
        // With every i < k / 2 done, rax is at A[k / 2].
        self.block_square(Place("rax", 0), selection);
        self.line(format_args!("jmp 5f"));
        self.label(4);
        self.double();
        self.label(5);
        self.store_doubled(Place("r15", 0));
        self.line(format_args!("add r15, {BLOCK_BYTES}"));
        self.line(format_args!("inc r14"));
        // The next column: first i = max(0, k + 1 - b), and (k + 1) / 2 - first i products.
        self.line(format_args!("lea r12, [r14 + 1]"));
        self.line(format_args!("shr r12"));
        self.line(format_args!("cmp r14, r9"));
        self.line(format_args!("jae 6f"));
        self.line(format_args!("add r11, {BLOCK_BYTES}"));
        self.line(format_args!("jmp 2b"));
        self.label(6);
        self.line(format_args!("add r10, {BLOCK_BYTES}"));
        self.line(format_args!("lea rax, [r14 + 1]"));
        self.line(format_args!("sub rax, r9"));
        self.line(format_args!("sub r12, rax"));
        self.line(format_args!("cmp r14, rbp"));
        self.line(format_args!("jb 2b"));
        self.store_carried(Place("r15", 0));
    }

    /// As `reduce_unrolled`, for as many blocks as r9 says.
    fn reduce_looped(&mut self) {
        self.begin_reduction();
        self.line(format_args!("lea r11, [rcx + 64]")); // N[k - first i]
        self.line(format_args!("mov r15, r8")); // T[k]
        self.line(format_args!("xor r12d, r12d")); // products in the column
        self.label(2);
        self.clear_sums();
        self.line(format_args!("mov rax, r8"));
        self.line(format_args!("mov rbx, r11"));
        self.line(format_args!("mov r13, r12"));
        self.line(format_args!("test r13, r13"));
        self.line(format_args!("jz 3f"));
        self.products();
        self.label(3);
        self.quotient(Place("r15", 0), N);
        self.line(format_args!("add r15, {BLOCK_BYTES}"));
        self.line(format_args!("add r11, {BLOCK_BYTES}"));
        self.line(format_args!("inc r12"));
        self.line(format_args!("cmp r12, r9"));
        self.line(format_args!("jb 2b"));
        self.begin_result();
        self.line(format_args!("sub r11, {BLOCK_BYTES}"));
        self.line(format_args!("mov r10, r8")); // M[first i]
        self.label(2);
        self.clear_sums();
        self.line(format_args!("add r10, {BLOCK_BYTES}"));
        self.line(format_args!("dec r12"));
        self.line(format_args!("jz 3f"));
        self.line(format_args!("mov rax, r10"));
        self.line(format_args!("mov rbx, r11"));
        self.line(format_args!("mov r13, r12"));
        self.products();
        self.store_result(Place("r15", 0), OUT);
        self.line(format_args!("add r15, {BLOCK_BYTES}"));
        self.line(format_args!("add rdi, {BLOCK_BYTES}"));
        self.line(format_args!("jmp 2b"));
        self.label(3);
        self.store_result(Place("r15", 0), OUT);
    }

    /// r13 products of a block from rax on upwards, and one from rbx on downwards.
    fn products(&mut self) {
        self.label(9);
        self.block_product(Place("rax", 0), Place("rbx", 0));
        self.line(format_args!("add rax, {BLOCK_BYTES}"));
        self.line(format_args!("sub rbx, {BLOCK_BYTES}"));
        self.line(format_args!("dec r13"));
        self.line(format_args!("jnz 9b"));
    }

    fn label(&mut self, number: usize) {
        self.lines.push(format!("{number}:\n"));
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

    fn clear(&mut self, Zmm(register): Zmm) {
        // The shorter encoding does not reach the upper half of the registers.
        let name = if register < 16 { "vpxor" } else { "vpxord" };
        self.line(format_args!(
            "{name} xmm{register}, xmm{register}, xmm{register}"
        ));
    }

    fn load(&mut self, register: Zmm, from: String) {
        self.line(format_args!("vmovdqu64 {register}, {from}"));
    }

    fn store(&mut self, to: String, register: Zmm) {
        self.line(format_args!("vmovdqu64 {to}, {register}"));
    }

    fn add(&mut self, to: Zmm, more: impl std::fmt::Display) {
        self.line(format_args!("vpaddq {to}, {to}, {more}"));
    }

    /// The sums of columns get the product of two blocks.
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

    /// The sums of columns, and the products of different digits of a block, are doubled; then the
    /// squares of its digits are added. A digit of a table may be selected meanwhile.
    fn block_square(&mut self, a: Place, selection: Option<Selection>) {
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
        if let Some(Selection { table, to }) = selection {
            let mut other = Self::default();
            other.select_digit(table, to);
            self.interleave(start, other);
        }
    }

    /// The bits of the indices at `indices`, as masks; that of the highest bit is inverted.
    fn begin_selection(&mut self, indices: &'static str) {
        let [index, one, ..] = FREE;
        self.load(index, Place(indices, 0).digit(0));
        for bit in 0..WINDOW {
            self.line(format_args!("mov eax, {}", 1 << bit));
            self.line(format_args!("vpbroadcastq {one}, rax"));
            let test = if bit + 1 == WINDOW {
                "vptestnmq"
            } else {
                "vptestmq"
            };
            self.line(format_args!("{test} k{}, {index}, {one}", bit + 1));
        }
    }

    /// One digit of the entries that the masks name, from `table` to `to`; both registers go to the
    /// next digit. Halves are chosen by one bit of the index after the other, the halves of the
    /// whole by way of memory, for want of a fifth register.
    fn select_digit(&mut self, table: &'static str, to: &'static str) {
        let half = 1 << (WINDOW - 1);
        self.select_entry(Place(table, 0), WINDOW - 1, &FREE);
        self.store(Place(to, 0).digit(0), FREE[0]);
        self.select_entry(Place(table, half), WINDOW - 1, &FREE);
        let (chosen, lower) = (FREE[0], Place(to, 0).digit(0));
        self.line(format_args!("vmovdqu64 {chosen}{{k{WINDOW}}}, {lower}"));
        self.store(Place(to, 0).digit(0), chosen);
        self.line(format_args!("add {table}, {}", 64 << WINDOW));
        self.line(format_args!("add {to}, 64"));
    }

    /// One of 2^`bits` entries from `place` on to the first of the registers.
    fn select_entry(&mut self, place: Place, bits: usize, registers: &[Zmm]) {
        let (to, other) = (registers[0], Place(place.0, place.1 + (1 << (bits - 1))));
        if bits == 1 {
            self.load(to, place.digit(0));
            let other = other.digit(0);
            self.line(format_args!("vmovdqu64 {to}{{k1}}, {other}"));
        } else {
            self.select_entry(place, bits - 1, registers);
            self.select_entry(other, bits - 1, &registers[1..]);
            let other = registers[1];
            self.line(format_args!("vmovdqa64 {to}{{k{bits}}}, {other}"));
        }
    }

    /// Spreads the lines of `other` among those since `start`.
    fn interleave(&mut self, start: usize, other: Self) {
        let own = self.lines.split_off(start);
        let (count, others) = (own.len(), other.lines.len());
        let mut other = other.lines.into_iter();
        for (i, line) in own.into_iter().enumerate() {
            self.lines.push(line);
            let due = others * (i + 1) / count - others * i / count;
            self.lines.extend(other.by_ref().take(due));
        }
    }

    /// Low and high halves of a column are put together, and doubled.
    fn double(&mut self) {
        for i in 0..2 * BLOCK {
            let column = doubled(i);
            if i > 0 && column != high(i) {
                self.add(column, high(i));
            }
            self.add(column, column);
        }
    }

    fn multiply_low(&mut self, sum: Zmm, a: Zmm, b: impl std::fmt::Display) {
        self.line(format_args!("vpmadd52luq {sum}, {a}, {b}"));
    }

    fn multiply_high(&mut self, sum: Zmm, a: Zmm, b: impl std::fmt::Display) {
        self.line(format_args!("vpmadd52huq {sum}, {a}, {b}"));
    }

    /// The lower columns go to memory, the upper ones are carried over.
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

    /// The upper columns are the lower ones of the next block.
    fn carry_over(&mut self) {
        for i in 0..BLOCK - 1 {
            let (next, l, h) = (carried(i), low(i + BLOCK), high(i + BLOCK));
            self.line(format_args!("vpaddq {next}, {l}, {h}"));
        }
        let (next, h) = (carried(BLOCK - 1), high(2 * BLOCK - 1));
        self.line(format_args!("vmovdqa64 {next}, {h}"));
    }

    /// As `store_product`, of columns put together.
    fn store_doubled(&mut self, to: Place) {
        for i in 0..BLOCK {
            self.add(carried(i), doubled(i));
            self.store(to.digit(i), carried(i));
            let (next, column) = (carried(i), doubled(i + BLOCK));
            self.line(format_args!("vmovdqa64 {next}, {column}"));
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
        self.line(format_args!("vpternlogd {MASK}, {MASK}, {MASK}, 255"));
        self.line(format_args!("vpsrlq {MASK}, {MASK}, 12"));
    }

    /// Digits of the quotient take the place of the block of T, which they make zero.
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
            // The low 52 bits become zero, by a carry where they are not; what is above goes to the
            // next column.
            self.add(sum, MASK);
            self.line(format_args!("vpsrlq {sum}, {sum}, 52"));
            if i + 1 < BLOCK {
                self.add(carried(i + 1), sum);
            } else {
                self.add(low(BLOCK), sum);
            }
        }
        self.carry_over();
    }

    /// From here on what is beyond 52 bits goes from digit to digit of the result.
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
            let (sum, result) = (carried(i), digit(i));
            self.add(sum, CARRY);
            self.line(format_args!("vpandq {result}, {sum}, {MASK}"));
            self.line(format_args!("vpsrlq {CARRY}, {sum}, 52"));
            self.store(to.digit(i), result);
        }
        self.carry_over();
    }
}

/// Digits of the entries that the lanes at rdx name, of a table at rsi, to rdi; rcx digits.
fn select() -> String {
    let mut assembly = Assembly::default();
    assembly.begin_selection("rdx");
    assembly.label(2);
    assembly.select_digit("rsi", "rdi");
    assembly.line(format_args!("dec rcx"));
    assembly.line(format_args!("jnz 2b"));
    assembly.end()
}

#[derive(Clone, Copy, PartialEq)]
struct Zmm(usize);

impl std::fmt::Display for Zmm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "zmm{}", self.0)
    }
}

/// Sum of low halves for column `i` of 0 to 8.
fn low(i: usize) -> Zmm {
    Zmm(i)
}

/// Sum of high halves for column `i` of 1 to 9.
fn high(i: usize) -> Zmm {
    Zmm(2 * BLOCK - 2 + i)
}

/// Sum of both for column `i` of 0 to 9.
fn doubled(i: usize) -> Zmm {
    if i < 2 * BLOCK - 1 { low(i) } else { high(i) }
}

/// Digit `i` of the block that stays in registers.
fn factor(i: usize) -> Zmm {
    Zmm(18 + i)
}

/// Digits of the other block, two at a time.
fn digit(j: usize) -> Zmm {
    Zmm(23 + j % 2)
}

/// What the columns before have left for column `i`.
fn carried(i: usize) -> Zmm {
    Zmm(25 + i)
}

/// -1 / N mod 2^52, while there are quotients.
const NEGATIVE_INVERSE: Zmm = Zmm(30);
/// What is beyond the digits of the result, afterwards.
const CARRY: Zmm = Zmm(30);
/// 2^52 - 1, in the reduction.
const MASK: Zmm = Zmm(31);
/// What a selection beside the square of a block may use.
const FREE: [Zmm; 4] = [Zmm(23), Zmm(24), Zmm(30), Zmm(31)];

// The System V calling convention, and `Kernel` in crates/kernels/src/x86_64/ifma/mod.rs.
const OUT: Place = Place("rdi", 0);
const A: Place = Place("rsi", 0);
const B: Place = Place("rdx", 0);
const N: Place = Place("rcx", 1); // after -1 / N
const T: Place = Place("r8", 0);
const SAVED: [&str; 6] = ["rbx", "rbp", "r12", "r13", "r14", "r15"];

const BLOCK: usize = 5;
const BLOCK_BYTES: usize = 64 * BLOCK;
const UNROLLED_DIGITS: [usize; 3] = [10, 15, 20];
/// Bits of an index; the table has 2^WINDOW entries.
const WINDOW: usize = 5;
const FOLDER: &str = "crates/kernels/src/x86_64/ifma";
const HEADER: &str = "# Written by `cargo xtask kernels` (xtask/src/kernels.rs).\n";
