//! `oarlock-bench`: compares Oarlock with every peer.

mod peers;
mod programs;
mod seed_shape;
mod system;
mod targets;

use std::io;
use std::process::ExitCode;

use clap::Parser;
use oarlock_engine::costs::CpuClass;
use oarlock_measure::args::Args;
use oarlock_measure::cpu_class;
use oarlock_measure::output::{json, write_out};
use oarlock_measure::run::first;
use peers::PEERS;

/// Measures Oarlock and its peers, in turn in the same run, after comparing their outputs
#[derive(Parser)]
#[command(version, after_help = programs::HELP)]
struct Cli {
    #[command(flatten)]
    args: Args,

    /// Measure what this project has promised and say what is met; of the other options, --quick,
    /// --json and --record count. With a GLOB only targets whose lines match, as
    /// --targets='*gcm*'
    #[arg(
        long,
        value_name = "GLOB",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "*",
        conflicts_with = "report"
    )]
    targets: Option<String>,

    /// Measure as the figures of SILC's accelerator were: AES-CTR on 1 MiB in place, one consumer
    #[arg(long, conflicts_with_all = ["targets", "report"])]
    seed_shape: bool,

    /// Print what the first public-key operation of this process and of a forked child takes, of the
    /// peer named, or of Oarlock
    #[arg(long, hide = true, conflicts_with_all = ["targets", "report", "seed_shape"])]
    first: bool,

    /// Do a handshake in memory with this configuration and the certificates next to it, and print the CPU time of both
    /// ends
    #[arg(long, hide = true, value_name = "FILE", conflicts_with_all = ["targets", "report", "seed_shape"])]
    first_handshake: Option<std::path::PathBuf>,

    /// Use the shared board in this file whenever a line comes in, as a process that shares it with another
    #[arg(long, hide = true, value_name = "FILE", conflicts_with_all = ["targets", "report", "seed_shape"])]
    neighbour: Option<std::path::PathBuf>,

    /// Measure as if the CPU were of this class, here and in the programs that are started: what it has beyond is
    /// hidden from Oarlock and peers alike, and peers from which nothing can be hidden are left out
    #[arg(long, value_name = "CLASS", value_parser = cpu_class::parse)]
    class: Option<CpuClass>,

    /// Measure against this OpenSSL: its libcrypto, its `openssl`, and other programs with it. 3.0 is the machine's,
    /// which is measured anyway unless another is named; `cargo xtask peers openssl` builds the others
    #[arg(long, value_name = "SERIES")]
    openssl: Option<system::OpenSsl>,

    #[command(flatten)]
    programs: programs::Named,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let out = &mut io::stdout().lock();
    let shown = cli.class.map_or(Ok(()), cpu_class::show);
    let choose = || cli.openssl.map_or(Ok(()), system::OpenSsl::choose);
    let result = shown
        .and_then(|()| choose())
        .and_then(|()| match &cli.targets {
            Some(pattern) => targets::run(&cli.args, &cli.programs, pattern, out),
            None if cli.seed_shape => seed_shape::run(&cli.args, out),
            None if let Some(configuration) = &cli.first_handshake => {
                programs::in_memory::first(configuration, out)
            }
            None if cli.neighbour.is_some() => {
                programs::device::neighbour(cli.neighbour.as_deref(), out)
            }
            None if cli.first => {
                first(&cli.args, PEERS).and_then(|first| write_out(out, &json(&first)?))
            }
            None if programs::are_named_by(&cli.args.case) && cli.args.report.is_none() => {
                programs::run(&cli.args, &cli.programs, out)
            }
            None => oarlock_measure::run(&cli.args, PEERS, out),
        });
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("oarlock-bench: {error}");
            error.exit_code()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oarlock_measure::cases::{CASES, PUBLIC_KEY_CASES};

    /// Compares every cipher, in each direction, and every public-key operation of every peer on this machine.
    #[test]
    fn peers_and_oarlock_agree() {
        let cli = Cli::parse_from(["oarlock-bench"]);
        let compared = oarlock_measure::verify(&cli.args, PEERS).unwrap();
        // OpenSSL has all of them; RustCrypto also has the ciphers, and AWS-LC the rest.
        let cases = CASES.len() + PUBLIC_KEY_CASES.len();
        assert!(compared >= 2 * cases, "{compared}");
    }
}
