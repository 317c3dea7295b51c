//! Processes that share a board, each through a queue of its own.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use oarlock::device::{EngineBoard, SimulatedEngine, visible_cpu};
use oarlock::framework::{Check, Framework};
use oarlock_measure::Error;

use super::super::compared::{Compared, Quantity};
use super::super::setup::Setup;
use super::bursts::{BURST, failed, framework, rate, register};

/// Measures a board's rate for `count` processes together, over its rate for this process alone, in turn. All queues are
/// always full.
pub(super) fn share(setup: &Setup, count: usize) -> Result<Vec<Compared>, Error> {
    let path = setup.file("board");
    let _ = std::fs::remove_file(&path);
    SimulatedEngine::create_shared(&path, &board(), count).map_err(failed)?;
    let own = shared(&path)?;
    let mut others = Vec::new();
    for _ in 1..count {
        others.push(Neighbour::start(&path)?);
    }
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for round in 0..=setup.rounds(9, 3) {
        let alone = rate(&own, BURST)?;
        let mut sum = 0.0;
        for other in &mut others {
            other.begin()?;
        }
        sum += rate(&own, BURST)?;
        for other in &mut others {
            sum += other.end()?;
        }
        // The first round warms up.
        if round > 0 {
            theirs.push(alone);
            ours.push(sum);
        }
    }
    Ok(vec![Compared::new(Quantity::Rate, ONE, ours, theirs)])
}

/// Measures this process's rate on a board of its own plus one that a neighbour keeps busy, over the rate of its own board
/// and half of the shared one's.
pub(super) fn beside_one(setup: &Setup) -> Result<Vec<Compared>, Error> {
    let path = setup.file("board");
    let _ = std::fs::remove_file(&path);
    SimulatedEngine::create_shared(&path, &board(), 2).map_err(failed)?;
    let only_shared = shared(&path)?;
    let only_own = framework()?;
    register(&only_own, "own", &board())?;
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for round in 0..=setup.rounds(9, 3) {
        let sum = rate(&only_own, BURST)? + rate(&only_shared, BURST)? / 2.0;
        // The two frameworks share one queue.
        let both = framework()?;
        register(&both, "own", &board())?;
        drop_then(&only_shared, &path, &both)?;
        rate(&both, 2 * BURST)?;
        let mut other = Neighbour::start(&path)?;
        other.begin()?;
        let got = rate(&both, 2 * BURST)?;
        other.end()?;
        drop(other);
        both.withdraw(SHARED);
        drop(both);
        let again = engine(&path)?;
        only_shared
            .register(again, Check::Sample(0))
            .map_err(failed)?;
        if round > 0 {
            theirs.push(sum);
            ours.push(got);
        }
    }
    Ok(vec![Compared::new(Quantity::Rate, NEIGHBOUR, ours, theirs)])
}

/// Passes the shared board's queue from one framework to another.
fn drop_then(from: &Framework, path: &Path, to: &Framework) -> Result<(), Error> {
    from.withdraw(SHARED);
    to.register(engine(path)?, Check::Sample(0)).map_err(failed)
}

/// Runs the process behind [`Neighbour`]: for each line of input, uses the board for a while and prints its rate.
pub(crate) fn neighbour(path: Option<&Path>, out: &mut dyn Write) -> Result<(), Error> {
    let path = path.ok_or_else(|| failed("no file"))?;
    let framework = shared(path)?;
    let say = |out: &mut dyn Write, rate: f64| writeln!(out, "{rate}").and_then(|()| out.flush());
    say(out, 0.0).map_err(Error::io("the parent"))?;
    for line in std::io::stdin().lock().lines() {
        line.map_err(Error::io("the parent"))?;
        let rate = rate(&framework, BURST)?;
        say(out, rate).map_err(Error::io("the parent"))?;
    }
    Ok(())
}

/// This program as another process, with a queue of the same board.
struct Neighbour {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Neighbour {
    fn start(path: &Path) -> Result<Self, Error> {
        let program = std::env::current_exe().map_err(failed)?;
        let mut command = Command::new(program);
        command.arg("--neighbour").arg(path);
        if let Some(mask) = oarlock_measure::cpu_class::mask_shown() {
            mask.set(&mut command);
        }
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let (Some(to), Some(from)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(failed("no pipes"));
        };
        let from = BufReader::new(from);
        let mut neighbour = Self { child, to, from };
        // The neighbour now has its queue.
        neighbour.end()?;
        Ok(neighbour)
    }

    fn begin(&mut self) -> Result<(), Error> {
        writeln!(self.to).map_err(Error::io("a neighbour"))
    }

    /// Returns the neighbour's rate in GB/s.
    fn end(&mut self) -> Result<f64, Error> {
        let mut line = String::new();
        self.from
            .read_line(&mut line)
            .map_err(Error::io("a neighbour"))?;
        line.trim().parse().map_err(failed)
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns a framework with only a queue of a shared board.
fn shared(path: &Path) -> Result<Framework, Error> {
    let framework = framework()?;
    framework
        .register(engine(path)?, Check::Sample(0))
        .map_err(failed)?;
    Ok(framework)
}

fn engine(path: &Path) -> Result<Arc<SimulatedEngine>, Error> {
    let cpu = visible_cpu().map_err(failed)?;
    let engine = SimulatedEngine::open_shared(SHARED, board(), cpu, path);
    engine.map(Arc::new).map_err(failed)
}

/// Returns a board that is slow compared with the CPU, which computes for all boards.
fn board() -> EngineBoard {
    EngineBoard {
        units: 2,
        bytes_per_second: 75_000_000,
        per_request: Duration::from_micros(4),
        depth: BURST,
        ..EngineBoard::default()
    }
}

const SHARED: &str = "shared";
pub(crate) const NEIGHBOUR: &str = "its own and half";
pub(crate) const ONE: &str = "one alone";
