//! Oarlock's public-key operations while every CPU runs a cipher: neither may starve.
//!
//! ```text
//! round 1   requests alone    messages alone    both at once
//! round 2   both at once      messages alone    requests alone
//! ```

use oarlock::Accelerator;
use oarlock::Algorithm;
use oarlock::aead::AcceleratedAead;

use super::participants::{Event, Observer, Participants};
use super::public_key::{depths, rounds, sample_length};
use crate::args::Args;
use crate::cases::{PublicKeyCase, Tasks, Unit};
use crate::error::Error;
use crate::measuring::{self, CpuBinding, LoadSamples, Loop, Mode, Summary};
use crate::output::{Entry, MIXED, Point, PublicKeyMode, PublicKeyPoint, Row};
use crate::peers::{AAD, Nonces, OARLOCK, Oarlock, PublicKey, Results};

/// Measures `cases`; returns how many of them Oarlock supports.
pub(super) fn measure(
    args: &Args,
    cases: &[&'static PublicKeyCase],
    participants: &Participants,
    observer: Observer<'_>,
) -> Result<usize, Error> {
    let _bound = CpuBinding::to(args.threads)?;
    let mut measured = 0;
    for case in cases {
        measured += usize::from(measure_case(args, case, participants, observer)?);
    }
    Ok(measured)
}

/// Measures a case alone and under the cipher's load; returns whether Oarlock supports it.
fn measure_case(
    args: &Args,
    case: &'static PublicKeyCase,
    participants: &Participants,
    observer: Observer<'_>,
) -> Result<bool, Error> {
    let tasks = Tasks::of(case)?;
    for depth in depths(args) {
        let asked = Oarlock::call_style_at(depth);
        let requests = match participants.oarlock.public_key_callers(&tasks, asked, 1) {
            Err(Error::Unavailable(why)) => {
                participants.without(case.name, OARLOCK, &why);
                return Ok(false);
            }
            made => made?,
        };
        let mut loops = Vec::new();
        for one in requests {
            loops.push(Loop::new(one, depth, tasks.count(), 0));
        }
        let answers = loops[0].answers();
        for _ in 0..args.threads {
            loops.push(Loop::new(Box::new(Sealing::new()?), 1, 1, 0));
        }
        let [mut requests, mut messages] = [(); 2].map(|()| Pair::default());
        for round in 0..rounds(args) {
            let mut turns = [Turn::Requests, Turn::Messages, Turn::Both];
            if round % 2 == 1 {
                turns.reverse();
            }
            for turn in turns {
                let taking_part = match turn {
                    Turn::Requests => &mut loops[..1],
                    Turn::Messages => &mut loops[1..],
                    Turn::Both => &mut loops[..],
                };
                let samples = measuring::sample(taking_part, sample_length(args))?;
                match turn {
                    Turn::Requests => requests.alone.add(&samples),
                    Turn::Messages => messages.alone.add(&samples),
                    Turn::Both => {
                        requests.beside.add(&samples[..1]);
                        messages.beside.add(&samples[1..]);
                    }
                }
                if let Some(number) = loops[0].results.first_wrong(&answers) {
                    return Err(Error::Mismatch(format!(
                        "{OARLOCK} gave two answers in {}: request {number}",
                        case.name
                    )));
                }
            }
        }

        let point = PublicKeyPoint {
            case: case.name,
            bytes: case.operation.bits() / 8,
            threads: args.threads,
            depth,
            mode: PublicKeyMode::Mixed,
        };
        let of_requests = [
            point.rate(OARLOCK, args.threads, &mut requests.beside),
            point.rate(ALONE, args.threads, &mut requests.alone),
            point.ratio(ALONE, None, &requests.ratio()),
        ];
        observer(Event::Measured(&point.row(), &of_requests))?;
        let (row, of_messages) = of_messages(args.threads, case.name, &messages);
        observer(Event::Measured(&row, &of_messages))?;
    }
    Ok(true)
}

#[derive(Clone, Copy)]
enum Turn {
    Requests,
    Messages,
    Both,
}

/// The samples of one kind of load, alone and while the other runs.
#[derive(Default)]
struct Pair {
    alone: LoadSamples,
    beside: LoadSamples,
}

impl Pair {
    fn ratio(&self) -> Summary {
        Summary::of_ratios(&self.beside.per_second, &self.alone.per_second)
    }
}

fn of_messages(threads: usize, load: &str, messages: &Pair) -> (Row, [Entry; 3]) {
    let unit = Unit::GigabytesPerSecond.name();
    let point = Point {
        case: CIPHER,
        unit,
        threads,
        bytes: MESSAGE_BYTES,
        mode: Mode::BackToBack,
        fresh_nonce: false,
        depth: 1,
        strategy: None,
    };
    let gigabytes = |per_second: &[f64]| {
        let gigabytes = |messages: &f64| messages * MESSAGE_BYTES as f64 / 1e9;
        Summary::of(&per_second.iter().map(gigabytes).collect::<Vec<_>>())
    };
    let lines = [
        point.rate(OARLOCK, threads, &gigabytes(&messages.beside.per_second)),
        point.rate(ALONE, threads, &gigabytes(&messages.alone.per_second)),
        point.ratio(ALONE, &messages.ratio()),
    ]
    .map(|line| line.in_mode(MIXED));
    let row = Row {
        heading: format!("{CIPHER} in {unit}, a caller on each CPU, next to {load}"),
        ..point.row()
    };
    (row, lines)
}

/// A thread that seals consecutive messages inline. Each counts as a request.
struct Sealing {
    aead: AcceleratedAead,
    nonces: Nonces,
    message: Vec<u8>,
}

impl Sealing {
    fn new() -> Result<Self, Error> {
        let accelerator = Accelerator::builder().max_threads(0).build()?;
        Ok(Self {
            aead: accelerator.aead(Algorithm::Aes256Gcm, &[0x5a; 32])?,
            nonces: Nonces::default(),
            message: vec![0; MESSAGE_BYTES],
        })
    }
}

impl PublicKey for Sealing {
    fn submit(&mut self, _: usize) {}

    fn finish(&mut self, results: &mut Results) {
        let nonce = *self.nonces.next_nonce();
        let tag = self
            .aead
            .seal(&nonce, &AAD, self.message.as_mut_slice().into());
        assert!(tag.is_ok(), "a message of this length is sealed");
        results.done(0, 0);
    }

    fn abandon(&mut self) {}
}

const ALONE: &str = "alone";
const CIPHER: &str = "aes-256-gcm";
const MESSAGE_BYTES: usize = 64 << 10;
