//! The queue of requests for the CPU. Pool threads and threads that wait for a request empty it: each takes the oldest
//! request and any behind it that lanes can compute together with it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use zeroize::Zeroizing;

use super::core::Core;
use super::parcel::{Content, Flight, Parcel};
use super::rates::Rates;
use crate::Error;
use crate::device::compute::{Item, run_group};
use crate::device::{CpuDevice, complete};
use crate::plan::engine::Engine;
use crate::work::algorithm::Direction;
use crate::work::operation::Service;
use oarlock_threads::caught::caught;
use oarlock_threads::once::wake;
use oarlock_threads::pool::Background;
use oarlock_threads::wiped::Wiped;

pub(super) struct Local {
    backlog: Mutex<Backlog>,
    server: Arc<Server>,
    rates: Rates,
    lanes: std::sync::OnceLock<CpuDevice>,
    /// Receives finished requests.
    core: Weak<Core>,
}

#[derive(Default)]
struct Backlog {
    entries: VecDeque<Entry>,
    pending: Duration,
    /// The number of entries at which cancelled ones are removed.
    swept_at: usize,
    /// Pool threads that have come or were asked to come.
    servers: usize,
}

pub(super) struct Entry {
    pub(super) flight: Arc<Flight>,
    pub(super) attempt: u32,
    /// Entries of the same class can be computed together; `None` for no grouping.
    pub(super) class: Option<(Service, Direction)>,
    pub(super) cost: Duration,
}

/// The task of a pool thread: empty the queue.
struct Server(Weak<Core>);

impl Local {
    pub(super) fn new(core: Weak<Core>) -> Self {
        Self {
            backlog: Mutex::default(),
            server: Arc::new(Server(Weak::clone(&core))),
            rates: Rates::new(),
            lanes: std::sync::OnceLock::new(),
            core,
        }
    }

    /// Returns the time that a request takes alone on one thread.
    pub(super) fn cost(&self, parcel: &Parcel) -> Duration {
        match &parcel.what {
            Content::Data { session, step, .. } => {
                let layout = &step.layout;
                let bytes = layout.authenticated.len() + layout.encrypted.len();
                let offer = &session.local_offer;
                // A time of zero keeps all measurements: no other user slows the CPU's rates in a way to forget.
                let what = (session.material.service(), bytes);
                self.rates.expected(Duration::ZERO, what, offer).alone
            }
            Content::PublicKey(request) => {
                let alone_us = request
                    .shape()
                    .batch_key()
                    .map_or(1000, |key| key.alone_us());
                Duration::from_micros(alone_us.into())
            }
        }
    }

    /// Returns the time until one more request of `cost` would finish.
    pub(super) fn completion(&self, engine: &Engine, cost: Duration) -> Duration {
        let threads = engine.threads_busy_max();
        let pending = self.locked().pending;
        if threads == 0 {
            return pending + cost;
        }
        let costs = engine.machine.get();
        let way = if engine.helpers_awake() > 0 || !pending.is_zero() {
            costs.handoff_ns
        } else {
            costs.wake_ns
        };
        pending / threads as u32 + cost + Duration::from_nanos(way as u64)
    }

    pub(super) fn push(&self, engine: &Engine, entry: Entry) {
        let servers_max = engine.threads_busy_max();
        let is_needed = {
            let mut backlog = self.locked();
            if backlog.entries.len() >= backlog.swept_at.max(SWEEP_MIN) {
                backlog.sweep();
            }
            backlog.pending += entry.cost;
            backlog.entries.push_back(entry);
            let is_needed = backlog.servers < servers_max
                && (backlog.servers == 0 || backlog.pending > SERVER_LOAD * backlog.servers as u32);
            backlog.servers += usize::from(is_needed);
            is_needed
        };
        if is_needed {
            engine
                .pool()
                .in_jobs(Arc::clone(&self.server) as Arc<dyn Background>);
        }
    }

    /// Whether a pool thread will see everything that waits.
    pub(super) fn is_served(&self) -> bool {
        self.locked().servers > 0
    }

    /// Computes a group on the calling thread. Returns whether there was one.
    pub(super) fn help(&self) -> bool {
        let group = self.locked().take();
        if group.is_empty() {
            return false;
        }
        self.run(group);
        true
    }

    /// Removes and returns all entries, when the framework closes.
    pub(super) fn drain(&self) -> Vec<Entry> {
        let mut backlog = self.locked();
        backlog.pending = Duration::ZERO;
        std::mem::take(&mut backlog.entries).into()
    }

