//! The state of the dispatcher: the queue, the shapes of requests and the devices.

use std::collections::HashMap;
use std::sync::{Arc, Condvar};
use std::time::{Duration, Instant};

use oarlock::device::{PublicKeyOperation, Shape};
use oarlock_engine::learn::{BackOff, BreakerRule, Fading, decayed};
use oarlock_engine::schedule::{Given, Health, Rules};

use super::super::devices::DeviceWorkers;
use super::super::signature;
use super::queue::{Expected, Queue};
use super::task::{ClientId, DeviceId, Kind, Panicked, ShapeId, Task, guarded};

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

impl Bounds {
    /// Returns the rules for the health of devices.
    pub(super) fn rules(&self) -> Rules {
        let hang_ns = u64::try_from(self.hang.as_nanos()).unwrap_or(u64::MAX);
        Rules {
            failures: FAILURES,
            stalls: BreakerRule {
                failures_max: 1,
                pause_ns: BackOff::doubling(hang_ns, hang_ns),
                ..FAILURES
            },
            // A result that is wrong is reported as an error.
            breaches: FAILURES,
            limit_min: self.hang,
            // A device that has become slower is seen to answer: late results are measured.
            doublings_max: 0,
        }
    }
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
    /// The origin of its times.
    pub(super) began: Instant,
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
    /// The offer of each device; `None` for a device that cannot compute the shape.
    pub(super) offers: Vec<Option<Expected>>,
    /// The devices whose offer is not known, since they panicked when asked.
    pub(super) unknown: Vec<DeviceId>,
    /// When they were asked.
    pub(super) asked: Instant,
}

/// A device and what wakes its workers.
pub(super) struct Driver {
    pub(super) feeds: DeviceWorkers,
    pub(super) name: Arc<str>,
    /// The condition variables of idle workers, by [`Lane`].
    pub(super) wakeups: [Condvar; 2],
}

pub(super) struct DeviceState {
    pub(super) driver: Arc<Driver>,
    /// The number of waiting workers, by [`Lane`].
    pub(super) idle: [usize; 2],
    pub(super) in_work: usize,
    /// The batch of each worker.
    pub(super) batches: Vec<Option<InWork>>,
    /// The time of batches relative to the device's offer, by origin.
    pub(super) slowness: [Slowness; 2],
    pub(super) health: Health,
    pub(super) by_size: Vec<u64>,
}

/// Measured over offered times.
#[derive(Default)]
pub(super) struct Slowness {
    /// `None` before the first measurement.
    mean: Option<f64>,
    fading: Fading,
}

impl Slowness {
    fn by(&self, now: Duration) -> f64 {
        self.mean.map_or(1.0, |mean| self.fading.by(now, mean))
    }

    pub(super) fn learn(&mut self, now: Duration, multiple: f64) {
        self.mean = Some(decayed(self.by(now), multiple.clamp(0.1, 100.0), 16.0));
        self.fading.measured(now);
    }
}

/// The requests that a worker takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lane {
    /// Short requests, and long ones if these have no workers of their own.
    Main,
    /// Long requests.
    Aside,
}

impl Driver {
    pub(super) fn new(feeds: DeviceWorkers) -> Self {
        Self {
            name: feeds.device.name().into(),
            feeds,
            wakeups: Default::default(),
        }
    }

    /// Returns the lane of a worker.
    pub(super) fn lane_of_worker(&self, worker: usize) -> Lane {
        match worker < self.feeds.workers {
            true => Lane::Main,
            false => Lane::Aside,
        }
    }

    /// Returns the lane of long or short requests.
    pub(super) fn lane_of(&self, is_long: bool) -> Lane {
        match self.feeds.is_host && is_long {
            true => Lane::Aside,
            false => Lane::Main,
        }
    }

    /// Returns the number of `waiting` requests that a worker takes at once. Signatures are computed one after the other,
    /// but several of them share the lock and the wake-up of their reader.
    pub(super) fn batch_size(&self, kind: &Kind, waiting: usize) -> usize {
        match kind {
            Kind::Power(shape) => {
                let size = || self.feeds.device.batch_size(shape, waiting);
                guarded(format_args!("{}: its batch size", self.name), size).unwrap_or(1)
            }
            Kind::Signature(key_type) => self.share(waiting, signature::batch_max(*key_type)),
            Kind::Part(class) => self.share(waiting, class.batch_max()),
        }
    }

    /// Returns a worker's share of `waiting` requests, at least one and `most` at most.
    fn share(&self, waiting: usize, most: usize) -> usize {
        (waiting / self.feeds.workers.max(1)).clamp(1, most)
    }

    /// Returns the offer of the device, if it can compute requests of this kind.
    pub(super) fn offer(&self, kind: &Kind) -> Result<Option<Expected>, Panicked> {
        let offer = match kind {
            Kind::Power(shape) => {
                let offer = || self.feeds.device.offer_public_key(shape);
                guarded(format_args!("{}: its offer", self.name), offer)?
            }
            Kind::Signature(key_type) => self.feeds.is_host.then(|| signature::offer(*key_type)),
            Kind::Part(class) => self.feeds.is_host.then(|| class.offer()),
        };
        let Some(offer) = offer else {
            return Ok(None);
        };
        // A driver may offer any value; clamping keeps the times finite.
        let per_second = if offer.per_second.is_nan() {
            PER_SECOND_MIN
        } else {
            offer.per_second.clamp(PER_SECOND_MIN, PER_SECOND_MAX)
        };
        Ok(Some(Expected {
            latency: offer.latency.min(LATENCY_MAX),
            per_second,
        }))
    }
}

