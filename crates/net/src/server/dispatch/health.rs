//! The health of devices: which failures count against a device, and when it is tried again.

use std::sync::Arc;
use std::time::{Duration, Instant};

use oarlock_engine::learn::decayed;
use tonic::Code;

use super::super::devices::DeviceWorkers;
use super::answer::Refusal;
use super::queue::Expected;
use super::state::{DeviceState, InWork, Origin, State, offered};
use super::task::{DeviceId, Kind, Task};

impl DeviceState {
    /// Whether it takes no requests now: it is down, or its trial is under way.
    pub(super) fn is_gone(&self, now: Instant) -> bool {
        let until = self.down_until;
        until.is_some_and(|until| now < until || self.is_on_trial)
    }

    /// Whether all its workers hold batches that were given up.
    pub(super) fn is_stuck(&self) -> bool {
        let mut batches = self.main_batches().iter();
        batches.all(|batch| batch.as_ref().is_some_and(|batch| batch.is_given_up))
    }

    /// Starts a trial with one request if the device is down and due for one. Returns whether it did.
    pub(super) fn begin_trial(&mut self) -> bool {
        let is_time = self.down_until.is_some_and(|until| until <= Instant::now());
        let begins = is_time && !self.is_on_trial;
        self.is_on_trial |= begins;
        begins
    }
}

impl State {
    /// Records that a worker has finished its batch, with the number of requests given to the device and of those that
    /// failed. Numbers that failed their check were not given to it.
    pub(super) fn leave(
        &mut self,
        device: DeviceId,
        worker: usize,
        (given, failed): (usize, usize),
        drivers: &[DeviceWorkers],
    ) {
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
        if given == 0 || failed > 0 && entry.origin == Origin::Client {
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
                    device = drivers[device].device.name(),
                    ?pause,
                    "fails repeatedly: left alone for a while"
                );
            }
            return;
        }
        if state.down_until.take().is_some() {
            tracing::info!(device = drivers[device].device.name(), "works again");
        }
        if entry.origin == Origin::Server {
            state.failed_since = 0;
        }
        // The device does not compute signatures, so they say nothing about its speed.
        if matches!(entry.kind, Kind::Signature(_)) {
            return;
        }
        let Some(offer) = offered(&drivers[device], &entry.kind) else {
            // The driver has withdrawn its offer.
            entry.expected[device] = None;
            return;
        };
        let slowness = &mut state.slowness[entry.origin as usize];
        // While a device holds more than it computes at once, the time includes its own queue.
        if before as f64 <= offer.at_once() {
            let usual = offer
                .latency
                .as_secs_f64()
                .max(size as f64 / offer.per_second);
            let latest = (batch.began.elapsed().as_secs_f64() / usual).clamp(0.1, 100.0);
            *slowness = decayed(*slowness, latest, 16.0);
        }
        entry.expected[device] = Some(Expected {
            latency: offer.latency.mul_f64(*slowness),
            per_second: offer.per_second / *slowness,
        });
    }

    /// Returns the requests in work whose deadline has passed.
    pub(super) fn late_in_work(&self, device: DeviceId, now: Instant) -> Vec<Arc<Task>> {
        let batches = self.devices[device].batches.iter().flatten();
        let tasks = batches.flat_map(|batch| &batch.tasks);
        let late = tasks.filter(|task| task.deadline <= now && !task.is_answered());
        late.cloned().collect()
    }

    /// Takes back requests that a device has held for too long, and marks the device as down. Returns whether there were
    /// any. Requests with a client's numbers stay with the device until their deadline: on another device they might hang
    /// too.
    pub(super) fn give_up_hung(&mut self, device: DeviceId, now: Instant) -> bool {
        let (hang, shapes) = (self.bounds.hang, &self.shapes);
        // A slow device does not hang just because deadlines are short.
        let limit = |batch: &InWork| {
            let expected = batch
                .tasks
                .first()
                .and_then(|task| shapes[task.shape].expected[device])
                .map(|expected| expected.latency.saturating_mul(HANG_FACTOR));
            hang.max(expected.unwrap_or_default())
        };
        let mut given_up = Vec::new();
        for batch in self.devices[device].batches.iter_mut().flatten() {
            if !batch.is_given_up && now.saturating_duration_since(batch.began) >= limit(batch) {
                batch.is_given_up = true;
                let tasks = batch.tasks.iter();
                let own = tasks.filter(|task| shapes[task.shape].origin == Origin::Server);
                given_up.extend(own.cloned());
            }
        }
        if given_up.is_empty() {
            return false;
        }
        let state = &mut self.devices[device];
        state.failures += given_up.len() as u64;
        state.down_until = Some(now + hang);
        // A trial that hangs does not prevent the next one.
        state.is_on_trial = false;
        for task in given_up {
            // If no other device can compute it, it stays here: an answer or a failure may still arrive before its deadline.
            if !task.is_answered() && self.has_another_device(&task) {
                task.note_failure(device);
                self.queue.push(task, true);
            }
        }
        true
    }

    /// Removes the requests that wait for devices of which none is well, each with those devices. Their clients may try
    /// another server while there is time.
    pub(super) fn take_unserved(&mut self, now: Instant) -> Vec<(Arc<Task>, Vec<DeviceId>)> {
        if self.devices.iter().all(|device| !device.is_gone(now)) {
            return Vec::new();
        }
        let Self {
            queue,
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
        let unserved = queue.take_all(is_unserved);
        unserved
            .into_iter()
            .map(|task| {
                let able = able(&task);
                (task, able)
            })
            .collect()
    }

    /// Whether a device that has not failed at a task could compute it now.
    pub(super) fn has_another_device(&self, task: &Task) -> bool {
        let devices = self.shapes[task.shape].expected.iter().enumerate();
        let mut able = devices.filter(|(device, expected)| {
            expected.is_some()
                && !task.has_tried(*device)
                && self.devices[*device].down_until.is_none()
        });
        able.next().is_some()
    }
}

pub(super) fn out_of_order(devices: &[DeviceId], drivers: &[DeviceWorkers]) -> Refusal {
    let names: Vec<_> = devices
        .iter()
        .map(|id| drivers[*id].device.name())
        .collect();
    let message = format!("out of order: {}; try another server", names.join(", "));
    Refusal::new(Code::Unavailable, message)
}

/// The number of consecutive failures after which a device is down.
const FAILURES_MAX: u32 = 3;

/// The time for which a device is down at first. It doubles with each doubling of the failures.
const PAUSE_MIN: Duration = Duration::from_millis(100);

/// A device hangs only after this many times the time expected for the shape of its batch.
const HANG_FACTOR: u32 = 16;
