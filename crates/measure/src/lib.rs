//! Measures Oarlock's speed: in the same run as its peers, in turn, and only after all outputs were
//! found equal.
//!
//! ```text
//! Args ─ cases, sizes, threads        PeerFactory ─ open ─▶ Peer ─ key ─▶ Subject
//!          │                                                                │
//!          └──────────────▶ run: compare outputs, then for each size  ◀─────┘
//!                           and peer: A B, B A, A B ... ─▶ ratios pair by pair ─▶ table, JSON or page
//! ```
//!
//! From the bottom up, each module using those below it alone:
//!
//! ```text
//! report                           a page with charts, made of several runs
//! run                              participants, then point by point
//! output                           entries, tables, records
//! measuring                        the clock, and outputs compared before it starts
//! peers                            implementations: Oarlock and its parts, OpenSSL
//! args   cases                     what is asked for, what can be measured
//! cpu_class                        classes of CPUs, and how a lower one is shown
//! ```
//!
//! It knows the peers that every machine has: its OpenSSL, loaded at run time, and Oarlock's own parts. The benchmark
//! brings the rest. Nothing here asserts a time.

pub mod args;
pub mod cases;
pub mod cpu_class;
pub mod error;
pub mod measuring;
pub mod output;
pub mod peers;
pub mod run;

mod report;

use std::io::Write;

use args::Args;
pub use error::Error;
use peers::PeerFactory;
use run::Shown;

/// Measures what `args` ask for, against those of `peers` that they name, and writes it to `out`.
///
/// # Errors
/// See [`Error`]; nothing was timed for a case in which outputs differ.
pub fn run(args: &Args, peers: &[PeerFactory], out: &mut dyn Write) -> Result<(), Error> {
    if let Some(folder) = &args.report {
        return report::run(args, folder, peers, out);
    }
    let cases = cases::matching(&args.case)?;
    let mut shown = Shown::new(args, out);
    run::measure(args, &cases, peers, &mut |event| shown.on(event))
}

/// Has Oarlock and those of `peers` that `args` name do the cases that they name, and compares the
/// outputs without timing. Returns how many comparisons were made.
///
/// # Errors
/// As [`run()`].
pub fn verify(args: &Args, peers: &[PeerFactory]) -> Result<usize, Error> {
    run::verify(args, peers)
}
