//! `oarlock-load`: clients of the cryptoserver in a process of their own, which `oarlock-bench`
//! starts for its cases `server-*`; and the library asked for the same, without a server.
//!
//! ```text
//! asks.rs    what is asked, and what has to come back: every answer is compared
//! ask.rs     clients: closed loops, or so many requests a second
//! local.rs   the library, by jobs in flight or call by call
//! tally.rs   what came back, and when          watch.rs   the servers' CPU time, memory, descriptors
//! ```
//!
//! It writes one line of JSON, a [`Report`](tally::Report).

mod ask;
mod asks;
mod local;
mod tally;
mod watch;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Clients of the cryptoserver for oarlock-bench, which starts it
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Ask servers
    Ask(ask::Args),
    /// Ask the library for signatures of RSA-2048
    Local(local::Args),
}

fn main() -> ExitCode {
    let report = match &Cli::parse().command {
        Command::Ask(args) => ask::run(args),
        Command::Local(args) => local::run(args),
    };
    let line = report.and_then(|report| {
        serde_json::to_string(&report).map_err(|error| format!("writing the report: {error}"))
    });
    match line {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("oarlock-load: {why}");
            ExitCode::FAILURE
        }
    }
}
