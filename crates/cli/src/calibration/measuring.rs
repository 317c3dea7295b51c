//! The rates of the provider's operations compared with OpenSSL's own, in every way in which programs call them.
//!
//! ```text
//! cipher × size × direction × way        a comparison each: pairs of short samples, and their median
//! primitive × call                       one comparison each
//! first passes                           some pairs of each in turn, so that a burst of other work affects all
//! refining                               more pairs where the true median may lie on either side of the limit
//! ```
//!
//! The lowest median of a size or kind of call counts: what a program gains that keeps its context must not cost one that
//! copies a context for each message. A comparison that is still undecided when the time is up, and widely spread, counts as
//! unknown.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use oarlock::{Accelerator, Algorithm, Direction, Kind};
use oarlock_engine::Primitive;
use oarlock_engine::costs::openssl::{LEVEL_MIN, SIZES};
use oarlock_engine::plan::provided;
use oarlock_measure::Error;
use oarlock_measure::peers::openssl::{Call, Way};
use oarlock_measure::run::compared::{Compared, Spread};
use oarlock_measure::run::provided::{Provided, Request};

use crate::failure::Failure;
use crate::options;

/// The result of the measurement.
#[derive(Default)]
pub(super) struct Found {
    /// The ratios in thousandths, by operation, then by size or call.
    pub(super) ratios: BTreeMap<String, Vec<u32>>,
    /// Operations whose ratios are hidden by other programs' work.
    pub(super) noisy: Vec<String>,
}

/// Measures each operation that the library also has.
pub(super) fn measure(both: &Provided) -> Result<Found, Failure> {
    let began = Instant::now();
    let accelerator = options::built(Accelerator::builder().max_threads(0))?;
    let mut cases = Vec::new();
    for one in provided(accelerator.cpu(), &accelerator.options(), "", None) {
        cases.extend(cases_of(both, one.operation)?);
    }
    for primitive in Primitive::ALL.iter().copied() {
        cases.extend(cases_of_primitive(both, primitive)?);
    }
    for _ in 0..PASSES {
        for case in &mut cases {
            case.compared.go_on(PAIRS).map_err(failure)?;
        }
    }
    while began.elapsed() < TIME_MAX {
        let lost = lost(&outcomes(&cases));
        let open = cases.iter_mut().filter(|case| {
            let name = case.name;
            case.compared.pairs() < PAIRS_MAX && !lost.contains(&name) && case.outcome().is_open()
        });
        let mut is_done = true;
        for case in open {
            case.compared.go_on(PAIRS).map_err(failure)?;
            is_done = false;
            if began.elapsed() > TIME_MAX {
                break;
            }
        }
        if is_done {
            break;
        }
    }
    Ok(Found::of(&outcomes(&cases)))
}

impl Found {
    /// Combines the outcomes of an operation: of a size or kind of call, the lowest median counts.
    fn of(outcomes: &[Outcome]) -> Self {
        let mut found = Self::default();
        for it in outcomes {
            let ratios = found.ratios.entry(it.name.into());
            let lowest = &mut ratios.or_insert_with(|| vec![u32::MAX; it.count])[it.at];
            *lowest = it.thousandths().min(*lowest);
        }
        // An operation that clearly loses somewhere is not offered, whatever is hidden elsewhere.
        let lost = lost(outcomes);
        let hidden = outcomes.iter().filter(|it| it.is_hidden());
        for it in hidden.filter(|it| !lost.contains(&it.name)) {
            if found.ratios.remove(it.name).is_some() {
                found.noisy.push(it.name.into());
            }
        }
        found
    }
}

/// A comparison and its subject.
struct Case {
    /// The operation's name.
    name: &'static str,
    /// The index of the size or call, out of `count`.
    at: usize,
    count: usize,
    compared: Compared,
}

impl Case {
    fn outcome(&self) -> Outcome {
        Outcome {
            name: self.name,
            at: self.at,
            count: self.count,
            spread: self.compared.spread(),
        }
    }
}

fn outcomes(cases: &[Case]) -> Vec<Outcome> {
    cases.iter().map(Case::outcome).collect()
}

/// The result of a comparison so far.
#[derive(Clone, Copy)]
struct Outcome {
    name: &'static str,
    at: usize,
    count: usize,
    spread: Spread,
}

impl Outcome {
    fn thousandths(&self) -> u32 {
        (self.spread.median * 1000.0).round() as u32
    }

    /// Whether the true median may lie on either side of the limit.
    fn is_open(&self) -> bool {
        (self.spread.low..self.spread.high).contains(&LEVEL)
    }

    fn is_lost(&self) -> bool {
        self.spread.high < LEVEL
    }

    /// Whether the comparison is open because the machine is busy, and not because the ratio is close to the limit.
    fn is_hidden(&self) -> bool {
        self.is_open() && self.spread.high - self.spread.low > SPREAD_MAX
    }
}

/// Returns the operations that certainly lose, at some size and in some way.
fn lost(outcomes: &[Outcome]) -> Vec<&'static str> {
    let lost = outcomes.iter().filter(|it| it.is_lost());
    lost.map(|it| it.name).collect()
}

