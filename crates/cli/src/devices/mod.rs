//! `oarlock devices`: what this machine has (each backend passes its self-test before its rate is shown),
//! which way a request would go, and the costs that decide it.
//!
//! ```text
//! mod.rs       arguments, calibration        listing.rs    operations by device and backend
//! plan.rs      ways of requests              self_test.rs  vectors, and one backend against another
//! ```

mod listing;
mod plan;
mod self_test;

use std::fmt::Write as _;
use std::io::Write as _;
use std::time::Instant;

use oarlock::{Accelerator, Options};
use serde::Serialize;

use self::listing::Listing;
use crate::cache::{self, Missing, Stored};
use crate::failure::Failure;
use crate::{options, to_stdout};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Show which way requests of each operation would go, from which sizes on and why
    #[arg(long)]
    plan: bool,

    /// Measure the costs that the plan uses, within 20 ms, and store them below $XDG_CACHE_HOME
    /// (~/.cache) for the other subcommands
    #[arg(long)]
    calibrate: bool,

    /// Print one JSON object, with rates in bytes a second
    #[arg(long)]
    json: bool,

    /// Options of the accelerator, as in "max_threads=4,cipher_threads=2"
    #[arg(
        long,
        value_name = "NAME=VALUE,...",
        default_value = "",
        hide_default_value = true
    )]
    options: String,
}

pub(crate) const EXAMPLES: &str = "\
Each backend must reproduce published vectors and agree with another backend on a random message;
otherwise the exit status is 1. Rates are of one thread; * marks the device on which a session opens.

Examples:
  oarlock devices --plan
  oarlock devices --json | jq '.operations[] | {operation, device, backend}'";

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let options = options::parse(&args.options)?;
    if args.calibrate {
        return calibrate(options, args);
    }
    let accelerator = calibrated_if_stored(options)?;
    if args.plan {
        return plan::show(&accelerator, args.json);
    }
    let listing = Listing::of(&accelerator)?;
    let text = if args.json {
        to_json(&listing)?
    } else {
        listing.to_text()
    };
    to_stdout(text.as_bytes())?;
    let failed = listing.failed();
    if failed.is_empty() {
        Ok(())
    } else {
        Err(Failure::new(format!(
            "self-test failed: {}: do not encrypt on this machine until you know why",
            failed.join(", ")
        )))
    }
}

/// As the other subcommands take it, with a note when a stored calibration is ignored.
fn calibrated_if_stored(options: Options) -> Result<Accelerator, Failure> {
    match cache::read(options::cpu()?) {
        Ok(calibration) => options::calibrated(options, calibration),
        Err(missing) => {
            if let Missing::Unfit(why) = missing {
                let _ = writeln!(std::io::stderr(), "oarlock: note: ignored: {why}");
            }
            options::build(options)
        }
    }
}

/// Measures, shows and stores; shows the costs even when it cannot store them.
fn calibrate(options: Options, args: &Args) -> Result<(), Failure> {
    let json = args.json;
    let accelerator = options::build(options)?;
    let began = Instant::now();
    let calibration = accelerator.calibrate();
    let took = began.elapsed();
    let stored = Stored::new(accelerator.cpu(), &calibration);
    let written = stored.write();
    if args.plan {
        let accelerator = options::calibrated(options, calibration)?;
        plan::show(&accelerator, json)?;
        return written.map(drop);
    }
    let mut text = if json {
        to_json(&stored)?
    } else {
        costs_to_text(&stored)
    };
    if !json && let Ok(path) = &written {
        let _ = writeln!(
            text,
            "\nmeasured in {:.1} ms and stored in {}",
            took.as_secs_f64() * 1e3,
            path.display()
        );
    }
    to_stdout(text.as_bytes())?;
    written.map(drop)
}

fn to_json(value: &impl Serialize) -> Result<String, Failure> {
    serde_json::to_string(value)
        .map(|line| line + "\n")
        .map_err(|error| Failure::new(format!("devices: {error}")))
}

fn costs_to_text(stored: &Stored) -> String {
    let mut text = String::new();
    let machine = &stored.machine;
    // Writing to a String does not fail.
    let _ = writeln!(text, "hand-off to a helper    {:>9} ns", machine.handoff_ns);
    let _ = writeln!(text, "wake-up of a helper     {:>9} ns", machine.wake_ns);
    for (what, rate) in [
        ("another", machine.other_core_bytes_per_second),
        ("this", machine.own_core_bytes_per_second),
    ] {
        let what = format!("keystream from {what} core");
        let _ = writeln!(text, "{what:<27}{:>12}", speed(rate));
    }
    let _ = writeln!(
        text,
        "\n{:<18}  {:<9} {:<14}{:>9}{:>13}",
        "operation", "device", "backend", "setup", "rate"
    );
    for cost in &stored.operations {
        let rate = speed(cost.bytes_per_second);
        let _ = writeln!(
            text,
            "{:<18}  {:<9} {:<14}{:>6} ns{rate:>13}",
            cost.operation, cost.device, cost.backend, cost.setup_ns
        );
    }
    text
}

/// Three digits.
fn speed(bytes_per_second: u64) -> String {
    let bytes_per_second = bytes_per_second as f64;
    match bytes_per_second {
        ..1e8 => format!("{:.1} MB/s", bytes_per_second / 1e6),
        ..1e10 => format!("{:.2} GB/s", bytes_per_second / 1e9),
        _ => format!("{:.1} GB/s", bytes_per_second / 1e9),
    }
}
