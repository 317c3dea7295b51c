//! ChaCha20 on AVX2, eight blocks at once, alone or interleaved with Poly1305; and what it shares with SSSE3
//! ([`chacha20_ssse3`](super::chacha20_ssse3)).
//!
//! A register holds one of the sixteen words of eight blocks. Sixteen words and two temporaries exceed the sixteen registers
//! by two: two of words 8 to 11 lie in memory, and return as the memory operand of the addition that needs them. A double
//! round is 128 instructions, which four vector units execute in 32 cycles, and four stores.
//!
//! Poly1305 runs on the integer units, in two chains: one for each half of the bytes. So does an additional block, for the
//! one-time key of a message, or alone: the four quarter rounds of a single block keep these units busy, with one-cycle
//! instructions.

use super::assembly::{Assembly, Ymm, emit};
use super::poly1305::{FIRST, MULX, SECOND};

/// Returns the names and texts of the files.
pub fn files() -> [(&'static str, String); 4] {
    [
        ("crypt.s", crypt::<Avx2>()),
        ("crypt_and_mac.s", crypt_and_mac()),
        ("crypt_and_block.s", crypt_and_block::<Avx2>()),
        ("block.s", block()),
    ]
}

/// A backend's chunk of ChaCha20 blocks: one block for each 32-bit lane of a register.
pub trait Chunks {
    const BLOCKS: usize;

    /// Prepares the loop over chunks, and sets label 2.
    fn begin_loop(text: &mut Assembly);
    /// Loads the initial words into their registers.
    fn begin_chunk(text: &mut Assembly);
    fn double_round(text: &mut Assembly);
    /// Adds the initial words, assembles the blocks and XORs them; then advances by `blocks` blocks. `from` and `to` are two
    /// registers.
    fn end_chunk(text: &mut Assembly, pointers: [&str; 2], blocks: usize);
    /// Ends the function.
    fn end(text: Assembly) -> String;
}

/// XORs keystream onto chunks.
pub fn crypt<C: Chunks>() -> String {
    let mut text = Assembly::default();
    C::begin_loop(&mut text);
    C::begin_chunk(&mut text);
    emit!(text; "mov eax, 10");
    text.count_down("eax", 3, C::double_round);
    end_loop::<C>(&mut text, ["rcx", "rdx"], C::BLOCKS);
    C::end(text)
}

/// Like [`crypt`], with the keystream of a separate block interleaved into the rounds. The chunks are one block further
/// apart.
pub fn crypt_and_block<C: Chunks>() -> String {
    let apart = C::BLOCKS + 1;
    let left = quad(LEFT);
    let mut text = Assembly::default();
    text.save_registers();
    C::begin_loop(&mut text);
    begin_block(&mut text);
    C::begin_chunk(&mut text);
    emit!(text; "mov {left}, 10");
    text.count_down(&left, 3, |text| {
        text.both(C::double_round, double_round_of_block)
    });
    end_block(&mut text);
    emit!(text; "add {}, {apart}", double(BLOCK_COUNTER));
    for pointer in [BLOCK_FROM, BLOCK_TO] {
        emit!(text; "add {}, {}", quad(pointer), apart * BLOCK_BYTES);
    }
    end_loop::<C>(&mut text, ["rcx", "rdx"], apart);
    text.restore_registers();
    C::end(text)
}

/// Ends a chunk and, with the last one, the loop.
pub fn end_loop<C: Chunks>(text: &mut Assembly, pointers: [&str; 2], blocks: usize) {
    C::end_chunk(text, pointers, blocks);
    emit!(text; "
        dec {}
        jnz 2b
    ", quad(CHUNKS));
}

/// Advances the pointers and the counter of chunks.
pub fn advance(text: &mut Assembly, blocks: usize) {
    for pointer in [FROM, TO] {
        emit!(text; "add {}, {}", quad(pointer), blocks * BLOCK_BYTES);
    }
    emit!(text; "add {}, {blocks}", double(initial(12)));
}

/// Like [`crypt`], with Poly1305 of separate data interleaved into the rounds; `STEPS` determines its length.
fn crypt_and_mac() -> String {
    let (steps, left) = (quad(STEPS), quad(LEFT));
    let count = "r12";
    let mut text = Assembly::default();
    text.save_registers();
    MULX.begin(&mut text);
    Avx2::begin_loop(&mut text);
    Avx2::begin_chunk(&mut text);
    emit!(text; "
        mov {count}, {steps}
        mov {left}, {count}
        shl {count}, 5
        lea {SECOND}, [{FIRST} + {count}]
    ");
    text.count_down(&left, 3, |text| {
        text.both(Avx2::double_round, |text| MULX.two_steps(text))
    });
    text.both(Avx2::double_round, |text| {
        MULX.join(text);
        // The MAC continues with the bytes that follow.
        emit!(text; "mov {FIRST}, {SECOND}");
    });
    emit!(text; "
        mov {count}, 9
        sub {count}, {steps}
    ");
    text.count_down(count, 4, Avx2::double_round);
    end_loop::<Avx2>(&mut text, ["r13", "r14"], Avx2::BLOCKS);
    MULX.end(&mut text);
    text.restore_registers();
    text.end()
}

/// XORs keystream onto one block.
fn block() -> String {
    let left = quad(LEFT);
    let mut text = Assembly::default();
    text.save_registers();
    begin_block(&mut text);
    emit!(text; "mov {left}, 10");
    text.count_down(&left, 2, double_round_of_block);
    end_block(&mut text);
    text.restore_registers();
    text.end_without_vectors()
}

/// Loads a block's words into their registers. As in a chunk, two of words 8 to 11 lie in memory.
fn begin_block(text: &mut Assembly) {
    for i in [2, 3] {
        let register = WORD_C[i - 2].low();
        emit!(text; "
            mov {register}, {}
            mov {}, {register}
        ", double(initial(8 + i)), double(block_c_place(i)));
    }
    for (first, words) in WORDS_IN_REGISTERS {
        for (i, word) in words.iter().enumerate() {
            emit!(text; "mov {}, {}", word.low(), double(block_initial(first + i)));
        }
    }
}

fn double_round_of_block(text: &mut Assembly) {
    for (i, turn, fetch) in QUARTERS {
        let pair = [0, 1].map(|k| quarter_of_block(i + k, k, turn, fetch));
        alternate(text, pair);
    }
}

fn quarter_of_block(i: usize, k: usize, turn: usize, fetch: bool) -> Vec<String> {
    let mut text = Assembly::default();
    let a = WORD_A[i].low();
    let b = WORD_B[(i + turn) % 4].low();
    let d = WORD_D[(i + 3 * turn) % 4].low();
    let c = WORD_C[k].low();
    let place = i + 2 * turn;
    if fetch {
        let [before, here] = [place + 2, place].map(|i| double(block_c_place(i % 4)));
        emit!(text; "
            mov {before}, {c}
            mov {c}, {here}
        ");
    }
    emit!(text; "
        add {a}, {b}
        xor {d}, {a}
        rol {d}, 16
        add {c}, {d}
        xor {b}, {c}
        rol {b}, 12
        add {a}, {b}
        xor {d}, {a}
        rol {d}, 8
        add {c}, {d}
        xor {b}, {c}
        rol {b}, 7
    ");
    text.lines
}

/// Adds the initial words and XORs two words at a time, so that a reader of the result does not wait for two stores.
/// Afterwards all registers but rdi are free.
fn end_block(text: &mut Assembly) {
    let [from, to] = [WORD_A[0].0, WORD_A[1].0];
    for (first, words) in WORDS_IN_REGISTERS {
        for half in [0, 2] {
            let pair = match words.get(half..half + 2) {
                Some(pair) => [pair[0], pair[1]],
                // Words 10 and 11.
                None => [WORD_B[0], WORD_B[1]],
            };
            if half >= words.len() {
                for (i, word) in pair.iter().enumerate() {
                    emit!(text; "mov {}, {}", word.low(), double(block_c_place(2 + i)));
                }
            }
            for (i, word) in pair.iter().enumerate() {
                emit!(text; "add {}, {}", word.low(), double(block_initial(first + half + i)));
            }
            let [low, high] = pair.map(|word| word.0);
            emit!(text; "
                shl {high}, 32
                or {low}, {high}
            ");
            // Load the pointers as soon as registers are free.
            let at = 4 * (first + half);
            if at == 0 {
                let (from_place, to_place) = (quad(BLOCK_FROM), quad(BLOCK_TO));
                emit!(text; "
                    mov {to}, {from_place}
                    xor {low}, [{to}]
                    mov {to}, {to_place}
                    mov [{to}], {low}
                    mov {from}, {from_place}
                ");
            } else {
                emit!(text; "
                    xor {low}, [{from} + {at}]
                    mov [{to} + {at}], {low}
                ");
            }
        }
    }
}

struct Avx2;

impl Chunks for Avx2 {
    const BLOCKS: usize = 8;

    fn begin_loop(text: &mut Assembly) {
        emit!(text; "2:");
    }

    fn begin_chunk(text: &mut Assembly) {
        for i in [0, 4, 12, 1, 5, 13, 2, 6, 14, 3, 7, 15, 8, 9] {
            let register = match i {
                8.. if i < 12 => C[i - 8],
                12.. => D[i - 12],
                4.. => B[i - 4],
                _ => A[i],
            };
            load_initial(text, register, i);
            if i == 12 {
                emit!(text; "vpaddd {register}, {register}, {}", at(NUMBERS));
            }
        }
        for i in [2, 3] {
            load_initial(text, T14[i - 2], 8 + i);
            emit!(text; "vmovdqu {}, {}", at(c_place(i)), T14[i - 2]);
        }
    }

    fn double_round(text: &mut Assembly) {
        for (i, turn, fetch) in QUARTERS {
            alternate(text, [0, 1].map(|k| quarter(i + k, k, turn, fetch)));
        }
    }

    fn end_chunk(text: &mut Assembly, [from, to]: [&str; 2], blocks: usize) {
        emit!(text; "
            mov {from}, {}
            mov {to}, {}
        ", quad(FROM), quad(TO));
        let mut free = T14.to_vec();
        let mut rows = Vec::new();
        for (first, mut row) in [(0, A), (4, B), (12, D), (8, [C[0], C[1], Ymm(0), Ymm(0)])] {
            if first == 8 {
                for (i, register) in row.iter_mut().enumerate().skip(2) {
                    *register = free.remove(0);
                    emit!(text; "vmovdqu {register}, {}", at(c_place(i)));
                }
            }
            for (i, register) in row.into_iter().enumerate() {
                let t = free[i % 2];
                load_initial(text, t, first + i);
                emit!(text; "vpaddd {register}, {register}, {t}");
            }
            if first == 12 {
                emit!(text; "vpaddd {}, {}, {}", row[0], row[0], at(NUMBERS));
            }
            let (turned, left) = transpose(text, row, [free[0], free[1]]);
            free.splice(0..2, left);
            rows.push(turned);
            if first == 4 {
                xor_halves(text, &rows, &mut free, 0, [from, to]);
            }
        }
        let second = [rows[3], rows[2]];
        xor_halves(text, &second, &mut free, 32, [from, to]);
        advance(text, blocks);
    }

    fn end(text: Assembly) -> String {
        text.end()
    }
}

/// The pairs of quarter rounds in a double round: the number of the first, whether they are diagonals, and whether their
/// words of 8 to 11 must be swapped in. Registers hold only two of these four words, 8 and 9 or 10 and 11; the other two are
/// in memory. The first diagonals use words 10 and 11, which the last columns leave in registers.
pub const QUARTERS: [(usize, usize, bool); 4] =
    [(0, 0, false), (2, 0, true), (0, 1, false), (2, 1, true)];

/// Alternates the instructions of two sequences of equal length.
fn alternate(text: &mut Assembly, [one, other]: [Vec<String>; 2]) {
    for (one, other) in one.into_iter().zip(other) {
        text.lines.extend([one, other]);
    }
}

fn quarter(i: usize, k: usize, turn: usize, fetch: bool) -> Vec<String> {
    let mut text = Assembly::default();
    let (a, b, d) = (A[i], B[(i + turn) % 4], D[(i + 3 * turn) % 4]);
    let (c, t) = (C[k], T14[k]);
    let [before, here] = [2, 0].map(|more| at(c_place((i + 2 * turn + more) % 4)));
    let (by_16, by_8) = (at(BY_16), at(BY_8));
    emit!(text; "vpaddd {a}, {a}, {b}");
    if fetch {
        // The register held the other pair's word.
        emit!(text; "vmovdqu {before}, {c}");
    }
    emit!(text; "
        vpxor {d}, {d}, {a}
        vpshufb {d}, {d}, {by_16}
    ");
    match fetch {
        true => emit!(text; "vpaddd {c}, {d}, {here}"),
        false => emit!(text; "vpaddd {c}, {c}, {d}"),
    }
    emit!(text; "
        vpxor {b}, {b}, {c}
        vpslld {t}, {b}, 12
        vpsrld {b}, {b}, 20
        vpor {b}, {b}, {t}
        vpaddd {a}, {a}, {b}
        vpxor {d}, {d}, {a}
        vpshufb {d}, {d}, {by_8}
        vpaddd {c}, {c}, {d}
        vpxor {b}, {b}, {c}
        vpslld {t}, {b}, 7
        vpsrld {b}, {b}, 25
        vpor {b}, {b}, {t}
    ");
    text.lines
}

/// Transposes four words of eight blocks, after which each register has those of block i and of block i + 4. Needs two
/// registers that are free then.
fn transpose(
    text: &mut Assembly,
    [a, b, c, d]: [Ymm; 4],
    [t, u]: [Ymm; 2],
) -> ([Ymm; 4], [Ymm; 2]) {
    emit!(text; "
        vpunpckldq {t}, {a}, {b}
        vpunpckhdq {a}, {a}, {b}
        vpunpckldq {u}, {c}, {d}
        vpunpckhdq {c}, {c}, {d}
        vpunpcklqdq {b}, {t}, {u}
        vpunpckhqdq {d}, {t}, {u}
        vpunpcklqdq {t}, {a}, {c}
        vpunpckhqdq {u}, {a}, {c}
    ");
    ([b, d, t, u], [a, c])
}

/// XORs half of each block, from two rows of quarters.
fn xor_halves(
    text: &mut Assembly,
    rows: &[[Ymm; 4]],
    free: &mut Vec<Ymm>,
    offset: usize,
    [from, to]: [&str; 2],
) {
    for (i, (one, other)) in rows[0].into_iter().zip(rows[1]).enumerate() {
        let t = free[0];
        emit!(text; "
            vperm2i128 {t}, {one}, {other}, 0x20
            vperm2i128 {one}, {one}, {other}, 0x31
        ");
        for (register, block) in [(t, i), (one, i + 4)] {
            let place = BLOCK_BYTES * block + offset;
            emit!(text; "
                vpxor {register}, {register}, ymmword ptr [{from} + {place}]
                vmovdqu ymmword ptr [{to} + {place}], {register}
            ");
        }
        free.push(other);
        free.push(one);
        free.rotate_left(1);
    }
}

fn load_initial(text: &mut Assembly, register: Ymm, i: usize) {
    emit!(text; "vpbroadcastd {register}, {}", double(initial(i)));
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
        _ => initial(i),
    }
}

/// Returns the place of the initial word `i` of the chunks.
pub fn initial(i: usize) -> i32 {
    WORDS + 4 * i as i32
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

// Words 0 to 3, 4 to 7 and 12 to 15; two of 8 to 11; temporaries.
const A: [Ymm; 4] = [Ymm(0), Ymm(1), Ymm(2), Ymm(3)];
const B: [Ymm; 4] = [Ymm(4), Ymm(5), Ymm(6), Ymm(7)];
const D: [Ymm; 4] = [Ymm(8), Ymm(9), Ymm(10), Ymm(11)];
const C: [Ymm; 2] = [Ymm(12), Ymm(13)];
const T14: [Ymm; 2] = [Ymm(14), Ymm(15)];

/// A block's words 0 to 3, 4 to 7 and 12 to 15; two of 8 to 11.
const WORD_A: [Word; 4] = [Word("rax"), Word("rcx"), Word("rdx"), Word("rbx")];
const WORD_B: [Word; 4] = [Word("rsi"), Word("rbp"), Word("r8"), Word("r9")];
const WORD_D: [Word; 4] = [Word("r10"), Word("r11"), Word("r12"), Word("r13")];
const WORD_C: [Word; 2] = [Word("r14"), Word("r15")];
/// The first word of each row, and the words that have registers.
const WORDS_IN_REGISTERS: [(usize, &[Word]); 4] =
    [(0, &WORD_A), (4, &WORD_B), (12, &WORD_D), (8, &WORD_C)];

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
