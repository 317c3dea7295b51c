//! Workers: the threads that feed requests to devices.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use oarlock::Error;
use oarlock::device::complete;
use oarlock_engine::learn::Admission;
use tonic::Code;

use super::super::listener::spent;
use super::super::outbox::Outgoing;
use super::answer::{Answered, Output, Refusal, refusal_of};
use super::queue::{Expected, left_to};
use super::spin::Spin;
use super::state::{DeviceState, Driver, InWork, Lane, Origin, ShapeEntry, State};
use super::task::{DeviceId, Panicked, Refused, Request, ShapeId, Task, guarded};

pub(super) struct Inner {
    pub(super) drivers: Vec<Arc<Driver>>,
    pub(super) state: Mutex<State>,
    pub(super) spin: Spin,
}

/// A device and lane, and the number of its workers to wake.
pub(super) type ToWake = (DeviceId, Lane, usize);

/// The next step of a worker.
enum Next {
    Batch {
        tasks: Vec<Arc<Task>>,
        /// Whether the waiting requests are at least twice those of the batch.
        are_many_left: bool,
    },
    Nothing,
    Over,
}

impl Inner {
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    pub(super) fn wake(&self, devices: Vec<ToWake>) {
        for (device, lane, workers) in devices {
            for _ in 0..workers {
                self.drivers[device].wakeups[lane as usize].notify_one();
            }
        }
    }

