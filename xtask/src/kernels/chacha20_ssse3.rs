//! ChaCha20 on SSSE3, four blocks at once, alone or interleaved with Poly1305.
//!
//! As on AVX2 ([`chacha20`](super::chacha20)), a register holds one of the sixteen words of four blocks, and two of words 8
//! to 11 lie in memory. Instructions have no third operand here, so the two rotations that are not byte shuffles copy their
//! word first: a double round is 144 instructions, four stores and four loads.
//!
//! With rotations by shifts, the chain of a quarter round has 14 instructions of two cycles each on Zen 5: the four units
//! are idle half of the time. Without a MAC, the integer units therefore compute a fifth block. They do not on Intel's CPUs,
//! where they share ports and issue slots with the vector units, and latencies are one cycle.
//!
//! The initial words of a chunk lie in memory, each repeated in all lanes: shuffling each one would cost 32 more
//! instructions, for one or two ports of Intel's CPUs.
//!
//! Interleaved Poly1305 uses `mul`, since CPUs without AVX2 lack `mulx`: its factor and its product are in rax and rdx.

use super::assembly::Assembly;
use super::chacha20::{
    BLOCK_BYTES, BLOCK_COUNTER, BLOCK_FROM, BLOCK_TO, BY_8, BY_16, CHUNKS, FIRST, FROM, JOIN, LEFT,
    MAC, MAC_FROM, NUMBERS, R0, R1, R1_BY_5_4, REPEATED, TO, WORDS, begin_block, c_place, carry,
    double, double_round_of_block, end_block, line, quad, restore, save, signed,
};

