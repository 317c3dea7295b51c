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

use std::fmt::Write as _;
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
    for window in WINDOWS {
        files.push((format!("select_{window}.s"), select(window)));
    }
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

/// The text of one function, and what it is made of.
#[derive(Default)]
struct Assembly {
    text: String,
}

impl Assembly {
    fn line(&mut self, instruction: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "    {instruction}");
    }

    fn end(mut self) -> String {
        self.line(format_args!("vzeroupper"));
        self.line(format_args!("ret"));
        format!("{HEADER}{}", self.text)
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
        self.clear_carried();
        for k in 0..2 * blocks - 1 {
            self.clear_sums();
            for i in (k + 1).saturating_sub(blocks)..k.div_ceil(2) {
                self.block_product(A.block(i), A.block(k - i));
            }
            if k % 2 == 0 {
                self.block_square(A.block(k / 2));
            } else {
                self.double();
            }
            self.store_product(T.block(k));
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

    /// As `multiply_unrolled`, for as many blocks as BLOCKS says.
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

    /// As `square_unrolled`, for as many blocks as BLOCKS says.
    fn square_looped(&mut self) {
        self.clear_carried();
        self.line(format_args!("mov r10, rsi")); // A[first i]
        self.line(format_args!("mov r11, rsi")); // A[k - first i]
        self.line(format_args!("xor r12d, r12d")); // products in the column that are doubled
        self.line(format_args!("xor r14d, r14d")); // k
        self.line(format_args!("mov r15, r8")); // T[k]
        self.line(format_args!("lea rbp, [r9 + r9 - 1]"));
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
        self.block_square(Place("rax", 0));
        self.line(format_args!("jmp 5f"));
        self.label(4);
        self.double();
        self.label(5);
        self.store_product(Place("r15", 0));
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

    /// As `reduce_unrolled`, for as many blocks as BLOCKS says.
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
        let _ = writeln!(self.text, "{number}:");
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
    /// squares of its digits are added.
    fn block_square(&mut self, a: Place) {
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
            self.multiply_low(low(2 * i), factor(i), factor(i));
            self.multiply_high(high(2 * i + 1), factor(i), factor(i));
        }
    }

    fn double(&mut self) {
        for i in 0..2 * BLOCK - 1 {
            self.add(low(i), low(i));
            self.add(high(i + 1), high(i + 1));
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

    fn store_carried(&mut self, to: Place) {
        for i in 0..BLOCK {
            self.store(to.digit(i), carried(i));
        }
    }

    fn begin_reduction(&mut self) {
        self.clear_carried();
        self.load(NEGATIVE_INVERSE, Place("rcx", 0).digit(0));
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
            self.multiply_low(sum, m, n.digit(0));
            self.multiply_high(high(i + 1), m, n.digit(0));
            for j in 1..BLOCK {
                self.multiply_low(low(i + j), m, n.digit(j));
                self.multiply_high(high(i + j + 1), m, n.digit(j));
            }
            self.store(t.digit(i), m);
            // The low 52 bits are zero; what is above goes to the next column.
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
        let mask = Zmm(NEGATIVE_INVERSE.0);
        self.line(format_args!("vpternlogd {mask}, {mask}, {mask}, 255"));
        self.line(format_args!("vpsrlq {mask}, {mask}, 12"));
    }

    fn store_result(&mut self, t: Place, to: Place) {
        let mask = NEGATIVE_INVERSE;
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
            self.line(format_args!("vpandq {result}, {sum}, {mask}"));
            self.line(format_args!("vpsrlq {CARRY}, {sum}, 52"));
            self.store(to.digit(i), result);
        }
        self.carry_over();
    }
}

/// The entry that rdx's lanes name, of a table at rsi, to rdi; rcx digits. The entries of a digit lie
/// side by side, and all are read. Halves are chosen by one bit of the index after the other.
fn select(window: usize) -> String {
    let mut assembly = Assembly::default();
    assembly.line(format_args!("vmovdqu64 zmm0, zmmword ptr [rdx]"));
    for bit in 0..window {
        assembly.line(format_args!("mov eax, {}", 1 << bit));
        assembly.line(format_args!("vpbroadcastq zmm1, rax"));
        assembly.line(format_args!("vptestmq k{}, zmm0, zmm1", bit + 1));
    }
    assembly.label(2);
    select_digit(&mut assembly, Place("rsi", 0), window, 0);
    assembly.line(format_args!("vmovdqu64 zmmword ptr [rdi], zmm0"));
    assembly.line(format_args!("add rsi, {}", 64 << window));
    assembly.line(format_args!("add rdi, 64"));
    assembly.line(format_args!("dec rcx"));
    assembly.line(format_args!("jnz 2b"));
    assembly.end()
}

/// One of 2^`bits` entries from `place` on to register `to`; uses `bits` registers from there.
fn select_digit(assembly: &mut Assembly, place: Place, bits: usize, to: usize) {
    if bits == 1 {
        assembly.load(Zmm(to), place.digit(0));
        let other = place.digit(1);
        assembly.line(format_args!("vmovdqu64 zmm{to}{{k1}}, {other}"));
        return;
    }
    select_digit(assembly, place, bits - 1, to);
    let upper = Place(place.0, place.1 + (1 << (bits - 1)));
    select_digit(assembly, upper, bits - 1, to + 1);
    let other = to + 1;
    assembly.line(format_args!("vmovdqa64 zmm{to}{{k{bits}}}, zmm{other}"));
}

#[derive(Clone, Copy)]
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

/// -1 / N mod 2^52.
const NEGATIVE_INVERSE: Zmm = Zmm(30);
const CARRY: Zmm = Zmm(31);

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
const WINDOWS: [usize; 2] = [4, 5];
const FOLDER: &str = "crates/kernels/src/x86_64/ifma";
const HEADER: &str = "# Written by `cargo xtask kernels` (xtask/src/kernels.rs).\n";
