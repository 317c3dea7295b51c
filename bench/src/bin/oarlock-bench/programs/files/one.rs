//! One large file.

use std::fs;
use std::path::Path;
use std::thread::available_parallelism;

use oarlock_measure::Error;
use oarlock_measure::cases::Direction;

use super::bench::{Bench, RunCost, remove};
use super::point::Pairing;
use super::tools::Tool;
use crate::programs::compared::Compared;
use crate::programs::data::{are_alike, make};
use crate::programs::setup::Setup;

pub(super) fn measure(
    setup: &Setup,
    case: &str,
    direction: Direction,
) -> Result<Vec<Compared>, Error> {
    let bytes = bytes(setup);
    // The source, its encrypted form, gpg's encrypted form, and the output.
    let bench = Bench::new(setup, case, bytes * 4)?;
    let tools = bench.here(TOOLS);
    let source = bench.file("source");
    make(&source, bytes, 1)?;
    verify(&bench, &tools, &source)?;

    let (output, sealed) = (bench.file("output"), bench.file("sealed"));
    let of_gpg = bench.file("sealed-by-gpg");
    if direction == Direction::Decrypt {
        for (tool, sealed) in [(Tool::Oarlock, &sealed), (Tool::Gpg, &of_gpg)] {
            if tools.contains(&tool) {
                run(&bench, tool, Direction::Encrypt, [&source, sealed])?;
            }
        }
    }
    let input = |tool| match (direction, tool) {
        // openssl decrypts any bytes, so it does not need its own ciphertext.
        (Direction::Encrypt, _) | (_, Tool::OpensslAes | Tool::OpensslChaCha | Tool::Cp) => &source,
        (Direction::Decrypt, Tool::Gpg) => &of_gpg,
        (Direction::Decrypt, _) => &sealed,
    };
    let rounds = bench.setup.rounds(7, 3);
    let samples = bench.in_turn(rounds, tools.len(), |side| {
        let tool = tools[side];
        run(&bench, tool, direction, [input(tool), &output])
    })?;
    let of = |tool| {
        let mut sides = tools.iter().zip(&samples);
        sides.find_map(|(found, samples)| (*found == tool).then_some(&**samples))
    };
    let threads = available_parallelism().map_or(1, usize::from);
    let mut compared = Vec::new();
    for (ours, threads) in [(Tool::Oarlock, threads), (Tool::OneThread, 1)] {
        for vs in tools.iter().filter(|tool| tool.name() != ours.name()) {
            let (Some(ours), Some(theirs)) = (of(ours), of(*vs)) else {
                continue;
            };
            let point = Pairing {
                bytes,
                vs: vs.name(),
                threads: Some(threads),
                ours,
                theirs,
            };
            compared.extend(point.with_file());
        }
    }
    Ok(compared)
}

/// Checks that age decrypts what our command encrypts, and the reverse.
fn verify(bench: &Bench<'_>, tools: &[Tool], source: &Path) -> Result<(), Error> {
    let (sealed, opened) = (bench.file("sealed"), bench.file("opened"));
    let other = if tools.contains(&Tool::Age) {
        Tool::Age
    } else {
        Tool::Oarlock
    };
    for (from, to) in [
        (Tool::Oarlock, other),
        (Tool::OneThread, other),
        (other, Tool::Oarlock),
        (other, Tool::OneThread),
    ] {
        run(bench, from, Direction::Encrypt, [source, &sealed])?;
        run(bench, to, Direction::Decrypt, [&sealed, &opened])?;
        let what = format!("what {} made of {}'s file", to.name(), from.name());
        bench.check_alike(are_alike(source, &opened)?, &what)?;
    }
    remove(&opened)?;
    remove(&sealed)
}

fn run(
    bench: &Bench<'_>,
    tool: Tool,
    direction: Direction,
    files: [&Path; 2],
) -> Result<RunCost, Error> {
    let taken = bench.run(
        bench.tools.command(bench.setup, tool, direction, files),
        files[1],
    )?;
    let [input, output] = files.map(|file| fs::metadata(file).map(|metadata| metadata.len()));
    let least = input.map_err(Error::io(tool.name()))? / 2;
    match output {
        Ok(bytes) if bytes >= least => Ok(taken),
        _ => Err(Error::Failed(format!(
            "{}: ended well and wrote less than half of its input",
            tool.name()
        ))),
    }
}

pub(super) fn bytes(setup: &Setup) -> usize {
    if setup.quick { 256 << 20 } else { 2 << 30 }
}

const TOOLS: &[Tool] = &[
    Tool::Oarlock,
    Tool::OneThread,
    Tool::Cp,
    Tool::Age,
    Tool::Rage,
    Tool::OpensslAes,
    Tool::OpensslChaCha,
    Tool::Gpg,
];
