//! Public-key requests in a queue: which are computed together, and by which backend.

use std::sync::Arc;
use std::time::Duration;

use oarlock_kernels::cpu::Cpu;
use oarlock_kernels::modexp::LANES;

use crate::costs::published::{Other, Shown};
use crate::costs::stats::PublicKeyStats;
use crate::device::complete;
use crate::device::held::device_of;
use crate::device::lanes::Lanes;
use crate::work::algorithm::Direction;
use crate::work::keys::request::KeyRequest;
use crate::work::request::{Buffer, PublicKeyRequest};
use crate::work::shape::BatchKey;
use oarlock_threads::job::{Batcher, Job, JobOptions, Outcome, Queue, QueueFull, Slot};
use oarlock_threads::page::Gauge;
use oarlock_threads::pool::Background;
use oarlock_threads::process;

/// Computes the jobs of the queue: in lanes, alone by aws-lc, or on the device that holds the key.
pub(crate) struct Batches(Lanes);

/// A job.
pub(crate) enum Work {
    /// A modular exponentiation, which can be batched with others of its class.
    Power(PublicKeyRequest),
    /// Any other operation of a key.
    Key(KeyRequest),
}

impl From<PublicKeyRequest> for Work {
    fn from(request: PublicKeyRequest) -> Self {
        Self::Power(request)
    }
}

impl From<KeyRequest> for Work {
    fn from(request: KeyRequest) -> Self {
        Self::Key(request)
    }
}

impl Batcher for Batches {
    type Work = Work;
    type Output = Buffer;

    const CLASSES: usize = BatchKey::COUNT;
    const BATCH_MAX: usize = LANES;

    fn class(&self, work: &Work) -> usize {
        let key = match work {
            Work::Power(request) => request.target().batch_key(),
            Work::Key(request) => request.batch_key(),
        };
        key.number()
    }

    fn batch_size(&self, class: usize, waiting: usize) -> usize {
        match BatchKey::numbered(class) {
            BatchKey::HELD => waiting.clamp(1, HELD_MAX),
            key => self.0.batch_size(key, waiting),
        }
    }

    fn full_batch(&self, class: usize) -> usize {
        match BatchKey::numbered(class) {
            BatchKey::HELD => HELD_MAX,
            key => self.0.full_batch(key),
        }
    }

    fn waiting(&self, before: usize, now: usize) {
        let more = now as i64 - before as i64;
        self.0.shown().add(Gauge::Waiting, more);
    }

    fn cost(&self, class: usize) -> Duration {
        self.0.cost(BatchKey::numbered(class))
    }

    fn run(&self, class: usize, works: Vec<Work>, answer: &mut dyn FnMut(usize, Outcome<Buffer>)) {
        let mut requests = Vec::with_capacity(works.len());
        let key = BatchKey::numbered(class);
        for (place, work) in works.into_iter().enumerate() {
            match work {
                Work::Power(request) => match request.made() {
                    Ok(request) => requests.push((place, request)),
                    Err(error) => answer(place, Err(error)),
                },
                Work::Key(request) => {
                    let what = match request.is_private() {
                        true => Other::PrivateKey,
                        false => Other::PublicKey,
                    };
                    answer(place, self.0.alone_as(what, key, || request.run()));
                }
            }
        }
        if requests.is_empty() {
            return;
        }
        match key {
            BatchKey::HELD => {
                let count = requests.len() as u64;
                let shown = self.0.shown();
                shown.count_other(Other::PrivateKey, Direction::Encrypt, count, 0);
                by_holders(requests, answer);
            }
            key => {
                let batch: Vec<_> = requests.iter().map(|(_, request)| request).collect();
                self.0.run(key, &batch, &mut |at, power| {
                    let (place, request) = &requests[at];
                    answer(*place, power.and_then(|power| request.finish(power)));
                });
            }
        }
    }
}

/// Passes requests to the devices that hold their keys, all requests of one device in one call.
fn by_holders(
    mut requests: Vec<(usize, PublicKeyRequest)>,
    answer: &mut dyn FnMut(usize, Outcome<Buffer>),
) {
    while let Some(device) = requests.first().and_then(|(_, first)| device_of(first)) {
        let device = Arc::clone(device);
        let is_there = |(_, request): &(usize, PublicKeyRequest)| {
            device_of(request).is_some_and(|other| Arc::ptr_eq(other, &device))
        };
        let (batch, others): (Vec<_>, Vec<_>) = requests.into_iter().partition(is_there);
        let requests_there: Vec<_> = batch.iter().map(|(_, request)| request).collect();
        complete(&*device, &requests_there, &mut |at, result| {
            answer(batch[at].0, result)
        });
        requests = others;
    }
}

/// The queue of an accelerator's public-key requests. When it is dropped, they are cancelled.
pub(crate) struct Jobs(Arc<Queue<Batches>>);

impl Jobs {
    /// Makes a queue of at most `jobs_max` jobs, for callers that compute on `cpus()` CPUs at once.
    pub(crate) fn new(cpu: Cpu, jobs_max: usize, cpus: fn() -> usize) -> Self {
        let batches = Batches(Lanes::new(cpu));
        Self(Arc::new(Queue::new(batches, jobs_max, cpus)))
    }

    /// Publishes counts as `shown`. Call this before there are jobs.
    pub(crate) fn show(&mut self, shown: Shown) {
        if let Some(queue) = Arc::get_mut(&mut self.0) {
            queue.batcher.0.show(shown);
        }
    }

