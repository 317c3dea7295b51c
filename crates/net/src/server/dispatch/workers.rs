//! Workers: the threads that feed requests to devices.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use oarlock::Error;
use oarlock::device::complete;
use tonic::Code;

use super::super::devices::DeviceWorkers;
use super::super::listener::spent;
use super::super::outbox::Outgoing;
use super::super::signature;
use super::answer::{Answered, Refusal, refusal_of};
use super::queue::left_to;
use super::spin::Spin;
use super::state::{DeviceState, InWork, Lane, Origin, ShapeEntry, State};
use super::task::{DeviceId, Kind, Request, ShapeId, Task};

pub(super) struct Inner {
    pub(super) drivers: Vec<DeviceWorkers>,
    /// The name of each device.
    pub(super) names: Vec<Arc<str>>,
    /// The condition variables of idle workers, by device and [`Lane`].
    pub(super) wakeups: Vec<[Condvar; 2]>,
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
                self.wakeups[device][lane as usize].notify_one();
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
        let lane = Lane::of_worker(&self.drivers[device], worker);
        let mut state = self.lock();
        loop {
            if state.is_over {
                return Next::Over;
            }
            let (tasks, cost) = state.take(device, lane, &self.drivers);
            if !tasks.is_empty() {
                let in_work = &mut state.devices[device];
                in_work.in_work += tasks.len();
                in_work.batches[worker] = Some(InWork {
                    tasks: tasks.clone(),
                    cost,
                    began: Instant::now(),
                    is_given_up: false,
                });
                let size = tasks.len().min(in_work.by_size.len() - 1);
                in_work.by_size[size] += 1;
                let are_many_left = state.queue.len() >= 2 * tasks.len();
                if state.devices[device].idle[Lane::Aside as usize] > 0 && state.queue.is_long_due()
                {
                    self.wakeups[device][Lane::Aside as usize].notify_one();
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
            state = self.wakeups[device][lane as usize]
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
            state.devices[device].idle[lane as usize] -= 1;
        }
    }

    fn run(&self, device: DeviceId, worker: usize, batch: &[Arc<Task>], outgoing: &mut Outgoing) {
        let is_together = self.drivers[device].device.answers_together();
        let driver = &self.drivers[device].device;
        let name = &self.names[device];
        let began = Instant::now();
        let mut tasks = Vec::with_capacity(batch.len());
        let mut requests = Vec::with_capacity(batch.len());
        let mut refused = Vec::new();
        let mut checked = Vec::new();
        for task in batch {
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
            self.answer(
                task,
                Answered {
                    outcome: Err(refusal),
                    waited: began.saturating_duration_since(task.arrived),
                    served: began.elapsed(),
                    device: None,
                },
                outgoing,
            );
        }
        let (given, spent_before) = (Instant::now(), spent());
        let mut failed = Vec::new();
        let mut answer = |place: usize, result| {
            let task = tasks[place];
            match result {
                Err(Error::DeviceFailed { reason, .. }) => failed.push((place, reason)),
                result => {
                    let answered = Answered {
                        outcome: result.map_err(refusal_of),
                        waited: began.saturating_duration_since(task.arrived),
                        served: began.elapsed(),
                        device: Some(Arc::clone(name)),
                    };
                    self.answer(task, answered, outgoing);
                    if !is_together {
                        outgoing.release();
                    }
                }
            }
        };
        // A batch has one kind: either powers or signatures.
        let (mut powers, mut places) = (Vec::new(), Vec::new());
        for (place, request) in requests.iter().enumerate() {
            match request {
                Request::Power(power) => {
                    powers.push(power);
                    places.push(place);
                }
                Request::Signature(signature) => answer(place, signature.make(name)),
            }
        }
        if !powers.is_empty() {
            complete(&**driver, &powers, &mut |place, result| {
                answer(places[place], result)
            });
        }
        let (mut given_up, mut to_wake) = (Vec::new(), Vec::new());
        {
            let mut state = self.lock();
            let counts = (requests.len(), failed.len());
            let took = match self.drivers[device].is_host {
                true => spent().saturating_sub(spent_before),
                false => given.elapsed(),
            };
            let more = state.more_than_usual(device, &tasks, took);
            if self.drivers[device].is_host && failed.is_empty() {
                state.settle(device, worker, &tasks, took);
            }
            state.leave(device, worker, counts, &self.drivers);
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
                    given_up.push((task, unfit(requests[place], name, &reason)));
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
                    let message =
                        format!("device {name} failed, and no other can take over: {reason}");
                    given_up.push((task, Refusal::new(Code::Unavailable, message)));
                } else {
                    state.queue.push(Arc::clone(task), true);
                    state.workers_to_wake(task.shape, &self.drivers, &mut to_wake);
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
                outgoing,
            );
        }
        if !is_together {
            outgoing.release();
        }
    }

