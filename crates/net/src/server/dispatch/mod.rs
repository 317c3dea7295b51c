//! Who computes what, and when: a bounded line of requests, and workers that take from it.
//!
//! ```text
//! receive   admit: room? a device for it? → line.rs, by client, priority and age
//! work      a thread of a device's workers takes what is next for that device, with others of the
//!           same shape if the device computes them together; nobody waits for a batch to fill
//! reply     each request is answered once, by its task.rs: by the worker; by `look_after`, where its
//!           deadline passes or its device hangs; or by the end of the server
//! ```
//!
//! A request whose device fails goes to another one that has not failed at it, if there is one. A
//! device that fails often, or hangs, is left alone for a while, and then tried with one request.
//!
//! Only work with the server's own keys is evidence against a device. Numbers that a client sent can
//! make any device fail: composite "primes" give a result that fails its check. [`Origin`] tells the
//! two apart. They are queued apart, so that they never share a batch, and a failure with a client's
//! numbers is answered with INVALID_ARGUMENT, counted against no device and tried on no other.

mod line;
mod lull;
mod task;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use oarlock::device::{PublicKeyDevice, Shape, complete};
use oarlock::{Error, PublicKeyRequest};
use tonic::{Code, Status};

pub use self::line::ClientId;
use self::line::{DeviceId, Expected, Line, ShapeId, left_to};
use self::lull::Lulls;
pub use self::task::Answered;
use self::task::Task;
use super::outbox::Hold;

/// Why a request was not carried out, as its client is told. No secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Of gRPC.
    pub code: Code,
    /// What was wrong, and what to do.
    pub message: String,
}

impl Refusal {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { code, message }
    }

    pub(crate) fn status(&self) -> Status {
        Status::new(self.code, self.message.clone())
    }
}

/// A device, and how many threads wait for it at once.
pub struct Crew {
    /// Who computes.
    pub device: Arc<dyn PublicKeyDevice>,
    /// Threads: a device with coprocessors needs at least as many as it has of those.
    pub workers: usize,
}

/// How much there may be of what.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Requests that nobody has begun.
    pub waiting_max: usize,
    /// Requests of one client that have not been answered.
    pub per_client_max: usize,
    /// How long a device may take for a batch before it is taken to hang.
    pub hang: Duration,
}

/// Where the numbers of a request come from, which decides what a failure proves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// A key of this server: a failure is the device's.
    Server,
    /// The request itself: a failure proves nothing about the device.
    Client,
}

/// A request that asks to be let in.
pub struct Applicant {
    /// What is to be computed.
    pub request: PublicKeyRequest,
    /// Where the numbers of its key come from.
    pub origin: Origin,
    /// Whether it goes before others of the same client.
    pub is_urgent: bool,
    /// When it is no longer wanted.
    pub deadline: Instant,
    /// Takes the answer, on the thread that has it: not to block.
    pub respond: Box<dyn FnOnce(Answered) + Send>,
}

