//! `--targets`: the figures this project has promised, each measured as it was promised.
//!
//! ```text
//! ctr.rs aead.rs cbc.rs prefetch.rs auto.rs   what is promised     enc.rs (beside)   of the command
//! ask.rs                                      how it is measured
//! public_key.rs                               both, by requests in flight
//! outcome.rs                                  what came out
//! ```
//! Those of whole programs are in `programs/targets.rs`.
//!
//! Ratios come from this program run again, in the surroundings that a target names: on all CPUs,
//! on one, or with AES instructions hidden. A target that holds for many sizes is as good as the
//! worst of them.

mod aead;
mod ask;
mod auto;
mod cbc;
mod ctr;
mod outcome;
mod prefetch;
mod programs;
mod public_key;

use std::io::Write;

use oarlock_bench::Error;
use oarlock_bench::args::Args;
use oarlock_bench::cases::glob;
use oarlock_bench::output::Ratio;
use oarlock_bench::output::Record;

use crate::peers::versions;
use crate::programs::{Args as Programs, are_named_by, enc};
use ask::Ask;
use outcome::Outcome;

const GROUPS: &[&[Ask]] = &[ctr::ASKS, aead::ASKS, cbc::ASKS, prefetch::ASKS, auto::ASKS];

/// Measures the targets whose names `pattern` matches and writes a line for each.
pub(crate) fn run(
    args: &Args,
    named: &Programs,
    pattern: &str,
    out: &mut dyn Write,
) -> Result<(), Error> {
    let asked = |name: &str| {
        let is_allowed = are_named_by(pattern) || !are_named_by(name);
        is_allowed && glob::matches(pattern, name)
    };
    if !names().iter().any(|name| asked(name)) {
        return Err(Error::Usage(format!(
            "no target matches {pattern:?}: there are such as {:?}",
            names().first().map_or("", String::as_str)
        )));
    }
    let mut record = match args.record {
        true => Some(Record::open(&versions())?),
        false => None,
    };
    if !args.json {
        writeln!(out, "required  measured      min     max")
            .map_err(Error::io("writing the result"))?;
    }
    let (mut missed, mut total) = (0, 0);
    let mut report = |outcome: Outcome| -> Result<(), Error> {
        total += 1;
        missed += usize::from(!outcome.met);
        if let Some(record) = &mut record {
            record.add(&outcome)?;
        }
        let written = if args.json {
            serde_json::to_string(&outcome)
                .map_err(std::io::Error::from)
                .and_then(|line| writeln!(out, "{line}"))
        } else {
            outcome.show(out)
        };
        written
            .and_then(|()| out.flush())
            .map_err(Error::io("writing the result"))
    };
    for ask in GROUPS.iter().copied().flatten() {
        let judge = |name: &str, target: &ask::Target, ratios: &[Ratio]| target.judge(name, ratios);
        let targets = ask.targets.iter();
        let targets = targets.map(|target| (ask.name(target), target.least, target));
        let measure = || ask.measure(args.quick);
        outcomes(targets, &asked, measure, judge, &mut report)?;
    }
    for ask in public_key::ASKS {
        let judge =
            |name: &str, target: &public_key::Target, ratios: &[Ratio]| target.judge(name, ratios);
        let targets = ask.targets.iter();
        let targets = targets.map(|target| (ask.name(target), target.least, target));
        let measure = || ask.measure(args.quick);
        outcomes(targets, &asked, measure, judge, &mut report)?;
    }
    if public_key::FIRSTS.iter().any(|name| asked(name)) {
        let firsts = public_key::firsts(args.quick).into_iter();
        for outcome in firsts.filter(|outcome| asked(&outcome.target)) {
            report(outcome)?;
        }
    }
    programs::outcomes(args, named, &asked, &mut report)?;
    if asked(ENC) {
        report(of_enc(named, args.quick))?;
    }
    if missed == 0 {
        Ok(())
    } else {
        Err(Error::Failed(format!(
            "{missed} of {total} targets not met"
        )))
    }
}

/// Measures, if one of the targets of a run is asked for, and reports on each that is.
fn outcomes<'a, T: 'a>(
    targets: impl Iterator<Item = (String, f64, &'a T)>,
    asked: &dyn Fn(&str) -> bool,
    measure: impl FnOnce() -> Result<Vec<Ratio>, Error>,
    judge: impl Fn(&str, &T, &[Ratio]) -> Result<Outcome, String>,
    report: &mut dyn FnMut(Outcome) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut targets = targets.filter(|(name, ..)| asked(name)).peekable();
    if targets.peek().is_none() {
        return Ok(());
    }
    let ratios = measure();
    for (name, least, target) in targets {
        let outcome = ratios
            .as_deref()
            .map_err(ToString::to_string)
            .and_then(|ratios| judge(&name, target, ratios))
            .unwrap_or_else(|why| Outcome::not_measured(name, least, why));
        report(outcome)?;
    }
    Ok(())
}

fn of_enc(named: &Programs, quick: bool) -> Outcome {
    let name = ENC.to_owned();
    match enc::ratios(named.oarlock.as_deref(), quick) {
        Ok(mut ratios) => {
            ratios.sort_by(f64::total_cmp);
            let last = ratios.len() - 1;
            let ratio = [ratios[0], ratios[last / 2], ratios[last]];
            Outcome::measured(name, ENC_LEAST, ratio, String::new())
        }
        Err(error) => Outcome::not_measured(name, ENC_LEAST, error.to_string()),
    }
}

const ENC: &str = "oarlock enc of 1 GiB in tmpfs: over openssl enc, aes-128-ctr";
const ENC_LEAST: f64 = 1.7;

fn names() -> Vec<String> {
    let asks = GROUPS.iter().copied().flatten();
    let of = |ask: &'static Ask| ask.targets.iter().map(|target| ask.name(target));
    let of_public_key = |ask: &'static public_key::Ask| {
        let targets = ask.targets.iter();
        targets.map(|target| ask.name(target))
    };
    asks.flat_map(of)
        .chain(public_key::ASKS.iter().flat_map(of_public_key))
        .chain(public_key::FIRSTS.map(str::to_owned))
        .chain([ENC.to_owned()])
        .chain(programs::names())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use oarlock_bench::cases::{CASES, Size};

    #[test]
    fn every_target_has_a_size_that_is_measured() {
        for ask in GROUPS.iter().copied().flatten() {
            for target in ask.targets {
                let name = ask.name(target);
                let mut sizes = ask.sizes.split(',').map(|size| size.parse::<Size>());
                assert!(sizes.any(|size| target.covers(size.unwrap().0)), "{name}");
                assert!(CASES.iter().any(|case| case.name == ask.case), "{name}");
            }
        }
    }

    #[test]
    fn no_two_targets_are_named_alike() {
        let mut names = names();
        let all = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), all);
    }

    #[test]
    fn every_case_is_held_to_the_best_strategy() {
        for case in CASES.iter().filter(|case| !case.then_hmac) {
            let held = auto::ASKS.iter().any(|ask| ask.case == case.name);
            assert!(held, "{}", case.name);
        }
    }
}
