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

/// The text of one function, and the state of its generation. [`emit!`] adds to it.
#[derive(Default)]
pub struct Assembly {
    pub lines: Vec<String>,
}

/// Adds the lines of a format string to an [`Assembly`]: instructions, and numbers with a colon as labels. What follows `//`
/// is for readers of the generator.
macro_rules! emit {
    ($assembly:expr; $($format:tt)*) => { $assembly.write(format_args!($($format)*)) };
}
pub(super) use emit;

impl Assembly {
    pub fn write(&mut self, text: std::fmt::Arguments<'_>) {
        for line in text.to_string().lines() {
            let line = line.split("//").next().unwrap_or_default().trim();
            match line {
                "" => {}
                _ if line.ends_with(':') => self.lines.push(format!("{line}\n")),
                _ => self.lines.push(format!("    {line}\n")),
            }
        }
    }

    pub fn save_registers(&mut self) {
        for register in SAVED {
            emit!(self; "push {register}");
        }
    }

    pub fn restore_registers(&mut self) {
        for register in SAVED.into_iter().rev() {
            emit!(self; "pop {register}");
        }
    }

    pub fn end(mut self) -> String {
        emit!(self; "vzeroupper");
        self.end_without_vectors()
    }

    /// Ends a function that used no vector register.
    pub fn end_without_vectors(mut self) -> String {
        emit!(self; "ret");
        format!("{HEADER}{}", self.lines.concat())
    }

    pub fn clear(&mut self, Zmm(register): Zmm) {
        // The shorter encoding does not reach the upper half of the registers.
        let name = if register < 16 { "vpxor" } else { "vpxord" };
        emit!(self; "{name} xmm{register}, xmm{register}, xmm{register}");
    }

    pub fn load(&mut self, register: Zmm, from: String) {
        emit!(self; "vmovdqu64 {register}, {from}");
    }

    pub fn store(&mut self, to: String, register: Zmm) {
        emit!(self; "vmovdqu64 {to}, {register}");
    }

    pub fn add(&mut self, to: Zmm, more: impl std::fmt::Display) {
        emit!(self; "vpaddq {to}, {to}, {more}");
    }

    pub fn multiply_low(&mut self, sum: Zmm, a: Zmm, b: impl std::fmt::Display) {
        emit!(self; "vpmadd52luq {sum}, {a}, {b}");
    }

    /// Generates a loop that ends when `counter`, a register or a place in memory, has been decremented to zero.
    pub fn count_down(&mut self, counter: &str, label: usize, body: impl FnOnce(&mut Self)) {
        emit!(self; "{label}:");
        body(self);
        emit!(self; "
            dec {counter}
            jnz {label}b
        ");
    }

    /// Generates two sequences that do not depend on each other, the second interleaved with the first.
    pub fn both(&mut self, one: impl FnOnce(&mut Self), other: impl FnOnce(&mut Self)) {
        let (start, mut added) = (self.lines.len(), Self::default());
        one(self);
        other(&mut added);
        self.interleave(start, added);
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
        emit!(self; "mov {numbers}, [rdx]");
        self.load(index, Place(numbers, 0).digit(0));
        emit!(self; "
            mov {numbers}, [rdx + 8]
            mov {table}, [rdx + 16]
            mov {to}, [rdx + 24]
        ");
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
            emit!(self; "add {}, {}", selection.table, selection.stride);
        }
    }

    /// Sets the mask to the lanes that select the entry.
    pub fn select_lanes(&mut self, selection: Selection<'_>, entry: usize, mask: usize) {
        let Selection { numbers, index, .. } = selection;
        let at = 8 * entry;
        emit!(self; "vpcmpeqq k{mask}, {index}, qword ptr [{numbers} + {at}]{{1to8}}");
    }

    /// Replaces the destination's digit by the entry's in the lanes of the mask.
    pub fn merge_lanes(&mut self, there: Place, mask: usize, entry: String, data: Zmm) {
        self.load(data, there.digit(0));
        emit!(self; "vmovdqu64 {data}{{k{mask}}}, {entry}");
        self.store(there.digit(0), data);
    }

    pub fn multiply_high(&mut self, sum: Zmm, a: Zmm, b: impl std::fmt::Display) {
        emit!(self; "vpmadd52huq {sum}, {a}, {b}");
    }
}

macro_rules! registers {
    ($($kind:ident $prefix:literal),*) => {$(
        #[derive(Clone, Copy, PartialEq)]
        pub struct $kind(pub usize);

        impl std::fmt::Display for $kind {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{}{}", $prefix, self.0)
            }
        }
    )*};
}
registers!(Xmm "xmm", Ymm "ymm", Zmm "zmm");

// The System V calling convention, and `Kernel` in crates/kernels/src/x86_64/ifma/mod.rs.
pub const OUT: Place = Place("rdi", 0);
pub const A: Place = Place("rsi", 0);
pub const B: Place = Place("rdx", 0);
pub const N: Place = Place("rcx", 1); // after -1 / N
pub const T: Place = Place("r8", 0);
/// Bits of an index. A window of the exponent has the same number of squares, each of which reads a quarter of the entries.
pub const WINDOW: usize = 4;
pub const ENTRIES: usize = (1 << WINDOW) / WINDOW;
/// Registers that a function hands back as it got them.
const SAVED: [&str; 6] = ["rbx", "rbp", "r12", "r13", "r14", "r15"];
const HEADER: &str = "# Written by `cargo xtask kernels` (xtask/src/kernels.rs).\n";