    /// Returns the name of the backend that computes batches, and its number of lanes.
    pub(crate) fn lanes(&self) -> Option<(&'static str, usize)> {
        self.0.batcher.0.names()
    }

    /// Returns the batch size for `waiting` queued requests, at least 1.
    pub(crate) fn best_batch(&self, key: BatchKey, waiting: usize) -> usize {
        match waiting {
            0 | 1 => 1,
            waiting => self.0.batcher.batch_size(key.number(), waiting),
        }
    }

    /// Computes requests of one batch key on this thread, and returns their results in order.
    pub(crate) fn together(
        &self,
        key: BatchKey,
        requests: Vec<Outcome<PublicKeyRequest>>,
    ) -> Vec<Outcome<Buffer>> {
        let lanes = &self.0.batcher.0;
        let mut outcomes: Vec<Option<Outcome<Buffer>>> = Vec::new();
        let mut waiting = Vec::with_capacity(requests.len());
        for request in requests {
            outcomes.push(request.map_or_else(
                |error| Some(Err(error)),
                |request| {
                    waiting.push((outcomes.len(), request));
                    None
                },
            ));
        }
        let mut rest = &waiting[..];
        while !rest.is_empty() {
            let (batch, after) = rest.split_at(self.best_batch(key, rest.len()).min(rest.len()));
            rest = after;
            let requests: Vec<_> = batch.iter().map(|(_, request)| request).collect();
            lanes.run(key, &requests, &mut |at, power| {
                let (place, request) = &batch[at];
                outcomes[*place] = Some(power.and_then(|power| request.finish(power)));
            });
        }
        let cancelled = || Err(crate::Error::Cancelled);
        outcomes
            .into_iter()
            .map(|outcome| outcome.unwrap_or_else(cancelled))
            .collect()
    }

    /// Returns the counts of requests so far.
    pub(crate) fn stats(&self) -> PublicKeyStats {
        PublicKeyStats {
            waiting: self.0.waiting(),
            ..self.0.batcher.0.stats()
        }
    }

    /// Puts the request that `make` builds from `buffers` into the queue, unless the queue is full.
    pub(crate) fn submit<R, W: Into<Work>, T: 'static>(
        &self,
        buffers: R,
        make: impl FnOnce(R) -> W,
        options: JobOptions,
        convert: fn(Buffer) -> T,
    ) -> Result<Job<T>, QueueFull<R>> {
        match Slot::reserve(&self.0) {
            Some(slot) => Ok(slot.enter(make(buffers).into(), options, convert)),
            None => {
                self.0.batcher.0.shown().add(Gauge::Refused, 1);
                Err(QueueFull(buffers))
            }
        }
    }

    /// Returns the work for another pool thread, if one is needed and fewer than `servers_max` serve the queue.
    pub(crate) fn enlist(&self, servers_max: usize, for_call: bool) -> Option<Arc<dyn Background>> {
        let is_needed = self.0.enlist(servers_max, for_call);
        is_needed.then(|| Arc::clone(&self.0) as Arc<dyn Background>)
    }

    /// Computes a request whose caller waits. It runs `alone` if a CPU is free, so that no other caller waits, or if
    /// there are no lanes to batch it in. Otherwise it queues the request that `make` makes, to be computed together
    /// with others; `serve` may wake pool threads for them.
    pub(crate) fn call(
        &self,
        key: BatchKey,
        alone: impl FnOnce() -> Outcome<Buffer>,
        make: impl FnOnce() -> Outcome<PublicKeyRequest>,
        serve: impl FnOnce(),
    ) -> Outcome<Buffer> {
        if !self.0.batcher.0.are_there() {
            return alone();
        }
        if let Some(_permit) = self.0.permit() {
            return self.call_alone(key, alone, make);
        }
        let request = make()?;
        if !self.0.reserve() {
            return alone();
        }
        let job = self.0.enter(request.into(), JobOptions::default(), true);
        serve();
        if !self.0.is_served() {
            // Threads that the last batch's results woke queue their requests too before one of them leads the next
            // batch. A sandbox may kill a process that yields.
            if !process::is_sandboxed_by_now() {
                std::thread::yield_now();
            }
        }
        self.0.wait(&job)
    }

    /// Computes a request as [`call`](Self::call) does, but on this thread and without the queue. Where lanes are
    /// faster even for one request, it computes the request that `make` makes; otherwise it runs `alone`.
    pub(crate) fn call_alone(
        &self,
        key: BatchKey,
        alone: impl FnOnce() -> Outcome<Buffer>,
        make: impl FnOnce() -> Outcome<PublicKeyRequest>,
    ) -> Outcome<Buffer> {
        let lanes = &self.0.batcher.0;
        if !lanes.pays(key, 1) {
            return lanes.alone(key, alone);
        }
        let mut result = Err(crate::Error::Cancelled);
        lanes.run_where(true, key, &[&make()?], &mut |_, power| result = power);
        result
    }

    /// Computes one request in lanes on this thread, even where that is slower.
    pub(crate) fn in_lanes(&self, key: BatchKey, request: &PublicKeyRequest) -> Outcome<Buffer> {
        let mut result = Err(crate::Error::Cancelled);
        let lanes = &self.0.batcher.0;
        lanes.run_where(true, key, &[request], &mut |_, power| result = power);
        result.and_then(|power| request.finish(power))
    }
}

impl Drop for Jobs {
    fn drop(&mut self) {
        self.0.cancel_all();
    }
}

/// The most requests that one call passes to a device that holds keys.
const HELD_MAX: usize = 64;
