//! The framework over cores and boards: the cost of a request that computes nothing, and the share of several boards' total
//! rate that they reach together.
//!
//! The boards are simulated. They are slow compared with the CPU, which computes their results on the side: 150 to 300 MB/s
//! each.

mod bursts;
mod hog;
mod neighbours;

use std::hint::black_box;
use std::time::Instant;

use oarlock::framework::{
    Buffers, FrameworkSession, Iv, IvBytes, Layout, Place, Request, SessionSpec,
};
use oarlock::job::Job;
use oarlock::{Algorithm, Direction};
use oarlock_measure::Error;

use self::bursts::{BURST, boards, failed, framework, rate, register, specs};
use super::compared::{Compared, Quantity};
use super::setup::Setup;

/// A measurement of the framework.
#[derive(Clone, Copy)]
pub(crate) enum Device {
    /// A null request that its caller computes.
    Inline,
    /// A null request through the queue of the CPU, 64 in flight.
    Queued,
    /// Three boards together, with mixed sizes and algorithms in bursts, compared with each alone.
    Together,
    /// The same boards while another process is always busy.
    Offloaded,
    /// This number of processes that share a board, compared with one of them alone.
    Processes(usize),
    /// A board of its own and one that a neighbour also uses, compared with the former and half of the latter.
    BesideANeighbour,
    /// Data in segments, compared with the same data in one piece.
    Scattered,
}

/// The measurements by case name.
pub(super) const CASES: [(&str, Device); 8] = [
    ("device-null-inline", Device::Inline),
    ("device-null-queued", Device::Queued),
    ("device-together", Device::Together),
    ("device-beside-a-hog", Device::Offloaded),
    ("device-two-processes", Device::Processes(2)),
    ("device-four-processes", Device::Processes(4)),
    ("device-beside-a-neighbour", Device::BesideANeighbour),
    ("device-scattered", Device::Scattered),
];

impl Device {
    pub(super) fn measure(self, setup: &Setup) -> Result<Vec<Compared>, Error> {
        let rounds = setup.rounds(15, 5);
        match self {
            Self::Inline => null(rounds, INLINE_NS, inline),
            Self::Queued => null(rounds, QUEUED_NS, queued),
            Self::Together => together(setup.rounds(9, 3)),
            Self::Offloaded => hog::offloaded(setup.rounds(9, 3)),
            Self::Processes(count) => neighbours::share(setup, count),
            Self::BesideANeighbour => neighbours::beside_one(setup),
            Self::Scattered => scattered(rounds),
        }
    }
}

fn null(
    rounds: usize,
    allowed_ns: f64,
    run: fn(&FrameworkSession) -> Result<(), Error>,
) -> Result<Vec<Compared>, Error> {
    let framework = framework()?;
    let session = framework
        .session(&SessionSpec::cipher(
            Algorithm::Aes128Ctr,
            &[7; 16],
            &[9; 16],
        ))
        .map_err(failed)?;
    run(&session)?;
    let mut ours = Vec::with_capacity(rounds);
    for _ in 0..rounds {
        let began = Instant::now();
        run(&session)?;
        ours.push(began.elapsed().as_nanos() as f64 / NULLS as f64);
    }
    let theirs = vec![allowed_ns; rounds];
    Ok(vec![Compared::new(
        Quantity::Nanoseconds,
        ALLOWED,
        ours,
        theirs,
    )])
}

fn inline(session: &FrameworkSession) -> Result<(), Error> {
    for _ in 0..NULLS {
        let done = session.run(
            Direction::Encrypt,
            Iv::Next,
            Layout::default(),
            black_box(&mut []),
        );
        done.map_err(failed)?;
    }
    Ok(())
}

fn queued(session: &FrameworkSession) -> Result<(), Error> {
    let mut jobs: std::collections::VecDeque<Job<_>> = std::collections::VecDeque::new();
    for _ in 0..NULLS {
        let request = Request::encrypt(Buffers::default()).at(Place::Queue);
        jobs.push_back(session.submit(request).map_err(failed)?);
        if jobs.len() == NULLS_IN_FLIGHT
            && let Some(job) = jobs.pop_front()
        {
            job.wait().map_err(failed)?.outcome.map_err(failed)?;
        }
    }
    for job in jobs {
        job.wait().map_err(failed)?.outcome.map_err(failed)?;
    }
    Ok(())
}

