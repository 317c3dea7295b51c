//! Public-key operations at each depth: answers compared, then alternating samples.
//!
//! ```text
//! round 1   depth 1: Oarlock, A, B    depth 8: Oarlock, A, B   ...
//! round 2   the other way round                                ...
//! ```
//!
//! So a ratio is of two samples of one round: Oarlock's and a peer's at one depth, or Oarlock's at a depth and at the
//! one before. Keys are set up once; results are compared after every sample.

use std::time::Duration;

use super::participants::{Event, Observer, Participants};
use crate::args::Args;
use crate::cases::{PublicKeyCase, Tasks};
use crate::error::Error;
use crate::measuring::{self, CpuBinding, LoadSamples, Loop, Summary};
use crate::output::{Entry, PublicKeyMode, PublicKeyPoint};
use crate::peers::{CallStyle, OARLOCK, Oarlock, PublicKey};

/// Measures `cases`; returns how many of them a participant supports.
pub(crate) fn measure(
    args: &Args,
    cases: &[&'static PublicKeyCase],
    participants: &Participants,
    observer: Observer<'_>,
) -> Result<usize, Error> {
    let _bound = CpuBinding::to(args.threads)?;
    let mut measured = 0;
    for case in cases {
        let mut contest = PublicKeyContest::of(case, args, participants)?;
        if contest.parties.is_empty() {
            continue;
        }
        contest.verify(args, participants)?;
        contest.measure(args)?;
        measured += 1;
        let mut before = None;
        for depth in depths(args) {
            let (point, lines) = contest.lines(args, depth, before);
            observer(Event::Measured(&point.row(), &lines))?;
            before = Some(depth);
        }
    }
    Ok(measured)
}

/// Compares answers only; returns how many agree with the first participant's.
pub(crate) fn verify(
    args: &Args,
    cases: &[&'static PublicKeyCase],
    participants: &Participants,
) -> Result<usize, Error> {
    let mut agreed = 0;
    let args = &Args {
        depth: VERIFIED_DEPTHS.to_vec(),
        ..args.clone()
    };
    for case in cases {
        agreed += PublicKeyContest::of(case, args, participants)?.verify(args, participants)?;
    }
    Ok(agreed)
}

/// The participants of a case.
struct PublicKeyContest {
    case: &'static PublicKeyCase,
    tasks: Tasks,
    /// All participants at the first depth, Oarlock first; then at the next.
    parties: Vec<Party>,
    /// The answers by number of request; every participant must return these.
    answers: Vec<Vec<u8>>,
}

/// A participant at one depth.
struct Party {
    name: &'static str,
    depth: usize,
    threads: usize,
    loops: Vec<Loop>,
    taken: LoadSamples,
}

impl PublicKeyContest {
    /// Leaves out participants that do not support the case.
    fn of(
        case: &'static PublicKeyCase,
        args: &Args,
        participants: &Participants,
    ) -> Result<Self, Error> {
        let tasks = Tasks::of(case)?;
        let mut parties = Vec::new();
        for depth in depths(args) {
            parties.extend(parties_at(case, depth, &tasks, args, participants)?);
        }
        Ok(Self {
            case,
            tasks,
            parties,
            answers: Vec::new(),
        })
    }

    /// Compares the answers of every participant to all requests at every depth; wrong signatures must be found wrong.
    /// Returns how many agree with the first.
    fn verify(&mut self, args: &Args, participants: &Participants) -> Result<usize, Error> {
        let mut agreed = 0;
        // A peer is first, so that it is the reference.
        let reference = self.parties.iter().position(|party| party.name != OARLOCK);
        let Some(reference) = self.parties.get_mut(reference.unwrap_or(0)) else {
            return Ok(0);
        };
        let reference_name = reference.name;
        self.answers = reference.loops[0].answers();
        for party in &mut self.parties {
            let answers = party.loops[0].answers();
            if let Some(number) = first_difference(&answers, &self.answers) {
                return Err(Error::Mismatch(format!(
                    "{} differs from {reference_name} in {} at depth {}: request {number}",
                    party.name, self.case.name, party.depth
                )));
            }
            agreed += usize::from(party.name != reference_name);
        }
        if let Some(wrong) = self.tasks.with_wrong_signatures() {
            let deepest = depths(args).into_iter().max().unwrap_or(1);
            for mut party in parties_at(self.case, deepest, &wrong, args, participants)? {
                let answers = party.loops[0].answers();
                if let Some(number) = answers.iter().position(|answer| *answer != [0]) {
                    return Err(Error::Mismatch(format!(
                        "{} takes a wrong signature for right in {}: request {number}",
                        party.name, self.case.name
                    )));
                }
            }
        }
        Ok(agreed)
    }

    fn measure(&mut self, args: &Args) -> Result<(), Error> {
        let length = sample_length(args);
        for round in 0..rounds(args) {
            for turn in 0..self.parties.len() {
                let place = match round % 2 {
                    0 => turn,
                    _ => self.parties.len() - 1 - turn,
                };
                let party = &mut self.parties[place];
                let samples = measuring::sample(&mut party.loops, length)?;
                for one in &party.loops {
                    if let Some(number) = one.results.first_wrong(&self.answers) {
                        return Err(Error::Mismatch(format!(
                            "{} gave a wrong answer in {} at depth {}: request {number}",
                            party.name, self.case.name, party.depth
                        )));
                    }
                }
                party.taken.add(&samples);
            }
        }
        Ok(())
    }

    /// Returns the entries of all participants at a depth; those of Oarlock also compared with itself at the depth
    /// before.
    fn lines(
        &mut self,
        args: &Args,
        depth: usize,
        before: Option<usize>,
    ) -> (PublicKeyPoint, Vec<Entry>) {
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
            let mut parties = self.parties.iter();
            let ours = parties.find(|party| party.name == OARLOCK && party.depth == depth);
            ours.map(|party| party.taken.per_second.clone())
        };
        let ours = our_samples(depth);
        let ours_before = before.and_then(|before| our_samples(before).zip(Some(before)));
        let mut lines = Vec::new();
        for party in self.parties.iter_mut().filter(|party| party.depth == depth) {
            lines.push(point.rate(party.name, party.threads, &mut party.taken));
            if let Some(ours) = &ours
                && party.name != OARLOCK
            {
                let summary = Summary::of_ratios(ours, &party.taken.per_second);
                lines.push(point.ratio(party.name, None, &summary));
            }
        }
        if let Some((ours, (theirs, before))) = ours.zip(ours_before) {
            let summary = Summary::of_ratios(&ours, &theirs);
            lines.push(point.ratio(OARLOCK, Some(before), &summary));
        }
        (point, lines)
    }
}

impl Party {
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
            // Each loop starts at other keys.
            Loop::new(subject, depth_each, requests, number * requests / count)
        });
        Self {
            name,
            depth,
            threads,
            loops: loops.collect(),
            taken: LoadSamples::default(),
        }
    }
}