    fn run(&self, group: Vec<Entry>) {
        let Some(core) = self.core.upgrade() else {
            return;
        };
        let mut parcels = Vec::with_capacity(group.len());
        for entry in group {
            // The request may have been cancelled.
            if let Some(parcel) = entry.flight.slot.claim(entry.attempt) {
                parcels.push((entry.flight, parcel));
            }
        }
        if let [(flight, _)] = &parcels[..] {
            let flight = Arc::clone(flight);
            if let Some((_, mut parcel)) = parcels.pop() {
                let outcome = self.compute(&mut parcel);
                core.done(&flight, parcel, outcome);
            }
            return;
        }
        let mut gathered: Vec<Option<Wiped>> = Vec::with_capacity(parcels.len());
        let mut outcomes: Vec<Option<Result<(), Error>>> = parcels.iter().map(|_| None).collect();
        let mut items = Vec::with_capacity(parcels.len());
        for (_, parcel) in &mut parcels {
            gathered.push(match &mut parcel.what {
                Content::Data { buffers, .. } => match buffers.only() {
                    Some(_) => None,
                    None => {
                        let mut data = Wiped::zeros(buffers.len());
                        buffers.gather(&mut data);
                        Some(data)
                    }
                },
                Content::PublicKey(_) => None,
            });
        }
        for ((_, parcel), gathered) in parcels.iter_mut().zip(&mut gathered) {
            // Groups contain only data.
            if let Content::Data {
                session,
                step,
                buffers,
            } = &mut parcel.what
            {
                let data = match gathered {
                    Some(data) => &mut **data,
                    None => buffers.only().unwrap_or_default(),
                };
                items.push(Item {
                    keys: &session.keys,
                    step,
                    data,
                });
            }
        }
        let answered = caught(|| {
            #[cfg(test)]
            tests::panic_if_asked();
            run_group(&mut items, &mut |place, outcome| {
                outcomes[place] = Some(outcome)
            });
        });
        drop(items);
        for (((flight, mut parcel), gathered), outcome) in
            parcels.into_iter().zip(gathered).zip(outcomes)
        {
            let outcome = outcome.unwrap_or_else(|| {
                debug_assert!(answered.is_none(), "a group leaves no request out");
                Err(panicked(&parcel))
            });
            if let (Content::Data { buffers, .. }, Some(data), Ok(())) =
                (&mut parcel.what, gathered, &outcome)
            {
                buffers.scatter(&data);
            }
            core.done(&flight, parcel, outcome.map(|()| Zeroizing::default()));
        }
    }

    /// Computes one request on this thread. Returns the power for a public-key request. A panic is an error, since a claimed
    /// request must be answered.
    pub(super) fn compute(&self, parcel: &mut Parcel) -> Result<Zeroizing<Vec<u8>>, Error> {
        caught(|| self.compute_unguarded(parcel)).unwrap_or_else(|| Err(panicked(parcel)))
    }

    fn compute_unguarded(&self, parcel: &mut Parcel) -> Result<Zeroizing<Vec<u8>>, Error> {
        let (session, step, buffers) = match &mut parcel.what {
            Content::PublicKey(request) => {
                let cpu = oarlock_kernels::cpu::Cpu::detect();
                let device = self.lanes.get_or_init(|| CpuDevice::new(cpu));
                let mut power = Err(Error::Cancelled);
                complete(device, &[&**request], &mut |_, result| power = result);
                return power;
            }
            Content::Data {
                session,
                step,
                buffers,
            } => (session, step, buffers),
        };
        #[cfg(test)]
        tests::panic_if_asked();
        let bytes = step.layout.authenticated.len() + step.layout.encrypted.len();
        let began = (bytes >= TIMED_BYTES_MIN).then(Instant::now);
        match buffers.only() {
            Some(data) => session.keys.run(step, data)?,
            None => {
                if !session.keys.run_scattered(step, buffers)? {
                    let mut data = Wiped::zeros(buffers.len());
                    buffers.gather(&mut data);
                    session.keys.run(step, &mut data)?;
                    buffers.scatter(&data);
                }
            }
        }
        if let Some(began) = began {
            let service = session.material.service();
            self.rates
                .learn_alone(Duration::ZERO, (service, bytes), began.elapsed());
        }
        Ok(Zeroizing::default())
    }

