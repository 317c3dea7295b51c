//! The health of devices: which results are evidence about a device, and where the requests of one that hangs go.

use std::sync::Arc;
use std::time::{Duration, Instant};

use oarlock_engine::learn::Admission;
use oarlock_engine::schedule::Fault;
use tonic::Code;

use super::answer::Refusal;
use super::state::{DeviceState, Origin, State};
use super::task::{DeviceId, Kind, Refused, ShapeId, Task};

impl DeviceState {
    /// Whether it takes no requests now: it is down, or its trial is under way.
    pub(super) fn is_gone(&self, now: Duration) -> bool {
        self.health.admits(now) == Admission::No
    }

    /// Whether all its workers hold batches that were given up.
    pub(super) fn is_stuck(&self) -> bool {
        let mut batches = self.main_batches().iter();
        batches.all(|batch| batch.as_ref().is_some_and(|batch| batch.is_given_up))
    }
}

impl State {
    /// Records that a worker has finished its batch, with the number of requests that say something about the device and of
    /// those that failed. Numbers that failed their check say nothing about it, nor does a computation that panicked
    /// or was not needed.
    pub(super) fn leave(
        &mut self,
        device: DeviceId,
        worker: usize,
        (given, failed): (usize, usize),
        now: Duration,
    ) {
        let state = &mut self.devices[device];
        let Some(batch) = state.batches[worker].take() else {
            return;
        };
        let size = batch.tasks.len();
        let in_work = state.in_work;
        state.in_work -= size;
        let Some(shape) = batch.tasks.first().map(|task| task.shape) else {
            return;
        };
        let entry = &mut self.shapes[shape];
        let (health, name) = (&mut state.health, &*state.driver.name);
        let was_right = given > 0 && failed == 0;
        let has_recovered = match entry.origin {
            Origin::Client => health.unproven(batch.given, was_right),
            Origin::Server if was_right => health.succeeded(now, batch.given),
            // Nothing is known about the device, so a trial does not prevent the next one.
            Origin::Server if failed == 0 => health.unproven(batch.given, false),
            Origin::Server => {
                for _ in 0..failed {
                    if health.failed(now, batch.given, Fault::Failed) {
                        tracing::warn!(device = name, "fails repeatedly: left alone for a while");
                    }
                }
                false
            }
        };
        if has_recovered {
            tracing::info!(device = name, "works again");
        }
        // The device computes powers alone, so nothing else says anything about its speed.
        if !was_right || !matches!(entry.kind, Kind::Power(_)) {
            return;
        }
        // The driver may have withdrawn its offer. If it panics, the last one stands.
        if let Ok(offer) = state.driver.offer(&entry.kind) {
            entry.offers[device] = offer;
        }
        // While a device holds more than it computes at once, the time includes its own queue.
        if let Some(offer) = entry.offers[device]
            && in_work as f64 <= offer.at_once()
        {
            let took = batch.given.took(now).as_secs_f64() / offer.time_of(size).as_secs_f64();
            state.slowness[entry.origin as usize].learn(now, took);
        }
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
    pub(super) fn give_up_hung(&mut self, device: DeviceId, now: Duration) -> bool {
        let DeviceState {
            batches, health, ..
        } = &mut self.devices[device];
        let patience = health.patience();
        let mut given_up = Vec::new();
        for batch in batches.iter_mut().flatten() {
            if batch.is_given_up || now < batch.given.due(patience) {
                continue;
            }
            batch.is_given_up = true;
            let shape = batch.tasks.first().map(|task| task.shape);
            match shape.map(|shape| self.shapes[shape].origin) {
                Some(Origin::Server) => {
                    for task in &batch.tasks {
                        health.failed(now, batch.given, Fault::Stalled);
                        given_up.push(Arc::clone(task));
                    }
                }
                // A trial that hangs does not prevent the next one.
                _ => {
                    health.unproven(batch.given, false);
                }
            }
        }
        let has_hung = !given_up.is_empty();
        for task in given_up {
            // If no other device can compute it, it stays here: an answer or a failure may still arrive before its deadline.
            if !task.is_answered() && self.has_another_device(&task) {
                task.note_failure(device);
                self.queue.push(task, true);
            }
        }
        has_hung
    }

    /// Removes the requests that wait for devices of which none is well. Their clients may try another server while there
    /// is time.
    pub(super) fn take_unserved(&mut self, now: Duration) -> Vec<Refused> {
        if self.devices.iter().all(|device| !device.is_gone(now)) {
            return Vec::new();
        }
        let (shapes, devices) = (&self.shapes, &self.devices);
        let unserved = self.queue.take_all(|task| {
            let mut able = shapes[task.shape].able();
            able.all(|device| task.has_tried(device) || devices[device].is_gone(now))
        });
        let unserved = unserved.into_iter().map(|task| {
            let refusal = self.out_of_order(task.shape);
            (task, None, Some(refusal))
        });
        unserved.collect()
    }

    /// Whether a device that has not failed at a task could compute it now.
    pub(super) fn has_another_device(&self, task: &Task) -> bool {
        let mut able = self.shapes[task.shape].able();
        able.any(|device| !task.has_tried(device) && self.devices[device].health.is_trusted())
    }

    /// Returns the refusal of requests for which no device is well.
    pub(super) fn out_of_order(&self, shape: ShapeId) -> Refusal {
        let able = self.shapes[shape].able();
        let names: Vec<_> = able.map(|id| &*self.devices[id].driver.name).collect();
        let message = format!("out of order: {}; try another server", names.join(", "));
        Refusal::new(Code::Unavailable, message)
    }
}
