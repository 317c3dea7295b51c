//! Gates: their values and their text.

use std::fmt;
use std::str::FromStr;

use crate::tool::Result;

/// A gate on numbered values: inputs come first, then gates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gate {
    And(usize, usize),
    Or(usize, usize),
    Xor(usize, usize),
    /// The first operand and not the second.
    AndNot(usize, usize),
    Not(usize),
    /// A lookup table: bit 4 a + 2 b + c of the first field.
    LookUp(u8, usize, usize, usize),
}

impl Gate {
    /// Returns the gate's value from the values before it.
    pub(super) fn of(self, values: &[u64]) -> u64 {
        match self {
            Self::And(a, b) => values[a] & values[b],
            Self::Or(a, b) => values[a] | values[b],
            Self::Xor(a, b) => values[a] ^ values[b],
            Self::AndNot(a, b) => values[a] & !values[b],
            Self::Not(a) => !values[a],
            Self::LookUp(table, a, b, c) => (0..8)
                .filter(|row| table >> row & 1 == 1)
                .map(|row| {
                    let [a, b, c] = [(a, 4), (b, 2), (c, 1)].map(|(value, bit)| {
                        if row & bit == 0 {
                            !values[value]
                        } else {
                            values[value]
                        }
                    });
                    a & b & c
                })
                .fold(0, |sum, row| sum | row),
        }
    }

    /// Returns the numbers of the gate's operands.
    pub(super) fn operands(self) -> Vec<usize> {
        match self {
            Self::And(a, b) | Self::Or(a, b) | Self::Xor(a, b) | Self::AndNot(a, b) => vec![a, b],
            Self::Not(a) => vec![a],
            Self::LookUp(_, a, b, c) => vec![a, b, c],
        }
    }

    pub(super) fn code(self) -> String {
        match self {
            Self::And(a, b) => format!("P::and(x{a}, x{b})"),
            Self::Or(a, b) => format!("P::or(x{a}, x{b})"),
            Self::Xor(a, b) => format!("P::xor(x{a}, x{b})"),
            Self::AndNot(a, b) => format!("P::and_not(x{a}, x{b})"),
            Self::Not(a) => format!("P::not(x{a})"),
            Self::LookUp(table, a, b, c) => {
                format!("Zmm::look_up::<{table:#04x}>(x{a}, x{b}, x{c})")
            }
        }
    }
}

impl fmt::Display for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::And(a, b) => write!(f, "{a}&{b}"),
            Self::Or(a, b) => write!(f, "{a}|{b}"),
            Self::Xor(a, b) => write!(f, "{a}^{b}"),
            Self::AndNot(a, b) => write!(f, "{a}&!{b}"),
            Self::Not(a) => write!(f, "!{a}"),
            Self::LookUp(table, a, b, c) => write!(f, "{table:02x}({a},{b},{c})"),
        }
    }
}

impl FromStr for Gate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self> {
        let number = |text: &str| {
            text.parse()
                .map_err(|error| format!("{text:?} in a gate: {error}"))
        };
        let two = |sign| {
            let (a, b) = text.split_once(sign)?;
            Some(number(a).and_then(|a| Ok((a, number(b)?))))
        };
        if let Some(a) = text.strip_prefix('!') {
            return Ok(Self::Not(number(a)?));
        }
        if let Some((table, operands)) = text.split_once('(') {
            let table =
                u8::from_str_radix(table, 16).map_err(|error| format!("{text}: {error}"))?;
            let operands: Vec<&str> = operands.trim_end_matches(')').split(',').collect();
            let [a, b, c] = operands[..] else {
                return Err(format!("{text:?} has not three operands"));
            };
            return Ok(Self::LookUp(table, number(a)?, number(b)?, number(c)?));
        }
        if let Some(pair) = two("&!") {
            return pair.map(|(a, b)| Self::AndNot(a, b));
        }
        if let Some(pair) = two("&") {
            return pair.map(|(a, b)| Self::And(a, b));
        }
        if let Some(pair) = two("|") {
            return pair.map(|(a, b)| Self::Or(a, b));
        }
        match two("^") {
            Some(pair) => pair.map(|(a, b)| Self::Xor(a, b)),
            None => Err(format!("{text:?} is no gate")),
        }
    }
}