/// Returns all participants that support the case, Oarlock first.
fn parties_at(
    case: &PublicKeyCase,
    depth: usize,
    tasks: &Tasks,
    args: &Args,
    participants: &Participants,
) -> Result<Vec<Party>, Error> {
    let mut parties = Vec::new();
    let mut add = |name, party: Result<Party, Error>| match party {
        Ok(party) => {
            parties.push(party);
            Ok(())
        }
        Err(Error::Unavailable(why)) => {
            participants.without(case.name, name, &why);
            Ok(())
        }
        Err(error) => Err(error),
    };
    let (asked, callers, depth_each) = match args.blocking {
        Some(callers) => (CallStyle::Calls, callers, 1),
        None => (Oarlock::call_style_at(depth), 1, depth),
    };
    let ours = participants
        .oarlock
        .public_key_callers(tasks, asked, callers);
    let party = ours.map(|ours| {
        Party::new(
            OARLOCK,
            depth,
            args.threads,
            ours,
            depth_each,
            tasks.count(),
        )
    });
    add(OARLOCK, party)?;
    for chosen in &participants.peers {
        let threads = chosen.public_key_threads(args.threads);
        let callers = chosen.public_key_callers(args.threads).min(depth);
        // The callers share the requests in flight.
        let depth_each = depth.div_ceil(callers);
        let theirs = (0..callers).map(|_| chosen.peer.public_key(tasks, depth_each));
        let party = theirs.collect::<Result<Vec<_>, _>>().map(|theirs| {
            Party::new(
                chosen.name,
                depth,
                threads,
                theirs,
                depth_each,
                tasks.count(),
            )
        });
        add(chosen.name, party)?;
    }
    Ok(parties)
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
/// The depths of the comparison: calls, and jobs in groups that are not full.
const VERIFIED_DEPTHS: &[usize] = &[1, 7];
/// The number of rounds: odd, so that the median is a measured ratio.
const ROUNDS: usize = 11;
const QUICK_ROUNDS: usize = 5;
/// The length of a sample: nine groups of eight of the slowest, RSA-4096.
const SAMPLE_MS: u64 = 60;
const QUICK_SAMPLE_MS: u64 = 20;
