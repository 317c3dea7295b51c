//! `cargo xtask kernels`: writes the assembly of the Montgomery kernels for AVX-512 IFMA.
//!
//! An operand is eight numbers, one in each lane: line `i` (64 bytes) holds digit `i`, of 52 bits,
//! of all eight. What is above 52 bits in a line is to be ignored, as `vpmadd52` does. Sums of columns
//! are not carried before the end: 4 x 80 products of less than 2^52 fit in 64 bits.
//!
//! Up to [`UNROLLED_DIGITS`] every width has its own text ([`columns`]); beyond, one in loops serves
//! them all ([`blocks`]).

mod blocks;
mod columns;

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
        let window = window(digits);
        for (name, text) in [
            ("multiply", columns::multiply(digits)),
            ("square", columns::square(digits)),
            (
                "square_and_select",
                columns::square_and_select(digits, window),
            ),
        ] {
            files.push((format!("{name}_{digits}.s"), text.end()));
        }
    }
    for (name, text) in [
        ("multiply.s", blocks::multiply()),
        ("square.s", blocks::square()),
        ("square_and_select.s", blocks::square_and_select(WINDOW)),
    ] {
        files.push((name.to_owned(), text.end()));
    }
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
}

/// Registers of a selection beside a square: those that name the table and where what is selected
/// goes, and three for what is on the way.
///
/// Of each digit a few entries are read, with masks that leave zero of those that are not wanted, and
/// put to what was selected before. It takes as many squares as a window has bits to read them all but
/// the last two of 32, which [`select`] does before.
#[derive(Clone, Copy)]
struct Selection {
    table: &'static str,
    to: &'static str,
    registers: [Zmm; 3],
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

    fn label(&mut self, number: usize) {
        self.lines.push(format!("{number}:\n"));
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

    fn multiply_low(&mut self, sum: Zmm, a: Zmm, b: impl std::fmt::Display) {
        self.line(format_args!("vpmadd52luq {sum}, {a}, {b}"));
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

    /// The lanes at the first pointer that rdx names want one of the entries whose numbers are at the
    /// second: k1 and so on become which ones. The others are the table's and where to.
    fn begin_selection(&mut self, selection: Selection, window: usize) {
        let Selection {
            table,
            to,
            registers: [index, ..],
        } = selection;
        self.line(format_args!("mov {table}, [rdx]"));
        self.load(index, Place(table, 0).digit(0));
        self.line(format_args!("mov {table}, [rdx + 8]"));
        self.masks(index, table, entries_beside(window));
        self.line(format_args!("mov {table}, [rdx + 16]"));
        self.line(format_args!("mov {to}, [rdx + 24]"));
    }

    fn masks(&mut self, index: Zmm, numbers: &str, entries: usize) {
        for entry in 0..entries {
            let mask = entry + 1;
            let at = 8 * entry;
            self.line(format_args!(
                "vpcmpeqq k{mask}, {index}, qword ptr [{numbers} + {at}]{{1to8}}"
            ));
        }
    }

    fn select_digit(&mut self, selection: Selection, window: usize, digit: usize) {
        let to = Place(selection.to, digit);
        let table = Place(selection.table, digit << window);
        self.select_entries(to, table, entries_beside(window), selection.registers);
    }

    /// Entries, an even number, are put to what is there.
    fn select_entries(&mut self, to: Place, table: Place, entries: usize, registers: [Zmm; 3]) {
        let [chosen, first, second] = registers;
        self.load(chosen, to.digit(0));
        for entry in (0..entries).step_by(2) {
            for (register, entry) in [(first, entry), (second, entry + 1)] {
                let (mask, from) = (entry + 1, table.digit(entry));
                self.line(format_args!("vmovdqu64 {register}{{k{mask}}}{{z}}, {from}"));
            }
            self.line(format_args!("vpternlogq {chosen}, {first}, {second}, {OR}"));
        }
        self.store(to.digit(0), chosen);
    }

    fn multiply_high(&mut self, sum: Zmm, a: Zmm, b: impl std::fmt::Display) {
        self.line(format_args!("vpmadd52huq {sum}, {a}, {b}"));
    }
}

/// Two entries, whose numbers are at rdx, of digits of a table at rsi, which has as many bytes for each
/// as rcx says: the lanes at r8 have them put to what is at rdi. r9 digits.
fn select() -> String {
    let mut assembly = Assembly::default();
    let registers = [Zmm(0), Zmm(1), Zmm(2)];
    assembly.load(Zmm(0), Place("r8", 0).digit(0));
    assembly.masks(Zmm(0), "rdx", 2);
    assembly.label(2);
    assembly.select_entries(Place("rdi", 0), Place("rsi", 0), 2, registers);
    assembly.line(format_args!("add rsi, rcx"));
    assembly.line(format_args!("add rdi, 64"));
    assembly.line(format_args!("dec r9"));
    assembly.line(format_args!("jnz 2b"));
    assembly.end()
}

/// How many entries of a digit are read beside a square.
fn entries_beside(window: usize) -> usize {
    (1 << window) / window / 2 * 2
}

/// Bits of an index; the table has as many entries as 2 to the power of that.
fn window(digits: usize) -> usize {
    if digits == 10 { 4 } else { WINDOW }
}

#[derive(Clone, Copy, PartialEq)]
struct Zmm(usize);

impl std::fmt::Display for Zmm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "zmm{}", self.0)
    }
}

// The System V calling convention, and `Kernel` in crates/kernels/src/x86_64/ifma/mod.rs.
const OUT: Place = Place("rdi", 0);
const A: Place = Place("rsi", 0);
const B: Place = Place("rdx", 0);
const N: Place = Place("rcx", 1); // after -1 / N
const T: Place = Place("r8", 0);
const UNROLLED_DIGITS: [usize; 3] = [10, 15, 20];
/// Bits of an index where `window` says nothing else.
const WINDOW: usize = 5;
/// What `vpternlogq` makes of three registers.
const OR: u8 = 0xfe;
const FOLDER: &str = "crates/kernels/src/x86_64/ifma";
const HEADER: &str = "# Written by `cargo xtask kernels` (xtask/src/kernels.rs).\n";