    pub(super) fn work(&self, device: DeviceId, worker: usize) {
        let mut outgoing = Outgoing::default();
        let mut last = Duration::ZERO;
        loop {
            let next = match self.next(device, worker, false) {
                Next::Nothing => {
                    outgoing.release();
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
            // While many requests wait, the replies of one batch are sent with those of the next, so that their reader is
            // woken once for both.
            let age = outgoing.age();
            if age.is_some_and(|age| !are_many_left || age + last > HOLD_MAX) {
                outgoing.release();
            }
            let began = Instant::now();
            self.run(device, worker, &tasks, &mut outgoing);
            last = began.elapsed();
        }
    }

    /// Returns the next batch for a worker of a device.
    fn next(&self, device: DeviceId, worker: usize, may_wait: bool) -> Next {
        let lane = self.drivers[device].lane_of_worker(worker);
        let mut state = self.lock();
        loop {
            if state.is_over {
                return Next::Over;
            }
            let now = state.time(Instant::now());
            let (tasks, expected) = state.take(device, lane, now);
            if let Some(expected) = expected {
                let in_work = &mut state.devices[device];
                in_work.in_work += tasks.len();
                let expected_time = expected.time_of(in_work.in_work);
                in_work.batches[worker] = Some(InWork {
                    tasks: tasks.clone(),
                    cost: expected.cost(),
                    given: in_work.health.given(now, expected_time),
                    is_given_up: false,
                });
                let size = tasks.len().min(in_work.by_size.len() - 1);
                in_work.by_size[size] += 1;
                let are_many_left = state.queue.len() >= 2 * tasks.len();
                if state.devices[device].idle[Lane::Aside as usize] > 0 && state.queue.is_long_due()
                {
                    self.drivers[device].wakeups[Lane::Aside as usize].notify_one();
                }
                return Next::Batch {
                    tasks,
                    are_many_left,
                };
            }
            if !may_wait {
                return Next::Nothing;
            }
            if state.unanswered == 0 {
                // All replies are handed over, so the runtime's thread may spin.
                self.spin.begin(Instant::now());
            }
            state.devices[device].idle[lane as usize] += 1;
            state = self.drivers[device].wakeups[lane as usize]
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
            state.devices[device].idle[lane as usize] -= 1;
        }
    }

    fn run(&self, device: DeviceId, worker: usize, batch: &[Arc<Task>], outgoing: &mut Outgoing) {
        let driver = &*self.drivers[device];
        let (blocking, name) = (&driver.feeds.device, &driver.name);
        let is_together = blocking.answers_together();
        let began = Instant::now();
        let (tasks, requests) = self.checked(batch, began, outgoing);
        let (given, spent_before) = (Instant::now(), spent());
        let (mut failed, mut proven) = (Vec::new(), requests.len());
        let mut answer = |place: usize, result: Result<Output, Fault>| {
            let outcome = match result {
                Ok(output) => Ok(output),
                Err(Fault::Device(reason)) => return failed.push((place, reason)),
                Err(Fault::Request(refusal)) => Err(refusal),
                Err(Fault::Unproven(refusal)) => {
                    proven -= 1;
                    Err(refusal)
                }
            };
            let task = tasks[place];
            self.answer(task, answered(task, began, outcome, Some(name)), outgoing);
            if !is_together {
                outgoing.release();
            }
        };
        // A batch has one kind: powers, signatures or parts.
        let (mut powers, mut places) = (Vec::new(), Vec::new());
        for (place, request) in requests.iter().enumerate() {
            match request {
                Request::Power(power) => {
                    powers.push(power);
                    places.push(place);
                }
                Request::Signature(signature) => {
                    answer(place, computed(|| signature.make(name).map(Output::from)));
                }
                Request::Part(part) => {
                    answer(place, computed(|| part.compute(name).map(Output::Items)));
                }
            }
        }
        if !powers.is_empty() {
            complete(&**blocking, &powers, &mut |place, result| {
                answer(places[place], result.map(Output::from).map_err(fault_of))
            });
        }
        let took = match driver.feeds.is_host {
            true => spent().saturating_sub(spent_before),
            false => given.elapsed(),
        };
        let failed = (proven, failed);
        for (task, refusal) in self.leave((device, worker), &tasks, &requests, failed, took) {
            let refused = answered(task, began, Err(refusal), Some(name));
            self.answer(task, refused, outgoing);
        }
        if !is_together {
            outgoing.release();
        }
    }

    /// Creates the requests of a batch. Those whose numbers are refused are answered, and left out, as those are that are no
    /// longer wanted.
    fn checked<'a>(
        &self,
        batch: &'a [Arc<Task>],
        began: Instant,
        outgoing: &mut Outgoing,
    ) -> (Vec<&'a Arc<Task>>, Vec<&'a Request>) {
        let mut tasks = Vec::with_capacity(batch.len());
        let mut requests = Vec::with_capacity(batch.len());
        let mut refused = Vec::new();
        let mut checked = Vec::new();
        for task in batch {
            if !task.is_wanted() {
                refused.push((task, refusal_of(Error::Cancelled)));
                continue;
            }
            let began = Instant::now();
            let is_check = task.is_to_be_checked();
            let request = task.request();
            if is_check {
                checked.push((task.client, began.elapsed(), request.is_ok()));
            }
            match request {
                Ok(request) => {
                    tasks.push(task);
                    requests.push(request);
                }
                Err(refusal) => refused.push((task, refusal)),
            }
        }
        if !checked.is_empty() {
            let mut state = self.lock();
            for (client, time, were_right) in checked {
                state.queue.charge_more(client, time);
                if !were_right {
                    state.queue.judge(client, false);
                }
            }
        }
        for (task, refusal) in refused {
            let refused = answered(task, began, Err(refusal), None);
            self.answer(task, refused, outgoing);
        }
        (tasks, requests)
    }

    /// Records that a batch took a worker `took`, and that this number of its requests says something about the device.
    /// Passes the requests that failed, by place and with the reason, to other devices, and returns those that are refused
    /// instead.
    fn leave<'a>(
        &self,
        (device, worker): (DeviceId, usize),
        tasks: &[&'a Arc<Task>],
        requests: &[&Request],
        (proven, failed): (usize, Vec<(usize, String)>),
        took: Duration,
    ) -> Vec<(&'a Arc<Task>, Refusal)> {
        let Driver { name, feeds, .. } = &*self.drivers[device];
        let (mut refused, mut to_wake) = (Vec::new(), Vec::new());
        let mut state = self.lock();
        let now = state.time(Instant::now());
        let more = state.more_than_usual(device, tasks, took, now);
        if feeds.is_host && failed.is_empty() {
            state.settle(device, worker, tasks, took);
        }
        state.leave(device, worker, (proven, failed.len()), now);
        let first = tasks.first().map(|task| state.origin_of(task));
        if first == Some(Origin::Client) {
            let each = more / u32::try_from(failed.len().max(1)).unwrap_or(u32::MAX);
            for (place, task) in tasks.iter().enumerate() {
                let has_failed = failed.iter().any(|(failed, _)| *failed == place);
                if has_failed {
                    state.queue.charge_more(task.client, each);
                }
                state.queue.judge(task.client, !has_failed);
            }
        }
        for (place, reason) in failed {
            let task = tasks[place];
            if state.origin_of(task) == Origin::Client {
                tracing::debug!(device = &**name, reason, "failed with a client's numbers");
                refused.push((task, unfit(requests[place], name, &reason)));
                continue;
            }
            tracing::warn!(device = &**name, reason, "failed at a request");
            // The requests of a device that hung were given to others.
            let is_elsewhere = task.has_tried(device);
            task.note_failure(device);
            if is_elsewhere || task.is_answered() {
                continue;
            }
            if state.is_over || !state.has_another_device(task) {
                let message = format!("device {name} failed, and no other can take over: {reason}");
                refused.push((task, Refusal::new(Code::Unavailable, message)));
            } else {
                state.queue.push(Arc::clone(task), true);
                state.workers_to_wake(task.shape, now, &mut to_wake);
            }
        }
        drop(state);
        self.wake(to_wake);
        refused
    }

    /// Refuses tasks, each with the device that has it. Without another reason, its deadline has passed.
    pub(super) fn refuse(&self, tasks: Vec<Refused>, now: Instant) {
        let mut outgoing = Outgoing::default();
        for (task, device, refusal) in tasks {
            let waited = now.saturating_duration_since(task.arrived);
            let refusal = refusal.unwrap_or_else(|| {
                let message = match &device {
                    None => "its deadline passed before a device was free: send fewer requests at \
                             once, allow more time, or try another server"
                        .to_owned(),
                    Some(device) => format!("its deadline passed while device {device} had it"),
                };
                Refusal::new(Code::DeadlineExceeded, message)
            });
            let answered = Answered {
                device,
                ..Answered::refused(refusal, waited)
            };
            self.answer(&task, answered, &mut outgoing);
        }
    }

    /// Answers a task. It stops counting before its client receives the answer, because the client may then send another.
    pub(super) fn answer(&self, task: &Task, answered: Answered, outgoing: &mut Outgoing) {
        task.answer(answered, outgoing, |client| self.lock().forget(client));
    }
}

impl State {
    /// Returns the next batch for a free worker of a device, and its expected speed; nothing if the work is best left to
    /// other devices.
    pub(super) fn take(
        &mut self,
        device: DeviceId,
        lane: Lane,
        now: Duration,
    ) -> (Vec<Arc<Task>>, Option<Expected>) {
        let admission = self.devices[device].health.admits(now);
        if admission == Admission::No {
            return (Vec::new(), None);
        }
        let is_full = self.devices[device].is_full_of_long();
        let Self {
            queue,
            shapes,
            devices,
            ..
        } = self;
        let driver = &devices[device].driver;
        let own = |shape: ShapeId| shapes[shape].expected(device, devices, now);
        let may = |task: &Task| {
            let is_able = shapes[task.shape].offers[device].is_some();
            is_able && !task.has_tried(device) && task.is_wanted()
        };
        let is_of_lane = |task: &Task| driver.lane_of(task.is_long) == lane;
        let batch = queue.take(
            // Long requests wait for their client's turn.
            |task| lane == Lane::Aside && !is_of_lane(task) && may(task),
            |task| is_of_lane(task) && !(task.is_long && is_full) && may(task),
            |shape| left_to_others(&shapes[shape], device, devices, now),
            |shape, waiting| match admission {
                Admission::Trial => 1,
                _ => driver.batch_size(&shapes[shape].kind, waiting),
            },
            |shape| own(shape).map_or(Duration::ZERO, Expected::cost),
            |shape| shapes[shape].origin == Origin::Client,
        );
        let expected = batch.first().and_then(|task| own(task.shape));
        (batch, expected)
    }

