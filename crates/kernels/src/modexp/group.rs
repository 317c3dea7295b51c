//! Up to eight lanes in progress: the layout of the workspace, windows of exponents, tables of powers.

use core::fmt;

use super::backend::{Backend, Moduli, Montgomery};
use super::digits::{
    BITS_READ_MAX, DIGIT_BITS, DIGIT_MASK, Digits, bits_of, digit_of, subtract_once,
};
use super::modulus::{Modulus, Width};
use crate::x86_64::ifma::half;
use crate::x86_64::line::{BLOCK, Line, WINDOW, wipe_lines};

/// The number of exponentiations that run at once.
pub const LANES: usize = 8;

/// Eight lanes in progress. The part of the workspace that it used is wiped on drop.
pub(super) struct Group<'a> {
    montgomery: Montgomery,
    pub(super) rooms: Rooms<'a>,
    /// Some bits of each lane's exponent.
    bits: Line,
    /// The table entry that each lane selects.
    index: Line,
}

/// The parts of the workspace. A part has a line for each digit unless noted otherwise.
pub(super) struct Rooms<'a> {
    moduli: Moduli<'a>,
    pub(super) square_of_r: &'a mut [Line],
    /// The number that is squared and multiplied.
    power: &'a mut [Line],
    pub(super) factor: &'a mut [Line],
    /// Scratch memory, two lines for each digit.
    scratch: &'a mut [Line],
    /// All lines of entry 0, then those of entry 1. For secret exponents, the selected entry comes last.
    table: &'a mut [Line],
}

impl<'a> Group<'a> {
    /// Creates a group with moduli of 1 in all lanes, which do no harm in unused lanes. At most the first `lanes` lanes will
    /// be used.
    pub(super) fn new(
        backend: Backend,
        width: Width,
        lanes: usize,
        workspace: &'a mut [Line],
        lines: usize,
    ) -> Result<Self, InvalidGroup> {
        let digits = width.digits();
        let workspace = workspace
            .get_mut(..lines)
            .ok_or(InvalidGroup::Workspace(lines))?;
        let (moduli, rest) = workspace.split_at_mut(1 + digits);
        let (doubles, rest) = rest.split_at_mut(BLOCK + digits);
        let (square_of_r, rest) = rest.split_at_mut(digits);
        let (power, rest) = rest.split_at_mut(digits);
        let (factor, rest) = rest.split_at_mut(digits);
        let (scratch, table) = rest.split_at_mut(2 * digits);
        moduli.fill(Line::ZERO);
        moduli[0] = Line([DIGIT_MASK; LANES]);
        moduli[1] = Line([1; LANES]);
        square_of_r.fill(Line::ZERO);
        Ok(Self {
            montgomery: Montgomery::new(backend, digits, lanes),
            rooms: Rooms {
                moduli: Moduli {
                    digits: moduli,
                    doubles,
                },
                square_of_r,
                power,
                factor,
                scratch,
                table,
            },
            bits: Line::ZERO,
            index: Line::ZERO,
        })
    }

