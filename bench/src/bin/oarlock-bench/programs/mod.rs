//! Whole programs: `openssl` and OpenSSH, never changed, stock and with the provider; and `oarlock`
//! itself on files and streams, beside age, rage, openssl, gpg and cp, and as a cryptoserver.
//!
//! ```text
//! cases.rs        what is measured            setup.rs    the two configurations, proof that ours is used
//! targets.rs      what is promised of it      compared.rs what came out
//! speed.rs        openssl speed               start.rs    what the provider adds to a program's start
//! context.rs      contexts, call by call      child.rs    a process with its CPU time and memory
//! ssh/            connections of our own      link.rs     a gigabit between two namespaces
//! files/          files and streams           data.rs     files in memory
//! server/         cryptoservers and clients
//! ```
//!
//! All sides take turns, and another begins in each round. A round's figures of two make one ratio, and the median of the ratios counts: what slows the machine for a while slows both.
//!
//! They take seconds a round, so they are measured only by who names them: with a pattern that
//! begins as their names do.

mod cases;
mod child;
mod compared;
mod context;
pub(crate) mod data;
mod files;
mod link;
mod server;
mod setup;
mod speed;
mod ssh;
mod start;
mod targets;

use std::io::Write;

use oarlock_bench::Error;
use oarlock_bench::cases::glob;
use oarlock_bench::output::Record;

use crate::interrupt;
use compared::Compared;
use setup::Setup;
pub(crate) use targets::{names, outcomes};

pub(crate) const HELP: &str = "\
Whole programs are cases and targets of their own: openssl-speed-*, openssl-context-*, openssl-start and ssh-*, stock
and with the OpenSSL provider in turn; file-* and pipe-*, oarlock encrypt and decrypt beside cp, age, rage (cargo xtask
peers), openssl enc and gpg; file-many-* 10,000 files of 4 KiB in one call beside loops of rage and age over 500 of
them, files a second; server-*, oarlock serve on one CPU and its clients on another. They take minutes, so only a pattern that begins as their names do measures them:
--case 'ssh-*', --targets='file-*'. Of the other options, --quick, --json and --record count.";

/// Whether `pattern` is about whole programs.
pub(crate) fn are_named_by(pattern: &str) -> bool {
    ["ssh", "openssl-", "file", "pipe", "server"]
        .iter()
        .any(|prefix| pattern.starts_with(prefix))
}

/// Measures the cases whose names match `--case`.
pub(crate) fn run(cli: &crate::Cli, out: &mut dyn Write) -> Result<(), Error> {
    let pattern = &cli.args.case;
    let all = cases::all();
    let cases: Vec<_> = all
        .iter()
        .filter(|case| glob::matches(pattern, &case.name))
        .collect();
    if cases.is_empty() {
        let names: Vec<_> = all.iter().map(|case| case.name.as_str()).collect();
        return Err(Error::Usage(format!(
            "no case matches {pattern:?}: there are {}",
            names.join(", ")
        )));
    }
    let takes_provider = cases.iter().any(|case| case.takes_provider());
    let setup = Setup::new(cli, takes_provider)?;
    let mut record = match cli.args.record {
        true => Some(Record::open(&setup.versions())?),
        false => None,
    };
    let mut write = |text: String| {
        writeln!(out, "{text}")
            .and_then(|()| out.flush())
            .map_err(Error::io("writing the result"))
    };
    if !cli.args.json {
        write(setup.versions().join(" · "))?;
        write(Compared::HEADING.to_owned())?;
    }
    let mut left_out = 0;
    for case in cases {
        interrupt::check()?;
        let compared = match case.measure(&setup) {
            Ok(compared) => compared,
            Err(Error::Unavailable(why)) => {
                eprintln!("oarlock-bench: {} left out: {why}", case.name);
                left_out += 1;
                continue;
            }
            Err(error) => return Err(error),
        };
        for compared in compared {
            for line in compared.lines(&case.name) {
                if let Some(record) = &mut record {
                    record.add(&line)?;
                }
                if cli.args.json {
                    let json = serde_json::to_string(&line).map_err(std::io::Error::from);
                    write(json.map_err(Error::io("writing JSON"))?)?;
                }
            }
            if !cli.args.json {
                write(compared.row(&case.name))?;
            }
        }
    }
    match left_out {
        0 => Ok(()),
        cases => Err(Error::Unavailable(format!("{cases} cases left out"))),
    }
}