/// Takes requests in, and has them computed.
pub struct Dispatcher {
    inner: Arc<Inner>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// What a device has done, and has to do.
#[derive(Clone, Debug)]
pub struct DeviceStatus {
    /// Its name.
    pub name: Arc<str>,
    /// Requests that it was given and has not answered.
    pub in_work: usize,
    /// Whether it is left alone for now, because it failed or hangs.
    pub is_down: bool,
    /// Batches, by how many requests they had.
    pub batches: Vec<u64>,
    /// Requests of the server's own keys that it failed at.
    pub failures: u64,
}

struct Inner {
    crews: Vec<Crew>,
    /// Of the devices.
    names: Vec<Arc<str>>,
    /// One for each device: its idle workers wait here.
    calls: Vec<Condvar>,
    state: Mutex<State>,
    lulls: Lulls,
}

struct State {
    bounds: Bounds,
    line: Line,
    shapes: Vec<ShapeEntry>,
    shape_ids: HashMap<(Shape, Origin), ShapeId>,
    devices: Vec<DeviceState>,
    /// Requests of each client that have not been answered.
    of_client: Vec<usize>,
    /// Of all clients.
    unanswered: usize,
    arrived: u64,
    /// Of what was let in last.
    last_shape: ShapeId,
    is_closed: bool,
    is_over: bool,
}

struct ShapeEntry {
    shape: Shape,
    origin: Origin,
    /// By device; none from those that cannot.
    expected: Vec<Option<Expected>>,
}

struct DeviceState {
    idle: usize,
    in_work: usize,
    /// By worker.
    batches: Vec<Option<InWork>>,
    /// What batches took in the device beside what it had offered, by origin.
    slowness: [f64; 2],
    /// Failures with keys of the server since it last did something right with one.
    failed_since: u32,
    down_until: Option<Instant>,
    /// A request is on its way to find out whether it is well again.
    is_on_trial: bool,
    by_size: Vec<u64>,
    failures: u64,
}

/// What a worker has to do.
enum Next {
    Batch {
        tasks: Vec<Arc<Task>>,
        /// Twice as many wait.
        are_many_left: bool,
    },
    Nothing,
    Over,
}

struct InWork {
    tasks: Vec<Arc<Task>>,
    began: Instant,
    /// Its tasks were given to others.
    is_given_up: bool,
}

impl Dispatcher {
    /// Starts the workers of every device.
    ///
    /// # Errors
    /// Where the system has no thread left.
    pub fn start(crews: Vec<Crew>, bounds: Bounds) -> std::io::Result<Self> {
        let devices = crews.iter().map(|crew| DeviceState::new(crew.workers));
        let state = State {
            bounds,
            line: Line::default(),
            shapes: Vec::new(),
            shape_ids: HashMap::new(),
            devices: devices.collect(),
            of_client: Vec::new(),
            unanswered: 0,
            arrived: 0,
            last_shape: 0,
            is_closed: false,
            is_over: false,
        };
        let inner = Arc::new(Inner {
            calls: crews.iter().map(|_| Condvar::new()).collect(),
            names: crews.iter().map(|crew| crew.device.name().into()).collect(),
            state: Mutex::new(state),
            lulls: Lulls::new(),
            crews,
        });
        let dispatcher = Self {
            inner: Arc::clone(&inner),
            threads: Mutex::default(),
        };
        for (device, crew) in inner.crews.iter().enumerate() {
            for worker in 0..crew.workers {
                let inner = Arc::clone(&inner);
                let thread = std::thread::Builder::new()
                    .name(format!("{}-{worker}", crew.device.name()))
                    .spawn(move || inner.work(device, worker))?;
                lock(&dispatcher.threads).push(thread);
            }
        }
        Ok(dispatcher)
    }

    /// A client, who gets a share of the devices by `weight`.
    pub fn add_client(&self, weight: u32) -> ClientId {
        let mut state = self.inner.lock();
        state.of_client.push(0);
        state.line.add_client(weight)
    }

    /// Changes a client's share.
    pub fn set_weight(&self, client: ClientId, weight: u32) {
        self.inner.lock().line.set_weight(client, weight);
    }

    /// Changes the bounds; what is in already stays.
    pub fn set_bounds(&self, bounds: Bounds) {
        self.inner.lock().bounds = bounds;
    }

    /// Lets requests of a client in. Those that are refused are answered at once, with
    /// RESOURCE_EXHAUSTED where there is no room; then it returns for how long it makes no sense to
    /// come with more: until a good part of what waits has been done.
    pub fn admit(
        &self,
        client: ClientId,
        applicants: impl IntoIterator<Item = Applicant>,
    ) -> Option<Duration> {
        let now = Instant::now();
        let (mut refused, mut pause) = (Vec::new(), None);
        let mut to_wake = Vec::new();
        {
            let mut state = self.inner.lock();
            let mut shapes = Vec::new();
            for applicant in applicants {
                let shape = state.shape(
                    applicant.request.shape(),
                    applicant.origin,
                    &self.inner.crews,
                );
                match state.refusal(client, shape, &self.inner.crews, now) {
                    Some(refusal) => {
                        if refusal.code == Code::ResourceExhausted {
                            pause = Some(state.some_of_the_wait(shape));
                        }
                        refused.push((applicant.respond, refusal));
                    }
                    None => {
                        if state.unanswered == 0 {
                            self.inner.lulls.end(now);
                        }
                        state.enter(client, shape, applicant, now);
                        if !shapes.contains(&shape) {
                            shapes.push(shape);
                        }
                    }
                }
            }
            for shape in shapes {
                state.whom_to_wake(shape, &self.inner.crews, &mut to_wake);
            }
        }
        self.inner.wake(to_wake);
        let _hold = Hold::new();
        for (respond, refusal) in refused {
            respond(Answered::refused(refusal, Duration::ZERO));
        }
        pause
    }

