//! Threads that each keep some requests in flight, and the clock.
//!
//! ```text
//! barrier      all threads begin at once
//! warm up      each completes as many requests as it has in flight, so that timed ones met a full queue
//! clock        one for all: it starts when the last thread is warm, and runs for the length of a sample
//! cool down    a thread continues until all have seen an end after that: load must not drop
//! ```
//!
//! Requests that end in a thread are spread evenly over the time since the previous end, and the part of them under the
//! clock counts. So a group of eight that ends just after the clock is not lost, and a thread that waits for a CPU
//! counts its waiting time. With a clock for each thread, started when it was running, 64 threads on 2 CPUs measured
//! twice what the CPUs can do.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Barrier, OnceLock};
use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::error::Error;
use crate::peers::{PublicKey, Results};

/// The requests of a thread, which keeps `depth` of them in flight.
pub(crate) struct Loop {
    subject: Box<dyn PublicKey>,
    depth: usize,
    requests: usize,
    next: usize,
    /// The submission times of the requests in flight.
    entered: VecDeque<Instant>,
    pub(crate) results: Results,
}

/// The result of one sample of a loop.
#[derive(Default)]
pub(crate) struct Sample {
    pub(crate) per_second: f64,
    /// The times from submission to result of the requests that ended under the clock.
    pub(crate) latencies: Vec<Duration>,
}

/// All samples of one participant, each of one or more concurrent loops.
#[derive(Default)]
pub(crate) struct LoadSamples {
    pub(crate) per_second: Vec<f64>,
    pub(crate) latencies: Vec<Duration>,
}

impl LoadSamples {
    pub(crate) fn add(&mut self, of_loops: &[Sample]) {
        let rates = of_loops.iter().map(|sample| sample.per_second);
        self.per_second.push(rates.sum());
        for sample in of_loops {
            self.latencies.extend(&sample.latencies);
        }
    }
}

impl Loop {
    /// Creates a loop that starts at request number `first` of `requests`.
    pub(crate) fn new(
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

    /// Executes every request once, and returns the results by number.
    pub(crate) fn answers(&mut self) -> Vec<Vec<u8>> {
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

    /// Waits for results, and returns how many requests ended.
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

    fn sample(&mut self, gate: &Gate) -> Sample {
        self.forget();
        let mut ends = Vec::with_capacity(ENDS);
        let mut latencies = Vec::with_capacity(ENDS);
        gate.barrier.wait();
        let _failing = Failing(gate);
        self.fill(self.depth);
        let mut warm = 0;
        while warm < self.depth {
            let done = self.finish();
            self.fill(done);
            warm += done;
        }
        ends.push((Instant::now(), 0));
        gate.one_is_warm();

        let clock = loop {
            self.subject.finish(&mut self.results);
            let now = Instant::now();
            let done = self.results.count();
            ends.push((now, done));
            for _ in 0..done {
                let entered = self.entered.pop_front().unwrap_or(now);
                latencies.push(now - entered);
                self.subject.submit(self.next);
                self.entered.push_back(now);
                self.next = (self.next + 1) % self.requests;
            }
            if let Some(clock) = gate.clock.get()
                && now >= clock.end
            {
                break clock;
            }
            if gate.has_failed.load(Ordering::Relaxed) {
                return Sample::default();
            }
        };

        // The counter publishes no other data, so no ordering is needed.
        gate.under_the_clock.fetch_sub(1, Ordering::Relaxed);
        while gate.under_the_clock.load(Ordering::Relaxed) > 0
            && !gate.has_failed.load(Ordering::Relaxed)
        {
            let done = self.finish();
            self.fill(done);
        }
        self.subject.abandon();
        self.entered.clear();
        clock.sample(&ends, latencies)
    }
}

/// The shared state of a sample's threads.
struct Gate {
    barrier: Barrier,
    cold: AtomicUsize,
    under_the_clock: AtomicUsize,
    /// Whether a thread has panicked, for which no other waits.
    has_failed: AtomicBool,
    length: Duration,
    clock: OnceLock<Clock>,
}

impl Gate {
    fn one_is_warm(&self) {
        // The last thread starts the clock, so every thread's first end is earlier.
        if self.cold.fetch_sub(1, Ordering::AcqRel) == 1 {
            let begin = Instant::now();
            let end = begin + self.length;
            self.clock.get_or_init(|| Clock { begin, end });
        }
    }
}

/// Notes in the gate that its thread panics.
struct Failing<'a>(&'a Gate);

impl Drop for Failing<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.has_failed.store(true, Ordering::Relaxed);
        }
    }
}

