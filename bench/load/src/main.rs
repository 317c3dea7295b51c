//! `oarlock-load`: clients of the cryptoserver in a process of their own. `oarlock-bench` starts it
//! for its cases `server-*`. It also runs the same work on the library without a server.
//!
//! ```text
//! asks.rs    requests and their expected answers: every answer is compared
//! ask.rs     clients: closed loops, or a fixed number of requests a second
//! local.rs   the library, by jobs in flight or call by call
//! tally.rs   results                            watch.rs   the servers' CPU time, memory, descriptors
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

/// Clients of the cryptoserver, started by oarlock-bench
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Send requests to servers
    Ask(ask::Args),
    /// Make RSA-2048 signatures with the library
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