    /// Whether [`admit`](Self::admit) would refuse requests of a client for want of room, with what
    /// it would say and return: so that nobody looks closely at what is refused anyway.
    pub fn no_room(&self, client: ClientId) -> Option<(Refusal, Duration)> {
        let state = self.inner.lock();
        Some((
            state.no_room(client)?,
            state.some_of_the_wait(state.last_shape),
        ))
    }

    /// Answers requests whose deadline has passed, and takes from devices that hang what they have.
    /// To be called every few milliseconds.
    pub fn look_after(&self) {
        let now = Instant::now();
        let mut to_wake = Vec::new();
        let mut late = Vec::new();
        let unserved: Vec<(Arc<Task>, Vec<DeviceId>)>;
        {
            let mut state = self.inner.lock();
            for task in state
                .line
                .take_all(|task| task.deadline <= now || task.is_answered())
            {
                late.push((task, None));
            }
            unserved = state.take_unserved(now);
            for device in 0..state.devices.len() {
                let name = &self.inner.names[device];
                for task in state.late_in_work(device, now) {
                    late.push((task, Some(Arc::clone(name))));
                }
                if state.give_up_hung(device, now) {
                    tracing::warn!(device = &**name, "hangs: its requests go to other devices");
                }
            }
            for shape in 0..state.shapes.len() {
                if state.line.len_of(shape) > 0 {
                    state.whom_to_wake(shape, &self.inner.crews, &mut to_wake);
                }
            }
        }
        self.inner.wake(to_wake);
        for (task, able) in unserved {
            let refusal = out_of_order(&able, &self.inner.crews);
            let waited = now.saturating_duration_since(task.arrived);
            self.inner.answer(&task, Answered::refused(refusal, waited));
        }
        for (task, device) in late {
            let waited = now.saturating_duration_since(task.arrived);
            let message = match &device {
                None => {
                    "its deadline passed before a device was free: send less at once, allow more \
                         time, or try another server"
                        .to_owned()
                }
                Some(device) => format!("its deadline passed while device {device} had it"),
            };
            let refusal = Refusal::new(Code::DeadlineExceeded, message);
            self.inner.answer(
                &task,
                Answered {
                    device,
                    ..Answered::refused(refusal, waited)
                },
            );
        }
    }

    /// Keeps the thread that runs this from sleeping while the next request may come at once.
    pub async fn look_out(&self) -> ! {
        loop {
            self.inner.lulls.next().await;
            while self.inner.lulls.is_young(Instant::now()) {
                tokio::task::yield_now().await;
            }
        }
    }

    /// Requests that have not been answered.
    pub fn unanswered(&self) -> usize {
        self.inner.lock().unanswered
    }

    /// Requests that nobody has begun.
    pub fn waiting(&self) -> usize {
        self.inner.lock().line.len()
    }

    /// Of every device.
    pub fn devices(&self) -> Vec<DeviceStatus> {
        let state = self.inner.lock();
        let devices = state.devices.iter().zip(&self.inner.names);
        devices
            .map(|(device, name)| DeviceStatus {
                name: Arc::clone(name),
                in_work: device.in_work,
                is_down: device.down_until.is_some(),
                batches: device.by_size.clone(),
                failures: device.failures,
            })
            .collect()
    }

    /// Lets nothing in any more. What is in goes on.
    pub fn close(&self) {
        self.inner.lock().is_closed = true;
    }

