//! Threads that each keep some requests in flight, and the clock.
//!
//! ```text
//! barrier      all threads begin at once
//! warm up      as many requests as are in flight are done, so that each one timed has met a full queue
//! clock        from the end of one request, or group, to the first end after the time is over
//! company      those who are through go on, uncounted, until all are: load must not fall off
//! ```
//!
//! The rate of somebody is the sum over the threads.

use std::collections::VecDeque;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use super::{PublicKey, Results};
use crate::Error;

/// A thread's requests, of which it keeps `depth` in flight.
pub(super) struct Loop {
    subject: Box<dyn PublicKey>,
    depth: usize,
    requests: usize,
    next: usize,
    /// When those in flight entered.
    entered: VecDeque<Instant>,
    pub(super) results: Results,
}

/// What one sample of a loop came to.
pub(super) struct Sample {
    pub(super) per_second: f64,
    /// From entry to result.
    pub(super) latencies: Vec<Duration>,
}

/// All samples of somebody, each of one or more loops at once.
#[derive(Default)]
pub(crate) struct Taken {
    pub(crate) per_second: Vec<f64>,
    pub(crate) latencies: Vec<Duration>,
}

impl Taken {
    pub(super) fn add(&mut self, of_loops: &[Sample]) {
        let rates = of_loops.iter().map(|sample| sample.per_second);
        self.per_second.push(rates.sum());
        for sample in of_loops {
            self.latencies.extend(&sample.latencies);
        }
    }
}

impl Loop {
    /// Begins with the request with number `first` of so many `requests`.
    pub(super) fn new(
        subject: Box<dyn PublicKey>,
        depth: usize,
        requests: usize,
        first: usize,
    ) -> Self {
        Self {
            subject,
            depth,
            requests,
            next: first % requests,
            entered: VecDeque::with_capacity(depth),
            results: Results::new(requests),
        }
    }

    /// Has every request done once, and returns the results by number.
    pub(super) fn answers(&mut self) -> Vec<Vec<u8>> {
        self.forget();
        let mut left = self.requests;
        self.fill(left.min(self.depth));
        while left > 0 {
            let done = self.finish();
            left -= done;
            self.fill(done.min(left - self.entered.len()));
        }
        self.results.slots.clone()
    }

    fn fill(&mut self, count: usize) {
        let now = Instant::now();
        for _ in 0..count {
            self.subject.submit(self.next);
            self.entered.push_back(now);
            self.next = (self.next + 1) % self.requests;
        }
    }

    /// How many were done.
    fn finish(&mut self) -> usize {
        self.subject.finish(&mut self.results);
        let count = self.results.count();
        self.entered.drain(..count);
        count
    }

    fn forget(&mut self) {
        for slot in &mut self.results.slots {
            slot.clear();
        }
    }

    fn sample(&mut self, length: Duration, gate: &Gate) -> Sample {
        self.forget();
        let mut latencies = Vec::with_capacity(LATENCIES);
        gate.barrier.wait();
        self.fill(self.depth);
        let mut warm = 0;
        while warm < self.depth {
            let done = self.finish();
            self.fill(done);
            warm += done;
        }

        let began = Instant::now();
        let (mut count, mut now) = (0, began);
        while now - began < length {
            self.subject.finish(&mut self.results);
            now = Instant::now();
            let done = self.results.count();
            for _ in 0..done {
                let entered = self.entered.pop_front().unwrap_or(now);
                latencies.push(now - entered);
                self.subject.submit(self.next);
                self.entered.push_back(now);
                self.next = (self.next + 1) % self.requests;
            }
            count += done;
        }

        // Nothing is handed over with it, so no order is asked for.
        gate.under_the_clock.fetch_sub(1, Ordering::Relaxed);
        while gate.under_the_clock.load(Ordering::Relaxed) > 0 {
            let done = self.finish();
            self.fill(done);
        }
        self.subject.abandon();
        self.entered.clear();
        Sample {
            per_second: count as f64 / (now - began).as_secs_f64(),
            latencies,
        }
    }
}

/// Where the threads of a sample meet.
struct Gate {
    barrier: Barrier,
    under_the_clock: AtomicUsize,
}

/// A sample of each of `loops`, all at once, each on a thread of its own, of about `length`.
pub(super) fn sample(loops: &mut [Loop], length: Duration) -> Result<Vec<Sample>, Error> {
    let gate = Gate {
        barrier: Barrier::new(loops.len()),
        under_the_clock: AtomicUsize::new(loops.len()),
    };
    let gate = &gate;
    std::thread::scope(|scope| {
        let threads: Vec<_> = loops
            .iter_mut()
            .map(|one| scope.spawn(move || one.sample(length, gate)))
            .collect();
        let samples = threads.into_iter().map(|thread| thread.join());
        let samples = samples.collect::<Result<_, _>>();
        samples.map_err(|_| Error::Failed("a request failed: see above".to_owned()))
    })
}

/// Binds this thread, and those that it starts, to some of its CPUs until dropped: so many threads
/// stand for so many CPUs.
pub(super) struct Bound(CpuSet);

impl Bound {
    /// To the first `count`; all, where there are no more.
    pub(super) fn to(count: usize) -> Result<Self, Error> {
        let all = sched_getaffinity(None).map_err(not_bound)?;
        let mut some = CpuSet::new();
        let cpus = (0..CpuSet::MAX_CPU).filter(|cpu| all.is_set(*cpu));
        for cpu in cpus.take(count) {
            some.set(cpu);
        }
        sched_setaffinity(None, &some).map_err(not_bound)?;
        Ok(Self(all))
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        // What it had before cannot be refused but for CPUs that have gone since.
        let _ = sched_setaffinity(None, &self.0);
    }
}

fn not_bound(error: rustix::io::Errno) -> Error {
    Error::Failed(format!("binding a thread to CPUs: {error}"))
}

/// More than most samples have; made before the clock starts.
const LATENCIES: usize = 1 << 15;