    /// Answers a task. It stops counting before its client receives the answer, because the client may then send another.
    pub(super) fn answer(&self, task: &Task, answered: Answered, outgoing: &mut Outgoing) {
        task.answer(answered, outgoing, |client| self.lock().forget(client));
    }
}

impl State {
    /// Returns the next batch for a free worker of a device, and the cost of each task; empty if the work is best left to
    /// other devices.
    pub(super) fn take(
        &mut self,
        device: DeviceId,
        lane: Lane,
        drivers: &[DeviceWorkers],
    ) -> (Vec<Arc<Task>>, Duration) {
        let is_down = self.devices[device].down_until.is_some();
        if is_down && !self.devices[device].begin_trial() {
            return (Vec::new(), Duration::ZERO);
        }
        let driver = &drivers[device];
        let is_full = !driver.is_host && self.devices[device].is_full_of_long();
        let Self {
            queue,
            shapes,
            devices,
            ..
        } = self;
        let own = |shape: ShapeId| shapes[shape].expected[device];
        let cost = |shape: ShapeId| {
            own(shape).map_or(Duration::ZERO, |own| {
                Duration::from_secs_f64(own.per_second.recip())
            })
        };
        let may = |task: &Task| {
            own(task.shape).is_some() && !task.has_tried(device) && !task.is_answered()
        };
        let is_of_lane = |task: &Task| Lane::of(driver, task.is_long) == lane;
        let batch = queue.take(
            // Long requests wait for their client's turn.
            |task| lane == Lane::Aside && !is_of_lane(task) && may(task),
            |task| is_of_lane(task) && !(task.is_long && is_full) && may(task),
            |shape| left_to_others(&shapes[shape], device, devices),
            |shape, waiting| {
                let size = batch_size(driver, &shapes[shape].kind, waiting);
                if is_down { 1 } else { size }
            },
            cost,
            |shape| shapes[shape].origin == Origin::Client,
        );
        if is_down && batch.is_empty() {
            devices[device].is_on_trial = false;
        }
        let cost = batch
            .first()
            .map_or(Duration::ZERO, |task| cost(task.shape));
        (batch, cost)
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
    fn more_than_usual(&self, device: DeviceId, tasks: &[&Arc<Task>], took: Duration) -> Duration {
        let shape = tasks.first().map(|task| task.shape);
        let expected = shape.and_then(|shape| self.shapes[shape].expected[device]);
        expected.map_or(Duration::ZERO, |expected| {
            let all = Duration::from_secs_f64(tasks.len() as f64 / expected.per_second);
            took.saturating_sub(expected.latency.max(all))
        })
    }

    /// Adds to `to_wake` the idle workers that have work, now that requests of this shape wait.
    pub(super) fn workers_to_wake(
        &self,
        shape: ShapeId,
        drivers: &[DeviceWorkers],
        to_wake: &mut Vec<ToWake>,
    ) {
        let waiting = self.queue.len_of(shape);
        for (device, state) in self.devices.iter().enumerate() {
            let lane = Lane::of(&drivers[device], self.shapes[shape].is_long);
            let idle = state.idle[lane as usize];
            if idle == 0 || self.shapes[shape].expected[device].is_none() {
                continue;
            }
            let left = left_to_others(&self.shapes[shape], device, &self.devices);
            // A request at which a device has failed is not left to others, least of all to that device.
            let own = waiting.saturating_sub(left).max(self.queue.tried_of(shape));
            if own > 0 {
                let size = batch_size(&drivers[device], &self.shapes[shape].kind, own).max(1);
                to_wake.push((device, lane, own.div_ceil(size).min(idle)));
            }
        }
    }
}

/// Returns the number of `waiting` requests that a worker takes at once. Signatures are computed one after the other, but
/// several of them share the lock and the wake-up of their reader.
fn batch_size(driver: &DeviceWorkers, kind: &Kind, waiting: usize) -> usize {
    match kind {
        Kind::Power(shape) => driver.device.batch_size(shape, waiting),
        Kind::Signature(key_type) => {
            let most = signature::batch_max(*key_type);
            (waiting / driver.workers.max(1)).clamp(1, most)
        }
    }
}

/// Returns the number of requests of a shape that a device leaves to faster devices that are well.
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

/// Returns the refusal for a client whose own numbers made a device fail.
fn unfit(request: &Request, device: &str, reason: &str) -> Refusal {
    let key = match request {
        Request::Power(power) => power.private_key(),
        Request::Signature(_) => None,
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

/// The longest time that replies are held back.
const HOLD_MAX: Duration = Duration::from_millis(3);
