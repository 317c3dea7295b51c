//! The code that multiplies in lanes.

use crate::cpu::Cpu;
use crate::x86_64::line::{BLOCK, Line};
use crate::x86_64::{Fma, Ifma, doubles, ifma};

/// The code that multiplies. A value exists only if the CPU has its instructions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Backend {
    /// AVX-512 IFMA: eight lanes at once.
    Ifma(Ifma),
    /// Double-precision FMA on 256-bit registers: four lanes at once, so five to eight take twice the time.
    Fma(Fma),
}

impl Backend {
    /// Returns the backends that `cpu` can run, the preferred one first.
    pub fn all(cpu: Cpu) -> impl Iterator<Item = Self> {
        let fma = Fma::new(cpu).filter(|fma| doubles::rounds_as_told(*fma));
        let all = [Ifma::new(cpu).map(Self::Ifma), fma.map(Self::Fma)];
        all.into_iter().flatten()
    }

    /// Returns the fastest backend on `cpu`, if it can run any.
    pub fn preferred(cpu: Cpu) -> Option<Self> {
        Self::all(cpu).next()
    }

    /// Returns its name in listings and statistics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ifma(_) => "ifma",
            Self::Fma(_) => "fma",
        }
    }

    /// Returns the number of lanes that take no longer than one.
    pub const fn lanes_at_once(self) -> usize {
        match self {
            Self::Ifma(_) => 8,
            Self::Fma(_) => 4,
        }
    }
}

/// The moduli of a group, in the forms that backends need.
pub(super) struct Moduli<'a> {
    /// A line with -1 / modulus, then the digits.
    pub(super) digits: &'a mut [Line],
    /// The form that `doubles::set_moduli` computes from the digits.
    pub(super) doubles: &'a mut [Line],
}

impl Moduli<'_> {
    /// Returns the lines of both forms for this number of digits.
    pub(super) const fn lines(digits: usize) -> usize {
        1 + digits + BLOCK + digits
    }
}

/// Montgomery multiplication for one width.
#[derive(Clone, Copy)]
pub(super) enum Montgomery {
    Ifma(ifma::Montgomery),
    Fma(doubles::Montgomery),
}

impl Montgomery {
    /// Creates a multiplication for at least the first `lanes` lanes.
    pub(super) fn new(backend: Backend, digits: usize, lanes: usize) -> Self {
        match backend {
            Backend::Ifma(ifma) => Self::Ifma(ifma::Montgomery::new(ifma, digits)),
            Backend::Fma(fma) => Self::Fma(doubles::Montgomery::new(fma, digits, lanes)),
        }
    }

    /// Returns the lines of a table entry for [`multiply_by_entry`](Self::multiply_by_entry).
    pub(super) fn entry_lines(&self, digits: usize) -> usize {
        match self {
            Self::Ifma(_) => ifma::entry_lines(digits),
            Self::Fma(_) => digits,
        }
    }

    /// Converts the moduli for the backend. Must be called once all of their digits are set.
    pub(super) fn set_moduli(&self, moduli: &mut Moduli<'_>) {
        match self {
            Self::Ifma(_) => {}
            Self::Fma(_) => doubles::set_moduli(moduli.doubles, moduli.digits),
        }
    }

    /// Does [`ifma::Montgomery::multiply`] on this backend.
    pub(super) fn multiply(
        &self,
        a: &mut [Line],
        b: &[Line],
        n: &Moduli<'_>,
        scratch: &mut [Line],
    ) {
        match self {
            Self::Ifma(montgomery) => montgomery.multiply(a, b, n.digits, scratch),
            Self::Fma(montgomery) => montgomery.multiply(a, b, n.doubles, scratch),
        }
    }

    /// Does [`ifma::Montgomery::square`] on this backend.
    pub(super) fn square(&self, a: &mut [Line], n: &Moduli<'_>, scratch: &mut [Line]) {
        match self {
            Self::Ifma(montgomery) => montgomery.square(a, n.digits, scratch),
            Self::Fma(montgomery) => montgomery.square(a, n.doubles, scratch),
        }
    }

    /// Does [`ifma::Montgomery::multiply_by_entry`] on this backend.
    pub(super) fn multiply_by_entry(
        &self,
        a: &mut [Line],
        entry: &[Line],
        n: &Moduli<'_>,
        scratch: &mut [Line],
    ) {
        match self {
            Self::Ifma(montgomery) => montgomery.multiply_by_entry(a, entry, n.digits, scratch),
            Self::Fma(montgomery) => montgomery.multiply(a, entry, n.doubles, scratch),
        }
    }

    /// Does [`ifma::Montgomery::square_and_select`] on this backend.
    #[expect(clippy::too_many_arguments, reason = "two operations at once")]
    pub(super) fn square_and_select(
        &self,
        a: &mut [Line],
        n: &Moduli<'_>,
        scratch: &mut [Line],
        to: &mut [Line],
        table: &[Line],
        index: &Line,
        part: usize,
    ) {
        match self {
            Self::Ifma(montgomery) => {
                montgomery.square_and_select(a, n.digits, scratch, to, table, index, part);
            }
            Self::Fma(montgomery) => {
                montgomery.square(a, n.doubles, scratch);
                // Both are pure vector work, so interleaving them gains nothing.
                if part == 0 {
                    montgomery.select(to, table, index);
                }
            }
        }
    }

    /// Does [`ifma::Montgomery::select`] on this backend.
    pub(super) fn select(&self, to: &mut [Line], table: &[Line], index: &Line) {
        match self {
            Self::Ifma(montgomery) => montgomery.select(to, table, index),
            Self::Fma(montgomery) => montgomery.select(to, table, index),
        }
    }
}
