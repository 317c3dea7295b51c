//! The framework over cores and boards: what a request costs that does nothing, and how much of several
//! boards' sum they do together.
//!
//! Boards are simulated, and slow beside the CPU, which computes their results in passing: 150 to 300
//! MB/s each.

mod hog;
mod neighbours;

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use oarlock::device::{EngineBoard, SimulatedEngine, visible_cpu};
use oarlock::framework::{
    Buffers, ChainOrder, Check, Framework, FrameworkSession, HashAlgorithm, Iv, IvBytes, Layout,
    Place, Request, SessionSpec,
};
use oarlock::job::{CompletionQueue, Job, Order};
use oarlock::{Accelerator, Algorithm, Direction};
use oarlock_bench::Error;

use super::compared::{Compared, Quantity};
use super::setup::Setup;

/// What is measured.
#[derive(Clone, Copy)]
pub(crate) enum Device {
    /// A null request that its caller computes.
    Inline,
    /// A null request through the queue of the CPU, 64 in flight.
    Queued,
    /// Three boards together, with mixed sizes and algorithms in bursts, beside each alone.
    Together,
    /// The same boards, beside a process that is busy all the time.
    Offloaded,
    /// So many processes with a board that they share, beside one of them alone.
    Processes(usize),
    /// A board of its own and one that a neighbour has in use, beside its own and half of the other.
    BesideANeighbour,
    /// Data in segments, beside the same in one piece.
    Scattered,
}

/// By name.
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

/// By turns: each board alone, and then all.
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

/// Microseconds of a message of 16 KiB that is sealed by its caller, in segments of so many bytes and in one piece.
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

/// Three algorithms that segments make no difference to but where they end, and one that is chained.
fn specs() -> [SessionSpec<'static>; 4] {
    [
        SessionSpec::aead(Algorithm::Aes128Gcm, &[7; 16], &[9; 12]),
        SessionSpec::cipher(Algorithm::Aes256Ctr, &[7; 32], &[9; 16]),
        SessionSpec::hmac(HashAlgorithm::Sha1, &[1; 20], 20),
        SessionSpec::chained(
            ChainOrder::EncryptThenMac,
            (Algorithm::Aes128Cbc, &[7; 16], &[9; 16]),
            (HashAlgorithm::Sha1, &[1; 20], 20),
        ),
    ]
}

/// Gigabytes a second of boards, in bursts of so many requests.
fn rate(framework: &Framework, burst: usize) -> Result<f64, Error> {
    let [gcm, ctr, _, chained] = specs();
    let mut sessions = Vec::new();
    for spec in [gcm, ctr, chained] {
        sessions.push(framework.session(&spec).map_err(failed)?);
    }
    let iv = IvBytes::new(&[1; 16]).map_err(failed)?;
    let mut queue = CompletionQueue::new(Order::Completion);
    let (mut bytes, mut number) = (0, 0);
    let began = Instant::now();
    while began.elapsed() < SAMPLE {
        // A burst, and no more before half of it is done.
        while queue.len() < burst {
            let (which, size) = (number % sessions.len(), SIZES[number % SIZES.len()]);
            let request = Request::encrypt(vec![0; size + TAGS[which]]).at(Place::Device);
            let request = if which == 2 {
                request.with_iv(iv)
            } else {
                request
            };
            queue.push(sessions[which].submit(request).map_err(failed)?, size);
            number += 1;
        }
        while queue.len() > burst / 2 {
            bytes += taken(&mut queue)?;
        }
    }
    while !queue.is_empty() {
        bytes += taken(&mut queue)?;
    }
    Ok(bytes as f64 / began.elapsed().as_secs_f64() / 1e9)
}

fn taken(queue: &mut CompletionQueue<oarlock::framework::Answer, usize>) -> Result<usize, Error> {
    let (size, answer) = queue
        .next_blocking()
        .ok_or_else(|| failed("an answer is missing"))?;
    let answer = answer.map_err(failed)?;
    answer.outcome.map_err(failed)?;
    // What the CPU did is not a board's.
    let is_a_boards = !["cpu", "software"].contains(&&*answer.device);
    Ok(if is_a_boards { size } else { 0 })
}

fn boards() -> [(&'static str, EngineBoard); 3] {
    let board = |units, bytes_per_second, latency_us, per_request_us| EngineBoard {
        units,
        bytes_per_second,
        latency: Duration::from_micros(latency_us),
        per_request: Duration::from_micros(per_request_us),
        depth: 512,
        ..EngineBoard::default()
    };
    [
        ("near", board(2, 150_000_000, 50, 2)),
        ("far", board(1, 200_000_000, 200, 10)),
        ("wide", board(4, 40_000_000, 50, 1)),
    ]
}

fn framework() -> Result<Framework, Error> {
    let accelerator = Accelerator::builder().build().map_err(failed)?;
    Ok(Framework::new(&accelerator))
}

fn register(
    framework: &Framework,
    name: &str,
    board: &EngineBoard,
) -> Result<Arc<SimulatedEngine>, Error> {
    let cpu = visible_cpu().map_err(failed)?;
    let engine = Arc::new(SimulatedEngine::new(name, board.clone(), cpu).map_err(failed)?);
    let registered = framework.register(engine.clone(), Check::Sample(0));
    registered.map(|()| engine).map_err(failed)
}

fn failed(error: impl ToString) -> Error {
    Error::Failed(error.to_string())
}

/// What is compared with.
pub(crate) const ALLOWED: &str = "allowed";
pub(crate) const SUM: &str = "sum";
pub(crate) const WITHOUT: &str = "alone";
pub(crate) const CPU: &str = "undisturbed";
pub(crate) const ONE: &str = "one alone";
pub(crate) const WHOLE: &str = "one piece";
pub(crate) use hog::HOLLOW;
pub(crate) use neighbours::{NEIGHBOUR, neighbour};

const INLINE_NS: f64 = 150.0;
const QUEUED_NS: f64 = 1500.0;
const NULLS: usize = 100_000;
const NULLS_IN_FLIGHT: usize = 64;
const SAMPLE: Duration = Duration::from_millis(400);
/// Of each board.
const BURST: usize = 128;
/// Of a request, by its number; those of the third algorithm are whole blocks.
const SIZES: [usize; 7] = [64, 1408, 16384, 256, 4096, 8992, 512];
/// Of a message that is done in segments of so many bytes.
const SCATTERED_BYTES: usize = 16384;
const SEGMENTS: [usize; 5] = [64, 256, 1024, 4096, 16384];
const SCATTERED_TIMES: u32 = 300;
const TAGS: [usize; 3] = [16, 0, 20];