    /// Charges clients for the time that a batch took, in place of its expected cost.
    fn settle(&mut self, device: DeviceId, worker: usize, tasks: &[&Arc<Task>], took: Duration) {
        let Some(batch) = &self.devices[device].batches[worker] else {
            return;
        };
        let (cost, size) = (batch.cost, u32::try_from(tasks.len()).unwrap_or(u32::MAX));
        for task in tasks {
            self.queue.settle(task.client, cost, took / size);
        }
    }

    /// Returns the time that a batch of one shape took beyond the device's expected time.
    fn more_than_usual(
        &self,
        device: DeviceId,
        tasks: &[&Arc<Task>],
        took: Duration,
        now: Duration,
    ) -> Duration {
        let entry = tasks.first().map(|task| &self.shapes[task.shape]);
        let expected = entry.and_then(|entry| entry.expected(device, &self.devices, now));
        expected.map_or(Duration::ZERO, |expected| {
            took.saturating_sub(expected.time_of(tasks.len()))
        })
    }

    /// Adds to `to_wake` the idle workers that have work, now that requests of this shape wait.
    pub(super) fn workers_to_wake(&self, shape: ShapeId, now: Duration, to_wake: &mut Vec<ToWake>) {
        let waiting = self.queue.len_of(shape);
        for (device, state) in self.devices.iter().enumerate() {
            let lane = state.driver.lane_of(self.shapes[shape].is_long);
            let idle = state.idle[lane as usize];
            if idle == 0 || self.shapes[shape].offers[device].is_none() {
                continue;
            }
            let left = left_to_others(&self.shapes[shape], device, &self.devices, now);
            // A request at which a device has failed is not left to others, least of all to that device.
            let own = waiting.saturating_sub(left).max(self.queue.tried_of(shape));
            if own > 0 {
                let size = state
                    .driver
                    .batch_size(&self.shapes[shape].kind, own)
                    .max(1);
                to_wake.push((device, lane, own.div_ceil(size).min(idle)));
            }
        }
    }
}

/// Returns the number of requests of a shape that a device leaves to faster devices that are well.
fn left_to_others(
    entry: &ShapeEntry,
    device: DeviceId,
    devices: &[DeviceState],
    now: Duration,
) -> usize {
    let Some(own) = entry.expected(device, devices, now) else {
        return 0;
    };
    let others = devices.iter().enumerate().filter(|(other, state)| {
        *other != device && state.health.is_trusted() && !state.is_stuck()
    });
    others
        .filter_map(|(other, state)| {
            let expected = entry.expected(other, devices, now)?;
            Some(left_to(own, expected, state.in_work))
        })
        .sum()
}

/// The reason why a request of a batch has no result.
enum Fault {
    /// The device failed.
    Device(String),
    /// The request is at fault, and the device has shown that it works.
    Request(Refusal),
    /// The request is refused, which says nothing about the device.
    Unproven(Refusal),
}

/// Computes on a worker itself. A panic that a request causes would occur on every device, so it is neither a failure of
/// this one nor tried on another.
fn computed(compute: impl FnOnce() -> Result<Output, Error>) -> Result<Output, Fault> {
    match guarded("the computation of a request", compute) {
        // Its request is already answered, so it computed nothing.
        Ok(Err(Error::Cancelled)) => Err(Fault::Unproven(refusal_of(Error::Cancelled))),
        Ok(result) => result.map_err(fault_of),
        Err(Panicked) => Err(Fault::Unproven(Refusal::new(Code::Internal, PANICKED))),
    }
}

fn fault_of(error: Error) -> Fault {
    match error {
        Error::DeviceFailed { reason, .. } => Fault::Device(reason),
        error => Fault::Request(refusal_of(error)),
    }
}

/// Returns the answer to a task that a worker began at `began`.
fn answered(
    task: &Task,
    began: Instant,
    outcome: Result<Output, Refusal>,
    device: Option<&Arc<str>>,
) -> Answered {
    Answered {
        outcome,
        waited: began.saturating_duration_since(task.arrived),
        served: began.elapsed(),
        device: device.cloned(),
    }
}

/// Returns the refusal for a client whose own numbers made a device fail.
fn unfit(request: &Request, device: &str, reason: &str) -> Refusal {
    let key = match request {
        Request::Power(power) => power.private_key(),
        Request::Signature(_) | Request::Part(_) => None,
    };
    let message = if key.is_some() {
        format!(
            "the result of this request's numbers failed its check (device {device}: {reason}): send \
             primes as p and q, and the other numbers of the same key"
        )
    } else {
        format!("device {device} could not compute with this request's numbers: {reason}")
    };
    Refusal::new(Code::InvalidArgument, message)
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

const PANICKED: &str = "the computation of this request failed: report it, and do not repeat it";

/// The longest time that replies are held back.
const HOLD_MAX: Duration = Duration::from_millis(3);