/// Returns the comparisons for a cipher; none if the library lacks it, as a build without Camellia does.
fn cases_of(both: &Provided, operation: Algorithm) -> Result<Vec<Case>, Failure> {
    let mut cases = Vec::new();
    for (at, bytes) in SIZES.into_iter().enumerate() {
        for direction in directions(operation) {
            for way in Way::all(operation) {
                // In longer requests the difference between the ways is too small to see.
                if *way != Way::Update && bytes > WAYS_BYTES_MAX {
                    continue;
                }
                let request = Request {
                    operation,
                    direction: *direction,
                    bytes,
                };
                match Compared::new(both, &request, *way, SAMPLE) {
                    Ok(compared) => cases.push(Case {
                        name: operation.name(),
                        at,
                        count: SIZES.len(),
                        compared,
                    }),
                    Err(Error::Unavailable(_)) if *way == Way::Update => return Ok(Vec::new()),
                    Err(error) if *way == Way::Update => return Err(failure(error)),
                    // Not every release has every way: 3.0 cannot copy a context of ChaCha20-Poly1305.
                    Err(_) => {}
                }
            }
        }
    }
    Ok(cases)
}

/// Returns the comparisons for a primitive; none if the library or the provider lacks it. OpenSSL has post-quantum groups
/// from 3.5 on.
fn cases_of_primitive(both: &Provided, primitive: Primitive) -> Result<Vec<Case>, Failure> {
    let mut cases = Vec::new();
    if !both.has(primitive, "oarlock").map_err(failure)? {
        return Ok(cases);
    }
    for call in Call::all(primitive) {
        match Compared::of_call(both, call, SAMPLE) {
            Ok(compared) => cases.push(Case {
                name: primitive.name(),
                at: call.at,
                count: primitive.calls().len(),
                compared,
            }),
            Err(Error::Unavailable(_)) => return Ok(Vec::new()),
            Err(error) => return Err(failure(error)),
        }
    }
    Ok(cases)
}

/// Returns the directions to measure. Counter modes and ChaCha20 do the same in both.
fn directions(operation: Algorithm) -> &'static [Direction] {
    match operation.kind() {
        Kind::Stream { .. } => &[Direction::Encrypt],
        _ => &[Direction::Encrypt, Direction::Decrypt],
    }
}

fn failure(error: Error) -> Failure {
    Failure::new(error.to_string())
}

const LEVEL: f64 = LEVEL_MIN as f64 / 1000.0;
/// The duration of a sample of either side: longer than the clock's resolution, and shorter than another program's time
/// slice.
const SAMPLE: Duration = Duration::from_micros(80);
/// The ratios of a debug build say nothing, so its tests do not wait for precise ones.
const IS_PRECISE: bool = !cfg!(debug_assertions);
const PASSES: usize = if IS_PRECISE { 3 } else { 1 };
const PAIRS: usize = 3;
const PAIRS_MAX: usize = 151;
const WAYS_BYTES_MAX: usize = 1024;
/// The first passes take most of it on an idle machine. Three processes measure, one after the other.
const TIME_MAX: Duration = Duration::from_millis(if IS_PRECISE { 2200 } else { 0 });
/// On an idle machine 151 pairs are spread over 0.02 or less.
const SPREAD_MAX: f64 = 0.05;

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(name: &'static str, at: usize, low: f64, median: f64, high: f64) -> Outcome {
        let spread = Spread { low, median, high };
        let count = 2;
        Outcome {
            name,
            at,
            count,
            spread,
        }
    }

    #[test]
    fn the_lowest_way_of_a_size_counts() {
        let found = Found::of(&[
            outcome("aes", 0, 1.19, 1.2, 1.21),
            outcome("aes", 0, 0.89, 0.9, 0.91),
            outcome("aes", 0, 1.49, 1.5, 1.51),
            outcome("aes", 1, 2.0, 2.1, 2.2),
        ]);
        assert_eq!(found.ratios["aes"], [900, 2100]);
        assert!(found.noisy.is_empty());
    }

    #[test]
    fn what_a_busy_machine_hides_is_unknown_unless_it_loses_elsewhere() {
        let hidden = |name, at| outcome(name, at, LEVEL - 0.1, LEVEL, LEVEL + 0.1);
        let found = Found::of(&[
            hidden("hidden", 0),
            outcome("hidden", 1, 1.9, 2.0, 2.1),
            hidden("lost", 0),
            outcome("lost", 1, 0.7, 0.75, 0.8),
            // As close to the limit as can be measured.
            outcome("level", 0, LEVEL - 0.01, LEVEL, LEVEL + 0.01),
            // Widely spread, but far from the limit.
            outcome("wide", 0, 1.5, 2.0, 2.5),
        ]);
        assert_eq!(found.noisy, ["hidden"]);
        let known: Vec<_> = found.ratios.keys().map(String::as_str).collect();
        assert_eq!(known, ["level", "lost", "wide"]);
        assert_eq!(found.ratios["lost"][1], 750);
    }
}