pub(super) struct InWork {
    pub(super) tasks: Vec<Arc<Task>>,
    /// The cost of each task for its client.
    pub(super) cost: Duration,
    pub(super) given: Given,
    /// Whether its tasks were given to other devices.
    pub(super) is_given_up: bool,
}

impl State {
    /// Returns the number of a shape. The first call for a shape asks every device for its offer, and a later one asks those
    /// again that panicked.
    pub(super) fn shape(&mut self, kind: Kind, origin: Origin) -> ShapeId {
        let key = (kind, origin);
        if let Some(id) = self.shape_ids.get(&key) {
            let entry = &mut self.shapes[*id];
            if !entry.unknown.is_empty() && entry.asked.elapsed() >= ASK_AGAIN {
                entry.ask(&self.devices);
            }
            return *id;
        }
        let id = self.shapes.len();
        let mut entry = ShapeEntry::new(key.0.clone(), origin, self.devices.len());
        entry.ask(&self.devices);
        self.shapes.push(entry);
        self.shape_ids.insert(key, id);
        id
    }

    pub(super) fn origin_of(&self, task: &Task) -> Origin {
        self.shapes[task.shape].origin
    }

    /// Returns a time in the form that the devices' health takes.
    pub(super) fn time(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.began)
    }

    /// Records that a request of a client was answered.
    pub(super) fn forget(&mut self, client: ClientId) {
        self.of_client[client] = self.of_client[client].saturating_sub(1);
        self.unanswered = self.unanswered.saturating_sub(1);
    }
}

impl ShapeEntry {
    /// Creates the entry of a shape that no device has been asked for yet.
    pub(super) fn new(kind: Kind, origin: Origin, devices: usize) -> Self {
        Self {
            is_long: match &kind {
                Kind::Power(shape) => is_long(shape),
                Kind::Part(class) => class.is_long(),
                Kind::Signature(_) => false,
            },
            kind,
            origin,
            offers: vec![None; devices],
            unknown: (0..devices).collect(),
            asked: Instant::now(),
        }
    }

    /// Asks the devices whose offer is not known.
    fn ask(&mut self, devices: &[DeviceState]) {
        for device in std::mem::take(&mut self.unknown) {
            match devices[device].driver.offer(&self.kind) {
                Ok(offer) => self.offers[device] = offer,
                Err(Panicked) => self.unknown.push(device),
            }
        }
        self.asked = Instant::now();
    }

    /// Returns the devices that can compute the shape.
    pub(super) fn able(&self) -> impl Iterator<Item = DeviceId> {
        let offers = self.offers.iter().enumerate();
        offers.filter_map(|(device, offer)| offer.map(|_| device))
    }

    /// Returns the expected speed of a device: its offer, corrected by its requests' times.
    pub(super) fn expected(
        &self,
        device: DeviceId,
        devices: &[DeviceState],
        now: Duration,
    ) -> Option<Expected> {
        let offer = self.offers[device]?;
        let slowness = match self.kind {
            Kind::Power(_) => devices[device].slowness[self.origin as usize].by(now),
            // The device does not compute these.
            Kind::Signature(_) | Kind::Part(_) => 1.0,
        };
        Some(Expected {
            latency: offer.latency.mul_f64(slowness),
            per_second: offer.per_second / slowness,
        })
    }
}

impl DeviceState {
    pub(super) fn new(driver: &Arc<Driver>, bounds: &Bounds) -> Self {
        Self {
            driver: Arc::clone(driver),
            idle: [0; 2],
            in_work: 0,
            batches: (0..driver.feeds.threads()).map(|_| None).collect(),
            slowness: Default::default(),
            health: Health::new(bounds.rules()),
            by_size: vec![0; BATCH_COUNTED_MAX + 1],
        }
    }

    /// Returns the batches of the workers that take all requests, or all short ones.
    pub(super) fn main_batches(&self) -> &[Option<InWork>] {
        &self.batches[..self.driver.feeds.workers]
    }

    /// Whether a further long request would occupy the last worker that short ones need.
    pub(super) fn is_full_of_long(&self) -> bool {
        let DeviceWorkers {
            workers, is_host, ..
        } = self.driver.feeds;
        let batches = self.main_batches().iter().flatten();
        let long = batches.filter(|batch| batch.tasks.iter().any(|task| task.is_long));
        !is_host && long.count() >= (workers - 1).max(1)
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

/// Three failures in a row make a device down, for 0.1 s at first and up to 6.4 s. One request that succeeds makes it well
/// again.
const FAILURES: BreakerRule = BreakerRule {
    failures_max: 3,
    trials: 1,
    pause_ns: BackOff::doubling(PAUSE_NS_MIN, PAUSE_NS_MIN << 6),
};
const PAUSE_NS_MIN: u64 = 100_000_000;

/// The pause before a device that panicked is asked for its offer again.
const ASK_AGAIN: Duration = Duration::from_millis(100);

/// The most work of a short request: twice that of a prime of 2048 bits.
const SHORT_WORK_MAX: usize = 2 * 32 * 32 * 2048;

const LATENCY_MAX: Duration = Duration::from_secs(3600);

pub(super) const PER_SECOND_MIN: f64 = 1e-3;

const PER_SECOND_MAX: f64 = 1e9;

/// The largest batch size that is counted; larger batches count as this size.
const BATCH_COUNTED_MAX: usize = 64;