    /// Ends the workers, and answers what is left.
    pub fn end(&self) {
        let left = {
            let mut state = self.inner.lock();
            state.is_closed = true;
            state.is_over = true;
            let mut left = state.line.take_all(|_| true);
            let in_work = state.devices.iter().flat_map(|device| &device.batches);
            left.extend(in_work.flatten().flat_map(|batch| batch.tasks.clone()));
            left
        };
        self.inner.calls.iter().for_each(Condvar::notify_all);
        for task in left {
            let refusal = Refusal::new(Code::Unavailable, ENDS);
            let waited = task.arrived.elapsed();
            self.inner.answer(&task, Answered::refused(refusal, waited));
        }
        for thread in std::mem::take(&mut *lock(&self.threads)) {
            // One that a device keeps is left behind.
            let deadline = Instant::now() + Duration::from_millis(100);
            while !thread.is_finished() && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(1));
            }
            if thread.is_finished() {
                let _ = thread.join();
            }
        }
    }
}

impl Drop for Dispatcher {
    fn drop(&mut self) {
        self.end();
    }
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    fn wake(&self, devices: Vec<(DeviceId, usize)>) {
        for (device, workers) in devices {
            for _ in 0..workers {
                self.calls[device].notify_one();
            }
        }
    }

    fn work(&self, device: DeviceId, worker: usize) {
        let driver = &self.crews[device].device;
        let hold = driver.answers_together().then(Hold::new);
        let release = || hold.iter().for_each(Hold::release);
        let mut last = Duration::ZERO;
        loop {
            let next = match self.next(device, worker, false) {
                Next::Nothing => {
                    release();
                    self.next(device, worker, true)
                }
                next => next,
            };
            let Next::Batch {
                tasks,
                are_many_left,
            } = next
            else {
                return;
            };
            // Where many wait, the replies of one batch go out with those of the next: who reads them
            // is woken for both at once.
            let age = hold.as_ref().and_then(Hold::age);
            if age.is_some_and(|age| !are_many_left || age + last > HOLD_MAX) {
                release();
            }
            let began = Instant::now();
            self.run(device, worker, &tasks);
            last = began.elapsed();
        }
    }

    /// Requests for a worker of a device.
    fn next(&self, device: DeviceId, worker: usize, may_wait: bool) -> Next {
        let mut state = self.lock();
        loop {
            if state.is_over {
                return Next::Over;
            }
            let tasks = state.take(device, &self.crews);
            if !tasks.is_empty() {
                let in_work = &mut state.devices[device];
                in_work.in_work += tasks.len();
                in_work.batches[worker] = Some(InWork {
                    tasks: tasks.clone(),
                    began: Instant::now(),
                    is_given_up: false,
                });
                let size = tasks.len().min(in_work.by_size.len() - 1);
                in_work.by_size[size] += 1;
                let are_many_left = state.line.len() >= 2 * tasks.len();
                return Next::Batch {
                    tasks,
                    are_many_left,
                };
            }
            if !may_wait {
                return Next::Nothing;
            }
            if state.unanswered == 0 {
                // All replies have gone to the thread that is to look out for requests.
                self.lulls.begin(Instant::now());
            }
            state.devices[device].idle += 1;
            state = self.calls[device]
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
            state.devices[device].idle -= 1;
        }
    }

    fn run(&self, device: DeviceId, worker: usize, batch: &[Arc<Task>]) {
        let driver = &self.crews[device].device;
        let name = &self.names[device];
        let began = Instant::now();
        let requests: Vec<_> = batch.iter().map(|task| &task.request).collect();
        let mut failed = Vec::new();
        let mut answer = |place: usize, result| {
            let task = &batch[place];
            match result {
                Err(Error::DeviceFailed { reason, .. }) => failed.push((place, reason)),
                result => self.answer(
                    task,
                    Answered {
                        outcome: result.map_err(refusal_of),
                        waited: began.saturating_duration_since(task.arrived),
                        served: began.elapsed(),
                        device: Some(Arc::clone(name)),
                    },
                ),
            }
        };
        complete(&**driver, &requests, &mut answer);
        let (mut given_up, mut to_wake) = (Vec::new(), Vec::new());
        {
            let mut state = self.lock();
            state.leave(device, worker, failed.len(), &self.crews);
            for (place, reason) in failed {
                let task = &batch[place];
                if state.origin_of(task) == Origin::Client {
                    tracing::debug!(device = &**name, reason, "failed with a client's numbers");
                    given_up.push((task, unfit(&task.request, name, &reason)));
                    continue;
                }
                tracing::warn!(device = &**name, reason, "failed at a request");
                // One that hung has had its requests taken away.
                let is_elsewhere = task.has_tried(device);
                task.note_failure(device);
                if is_elsewhere || task.is_answered() {
                    continue;
                }
                if state.is_over || !state.can_anyone(task) {
                    let message =
                        format!("device {name} failed, and no other can take over: {reason}");
                    given_up.push((task, Refusal::new(Code::Unavailable, message)));
                } else {
                    state.line.push(Arc::clone(task), true);
                    state.whom_to_wake(task.shape, &self.crews, &mut to_wake);
                }
            }
        }
        self.wake(to_wake);
        for (task, refusal) in given_up {
            self.answer(
                task,
                Answered {
                    outcome: Err(refusal),
                    waited: began.saturating_duration_since(task.arrived),
                    served: began.elapsed(),
                    device: Some(Arc::clone(name)),
                },
            );
        }
    }