    fn locked(&self) -> MutexGuard<'_, Backlog> {
        self.backlog.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn panicked(parcel: &Parcel) -> Error {
    Error::DeviceFailed {
        device: parcel.local_device().to_string(),
        reason: "it panicked, which is a bug of Oarlock".into(),
    }
}

impl Backlog {
    /// Removes entries whose requests were cancelled. Requests in flight are bounded, so the rest is bounded too.
    fn sweep(&mut self) {
        self.entries
            .retain(|entry| entry.flight.slot.is_running(entry.attempt));
        self.pending = self.entries.iter().map(|entry| entry.cost).sum();
        self.swept_at = 2 * self.entries.len();
    }

    /// Takes the oldest entry and others of its class.
    fn take(&mut self) -> Vec<Entry> {
        let Some(first) = self.entries.pop_front() else {
            return Vec::new();
        };
        let class = first.class;
        self.pending = self.pending.saturating_sub(first.cost);
        let mut group = vec![first];
        if class.is_none() {
            return group;
        }
        let mut at = 0;
        while at < self.entries.len().min(LOOK_MAX) && group.len() < GROUP_MAX {
            if self.entries[at].class == class {
                if let Some(entry) = self.entries.remove(at) {
                    self.pending = self.pending.saturating_sub(entry.cost);
                    group.push(entry);
                }
            } else {
                at += 1;
            }
        }
        group
    }
}

impl Background for Server {
    fn work(&self, goes_on: &mut dyn FnMut() -> bool) -> bool {
        let Some(core) = self.0.upgrade() else {
            return false;
        };
        let local = &core.local;
        loop {
            let group = {
                let mut backlog = local.locked();
                let group = backlog.take();
                if group.is_empty() {
                    backlog.servers = backlog.servers.saturating_sub(1);
                    return false;
                }
                group
            };
            local.run(group);
            if !goes_on() {
                return true;
            }
        }
    }

    fn refused(&self) {
        let Some(core) = self.0.upgrade() else {
            return;
        };
        let wakers: Vec<_> = {
            let mut backlog = core.local.locked();
            backlog.servers = backlog.servers.saturating_sub(1);
            let entries = backlog.entries.iter();
            entries
                .filter_map(|entry| entry.flight.slot.rouse())
                .collect()
        };
        // If no other thread comes, the threads that wait for these requests compute them.
        wakers.into_iter().for_each(wake);
    }
}

/// Wake one more pool thread if each of those coming has more than this to do.
const SERVER_LOAD: Duration = Duration::from_micros(60);
/// Twice the lanes of a kernel, so that they stay full while lengths differ.
const GROUP_MAX: usize = 32;
/// Below this, a sweep for cancelled entries does not pay.
const SWEEP_MIN: usize = 256;
/// The number of entries searched for others of the oldest one's class.
const LOOK_MAX: usize = 64;
/// Below this, a request takes no longer than reading the clock twice.
const TIMED_BYTES_MIN: usize = 4096;

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::framework::{Framework, HashAlgorithm, Request, SessionSpec};
    use crate::testing::Accelerator;

    thread_local! {
        static PANICS: Cell<bool> = const { Cell::new(false) };
    }

    pub(super) fn panic_if_asked() {
        assert!(!PANICS.get(), "a kernel of this test");
    }

    #[test]
    fn a_panic_answers_every_request_and_frees_its_place() {
        const PLACES: usize = 3;
        let accelerator = Accelerator::builder().max_threads(0).build().unwrap();
        let framework = Framework::with_in_flight_max(&accelerator, PLACES);
        let spec = SessionSpec::hmac(HashAlgorithm::Sha256, b"key", 32);
        let session = framework.session(&spec).unwrap();
        let request = || Request::encrypt([&b"message"[..], &[0; 32]].concat());
        // One alone, then a full framework, whose requests form a group.
        for count in [1, PLACES, PLACES] {
            PANICS.set(true);
            let jobs: Vec<_> = (0..count)
                .map(|_| session.submit(request()).unwrap())
                .collect();
            for job in jobs {
                let outcome = job.wait().unwrap().outcome;
                assert!(
                    matches!(&outcome, Err(Error::DeviceFailed { reason, .. }) if reason.contains("panicked")),
                    "{outcome:?}"
                );
            }
            PANICS.set(false);
            let answer = session.submit(request()).unwrap().wait().unwrap();
            assert_eq!(answer.outcome, Ok(()));
        }
    }
}
