//! The command line of `oarlock-bench` and of `oarlock bench`. The comments on its fields are the text of `--help`.

use std::path::PathBuf;
use std::str::FromStr;

use oarlock::{Options, Strategy};
use oarlock_engine::costs::Calibration;

use crate::cases::Size;

/// What to measure.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    /// Cases whose names match, with * and ? as in file names
    #[arg(long, value_name = "GLOB", default_value = "*")]
    pub case: String,

    /// Threads Oarlock uses on one request, the caller's among them; peers have one. With public-key
    /// operations, CPUs that everybody has: peers keep a thread on each
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = parse_threads)]
    pub threads: usize,

    /// Bytes of a request, as in 64,1k,16k,1m; up to 1g. Of a burst, with --mode burst
    #[arg(long, value_name = "BYTES", value_delimiter = ',')]
    pub size: Vec<Size>,

    /// Requests in flight; unless given, 1, and with public-key operations 1,8,64. A cipher stream
    /// has one at a time, so with N there are N independent streams, each with a session and a
    /// buffer of its own, that take turns. Public-key requests are jobs of Oarlock, and with 1 calls
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = parse_depth)]
    pub depth: Vec<usize>,

    /// Ask Oarlock for public-key operations from N threads, each of which waits for one at a time,
    /// in place of --depth; peers go by --depth
    #[arg(long, value_name = "N", value_parser = parse_threads)]
    pub blocking: Option<usize>,

    /// Measure Oarlock's public-key operations alone and while each CPU seals messages of 64 KiB with AES-256-GCM,
    /// and those messages alone and during the operations, in place of peers
    #[arg(long, conflicts_with_all = ["blocking", "peer"])]
    pub mixed: bool,

    /// Implementations to compare with; unless given, all that are here. `inline`, `stripe`, `prefetch`, `job` and
    /// `kernel` are Oarlock itself: with that strategy alone (of public-key operations: on one CPU), with jobs at
    /// every depth, and the bare kernels
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub peer: Vec<String>,

    /// How calls follow each other; unless given, back-to-back, and with more threads than one
    /// after-idle too
    #[arg(long, value_name = "MODE", value_delimiter = ',')]
    pub mode: Vec<CallPattern>,

    /// Milliseconds of idleness before a call or a burst; unless given, 2 and 20
    #[arg(long, value_name = "MS", value_delimiter = ',', value_parser = parse_ms)]
    pub idle_ms: Vec<u64>,

    /// Bytes of one call in a burst
    #[arg(long, value_name = "BYTES", default_value = "4k")]
    pub call: Size,

    /// Force a strategy on Oarlock, in place of its plan
    #[arg(long, value_name = "NAME")]
    pub strategy: Option<Forced>,

    /// Milliseconds that a sample takes, about; unless given, 3, or 1 with --quick, and 60 or 20 with
    /// public-key operations
    #[arg(long, value_name = "MS", value_parser = parse_ms)]
    pub sample_ms: Option<u64>,

    /// Shorter and fewer samples: a glance, not a figure to quote
    #[arg(long)]
    pub quick: bool,

    /// Every call under a nonce of its own, in place of one stream; AEADs do so anyway
    #[arg(long)]
    pub fresh_nonce: bool,

    /// One JSON object a line
    #[arg(long)]
    pub json: bool,

    /// Also append to bench/records of the repository in the current folder
    #[arg(long)]
    pub record: bool,

    /// Also write a page with charts into this folder: speed by size, by threads, of bursts after
    /// idleness, and of public-key operations by requests in flight. It takes some minutes, fewer
    /// with --quick
    #[arg(long, value_name = "DIR", conflicts_with_all = ["threads", "mode", "depth", "blocking", "mixed", "fresh_nonce", "strategy"])]
    pub report: Option<PathBuf>,

    /// The calibration that Oarlock plans with in place of its tables.
    #[arg(skip)]
    pub calibration: Option<Calibration>,
}

/// The pattern in which calls follow each other.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum CallPattern {
    /// One after the other
    BackToBack,
    /// One, after a pause
    AfterIdle,
    /// Calls of --call bytes one after the other, after a pause
    Burst,
    /// One, with its keystream made ahead by the caller, outside the clock
    Prefilled,
}

/// A strategy that was named on the command line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Forced {
    /// The name, as in Oarlock's options.
    pub name: String,
    /// The strategy.
    pub strategy: Strategy,
}

impl FromStr for Forced {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let mut options = Options::default();
        options
            .set("strategy", name)
            .map_err(|error| error.to_string())?;
        Ok(Self {
            name: name.to_owned(),
            strategy: options.strategy,
        })
    }
}

fn parse_threads(text: &str) -> Result<usize, String> {
    parse_between(text, 1, THREADS_MAX)
}

fn parse_depth(text: &str) -> Result<usize, String> {
    parse_between(text, 1, DEPTH_MAX)
}

fn parse_ms(text: &str) -> Result<u64, String> {
    Ok(parse_between(text, 1, MS_MAX)? as u64)
}

fn parse_between(text: &str, min: usize, max: usize) -> Result<usize, String> {
    text.parse()
        .ok()
        .filter(|number| (min..=max).contains(number))
        .ok_or_else(|| format!("a number from {min} to {max}"))
}

const THREADS_MAX: usize = 1024;
const DEPTH_MAX: usize = 4096;
const MS_MAX: usize = 10_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line() {
        #[derive(clap::Parser)]
        struct Cli {
            #[command(flatten)]
            args: Args,
        }
        let parse = |line: &str| <Cli as clap::Parser>::try_parse_from(line.split(' '));
        let args = parse("bench --case aes-* --size 64,1k --peer a,b --threads 2 --depth 1,8")
            .unwrap()
            .args;
        assert_eq!(args.size, [Size(64), Size(1024)]);
        assert_eq!(args.depth, [1, 8]);
        assert_eq!(args.peer, ["a", "b"]);
        let args = parse("bench --mode burst,prefilled --idle-ms 2,20 --strategy stripe")
            .unwrap()
            .args;
        assert_eq!(args.mode, [CallPattern::Burst, CallPattern::Prefilled]);
        assert_eq!((args.idle_ms, args.call), (vec![2, 20], Size(4096)));
        assert_eq!(args.strategy.unwrap().strategy, Strategy::Stripe);
        for line in [
            "bench --threads 0",
            "bench --size 1x",
            "bench --depth 0",
            "bench --mode sometimes",
            "bench --idle-ms 0",
            "bench --strategy best",
            "bench --report out --threads 2",
        ] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
