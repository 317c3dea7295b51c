//! The text of an assembly function: registers, operands, instructions.

/// The place of an operand: a general register, and an offset in lines.
#[derive(Clone, Copy)]
pub struct Place(pub &'static str, pub usize);

impl Place {
    pub fn digit(self, digit: usize) -> String {
        match 64 * (self.1 + digit) {
            0 => format!("zmmword ptr [{}]", self.0),
            bytes => format!("zmmword ptr [{} + {bytes}]", self.0),
        }
    }
}

/// Registers of a selection during a square: pointers to the entries' numbers, to the first entry, and to the destination;
/// the stride between entries, a number or a register; one register for the lanes' indices, and two for data in transit.
///
/// Each entry is merged into the destination's lines in the lanes that select it, and whole lines are stored. A merge
/// occupies a port that `vpmadd52` needs. A masked store occupies none, but **its duration depends on the mask**, which is
/// secret: with such stores, exponents of zeros took 1 to 3 % longer than others (docs/internals/constant-time.md).
#[derive(Clone, Copy)]
pub struct Selection<'a> {
    pub numbers: &'static str,
    pub table: &'static str,
    pub to: &'static str,
    pub stride: &'a str,
    pub index: Zmm,
    pub data: [Zmm; 2],
}

/// The text of one function, and the state of its generation.
#[derive(Default)]
pub struct Assembly {
    pub lines: Vec<String>,
}

impl Assembly {
    pub fn line(&mut self, instruction: std::fmt::Arguments<'_>) {
        self.lines.push(format!("    {instruction}\n"));
    }

    pub fn end(mut self) -> String {
        self.line(format_args!("vzeroupper"));
        self.line(format_args!("ret"));
        self.end_without_vectors()
    }

    /// Ends a function that used no vector register.
    pub fn end_without_vectors(self) -> String {
        format!("{HEADER}{}", self.lines.concat())
    }

    pub fn label(&mut self, number: usize) {
        self.lines.push(format!("{number}:\n"));
    }

    pub fn clear(&mut self, Zmm(register): Zmm) {
        // The shorter encoding does not reach the upper half of the registers.
        let name = if register < 16 { "vpxor" } else { "vpxord" };
        self.line(format_args!(
            "{name} xmm{register}, xmm{register}, xmm{register}"
        ));
    }

    pub fn load(&mut self, register: Zmm, from: String) {
        self.line(format_args!("vmovdqu64 {register}, {from}"));
    }

    pub fn store(&mut self, to: String, register: Zmm) {
        self.line(format_args!("vmovdqu64 {to}, {register}"));
    }

    pub fn add(&mut self, to: Zmm, more: impl std::fmt::Display) {
        self.line(format_args!("vpaddq {to}, {to}, {more}"));
    }

    pub fn multiply_low(&mut self, sum: Zmm, a: Zmm, b: impl std::fmt::Display) {
        self.line(format_args!("vpmadd52luq {sum}, {a}, {b}"));
    }

    /// Spreads the lines of `other` evenly among those since `start`.
    pub fn interleave(&mut self, start: usize, other: Self) {
        let own = self.lines.split_off(start);
        let (count, others) = (own.len(), other.lines.len());
        let mut other = other.lines.into_iter();
        for (i, line) in own.into_iter().enumerate() {
            self.lines.push(line);
            let due = others * (i + 1) / count - others * i / count;
            self.lines.extend(other.by_ref().take(due));
        }
    }

    /// Loads the pointers that a selection needs from the four at rdx, the first of which points to the lanes' indices.
    pub fn begin_selection(&mut self, selection: Selection<'_>) {
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

    /// Selects from the entries that one square reads, for this number of digits.
    pub fn select_digits(&mut self, selection: Selection<'_>, digits: usize) {
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

    /// Sets the mask to the lanes that select the entry.
    pub fn select_lanes(&mut self, selection: Selection<'_>, entry: usize, mask: usize) {
        let Selection { numbers, index, .. } = selection;
        let at = 8 * entry;
        self.line(format_args!(
            "vpcmpeqq k{mask}, {index}, qword ptr [{numbers} + {at}]{{1to8}}"
        ));
    }

    /// Replaces the destination's digit by the entry's in the lanes of the mask.
    pub fn merge_lanes(&mut self, there: Place, mask: usize, entry: String, data: Zmm) {
        self.load(data, there.digit(0));
        self.line(format_args!("vmovdqu64 {data}{{k{mask}}}, {entry}"));
        self.store(there.digit(0), data);
    }

    pub fn multiply_high(&mut self, sum: Zmm, a: Zmm, b: impl std::fmt::Display) {
        self.line(format_args!("vpmadd52huq {sum}, {a}, {b}"));
    }
}

#[derive(Clone, Copy, PartialEq)]
pub struct Zmm(pub usize);

impl std::fmt::Display for Zmm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "zmm{}", self.0)
    }
}

// The System V calling convention, and `Kernel` in crates/kernels/src/x86_64/ifma/mod.rs.
pub const OUT: Place = Place("rdi", 0);
pub const A: Place = Place("rsi", 0);
pub const B: Place = Place("rdx", 0);
pub const N: Place = Place("rcx", 1); // after -1 / N
pub const T: Place = Place("r8", 0);
/// Bits of an index. A window of the exponent has the same number of squares, each of which reads a quarter of the entries.
pub const WINDOW: usize = 4;
pub const ENTRIES: usize = (1 << WINDOW) / WINDOW;
pub const HEADER: &str = "# Written by `cargo xtask kernels` (xtask/src/kernels.rs).\n";