    /// Answers a task, and counts it no more: before its client knows, who may then send another.
    fn answer(&self, task: &Task, answered: Answered) {
        task.answer(answered, |client| self.lock().forget(client));
    }
}

impl State {
    /// The number of a shape, and what devices offer for it.
    fn shape(&mut self, shape: Shape, origin: Origin, crews: &[Crew]) -> ShapeId {
        let key = (shape, origin);
        if let Some(id) = self.shape_ids.get(&key) {
            return *id;
        }
        let shape = &key.0;
        let id = self.shapes.len();
        let expected = crews.iter().map(|crew| offered(crew, shape)).collect();
        self.shapes.push(ShapeEntry {
            shape: shape.clone(),
            origin,
            expected,
        });
        self.shape_ids.insert(key, id);
        id
    }

    /// Why a request may not come in, if it may not.
    fn refusal(
        &self,
        client: ClientId,
        shape: ShapeId,
        crews: &[Crew],
        now: Instant,
    ) -> Option<Refusal> {
        if self.is_closed {
            return Some(Refusal::new(Code::Unavailable, ENDS));
        }
        let entry = &self.shapes[shape];
        let able: Vec<_> = (0..crews.len())
            .filter(|device| entry.expected[*device].is_some())
            .collect();
        if able.is_empty() {
            let Shape {
                operation,
                modulus_bits,
                ..
            } = &entry.shape;
            return Some(Refusal::new(
                Code::Unimplemented,
                format!(
                    "no device of this server computes powers of this kind ({operation}, {modulus_bits} bits)"
                ),
            ));
        }
        if able.iter().all(|device| self.devices[*device].is_gone(now)) {
            return Some(out_of_order(&able, crews));
        }
        self.no_room(client)
    }

    /// Why nothing of a client may come in, whatever it is, for want of room.
    fn no_room(&self, client: ClientId) -> Option<Refusal> {
        let full = |what: String| {
            Some(Refusal::new(
                Code::ResourceExhausted,
                format!("{what}: send it again later, or to another server"),
            ))
        };
        let room = self.bounds.waiting_max.saturating_sub(self.line.len());
        if room == 0 {
            return full(format!("{} requests wait already", self.line.len()));
        }
        // Clients who flood the line leave some room to those who have little in it (dynamic
        // thresholds, Choudhury and Hahne 1998), and the last places to those who have nothing.
        let own = self.line.len_of_client(client);
        let last = room <= self.bounds.waiting_max / LAST_PART;
        if own > 0 && (last || own >= room.saturating_mul(ROOMS_MAX)) {
            return full(format!(
                "{} requests of this client wait already, and there is room for {room} more of all",
                self.line.len_of_client(client)
            ));
        }
        if self.of_client[client] >= self.bounds.per_client_max {
            return full(format!(
                "{} requests of this client are under way already",
                self.of_client[client]
            ));
        }
        None
    }

    /// A quarter of what it takes to do all that waits, as if it were of this shape.
    fn some_of_the_wait(&self, shape: ShapeId) -> Duration {
        let expected = self.shapes.get(shape).map(|entry| &entry.expected);
        let expected = expected.into_iter().flatten().flatten();
        let per_second: f64 = expected.map(|expected| expected.per_second).sum();
        let all = self.line.len() as f64 / per_second.max(PER_SECOND_MIN);
        Duration::try_from_secs_f64(all / 4.0).map_or(REST_MAX, |pause| pause.min(REST_MAX))
    }

