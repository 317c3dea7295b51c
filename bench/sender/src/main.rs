//! `oarlock-sender`: either end of a file's way over TLS 1.3, each a process of its own, so that what one takes
//! of the CPU is told from what the other does.
//!
//! Both do the handshake with libssl. The sender then sends a file, by libssl or by Oarlock with the keys of that
//! handshake; the receiver reads what comes, and opens it only where it is to be compared.

mod receive;
mod send;
mod ssl;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use send::Way;

/// Either end of a file's way over TLS 1.3
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    end: End,
}

#[derive(Subcommand)]
enum End {
    /// Listens on loopback, prints its port, and reads what comes
    Receive {
        /// Opens it and writes it there
        #[arg(long)]
        copy: Option<PathBuf>,
    },
    /// Sends a file, as many times as asked, and prints the CPU time and the time that took, in seconds
    Send {
        #[arg(long, value_enum)]
        way: Way,
        #[arg(long)]
        suite: String,
        /// With the certificate and its key, both in PEM
        #[arg(long)]
        certificate: PathBuf,
        #[arg(long)]
        port: u16,
        #[arg(long, default_value_t = 1)]
        times: usize,
        file: PathBuf,
    },
}

fn main() -> ExitCode {
    let result = match Cli::parse().end {
        End::Receive { copy } => receive::run(copy.as_deref()),
        End::Send {
            way,
            suite,
            certificate,
            port,
            times,
            file,
        } => send::run(way, &suite, &certificate, port, times, &file),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("oarlock-sender: {fault}");
            // As oarlock-bench has it for what is not on this machine.
            ExitCode::from(if fault.is::<ssl::Missing>() { 3 } else { 1 })
        }
    }
}
