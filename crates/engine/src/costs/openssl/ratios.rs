//! Ratios of the provider's rates to those of OpenSSL's own implementations.

use std::fmt;

use crate::costs::class::CpuClass;
use crate::work::primitive::Primitive;

/// Lengths in bytes of the measured requests, with one ratio each: a record header, the lengths of OpenSSL's own
/// benchmark, a full record, and the pieces that ssh and file tools pass.
pub const SIZES: [usize; 7] = [16, 64, 256, 1024, 16384, 32768, 131_072];
/// The number of sizes in the compiled tables, from the first one on.
pub(super) const SIZES_OF_TABLES: usize = 5;

/// The largest number of calls of a primitive.
const CALLS_MAX: usize = 4;

/// The provider's rates in thousandths of OpenSSL's own, by [`SIZES`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ratios([u32; SIZES.len()]);

impl Ratios {
    /// Creates ratios from thousandths, or `None` if a value is implausible.
    pub fn from_thousandths(thousandths: [u32; SIZES.len()]) -> Option<Self> {
        let is_all = thousandths.iter().all(is_possible);
        is_all.then_some(Self(thousandths))
    }

    /// Creates the ratios of a compiled table. Its last one also applies to longer requests.
    pub(super) const fn known(thousandths: [u32; SIZES_OF_TABLES]) -> Self {
        let [a, b, c, d, e] = thousandths;
        Self([a, b, c, d, e, e, e])
    }

    /// Returns the lower ratio of each size.
    pub(super) fn or_lower(self, other: Self) -> Self {
        let mut lower = self.0;
        for (one, other) in lower.iter_mut().zip(other.0) {
            *one = other.min(*one);
        }
        Self(lower)
    }

    /// Returns the ratios in thousandths.
    pub fn thousandths(self) -> [u32; SIZES.len()] {
        self.0
    }

    /// Returns the lowest ratio in thousandths, and its size in bytes.
    pub fn lowest(self) -> (u32, usize) {
        let each = self.0.into_iter().zip(SIZES);
        each.min().unwrap_or((POSSIBLE_MIN, SIZES[0]))
    }

    /// Whether the provider is level at every size.
    pub fn is_level(self) -> bool {
        self.lowest().0 >= LEVEL_MIN
    }
}

/// Formats the ratios as in "1.021 1.403 2.000 2.170 2.240 2.240 2.240".
impl fmt::Display for Ratios {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_ratios(f, &self.0)
    }
}

/// The rates of one primitive in thousandths of OpenSSL's own, by [`Primitive::calls`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CallRatios {
    thousandths: [u32; CALLS_MAX],
    count: usize,
}

impl CallRatios {
    /// Creates the ratios of `primitive` from thousandths, one for each call, or `None` if a value is implausible.
    pub fn from_thousandths(primitive: Primitive, thousandths: &[u32]) -> Option<Self> {
        let count = primitive.calls().len();
        let is_all = thousandths.len() == count && thousandths.iter().all(is_possible);
        is_all.then(|| Self::known(thousandths))
    }

    /// Creates the ratios of a compiled table, one for each call.
    pub(super) const fn known(thousandths: &[u32]) -> Self {
        let mut known = [0; CALLS_MAX];
        known
            .split_at_mut(thousandths.len())
            .0
            .copy_from_slice(thousandths);
        Self {
            thousandths: known,
            count: thousandths.len(),
        }
    }

    /// Returns the lower ratio of each call.
    pub(super) fn or_lower(mut self, other: Self) -> Self {
        for (one, other) in self.thousandths.iter_mut().zip(other.thousandths) {
            *one = other.min(*one);
        }
        self
    }

    /// Returns the ratios in thousandths, by call.
    pub fn thousandths(&self) -> &[u32] {
        &self.thousandths[..self.count]
    }

    /// Returns the ratio of the call of `primitive` that is furthest from level, in thousandths, and the call's index.
    pub fn lowest(&self, primitive: Primitive) -> (u32, usize) {
        let each = self.thousandths().iter().copied().zip(0..);
        let by_level = |(ratio, at): &(u32, usize)| ratio * 1000 / level_min(primitive, *at);
        each.min_by_key(by_level).unwrap_or((POSSIBLE_MIN, 0))
    }

    /// Whether every call of `primitive` is level.
    pub fn is_level(&self, primitive: Primitive) -> bool {
        let (ratio, at) = self.lowest(primitive);
        ratio >= level_min(primitive, at)
    }
}

