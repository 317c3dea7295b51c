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

/// Writes the files.
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

/// Fails unless the files are as this program would write them.
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
        // As in `entry_lines` of crates/kernels/src/x86_64/ifma/mod.rs.
        let has_pairs = digits > 10;
        let entry_lines = if has_pairs { 2 * digits } else { digits };
        let mut texts = vec![
            ("multiply", columns::multiply(digits)),
            ("square", columns::square(digits)),
            (
                "square_and_select",
                columns::square_and_select(digits, entry_lines),
            ),
        ];
        if has_pairs {
            texts.push(("multiply_by_pair", columns::multiply_by_pair(digits)));
        }
        for (name, text) in texts {
            files.push((format!("{name}_{digits}.s"), text.end()));
        }
    }
    for (name, text) in [
        ("multiply.s", blocks::multiply()),
        ("square.s", blocks::square()),
        ("square_and_select.s", blocks::square_and_select()),
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

/// Registers of a selection beside a square: those that name the numbers of entries, the first of these
/// entries, and where what is selected goes; the bytes from an entry to the next, a number or in a
/// register; one register for the lanes' indices, two for what is on the way.
///
/// Each entry is merged into what is there, in the lanes that want it, and whole lines are stored. A
/// merge takes a port that `vpmadd52` needs. A store under a mask takes none, but **how long it takes
/// depends on the mask**, which is secret: with such stores, exponents of zeros took 1 to 3 % longer
/// than others (docs/constant-time.md).
#[derive(Clone, Copy)]
struct Selection<'a> {
    numbers: &'static str,
    table: &'static str,
    to: &'static str,
    stride: &'a str,
    index: Zmm,
    data: [Zmm; 2],
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

    /// Of the four pointers at rdx the first is to the lanes' indices.
    fn begin_selection(&mut self, selection: Selection<'_>) {
        let Selection {
            numbers,
            table,
            to,
            index,
            ..
        } = selection;
        self.line(format_args!("mov {numbers}, [rdx]"));
        self.load(index, Place(numbers, 0).digit(0));
        self.line(format_args!("mov {numbers}, [rdx + 8]"));
        self.line(format_args!("mov {table}, [rdx + 16]"));
        self.line(format_args!("mov {to}, [rdx + 24]"));
    }

    /// What one square reads, of these digits.
    fn select_digits(&mut self, selection: Selection<'_>, digits: usize) {
        for entry in 0..ENTRIES {
            let mask = 1 + entry % 2;
            self.select_lanes(selection, entry, mask);
            for digit in 0..digits {
                let data = selection.data[digit % 2];
                let entry = Place(selection.table, 0).digit(digit);
                self.merge_lanes(Place(selection.to, digit), mask, entry, data);
            }
            let stride = selection.stride;
            self.line(format_args!("add {}, {stride}", selection.table));
        }
    }

    /// The mask becomes which lanes want the entry.
    fn select_lanes(&mut self, selection: Selection<'_>, entry: usize, mask: usize) {
        let Selection { numbers, index, .. } = selection;
        let at = 8 * entry;
        self.line(format_args!(
            "vpcmpeqq k{mask}, {index}, qword ptr [{numbers} + {at}]{{1to8}}"
        ));
    }

    /// What is there gets the entry's digit in these lanes.
    fn merge_lanes(&mut self, there: Place, mask: usize, entry: String, data: Zmm) {
        self.load(data, there.digit(0));
        self.line(format_args!("vmovdqu64 {data}{{k{mask}}}, {entry}"));
        self.store(there.digit(0), data);
    }

    fn multiply_high(&mut self, sum: Zmm, a: Zmm, b: impl std::fmt::Display) {
        self.line(format_args!("vpmadd52huq {sum}, {a}, {b}"));
    }
}

/// The entry at rsi, whose number is at rdx: the lanes at rcx that want it have it stored at rdi. r8
/// digits.
fn select() -> String {
    let mut assembly = Assembly::default();
    let selection = Selection {
        numbers: "rdx",
        table: "rsi",
        to: "rdi",
        stride: "64",
        index: Zmm(0),
        data: [Zmm(1); 2],
    };
    assembly.load(selection.index, Place("rcx", 0).digit(0));
    assembly.select_lanes(selection, 0, 1);
    assembly.label(2);
    let entry = Place("rsi", 0).digit(0);
    assembly.merge_lanes(Place("rdi", 0), 1, entry, selection.data[0]);
    assembly.line(format_args!("add rsi, 64"));
    assembly.line(format_args!("add rdi, 64"));
    assembly.line(format_args!("dec r8"));
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

// The System V calling convention, and `Kernel` in crates/kernels/src/x86_64/ifma/mod.rs.
const OUT: Place = Place("rdi", 0);
const A: Place = Place("rsi", 0);
const B: Place = Place("rdx", 0);
const N: Place = Place("rcx", 1); // after -1 / N
const T: Place = Place("r8", 0);
const UNROLLED_DIGITS: [usize; 3] = [10, 15, 20];
/// Bits of an index. A window of the exponent has as many squares, and each reads as many entries: a
/// quarter of them.
const WINDOW: usize = 4;
const ENTRIES: usize = (1 << WINDOW) / WINDOW;
const FOLDER: &str = "crates/kernels/src/x86_64/ifma";
const HEADER: &str = "# Written by `cargo xtask kernels` (xtask/src/kernels.rs).\n";
