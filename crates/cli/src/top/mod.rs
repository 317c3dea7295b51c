//! `oarlock top`: what running accelerators and cryptoservers are doing.
//!
//! ```text
//! mod.rs      arguments                       sample.rs   readings, and the rates between two of them
//! row.rs      figures of a process            table.rs    columns that fit a width
//! pages.rs    tables of a row                 live.rs     the terminal: keys, signals, time
//! screen.rs   the screen                      units.rs    short texts for numbers
//! ```

mod live;
pub(crate) mod pages;
mod row;
mod sample;
mod screen;
mod table;
mod units;

use std::io::IsTerminal as _;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::process::ExitCode;
use std::time::Duration;

use self::sample::{Sampler, View};
use crate::failure::Failure;
use crate::stdout;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Seconds between two readings, from 0.1 to 3600
    #[arg(short, long, value_name = "SECONDS", default_value = "1", value_parser = interval)]
    interval: Duration,

    /// Print one table, with the rates of one interval, and end
    #[arg(long)]
    once: bool,

    /// Print one JSON object, with the rates of one interval, and end
    #[arg(long)]
    json: bool,

    /// Print N tables or objects, one for each interval
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    count: Option<u32>,

    /// Also a cryptoserver elsewhere, by the HOST:PORT of its page of metrics; may be repeated
    #[arg(long, value_name = "HOST:PORT")]
    metrics: Vec<String>,
}

pub(crate) const EXAMPLES: &str = "\
It shows the processes of this user that publish figures, and those of all users to root: what `oarlock run` and \
`oarlock serve` start, and programs with OARLOCK_OPTIONS=publish=on. Rates are of the last interval.

Keys: q quits, arrows or j and k choose a process, page keys scroll its details, s sorts by the next column and r \
the other way round, p pauses, ? helps.

Examples:
  oarlock run -- openssl speed -evp aes-128-gcm & oarlock top
  oarlock top --metrics rack1:9464 --metrics rack2:9464
  oarlock top --json --count 60 | jq '.processes[] | {program, bytes_per_second}'";

pub(crate) fn run(args: &Args) -> Result<ExitCode, Failure> {
    let is_printed = args.once || args.json || args.count.is_some();
    if !is_printed && !std::io::stdout().is_terminal() {
        return Err(Failure::usage(
            "standard output is no terminal: print a table with --once, or JSON with --json",
        ));
    }
    let servers = args.metrics.iter().map(|text| resolve(text));
    let servers = servers.collect::<Result<Vec<_>, _>>()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new(format!("no runtime: {error}")))?;
    let sampler = Sampler::new(servers);
    let code = runtime.block_on(async {
        if is_printed {
            return print(args, sampler).await.map(|()| ExitCode::SUCCESS);
        }
        live::run(sampler, args.interval).await
    });
    // A fetch may still be waiting for a server.
    runtime.shutdown_background();
    code
}

async fn print(args: &Args, mut sampler: Sampler) -> Result<(), Failure> {
    sampler.sample_all().await;
    let mut ticks = tokio::time::interval(args.interval);
    ticks.tick().await;
    for number in 0..args.count.unwrap_or(1) {
        ticks.tick().await;
        let view = sampler.sample_all().await;
        let text = if args.json {
            stdout::json("top", &view)?
        } else {
            let between = if number > 0 { "\n" } else { "" };
            format!("{between}{}", to_text(&view))
        };
        stdout::write(text)?;
    }
    Ok(())
}

/// Returns what is running, without rates, for `oarlock devices`.
pub(crate) fn running() -> Result<View, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new(format!("no runtime: {error}")))?;
    Ok(runtime.block_on(Sampler::new(Vec::new()).sample_all()))
}

fn to_text(view: &View) -> String {
    let mut text = String::new();
    if view.processes.is_empty() {
        text.push_str(screen::NOTHING);
        text.push('\n');
    } else {
        pages::processes(view.processes.iter()).write_to(&mut text, TEXT_WIDTH);
    }
    for row in &view.processes {
        for (title, table) in pages::details(row) {
            text.push_str(&format!("\n{}: {title}\n", pages::name(row)));
            table.write_to(&mut text, TEXT_WIDTH);
        }
    }
    for ignored in &view.ignored {
        text.push_str(&format!("ignored: {}: {}\n", ignored.path, ignored.why));
    }
    text
}

fn interval(text: &str) -> Result<Duration, String> {
    match text.parse::<f64>() {
        Ok(seconds @ 0.1..=3600.0) => Ok(Duration::from_secs_f64(seconds)),
        _ => Err("give seconds, from 0.1 to 3600".into()),
    }
}

fn resolve(text: &str) -> Result<(String, SocketAddr), Failure> {
    let fail = |why: String| Failure::usage(format!("--metrics {text}: {why}; give HOST:PORT"));
    let mut found = text
        .to_socket_addrs()
        .map_err(|error| fail(crate::failure::reason(&error)))?;
    let address = found.next().ok_or_else(|| fail("no such host".into()))?;
    Ok((text.to_owned(), address))
}

const TEXT_WIDTH: usize = 100;
