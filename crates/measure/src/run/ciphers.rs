//! Ciphers, point by point.

use std::time::Duration;

use super::participants::{Event, Observer, Participants};
use crate::args::{self, Args};
use crate::cases::{Case, Direction, Size};
use crate::error::Error;
use crate::measuring::{self, Buffer, Contestant, Mode, Summary, Work, compare};
use crate::output::{Entry, Point};
use crate::peers::{AAD, ChosenPeer, Nonces, OARLOCK, Oarlock, Peer, Sealed, Subject};

/// Measures `cases`; returns how many of them Oarlock and a peer support.
pub(super) fn measure(
    args: &Args,
    cases: &[&'static Case],
    participants: &Participants,
    observer: Observer<'_>,
) -> Result<usize, Error> {
    let mut measured = 0;
    for case in cases {
        for depth in depths(args) {
            let Some(contest) = CipherContest::of(case, depth, participants)? else {
                continue;
            };
            if let Err(Error::Unavailable(why)) = contest.subject(&participants.oarlock, case) {
                eprintln!("without {}: {why}", case.name);
                continue;
            }
            contest.verify(&sizes(args, case))?;
            measured += 1;
            contest.measure(args, observer)?;
        }
    }
    Ok(measured)
}

/// Compares outputs only; returns how many of them agree with the first participant's.
pub(super) fn verify(cases: &[&'static Case], participants: &Participants) -> Result<usize, Error> {
    let mut compared = 0;
    for case in cases {
        if let Some(contest) = CipherContest::of(case, 1, participants)? {
            compared += contest.verify(&[])?;
        }
    }
    Ok(compared)
}

/// The participants of a case.
struct CipherContest<'a> {
    case: &'static Case,
    depth: usize,
    key: Vec<u8>,
    oarlock: &'a Oarlock,
    peers: Vec<&'a ChosenPeer>,
}

impl<'a> CipherContest<'a> {
    /// Leaves out and reports peers that do not support the case; returns `None` if none is left. If no peer was named,
    /// Oarlock is then measured against itself.
    fn of(
        case: &'static Case,
        depth: usize,
        participants: &'a Participants,
    ) -> Result<Option<Self>, Error> {
        let mut contest = Self {
            case,
            depth,
            key: (0..case.algorithm.key_bytes() as u8).collect(),
            oarlock: &participants.oarlock,
            peers: Vec::new(),
        };
        for chosen in &participants.peers {
            match contest.subject(&*chosen.peer, case) {
                Ok(_) => contest.peers.push(chosen),
                Err(Error::Unavailable(why)) => {
                    participants.without(case.name, chosen.name, &why);
                }
                Err(error) => return Err(error),
            }
        }
        let nobody = participants.named && contest.peers.is_empty();
        Ok((!nobody).then_some(contest))
    }

    fn subject(&self, peer: &dyn Peer, case: &Case) -> Result<Subject, Error> {
        let subject = peer.subject(case, &self.key)?;
        if case.then_hmac {
            measuring::then_hmac(subject)
        } else {
            Ok(subject)
        }
    }

    fn contestant(&self, name: &'static str, peer: &dyn Peer) -> Result<Contestant, Error> {
        let subjects = (0..self.depth).map(|_| self.subject(peer, self.case));
        Ok(Contestant::new(name, subjects.collect::<Result<_, _>>()?))
    }

    /// Compares outputs; returns how many agree with the first participant's.
    fn verify(&self, sizes: &[usize]) -> Result<usize, Error> {
        // A peer is first, so that it is the reference.
        let mut contestants = self
            .peers
            .iter()
            .map(|chosen| self.contestant(chosen.name, &*chosen.peer))
            .collect::<Result<Vec<_>, _>>()?;
        match self.contestant(OARLOCK, self.oarlock) {
            Err(Error::Unavailable(_)) => {}
            ours => contestants.push(ours?),
        }
        let granule_bytes = self.case.algorithm.granule_bytes();
        compare(self.case.name, &mut contestants, sizes, granule_bytes)?;
        Ok(contestants.len().saturating_sub(1))
    }

    fn measure(&self, args: &Args, observer: Observer<'_>) -> Result<(), Error> {
        for mode in modes(args) {
            for bytes in sizes(args, self.case) {
                let mut work = Work {
                    bytes,
                    fresh_nonce: args.fresh_nonce,
                    mode,
                    rounds: if args.quick { QUICK_ROUNDS } else { ROUNDS },
                    sample: sample(args),
                    bytes_min: 2 * args.threads * self.case.algorithm.ahead_bytes(),
                    messages: Vec::new(),
                };
                self.admits(&work)?;
                if self.case.algorithm.is_aead() && self.case.direction == Direction::Decrypt {
                    work.messages = self.messages(work.call_bytes())?;
                }
                let point = Point {
                    case: self.case.name,
                    unit: self.case.unit.name(),
                    threads: args.threads,
                    bytes,
                    mode,
                    fresh_nonce: args.fresh_nonce,
                    depth: self.depth,
                    strategy: args.strategy.as_ref().map(|forced| forced.name.as_str()),
                };
                let lines = self.measure_point(&point, &work)?;
                observer(Event::Measured(&point.row(), &lines))?;
            }
        }
        Ok(())
    }

    /// Refuses sizes that the case does not support.
    fn admits(&self, work: &Work) -> Result<(), Error> {
        let (name, granule) = (self.case.name, self.case.algorithm.granule_bytes());
        let (bytes, call) = (Size(work.bytes), Size(work.call_bytes()));
        if !call.0.is_multiple_of(granule) {
            return Err(Error::Usage(format!(
                "{name} takes requests of a multiple of {granule} bytes, which {call} is not"
            )));
        }
        if !bytes.0.is_multiple_of(call.0) {
            return Err(Error::Usage(format!(
                "a burst of {bytes} is not made of whole calls of {call}"
            )));
        }
        Ok(())
    }

    fn measure_point(&self, point: &Point<'_>, work: &Work) -> Result<Vec<Entry>, Error> {
        let mut buffers: Vec<_> = (0..self.depth).map(|_| Buffer::new(work.bytes)).collect();
        let mut our_samples = Vec::new();
        let mut lines = Vec::new();
        let ours = || {
            let mut ours = self.contestant(OARLOCK, self.oarlock)?;
            ours.prefills = true;
            Ok(ours)
        };
        for chosen in &self.peers {
            let (ours, theirs) = measuring::in_turn(
                &ours,
                &|| self.contestant(chosen.name, &*chosen.peer),
                &mut buffers,
                work,
            )?;
            let threads = chosen.threads(point.threads);
            lines.push(point.rate(chosen.name, threads, &Summary::of(&theirs)));
            lines.push(point.ratio(chosen.name, &Summary::of_ratios(&ours, &theirs)));
            our_samples.extend(ours);
        }
        if self.peers.is_empty() {
            our_samples = measuring::in_turn(&ours, &ours, &mut buffers, work)?.0;
        }
        let ours = point.rate(OARLOCK, point.threads, &Summary::of(&our_samples));
        lines.insert(0, ours);
        Ok(lines)
    }

    /// Returns messages to open, each under its own nonce. Together, their ciphertexts take as much cache as one long
    /// request, so that the measurement is not bound by memory.
    fn messages(&self, bytes: usize) -> Result<Vec<Sealed>, Error> {
        let sealing = Case {
            direction: Direction::Encrypt,
            ..self.case.clone()
        };
        let Subject::Aead(mut aead) = self.subject(self.oarlock, &sealing)? else {
            return Err(Error::Failed(format!("{} is no AEAD", self.case.name)));
        };
        let mut nonces = Nonces::default();
        let count = (MESSAGES_BYTES / bytes).clamp(MESSAGES_MIN, MESSAGES_MAX);
        Ok((0..count)
            .map(|_| {
                let nonce = *nonces.next_nonce();
                let mut data = vec![0x5a; bytes];
                let tag = aead.seal(&nonce, &AAD, &mut data);
                Sealed { nonce, data, tag }
            })
            .collect())
    }
}

fn modes(args: &Args) -> Vec<Mode> {
    let idle_ms = match (args.idle_ms.as_slice(), args.quick) {
        ([], true) => &[2][..],
        ([], false) => &[2, 20],
        (given, _) => given,
    };
    let names: &[args::CallPattern] = match (args.mode.as_slice(), args.threads) {
        ([], 1) => &[args::CallPattern::BackToBack],
        ([], _) => &[args::CallPattern::BackToBack, args::CallPattern::AfterIdle],
        (given, _) => given,
    };
    let of_name = |name: &args::CallPattern| match name {
        args::CallPattern::BackToBack => vec![Mode::BackToBack],
        args::CallPattern::Prefilled => vec![Mode::Prefilled],
        args::CallPattern::AfterIdle => idle_ms.iter().map(|ms| Mode::AfterIdle(*ms)).collect(),
        args::CallPattern::Burst => idle_ms
            .iter()
            .map(|ms| Mode::Burst {
                idle_ms: *ms,
                call_bytes: args.call.0,
            })
            .collect(),
    };
    names.iter().flat_map(of_name).collect()
}

fn depths(args: &Args) -> Vec<usize> {
    match args.depth.as_slice() {
        [] => vec![1],
        given => given.to_vec(),
    }
}

fn sizes(args: &Args, case: &Case) -> Vec<usize> {
    let sizes = match (args.size.as_slice(), args.threads) {
        ([], _) if args.mode.contains(&args::CallPattern::Burst) => BURST_SIZES,
        ([], 1) => ONE_THREAD_SIZES,
        ([], _) => MANY_THREADS_SIZES,
        (given, _) => given,
    };
    let most = if args.size.is_empty() && case.algorithm.is_slow() {
        SLOW_BYTES_MAX
    } else {
        usize::MAX
    };
    let bytes = sizes.iter().map(|size| size.0);
    bytes.filter(|bytes| *bytes <= most).collect()
}

fn sample(args: &Args) -> Duration {
    Duration::from_millis(match (args.sample_ms, args.quick) {
        (Some(ms), _) => ms,
        (None, true) => QUICK_SAMPLE_MS,
        (None, false) => SAMPLE_MS,
    })
}

const ONE_THREAD_SIZES: &[Size] = &[Size(64), Size(1 << 10), Size(16 << 10), Size(1 << 20)];
const MANY_THREADS_SIZES: &[Size] = &[
    Size(64),
    Size(1 << 10),
    Size(16 << 10),
    Size(64 << 10),
    Size(256 << 10),
    Size(1 << 20),
    Size(4 << 20),
    Size(16 << 20),
    Size(64 << 20),
];
const BURST_SIZES: &[Size] = &[Size(16 << 10), Size(64 << 10), Size(256 << 10)];
/// The longest request of a slow cipher; one of 3DES then takes 40 ms.
const SLOW_BYTES_MAX: usize = 1 << 20;

/// The number of rounds: odd, so that the median is a measured ratio.
const ROUNDS: usize = 21;
const QUICK_ROUNDS: usize = 7;
const SAMPLE_MS: u64 = 3;
const QUICK_SAMPLE_MS: u64 = 1;

const MESSAGES_BYTES: usize = 64 << 10;
const MESSAGES_MIN: usize = 2;
const MESSAGES_MAX: usize = 64;
