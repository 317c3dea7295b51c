//! ChaCha20 on AVX2, eight blocks at once, alone or interleaved with Poly1305.
//!
//! A register holds one of the sixteen words of eight blocks. Sixteen words and two temporaries exceed the sixteen registers
//! by two: two of words 8 to 11 lie in memory, and return as the memory operand of the addition that needs them. A double
//! round is 128 instructions, which four vector units execute in 32 cycles, and four stores.
//!
//! Poly1305 runs on the integer units, in two chains: one for each half of the bytes. So does an additional block, for the
//! one-time key of a message, or alone: the four quarter rounds of a single block keep these units busy, with one-cycle
//! instructions.

use super::assembly::Assembly;

/// Returns the names and texts of the files.
pub fn files() -> [(&'static str, String); 4] {
    [
        ("crypt.s", crypt()),
        ("crypt_and_mac.s", crypt_and_mac()),
        ("crypt_and_block.s", crypt_and_block()),
        ("block.s", block()),
    ]
}

/// XORs keystream onto chunks of eight blocks.
fn crypt() -> String {
    let mut assembly = Assembly::default();
    assembly.label(2);
    begin_chunk(&mut assembly);
    plain_double_rounds(&mut assembly, 10);
    end_chunk(&mut assembly, ["rcx", "rdx"], 8);
    line(&mut assembly, format!("dec {}", quad(CHUNKS)));
    line(&mut assembly, "jnz 2b");
    assembly.end()
}

/// Like [`crypt`], with Poly1305 of separate data interleaved into the rounds; `STEPS` determines its length.
fn crypt_and_mac() -> String {
    let mut assembly = Assembly::default();
    save(&mut assembly);
    line(&mut assembly, format!("mov {FIRST}, {}", quad(MAC_FROM)));
    for (i, register) in ONE.into_iter().enumerate() {
        line(
            &mut assembly,
            format!("mov {register}, {}", quad(MAC + 8 * i as i32)),
        );
    }
    for register in OTHER {
        line(&mut assembly, format!("xor {register}, {register}"));
    }
    assembly.label(2);
    begin_chunk(&mut assembly);
    line(&mut assembly, format!("mov {}, {}", T[0], quad(STEPS)));
    line(&mut assembly, format!("mov {}, {}", quad(LEFT), T[0]));
    line(&mut assembly, format!("shl {}, 5", T[0]));
    line(&mut assembly, format!("lea {SECOND}, [{FIRST} + {}]", T[0]));
    assembly.label(3);
    let start = assembly.lines.len();
    double_round(&mut assembly);
    let mut beside = Assembly::default();
    for block in 0..2 {
        step(&mut beside, FIRST, 16 * block, ONE);
        step(&mut beside, SECOND, 16 * block, OTHER);
    }
    line(&mut beside, format!("add {FIRST}, 32"));
    line(&mut beside, format!("add {SECOND}, 32"));
    assembly.interleave(start, beside);
    line(&mut assembly, format!("dec {}", quad(LEFT)));
    line(&mut assembly, "jnz 3b");
    let start = assembly.lines.len();
    double_round(&mut assembly);
    let mut beside = Assembly::default();
    join(&mut beside);
    // The MAC continues with the bytes that follow.
    line(&mut beside, format!("mov {FIRST}, {SECOND}"));
    assembly.interleave(start, beside);
    line(&mut assembly, format!("mov {}, 9", T[0]));
    line(&mut assembly, format!("sub {}, {}", T[0], quad(STEPS)));
    assembly.label(4);
    double_round(&mut assembly);
    line(&mut assembly, format!("dec {}", T[0]));
    line(&mut assembly, "jnz 4b");
    end_chunk(&mut assembly, [T[1], T[2]], 8);
    line(&mut assembly, format!("dec {}", quad(CHUNKS)));
    line(&mut assembly, "jnz 2b");
    for (i, register) in ONE.into_iter().enumerate() {
        line(
            &mut assembly,
            format!("mov {}, {register}", quad(MAC + 8 * i as i32)),
        );
    }
    restore(&mut assembly);
    assembly.end()
}

/// Like [`crypt`], with the keystream of a separate block interleaved into the rounds. The chunks are nine blocks apart.
fn crypt_and_block() -> String {
    let mut assembly = Assembly::default();
    save(&mut assembly);
    assembly.label(2);
    begin_block(&mut assembly);
    begin_chunk(&mut assembly);
    line(&mut assembly, format!("mov {}, 10", quad(LEFT)));
    assembly.label(3);
    let start = assembly.lines.len();
    double_round(&mut assembly);
    let mut beside = Assembly::default();
    double_round_of_block(&mut beside);
    assembly.interleave(start, beside);
    line(&mut assembly, format!("dec {}", quad(LEFT)));
    line(&mut assembly, "jnz 3b");
    end_block(&mut assembly);
    line(&mut assembly, format!("add {}, 9", double(BLOCK_COUNTER)));
    for pointer in [BLOCK_FROM, BLOCK_TO] {
        line(
            &mut assembly,
            format!("add {}, {}", quad(pointer), 9 * BLOCK_BYTES),
        );
    }
    end_chunk(&mut assembly, ["rcx", "rdx"], 9);
    line(&mut assembly, format!("dec {}", quad(CHUNKS)));
    line(&mut assembly, "jnz 2b");
    restore(&mut assembly);
    assembly.end()
}

/// XORs keystream onto one block.
fn block() -> String {
    let mut assembly = Assembly::default();
    save(&mut assembly);
    begin_block(&mut assembly);
    line(&mut assembly, format!("mov {}, 10", quad(LEFT)));
    assembly.label(2);
    double_round_of_block(&mut assembly);
    line(&mut assembly, format!("dec {}", quad(LEFT)));
    line(&mut assembly, "jnz 2b");
    end_block(&mut assembly);
    restore(&mut assembly);
    line(&mut assembly, "ret");
    assembly.end_without_vectors()
}

pub fn save(assembly: &mut Assembly) {
    for register in SAVED {
        line(assembly, format!("push {register}"));
    }
}

pub fn restore(assembly: &mut Assembly) {
    for register in SAVED.into_iter().rev() {
        line(assembly, format!("pop {register}"));
    }
}

/// Loads a block's words into their registers. As in a chunk, two of words 8 to 11 lie in memory.
pub fn begin_block(assembly: &mut Assembly) {
    let halves = [WORD_C[0], WORD_C[1]];
    for i in [2, 3] {
        let place = WORDS + 32 + 4 * i as i32;
        line(
            assembly,
            format!("mov {}, {}", halves[i - 2].low(), double(place)),
        );
        line(
            assembly,
            format!("mov {}, {}", double(block_c_place(i)), halves[i - 2].low()),
        );
    }
    for (first, words) in [(0, &WORD_A[..]), (4, &WORD_B), (12, &WORD_D), (8, &WORD_C)] {
        for (i, word) in words.iter().enumerate() {
            let place = double(block_initial(first + i));
            line(assembly, format!("mov {}, {place}", word.low()));
        }
    }
}

pub fn double_round_of_block(assembly: &mut Assembly) {
    for (i, turn, fetch) in [(0, 0, false), (2, 0, true), (0, 1, false), (2, 1, true)] {
        alternate(
            assembly,
            [0, 1].map(|k| quarter_of_block(i + k, k, turn, fetch)),
        );
    }
}

fn quarter_of_block(i: usize, k: usize, turn: usize, fetch: bool) -> Vec<String> {
    let mut lines = Assembly::default();
    let a = WORD_A[i].low();
    let b = WORD_B[(i + turn) % 4].low();
    let d = WORD_D[(i + 3 * turn) % 4].low();
    let c = WORD_C[k].low();
    let place = (i + 2 * turn) % 4;
    if fetch {
        let before = double(block_c_place((place + 2) % 4));
        line(&mut lines, format!("mov {before}, {c}"));
        line(
            &mut lines,
            format!("mov {c}, {}", double(block_c_place(place))),
        );
    }
    for (to, with, xored, bits) in [
        (&a, &b, &d, 16),
        (&c, &d, &b, 12),
        (&a, &b, &d, 8),
        (&c, &d, &b, 7),
    ] {
        line(&mut lines, format!("add {to}, {with}"));
        line(&mut lines, format!("xor {xored}, {to}"));
        line(&mut lines, format!("rol {xored}, {bits}"));
    }
    lines.lines
}

/// Adds the initial words and XORs two words at a time, so that a reader of the result does not wait for two stores.
/// Afterwards all registers but rdi are free.
pub fn end_block(assembly: &mut Assembly) {
    let [from, to] = [WORD_A[0].0, WORD_A[1].0];
    for (first, words) in [(0, &WORD_A[..]), (4, &WORD_B), (12, &WORD_D), (8, &WORD_C)] {
        for half in [0, 2] {
            let mut pair = [WORD_B[0], WORD_B[1]];
            if first == 8 && half == 2 {
                for i in [0, 1] {
                    let place = double(block_c_place(2 + i));
                    line(assembly, format!("mov {}, {place}", pair[i].low()));
                }
            } else {
                pair.copy_from_slice(&words[half..half + 2]);
            }
            let [low, high] = pair;
            for (i, word) in pair.into_iter().enumerate() {
                let place = double(block_initial(first + half + i));
                line(assembly, format!("add {}, {place}", word.low()));
            }
            line(assembly, format!("shl {}, 32", high.0));
            line(assembly, format!("or {}, {}", low.0, high.0));
            // Load the pointers as soon as registers are free.
            let at = 4 * (first + half);
            if at == 0 {
                line(assembly, format!("mov {to}, {}", quad(BLOCK_FROM)));
                line(assembly, format!("xor {}, [{to}]", low.0));
                line(assembly, format!("mov {to}, {}", quad(BLOCK_TO)));
                line(assembly, format!("mov [{to}], {}", low.0));
                line(assembly, format!("mov {from}, {}", quad(BLOCK_FROM)));
            } else {
                line(assembly, format!("xor {}, [{from} + {at}]", low.0));
                line(assembly, format!("mov [{to} + {at}], {}", low.0));
            }
        }
    }
}

fn plain_double_rounds(assembly: &mut Assembly, count: usize) {
    line(assembly, format!("mov eax, {count}"));
    assembly.label(3);
    double_round(assembly);
    line(assembly, "dec eax");
    line(assembly, "jnz 3b");
}

/// Loads the initial words into their registers.
fn begin_chunk(assembly: &mut Assembly) {
    for i in [0, 4, 12, 1, 5, 13, 2, 6, 14, 3, 7, 15, 8, 9] {
        let register = match i {
            8.. if i < 12 => C[i - 8],
            12.. => D[i - 12],
            4.. => B[i - 4],
            _ => A[i],
        };
        load_initial(assembly, register, i);
        if i == 12 {
            vector(assembly, "vpaddd", register, register, at(NUMBERS));
        }
    }
    for i in [2, 3] {
        load_initial(assembly, T14[i - 2], 8 + i);
        store(assembly, at(c_place(i)), T14[i - 2]);
    }
}

fn double_round(assembly: &mut Assembly) {
    // Words 8 and 9 are in registers, then 10 and 11, which still are when the diagonals begin.
    pair(assembly, 0, 0, false);
    pair(assembly, 2, 0, true);
    pair(assembly, 0, 1, false);
    pair(assembly, 2, 1, true);
}

/// Generates quarter rounds `i` and `i + 1`, of columns with a `turn` of 0, of diagonals with 1. With `fetch`, their two of
/// words 8 to 11 are loaded from memory, and those in registers are stored.
fn pair(assembly: &mut Assembly, i: usize, turn: usize, fetch: bool) {
    alternate(assembly, [0, 1].map(|k| quarter(i + k, k, turn, fetch)));
}

/// Alternates the instructions of two sequences of equal length.
fn alternate(assembly: &mut Assembly, [one, other]: [Vec<String>; 2]) {
    for (one, other) in one.into_iter().zip(other) {
        assembly.lines.extend([one, other]);
    }
}

fn quarter(i: usize, k: usize, turn: usize, fetch: bool) -> Vec<String> {
    let mut lines = Assembly::default();
    let (a, b, d) = (A[i], B[(i + turn) % 4], D[(i + 3 * turn) % 4]);
    let (c, t) = (C[k], T14[k]);
    let place = (i + 2 * turn) % 4;
    let q = &mut lines;
    vector(q, "vpaddd", a, a, b.to_string());
    if fetch {
        // The register held the other pair's word.
        store(q, at(c_place((place + 2) % 4)), c);
    }
    vector(q, "vpxor", d, d, a.to_string());
    vector(q, "vpshufb", d, d, at(BY_16));
    if fetch {
        vector(q, "vpaddd", c, d, at(c_place(place)));
    } else {
        vector(q, "vpaddd", c, c, d.to_string());
    }
    vector(q, "vpxor", b, b, c.to_string());
    rotate(q, b, t, 12);
    vector(q, "vpaddd", a, a, b.to_string());
    vector(q, "vpxor", d, d, a.to_string());
    vector(q, "vpshufb", d, d, at(BY_8));
    vector(q, "vpaddd", c, c, d.to_string());
    vector(q, "vpxor", b, b, c.to_string());
    rotate(q, b, t, 7);
    lines.lines
}

fn rotate(assembly: &mut Assembly, word: Ymm, on_the_way: Ymm, bits: usize) {
    let back = 32 - bits;
    vector(assembly, "vpslld", on_the_way, word, bits.to_string());
    vector(assembly, "vpsrld", word, word, back.to_string());
    vector(assembly, "vpor", word, word, on_the_way.to_string());
}

/// Adds the initial words, assembles the blocks and XORs them; then advances by `blocks` blocks. `from` and `to` are two
/// registers.
fn end_chunk(assembly: &mut Assembly, [from, to]: [&str; 2], blocks: usize) {
    line(assembly, format!("mov {from}, {}", quad(FROM)));
    line(assembly, format!("mov {to}, {}", quad(TO)));
    let mut free = T14.to_vec();
    let mut rows = Vec::new();
    for (first, mut row) in [(0, A), (4, B), (12, D), (8, [C[0], C[1], Ymm(0), Ymm(0)])] {
        if first == 8 {
            for (i, register) in row.iter_mut().enumerate().skip(2) {
                *register = free.remove(0);
                vector_load(assembly, *register, at(c_place(i)));
            }
        }
        for (i, register) in row.into_iter().enumerate() {
            let t = free[i % 2];
            load_initial(assembly, t, first + i);
            vector(assembly, "vpaddd", register, register, t.to_string());
        }
        if first == 12 {
            vector(assembly, "vpaddd", row[0], row[0], at(NUMBERS));
        }
        let (turned, left) = transpose(assembly, row, [free[0], free[1]]);
        free.splice(0..2, left);
        rows.push(turned);
        if first == 4 {
            xor_halves(assembly, &rows, &mut free, 0, [from, to]);
        }
    }
    let second = [rows[3], rows[2]];
    xor_halves(assembly, &second, &mut free, 32, [from, to]);
    for pointer in [FROM, TO] {
        line(
            assembly,
            format!("add {}, {}", quad(pointer), blocks * BLOCK_BYTES),
        );
    }
    line(assembly, format!("add {}, {blocks}", double(WORDS + 48)));
}

/// Transposes four words of eight blocks, after which each register has those of block i and of block i + 4. Needs two
/// registers that are free then.
fn transpose(
    assembly: &mut Assembly,
    [a, b, c, d]: [Ymm; 4],
    [t, u]: [Ymm; 2],
) -> ([Ymm; 4], [Ymm; 2]) {
    vector(assembly, "vpunpckldq", t, a, b.to_string());
    vector(assembly, "vpunpckhdq", a, a, b.to_string());
    vector(assembly, "vpunpckldq", u, c, d.to_string());
    vector(assembly, "vpunpckhdq", c, c, d.to_string());
    vector(assembly, "vpunpcklqdq", b, t, u.to_string());
    vector(assembly, "vpunpckhqdq", d, t, u.to_string());
    vector(assembly, "vpunpcklqdq", t, a, c.to_string());
    vector(assembly, "vpunpckhqdq", u, a, c.to_string());
    ([b, d, t, u], [a, c])
}

/// XORs half of each block, from two rows of quarters.
fn xor_halves(
    assembly: &mut Assembly,
    rows: &[[Ymm; 4]],
    free: &mut Vec<Ymm>,
    offset: usize,
    [from, to]: [&str; 2],
) {
    for (i, (one, other)) in rows[0].into_iter().zip(rows[1]).enumerate() {
        let t = free[0];
        line(assembly, format!("vperm2i128 {t}, {one}, {other}, 0x20"));
        line(assembly, format!("vperm2i128 {one}, {one}, {other}, 0x31"));
        for (register, block) in [(t, i), (one, i + 4)] {
            let place = 64 * block + offset;
            let data = format!("ymmword ptr [{from} + {place}]");
            vector(assembly, "vpxor", register, register, data);
            store(assembly, format!("ymmword ptr [{to} + {place}]"), register);
        }
        free.push(other);
        free.push(one);
        free.rotate_left(1);
    }
}

/// Computes h = (h + block + 2^128) r: `Element::step` of crates/kernels/src/poly1305.rs.
pub fn step(assembly: &mut Assembly, from: &str, offset: usize, [h0, h1, h2]: [&str; 3]) {
    let [t1, t2, t3, t4, t5] = T;
    let (r0, r1, s1) = (quad(R0), quad(R1), quad(R1_BY_5_4));
    let high = offset + 8;
    for instruction in [
        format!("add {h0}, [{from} + {offset}]"),
        format!("adc {h1}, [{from} + {high}]"),
        format!("adc {h2}, 1"),
        format!("mov rdx, {h0}"),
        format!("mulx {t1}, {h0}, {r0}"),
        format!("mulx {t3}, {t2}, {r1}"),
        format!("mov rdx, {h1}"),
        format!("mulx {t5}, {t4}, {s1}"),
        format!("add {h0}, {t4}"),
        format!("adc {t1}, {t5}"),
        format!("mulx {t5}, {h1}, {r0}"),
        format!("add {h1}, {t2}"),
        format!("adc {t5}, {t3}"),
        format!("mov {t4}, {s1}"),
        format!("imul {t4}, {h2}"),
        format!("imul {h2}, {r0}"),
        format!("add {h1}, {t4}"),
        format!("adc {h2}, {t5}"),
        format!("add {h1}, {t1}"),
        format!("adc {h2}, 0"),
    ] {
        line(assembly, instruction);
    }
    carry(assembly, [h0, h1, h2], [t4, t5]);
}

/// Reduces: bits from 2^130 on are multiplied by five and added to the low ones.
pub fn carry(assembly: &mut Assembly, [h0, h1, h2]: [&str; 3], [t, u]: [&str; 2]) {
    for instruction in [
        format!("mov {t}, {h2}"),
        format!("mov {u}, {h2}"),
        format!("and {t}, -4"),
        format!("shr {u}, 2"),
        format!("and {h2}, 3"),
        format!("add {t}, {u}"),
        format!("add {h0}, {t}"),
        format!("adc {h1}, 0"),
        format!("adc {h2}, 0"),
    ] {
        line(assembly, instruction);
    }
}

/// Multiplies the first chain by a power of r and adds the second, which restarts at zero: `Element::times` and `plus`.
pub fn join(assembly: &mut Assembly) {
    let [a0, a1, a2] = ONE;
    let [p0, p1, p2, t, p3] = T;
    let [j0, j1, j2] = [0, 8, 16].map(|i| quad(JOIN + i));
    let (u, p4) = (a0, a1);
    for instruction in [
        format!("mov rdx, {a0}"),
        format!("mulx {p1}, {p0}, {j0}"),
        format!("mulx {p2}, {t}, {j1}"),
        format!("add {p1}, {t}"),
        format!("mulx {p3}, {t}, {j2}"),
        format!("adc {p2}, {t}"),
        format!("adc {p3}, 0"),
        format!("mov rdx, {a1}"),
        format!("mulx {u}, {t}, {j0}"),
        format!("add {p1}, {t}"),
        format!("adc {p2}, {u}"),
        format!("adc {p3}, 0"),
        format!("mulx {u}, {t}, {j1}"),
        format!("mov {p4}, 0"),
        format!("add {p2}, {t}"),
        format!("adc {p3}, {u}"),
        format!("adc {p4}, 0"),
        format!("mulx {u}, {t}, {j2}"),
        format!("add {p3}, {t}"),
        format!("adc {p4}, {u}"),
        format!("mov rdx, {a2}"),
        format!("mulx {u}, {t}, {j0}"),
        format!("add {p2}, {t}"),
        format!("adc {p3}, {u}"),
        format!("adc {p4}, 0"),
        format!("mulx {u}, {t}, {j1}"),
        format!("add {p3}, {t}"),
        format!("adc {p4}, {u}"),
        format!("imul rdx, {j2}"),
        format!("add {p4}, rdx"),
        // Bits of 2^130 and above count five times below: four times and once.
        format!("mov {a2}, {p2}"),
        format!("and {a2}, 3"),
        format!("and {p2}, -4"),
        format!("add {p0}, {}", OTHER[0]),
        format!("adc {p1}, {}", OTHER[1]),
        format!("adc {a2}, {}", OTHER[2]),
        format!("add {p0}, {p2}"),
        format!("adc {p1}, {p3}"),
        format!("adc {a2}, {p4}"),
        format!("shrd {p2}, {p3}, 2"),
        format!("shrd {p3}, {p4}, 2"),
        format!("shr {p4}, 2"),
        format!("add {p0}, {p2}"),
        format!("adc {p1}, {p3}"),
        format!("adc {a2}, {p4}"),
        format!("mov {a0}, {p0}"),
        format!("mov {a1}, {p1}"),
    ] {
        line(assembly, instruction);
    }
    carry(assembly, ONE, [p0, p1]);
    for register in OTHER {
        line(assembly, format!("xor {register}, {register}"));
    }
}

pub fn line(assembly: &mut Assembly, instruction: impl std::fmt::Display) {
    assembly.line(format_args!("{instruction}"));
}

fn vector(assembly: &mut Assembly, name: &str, to: Ymm, a: Ymm, b: String) {
    line(assembly, format!("{name} {to}, {a}, {b}"));
}

fn vector_load(assembly: &mut Assembly, to: Ymm, from: String) {
    line(assembly, format!("vmovdqu {to}, {from}"));
}

fn store(assembly: &mut Assembly, to: String, register: Ymm) {
    line(assembly, format!("vmovdqu {to}, {register}"));
}

fn load_initial(assembly: &mut Assembly, register: Ymm, i: usize) {
    let place = WORDS + 4 * i as i32;
    line(
        assembly,
        format!("vpbroadcastd {register}, dword ptr [rdi + {place}]"),
    );
}

fn at(place: i32) -> String {
    format!("ymmword ptr [rdi{}]", signed(place))
}

pub fn quad(place: i32) -> String {
    format!("qword ptr [rdi{}]", signed(place))
}

pub fn double(place: i32) -> String {
    format!("dword ptr [rdi{}]", signed(place))
}

pub fn signed(place: i32) -> String {
    match place {
        0 => String::new(),
        1.. => format!(" + {place}"),
        _ => format!(" - {}", -place),
    }
}

/// Returns the place of word 8 + i while it is not in a register.
pub fn c_place(i: usize) -> i32 {
    32 * i as i32 - 128
}

/// Returns that place for the additional block.
fn block_c_place(i: usize) -> i32 {
    BLOCK_C + 4 * i as i32
}

/// Returns the place of the initial word `i` of the additional block.
fn block_initial(i: usize) -> i32 {
    match i {
        12 => BLOCK_COUNTER,
        _ => WORDS + 4 * i as i32,
    }
}

/// A general register that holds a word, by its 64-bit name.
#[derive(Clone, Copy)]
struct Word(&'static str);

impl Word {
    /// Returns the register's 32-bit name.
    fn low(self) -> String {
        match self.0.strip_prefix("r") {
            Some(number) if number.starts_with(|c: char| c.is_ascii_digit()) => {
                format!("{}d", self.0)
            }
            Some(rest) => format!("e{rest}"),
            None => self.0.to_owned(),
        }
    }
}

#[derive(Clone, Copy)]
struct Ymm(usize);

impl std::fmt::Display for Ymm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ymm{}", self.0)
    }
}

