//! Measures Oarlock's speed: in the same run as its peers, alternating with them, and only after all outputs were found
//! equal.
//!
//! ```text
//! Args ─ cases, sizes, threads        PeerFactory ─ open ─▶ Peer ─ key ─▶ Subject
//!          │                                                                │
//!          └──────────────▶ run: compare outputs, then for each size  ◀─────┘
//!                           and peer: A B, B A, A B ... ─▶ ratios pair by pair ─▶ table, JSON or page
//! ```
//!
//! The modules from the bottom up; each uses only those below it:
//!
//! ```text
//! report                           a page with charts, from several runs
//! run                              participants, then point by point
//! output                           entries, tables, records
//! measuring                        the clock, and outputs compared before it starts
//! peers                            implementations: Oarlock and its parts, OpenSSL
//! args   cases                     the command line, and what can be measured
//! cpu_class                        classes of CPUs, and masks for lower ones
//! ```
//!
//! It knows the peers that every machine has: its OpenSSL, loaded at run time, and Oarlock's own parts. The benchmark
//! adds the rest. Nothing here asserts a time.

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

/// Measures the cases of `args` against the `peers` that they name, and writes the results to `out`.
///
/// # Errors
/// See [`Error`]; if outputs of a case differ, nothing was timed for it.
pub fn run(args: &Args, peers: &[PeerFactory], out: &mut dyn Write) -> Result<(), Error> {
    if let Some(folder) = &args.report {
        return report::run(args, folder, peers, out);
    }
    let cases = cases::matching(&args.case)?;
    let mut shown = Shown::new(args, out);
    run::measure(args, &cases, peers, &mut |event| shown.on(event))
}

/// Runs the cases that `args` name with Oarlock and the named `peers`, and compares the outputs without timing. Returns
/// the number of comparisons.
///
/// # Errors
/// The same as for [`run()`].
pub fn verify(args: &Args, peers: &[PeerFactory]) -> Result<usize, Error> {
    run::verify(args, peers)
}
