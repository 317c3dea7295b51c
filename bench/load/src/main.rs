//! `oarlock-load`: clients of the cryptoserver in a process of their own. `oarlock-bench` starts it
//! for its cases `server-*` and `hostile-*`. It also runs the same work on the library without a server.
//!
//! ```text
//! asks.rs    requests and their expected answers: every answer is compared
//! ask.rs     clients: closed loops, or a fixed number of requests a second
//! attack.rs a hostile client, or an honest one in its place
//! local.rs   the library, by jobs in flight or call by call
//! tally.rs   results                            watch.rs   the servers' CPU time, memory, descriptors
//! ```
//!
//! It writes one line of JSON: a [`Report`](tally::Report), or what an attack has [done](attack::Done).

mod ask;
mod asks;
mod attack;
mod local;
mod tally;
mod watch;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use serde::Serialize;

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
    /// Be a hostile client
    Attack(attack::Args),
    /// Make RSA-2048 signatures with the library
    Local(local::Args),
}

fn main() -> ExitCode {
    let line = match &Cli::parse().command {
        Command::Ask(args) => ask::run(args).and_then(line),
        Command::Attack(args) => attack::run(args).and_then(line),
        Command::Local(args) => local::run(args).and_then(line),
    };
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

fn line(report: impl Serialize) -> Result<String, String> {
    serde_json::to_string(&report).map_err(|error| format!("writing the report: {error}"))
}
