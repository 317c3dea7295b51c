//! `oarlock-bench`: Oarlock beside every peer.

mod aws_lc;
mod crypto_mb;
mod ipsec_mb;
mod rustcrypto;

use std::io;
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
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    match oarlock_bench::run(&cli.args, PEERS, &mut io::stdout().lock()) {
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
