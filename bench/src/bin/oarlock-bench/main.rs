//! `oarlock-bench`: Oarlock beside every peer.

mod aws_lc;
mod crypto_mb;
mod enc;
mod ipsec_mb;
mod pieces;
mod rustcrypto;
mod targets;

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use oarlock_bench::cli::Args;
use oarlock_bench::openssl;
use oarlock_bench::peer::PeerFactory;

/// Measures Oarlock beside its peers, in turn in the same run, after comparing their outputs
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(flatten)]
    args: Args,

    /// Measure what this project has promised and say what is met; of the other options, --quick,
    /// --json and --record count
    #[arg(long)]
    targets: bool,

    /// The `oarlock` command to measure, in place of the one beside this program
    #[arg(long, value_name = "PATH", requires = "targets")]
    oarlock: Option<PathBuf>,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let out = &mut io::stdout().lock();
    let result = if cli.targets {
        targets::run(&cli, out)
    } else {
        oarlock_bench::run(&cli.args, PEERS, out)
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("oarlock-bench: {error}");
            error.exit_code()
        }
    }
}

const PEERS: &[PeerFactory] = &[
    openssl::PEER,
    aws_lc::PEER,
    rustcrypto::PEER,
    ipsec_mb::PEER,
    crypto_mb::PEER,
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Every cipher, each way, of everybody who is here.
    #[test]
    fn peers_and_oarlock_agree() {
        let cli = Cli::parse_from(["oarlock-bench"]);
        let compared = oarlock_bench::verify(&cli.args, PEERS).unwrap();
        // OpenSSL does all of them, RustCrypto too.
        assert!(
            compared >= 2 * oarlock_bench::case::CASES.len(),
            "{compared}"
        );
    }
}
