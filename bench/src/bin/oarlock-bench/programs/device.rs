//! The framework over cores and boards: what a request costs that does nothing, and how much of several
//! boards' sum they do together.
//!
//! Boards are simulated, and slow beside the CPU, which computes their results in passing: 150 to 300
//! MB/s each.

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
}

/// By name.
pub(super) const CASES: [(&str, Device); 4] = [
    ("device-null-inline", Device::Inline),
    ("device-null-queued", Device::Queued),
    ("device-together", Device::Together),
    ("device-beside-a-hog", Device::Offloaded),
];

impl Device {
    pub(super) fn measure(self, setup: &Setup) -> Result<Vec<Compared>, Error> {
        let rounds = setup.rounds(15, 5);
        match self {
            Self::Inline => null(rounds, INLINE_NS, inline),
            Self::Queued => null(rounds, QUEUED_NS, queued),
            Self::Together => together(setup.rounds(9, 3)),
            Self::Offloaded => offloaded(setup.rounds(9, 3)),
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

/// Offloaded work beside a busy process, over what it is without; and what that process gets of a CPU, over
/// what it gets with nothing beside.
fn offloaded(rounds: usize) -> Result<Vec<Compared>, Error> {
    let all = framework()?;
    for (name, board) in boards() {
        register(&all, name, &board)?;
    }
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let (mut shares, mut whole) = (Vec::new(), Vec::new());
    let long = || -> Result<f64, Error> {
        // The kernel counts CPU time in hundredths of a second.
        let mut sum = 0.0;
        for _ in 0..LONG {
            sum += rate(&all, 3 * BURST)?;
        }
        Ok(sum / f64::from(LONG))
    };
    rate(&all, 3 * BURST)?;
    for _ in 0..rounds {
        theirs.push(long()?);
        let hog = Hog::start()?;
        whole.push(hog.share_while(|| {
            std::thread::sleep(LONG * SAMPLE);
            Ok(())
        })?);
        shares.push(hog.share_while(|| {
            ours.push(long()?);
            Ok(())
        })?);
    }
    let kept = Compared::new(Quantity::CpuShare, CPU, shares, whole);
    Ok(vec![
        Compared::new(Quantity::Rate, WITHOUT, ours, theirs),
        kept,
    ])
}

/// A process that does nothing but count.
struct Hog(std::process::Child);

impl Hog {
    fn start() -> Result<Self, Error> {
        let mut hog = std::process::Command::new("sh");
        let hog = hog.args(["-c", "while :; do :; done"]).spawn();
        hog.map(Self).map_err(failed)
    }

    /// What it gets of a CPU meanwhile.
    fn share_while(&self, work: impl FnOnce() -> Result<(), Error>) -> Result<f64, Error> {
        let before = self.cpu_seconds();
        let began = Instant::now();
        work()?;
        Ok((self.cpu_seconds() - before) / began.elapsed().as_secs_f64())
    }

    fn cpu_seconds(&self) -> f64 {
        let stat =
            std::fs::read_to_string(format!("/proc/{}/stat", self.0.id())).unwrap_or_default();
        // utime, behind the name in brackets (proc(5)), in hundredths of a second.
        let rest = stat.rsplit(')').next();
        let ticks = rest.and_then(|rest| rest.split(' ').nth(12)?.parse::<f64>().ok());
        ticks.unwrap_or_default() / 100.0
    }
}

impl Drop for Hog {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Gigabytes a second, in bursts of so many requests.
fn rate(framework: &Framework, burst: usize) -> Result<f64, Error> {
    let specs = [
        SessionSpec::aead(Algorithm::Aes128Gcm, &[7; 16], &[9; 12]),
        SessionSpec::cipher(Algorithm::Aes256Ctr, &[7; 32], &[9; 16]),
        SessionSpec::chained(
            ChainOrder::EncryptThenMac,
            (Algorithm::Aes128Cbc, &[7; 16], &[9; 16]),
            (HashAlgorithm::Sha1, &[1; 20], 20),
        ),
    ];
    let mut sessions = Vec::new();
    for spec in &specs {
        sessions.push(framework.session(spec).map_err(failed)?);
    }
    let iv = IvBytes::new(&[1; 16]).map_err(failed)?;
    let mut queue = CompletionQueue::new(Order::Completion);
    let (mut bytes, mut number) = (0, 0);
    let began = Instant::now();
    while began.elapsed() < SAMPLE {
        // A burst, and no more before half of it is done.
        while queue.len() < burst {
            let (which, size) = (number % specs.len(), SIZES[number % SIZES.len()]);
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
    answer.map_err(failed)?.outcome.map_err(failed)?;
    Ok(size)
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

fn register(framework: &Framework, name: &str, board: &EngineBoard) -> Result<(), Error> {
    let cpu = visible_cpu().map_err(failed)?;
    let engine = SimulatedEngine::new(name, board.clone(), cpu).map_err(failed)?;
    framework
        .register(Arc::new(engine), Check::Sample(0))
        .map_err(failed)
}

fn failed(error: impl ToString) -> Error {
    Error::Failed(error.to_string())
}

/// What is compared with.
pub(crate) const ALLOWED: &str = "allowed";
pub(crate) const SUM: &str = "sum";
pub(crate) const WITHOUT: &str = "alone";
pub(crate) const CPU: &str = "undisturbed";

const INLINE_NS: f64 = 150.0;
const QUEUED_NS: f64 = 1500.0;
const NULLS: usize = 100_000;
const NULLS_IN_FLIGHT: usize = 64;
const SAMPLE: Duration = Duration::from_millis(400);
const LONG: u32 = 3;
/// Of each board.
const BURST: usize = 128;
/// Of a request, by its number; those of the third algorithm are whole blocks.
const SIZES: [usize; 7] = [64, 1408, 16384, 256, 4096, 8992, 512];
const TAGS: [usize; 3] = [16, 0, 20];