    pub(super) fn set_moduli<'m>(&mut self, moduli: impl Iterator<Item = &'m Modulus> + Clone) {
        for (lane, modulus) in moduli.clone().enumerate() {
            let room = &mut *self.rooms.moduli.digits;
            room[0].0[lane] = modulus.negative_inverse;
            set_lane(&mut room[1..], lane, &modulus.digits);
            set_lane(self.rooms.square_of_r, lane, &modulus.power);
        }
        self.montgomery.set_moduli(&mut self.rooms.moduli);
        if moduli.clone().any(|modulus| !modulus.is_prepared) {
            self.prepare();
            for (lane, modulus) in moduli.enumerate() {
                if modulus.is_prepared {
                    set_lane(self.rooms.square_of_r, lane, &modulus.power);
                }
            }
        }
    }

    /// Computes R^2 from 2 R, with R = 2^r: the square of 2^i R is 2^2i R, and a multiplication by 2^j turns 2^i R into 2^(i
    /// + j). In every width 2^j is below R / 2^8.
    fn prepare(&mut self) {
        let r = DIGIT_BITS * self.rooms.factor.len();
        let squares = (2 * r).ilog2();
        self.rooms.power.copy_from_slice(self.rooms.square_of_r);
        for _ in 0..squares {
            self.square();
        }
        let missing = 2 * r - (1 << squares);
        self.rooms.factor.fill(Line::ZERO);
        self.rooms.factor[missing / DIGIT_BITS] = Line([1 << (missing % DIGIT_BITS); LANES]);
        self.multiply();
        self.rooms.square_of_r.copy_from_slice(self.rooms.power);
    }

    /// Sets the factor to a number for each lane, and to 0 in unused lanes.
    pub(super) fn set_factor<'b>(&mut self, bases: impl Iterator<Item = &'b [u8]>) {
        self.rooms.factor.fill(Line::ZERO);
        for (lane, base) in bases.enumerate() {
            self.set_factor_lane(lane, base);
        }
    }

    pub(super) fn set_factor_lane(&mut self, lane: usize, base: &[u8]) {
        self.set_factor_lane_from(lane, base, 0);
    }

    /// Sets a lane of the factor to the digits of the base from number `first` on.
    fn set_factor_lane_from(&mut self, lane: usize, base: &[u8], first: usize) {
        for (i, line) in self.rooms.factor.iter_mut().enumerate() {
            line.0[lane] = digit_of(base, first + i);
        }
    }

    pub(super) fn set_factor_to_one(&mut self) {
        self.rooms.factor.fill(Line::ZERO);
        self.rooms.factor[0] = Line([1; LANES]);
    }

    /// Sets the power to the factor, in Montgomery's form.
    pub(super) fn enter(&mut self) {
        self.rooms.power.copy_from_slice(self.rooms.square_of_r);
        self.multiply();
    }

    /// Sets the power to a base for each lane, of up to twice the width, in Montgomery's form. Of the table, only the first
    /// entry changes.
    ///
    /// With c = c1 R + c0, the desired c R is c0 R^2 / R + c1 R^3 / R. R^2 is below 5/4 N, as all products are, c0 below R,
    /// and c1 below R / 2^8: the first term is below 9/4 N, the second below 5/4 N, and their sum below the limit of a
    /// factor, 8 N.
    pub(super) fn begin_power<'b>(&mut self, bases: impl Iterator<Item = &'b [u8]> + Clone) {
        let digits = self.rooms.factor.len();
        let bytes = digits * DIGIT_BITS / 8;
        let is_long = bases.clone().any(|base| base.len() > bytes);
        if is_long {
            self.rooms.factor.fill(Line::ZERO);
            for (lane, base) in bases.clone().enumerate() {
                self.set_factor_lane_from(lane, base, digits);
            }
            self.rooms.power.copy_from_slice(self.rooms.square_of_r);
            self.square();
            self.multiply();
            self.store(0);
        }
        self.set_factor(bases);
        self.enter();
        if is_long {
            let mut carry = Line::ZERO;
            for (line, addend) in self.rooms.power.iter_mut().zip(&*self.rooms.table) {
                for lane in 0..LANES {
                    let (digit, addend) = (line.0[lane], addend.0[lane]);
                    let sum = (digit & DIGIT_MASK) + (addend & DIGIT_MASK) + carry.0[lane];
                    line.0[lane] = sum & DIGIT_MASK;
                    carry.0[lane] = sum >> DIGIT_BITS;
                }
            }
        }
    }

    /// Raises the power to an exponent for each lane, by the table that `fill_table` has computed from it.
    pub(super) fn raise<'b>(&mut self, exponents: impl Iterator<Item = &'b [u8]> + Clone) {
        let bytes = exponents.clone().map(<[u8]>::len).max();
        let windows = (8 * bytes.unwrap_or(0)).div_ceil(WINDOW).max(1);
        let chosen = self.entry_lines() << WINDOW;
        // Bits of exponents are read for many windows at once.
        let windows_read = BITS_READ_MAX / WINDOW;
        for number in (0..windows).rev() {
            let later = number % windows_read;
            if number + 1 == windows || later + 1 == windows_read {
                let first = number - later;
                for (exponent, lane) in exponents.clone().zip(&mut self.bits.0) {
                    *lane = bits_of(exponent, WINDOW * first, WINDOW * windows_read);
                }
            }
            for (index, lane) in self.index.0.iter_mut().zip(&self.bits.0) {
                *index = lane >> (WINDOW * later) & ((1 << WINDOW) - 1);
            }
            if number + 1 == windows {
                let (table, to) = self.rooms.table.split_at_mut(chosen);
                let to = &mut to[..chosen >> WINDOW];
                self.montgomery.select(to, table, &self.index);
                self.load_at(chosen);
            } else {
                for part in 0..WINDOW {
                    self.square_and_select(part);
                }
                self.multiply_by_entry_at(chosen);
            }
        }
    }

    /// Subtracts the power from a table entry, modulo the moduli, and sets the power to the result. Twice the modulus is
    /// added, since the power may be the greater one. The power is below twice the modulus and the entry below four times,
    /// so the result is below six times.
    pub(super) fn subtract_from(&mut self, entry: usize) {
        let minuends = &self.rooms.table[entry * self.rooms.power.len()..];
        let moduli = &self.rooms.moduli.digits[1..];
        let mut carry = [0; LANES];
        for ((line, minuend), modulus) in self.rooms.power.iter_mut().zip(minuends).zip(moduli) {
            for (lane, carry) in carry.iter_mut().enumerate() {
                let (minuend, subtrahend) = (minuend.0[lane], line.0[lane]);
                let sum = (minuend & DIGIT_MASK) + 2 * modulus.0[lane];
                let sum = sum
                    .wrapping_sub(subtrahend & DIGIT_MASK)
                    .wrapping_add(*carry);
                line.0[lane] = sum & DIGIT_MASK;
                *carry = (sum.cast_signed() >> DIGIT_BITS).cast_unsigned();
            }
        }
    }

    /// Fills the table with the powers of the power, from 0 on, in the form of `multiply_by_entry`.
    ///
    /// In a pair, b is below 7/2 N, the most that `begin_power` leaves, and b / 2^(52 half) below 9/4 N: twice N and a 32nd
    /// of 7/2 N. The product with a pair is therefore below 4 N.
    pub(super) fn fill_table(&mut self) {
        let digits = self.rooms.power.len();
        let lines = self.entry_lines();
        self.store_at(lines);
        self.set_factor_to_one();
        self.enter();
        self.store_at(0);
        if lines > digits {
            self.rooms.factor.fill(Line::ZERO);
            self.rooms.factor[digits - half(digits)] = Line([1; LANES]);
            for entry in [0, lines] {
                self.load_at(entry);
                self.multiply();
                self.store_at(entry + digits);
            }
        }
        for entry in (2 * lines..lines << WINDOW).step_by(lines) {
            for part in (0..lines).step_by(digits) {
                self.load_at(entry - lines + part);
                self.multiply_by_entry_at(lines);
                self.store_at(entry + part);
            }
        }
    }

    /// Stores the power in the table, at this line.
    fn store_at(&mut self, line: usize) {
        let digits = self.rooms.power.len();
        self.rooms.table[line..][..digits].copy_from_slice(self.rooms.power);
    }

    /// Loads the power from the table, at this line.
    fn load_at(&mut self, line: usize) {
        let digits = self.rooms.power.len();
        let table = &self.rooms.table[line..][..digits];
        self.rooms.power.copy_from_slice(table);
    }

    fn entry_lines(&self) -> usize {
        self.montgomery.entry_lines(self.rooms.power.len())
    }

    fn multiply_by_entry_at(&mut self, line: usize) {
        let lines = self.entry_lines();
        let Rooms {
            moduli,
            power,
            scratch,
            table,
            ..
        } = &mut self.rooms;
        let entry = &table[line..][..lines];
        self.montgomery
            .multiply_by_entry(power, entry, moduli, scratch);
    }

    /// Stores the power in an entry of a table whose entries are only the digits.
    pub(super) fn store(&mut self, entry: usize) {
        self.store_at(entry * self.rooms.power.len());
    }

    /// Loads the power from an entry of such a table.
    fn load(&mut self, entry: usize) {
        self.load_at(entry * self.rooms.power.len());
    }

    /// Sets the power, in each lane, to the base or one.
    pub(super) fn load_each(&mut self, is_base: impl Iterator<Item = bool>) {
        self.load(BASE);
        let one = &self.rooms.table[ONE * self.rooms.power.len()..];
        for (lane, is_base) in is_base.enumerate() {
            if !is_base {
                for (line, one) in self.rooms.power.iter_mut().zip(one) {
                    line.0[lane] = one.0[lane];
                }
            }
        }
    }

    /// Multiplies the power, in each lane, by the base or one.
    pub(super) fn multiply_each(&mut self, by_base: impl Iterator<Item = bool>) {
        core::mem::swap(&mut self.rooms.power, &mut self.rooms.factor);
        self.load_each(by_base);
        core::mem::swap(&mut self.rooms.power, &mut self.rooms.factor);
        self.multiply();
    }

    pub(super) fn square(&mut self) {
        let Rooms {
            moduli,
            power,
            scratch,
            ..
        } = &mut self.rooms;
        self.montgomery.square(power, moduli, scratch);
    }

    pub(super) fn multiply(&mut self) {
        let Rooms {
            moduli,
            power,
            factor,
            scratch,
            ..
        } = &mut self.rooms;
        self.montgomery.multiply(power, factor, moduli, scratch);
    }

    /// Squares the power. After one call for each square of a window, the selected entry is, in each lane, the table entry
    /// of its index.
    fn square_and_select(&mut self, part: usize) {
        let lines = self.entry_lines();
        let Rooms {
            moduli,
            power,
            scratch,
            table,
            ..
        } = &mut self.rooms;
        let (table, to) = table.split_at_mut(lines << WINDOW);
        self.montgomery.square_and_select(
            power,
            moduli,
            scratch,
            &mut to[..lines],
            table,
            &self.index,
            part,
        );
    }

    /// Returns the least number congruent to the power, which is below twice the modulus, with the digits of the modulus.
    pub(super) fn least<'d>(
        &self,
        lane: usize,
        modulus: &Modulus,
        digits: &'d mut Digits,
    ) -> &'d [u64] {
        let digits = &mut digits.0[..self.rooms.power.len()];
        for (digit, line) in digits.iter_mut().zip(&*self.rooms.power) {
            *digit = line.0[lane] & DIGIT_MASK;
        }
        subtract_once(digits, &modulus.digits[..digits.len()]);
        digits
    }
}

