//! The state of the dispatcher: the queue, the shapes of requests and the devices.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use oarlock::device::{PublicKeyOperation, Shape};

use super::super::devices::DeviceWorkers;
use super::super::signature;
use super::queue::{Expected, Queue};
use super::task::{ClientId, Kind, ShapeId, Task};

/// The limits of the dispatcher.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// The most requests that no worker has begun.
    pub waiting_max: usize,
    /// The most unanswered requests of one client.
    pub per_client_max: usize,
    /// The time for a batch after which a device counts as hanging.
    pub hang: Duration,
}

/// The source of a request's numbers. It decides what a failure proves.
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
    pub(super) shape_ids: HashMap<(Kind, Origin), ShapeId>,
    pub(super) devices: Vec<DeviceState>,
    /// The number of unanswered requests of each client.
    pub(super) of_client: Vec<usize>,
    /// The number of unanswered requests of all clients.
    pub(super) unanswered: usize,
    pub(super) arrived: u64,
    /// The shape of the request admitted last.
    pub(super) last_shape: ShapeId,
    pub(super) is_closed: bool,
    pub(super) is_over: bool,
}

pub(super) struct ShapeEntry {
    pub(super) kind: Kind,
    pub(super) origin: Origin,
    /// Whether its requests take long.
    pub(super) is_long: bool,
    /// The expected speed by device; `None` for a device that cannot compute the shape.
    pub(super) expected: Vec<Option<Expected>>,
}

pub(super) struct DeviceState {
    /// The number of waiting workers, by [`Lane`].
    pub(super) idle: [usize; 2],
    pub(super) in_work: usize,
    workers: usize,
    /// The batch of each worker.
    pub(super) batches: Vec<Option<InWork>>,
    /// The time of batches relative to the device's offer, by origin.
    pub(super) slowness: [f64; 2],
    /// The number of failures with the server's keys since its last success with one.
    pub(super) failed_since: u32,
    pub(super) down_until: Option<Instant>,
    /// Whether a request is under way that tries whether the device works again.
    pub(super) is_on_trial: bool,
    pub(super) by_size: Vec<u64>,
    pub(super) failures: u64,
}

/// The requests that a worker takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lane {
    /// Short requests, and long ones if these have no workers of their own.
    Main,
    /// Long requests.
    Aside,
}

impl Lane {
    /// Returns the lane of a worker.
    pub(super) fn of_worker(driver: &DeviceWorkers, worker: usize) -> Self {
        match worker < driver.workers {
            true => Self::Main,
            false => Self::Aside,
        }
    }

    /// Returns the lane of long or short requests.
    pub(super) fn of(driver: &DeviceWorkers, is_long: bool) -> Self {
        match driver.is_host && is_long {
            true => Self::Aside,
            false => Self::Main,
        }
    }
}

pub(super) struct InWork {
    pub(super) tasks: Vec<Arc<Task>>,
    /// The cost of each task for its client.
    pub(super) cost: Duration,
    pub(super) began: Instant,
    /// Whether its tasks were given to other devices.
    pub(super) is_given_up: bool,
}

impl State {
    /// Returns the number of a shape. The first call for a shape asks every device for its offer.
    pub(super) fn shape(
        &mut self,
        kind: Kind,
        origin: Origin,
        drivers: &[DeviceWorkers],
    ) -> ShapeId {
        let key = (kind, origin);
        if let Some(id) = self.shape_ids.get(&key) {
            return *id;
        }
        let kind = &key.0;
        let id = self.shapes.len();
        let expected = drivers.iter().map(|driver| offered(driver, kind)).collect();
        self.shapes.push(ShapeEntry {
            kind: kind.clone(),
            origin,
            is_long: matches!(kind, Kind::Power(shape) if is_long(shape)),
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
    pub(super) fn new(driver: &DeviceWorkers) -> Self {
        Self {
            idle: [0; 2],
            in_work: 0,
            workers: driver.workers,
            batches: (0..driver.threads()).map(|_| None).collect(),
            slowness: [1.0; 2],
            failed_since: 0,
            down_until: None,
            is_on_trial: false,
            by_size: vec![0; BATCH_COUNTED_MAX + 1],
            failures: 0,
        }
    }

    /// Returns the batches of the workers that take all requests, or all short ones.
    pub(super) fn main_batches(&self) -> &[Option<InWork>] {
        &self.batches[..self.workers]
    }

    /// Whether a further long request would occupy the last worker that short ones need.
    pub(super) fn is_full_of_long(&self) -> bool {
        let batches = self.main_batches().iter().flatten();
        let long = batches.filter(|batch| batch.tasks.iter().any(|task| task.is_long));
        long.count() >= (self.workers - 1).max(1)
    }
}

/// Whether a request takes a CPU longer than any operation with a key of 4096 bits and its primes. Multiplication takes the
/// square of the length, and there is one for each bit of the exponent.
fn is_long(shape: &Shape) -> bool {
    let is_alone = matches!(
        shape.operation,
        PublicKeyOperation::Power | PublicKeyOperation::PrivateByExponent
    );
    let limbs = shape.modulus_bits.div_ceil(64);
    is_alone && limbs * limbs * shape.exponent_bits > SHORT_WORK_MAX
}

pub(super) fn offered(driver: &DeviceWorkers, kind: &Kind) -> Option<Expected> {
    let offer = match kind {
        Kind::Power(shape) => driver.device.offer_public_key(shape)?,
        Kind::Signature(key_type) => driver.is_host.then(|| signature::offer(*key_type))?,
    };
    // A driver may offer any value; clamping keeps the times finite.
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

/// The most work of a short request: twice that of a prime of 2048 bits.
const SHORT_WORK_MAX: usize = 2 * 32 * 32 * 2048;

const LATENCY_MAX: Duration = Duration::from_secs(3600);

pub(super) const PER_SECOND_MIN: f64 = 1e-3;

const PER_SECOND_MAX: f64 = 1e9;

/// The largest batch size that is counted; larger batches count as this size.
const BATCH_COUNTED_MAX: usize = 64;