/// Measures in turn each board alone, and all together.
fn together(rounds: usize) -> Result<Vec<Compared>, Error> {
    let all = framework()?;
    let mut alone = Vec::new();
    for (name, board) in boards() {
        let one = framework()?;
        register(&one, name, &board)?;
        register(&all, name, &board)?;
        alone.push(one);
    }
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    rate(&all, BURST * alone.len())?;
    for _ in 0..rounds {
        let mut sum = 0.0;
        for one in &alone {
            sum += rate(one, BURST)?;
        }
        theirs.push(sum);
        ours.push(rate(&all, BURST * alone.len())?);
    }
    Ok(vec![Compared::new(Quantity::Rate, SUM, ours, theirs)])
}

/// Measures a 16 KiB message that its caller seals, in segments and in one piece.
fn scattered(rounds: usize) -> Result<Vec<Compared>, Error> {
    let framework = framework()?;
    let mut compared = Vec::new();
    for spec in &specs() {
        let session = framework.session(spec).map_err(failed)?;
        for segment_bytes in SEGMENTS {
            let (mut ours, mut theirs) = (Vec::new(), Vec::new());
            let segments = |segment_bytes: usize| {
                let data = vec![0; SCATTERED_BYTES + 20];
                let (text, tag) = data.split_at(SCATTERED_BYTES);
                let segments = text.chunks(segment_bytes).chain([tag]);
                Buffers::scattered(segments.map(<[u8]>::to_vec).collect())
            };
            for _ in 0..rounds {
                ours.push(sealed_ns(&session, segments(segment_bytes))?);
                theirs.push(sealed_ns(&session, vec![0; SCATTERED_BYTES + 20].into())?);
            }
            compared.push(Compared {
                bytes: segment_bytes,
                ..Compared::new(Quantity::MessageNs, WHOLE, ours, theirs)
            });
        }
    }
    Ok(compared)
}

fn sealed_ns(session: &FrameworkSession, mut buffers: Buffers) -> Result<f64, Error> {
    let iv = match session.service().cipher().map(Algorithm::kind) {
        Some(oarlock::Kind::Aead) => vec![1; 12],
        Some(_) => vec![1; 16],
        None => Vec::new(),
    };
    let iv = IvBytes::new(&iv).map_err(failed)?;
    let is_hash = session.service().cipher().is_none();
    let layout = match is_hash {
        true => Layout::packet(SCATTERED_BYTES, 0),
        false => Layout::packet(0, SCATTERED_BYTES),
    };
    let began = Instant::now();
    for _ in 0..SCATTERED_TIMES {
        let request = Request::encrypt(buffers).with_layout(layout.clone());
        let request = match is_hash {
            true => request,
            false => request.with_iv(iv),
        };
        let job = session.submit(request.at(Place::Here)).map_err(failed)?;
        let answer = job.wait().map_err(failed)?;
        answer.outcome.map_err(failed)?;
        buffers = answer.buffers;
    }
    Ok(began.elapsed().as_nanos() as f64 / f64::from(SCATTERED_TIMES))
}

/// Names of the other side.
pub(crate) const ALLOWED: &str = "allowed";
pub(crate) const SUM: &str = "sum";
pub(crate) const WHOLE: &str = "one piece";
pub(crate) use hog::{CPU, HOLLOW, WITHOUT};
pub(crate) use neighbours::{NEIGHBOUR, ONE, neighbour};

const INLINE_NS: f64 = 150.0;
const QUEUED_NS: f64 = 1500.0;
const NULLS: usize = 100_000;
const NULLS_IN_FLIGHT: usize = 64;
/// The bytes of a message that is computed in segments.
const SCATTERED_BYTES: usize = 16384;
const SEGMENTS: [usize; 5] = [64, 256, 1024, 4096, 16384];
const SCATTERED_TIMES: u32 = 300;
