//! A board with a queue for ciphers, MACs and packets.
//!
//! As with the other boards, a request's end is known when it arrives, so no thread is needed: tasks are ordered by their
//! ends, and a polling thread ([`Device::poll`]) gets those that are due. The kernels compute their results then,
//! which costs the polling thread the CPU's time; the simulated board should be far slower than that.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use oarlock_kernels::cpu::Cpu;

use super::board::{self, Fault, Injection};
use super::shared::{self, Figures, Queue, WrittenOver};
use crate::Error;
use crate::device::blocking::BlockingDevice;
use crate::device::ciphers::CipherDevices;
use crate::device::compute::LocalKeys;
use crate::device::error::DeviceError;
use crate::device::interface::{Device, QueueOffer, Task};
use crate::device::software::SoftwareDevice;
use crate::work::operation::Service;
use crate::work::request::PublicKeyRequest;
use oarlock_threads::process;

/// The figures of a [`SimulatedEngine`].
#[derive(Clone, Debug, PartialEq)]
pub struct EngineBoard {
    /// Units that work in parallel; at least 1.
    pub units: usize,
    /// Bytes per second of one unit.
    pub bytes_per_second: u64,
    /// The time that a request occupies its unit, in addition to the time for its bytes.
    pub per_request: Duration,
    /// The round-trip time. It delays requests without occupying a unit.
    pub latency: Duration,
    /// The time that loading a key occupies a unit.
    pub key_setup: Duration,
    /// The number of keys that the board holds; the least recently used one is evicted.
    pub keys: usize,
    /// Tasks that the board holds at once.
    pub depth: usize,
    /// The services that the board offers; `None` for all.
    pub services: Option<Vec<Service>>,
    /// The time of a 2048-bit public-key request on one unit; it grows with the third power of the length. `None` if the
    /// board serves no such requests.
    pub public_key: Option<Duration>,
    /// The largest deviation of a time from its mean, as a fraction of it, 0 to 1; evenly distributed.
    pub jitter: f64,
    /// Faults. The first one that applies to a request takes effect.
    pub faults: Vec<Injection>,
    /// The seed. Jitter and fault rates depend only on it and the request's number.
    pub seed: u64,
    /// Whether results are computed. If not, data come back unchanged: for measuring the code in front of a board, which
    /// would not use the CPU.
    pub computes: bool,
}

impl Default for EngineBoard {
    /// Returns a board of two units of 400 MB/s with 50 us of latency.
    fn default() -> Self {
        Self {
            units: 2,
            bytes_per_second: 400_000_000,
            per_request: Duration::from_micros(2),
            latency: Duration::from_micros(50),
            key_setup: Duration::from_micros(5),
            keys: 1024,
            depth: 128,
            services: None,
            public_key: Some(Duration::from_millis(2)),
            jitter: 0.0,
            faults: Vec::new(),
            seed: 1,
            computes: true,
        }
    }
}

/// An [`EngineBoard`] for a [`Framework`](crate::framework::Framework), to test code that drives fast, slow and faulty
/// boards.
///
/// ```
/// use std::sync::Arc;
/// use oarlock::device::{Cpu, EngineBoard, Fault, Injection, SimulatedEngine, When};
/// use oarlock::framework::{Check, Framework, Place, Request, SessionSpec};
/// use oarlock::{Accelerator, Algorithm};
///
/// let faults = vec![Injection { fault: Fault::WrongResult, when: When::Every(2) }];
/// let board = EngineBoard { faults, ..EngineBoard::default() };
/// let framework = Framework::new(&Accelerator::builder().build()?);
/// framework.register(Arc::new(SimulatedEngine::new("board", board, Cpu::detect())?), Check::All)?;
/// let session = framework.session(&SessionSpec::aead(Algorithm::Aes128Gcm, &[7; 16], &[9; 12]))?;
/// for expected in ["board", "cpu"] {
///     let answer = session.submit(Request::encrypt(vec![0; 1000]).at(Place::Device))?.wait()?;
///     assert_eq!(answer.outcome, Ok(()));
///     # if expected == "board" {
///     assert_eq!(&*answer.device, expected);
///     # }
/// }
/// # Ok::<(), oarlock::Error>(())
/// ```
pub struct SimulatedEngine {
    name: String,
    board: EngineBoard,
    cpu: Cpu,
    software: SoftwareDevice,
    /// The origin of times; `None` for that of the monotonic clock.
    began: Option<Instant>,
    generation: usize,
    computing_ns: AtomicU64,
    state: Mutex<State>,
}