// Words 0 to 3, 4 to 7 and 12 to 15; two of 8 to 11; temporaries.
const A: [Ymm; 4] = [Ymm(0), Ymm(1), Ymm(2), Ymm(3)];
const B: [Ymm; 4] = [Ymm(4), Ymm(5), Ymm(6), Ymm(7)];
const D: [Ymm; 4] = [Ymm(8), Ymm(9), Ymm(10), Ymm(11)];
const C: [Ymm; 2] = [Ymm(12), Ymm(13)];
const T14: [Ymm; 2] = [Ymm(14), Ymm(15)];

/// The chains of Poly1305, and the registers that their products need.
pub const ONE: [&str; 3] = ["r8", "r9", "r10"];
pub const OTHER: [&str; 3] = ["r11", "rax", "rbx"];
const T: [&str; 5] = ["r12", "r13", "r14", "r15", "rbp"];
/// Pointers to the bytes that each chain absorbs next.
pub const FIRST: &str = "rsi";
pub const SECOND: &str = "rcx";
/// A block's words 0 to 3, 4 to 7 and 12 to 15; two of 8 to 11.
const WORD_A: [Word; 4] = [Word("rax"), Word("rcx"), Word("rdx"), Word("rbx")];
const WORD_B: [Word; 4] = [Word("rsi"), Word("rbp"), Word("r8"), Word("r9")];
const WORD_D: [Word; 4] = [Word("r10"), Word("r11"), Word("r12"), Word("r13")];
const WORD_C: [Word; 2] = [Word("r14"), Word("r15")];
pub const SAVED: [&str; 6] = ["rbx", "rbp", "r12", "r13", "r14", "r15"];

// `Frame` of crates/kernels/src/x86_64/chacha20_avx2/mod.rs, relative to its middle, where rdi points, so that one-byte
// offsets reach the most used fields.
pub const BY_16: i32 = 0;
pub const BY_8: i32 = 32;
pub const R0: i32 = 64;
pub const R1: i32 = 72;
pub const R1_BY_5_4: i32 = 80;
pub const LEFT: i32 = 88;
pub const STEPS: i32 = 96;
pub const CHUNKS: i32 = 104;
pub const FROM: i32 = 112;
pub const TO: i32 = 120;
pub const JOIN: i32 = 128;
pub const MAC: i32 = 152;
pub const MAC_FROM: i32 = 176;
const BLOCK_C: i32 = 288;
pub const BLOCK_FROM: i32 = 304;
pub const BLOCK_TO: i32 = 312;
pub const WORDS: i32 = 192;
pub const NUMBERS: i32 = 256;
pub const BLOCK_COUNTER: i32 = 320;
pub const REPEATED: i32 = 384;
pub const BLOCK_BYTES: usize = 64;
