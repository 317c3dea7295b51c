//! `--seed-shape`: the measurement behind the figures of SILC's accelerator, the software crypto accelerator that Oarlock's
//! options come from: AES in counter mode, 1 MiB in place, repeatedly, by one consumer.

use std::io::Write;
use std::time::{Duration, Instant};

use cipher::StreamCipher;
use oarlock::{Accelerator, Options};
use oarlock_measure::Error;
use oarlock_measure::args::Args;
use oarlock_measure::measuring::Summary;
use oarlock_measure::output::{json, write_out};
use serde::Serialize;

/// A line of the output.
#[derive(Serialize)]
struct SeedRow {
    case: &'static str,
    options: String,
    key_bits: usize,
    cpus: usize,
    gbit_per_s: f64,
    /// The rate of SILC's accelerator with AES-128, if there is a figure for these options.
    seed_gbit_per_s: Option<f64>,
    seed_cores: Option<usize>,
}

/// Measures each set of options for which the seed has a figure, and writes a line for each key size.
pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<(), Error> {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    if !args.json {
        let heading = format!(
            "AES-CTR, 1 MiB in place, one consumer, {cpus} CPUs here; the seed: AES-128, of its time\n\
             {:>10} {:>10} {:>8}  options\n",
            "key bits", "Gbit/s", "seed"
        );
        write_out(out, &heading)?;
    }
    for (options, seed_gbit_per_s, seed_cores) in SEEDS {
        for key_bytes in [16, 24, 32] {
            let parsed: Options = options.parse().map_err(oarlock::Error::Options)?;
            let accelerator = Accelerator::builder().options(parsed).build()?;
            let figure = SeedRow {
                case: "seed-shape",
                options: (*options).to_owned(),
                key_bits: 8 * key_bytes,
                cpus,
                gbit_per_s: measure(&accelerator, key_bytes, args.quick)?,
                seed_gbit_per_s: (key_bytes == 16).then_some(*seed_gbit_per_s),
                seed_cores: (key_bytes == 16).then_some(*seed_cores),
            };
            let line = if args.json {
                json(&figure)?
            } else {
                shown(&figure)
            };
            write_out(out, &line)?;
        }
    }
    Ok(())
}

/// Returns Gbit/s, the median of several periods.
fn measure(accelerator: &Accelerator, key_bytes: usize, quick: bool) -> Result<f64, Error> {
    let key: Vec<u8> = (0..key_bytes as u8).collect();
    let mut cipher = accelerator.ctr(&key, &[0; 16])?;
    let mut data = vec![0; BYTES];
    let (stretches, stretch) = if quick {
        (3, QUICK_STRETCH)
    } else {
        (STRETCHES, STRETCH)
    };
    let mut rates = Vec::new();
    // The first period is not measured: threads start, and the plan settles.
    for _ in 0..=stretches {
        let began = Instant::now();
        let mut calls = 0_u32;
        while began.elapsed() < stretch {
            cipher.apply_keystream(&mut data);
            calls += 1;
        }
        let bits = 8.0 * BYTES as f64 * f64::from(calls);
        rates.push(bits / began.elapsed().as_nanos() as f64);
    }
    Ok(Summary::of(&rates[1..]).median)
}

fn shown(figure: &SeedRow) -> String {
    let options = match figure.options.as_str() {
        "" => "default",
        options => options,
    };
    let seed = figure.seed_gbit_per_s.zip(figure.seed_cores);
    let (seed, note) = seed.map_or_else(Default::default, |(rate, cores)| {
        (
            format!("{rate:.2}"),
            format!(" (the seed on {cores} cores)"),
        )
    });
    let SeedRow {
        key_bits,
        gbit_per_s,
        ..
    } = figure;
    format!("{key_bits:>10} {gbit_per_s:>10.1} {seed:>8}  {options}{note}\n")
}

/// Options, the seed's Gbit/s of AES-128 with them, and its number of cores.
const SEEDS: &[(&str, f64, usize)] = &[
    ("", 2.0, 2),
    ("cipher_blocks=65536,cipher_streams=32", 5.68, 4),
    ("cipher_blocks=65536,cipher_streams=64", 9.08, 8),
];
const BYTES: usize = 1 << 20;
const STRETCHES: usize = 5;
const STRETCH: Duration = Duration::from_millis(150);
const QUICK_STRETCH: Duration = Duration::from_millis(30);
