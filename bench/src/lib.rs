//! Where Oarlock's speed is measured: in the same run as its peers, in turn, and only after all
//! outputs were found the same.
//!
//! ```text
//! Args ─ cases, sizes, threads        PeerFactory ─ open ─▶ Peer ─ key ─▶ Subject
//!          │                                                                │
//!          └──────────────▶ run: compare outputs, then for each size  ◀─────┘
//!                           and peer: A B, B A, A B ... ─▶ ratios pair by pair ─▶ table or JSON
//! ```
//!
//! The library knows the peers that a machine has anyway: its OpenSSL, loaded at run time, and
//! Oarlock's own parts. Its binary brings the rest. Nothing here asserts a time.

pub mod case;
pub mod cli;
pub mod openssl;
pub mod peer;
pub mod record;
pub mod report;

mod buffer;
mod error;
mod machine;
mod measure;
mod own;
mod statistics;
mod verify;

use std::io::Write;
use std::time::Duration;

use buffer::Buffer;
use case::Case;
use cli::{Args, Size};
pub use error::Error;
use measure::{Contestant, Mode, Work};
use oarlock::Strategy;
use own::Oarlock;
use peer::{Chosen, Peer, PeerFactory};
use record::Record;
use report::{Line, Point, Table};
use statistics::Summary;

/// Measures what `args` ask for, against those of `peers` that they name, and writes it to `out`.
///
/// # Errors
/// See [`Error`]; nothing was timed for a case in which outputs differ.
pub fn run(args: &Args, peers: &[PeerFactory], out: &mut dyn Write) -> Result<(), Error> {
    let mut table = Table::default();
    let mut record = None;
    measure(args, peers, &mut |event| {
        match event {
            Event::Started(versions) => {
                if args.record {
                    record = Some(Record::open(versions)?);
                }
                if !args.json {
                    let line = format!("{}\n\n", versions.join(" · "));
                    write_out(out, &line)?;
                }
            }
            Event::Measured(point, lines) => {
                if let Some(record) = &mut record {
                    lines.iter().try_for_each(|line| record.add(line))?;
                }
                if args.json {
                    for line in lines {
                        write_out(out, &json(line)?)?;
                    }
                } else {
                    table.row(point, lines, out)?;
                }
            }
        }
        Ok(())
    })
}

/// What happens in a run.
enum Event<'a> {
    /// Everybody is loaded.
    Started(&'a [String]),
    /// Everybody was measured at one point.
    Measured(&'a Point<'a>, &'a [Line]),
}

type Observer<'a> = &'a mut dyn FnMut(Event<'_>) -> Result<(), Error>;

fn measure(args: &Args, peers: &[PeerFactory], observer: Observer<'_>) -> Result<(), Error> {
    let cases = case::matching(&args.case)?;
    let oarlock = Oarlock::new(args.threads, Strategy::Auto)?;
    let peers = peer::choose(peers, &args.peer, args.threads, &mut |note| {
        eprintln!("{note}");
    })?;
    let mut versions = vec![oarlock.version()];
    versions.extend(peers.iter().map(|chosen| chosen.peer.version()));
    observer(Event::Started(&versions))?;
    for case in cases {
        for depth in &args.depth {
            measure_case(args, case, *depth, &oarlock, &peers, observer)?;
        }
    }
    Ok(())
}

fn measure_case(
    args: &Args,
    case: &Case,
    depth: usize,
    oarlock: &Oarlock,
    peers: &[Chosen],
    observer: Observer<'_>,
) -> Result<(), Error> {
    let sizes: Vec<usize> = if args.size.is_empty() {
        default_sizes(args).iter().map(|size| size.0).collect()
    } else {
        args.size.iter().map(|size| size.0).collect()
    };
    let key: Vec<u8> = (0..case.operation.key_bytes() as u8).collect();
    let contestant = |name, peer: &dyn Peer| {
        let subjects = (0..depth).map(|_| peer.subject(case, &key));
        Ok::<_, Error>(Contestant::new(name, subjects.collect::<Result<_, _>>()?))
    };

    // A peer is first, so that it is the reference.
    let mut contestants = peers
        .iter()
        .map(|chosen| contestant(chosen.name, &*chosen.peer))
        .collect::<Result<Vec<_>, _>>()?;
    contestants.push(contestant("oarlock", oarlock)?);
    verify::compare(case.name, &mut contestants, &sizes)?;
    drop(contestants);

    for mode in modes(args) {
        for bytes in &sizes {
            let bytes = *bytes;
            let mut buffers: Vec<_> = (0..depth).map(|_| Buffer::new(bytes)).collect();
            let point = Point {
                case: case.name,
                unit: case.unit.name(),
                threads: args.threads,
                bytes,
                mode,
                fresh_nonce: args.fresh_nonce,
                depth,
            };
            let work = Work {
                bytes,
                fresh_nonce: args.fresh_nonce,
                mode,
                rounds: if args.quick { QUICK_ROUNDS } else { ROUNDS },
                sample: if args.quick { QUICK_SAMPLE } else { SAMPLE },
            };
            let mut our_samples = Vec::new();
            let mut lines = Vec::new();
            for peer in peers {
                let (ours, theirs) = measure::in_turn(
                    &|| contestant("oarlock", oarlock),
                    &|| contestant(peer.name, &*peer.peer),
                    &mut buffers,
                    &work,
                )?;
                lines.push(point.rate(peer.name, 1, &Summary::of(&theirs)));
                lines.push(point.ratio(peer.name, &Summary::of_ratios(&ours, &theirs)));
                our_samples.extend(ours);
            }
            let ours = point.rate("oarlock", args.threads, &Summary::of(&our_samples));
            lines.insert(0, ours);
            observer(Event::Measured(&point, &lines))?;
        }
    }
    Ok(())
}

fn modes(args: &Args) -> Vec<Mode> {
    match (args.threads, args.quick) {
        (1, _) => vec![Mode::BackToBack],
        (_, true) => vec![Mode::BackToBack, Mode::AfterIdle(2)],
        (_, false) => vec![Mode::BackToBack, Mode::AfterIdle(2), Mode::AfterIdle(20)],
    }
}

fn default_sizes(args: &Args) -> &'static [Size] {
    if args.threads == 1 {
        &[Size(64), Size(1 << 10), Size(16 << 10), Size(1 << 20)]
    } else {
        &[
            Size(64),
            Size(1 << 10),
            Size(16 << 10),
            Size(64 << 10),
            Size(256 << 10),
            Size(1 << 20),
            Size(4 << 20),
            Size(16 << 20),
            Size(64 << 20),
        ]
    }
}

fn json(line: &impl serde::Serialize) -> Result<String, Error> {
    serde_json::to_string(line)
        .map(|text| text + "\n")
        .map_err(|error| Error::Failed(format!("writing JSON: {error}")))
}

fn write_out(out: &mut dyn Write, text: &str) -> Result<(), Error> {
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(Error::io("writing the result"))
}

/// Odd, so that the median is a ratio that was seen.
const ROUNDS: usize = 21;
const QUICK_ROUNDS: usize = 7;
const SAMPLE: Duration = Duration::from_millis(3);
const QUICK_SAMPLE: Duration = Duration::from_millis(1);