/// The period in which ends count.
#[derive(Clone, Copy)]
struct Clock {
    begin: Instant,
    end: Instant,
}

impl Clock {
    /// Computes a sample. `ends` has times and the number of requests that ended then, in order, the first before the
    /// clock starts and the last after its end; `latencies` has those of each of these requests.
    fn sample(self, ends: &[(Instant, usize)], latencies: Vec<Duration>) -> Sample {
        let mut count = 0.0;
        let mut under_the_clock = Vec::with_capacity(latencies.len());
        let mut latencies = latencies.into_iter();
        for pair in ends.windows(2) {
            let ((before, _), (now, done)) = (pair[0], pair[1]);
            let counted = now
                .min(self.end)
                .saturating_duration_since(before.max(self.begin));
            let part = counted.as_secs_f64() / (now - before).as_secs_f64().max(1e-9);
            count += part * done as f64;
            let of_these = latencies.by_ref().take(done);
            if part > 0.0 {
                under_the_clock.extend(of_these);
            } else {
                of_these.for_each(drop);
            }
        }
        Sample {
            per_second: count / (self.end - self.begin).as_secs_f64(),
            latencies: under_the_clock,
        }
    }
}

/// Takes a concurrent sample of each of `loops`, of about `length`, each on its own thread.
pub(crate) fn sample(loops: &mut [Loop], length: Duration) -> Result<Vec<Sample>, Error> {
    let gate = Gate {
        barrier: Barrier::new(loops.len()),
        cold: AtomicUsize::new(loops.len()),
        under_the_clock: AtomicUsize::new(loops.len()),
        has_failed: AtomicBool::new(false),
        length,
        clock: OnceLock::new(),
    };
    let gate = &gate;
    std::thread::scope(|scope| {
        let threads: Vec<_> = loops
            .iter_mut()
            .map(|one| scope.spawn(move || one.sample(gate)))
            .collect();
        let samples = threads.into_iter().map(|thread| thread.join());
        let samples = samples.collect::<Result<_, _>>();
        samples.map_err(|_| Error::Failed("a request failed: see above".to_owned()))
    })
}

/// Binds this thread, and those that it starts, to some of its CPUs until dropped, so that a number of threads means
/// the same number of CPUs.
pub(crate) struct CpuBinding(CpuSet);

