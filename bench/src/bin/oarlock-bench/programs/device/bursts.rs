//! Boards, and bursts of requests for them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use oarlock::device::{EngineBoard, SimulatedEngine, visible_cpu};
use oarlock::framework::{
    ChainOrder, Check, Framework, HashAlgorithm, IvBytes, Place, Request, SessionSpec,
};
use oarlock::job::{CompletionQueue, Order};
use oarlock::{Accelerator, Algorithm};
use oarlock_measure::Error;

/// Returns three algorithms that are indifferent to where segments end, and one that is chained.
pub(super) fn specs() -> [SessionSpec<'static>; 4] {
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

/// Returns the boards' GB/s in bursts of `burst` requests.
pub(super) fn rate(framework: &Framework, burst: usize) -> Result<f64, Error> {
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
        // Fills the queue to a burst; half of it is done before the next requests.
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

pub(super) fn taken(
    queue: &mut CompletionQueue<oarlock::framework::Answer, usize>,
) -> Result<usize, Error> {
    let (size, answer) = queue
        .next_blocking()
        .ok_or_else(|| failed("an answer is missing"))?;
    let answer = answer.map_err(failed)?;
    answer.outcome.map_err(failed)?;
    // Results of the CPU do not count.
    let is_a_boards = !["cpu", "software"].contains(&&*answer.device);
    Ok(if is_a_boards { size } else { 0 })
}

pub(super) fn boards() -> [(&'static str, EngineBoard); 3] {
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

pub(super) fn framework() -> Result<Framework, Error> {
    let accelerator = Accelerator::builder().build().map_err(failed)?;
    Ok(Framework::new(&accelerator))
}

pub(super) fn register(
    framework: &Framework,
    name: &str,
    board: &EngineBoard,
) -> Result<Arc<SimulatedEngine>, Error> {
    let cpu = visible_cpu().map_err(failed)?;
    let engine = Arc::new(SimulatedEngine::new(name, board.clone(), cpu).map_err(failed)?);
    let registered = framework.register(engine.clone(), Check::Sample(0));
    registered.map(|()| engine).map_err(failed)
}

pub(super) fn failed(error: impl ToString) -> Error {
    Error::Failed(error.to_string())
}

pub(super) const SAMPLE: Duration = Duration::from_millis(400);
/// Requests in a burst for each board.
pub(super) const BURST: usize = 128;
/// Bytes of a request, by its number; those of the third algorithm are whole blocks.
pub(super) const SIZES: [usize; 7] = [64, 1408, 16384, 256, 4096, 8992, 512];
pub(super) const TAGS: [usize; 3] = [16, 0, 20];
