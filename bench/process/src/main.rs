//! `oarlock-bench-process`: what `oarlock-bench` runs in a process of its own, so that its CPU time and memory are told from
//! those of the other side.
//!
//! ```text
//! asks.rs    requests and their expected answers: every answer is compared
//! ask.rs     clients of the cryptoserver: closed loops, or a fixed number of requests a second
//! attack.rs  a hostile client, or an honest one in its place
//! local.rs   the library without a server, by jobs in flight or call by call
//! token.rs   a PKCS#11 module, by threads with a session each
//! tally.rs   results                            watch.rs   the servers' CPU time, memory, descriptors
//! tls/       either end of a file's way over TLS 1.3
//! ```
//!
//! It writes one line: of JSON, a [`Report`](tally::Report) or what an attack has [done](attack::Done); or what an end of
//! a file's way says.

mod ask;
mod asks;
mod attack;
mod local;
mod tally;
mod tls;
mod token;
mod watch;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use serde::Serialize;

/// The other side of what oarlock-bench measures, started by it
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
    /// Make signatures with the library
    Local(local::Args),
    /// Make signatures with a PKCS#11 module
    Token(token::Args),
    /// Listen on loopback, print the port, and read a file over TLS
    Receive(tls::Receive),
    /// Send a file over TLS, repeatedly if asked, and print the CPU time and the elapsed time, in seconds
    Send(tls::Send),
}

fn main() -> ExitCode {
    let line = match &Cli::parse().command {
        Command::Ask(args) => ask::run(args).and_then(line),
        Command::Attack(args) => attack::run(args).and_then(line),
        Command::Local(args) => local::run(args).and_then(line),
        Command::Token(args) => token::run(args).and_then(line),
        Command::Receive(args) => return tls::ended(tls::receive(args)),
        Command::Send(args) => return tls::ended(tls::send(args)),
    };
    match line {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("oarlock-bench-process: {why}");
            ExitCode::FAILURE
        }
    }
}

fn line(report: impl Serialize) -> Result<String, String> {
    serde_json::to_string(&report).map_err(|error| format!("writing the report: {error}"))
}