struct State {
    /// The time at which each unit becomes free, if the board is not shared.
    units: BinaryHeap<Reverse<Duration>>,
    /// The queue of this process, if the board is shared.
    queue: Option<Queue>,
    /// The tasks that wait in the queue.
    waiting: VecDeque<Admitted>,
    /// Tasks that a unit has computed or is computing, by end and number.
    tasks: BTreeMap<(Duration, u64), (Task, Option<Fault>)>,
    hanging: Vec<Task>,
    /// The keys on the board, most recently used last.
    keys: VecDeque<u64>,
    /// Keys set up on the CPU, which computes the results.
    set_up: BTreeMap<u64, Arc<LocalKeys>>,
    admitted: u64,
    down_until: Duration,
    is_dead: bool,
}

struct Admitted {
    task: Task,
    fault: Option<Fault>,
    number: u64,
}

impl SimulatedEngine {
    /// Creates a device for a board. Statistics and errors use `name`.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] for a board without units, keys or depth, or with a jitter outside 0 to 1.
    pub fn new(name: &str, board: EngineBoard, cpu: Cpu) -> Result<Self, Error> {
        board
            .check()
            .map_err(|what| Error::InvalidInput(format!("the simulated device {name}: {what}")))?;
        Ok(Self::with_queue(name, board, cpu, None))
    }

    /// Creates a file for a board that up to 16 processes share, each through its own queue (as with SR-IOV or ring pairs).
    /// Together they get the units and rate of `board`.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] if the file exists or cannot be created, or if figures contradict each other.
    pub fn create_shared(path: &Path, board: &EngineBoard, queues: usize) -> Result<(), Error> {
        let checked = board.check();
        checked.map_err(|what| Error::InvalidInput(format!("a shared board: {what}")))?;
        shared::create(path, &board.figures(), queues)
    }

    /// Opens a queue on a board that [`create_shared`](Self::create_shared) created. Its requests take the board's time, in
    /// turn with those of other queues, even while this process is stopped or after it has ended. Then another process can
    /// open the queue. Keys, faults, depth and services are those of `board` here. A death or reset affects only this queue.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use oarlock::device::{Cpu, EngineBoard, SimulatedEngine};
    ///
    /// let path = std::env::temp_dir().join(format!("board-{}", std::process::id()));
    /// let board = EngineBoard::default();
    /// SimulatedEngine::create_shared(&path, &board, 2)?;
    /// let ours = SimulatedEngine::open_shared("board", board.clone(), Cpu::detect(), &path)?;
    /// // In another process:
    /// let theirs = SimulatedEngine::open_shared("board", board.clone(), Cpu::detect(), &path)?;
    /// assert!(SimulatedEngine::open_shared("board", board, Cpu::detect(), &path).is_err());
    /// # std::fs::remove_file(&path).unwrap();
    /// # Ok::<(), oarlock::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidInput`] if the file does not exist, the board has other figures (units, rate and times must be the
    /// same in all processes) or no queue is free.
    pub fn open_shared(
        name: &str,
        board: EngineBoard,
        cpu: Cpu,
        path: &Path,
    ) -> Result<Self, Error> {
        board
            .check()
            .map_err(|what| Error::InvalidInput(format!("the simulated device {name}: {what}")))?;
        let queue = Queue::open(path, &board.figures())?;
        Ok(Self::with_queue(name, board, cpu, Some(queue)))
    }

    fn with_queue(name: &str, board: EngineBoard, cpu: Cpu, queue: Option<Queue>) -> Self {
        process::watch_forks();
        Self {
            name: name.to_owned(),
            began: queue.is_none().then(Instant::now),
            generation: process::fork_generation(),
            computing_ns: AtomicU64::new(0),
            state: Mutex::new(State {
                units: vec![Reverse(Duration::ZERO); board.units].into(),
                queue,
                waiting: VecDeque::new(),
                tasks: BTreeMap::new(),
                hanging: Vec::new(),
                keys: VecDeque::new(),
                set_up: BTreeMap::new(),
                admitted: 0,
                down_until: Duration::ZERO,
                is_dead: false,
            }),
            board,
            cpu,
            software: SoftwareDevice::new(),
        }
    }