    /// Takes out what waits for devices of which none is well, with those devices: who sent it may
    /// try another server, as long as there is time.
    fn take_unserved(&mut self, now: Instant) -> Vec<(Arc<Task>, Vec<DeviceId>)> {
        if self.devices.iter().all(|device| !device.is_gone(now)) {
            return Vec::new();
        }
        let Self {
            line,
            shapes,
            devices,
            ..
        } = self;
        let able = |task: &Task| {
            let expected = shapes[task.shape].expected.iter().enumerate();
            let able = expected.filter(|(_, expected)| expected.is_some());
            able.map(|(device, _)| device).collect::<Vec<_>>()
        };
        let is_unserved = |task: &Task| {
            let mut able = able(task).into_iter();
            able.all(|device| task.has_tried(device) || devices[device].is_gone(now))
        };
        let unserved = line.take_all(is_unserved);
        unserved
            .into_iter()
            .map(|task| {
                let able = able(&task);
                (task, able)
            })
            .collect()
    }

    fn enter(&mut self, client: ClientId, shape: ShapeId, applicant: Applicant, now: Instant) {
        self.arrived += 1;
        self.last_shape = shape;
        self.unanswered += 1;
        self.of_client[client] += 1;
        let task = Task::new(
            applicant.request,
            (shape, client, self.arrived),
            applicant.is_urgent,
            (now, applicant.deadline),
            applicant.respond,
        );
        self.line.push(Arc::new(task), false);
    }

    /// One of a client has been answered.
    fn forget(&mut self, client: ClientId) {
        self.of_client[client] = self.of_client[client].saturating_sub(1);
        self.unanswered = self.unanswered.saturating_sub(1);
    }

    /// What a free worker of a device does next; nothing if that is best left to others.
    fn take(&mut self, device: DeviceId, crews: &[Crew]) -> Vec<Arc<Task>> {
        let is_down = self.devices[device].down_until.is_some();
        if is_down && !self.devices[device].begin_trial() {
            return Vec::new();
        }
        let Self {
            line,
            shapes,
            devices,
            ..
        } = self;
        let own = |shape: ShapeId| shapes[shape].expected[device];
        let batch = line.take(
            |task| own(task.shape).is_some() && !task.has_tried(device) && !task.is_answered(),
            |shape| left_to_others(&shapes[shape], device, devices),
            |shape, waiting| {
                let size = crews[device]
                    .device
                    .batch_size(&shapes[shape].shape, waiting);
                if is_down { 1 } else { size }
            },
            |shape| {
                own(shape).map_or(Duration::ZERO, |own| {
                    Duration::from_secs_f64(own.per_second.recip())
                })
            },
        );
        if is_down && batch.is_empty() {
            self.devices[device].is_on_trial = false;
        }
        batch
    }

    /// Idle workers that have something to do, now that there are requests of a shape.
    fn whom_to_wake(&self, shape: ShapeId, crews: &[Crew], to_wake: &mut Vec<(DeviceId, usize)>) {
        let waiting = self.line.len_of(shape);
        for (device, state) in self.devices.iter().enumerate() {
            if state.idle == 0 || self.shapes[shape].expected[device].is_none() {
                continue;
            }
            let left = left_to_others(&self.shapes[shape], device, &self.devices);
            let own = waiting.saturating_sub(left);
            if own > 0 {
                let shape = &self.shapes[shape].shape;
                let size = crews[device].device.batch_size(shape, own).max(1);
                to_wake.push((device, own.div_ceil(size).min(state.idle)));
            }
        }
    }

