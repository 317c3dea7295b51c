//! `--report`: the results of a machine, as a self-contained page with charts.
//!
//! ```text
//! folder.rs   the folder, which never overwrites other files     chart.rs   SVG
//! page.rs     HTML: charts, each with its figures                figures.rs lines, by case
//! ```

mod chart;
mod figures;
mod folder;
mod page;

use std::io::Write;
use std::path::Path;

use crate::args::{Args, CallPattern};
use crate::cases::{self, Algorithm, Case, Matching, Size};
use crate::error::Error;
use crate::output::{Entry, Machine, json};
use crate::peers::PeerFactory;
use crate::run::{Event, Shown, measure as measure_cases};
use figures::Report;
use folder::Folder;

/// Measures, shows figures on `out` as they arrive, and writes the page into `path`.
pub(crate) fn run(
    args: &Args,
    path: &Path,
    peers: &[PeerFactory],
    out: &mut dyn Write,
) -> Result<(), Error> {
    // Open the folder first: minutes of measurement must not end in figures that cannot be kept.
    let folder = Folder::at(path)?;
    let cases = cases::matching(&args.case)?;
    let mut shown = Shown::new(args, out);
    let mut versions = Vec::new();
    let mut measure = |args: &Args, cases: &Matching| {
        let mut all = Vec::new();
        if cases.is_empty() {
            return Ok(all);
        }
        measure_cases(args, cases, peers, &mut |event| {
            match &event {
                Event::Started(found) if versions.is_empty() => versions = found.to_vec(),
                Event::Started(_) => {}
                Event::Measured(_, lines) => all.extend_from_slice(lines),
            }
            shown.on(event)
        })?;
        Ok::<Vec<Entry>, Error>(all)
    };

    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let mut report = Report {
        speed: measure(&speed(args), &Matching::of_ciphers(&cases.ciphers))?,
        ..Report::default()
    };
    for threads in thread_counts(cpus) {
        for bytes in SCALING_SIZES {
            let of_these = |case: &&'static Case| scaling_bytes(case) == bytes;
            let cases: Vec<_> = cases.ciphers.iter().copied().filter(of_these).collect();
            let lines = measure(
                &scaling(args, threads, bytes),
                &Matching::of_ciphers(&cases),
            )?;
            report.scaling.extend(lines);
        }
    }
    let streams = cases.ciphers.iter().copied().filter(|case| is_stream(case));
    if cpus > 1 {
        let streams = Matching::of_ciphers(&streams.collect::<Vec<_>>());
        report.bursts = measure(&bursts(args, cpus), &streams)?;
    }
    let public_key = Matching::of_public_key(&cases.public_key);
    report.public_key = measure(&public_key_sweep(args), &public_key)?;

    let machine = Machine::here(versions);
    folder.write("figures.jsonl", &jsonl(&machine, &report)?)?;
    folder.write(folder::INDEX, &page::html(&machine, &report)?)?;
    shown.note(&format!("{}\n", folder.index().display()))
}

fn speed(args: &Args) -> Args {
    let mut args = args.clone();
    if args.size.is_empty() {
        args.size = SPEED_SIZES.to_vec();
    }
    args
}

fn scaling(args: &Args, threads: usize, bytes: Size) -> Args {
    Args {
        threads,
        size: vec![bytes],
        mode: vec![CallPattern::BackToBack],
        peer: vec!["inline".to_owned()],
        // In a long sample, keystream computed before the clock started is only a small part.
        sample_ms: args.sample_ms.or((!args.quick).then_some(STEADY_MS)),
        ..args.clone()
    }
}

fn bursts(args: &Args, threads: usize) -> Args {
    let idle_ms = if args.quick { QUICK_IDLE_MS } else { IDLE_MS };
    Args {
        threads,
        size: BURST_SIZES.to_vec(),
        mode: vec![CallPattern::Burst],
        idle_ms: match args.idle_ms.as_slice() {
            [] => vec![idle_ms],
            given => given.to_vec(),
        },
        peer: ["inline", "prefetch", "openssl"]
            .map(str::to_owned)
            .to_vec(),
        ..args.clone()
    }
}

fn public_key_sweep(args: &Args) -> Args {
    Args {
        depth: DEPTHS.to_vec(),
        ..args.clone()
    }
}

/// Returns the size of the requests that several threads share.
fn scaling_bytes(case: &Case) -> Size {
    if case.then_hmac {
        PACKET
    } else if case.algorithm.is_slow() {
        SLOW
    } else {
        LONG
    }
}

/// Returns two, four and so on, and the number of CPUs.
fn thread_counts(cpus: usize) -> Vec<usize> {
    let doubling = std::iter::successors(Some(2), |count| Some(2 * count));
    let mut counts: Vec<usize> = doubling.take_while(|count| *count < cpus).collect();
    if cpus > 1 {
        counts.push(cpus);
    }
    counts
}

/// Whether keystream can be computed ahead for the case.
fn is_stream(case: &Case) -> bool {
    let is_cbc = matches!(case.algorithm, Algorithm::AesCbc { .. });
    !case.algorithm.is_aead() && !is_cbc && !case.then_hmac
}

/// Returns the report as a record: the machine, then every line.
fn jsonl(machine: &Machine, report: &Report) -> Result<String, Error> {
    let chapters = [
        &report.speed,
        &report.scaling,
        &report.bursts,
        &report.public_key,
    ];
    let mut text = json(machine)?;
    for line in chapters.into_iter().flatten() {
        text += &json(line)?;
    }
    Ok(text)
}

const SPEED_SIZES: &[Size] = &[
    Size(64),
    Size(256),
    Size(1 << 10),
    Size(4 << 10),
    Size(16 << 10),
    Size(64 << 10),
    Size(256 << 10),
    Size(1 << 20),
];
const BURST_SIZES: &[Size] = &[Size(16 << 10), Size(64 << 10), Size(256 << 10)];
const SCALING_SIZES: [Size; 3] = [LONG, SLOW, PACKET];
const LONG: Size = Size(4 << 20);
/// The size for slow ciphers; one request of 3DES then takes 80 ms.
const SLOW: Size = Size(1 << 20);
const PACKET: Size = Size(32 << 10);
const STEADY_MS: u64 = 20;
const DEPTHS: &[usize] = &[1, 2, 4, 8, 16, 64];
const IDLE_MS: u64 = 20;
const QUICK_IDLE_MS: u64 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_double_up_to_the_cpus() {
        assert!(thread_counts(1).is_empty());
        assert_eq!(thread_counts(2), [2]);
        assert_eq!(thread_counts(6), [2, 4, 6]);
        assert_eq!(thread_counts(8), [2, 4, 8]);
    }
}
