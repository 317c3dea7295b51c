//! A device of the framework: its offers, the tasks it has under way, and its health.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use super::parcel::Flight;
use super::rates::{Expected, Rates, Window};
use crate::costs::published::{DeviceState, ShownDevice};
use crate::device::interface::{Device, QueueOffer};
use crate::learn::{Admission, BackOff, BreakerRule};
use crate::schedule::{Fault, Given, Health, Rules};
use crate::work::operation::Service;
use oarlock_threads::page::DeviceFigure;

/// The share of a device's results that is checked on the CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// Computes one result in this many again on the CPU and compares; 0 means none. Tags that a device finds wrong and
    /// results of private keys are always checked.
    Sample(u32),
    /// Every result is computed again: for tests and suspect devices.
    All,
}

/// A registered device.
pub(super) struct Member {
    pub(super) device: Arc<dyn Device>,
    pub(super) name: Arc<str>,
    pub(super) id: u64,
    depth: usize,
    check: Check,
    checks: AtomicU64,
    offers: RwLock<BTreeMap<Service, Option<QueueOffer>>>,
    pub(super) rates: Rates,
    /// Shared with earlier registrations under this name.
    pub(super) health: Arc<Mutex<Health>>,
    /// The device's figures on the shared page.
    pub(super) shown: ShownDevice,
    under_way: Mutex<UnderWay>,
    /// The expected time of the requests under way, in ns.
    pending_ns: AtomicU64,
    /// The number of tasks that the device has.
    tasks: AtomicUsize,
    pub(super) has_left: AtomicBool,
}

#[derive(Default)]
struct UnderWay {
    tasks: BTreeMap<u64, Outstanding>,
    next: u64,
    window: Window,
}

/// A task given to a device.
pub(super) struct Outstanding {
    pub(super) flight: Arc<Flight>,
    pub(super) attempt: u32,
    given: Given,
    share: Duration,
    /// Whether the device had nothing else when it was sent.
    was_alone: bool,
    /// Whether the task was taken away from the device.
    is_lost: bool,
    service: Service,
    bytes: usize,
}

/// A request to be taken away from the device, by its attempt.
type Overdue = (Arc<Flight>, u32, Given);

/// The expected times of a request on this device.
#[derive(Clone, Copy)]
pub(super) struct Estimate {
    /// The time until the answer.
    pub(super) completion: Duration,
    pub(super) expected: Expected,
}

impl Member {
    pub(super) fn new(
        device: Arc<dyn Device>,
        id: u64,
        check: Check,
        health: Arc<Mutex<Health>>,
        shown: ShownDevice,
    ) -> Self {
        Self {
            name: device.name().into(),
            depth: device.depth().max(1),
            device,
            id,
            check,
            checks: AtomicU64::new(0),
            offers: RwLock::default(),
            rates: Rates::new(),
            health,
            shown,
            under_way: Mutex::default(),
            pending_ns: AtomicU64::new(0),
            tasks: AtomicUsize::new(0),
            has_left: AtomicBool::new(false),
        }
    }

    /// Changes the device's health and publishes the figures.
    pub(super) fn with_health<T>(&self, change: impl FnOnce(&mut Health) -> T) -> T {
        let mut health = self.health.lock().unwrap_or_else(PoisonError::into_inner);
        let result = change(&mut health);
        if !self.has_left.load(Ordering::Relaxed) {
            health.show(self.shown);
        }
        result
    }

    /// Returns the device's offer for a service, asked once and cached.
    pub(super) fn offer(&self, service: Service) -> Option<QueueOffer> {
        let offers = self.offers.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(offer) = offers.get(&service) {
            return *offer;
        }
        drop(offers);
        let offer = self.device.offer(service);
        let mut offers = self.offers.write().unwrap_or_else(PoisonError::into_inner);
        *offers.entry(service).or_insert(offer)
    }

    /// Estimates when the device would answer a request. `None` if it has no room.
    pub(super) fn estimate(
        &self,
        now: Duration,
        (service, bytes): (Service, usize),
        offer: &QueueOffer,
        has_key: bool,
    ) -> Option<Estimate> {
        if self.tasks.load(Ordering::Relaxed) >= self.depth {
            return None;
        }
        let mut expected = self.rates.expected(now, (service, bytes), offer);
        if !has_key {
            expected.alone += offer.key_setup;
        }
        let pending = Duration::from_nanos(self.pending_ns.load(Ordering::Relaxed));
        Some(Estimate {
            completion: pending + expected.alone,
            expected,
        })
    }

    pub(super) fn admits(&self, now: Duration) -> Admission {
        if self.has_left.load(Ordering::Relaxed) {
            return Admission::No;
        }
        self.with_health(|health| health.admits(now))
    }