    /// A worker is done with its batch, of which so many failed.
    fn leave(&mut self, device: DeviceId, worker: usize, failed: usize, crews: &[Crew]) {
        let state = &mut self.devices[device];
        let Some(batch) = state.batches[worker].take() else {
            return;
        };
        let size = batch.tasks.len();
        let before = state.in_work;
        state.in_work -= size;
        state.is_on_trial = false;
        let Some(shape) = batch.tasks.first().map(|task| task.shape) else {
            return;
        };
        let entry = &mut self.shapes[shape];
        if failed > 0 && entry.origin == Origin::Client {
            return;
        }
        state.failures += failed as u64;
        if failed > 0 {
            state.failed_since = state.failed_since.saturating_add(failed as u32);
            if state.failed_since >= FAILURES_MAX {
                let doublings = (state.failed_since / FAILURES_MAX).ilog2().min(6);
                let pause = PAUSE_MIN * 2u32.pow(doublings);
                state.down_until = Some(Instant::now() + pause);
                tracing::warn!(
                    device = crews[device].device.name(),
                    ?pause,
                    "fails again and again: left alone for a while"
                );
            }
            return;
        }
        if state.down_until.take().is_some() {
            tracing::info!(device = crews[device].device.name(), "works again");
        }
        if entry.origin == Origin::Server {
            state.failed_since = 0;
        }
        let Some(offer) = offered(&crews[device], &entry.shape) else {
            // Withdrawn, by a driver that knows why.
            entry.expected[device] = None;
            return;
        };
        let slowness = &mut state.slowness[entry.origin as usize];
        // Where more is in a device than it does at once, its own line is part of what it takes.
        if before as f64 <= offer.at_once() {
            let usual = offer
                .latency
                .as_secs_f64()
                .max(size as f64 / offer.per_second);
            let latest = (batch.began.elapsed().as_secs_f64() / usual).clamp(0.1, 100.0);
            *slowness += (latest - *slowness) / 16.0;
        }
        entry.expected[device] = Some(Expected {
            latency: offer.latency.mul_f64(*slowness),
            per_second: offer.per_second / *slowness,
        });
    }

    /// Requests in work whose deadline has passed.
    fn late_in_work(&self, device: DeviceId, now: Instant) -> Vec<Arc<Task>> {
        let batches = self.devices[device].batches.iter().flatten();
        let tasks = batches.flat_map(|batch| &batch.tasks);
        let late = tasks.filter(|task| task.deadline <= now && !task.is_answered());
        late.cloned().collect()
    }

    /// Takes away what a device has had for too long, and leaves it alone. Returns whether there was
    /// something. What came with a client's numbers stays with the device until its deadline: tried
    /// on another, it would stop that one too.
    fn give_up_hung(&mut self, device: DeviceId, now: Instant) -> bool {
        let hang = self.bounds.hang;
        let mut given_up = Vec::new();
        for batch in self.devices[device].batches.iter_mut().flatten() {
            if !batch.is_given_up && now.saturating_duration_since(batch.began) >= hang {
                batch.is_given_up = true;
                let tasks = batch.tasks.iter();
                let own = tasks.filter(|task| self.shapes[task.shape].origin == Origin::Server);
                given_up.extend(own.cloned());
            }
        }
        if given_up.is_empty() {
            return false;
        }
        let state = &mut self.devices[device];
        state.failures += given_up.len() as u64;
        state.down_until = Some(now + hang);
        // One that hangs in its turn does not keep others from finding out.
        state.is_on_trial = false;
        for task in given_up {
            // Where nobody else can, it stays with the device: an answer or a failure may still
            // come, until its deadline.
            if !task.is_answered() && self.can_anyone(&task) {
                task.note_failure(device);
                self.line.push(task, true);
            }
        }
        true
    }

    fn origin_of(&self, task: &Task) -> Origin {
        self.shapes[task.shape].origin
    }

    /// Whether a device that has not failed at a task could do it now.
    fn can_anyone(&self, task: &Task) -> bool {
        let devices = self.shapes[task.shape].expected.iter().enumerate();
        let mut able = devices.filter(|(device, expected)| {
            expected.is_some()
                && !task.has_tried(*device)
                && self.devices[*device].down_until.is_none()
        });
        able.next().is_some()
    }
}

impl DeviceState {
    fn new(workers: usize) -> Self {
        Self {
            idle: 0,
            in_work: 0,
            batches: (0..workers).map(|_| None).collect(),
            slowness: [1.0; 2],
            failed_since: 0,
            down_until: None,
            is_on_trial: false,
            by_size: vec![0; BATCH_COUNTED_MAX + 1],
            failures: 0,
        }
    }

    /// Whether it takes nothing now: it is down, or being tried.
    fn is_gone(&self, now: Instant) -> bool {
        let until = self.down_until;
        until.is_some_and(|until| now < until || self.is_on_trial)
    }

