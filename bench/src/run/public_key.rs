//! Who is measured and at which depths: answers compared, then samples in turn.
//!
//! ```text
//! round 1   depth 1: Oarlock, A, B    depth 8: Oarlock, A, B   ...
//! round 2   the other way round                                ...
//! ```
//!
//! So a ratio is of two samples of one round: Oarlock's and a peer's at one depth, or Oarlock's at a
//! depth and at the one before. Keys are set up once; results are compared after every sample.

use std::time::Duration;

use super::everybody::{Event, Everybody, Observer};
use crate::args::Args;
use crate::cases::{PublicKeyCase, Tasks};
use crate::error::Error;
use crate::measuring::{self, Bound, Loop, Summary, Taken};
use crate::output::{Line, PublicKeyMode, PublicKeyPoint};
use crate::peers::{Asked, OARLOCK, Oarlock, PublicKey};

/// Measures `cases`; returns how many of them somebody does.
pub(crate) fn measure(
    args: &Args,
    cases: &[&'static PublicKeyCase],
    everybody: &Everybody,
    observer: Observer<'_>,
) -> Result<usize, Error> {
    let _bound = Bound::to(args.threads)?;
    let mut measured = 0;
    for case in cases {
        let mut field = Field::of(case, args, everybody)?;
        if field.sides.is_empty() {
            continue;
        }
        field.verify(args, everybody)?;
        field.measure(args)?;
        measured += 1;
        let mut before = None;
        for depth in depths(args) {
            let (point, lines) = field.lines(args, depth, before);
            observer(Event::Measured(&point.row(), &lines))?;
            before = Some(depth);
        }
    }
    Ok(measured)
}

/// Compares answers only; returns how many agree with the first's.
pub(crate) fn verify(
    args: &Args,
    cases: &[&'static PublicKeyCase],
    everybody: &Everybody,
) -> Result<usize, Error> {
    let mut agreed = 0;
    let args = &Args {
        depth: VERIFIED_DEPTHS.to_vec(),
        ..args.clone()
    };
    for case in cases {
        agreed += Field::of(case, args, everybody)?.verify(args, everybody)?;
    }
    Ok(agreed)
}

/// Who takes part in a case.
struct Field {
    case: &'static PublicKeyCase,
    tasks: Tasks,
    /// Everybody at the first depth, Oarlock first, and so on.
    sides: Vec<Side>,
    /// By number of request, as everybody has to have them.
    answers: Vec<Vec<u8>>,
}

/// Somebody at one depth.
struct Side {
    name: &'static str,
    depth: usize,
    threads: usize,
    loops: Vec<Loop>,
    taken: Taken,
}

impl Field {
    /// Leaves out who does not do the case.
    fn of(case: &'static PublicKeyCase, args: &Args, everybody: &Everybody) -> Result<Self, Error> {
        let tasks = Tasks::of(case)?;
        let mut sides = Vec::new();
        for depth in depths(args) {
            sides.extend(sides_at(case, depth, &tasks, args, everybody)?);
        }
        Ok(Self {
            case,
            tasks,
            sides,
            answers: Vec::new(),
        })
    }

    /// Has everybody answer every request at every depth, and compares; wrong signatures have to be
    /// found wrong. Returns how many were found to agree with the first.
    fn verify(&mut self, args: &Args, everybody: &Everybody) -> Result<usize, Error> {
        let mut agreed = 0;
        // A peer is first, so that it is the reference.
        let reference = self.sides.iter().position(|side| side.name != OARLOCK);
        let Some(reference) = self.sides.get_mut(reference.unwrap_or(0)) else {
            return Ok(0);
        };
        let reference_name = reference.name;
        self.answers = reference.loops[0].answers();
        for side in &mut self.sides {
            let answers = side.loops[0].answers();
            if let Some(number) = first_difference(&answers, &self.answers) {
                return Err(Error::Mismatch(format!(
                    "{} differs from {reference_name} in {} at depth {}: request {number}",
                    side.name, self.case.name, side.depth
                )));
            }
            agreed += usize::from(side.name != reference_name);
        }
        if let Some(wrong) = self.tasks.with_wrong_signatures() {
            let deepest = depths(args).into_iter().max().unwrap_or(1);
            for mut side in sides_at(self.case, deepest, &wrong, args, everybody)? {
                let answers = side.loops[0].answers();
                if let Some(number) = answers.iter().position(|answer| *answer != [0]) {
                    return Err(Error::Mismatch(format!(
                        "{} takes a wrong signature for right in {}: request {number}",
                        side.name, self.case.name
                    )));
                }
            }
        }
        Ok(agreed)
    }

    fn measure(&mut self, args: &Args) -> Result<(), Error> {
        let length = sample_length(args);
        for round in 0..rounds(args) {
            for turn in 0..self.sides.len() {
                let place = match round % 2 {
                    0 => turn,
                    _ => self.sides.len() - 1 - turn,
                };
                let side = &mut self.sides[place];
                let samples = measuring::sample(&mut side.loops, length)?;
                for one in &side.loops {
                    if let Some(number) = one.results.first_wrong(&self.answers) {
                        return Err(Error::Mismatch(format!(
                            "{} gave a wrong answer in {} at depth {}: request {number}",
                            side.name, self.case.name, side.depth
                        )));
                    }
                }
                side.taken.add(&samples);
            }
        }
        Ok(())
    }

    /// Of everybody at a depth; of Oarlock also beside itself at the depth before.
    fn lines(
        &mut self,
        args: &Args,
        depth: usize,
        before: Option<usize>,
    ) -> (PublicKeyPoint, Vec<Line>) {
        let point = PublicKeyPoint {
            case: self.case.name,
            bytes: self.case.operation.bits() / 8,
            threads: args.threads,
            depth,
            mode: match args.blocking {
                Some(callers) => PublicKeyMode::Blocking(callers),
                None => PublicKeyMode::InFlight,
            },
        };
        let our_samples = |depth| {
            let mut sides = self.sides.iter();
            let ours = sides.find(|side| side.name == OARLOCK && side.depth == depth);
            ours.map(|side| side.taken.per_second.clone())
        };
        let ours = our_samples(depth);
        let ours_before = before.and_then(|before| our_samples(before).zip(Some(before)));
        let mut lines = Vec::new();
        for side in self.sides.iter_mut().filter(|side| side.depth == depth) {
            lines.push(point.rate(side.name, side.threads, &mut side.taken));
            if let Some(ours) = &ours
                && side.name != OARLOCK
            {
                let summary = Summary::of_ratios(ours, &side.taken.per_second);
                lines.push(point.ratio(side.name, None, &summary));
            }
        }
        if let Some((ours, (theirs, before))) = ours.zip(ours_before) {
            let summary = Summary::of_ratios(&ours, &theirs);
            lines.push(point.ratio(OARLOCK, Some(before), &summary));
        }
        (point, lines)
    }
}

impl Side {
    fn new(
        name: &'static str,
        depth: usize,
        threads: usize,
        subjects: Vec<Box<dyn PublicKey>>,
        depth_each: usize,
        requests: usize,
    ) -> Self {
        let count = subjects.len();
        let loops = subjects.into_iter().enumerate().map(|(number, subject)| {
            // Not all on the same keys at once.
            Loop::new(subject, depth_each, requests, number * requests / count)
        });
        Self {
            name,
            depth,
            threads,
            loops: loops.collect(),
            taken: Taken::default(),
        }
    }
}

/// Everybody who does the case, Oarlock first.
fn sides_at(
    case: &PublicKeyCase,
    depth: usize,
    tasks: &Tasks,
    args: &Args,
    everybody: &Everybody,
) -> Result<Vec<Side>, Error> {
    let mut sides = Vec::new();
    let mut add = |name, side: Result<Side, Error>| match side {
        Ok(side) => {
            sides.push(side);
            Ok(())
        }
        Err(Error::Unavailable(why)) => {
            everybody.without(case.name, name, &why);
            Ok(())
        }
        Err(error) => Err(error),
    };
    let (asked, callers, depth_each) = match args.blocking {
        Some(callers) => (Asked::Calls, callers, 1),
        None => (Oarlock::asked_at(depth), 1, depth),
    };
    let ours = everybody.oarlock.public_key_callers(tasks, asked, callers);
    let side = ours.map(|ours| {
        Side::new(
            OARLOCK,
            depth,
            args.threads,
            ours,
            depth_each,
            tasks.count(),
        )
    });
    add(OARLOCK, side)?;
    for chosen in &everybody.peers {
        let threads = chosen.public_key_threads(args.threads);
        let callers = chosen.public_key_callers(args.threads).min(depth);
        // What is in flight is shared out.
        let depth_each = depth.div_ceil(callers);
        let theirs = (0..callers).map(|_| chosen.peer.public_key(tasks, depth_each));
        let side = theirs.collect::<Result<Vec<_>, _>>().map(|theirs| {
            Side::new(
                chosen.name,
                depth,
                threads,
                theirs,
                depth_each,
                tasks.count(),
            )
        });
        add(chosen.name, side)?;
    }
    Ok(sides)
}

pub(super) fn sample_length(args: &Args) -> Duration {
    Duration::from_millis(match (args.sample_ms, args.quick) {
        (Some(ms), _) => ms,
        (None, true) => QUICK_SAMPLE_MS,
        (None, false) => SAMPLE_MS,
    })
}

pub(super) fn rounds(args: &Args) -> usize {
    if args.quick { QUICK_ROUNDS } else { ROUNDS }
}

fn first_difference(a: &[Vec<u8>], b: &[Vec<u8>]) -> Option<usize> {
    a.iter().zip(b).position(|(a, b)| a != b)
}

pub(super) fn depths(args: &Args) -> Vec<usize> {
    match args.depth.as_slice() {
        [] => DEPTHS.to_vec(),
        given => given.to_vec(),
    }
}

const DEPTHS: &[usize] = &[1, 8, 64];
/// Calls, and jobs and groups that are not full.
const VERIFIED_DEPTHS: &[usize] = &[1, 7];
/// Odd, so that the median is a ratio that was seen.
const ROUNDS: usize = 11;
const QUICK_ROUNDS: usize = 5;
/// Nine groups of eight of the slowest, RSA-4096.
const SAMPLE_MS: u64 = 60;
const QUICK_SAMPLE_MS: u64 = 20;