    /// Returns the byte range of a shared board's queue in its file: for tests of writes by other processes.
    pub fn queue_bytes(&self) -> Option<Range<u64>> {
        self.locked().queue.as_ref().map(Queue::place)
    }

    /// Returns the number of requests so far.
    pub fn admitted(&self) -> u64 {
        self.locked().admitted
    }

    /// Returns the CPU time spent on results so far, which a real board would spend itself.
    pub fn computing(&self) -> Duration {
        Duration::from_nanos(self.computing_ns.load(Ordering::Relaxed))
    }

    /// Returns the number of hanging requests ([`Fault::Hang`]).
    pub fn hanging(&self) -> usize {
        self.locked().hanging.len()
    }

    /// Completes hanging requests, each with its result.
    pub fn release(&self) {
        let hanging = std::mem::take(&mut self.locked().hanging);
        for task in hanging {
            self.complete(task, None);
        }
    }

    /// Makes every request fail from now on, including those under way.
    pub fn kill(&self) {
        let tasks = {
            let mut state = self.locked();
            state.is_dead = true;
            state.take_all()
        };
        for task in tasks {
            task.complete(Err(DeviceError("simulated death".into())));
        }
    }

    fn now(&self) -> Duration {
        match self.began {
            Some(began) => began.elapsed(),
            None => Duration::from_nanos(shared::now_ns()),
        }
    }

    fn service_time(&self, state: &mut State, task: &Task) -> Duration {
        let board = &self.board;
        if let Some(request) = task.public_key() {
            let times = request.shape().modulus_bits as f64 / 2048.0;
            return board.public_key.unwrap_or_default().mul_f64(times.powi(3));
        }
        let layout = task.layout();
        let bytes = layout.authenticated.len() + layout.encrypted.len();
        let ns = bytes as f64 * 1e9 / board.bytes_per_second as f64;
        let id = task.material().id();
        let has_key = state.keys.iter().position(|key| *key == id);
        // The keys of a single request occupy no place.
        if !task.material().is_of_one_request() {
            if let Some(at) = has_key {
                state.keys.remove(at);
            } else if state.keys.len() == board.keys {
                state.keys.pop_front();
            }
            state.keys.push_back(id);
        }
        let setup = match has_key {
            Some(_) => Duration::ZERO,
            None => board.key_setup,
        };
        board.per_request + setup + Duration::from_nanos(ns as u64)
    }

    /// Answers a task according to its fault.
    fn complete(&self, mut task: Task, fault: Option<Fault>) {
        if !self.board.computes && fault.is_none() && task.public_key().is_none() {
            return task.complete(Ok(()));
        }
        if matches!(fault, Some(Fault::Error)) {
            return task.complete(Err(DeviceError("simulated error".into())));
        }
        if let Some(request) = task.public_key() {
            let mut power = Err(DeviceError("aws-lc gave no result".into()));
            self.software
                .run_public_key(&[request], &mut |_, result| power = result);
            let again = matches!(fault, Some(Fault::TwoAnswers)).then(|| task.duplicate());
            return match fault {
                Some(Fault::WrongResult | Fault::Overrun) => {
                    task.complete_power(power.map(super::spoilt));
                }
                Some(Fault::Half) => task.complete(Err(DeviceError("simulated half".into()))),
                Some(Fault::NoAnswer) => drop(task),
                _ => {
                    task.complete_power(power.clone());
                    if let Some(again) = again {
                        again.complete_power(power);
                    }
                }
            };
        }
        let computed = self.keys_of(&task).and_then(|keys| {
            let (_, step, data) = task.parts().ok_or_else(|| DeviceError("no data".into()))?;
            let end = step.layout.encrypted.end.max(step.layout.tag);
            let at = match step.layout.encrypted.is_empty() {
                true => step.layout.tag,
                false => step.layout.encrypted.start,
            };
            let before = match fault {
                Some(Fault::Half) => data.to_vec(),
                _ => Vec::new(),
            };
            let began = cpu_time();
            let done = keys.run_as_device(step, data);
            let took = cpu_time().saturating_sub(began);
            self.computing_ns
                .fetch_add(took.as_nanos() as u64, Ordering::Relaxed);
            done.map_err(|error| DeviceError(error.to_string()))?;
            match fault {
                // Random bytes cannot be wrong.
                Some(Fault::WrongResult) if at < data.len() => data[at] ^= 1,
                Some(Fault::Half) => {
                    let half = end / 2;
                    data[half..].copy_from_slice(&before[half..]);
                    return Err(DeviceError("simulated half".into()));
                }
                _ => {}
            }
            Ok(())
        });
        match fault {
            Some(Fault::Overrun) => {
                let end = task.bytes();
                task.memory()[end] ^= 1;
                task.complete(computed);
            }
            Some(Fault::TwoAnswers) => {
                let again = task.duplicate();
                task.complete(computed.clone());
                again.complete(computed);
            }
            Some(Fault::NoAnswer) => drop(task),
            _ => task.complete(computed),
        }
    }