impl Drop for Group<'_> {
    fn drop(&mut self) {
        let Rooms {
            moduli,
            square_of_r,
            power,
            factor,
            scratch,
            table,
        } = &mut self.rooms;
        let Moduli { digits, doubles } = moduli;
        for room in [digits, doubles, square_of_r, power, factor, scratch, table] {
            wipe_lines(room);
        }
        wipe_lines(core::slice::from_mut(&mut self.bits));
        wipe_lines(core::slice::from_mut(&mut self.index));
    }
}

/// The values kept between two exponentiations of a group. Wiped on drop.
pub(super) struct Remainders<'a>(pub(super) &'a mut [Line]);

impl<'a> Remainders<'a> {
    pub(super) fn new(lines: &'a mut [Line]) -> Self {
        lines.fill(Line::ZERO);
        Self(lines)
    }
}

impl Drop for Remainders<'_> {
    fn drop(&mut self) {
        wipe_lines(self.0);
    }
}

pub(super) fn set_lane(lines: &mut [Line], lane: usize, digits: &[u64]) {
    for (line, digit) in lines.iter_mut().zip(digits) {
        line.0[lane] = *digit;
    }
}

/// The reason why nothing was computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InvalidGroup {
    /// No lanes, or more than [`LANES`].
    Lanes(usize),
    /// Two moduli have different widths.
    Widths,
    /// The workspace has fewer lines than this.
    Workspace(usize),
    /// The base of this lane has more than twice the bytes of the width.
    Base(usize),
    /// An exponent or the inverse of this lane has more bytes than the width.
    Key(usize),
    /// The result of this lane has no room for a number below the modulus.
    Result(usize),
}

impl fmt::Display for InvalidGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lanes(lanes) => write!(f, "{lanes} lanes: use 1 to {LANES}"),
            Self::Widths => f.write_str("moduli of two widths: group them by width"),
            Self::Workspace(lines) => write!(f, "the workspace needs {lines} lines"),
            Self::Base(lane) => write!(
                f,
                "the base of lane {lane} is longer than twice the width: reduce it, or remove zeros"
            ),
            Self::Key(lane) => write!(
                f,
                "dp, dq or qinv of lane {lane} is longer than the width: remove zeros, or reduce it"
            ),
            Self::Result(lane) => write!(
                f,
                "the result of lane {lane} is shorter than the modulus: use a longer buffer"
            ),
        }
    }
}

impl core::error::Error for InvalidGroup {}

/// Entries of the table for public exponents.
pub(super) const ONE: usize = 0;
pub(super) const BASE: usize = 1;
