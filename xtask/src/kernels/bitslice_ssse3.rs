//! AES on planes of bits in 128-bit registers: eight blocks, in eight registers of sixteen.
//!
//! [`program`] has AES as steps on values, and [`registers`] makes instructions of them. A compiler makes more:
//! each of the 164 operations of a round overwrites an operand, and up to 18 values besides the round's own are
//! needed again. Here a round has 76 copies, loads and stores.
//!
//! The order of the steps is data (`orders.txt`): it was found by moving steps at random, and keeping what a Zen 4
//! ran faster. The steps of a round wait for each other 34 deep, and this CPU has registers for some 140 results on
//! the way, fewer than a round has: so the order matters. Four operations a cycle would make 41 cycles of a round. It
//! takes 54, and took 56 to 61 in orders that have fewer copies, loads and stores, down to 57.
//!
//! ```text
//! rdi   frame: values on the stack, the counter or the ciphertext block before, the number of rounds
//! rsi   planes of the keys       rdx, rcx   from, to        r8   groups        r9   constants
//! rax   frame of the round       r11   key of the round     r10   rounds left
//! ```

mod circuits;
mod program;
mod registers;

use std::fmt::Arguments;

use self::program::{Program, Value};
use self::registers::{Pointers, allocate, at};
use super::assembly::HEADER;

/// Names and texts.
pub fn files() -> [(&'static str, String); 2] {
    [("ctr.s", ctr()), ("cbc_decrypt.s", cbc_decrypt())]
}

/// XORs keystream onto groups.
fn ctr() -> String {
    let mut text = Text::begin();
    for i in 0..8 {
        text.line(format_args!("movdqa xmm{i}, {BEFORE}"));
        if i > 0 {
            text.line(format_args!("paddd xmm{i}, {}", at("r9", STEPS + 16 * i)));
        }
    }
    text.line(format_args!("movdqa xmm8, xmm0"));
    text.line(format_args!("paddd xmm8, {}", at("r9", STEPS + 16 * 8)));
    text.line(format_args!("movdqa {BEFORE}, xmm8"));
    for i in 0..8 {
        text.line(format_args!("pshufb xmm{i}, {}", at("r9", REVERSE)));
    }
    text.cipher((&Program::round(), "round"), (&Program::last(), "last"));
    for i in 0..8 {
        text.line(format_args!("movdqu xmm8, {}", at("rdx", 16 * i)));
        text.line(format_args!("pxor xmm{i}, xmm8"));
        text.line(format_args!("movdqu {}, xmm{i}", at("rcx", 16 * i)));
    }
    text.end()
}

/// Decrypts groups. All is read before the first is written, which may lie where it was read.
fn cbc_decrypt() -> String {
    let mut text = Text::begin();
    for i in 0..8 {
        text.line(format_args!("movdqu xmm{i}, {}", at("rdx", 16 * i)));
    }
    text.cipher(
        (&Program::inverse_round(), "inverse_round"),
        (&Program::inverse_last(), "inverse_last"),
    );
    text.line(format_args!("pxor xmm0, {BEFORE}"));
    for i in 1..8 {
        text.line(format_args!("movdqu xmm8, {}", at("rdx", 16 * i - 16)));
        text.line(format_args!("pxor xmm{i}, xmm8"));
    }
    text.line(format_args!("movdqu xmm8, {}", at("rdx", 112)));
    text.line(format_args!("movdqa {BEFORE}, xmm8"));
    for i in 0..8 {
        text.line(format_args!("movdqu {}, xmm{i}", at("rcx", 16 * i)));
    }
    text.end()
}

struct Text(String);

impl Text {
    fn begin() -> Self {
        Self(format!("{HEADER}2:\n"))
    }

    fn line(&mut self, instruction: Arguments<'_>) {
        self.0.push_str(&format!("    {instruction}\n"));
    }

    /// From blocks in registers 0 to 7 to what becomes of them.
    fn cipher(&mut self, round: (&Program, &str), last: (&Program, &str)) {
        self.program((&Program::first(), "first"), "rsi");
        self.line(format_args!("mov r10d, dword ptr [rdi + 272]"));
        self.line(format_args!("lea rax, [r9 + {SECOND_FRAME}]"));
        self.line(format_args!("lea r11, [rsi + 128]"));
        self.0.push_str("3:\n");
        self.program(round, "r11");
        self.line(format_args!("add rax, 48"));
        self.line(format_args!("add r11, 128"));
        self.line(format_args!("dec r10d"));
        self.line(format_args!("jnz 3b"));
        self.program(last, "r11");
    }

    fn program(&mut self, (program, name): (&Program, &str), key: &'static str) {
        let pointers = Pointers { frame: "rax", key };
        for line in allocate(program, &order(name), pointers) {
            self.line(format_args!("{line}"));
        }
    }

    fn end(mut self) -> String {
        self.line(format_args!("add rdx, 128"));
        self.line(format_args!("add rcx, 128"));
        self.line(format_args!("dec r8"));
        self.line(format_args!("jnz 2b"));
        self.line(format_args!("ret"));
        self.0
    }
}

/// That of the program of this name.
fn order(name: &str) -> Vec<Value> {
    let mut lines = ORDERS.lines().filter_map(|line| line.split_once(": "));
    let found = lines.find(|(found, _)| *found == name);
    let Some((_, order)) = found else {
        unreachable!("{name} has no order")
    };
    order
        .split(' ')
        .filter_map(|number| number.parse().ok())
        .collect()
}

const ORDERS: &str = include_str!("bitslice_ssse3/orders.txt");

// As `Frame` and `Constants` of crates/kernels/src/x86_64/bitslice_ssse3/mod.rs.
const BEFORE: &str = "xmmword ptr [rdi + 256]";
const REVERSE: usize = 48;
const STEPS: usize = 64;
const SECOND_FRAME: usize = STEPS + 9 * 16 + 48;