    fn keys_of(&self, task: &Task) -> Result<Arc<LocalKeys>, DeviceError> {
        let material = task.material();
        let mut state = self.locked();
        if let Some(keys) = state.set_up.get(&material.id()) {
            return Ok(Arc::clone(keys));
        }
        let keys = LocalKeys::new(&CipherDevices::kernels(self.cpu), material);
        let keys = Arc::new(keys.map_err(|error| DeviceError(error.to_string()))?);
        if material.is_of_one_request() {
            return Ok(keys);
        }
        if state.set_up.len() >= SET_UP_MAX {
            state.set_up.clear();
        }
        state.set_up.insert(material.id(), Arc::clone(&keys));
        Ok(keys)
    }

    fn locked(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Moves requests that have been started from the queue to `tasks`.
    fn fetch(&mut self, now: Duration, latency: Duration) -> Result<(), WrittenOver> {
        let Some(queue) = &mut self.queue else {
            return Ok(());
        };
        let now_ns = now.as_nanos() as u64;
        queue.advance(now_ns);
        while let Some(end) = queue.next_started(now_ns)? {
            let Some(next) = self.waiting.pop_front() else {
                break;
            };
            let end = Duration::from_nanos(end);
            let done_at = end + latency + late_by(next.fault);
            self.tasks
                .insert((done_at, next.number), (next.task, next.fault));
        }
        Ok(())
    }

    /// Removes and returns all tasks except hanging ones.
    fn take_all(&mut self) -> Vec<Task> {
        let waiting = std::mem::take(&mut self.waiting).into_iter();
        if let Some(queue) = &mut self.queue {
            queue.begin_anew();
        }
        let tasks = std::mem::take(&mut self.tasks).into_values();
        let tasks = tasks.map(|(task, _)| task);
        tasks.chain(waiting.map(|next| next.task)).collect()
    }
}

impl EngineBoard {
    fn figures(&self) -> Figures {
        let ns = |time: Duration| time.as_nanos() as u64;
        Figures {
            units: self.units,
            depth: self.depth,
            others: [
                self.bytes_per_second,
                ns(self.per_request),
                ns(self.latency),
                ns(self.key_setup),
                self.public_key.map_or(u64::MAX, ns),
            ],
        }
    }

    /// Returns what is wrong with the figures.
    fn check(&self) -> Result<(), &'static str> {
        if self.units == 0 || self.keys == 0 || self.depth == 0 || self.bytes_per_second == 0 {
            return Err("units, keys, depth and rate of 1 or more");
        }
        if !(0.0..=1.0).contains(&self.jitter) {
            return Err("a jitter of 0 to 1");
        }
        Ok(())
    }
}

/// Returns the CPU time of the calling thread.
fn cpu_time() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

fn late_by(fault: Option<Fault>) -> Duration {
    match fault {
        Some(Fault::Late(late_by)) => late_by,
        _ => Duration::ZERO,
    }
}

impl Device for SimulatedEngine {
    fn name(&self) -> &str {
        &self.name
    }

    fn depth(&self) -> usize {
        self.board.depth
    }

