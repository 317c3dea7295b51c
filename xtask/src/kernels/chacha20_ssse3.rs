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

use super::assembly::{Assembly, Xmm, emit};
use super::chacha20::{
    self, BLOCK_BYTES, BY_8, BY_16, Chunks, FROM, LEFT, NUMBERS, QUARTERS, REPEATED, TO, WORDS,
    advance, c_place, double, end_loop, initial, quad, signed,
};
use super::poly1305::{FIRST, MUL};

/// Returns the names and texts of the files.
pub fn files() -> [(&'static str, String); 3] {
    [
        ("crypt.s", chacha20::crypt::<Ssse3>()),
        ("crypt_and_mac.s", crypt_and_mac()),
        ("crypt_and_block.s", chacha20::crypt_and_block::<Ssse3>()),
    ]
}

/// XORs keystream onto chunks, with Poly1305 of separate data of the same length interleaved: each of the first [`STEPS`]
/// double rounds absorbs a block of either half.
fn crypt_and_mac() -> String {
    let left = quad(LEFT);
    let mut text = Assembly::default();
    text.save_registers();
    MUL.begin(&mut text);
    Ssse3::begin_loop(&mut text);
    Ssse3::begin_chunk(&mut text);
    emit!(text; "mov {left}, {STEPS}");
    text.count_down(&left, 3, |text| {
        text.both(Ssse3::double_round, |text| {
            (MUL.step)(text, FIRST, 0, MUL.one);
            (MUL.step)(text, FIRST, 16 * STEPS, MUL.other);
            emit!(text; "add {FIRST}, 16");
        })
    });
    text.both(
        |text| (STEPS..10).for_each(|_| Ssse3::double_round(text)),
        |text| {
            // The MAC continues with the bytes after the second half.
            emit!(text; "add {FIRST}, {}", 16 * STEPS);
            MUL.join(text);
        },
    );
    end_loop::<Ssse3>(&mut text, ["r12", "r13"], Ssse3::BLOCKS);
    MUL.end(&mut text);
    text.restore_registers();
    Ssse3::end(text)
}

struct Ssse3;

impl Chunks for Ssse3 {
    const BLOCKS: usize = 4;

    /// Copies each initial word into all lanes of its register and into memory, from which each chunk loads it at its start
    /// and adds it at its end. The label is the start of the loop over chunks.
    fn begin_loop(text: &mut Assembly) {
        for (i, register) in words() {
            if i > 12 {
                // These words were just stored in smaller parts: a load of the whole row would wait for that.
                emit!(text; "
                    movd {register}, {}
                    pshufd {register}, {register}, 0
                ", double(initial(i)));
            } else {
                let row = at(WORDS + 16 * (i / 4) as i32);
                emit!(text; "pshufd {register}, {row}, {}", 0x55 * (i % 4));
            }
            emit!(text; "movdqa {}, {register}", at(repeated(i)));
        }
        emit!(text; "
            jmp 4f
            2:
        ");
        for (i, register) in words() {
            emit!(text; "movdqa {register}, {}", at(repeated(i)));
        }
        emit!(text; "4:");
    }

    /// Loads the counters into their register, and words 10 and 11 into their initial places.
    fn begin_chunk(text: &mut Assembly) {
        let counter = D[0];
        emit!(text; "
            movd {counter}, {}
            pshufd {counter}, {counter}, 0
            paddd {counter}, {}
            movdqa {}, {counter}
        ", double(initial(12)), at(NUMBERS), at(repeated(12)));
        for i in [2, 3] {
            emit!(text; "movdqa {}, {}", at(c_place(i)), T14[i - 2]);
        }
    }

    fn double_round(text: &mut Assembly) {
        for (i, turn, fetch) in QUARTERS {
            let [one, other] = [0, 1].map(|k| quarter(i + k, k, turn, fetch));
            for (one, other) in one.into_iter().zip(other) {
                // Instructions alternate, except that rotations do so in pairs: shifts compete for one port on CPUs before
                // Skylake, and the oldest instruction is scheduled first.
                match (&one[..], &other[..]) {
                    ([a, b, c, d], [e, f, g, h]) => {
                        let lines = [a, b, c, e, f, d, g, h];
                        text.lines.extend(lines.map(String::clone));
                    }
                    _ => text.lines.extend(one.into_iter().chain(other)),
                }
            }
        }
    }

    fn end_chunk(text: &mut Assembly, [from, to]: [&str; 2], blocks: usize) {
        emit!(text; "
            mov {from}, {}
            mov {to}, {}
        ", quad(FROM), quad(TO));
        let mut free = T14;
        for (first, row) in [(0, A), (4, B), (12, D), (8, [C[0], C[1], A[0], A[1]])] {
            if first == 8 {
                for i in [2, 3] {
                    emit!(text; "movdqa {}, {}", row[i], at(c_place(i)));
                }
            }
            for (i, register) in row.into_iter().enumerate() {
                emit!(text; "paddd {register}, {}", at(repeated(first + i)));
            }
            let (quarters, left) = transpose(text, row, free);
            for (i, quarter) in quarters.into_iter().enumerate() {
                let place = BLOCK_BYTES * i + 4 * first;
                let t = left[i % 2];
                emit!(text; "
                    movdqu {t}, xmmword ptr [{from} + {place}]
                    pxor {t}, {quarter}
                    movdqu xmmword ptr [{to} + {place}], {t}
                ");
            }
            free = left;
        }
        advance(text, blocks);
    }

    /// Clears the key from the registers, and the words from where they were repeated.
    fn end(mut text: Assembly) -> String {
        for register in (0..16).map(Xmm) {
            emit!(text; "pxor {register}, {register}");
        }
        for i in 4..16 {
            emit!(text; "movdqa {}, {}", at(repeated(i)), A[0]);
        }
        text.end_without_vectors()
    }
}

/// Returns all words but the counter, with the registers in which a chunk begins with them.
fn words() -> impl Iterator<Item = (usize, Xmm)> {
    let c = [C[0], C[1], T14[0], T14[1]];
    let rows = [A, B, c, D].into_iter().flatten().enumerate();
    rows.filter(|(i, _)| *i != 12)
}

/// Generates a quarter round like that of AVX2, in steps between which those of another one may stand.
fn quarter(i: usize, k: usize, turn: usize, fetch: bool) -> Vec<Vec<String>> {
    let (a, b, d) = (A[i], B[(i + turn) % 4], D[(i + 3 * turn) % 4]);
    let (c, t) = (C[k], T14[k]);
    let [before, here] = [2, 0].map(|more| at(c_place((i + 2 * turn + more) % 4)));
    let mut steps = Vec::new();
    macro_rules! step {
        ($($format:tt)*) => {{
            let mut text = Assembly::default();
            emit!(text; $($format)*);
            steps.push(text.lines);
        }};
    }
    step!("paddd {a}, {b}");
    if fetch {
        // The register held the other pair's word.
        step!("movdqa {before}, {c}");
        step!("movdqa {c}, {here}");
    }
    for (by, bits) in [(BY_16, 12), (BY_8, 7)] {
        if by == BY_8 {
            step!("paddd {a}, {b}");
        }
        step!("pxor {d}, {a}");
        step!("pshufb {d}, {}", at(by));
        step!("paddd {c}, {d}");
        step!("pxor {b}, {c}");
        step!(
            "
            movdqa {t}, {b}
            pslld {t}, {bits}
            psrld {b}, {}
            por {b}, {t}
        ",
            32 - bits
        );
    }
    steps
}

/// Transposes four words of four blocks, after which each register has those of one block. Needs two registers that are free
/// then.
fn transpose(
    text: &mut Assembly,
    [a, b, c, d]: [Xmm; 4],
    [t, u]: [Xmm; 2],
) -> ([Xmm; 4], [Xmm; 2]) {
    emit!(text; "
        movdqa {t}, {a}
        punpckldq {t}, {b}
        punpckhdq {a}, {b}
        movdqa {u}, {c}
        punpckldq {u}, {d}
        punpckhdq {c}, {d}
        movdqa {b}, {t}
        punpcklqdq {b}, {u}
        punpckhqdq {t}, {u}
        movdqa {d}, {a}
        punpcklqdq {d}, {c}
        punpckhqdq {a}, {c}
    ");
    ([b, t, d, a], [u, c])
}

/// Returns the place of the initial word `i`, repeated in all four lanes.
fn repeated(i: usize) -> i32 {
    REPEATED + 16 * i as i32
}

/// Returns a vector operand of the frame, which is aligned as all of them are.
fn at(place: i32) -> String {
    format!("xmmword ptr [rdi{}]", signed(place))
}

/// Blocks of the MAC in half a chunk.
const STEPS: usize = 4 * BLOCK_BYTES / 16 / 2;

// Words 0 to 3, 4 to 7 and 12 to 15; two of 8 to 11; temporaries.
const A: [Xmm; 4] = [Xmm(0), Xmm(1), Xmm(2), Xmm(3)];
const B: [Xmm; 4] = [Xmm(4), Xmm(5), Xmm(6), Xmm(7)];
const D: [Xmm; 4] = [Xmm(8), Xmm(9), Xmm(10), Xmm(11)];
const C: [Xmm; 2] = [Xmm(12), Xmm(13)];
const T14: [Xmm; 2] = [Xmm(14), Xmm(15)];