/// Returns the names and texts of the files.
pub fn files() -> [(&'static str, String); 3] {
    [
        ("crypt.s", crypt()),
        ("crypt_and_mac.s", crypt_and_mac()),
        ("crypt_and_block.s", crypt_and_block()),
    ]
}

/// XORs keystream onto chunks of four blocks.
fn crypt() -> String {
    let mut assembly = Assembly::default();
    repeat_words(&mut assembly);
    begin_chunk(&mut assembly);
    line(&mut assembly, "mov eax, 10");
    assembly.label(3);
    double_round(&mut assembly);
    line(&mut assembly, "dec eax");
    line(&mut assembly, "jnz 3b");
    end_chunk(&mut assembly, ["rcx", "rdx"], 4);
    line(&mut assembly, format!("dec {}", quad(CHUNKS)));
    line(&mut assembly, "jnz 2b");
    end(assembly)
}

/// Like [`crypt`], with Poly1305 of separate data of the same length interleaved: each of the first [`STEPS`] double rounds
/// absorbs a block of either half.
fn crypt_and_mac() -> String {
    let mut assembly = Assembly::default();
    save(&mut assembly);
    line(&mut assembly, format!("mov {FIRST}, {}", quad(MAC_FROM)));
    for (i, register) in ONE.into_iter().enumerate() {
        let place = quad(MAC + 8 * i as i32);
        line(&mut assembly, format!("mov {register}, {place}"));
    }
    for register in OTHER {
        line(&mut assembly, format!("xor {register}, {register}"));
    }
    repeat_words(&mut assembly);
    begin_chunk(&mut assembly);
    line(&mut assembly, format!("mov {}, {STEPS}", quad(LEFT)));
    assembly.label(3);
    let start = assembly.lines.len();
    double_round(&mut assembly);
    let mut beside = Assembly::default();
    step(&mut beside, FIRST, 0, ONE);
    step(&mut beside, FIRST, 16 * STEPS, OTHER);
    line(&mut beside, format!("add {FIRST}, 16"));
    assembly.interleave(start, beside);
    line(&mut assembly, format!("dec {}", quad(LEFT)));
    line(&mut assembly, "jnz 3b");
    let start = assembly.lines.len();
    for _ in STEPS..10 {
        double_round(&mut assembly);
    }
    let mut beside = Assembly::default();
    // The MAC continues with the bytes after the second half.
    line(&mut beside, format!("add {FIRST}, {}", 16 * STEPS));
    join(&mut beside);
    assembly.interleave(start, beside);
    end_chunk(&mut assembly, [T[0], T[1]], 4);
    line(&mut assembly, format!("dec {}", quad(CHUNKS)));
    line(&mut assembly, "jnz 2b");
    for (i, register) in ONE.into_iter().enumerate() {
        let place = quad(MAC + 8 * i as i32);
        line(&mut assembly, format!("mov {place}, {register}"));
    }
    restore(&mut assembly);
    end(assembly)
}

/// Like [`crypt`], with the keystream of a separate block interleaved into the rounds. The chunks are five blocks apart.
fn crypt_and_block() -> String {
    let mut assembly = Assembly::default();
    save(&mut assembly);
    repeat_words(&mut assembly);
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
    line(&mut assembly, format!("add {}, 5", double(BLOCK_COUNTER)));
    for pointer in [BLOCK_FROM, BLOCK_TO] {
        let place = quad(pointer);
        line(&mut assembly, format!("add {place}, {}", 5 * BLOCK_BYTES));
    }
    end_chunk(&mut assembly, ["rcx", "rdx"], 5);
    line(&mut assembly, format!("dec {}", quad(CHUNKS)));
    line(&mut assembly, "jnz 2b");
    restore(&mut assembly);
    end(assembly)
}

/// Clears the key from the registers, and the words from where they were repeated.
fn end(mut assembly: Assembly) -> String {
    for register in (0..16).map(Xmm) {
        line(&mut assembly, format!("pxor {register}, {register}"));
    }
    for i in 4..16 {
        line(
            &mut assembly,
            format!("movdqa {}, {}", at(repeated(i)), A[0]),
        );
    }
    line(&mut assembly, "ret");
    assembly.end_without_vectors()
}

/// Loads each initial word into all lanes of its register, and into memory, where chunks begin and end with it. The loop of
/// later chunks begins here.
fn repeat_words(assembly: &mut Assembly) {
    for (i, register) in words() {
        if i > 12 {
            // These words were just stored in smaller parts: a load of the whole row would wait for that.
            let place = double(WORDS + 4 * i as i32);
            line(assembly, format!("movd {register}, {place}"));
            line(assembly, format!("pshufd {register}, {register}, 0"));
        } else {
            let row = at(WORDS + 16 * (i / 4) as i32);
            let lane = 0x55 * (i % 4);
            line(assembly, format!("pshufd {register}, {row}, {lane}"));
        }
        line(assembly, format!("movdqa {}, {register}", at(repeated(i))));
    }
    line(assembly, "jmp 4f");
    assembly.label(2);
    for (i, register) in words() {
        line(assembly, format!("movdqa {register}, {}", at(repeated(i))));
    }
    assembly.label(4);
}

/// Returns all words but the counter, with the registers in which a chunk begins with them.
fn words() -> impl Iterator<Item = (usize, Xmm)> {
    let c = [C[0], C[1], T14[0], T14[1]];
    let rows = [A, B, c, D].into_iter().flatten().enumerate();
    rows.filter(|(i, _)| *i != 12)
}

/// Loads the counters into their register, and words 10 and 11 into their initial places.
fn begin_chunk(assembly: &mut Assembly) {
    let counter = D[0];
    line(
        assembly,
        format!("movd {counter}, {}", double(WORDS + 4 * 12)),
    );
    line(assembly, format!("pshufd {counter}, {counter}, 0"));
    line(assembly, format!("paddd {counter}, {}", at(NUMBERS)));
    line(assembly, format!("movdqa {}, {counter}", at(repeated(12))));
    for i in [2, 3] {
        line(
            assembly,
            format!("movdqa {}, {}", at(c_place(i)), T14[i - 2]),
        );
    }
}

fn double_round(assembly: &mut Assembly) {
    // Words 8 and 9 are in registers, then 10 and 11, which still are when the diagonals begin.
    for (i, turn, fetch) in [(0, 0, false), (2, 0, true), (0, 1, false), (2, 1, true)] {
        let [one, other] = [0, 1].map(|k| quarter(i + k, k, turn, fetch));
        for (one, other) in one.into_iter().zip(other) {
            // Instructions alternate, except that rotations do so in pairs: shifts compete for one port on CPUs before
            // Skylake, and the oldest instruction is scheduled first.
            match (&one[..], &other[..]) {
                ([a, b, c, d], [e, f, g, h]) => {
                    let lines = [a, b, c, e, f, d, g, h];
                    assembly.lines.extend(lines.map(String::clone));
                }
                _ => assembly.lines.extend(one.into_iter().chain(other)),
            }
        }
    }
}

/// Generates a quarter round like that of AVX2.
fn quarter(i: usize, k: usize, turn: usize, fetch: bool) -> Vec<Vec<String>> {
    let mut steps = Vec::new();
    let (a, b, d) = (A[i], B[(i + turn) % 4], D[(i + 3 * turn) % 4]);
    let (c, t) = (C[k], T14[k]);
    let place = (i + 2 * turn) % 4;
    let mut step = |instructions: &[String]| {
        let mut lines = Assembly::default();
        for instruction in instructions {
            line(&mut lines, instruction);
        }
        steps.push(lines.lines);
    };
    step(&[format!("paddd {a}, {b}")]);
    if fetch {
        // The register held the other pair's word.
        step(&[format!("movdqa {}, {c}", at(c_place((place + 2) % 4)))]);
        step(&[format!("movdqa {c}, {}", at(c_place(place)))]);
    }
    for (by, bits) in [(BY_16, 12), (BY_8, 7)] {
        if by == BY_8 {
            step(&[format!("paddd {a}, {b}")]);
        }
        step(&[format!("pxor {d}, {a}")]);
        step(&[format!("pshufb {d}, {}", at(by))]);
        step(&[format!("paddd {c}, {d}")]);
        step(&[format!("pxor {b}, {c}")]);
        step(&rotate(b, t, bits));
    }
    steps
}

fn rotate(word: Xmm, on_the_way: Xmm, bits: usize) -> [String; 4] {
    [
        format!("movdqa {on_the_way}, {word}"),
        format!("pslld {on_the_way}, {bits}"),
        format!("psrld {word}, {}", 32 - bits),
        format!("por {word}, {on_the_way}"),
    ]
}

/// Adds the initial words, assembles the blocks and XORs them; then advances by `blocks` blocks. `from` and `to` are two
/// registers.
fn end_chunk(assembly: &mut Assembly, [from, to]: [&str; 2], blocks: usize) {
    line(assembly, format!("mov {from}, {}", quad(FROM)));
    line(assembly, format!("mov {to}, {}", quad(TO)));
    let mut free = T14.to_vec();
    for (first, row) in [(0, A), (4, B), (12, D), (8, [C[0], C[1], A[0], A[1]])] {
        if first == 8 {
            for i in [2, 3] {
                let place = at(c_place(i));
                line(assembly, format!("movdqa {}, {place}", row[i]));
            }
        }
        for (i, register) in row.into_iter().enumerate() {
            line(
                assembly,
                format!("paddd {register}, {}", at(repeated(first + i))),
            );
        }
        let (quarters, left) = transpose(assembly, row, [free[0], free[1]]);
        for (i, quarter) in quarters.into_iter().enumerate() {
            let place = BLOCK_BYTES * i + 4 * first;
            let t = left[i % 2];
            line(
                assembly,
                format!("movdqu {t}, xmmword ptr [{from} + {place}]"),
            );
            line(assembly, format!("pxor {t}, {quarter}"));
            line(
                assembly,
                format!("movdqu xmmword ptr [{to} + {place}], {t}"),
            );
        }
        free = left.to_vec();
    }
    for pointer in [FROM, TO] {
        let place = quad(pointer);
        line(assembly, format!("add {place}, {}", blocks * BLOCK_BYTES));
    }
    line(assembly, format!("add {}, {blocks}", double(WORDS + 48)));
}

/// Transposes four words of four blocks, after which each register has those of one block. Needs two registers that are free
/// then.
fn transpose(
    assembly: &mut Assembly,
    [a, b, c, d]: [Xmm; 4],
    [t, u]: [Xmm; 2],
) -> ([Xmm; 4], [Xmm; 2]) {
    for instruction in [
        format!("movdqa {t}, {a}"),
        format!("punpckldq {t}, {b}"),
        format!("punpckhdq {a}, {b}"),
        format!("movdqa {u}, {c}"),
        format!("punpckldq {u}, {d}"),
        format!("punpckhdq {c}, {d}"),
        format!("movdqa {b}, {t}"),
        format!("punpcklqdq {b}, {u}"),
        format!("punpckhqdq {t}, {u}"),
        format!("movdqa {d}, {a}"),
        format!("punpcklqdq {d}, {c}"),
        format!("punpckhqdq {a}, {c}"),
    ] {
        line(assembly, instruction);
    }
    ([b, t, d, a], [u, c])
}

/// Computes h = (h + block + 2^128) r: `Element::step` of crates/kernels/src/poly1305.rs.
pub fn step(assembly: &mut Assembly, from: &str, offset: usize, [h0, h1, h2]: [&str; 3]) {
    let [t0, t1, t2, _] = T;
    let (r0, r1, s1) = (quad(R0), quad(R1), quad(R1_BY_5_4));
    let high = offset + 8;
    for instruction in [
        format!("add {h0}, [{from} + {offset}]"),
        format!("adc {h1}, [{from} + {high}]"),
        format!("adc {h2}, 1"),
        format!("mov rax, {r0}"),
        format!("mul {h0}"),
        format!("mov {t0}, rax"),
        format!("mov rax, {r1}"),
        format!("mov {t1}, rdx"),
        format!("mul {h0}"),
        format!("mov {t2}, rax"),
        format!("mov rax, {s1}"),
        format!("mov {h0}, rdx"),
        format!("mul {h1}"),
        format!("add {t0}, rax"),
        format!("mov rax, {r0}"),
        format!("adc {t1}, rdx"),
        format!("mul {h1}"),
        format!("mov {h1}, {s1}"),
        format!("add {t2}, rax"),
        format!("adc {h0}, rdx"),
        format!("imul {h1}, {h2}"),
        format!("imul {h2}, {r0}"),
        format!("add {h1}, {t2}"),
        format!("adc {h2}, {h0}"),
        format!("mov {h0}, {t0}"),
        format!("add {h1}, {t1}"),
        format!("adc {h2}, 0"),
    ] {
        line(assembly, instruction);
    }
    carry(assembly, [h0, h1, h2], ["rax", "rdx"]);
}

/// Multiplies the first chain by a power of r and adds the second, which restarts at zero: `Element::times` and `plus`.
pub fn join(assembly: &mut Assembly) {
    let [a0, a1, a2] = ONE;
    let [p0, p1, p2, p3] = T;
    let p4 = P4;
    let [j0, j1, j2] = [0, 8, 16].map(|i| quad(JOIN + i));
    for instruction in [
        format!("mov rax, {a0}"),
        format!("mul {j0}"),
        format!("mov {p0}, rax"),
        format!("mov {p1}, rdx"),
        format!("mov rax, {a0}"),
        format!("mul {j1}"),
        format!("mov {p2}, rdx"),
        format!("add {p1}, rax"),
        format!("adc {p2}, 0"),
        format!("mov rax, {a0}"),
        format!("mul {j2}"),
        format!("mov {p3}, rdx"),
        format!("add {p2}, rax"),
        format!("adc {p3}, 0"),
        format!("xor {p4}, {p4}"),
        format!("mov rax, {a1}"),
        format!("mul {j0}"),
        format!("add {p1}, rax"),
        format!("adc {p2}, rdx"),
        format!("adc {p3}, 0"),
        format!("adc {p4}, 0"),
        format!("mov rax, {a1}"),
        format!("mul {j1}"),
        format!("add {p2}, rax"),
        format!("adc {p3}, rdx"),
        format!("adc {p4}, 0"),
        format!("mov rax, {a1}"),
        format!("mul {j2}"),
        format!("add {p3}, rax"),
        format!("adc {p4}, rdx"),
        format!("mov rax, {a2}"),
        format!("mul {j0}"),
        format!("add {p2}, rax"),
        format!("adc {p3}, rdx"),
        format!("adc {p4}, 0"),
        format!("mov rax, {a2}"),
        format!("mul {j1}"),
        format!("add {p3}, rax"),
        format!("adc {p4}, rdx"),
        format!("mov rax, {a2}"),
        format!("imul rax, {j2}"),
        format!("add {p4}, rax"),
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
    carry(assembly, ONE, ["rax", "rdx"]);
    for register in OTHER {
        line(assembly, format!("xor {register}, {register}"));
    }
}

/// Returns the place of the initial word `i`, repeated in all four lanes.
fn repeated(i: usize) -> i32 {
    REPEATED + 16 * i as i32
}

/// Returns a vector operand of the frame, which is aligned as all of them are.
fn at(place: i32) -> String {
    format!("xmmword ptr [rdi{}]", signed(place))
}

#[derive(Clone, Copy)]
struct Xmm(usize);

impl std::fmt::Display for Xmm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "xmm{}", self.0)
    }
}

/// Blocks of the MAC in half a chunk.
const STEPS: usize = 4 * BLOCK_BYTES / 16 / 2;

// Words 0 to 3, 4 to 7 and 12 to 15; two of 8 to 11; temporaries.
const A: [Xmm; 4] = [Xmm(0), Xmm(1), Xmm(2), Xmm(3)];
const B: [Xmm; 4] = [Xmm(4), Xmm(5), Xmm(6), Xmm(7)];
const D: [Xmm; 4] = [Xmm(8), Xmm(9), Xmm(10), Xmm(11)];
const C: [Xmm; 2] = [Xmm(12), Xmm(13)];
const T14: [Xmm; 2] = [Xmm(14), Xmm(15)];

/// The chains of Poly1305, and the registers that their products need in addition to rax and rdx.
pub const ONE: [&str; 3] = ["r8", "r9", "r10"];
pub const OTHER: [&str; 3] = ["r11", "rbx", "rbp"];
const T: [&str; 4] = ["r12", "r13", "r14", "r15"];
const P4: &str = "rcx";
