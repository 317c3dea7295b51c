//! Where Oarlock's speed is measured: in the same run as its peers, in turn, and only after all
//! outputs were found the same.
//!
//! ```text
//! Args ─ cases, sizes, threads        PeerFactory ─ open ─▶ Peer ─ key ─▶ Subject
//!          │                                                                │
//!          └──────────────▶ run: compare outputs, then for each size  ◀─────┘
//!                           and peer: A B, B A, A B ... ─▶ ratios pair by pair ─▶ table, JSON or page
//! ```
//!
//! Ciphers are measured by `run` and `measure`, public-key operations by `public_key`.
//!
//! The library knows the peers that a machine has anyway: its OpenSSL, loaded at run time, and
//! Oarlock's own parts. Its binary brings the rest. Nothing here asserts a time.

pub mod case;
pub mod cli;
pub mod glob;
pub mod openssl;
pub mod output;
pub mod peer;
pub mod public_key;
pub mod record;

mod buffer;
mod consumer;
mod error;
mod machine;
mod measure;
mod own;
mod report;
mod run;
mod statistics;
mod verify;

use std::io::Write;

use cli::Args;
pub use error::Error;
use output::Table;
use peer::PeerFactory;
use record::Record;
use run::Event;

/// Measures what `args` ask for, against those of `peers` that they name, and writes it to `out`.
///
/// # Errors
/// See [`Error`]; nothing was timed for a case in which outputs differ.
pub fn run(args: &Args, peers: &[PeerFactory], out: &mut dyn Write) -> Result<(), Error> {
    if let Some(folder) = &args.report {
        return report::run(args, folder, peers, out);
    }
    let cases = case::matching(&args.case)?;
    let mut shown = Shown::new(args, out);
    run::measure(args, &cases, peers, &mut |event| shown.on(event))
}

/// Lets Oarlock and those of `peers` that `args` name do the cases that they name, compares, and
/// times nothing. Returns how many comparisons were made.
///
/// # Errors
/// As [`run`].
pub fn verify(args: &Args, peers: &[PeerFactory]) -> Result<usize, Error> {
    run::verify(args, peers)
}

/// What a run has shown so far: a table or lines of JSON, and its record.
struct Shown<'a> {
    args: &'a Args,
    out: &'a mut dyn Write,
    table: Table,
    record: Option<Record>,
    /// Whether a run has begun; a report is made of several.
    has_begun: bool,
}

impl<'a> Shown<'a> {
    fn new(args: &'a Args, out: &'a mut dyn Write) -> Self {
        Self {
            args,
            out,
            table: Table::default(),
            record: None,
            has_begun: false,
        }
    }

    /// Tells people something.
    fn note(&mut self, text: &str) -> Result<(), Error> {
        if self.args.json {
            return Ok(());
        }
        write_out(self.out, text)
    }

    fn on(&mut self, event: Event<'_>) -> Result<(), Error> {
        match event {
            Event::Started(_) if self.has_begun => {}
            Event::Started(versions) => {
                self.has_begun = true;
                if self.args.record {
                    self.record = Some(Record::open(versions)?);
                }
                self.note(&format!("{}\n\n", versions.join(" · ")))?;
            }
            Event::Measured(row, lines) => {
                if let Some(record) = &mut self.record {
                    lines.iter().try_for_each(|line| record.add(line))?;
                }
                if self.args.json {
                    for line in lines {
                        write_out(self.out, &json(line)?)?;
                    }
                } else {
                    self.table.row(row, lines, self.out)?;
                }
            }
        }
        Ok(())
    }
}

fn json(line: &impl serde::Serialize) -> Result<String, Error> {
    serde_json::to_string(line)
        .map(|text| text + "\n")
        .map_err(|error| Error::Failed(format!("writing JSON: {error}")))
}

fn write_out(out: &mut dyn Write, text: &str) -> Result<(), Error> {
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(Error::io("writing the result"))
}