    fn offer(&self, service: Service) -> Option<QueueOffer> {
        let board = &self.board;
        let is_served = board
            .services
            .as_ref()
            .is_none_or(|services| services.contains(&service));
        is_served.then(|| QueueOffer {
            latency: board.latency,
            per_request: board.per_request / board.units as u32,
            key_setup: board.key_setup,
            bytes_per_second: board.bytes_per_second * board.units as u64,
        })
    }

    fn offer_public_key(&self, request: &PublicKeyRequest) -> Option<QueueOffer> {
        self.software.offer_public_key(&request.shape())?;
        let times = request.shape().modulus_bits as f64 / 2048.0;
        let time = self.board.public_key?.mul_f64(times.powi(3));
        Some(QueueOffer {
            latency: self.board.latency + time,
            per_request: time / self.board.units as u32,
            key_setup: Duration::ZERO,
            bytes_per_second: u64::MAX,
        })
    }

    fn submit(&self, task: Task) -> Result<(), Task> {
        let mut state = self.locked();
        if state.is_dead {
            drop(state);
            task.complete(Err(DeviceError("simulated death".into())));
            return Ok(());
        }
        // A shared board's queue belongs to the parent of a forked child.
        let is_inherited = self.generation != process::fork_generation();
        let now = self.now();
        let held = state.tasks.len() + state.waiting.len() + state.hanging.len();
        if is_inherited || held >= self.board.depth || now < state.down_until {
            return Err(task);
        }
        let number = state.admitted + 1;
        let fault = board::fault(&self.board.faults, self.board.seed, number);
        let jitter = board::jittered(self.board.jitter, self.board.seed, number);
        let time = self.service_time(&mut state, &task).mul_f64(jitter);
        if let Some(queue) = &mut state.queue {
            if !queue.push(now.as_nanos() as u64, time) {
                return Err(task);
            }
            state.waiting.push_back(Admitted {
                task,
                fault,
                number,
            });
        } else {
            let free = state.units.pop().map_or(now, |Reverse(free)| free);
            let end = free.max(now) + time;
            state.units.push(Reverse(end));
            let done_at = end + self.board.latency + late_by(fault);
            state.tasks.insert((done_at, number), (task, fault));
        }
        state.admitted = number;
        Ok(())
    }

    fn poll(&self) -> Option<Duration> {
        if self.generation != process::fork_generation() {
            return None;
        }
        loop {
            let mut state = self.locked();
            let now = self.now();
            if state.fetch(now, self.board.latency).is_err() {
                let lost = state.take_all();
                drop(state);
                for task in lost {
                    task.complete(Err(DeviceError("its queue was written over".into())));
                }
                continue;
            }
            let queue = state.queue.as_ref();
            let now_ns = now.as_nanos() as u64;
            let next_end = queue
                .and_then(|queue| queue.next_end_min(now_ns))
                .map(|end| {
                    let end = Duration::from_nanos(end) + self.board.latency;
                    end.saturating_sub(now).max(LOOK_MIN)
                });
            let Some(first) = state.tasks.first_entry() else {
                return next_end;
            };
            let (done_at, _) = *first.key();
            if done_at > now {
                let wait = done_at - now;
                return Some(next_end.map_or(wait, |end| end.min(wait)));
            }
            let (task, fault) = first.remove();
            match fault {
                Some(Fault::Hang) => state.hanging.push(task),
                Some(Fault::Reset(down)) => {
                    state.down_until = now + down;
                    state.keys.clear();
                    let units = vec![Reverse(now + down); self.board.units];
                    state.units = units.into();
                    let lost = state.take_all();
                    drop(state);
                    for task in [task].into_iter().chain(lost) {
                        task.complete(Err(DeviceError("simulated reset".into())));
                    }
                }
                Some(Fault::Death) => {
                    drop(state);
                    task.complete(Err(DeviceError("simulated death".into())));
                    self.kill();
                }
                fault => {
                    drop(state);
                    self.complete(task, fault);
                }
            }
        }
    }
}

/// The number of keys kept for the CPU.
const SET_UP_MAX: usize = 4096;
/// The interval for checking whether a request that waits for others was started.
const LOOK_MIN: Duration = Duration::from_micros(20);
