//! `--targets`: what this project has promised, each target measured as it was promised.
//!
//! ```text
//! table.rs    the targets                  measure.rs  what they are about, measured
//! target.rs   what a line of it says       judge.rs    whether it is met
//! class.rs    CPU classes                  outcome.rs  what is told
//! ```
//!
//! Ratios come from this program run again: on all CPUs, on one, or with AES instructions hidden. A
//! target that holds for many sizes is as good as the worst of them.

mod class;
mod judge;
mod measure;
mod outcome;
mod table;
mod target;

use std::io::Write;

use oarlock_bench::Error;
use oarlock_bench::args::Args;
use oarlock_bench::cases::glob;
use oarlock_bench::output::{Record, json, write_out};

use crate::peers::versions;
use crate::programs::{self, are_named_by};
use class::CpuClass;
use measure::Measuring;
use outcome::Outcome;
use table::TARGETS;
use target::{Comparison, Target};

/// Measures the targets whose names `pattern` matches and writes a line for each.
pub(crate) fn run(
    args: &Args,
    named: &programs::Named,
    pattern: &str,
    out: &mut dyn Write,
) -> Result<(), Error> {
    let asked = |line: &NamedTarget| {
        let is_allowed = are_named_by(pattern) || !are_named_by(&line.name);
        is_allowed && glob::matches(pattern, &line.name)
    };
    let groups = groups();
    if !groups.iter().flat_map(|group| &group.lines).any(asked) {
        let first = groups.first().and_then(|group| group.lines.first());
        return Err(Error::Usage(format!(
            "no target matches {pattern:?}: there are such as {:?}",
            first.map_or("", |line| &line.name)
        )));
    }
    let mut record = match args.record {
        true => Some(Record::open(&versions())?),
        false => None,
    };
    if !args.json {
        write_out(out, "required  measured      min     max\n")?;
    }
    let class = CpuClass::here();
    let mut measuring = Measuring::new(named, args.quick);
    let (mut missed, mut total, mut not_promised) = (0, 0, 0);
    for Group { case, mut lines } in groups {
        lines.retain(asked);
        let Some(line) = lines.first() else { continue };
        let measured = measuring.measure(&case, line.target);
        measuring.go_on()?;
        for NamedTarget { name, target } in lines {
            let outcome = measured
                .as_ref()
                .map_err(ToString::to_string)
                .and_then(|measured| judge::judge(&name, target, measured))
                .unwrap_or_else(|why| Outcome::not_measured(name, target.required, why));
            total += 1;
            if !outcome.met {
                missed += 1;
                not_promised += usize::from(class.is_some_and(|class| !class.is_promised(target)));
            }
            if let Some(record) = &mut record {
                record.add(&outcome)?;
            }
            let text = match args.json {
                true => json(&outcome)?,
                false => outcome.shown(),
            };
            write_out(out, &text)?;
        }
    }
    if let (Some(class), 1..) = (class, not_promised) {
        eprintln!(
            "oarlock-bench: {not_promised} of those not met are not promised for this CPU, of class {}",
            class.letter()
        );
    }
    if missed == 0 {
        Ok(())
    } else {
        Err(Error::Failed(format!(
            "{missed} of {total} targets not met"
        )))
    }
}

/// Lines that one measurement of a case decides.
struct Group {
    case: String,
    lines: Vec<NamedTarget>,
}

struct NamedTarget {
    name: String,
    target: &'static Target,
}

/// All lines, in the order in which they are measured: those of whole programs case by case.
fn groups() -> Vec<Group> {
    let group = |case: &str, targets: &mut dyn Iterator<Item = &'static Target>| Group {
        case: case.to_owned(),
        lines: targets
            .map(|target| NamedTarget {
                name: target.name(case),
                target,
            })
            .collect(),
    };
    let is_program = |target: &Target| matches!(target.comparison, Comparison::Program(_));
    let mut groups = Vec::new();
    for targets in TARGETS.chunk_by(|a, b| a.is_measured_with(b) || is_program(a) && is_program(b))
    {
        if !targets.iter().any(is_program) {
            let cases = targets[0].cases.iter();
            groups.extend(cases.map(|case| group(case, &mut targets.iter())));
            continue;
        }
        for case in programs::cases() {
            let is_of = |target: &&Target| {
                let mut patterns = target.cases.iter();
                patterns.any(|pattern| glob::matches(pattern, &case.name))
            };
            groups.push(group(&case.name, &mut targets.iter().filter(is_of)));
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_targets_are_named_alike() {
        let lines = groups().into_iter().flat_map(|group| group.lines);
        let mut names: Vec<_> = lines.map(|line| line.name).collect();
        let all = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}