    /// Records a task before it goes to the device, and returns its number.
    pub(super) fn enter(
        &self,
        now: Duration,
        estimate: &Estimate,
        flight: &Arc<Flight>,
        attempt: u32,
        (service, bytes): (Service, usize),
    ) -> u64 {
        let given = self.with_health(|health| health.given(now, estimate.completion));
        let share = estimate.expected.share;
        let mut under_way = self.under_way();
        let number = under_way.next;
        under_way.next += 1;
        let was_alone = under_way.tasks.is_empty();
        under_way.tasks.insert(
            number,
            Outstanding {
                flight: Arc::clone(flight),
                attempt,
                given,
                share,
                was_alone,
                is_lost: false,
                service,
                bytes,
            },
        );
        self.note_tasks(under_way.tasks.len());
        self.pending_ns
            .fetch_add(share.as_nanos() as u64, Ordering::Relaxed);
        number
    }

    /// Removes a task that was answered or returned. `None` if it was settled before.
    pub(super) fn settle(&self, number: u64, now: Duration, is_measured: bool) -> Option<Given> {
        let mut under_way = self.under_way();
        let task = under_way.tasks.remove(&number)?;
        let is_busy = !under_way.tasks.is_empty();
        let what = (task.service, task.bytes);
        under_way
            .window
            .answered(&self.rates, now, is_busy && is_measured, what, task.share);
        self.note_tasks(under_way.tasks.len());
        drop(under_way);
        self.pending_ns
            .fetch_sub(task.share.as_nanos() as u64, Ordering::Relaxed);
        if is_measured && !task.is_lost && task.was_alone {
            self.rates
                .learn_alone(now, (task.service, task.bytes), task.given.took(now));
        }
        Some(task.given)
    }

    /// Returns overdue tasks, each once, and when the next becomes overdue. They still count as the device's until it
    /// answers.
    pub(super) fn overdue(&self, now: Duration) -> (Vec<Overdue>, Option<Duration>) {
        let patience = self.with_health(|health| health.patience());
        let mut under_way = self.under_way();
        let mut overdue = Vec::new();
        let mut next: Option<Duration> = None;
        for task in under_way.tasks.values_mut().filter(|task| !task.is_lost) {
            let due = task.given.due(patience);
            if due <= now {
                task.is_lost = true;
                overdue.push((Arc::clone(&task.flight), task.attempt, task.given));
            } else {
                next = Some(next.map_or(due, |next| next.min(due)));
            }
        }
        (overdue, next)
    }

    /// Marks the device as gone and takes away all its tasks.
    pub(super) fn leave(&self) -> Vec<(Arc<Flight>, u32)> {
        self.has_left.store(true, Ordering::Relaxed);
        self.shown.set_state(DeviceState::Left);
        self.shown.set(DeviceFigure::InFlight, 0);
        let mut under_way = self.under_way();
        let tasks = under_way.tasks.values_mut().filter(|task| !task.is_lost);
        tasks
            .map(|task| {
                task.is_lost = true;
                (Arc::clone(&task.flight), task.attempt)
            })
            .collect()
    }

    fn note_tasks(&self, count: usize) {
        self.tasks.store(count, Ordering::Relaxed);
        if !self.has_left.load(Ordering::Relaxed) {
            self.shown.set(DeviceFigure::InFlight, count as u64);
        }
    }

    pub(super) fn has_tasks(&self) -> bool {
        self.tasks.load(Ordering::Relaxed) > 0
    }

    /// Whether to compute the next result again.
    pub(super) fn is_to_be_checked(&self) -> bool {
        match self.check {
            Check::All => true,
            Check::Sample(0) => false,
            Check::Sample(one_in) => {
                let number = self.checks.fetch_add(1, Ordering::Relaxed);
                number.is_multiple_of(one_in.into())
            }
        }
    }

    pub(super) fn failed(&self, now: Duration, given: Given, fault: Fault, reason: &str) {
        if self.with_health(|health| health.failed(now, given, fault)) {
            log::warn!(
                "device {}: {reason}; it gets no requests for a while",
                self.name
            );
        }
    }

    fn under_way(&self) -> MutexGuard<'_, UnderWay> {
        self.under_way
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Three failures in a row open the breaker, for 50 ms at first and up to 51 s.
const FAILURES: BreakerRule = BreakerRule {
    failures_max: 3,
    trials: 3,
    pause_ns: BackOff::doubling(OPEN_NS_MIN, OPEN_NS_MIN << 10),
};
/// One breach opens it, for longer: the next one may go unnoticed.
const BREACHES: BreakerRule = BreakerRule {
    failures_max: 1,
    trials: FAILURES.trials,
    pause_ns: BackOff::doubling(20 * OPEN_NS_MIN, 20 * (OPEN_NS_MIN << 10)),
};
const OPEN_NS_MIN: u64 = 50_000_000;
pub(super) const RULES: Rules = Rules {
    failures: FAILURES,
    stalls: FAILURES,
    breaches: BREACHES,
    limit_min: Duration::ZERO,
    doublings_max: 10,
};
