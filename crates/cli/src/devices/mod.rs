//! `oarlock devices`: the devices and backends of this machine, each self-tested before its rate is shown, the way that a
//! request would go, and the costs that decide it.
//!
//! ```text
//! mod.rs       arguments, calibration        listing.rs    operations by device and backend
//! plan.rs      ways of requests              self_test.rs  vectors, and one backend compared with another
//! rate.rs      formatted rates               others.rs     configured devices, and running processes
//! ```

mod listing;
#[cfg(feature = "servers")]
mod others;
mod plan;
mod rate;
mod self_test;

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;
use std::time::Instant;

use oarlock::{Accelerator, Options};

use self::listing::Listing;
use self::rate::speed;
use crate::cache::{self, Missing, Stored};
use crate::failure::Failure;
use crate::{cpu, options, stdout};

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

    /// Also list the devices of a cryptoserver's configuration: tokens, libraries, simulated boards
    #[cfg(feature = "servers")]
    #[arg(long, value_name = "FILE", conflicts_with_all = ["plan", "calibrate"])]
    config: Option<PathBuf>,

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
Each backend must reproduce published vectors and agree with another backend on a random message; \
otherwise the exit status is 1. Rates are of one thread, request after request of 16 KiB, the median of some \
samples; half of them lie within what ± says; * marks the device on which a session opens.

Examples:
  oarlock devices --plan
  oarlock devices --config cryptoserver.toml
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
    let listing = Listing::of(
        &accelerator,
        #[cfg(feature = "servers")]
        others::Others::find(args.config.as_deref())?,
    )?;
    let text = if args.json {
        stdout::json("devices", &listing)?
    } else {
        listing.to_text()
    };
    stdout::write(&text)?;
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

/// Builds the accelerator as the other subcommands do, and notes if a stored calibration is ignored.
fn calibrated_if_stored(options: Options) -> Result<Accelerator, Failure> {
    match cache::read(cpu::visible()?) {
        Ok(calibration) => options::calibrated(options, calibration),
        Err(missing) => {
            if let Missing::Unfit(why) = missing {
                let _ = writeln!(std::io::stderr(), "oarlock: note: ignored: {why}");
            }
            options::build(options)
        }
    }
}

/// Measures the costs, shows and stores them. They are shown even if they cannot be stored.
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
        stdout::json("devices", &stored)?
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
    stdout::write(&text)?;
    written.map(drop)
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
