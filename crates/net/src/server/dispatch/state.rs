//! What the dispatcher knows: the queue, the shapes of requests and the devices.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use oarlock::device::Shape;

use super::super::devices::DeviceWorkers;
use super::queue::{Expected, Queue};
use super::task::{ClientId, ShapeId, Task};

/// How much the dispatcher holds.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Requests that no worker has begun.
    pub waiting_max: usize,
    /// Unanswered requests of one client.
    pub per_client_max: usize,
    /// How long a device may take for a batch before it counts as hanging.
    pub hang: Duration,
}

/// Where the numbers of a request come from. It decides what a failure proves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// From a key of this server: a failure is the device's.
    Server,
    /// From the request itself: a failure proves nothing about the device.
    Client,
}

pub(super) struct State {
    pub(super) bounds: Bounds,
    pub(super) queue: Queue,
    pub(super) shapes: Vec<ShapeEntry>,
    pub(super) shape_ids: HashMap<(Shape, Origin), ShapeId>,
    pub(super) devices: Vec<DeviceState>,
    /// Unanswered requests of each client.
    pub(super) of_client: Vec<usize>,
    /// Unanswered requests of all clients.
    pub(super) unanswered: usize,
    pub(super) arrived: u64,
    /// The shape of the request admitted last.
    pub(super) last_shape: ShapeId,
    pub(super) is_closed: bool,
    pub(super) is_over: bool,
}

pub(super) struct ShapeEntry {
    pub(super) shape: Shape,
    pub(super) origin: Origin,
    /// By device; `None` for a device that cannot compute it.
    pub(super) expected: Vec<Option<Expected>>,
}

pub(super) struct DeviceState {
    pub(super) idle: usize,
    pub(super) in_work: usize,
    /// The batch of each worker.
    pub(super) batches: Vec<Option<InWork>>,
    /// How long batches took relative to the device's offer, by origin.
    pub(super) slowness: [f64; 2],
    /// Failures with the server's keys since its last success with one.
    pub(super) failed_since: u32,
    pub(super) down_until: Option<Instant>,
    /// A request is on its way to find out whether the device works again.
    pub(super) is_on_trial: bool,
    pub(super) by_size: Vec<u64>,
    pub(super) failures: u64,
}

pub(super) struct InWork {
    pub(super) tasks: Vec<Arc<Task>>,
    pub(super) began: Instant,
    /// Whether its tasks were given to other devices.
    pub(super) is_given_up: bool,
}

impl State {
    /// The number of a shape. The first call asks every device for its offer.
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

    /// Records that a request of a client was answered.
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
    // A driver may offer any value. Clamped, it still gives a finite time.
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

/// Larger batches count as batches of this size.
const BATCH_COUNTED_MAX: usize = 64;
