//! Offloaded work while another process is always busy: what each loses, and why.

use std::fs;
use std::sync::Arc;
use std::time::Instant;

use oarlock::device::{EngineBoard, SimulatedEngine};
use oarlock::framework::Framework;
use oarlock_measure::Error;

use super::super::compared::{Compared, Quantity};
use super::bursts::{BURST, SAMPLE, boards, failed, framework, rate, register};

/// Measures the rate of offloaded work next to a busy process over its rate alone, and that process's share of a CPU over
/// its share when undisturbed. It uses boards whose results the CPU computes, and boards that compute nothing, as real ones
/// leave the CPU idle. Also reports where the CPU time went.
pub(super) fn offloaded(rounds: usize) -> Result<Vec<Compared>, Error> {
    let computing = Side::new(true)?;
    let hollow = Side::new(false)?;
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let (mut whole, mut shares, mut hollow_shares) = (Vec::new(), Vec::new(), Vec::new());
    let (mut submitting, mut watching, mut results, mut lost) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    computing.work()?;
    hollow.work()?;
    for _ in 0..rounds {
        theirs.push(computing.work()?);
        let hog = Hog::start()?;
        let undisturbed = hog.share_while(|| {
            std::thread::sleep(LONG * SAMPLE);
            Ok(())
        })?;
        let before = (Threads::now(), computing.results(), Instant::now());
        let share = hog.share_while(|| {
            ours.push(computing.work()?);
            Ok(())
        })?;
        let (after, took) = (Threads::now(), before.2.elapsed().as_secs_f64());
        submitting.push((after.this - before.0.this) / took);
        watching.push((after.others - before.0.others) / took);
        results.push((computing.results() - before.1) / took);
        lost.push(undisturbed - share);
        hollow_shares.push(hog.share_while(|| hollow.work().map(drop))?);
        shares.push(share);
        whole.push(undisturbed);
    }
    let spent = |vs, spent| Compared::new(Quantity::CpuSpent, vs, spent, lost.clone());
    Ok(vec![
        Compared::new(Quantity::Rate, WITHOUT, ours, theirs),
        Compared::new(Quantity::CpuShare, CPU, shares, whole.clone()),
        Compared::new(Quantity::CpuShare, HOLLOW, hollow_shares, whole),
        spent("the hog's loss: the thread that submits", submitting),
        spent("the hog's loss: other threads", watching),
        spent("the hog's loss: results, in either", results),
    ])
}

/// Boards of one kind.
struct Side {
    framework: Framework,
    engines: Vec<Arc<SimulatedEngine>>,
}

impl Side {
    fn new(computes: bool) -> Result<Self, Error> {
        let framework = framework()?;
        let mut engines = Vec::new();
        for (name, board) in boards() {
            let board = EngineBoard { computes, ..board };
            engines.push(register(&framework, name, &board)?);
        }
        Ok(Self { framework, engines })
    }

    /// Works for several samples and returns GB/s.
    fn work(&self) -> Result<f64, Error> {
        let mut sum = 0.0;
        for _ in 0..LONG {
            sum += rate(&self.framework, 3 * BURST)?;
        }
        Ok(sum / f64::from(LONG))
    }

    /// Returns the CPU seconds spent on results so far.
    fn results(&self) -> f64 {
        let engines = self.engines.iter();
        engines.map(|engine| engine.computing().as_secs_f64()).sum()
    }
}

/// CPU seconds of this process's threads so far.
struct Threads {
    this: f64,
    others: f64,
}

impl Threads {
    fn now() -> Self {
        let this = cpu_seconds("/proc/thread-self");
        let tasks = fs::read_dir("/proc/self/task").into_iter().flatten();
        let paths = tasks.flatten().map(|task| task.path());
        let all: f64 = paths.map(|path| cpu_seconds(&path.to_string_lossy())).sum();
        Self {
            this,
            others: all - this,
        }
    }
}

/// Returns the CPU time of a thread, or of a process's first thread (sched-stats.rst: nanoseconds on a CPU are the first
/// field).
fn cpu_seconds(path: &str) -> f64 {
    let stat = fs::read_to_string(format!("{path}/schedstat")).unwrap_or_default();
    let ns = stat.split(' ').next().and_then(|ns| ns.parse::<f64>().ok());
    ns.unwrap_or_default() / 1e9
}

/// A process that only counts.
struct Hog(std::process::Child);

impl Hog {
    fn start() -> Result<Self, Error> {
        let mut hog = std::process::Command::new("sh");
        let hog = hog.args(["-c", "while :; do :; done"]).spawn();
        hog.map(Self).map_err(failed)
    }

    /// Returns the process's share of a CPU during `work`.
    fn share_while(&self, work: impl FnOnce() -> Result<(), Error>) -> Result<f64, Error> {
        let path = format!("/proc/{}", self.0.id());
        let before = cpu_seconds(&path);
        let began = Instant::now();
        work()?;
        Ok((cpu_seconds(&path) - before) / began.elapsed().as_secs_f64())
    }
}

impl Drop for Hog {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The busy process's share of a CPU next to boards that compute nothing, compared with its share when undisturbed.
pub(crate) const HOLLOW: &str = "undisturbed, boards of no CPU time";
const LONG: u32 = 3;
pub(crate) const WITHOUT: &str = "alone";
pub(crate) const CPU: &str = "undisturbed";