impl CpuBinding {
    /// Binds to the first `count` CPUs, or to all if there are fewer.
    pub(crate) fn to(count: usize) -> Result<Self, Error> {
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

impl Drop for CpuBinding {
    fn drop(&mut self) {
        // The previous set is accepted unless its CPUs have gone offline.
        let _ = sched_setaffinity(None, &self.0);
    }
}

fn not_bound(error: rustix::io::Errno) -> Error {
    Error::Failed(format!("binding a thread to CPUs: {error}"))
}

/// The initial capacity for ends, above that of most samples; allocated before the clock starts.
const ENDS: usize = 1 << 15;

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    #[test]
    fn what_lies_across_the_edges_of_the_clock_counts_in_part() {
        let zero = Instant::now();
        let at = |ms| zero + Duration::from_millis(ms);
        let clock = Clock {
            begin: at(10),
            end: at(20),
        };
        // A half of 8, all 8, and a quarter of 8; none of those before and after.
        let ends = [
            (at(0), 0),
            (at(4), 8),
            (at(8), 8),
            (at(12), 8),
            (at(18), 8),
            (at(26), 8),
        ];
        let latencies = (0..40).map(Duration::from_millis).collect();
        let sample = clock.sample(&ends, latencies);
        assert!(
            (sample.per_second - 1400.0).abs() < 1e-6,
            "{}",
            sample.per_second
        );
        let counted: Vec<_> = (16..40).map(Duration::from_millis).collect();
        assert_eq!(sample.latencies, counted);
    }

    /// Compares latencies with the times of the calls, so that their duration does not matter. A request is in the
    /// queue at least from its submission to the end of its group, and at most from the end of the group before its
    /// submission to the call after its own group.
    #[test]
    fn depth_is_kept_and_latency_is_the_time_in_the_queue() {
        for (most, depth) in [(1, 4), (4, 4), (3, 5), (8, 2)] {
            let (mut one, events) = recorded(most, depth, None);
            let [sample] = &sample(std::slice::from_mut(&mut one), LENGTH).unwrap()[..] else {
                panic!("one loop has one sample");
            };
            let events = events.lock().unwrap();
            let (mut submitted, mut made_room) = (VecDeque::new(), None);
            let mut bounds = Vec::new();
            for (number, (at, event)) in events.iter().enumerate() {
                match event {
                    Event::Submit => submitted.push_back((*at, made_room)),
                    Event::Finish(group) => {
                        assert_eq!(submitted.len(), depth);
                        let (after, _) = events[number + 1];
                        for (entered, made_room) in submitted.drain(..group) {
                            let at_most = made_room.map(|room| after - room);
                            bounds.push((*at - entered, at_most));
                        }
                        made_room = Some(*at);
                    }
                    Event::Abandon => submitted.clear(),
                }
            }
            let group = most.min(depth);
            let counted = bounds.split_off(depth.next_multiple_of(group));
            assert_eq!(
                sample.latencies.len(),
                counted.len(),
                "all after the warm-up"
            );
            for (latency, (at_least, at_most)) in sample.latencies.iter().zip(counted) {
                assert!((at_least..=at_most.unwrap()).contains(latency));
            }
            // The first and the last group count in part.
            let count = sample.per_second * LENGTH.as_secs_f64();
            let all = sample.latencies.len() as f64;
            let parts = 2.0 * group as f64;
            assert!(
                (all - parts - 1e-6..=all + 1e-6).contains(&count),
                "{count} of {all}"
            );
        }
    }

    #[test]
    fn answers_are_each_request_once_and_a_wrong_one_is_found() {
        let right: Vec<_> = (0..16).map(|number| vec![number]).collect();
        assert_eq!(recorded(3, 5, None).0.answers(), right);
        assert_eq!(recorded(1, 64, None).0.answers(), right);
        let (mut wrong, _) = recorded(8, 8, Some(11));
        assert_ne!(wrong.answers(), right);
        sample(std::slice::from_mut(&mut wrong), LENGTH).unwrap();
        assert_eq!(wrong.results.first_wrong(&right), Some(11));
    }

    fn recorded(most: usize, depth: usize, wrong: Option<usize>) -> (Loop, Events) {
        let events = Events::default();
        let subject = Recorder {
            waiting: VecDeque::new(),
            most,
            wrong,
            events: Arc::clone(&events),
        };
        (Loop::new(Box::new(subject), depth, 16, 0), events)
    }

    /// A subject that completes up to `most` requests at once, answers with their number, and records when it was
    /// called.
    struct Recorder {
        waiting: VecDeque<usize>,
        most: usize,
        wrong: Option<usize>,
        events: Events,
    }

    type Events = Arc<Mutex<Vec<(Instant, Event)>>>;

    enum Event {
        Submit,
        /// The end of the call, with the number of its requests.
        Finish(usize),
        Abandon,
    }

    impl PublicKey for Recorder {
        fn submit(&mut self, request: usize) {
            self.note(Event::Submit);
            self.waiting.push_back(request);
        }

        fn finish(&mut self, results: &mut Results) {
            let group = self.most.min(self.waiting.len());
            for request in self.waiting.drain(..group) {
                let is_wrong = self.wrong == Some(request);
                results.done(request, 1)[0] = request as u8 ^ u8::from(is_wrong);
            }
            // Spin until the clock ticks, so that every group takes time even on a coarse clock.
            let began = Instant::now();
            while Instant::now() == began {}
            self.note(Event::Finish(group));
        }

        fn abandon(&mut self) {
            self.note(Event::Abandon);
            self.waiting.clear();
        }
    }

    impl Recorder {
        fn note(&self, event: Event) {
            self.events.lock().unwrap().push((Instant::now(), event));
        }
    }

    /// The length of a sample; however short it is, a group ends after it.
    const LENGTH: Duration = Duration::from_millis(1);
}
