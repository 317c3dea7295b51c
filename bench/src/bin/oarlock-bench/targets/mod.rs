//! `--targets`: the project's promises, each measured as promised.
//!
//! ```text
//! table.rs    reads bench/targets.toml      measure.rs  measures targets
//! target.rs   a line of it                  judge.rs    decides whether they are met
//!                                           outcome.rs  the result to print
//! ```
//!
//! The ratios come from running this program again, on all CPUs or on one. The worst size
//! decides whether a target for many sizes is met.

mod judge;
mod measure;
mod outcome;
mod table;
mod target;

use std::io::Write;

use oarlock_engine::costs::CpuClass;
use oarlock_measure::Error;
use oarlock_measure::args::Args;
use oarlock_measure::cases::glob;
use oarlock_measure::cpu_class;
use oarlock_measure::output::{Record, json, write_out};
use oarlock_measure::peers::openssl;

use crate::peers::{boringssl, versions};
use crate::programs::packets;
use crate::programs::{self, are_named_by};
use measure::{Measured, Measuring};
use outcome::Outcome;
use table::targets;
use target::{Comparison, Target};

/// Measures the targets whose names match `pattern`, and writes a line for each.
pub(crate) fn run(
    args: &Args,
    named: &programs::Named,
    pattern: &str,
    out: &mut dyn Write,
) -> Result<(), Error> {
    // Slow targets are measured only if the pattern names their prefix.
    let asked = |line: &NamedTarget| {
        let is_allowed = match line.target.of_matrix {
            true => pattern.starts_with("class"),
            false => are_named_by(pattern) || !are_named_by(&line.name),
        };
        is_allowed && glob::matches(pattern, &line.name)
    };
    let class = cpu_class::here().unwrap_or(CpuClass::E);
    let mut targets = targets()?;
    let version = (openssl::PEER.open)(1)?.version();
    targets.retain(|target| target.is_about(&version));
    let mut groups = groups(&targets, class);
    leave_out_boringssl(&mut groups, &asked);
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
    let mut measuring = Measuring::new(named, args.quick);
    let (mut missed, mut total, mut not_promised) = (Vec::new(), 0, 0);
    for Group { case, mut lines } in groups {
        lines.retain(asked);
        let Some(line) = lines.first() else { continue };
        let mut measured = measuring.measure(&case, &line.target);
        measuring.go_on()?;
        // The worst of twenty points is sometimes below the target by chance, so a failure is measured again.
        let falls_short = |measured: &Measured| {
            let judged = lines
                .iter()
                .map(|line| judge::judge(&line.name, &line.target, measured));
            judged.flatten().any(|outcome| !outcome.met)
        };
        if line.target.is_the_worst_of_many()
            && let Ok(Measured::Ratios(ratios)) = &measured
            && measured.as_ref().is_ok_and(falls_short)
        {
            measured = measuring.measure_again(&case, &line.target, ratios.clone());
            measuring.go_on()?;
        }
        for NamedTarget { name, target } in lines {
            let outcome = match &measured {
                Ok(measured) => judge::judge(&name, &target, measured)
                    .unwrap_or_else(|why| Outcome::not_measured(name, target.required, why)),
                Err(Error::NotOffered(why)) if target.of_matrix => {
                    Outcome::not_offered(name, target.required, why.clone())
                }
                Err(error) => Outcome::not_measured(name, target.required, error.to_string()),
            };
            total += 1;
            if let Some(record) = &mut record {
                record.add(&outcome)?;
            }
            let text = match args.json {
                true => json(&outcome)?,
                false => outcome.shown(),
            };
            write_out(out, &text)?;
            if !outcome.met {
                not_promised += usize::from(!target.is_promised_for(class));
                missed.push(outcome);
            }
        }
    }
    if missed.is_empty() {
        return Ok(());
    }
    if !args.json && missed.len() < total {
        let lines: String = missed.iter().map(Outcome::shown).collect();
        write_out(out, &format!("\nnot met:\n{lines}"))?;
    }
    if not_promised > 0 {
        eprintln!(
            "oarlock-bench: {not_promised} of those not met are not promised for this CPU, of class {class}"
        );
    }
    Err(Error::Failed(format!(
        "{} of {total} targets not met",
        missed.len()
    )))
}

/// Targets that one measurement of a case decides.
struct Group {
    case: String,
    lines: Vec<NamedTarget>,
}

struct NamedTarget {
    name: String,
    target: Target,
}

/// Returns all targets on a CPU of `class`, in the order of measurement: those of whole programs grouped by case.
fn groups<'a>(targets: &'a [Target], class: CpuClass) -> Vec<Group> {
    let group = |case: &str, targets: &mut dyn Iterator<Item = &'a Target>| Group {
        case: case.to_owned(),
        lines: targets
            .flat_map(|target| target.by_size())
            .map(|target| NamedTarget {
                name: target.line(case, class),
                target,
            })
            .collect(),
    };
    let is_program = |target: &Target| matches!(target.comparison, Comparison::Program(_));
    let is_promised = |target: &&Target| !target.of_matrix || target.is_promised_for(class);
    let mut groups = Vec::new();
    let is_with = |a: &Target, b: &Target| a.is_measured_with(b) || is_program(a) && is_program(b);
    for targets in targets.chunk_by(is_with) {
        if !targets.iter().any(is_program) {
            let cases = targets[0].cases.iter();
            groups.extend(cases.map(|case| group(case, &mut targets.iter().filter(is_promised))));
            continue;
        }
        for case in programs::cases() {
            let is_of = |target: &&Target| {
                let mut patterns = target.cases.iter();
                patterns.any(|pattern| glob::matches(pattern, &case.name))
            };
            let mut targets = targets.iter().filter(is_of).filter(is_promised);
            groups.push(group(&case.name, &mut targets));
        }
    }
    groups.extend(packets::lines().map(|line| {
        Group {
            case: line.name.to_owned(),
            lines: (line.promises.iter())
                .map(|promise| Target::of_packets(line, promise))
                .filter(|target| target.is_promised_for(class))
                .map(|target| NamedTarget {
                    name: target.line(line.name, class),
                    target,
                })
                .collect(),
        }
    }));
    groups
}

/// Removes targets over BoringSSL if that is not built, since building it is optional, and reports those that `asked`
/// selects.
fn leave_out_boringssl(groups: &mut [Group], asked: &dyn Fn(&NamedTarget) -> bool) {
    if boringssl::is_here() {
        return;
    }
    let mut are_missed = false;
    for lines in groups.iter_mut().map(|group| &mut group.lines) {
        lines.retain(|line| {
            let is_over = line.target.is_over(boringssl::NAME);
            are_missed |= is_over && asked(line);
            !is_over
        });
    }
    if are_missed {
        eprintln!("without lines over boringssl: `cargo xtask peers boringssl` builds it");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_targets_are_named_alike() {
        let targets = targets().unwrap();
        let lines = groups(&targets, CpuClass::A)
            .into_iter()
            .flat_map(|group| group.lines);
        let mut names: Vec<_> = lines.map(|line| line.name).collect();
        names.sort();
        let alike = names.windows(2).filter(|two| two[0] == two[1]);
        let alike: Vec<_> = alike.map(|two| &two[0]).collect();
        assert!(alike.is_empty(), "{alike:?}");
    }
}
