//! What the dispatcher knows: the queue, the shapes of requests and the devices.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use oarlock::device::Shape;

use super::super::devices::DeviceWorkers;
use super::queue::{Expected, Queue};
use super::task::{ClientId, ShapeId, Task};

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

pub(super) struct State {
    pub(super) bounds: Bounds,
    pub(super) queue: Queue,
    pub(super) shapes: Vec<ShapeEntry>,
    pub(super) shape_ids: HashMap<(Shape, Origin), ShapeId>,
    pub(super) devices: Vec<DeviceState>,
    /// Requests of each client that have not been answered.
    pub(super) of_client: Vec<usize>,
    /// Of all clients.
    pub(super) unanswered: usize,
    pub(super) arrived: u64,
    /// Of what was let in last.
    pub(super) last_shape: ShapeId,
    pub(super) is_closed: bool,
    pub(super) is_over: bool,
}

pub(super) struct ShapeEntry {
    pub(super) shape: Shape,
    pub(super) origin: Origin,
    /// By device; none from those that cannot.
    pub(super) expected: Vec<Option<Expected>>,
}

pub(super) struct DeviceState {
    pub(super) idle: usize,
    pub(super) in_work: usize,
    /// By worker.
    pub(super) batches: Vec<Option<InWork>>,
    /// What batches took in the device beside what it had offered, by origin.
    pub(super) slowness: [f64; 2],
    /// Failures with keys of the server since it last did something right with one.
    pub(super) failed_since: u32,
    pub(super) down_until: Option<Instant>,
    /// A request is on its way to find out whether it is well again.
    pub(super) is_on_trial: bool,
    pub(super) by_size: Vec<u64>,
    pub(super) failures: u64,
}

pub(super) struct InWork {
    pub(super) tasks: Vec<Arc<Task>>,
    pub(super) began: Instant,
    /// Its tasks were given to others.
    pub(super) is_given_up: bool,
}

impl State {
    /// The number of a shape, and what devices offer for it.
    pub(super) fn shape(
        &mut self,
        shape: Shape,
        origin: Origin,
        drivers: &[DeviceWorkers],
    ) -> ShapeId {
        let key = (shape, origin);
        if let Some(id) = self.shape_ids.get(&key) {
            return *id;
        }
        let shape = &key.0;
        let id = self.shapes.len();
        let expected = drivers
            .iter()
            .map(|driver| offered(driver, shape))
            .collect();
        self.shapes.push(ShapeEntry {
            shape: shape.clone(),
            origin,
            expected,
        });
        self.shape_ids.insert(key, id);
        id
    }

    pub(super) fn origin_of(&self, task: &Task) -> Origin {
        self.shapes[task.shape].origin
    }

    /// One of a client has been answered.
    pub(super) fn forget(&mut self, client: ClientId) {
        self.of_client[client] = self.of_client[client].saturating_sub(1);
        self.unanswered = self.unanswered.saturating_sub(1);
    }
}

impl DeviceState {
    pub(super) fn new(workers: usize) -> Self {
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
}

pub(super) fn offered(driver: &DeviceWorkers, shape: &Shape) -> Option<Expected> {
    let offer = driver.device.offer(shape)?;
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

const LATENCY_MAX: Duration = Duration::from_secs(3600);

pub(super) const PER_SECOND_MIN: f64 = 1e-3;

const PER_SECOND_MAX: f64 = 1e9;

/// Larger batches are counted with those of this size.
const BATCH_COUNTED_MAX: usize = 64;