/// Returns the thousandths from which on a call counts as level.
fn level_min(primitive: Primitive, at: usize) -> u32 {
    let is_first = primitive
        .calls()
        .get(at)
        .is_some_and(|call| call.starts_with("first-"));
    if is_first { FIRST_LEVEL_MIN } else { LEVEL_MIN }
}

/// Formats the ratios as in "1.021 4.032".
impl fmt::Display for CallRatios {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_ratios(f, self.thousandths())
    }
}

fn write_ratios(f: &mut fmt::Formatter<'_>, thousandths: &[u32]) -> fmt::Result {
    for (at, ratio) in thousandths.iter().enumerate() {
        let space = if at == 0 { "" } else { " " };
        write!(f, "{space}{}.{:03}", ratio / 1000, ratio % 1000)?;
    }
    Ok(())
}

fn is_possible(ratio: &u32) -> bool {
    (POSSIBLE_MIN..=POSSIBLE_MAX).contains(ratio)
}

/// The source of ratios.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RatioSource {
    /// A compiled table.
    Table {
        /// The class they were measured on.
        class: CpuClass,
        /// The OpenSSL version line whose first release they were measured against, as in (3, 1). They apply up to the
        /// next line.
        version: (u32, u32),
    },
    /// A measurement of this machine with this libcrypto.
    Calibration,
}

/// Thousandths from which on an operation counts as level. Identical code measured against itself varies from 0.98 to
/// 1.02 at 64 bytes (crates/measure/src/measuring/turns.rs), and other programs add noise. With a limit of 1, an
/// operation that is level would be offered at random.
pub const LEVEL_MIN: u32 = 970;
/// The limit for the first operation with a key, which happens once per key: passing the key on takes a microsecond,
/// which the second operation more than recovers.
const FIRST_LEVEL_MIN: u32 = 900;
/// Limits of plausible ratios. The tables contain 0.04 to 6.5.
const POSSIBLE_MIN: u32 = 10;
const POSSIBLE_MAX: u32 = 100_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_decides() {
        let ratios = |of| Ratios::from_thousandths(of);
        let level = ratios([1000, 970, 5000, 1000, 1000, 1000, 1000]).unwrap();
        assert_eq!((level.lowest(), level.is_level()), ((970, 64), true));
        // An operation that is slow only at the sizes of ssh is not level either.
        for (at, bytes) in SIZES.into_iter().enumerate() {
            let mut slow = [1000; SIZES.len()];
            slow[at] = 969;
            let slow = ratios(slow).unwrap();
            assert_eq!((slow.lowest(), slow.is_level()), ((969, bytes), false));
        }
        let shown = ratios([1000, 1000, 5000, 1000, 969, 1000, 1001]).unwrap();
        assert_eq!(
            shown.to_string(),
            "1.000 1.000 5.000 1.000 0.969 1.000 1.001"
        );
        assert_eq!(ratios([9, 1000, 1000, 1000, 1000, 1000, 1000]), None);
        assert_eq!(ratios([1000, 1000, 1000, 1000, 1000, 1000, 100_001]), None);
    }

    #[test]
    fn the_lowest_call_decides() {
        for primitive in Primitive::ALL.iter().copied() {
            let ratios = |of: &[u32]| CallRatios::from_thousandths(primitive, of);
            let mut each = vec![1500; primitive.calls().len()];
            assert!(each.len() <= CALLS_MAX, "{primitive}");
            for at in 0..each.len() {
                let is_first = primitive.calls()[at].starts_with("first-");
                let level = if is_first { 900 } else { 970 };
                for (ratio, is_level) in [(level, true), (level - 1, false)] {
                    each[at] = ratio;
                    let found = ratios(&each).unwrap();
                    let lowest = found.lowest(primitive);
                    assert_eq!((lowest, found.is_level(primitive)), ((ratio, at), is_level));
                    assert_eq!(found.thousandths(), each);
                }
                for impossible in [0, 9, 100_001] {
                    each[at] = impossible;
                    assert_eq!(ratios(&each), None, "{primitive}");
                }
                each[at] = 1500;
            }
            let shorter = &each[1..];
            assert_eq!(ratios(shorter), None, "{primitive}");
            each.push(1500);
            assert_eq!(ratios(&each), None, "{primitive}");
        }
        let shown = CallRatios::from_thousandths(Primitive::X25519, &[4032, 969]);
        assert_eq!(shown.unwrap().to_string(), "4.032 0.969");
    }
}
