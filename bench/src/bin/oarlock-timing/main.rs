//! `oarlock-timing`: whether times tell secrets.
//!
//! After Reparaz, Balasch and Verbauwhede, "Dude, is my code constant time?" (DATE 2017): a path
//! runs very often, in random turn with secrets of one class and of the other, and Welch's t-test
//! says whether the times of the two differ by more than chance. A path that is known to be leaky is
//! measured first; where it is not found out, the rest would mean nothing and is not measured.
//!
//! ```text
//! paths ─ prepare, run ─▶ measure ─ times by class ─▶ statistics ─▶ greatest |t|
//! ```
//!
//! docs/internals/constant-time.md says what the figures mean and holds those of whole runs.

mod clock;
mod measure;
mod memcheck;
mod paths;
mod statistics;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;
use measure::{Contrast, Measurement, Path};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use statistics::Finding;

/// Looks for times that depend on secrets, path by path
#[derive(Parser)]
#[command(version)]
struct Cli {
    /// A few samples of each path that is not too slow for it, and no verdict on them: shows that
    /// this program works and finds the leaky control
    #[arg(long, conflicts_with = "samples")]
    quick: bool,

    /// Times counted for each path; slow ones get fewer, by a fixed factor
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    samples: usize,

    /// Only paths whose names contain this
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,

    /// Run each path once, under `valgrind`, which counts the branches and addresses that depend on a
    /// secret, in place of measuring times
    #[arg(long, conflicts_with_all = ["quick", "samples"])]
    memcheck: bool,

    /// Other secrets and another order
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

fn main() -> ExitCode {
    match run(&Cli::parse(), &mut io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("oarlock-timing: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(cli: &Cli, out: &mut dyn Write) -> Result<(), String> {
    // The paths take for granted that it is valid.
    oarlock::device::visible_cpu().map_err(|error| error.to_string())?;
    let mut paths = paths::all();
    let samples = if cli.quick {
        QUICK_SAMPLES
    } else {
        cli.samples
    };
    paths.retain(|path| {
        let is_too_slow = cli.quick && samples / path.slowness() < QUICK_SAMPLES_MIN;
        path.name().contains(&cli.only) && !is_too_slow
    });
    if paths.is_empty() {
        return Err(format!("no path has {:?} in its name", cli.only));
    }
    let mut rng = SmallRng::seed_from_u64(cli.seed);
    let mut line = |text: &str| {
        writeln!(out, "{text}")
            .and_then(|()| out.flush())
            .map_err(|error| format!("writing the result: {error}"))
    };

    if cli.memcheck {
        return look(&mut paths, &mut rng, &mut line);
    }
    line("| path | samples | median | difference | kept | greatest \\|t\\| | |")?;
    line("|---|--:|--:|--:|--:|--:|---|")?;
    let mut leaky = paths::leaky_control();
    let measurement = flag(&mut *leaky, &mut rng);
    line(&row(&*leaky, &measurement))?;
    if !finding(&measurement).is_a_leak() {
        return Err(
            "the control was not found out, so nothing can be said of any path: \
             is this machine very busy?"
                .to_owned(),
        );
    }

    let mut leaks = Vec::new();
    for path in &mut paths {
        let path = &mut **path;
        let mut measurement = Measurement::start(path, &mut rng);
        let samples = samples / path.slowness();
        measurement.go_on(path, &mut rng, samples);
        line(&row(path, &measurement))?;
        if finding(&measurement).is_a_leak() {
            leaks.push(path.name().to_owned());
        }
    }
    if leaks.is_empty() || cli.quick {
        Ok(())
    } else {
        Err(format!(
            "times depend on the secret: {}: measure again with another --seed",
            leaks.join(", ")
        ))
    }
}

/// Has memcheck look at each path once.
fn look(
    paths: &mut [Box<dyn Path>],
    rng: &mut SmallRng,
    line: &mut dyn FnMut(&str) -> Result<(), String>,
) -> Result<(), String> {
    if !memcheck::is_there() {
        return Err(
            "--memcheck is for a run by valgrind: valgrind -q oarlock-timing --memcheck".to_owned(),
        );
    }
    if found(&mut *paths::leaky_control(), rng) == 0 {
        return Err("memcheck does not find the control that leaks".to_owned());
    }
    line("| path | found | allowed |")?;
    line("|---|--:|--:|")?;
    let mut leaks = Vec::new();
    // Elsewhere the secret says which of the path's own to take.
    let paths = paths
        .iter_mut()
        .filter(|path| path.classes() != Contrast::Marked);
    for path in paths {
        let found = found(&mut **path, rng);
        line(&format!(
            "| {} | {found} | {} |",
            path.name(),
            path.verdicts()
        ))?;
        if found > path.verdicts() {
            leaks.push(path.name().to_owned());
        }
    }
    match leaks.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "branches or addresses depend on the secret: {}",
            leaks.join(", ")
        )),
    }
}

/// How many branches and addresses of one run depend on the secret.
fn found(path: &mut dyn Path, rng: &mut SmallRng) -> u64 {
    let mut secret = vec![0; path.secret_bytes()];
    rng.fill_bytes(&mut secret);
    memcheck::hide(&mut secret);
    let before = memcheck::found();
    path.prepare(&secret);
    path.run();
    memcheck::found() - before
}

/// Measures a path until it is found out, or given up.
fn flag(path: &mut dyn Path, rng: &mut SmallRng) -> Measurement {
    let mut measurement = Measurement::start(path, rng);
    while measurement.samples < CONTROL_SAMPLES_MAX && !finding(&measurement).is_a_leak() {
        measurement.go_on(path, rng, QUICK_SAMPLES);
    }
    measurement
}

fn finding(measurement: &Measurement) -> Finding {
    measurement.finding().unwrap_or(Finding {
        t: 0.0,
        difference: 0.0,
        kept: 1.0,
    })
}

impl Finding {
    fn is_a_leak(&self) -> bool {
        self.t.abs() > LEAK
    }

    fn verdict(&self) -> &'static str {
        match self.t.abs() {
            t if t > LEAK => "**leaks**",
            t if t > DOUBT => "measure again",
            _ => "no difference",
        }
    }
}

fn row(path: &dyn Path, measurement: &Measurement) -> String {
    let finding = finding(measurement);
    format!(
        "| {} | {} | {} | {:+.2} | {:.0} % | {:.1} | {}{} |",
        path.name(),
        measurement.samples,
        measurement.median,
        finding.difference,
        100.0 * finding.kept,
        finding.t.abs(),
        finding.verdict(),
        path.remark()
            .map(|it| format!("; {it}"))
            .unwrap_or_default()
    )
}

/// Beyond this, chance is ruled out even over a hundred tests of a hundred paths (the paper's tool
/// draws the line there too).
const LEAK: f64 = 10.0;
/// Beyond this, one test in 150,000 would be by chance: the line of TVLA (Goodwill et al., 2011).
const DOUBT: f64 = 4.5;
const QUICK_SAMPLES: usize = 20_000;
/// Fewer do not make a statistic: see `statistics::KEPT_MIN`, of either class.
const QUICK_SAMPLES_MIN: usize = 2500;
const CONTROL_SAMPLES_MAX: usize = 2_000_000;