    /// Whether none of its workers is expected back soon.
    fn is_stuck(&self) -> bool {
        let mut batches = self.batches.iter();
        batches.all(|batch| batch.as_ref().is_some_and(|batch| batch.is_given_up))
    }

    /// Whether a device that is down gets a request now, to find out whether it is well.
    fn begin_trial(&mut self) -> bool {
        let is_time = self.down_until.is_some_and(|until| until <= Instant::now());
        let begins = is_time && !self.is_on_trial;
        self.is_on_trial |= begins;
        begins
    }
}

impl Answered {
    pub(crate) fn refused(refusal: Refusal, waited: Duration) -> Self {
        Self {
            outcome: Err(refusal),
            waited,
            served: Duration::ZERO,
            device: None,
        }
    }
}

fn out_of_order(devices: &[DeviceId], crews: &[Crew]) -> Refusal {
    let names: Vec<_> = devices.iter().map(|id| crews[*id].device.name()).collect();
    let message = format!("out of order: {}; try another server", names.join(", "));
    Refusal::new(Code::Unavailable, message)
}

/// What a client is told whose own numbers a device failed with.
fn unfit(request: &PublicKeyRequest, device: &str, reason: &str) -> Refusal {
    let message = if request.private_key().is_some() {
        format!(
            "the result of this request's numbers failed its check (device {device}: {reason}): send \
             primes as p and q, and the other numbers of the same key"
        )
    } else {
        format!("device {device} could not compute with this request's numbers: {reason}")
    };
    Refusal::new(Code::InvalidArgument, message)
}

fn offered(crew: &Crew, shape: &Shape) -> Option<Expected> {
    let offer = crew.device.offer(shape)?;
    // A driver may say anything; what is reckoned with it has to stay a time.
    let per_second = if offer.per_second.is_nan() {
        PER_SECOND_MIN
    } else {
        offer.per_second.clamp(PER_SECOND_MIN, PER_SECOND_MAX)
    };
    Some(Expected {
        latency: offer.latency.min(LATENCY_MAX),
        per_second,
    })
}

/// How many of a shape a device leaves to faster ones that are well.
fn left_to_others(entry: &ShapeEntry, device: DeviceId, devices: &[DeviceState]) -> usize {
    let Some(own) = entry.expected[device] else {
        return 0;
    };
    let others = entry.expected.iter().zip(devices).enumerate();
    others
        .filter(|(other, (_, state))| {
            *other != device && state.down_until.is_none() && !state.is_stuck()
        })
        .filter_map(|(_, (expected, state))| Some(left_to(own, (*expected)?, state.in_work)))
        .sum()
}

/// What a request was refused with by the library.
pub(crate) fn refusal_of(error: Error) -> Refusal {
    let code = match &error {
        Error::InvalidKey(_) | Error::InvalidInput(_) | Error::DecryptionFailed => {
            Code::InvalidArgument
        }
        Error::DeadlinePassed => Code::DeadlineExceeded,
        Error::Cancelled | Error::DeviceFailed { .. } => Code::Unavailable,
        _ => Code::Internal,
    };
    Refusal::new(code, error.to_string())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

const ENDS: &str = "the server is shutting down: try another one";
/// A device that fails so often in a row is left alone.
const FAILURES_MAX: u32 = 3;
/// For so long at first, and twice as long after as many failures more.
const PAUSE_MIN: Duration = Duration::from_millis(100);
/// Replies are not kept back for longer.
const HOLD_MAX: Duration = Duration::from_millis(3);
/// A client who is refused waits no longer than this until the server listens to it again.
const REST_MAX: Duration = Duration::from_millis(20);
/// The part of the line where each client has one place at most.
const LAST_PART: usize = 16;
/// So many times the room that is left, a client may have waiting: one alone fills eight ninths of
/// the line.
const ROOMS_MAX: usize = 8;
const LATENCY_MAX: Duration = Duration::from_secs(3600);
const PER_SECOND_MIN: f64 = 1e-3;
const PER_SECOND_MAX: f64 = 1e9;
/// Larger batches are counted with those of this size.
const BATCH_COUNTED_MAX: usize = 64;
