//! Requests in flight: which device gets one, whether its answer is accepted, and which device is next if it fails.
//!
//! ```text
//! submit ── cheap enough ──────────────► here, now
//!    │
//!    └─ choose: the device that is expected to be done first
//!         ├─ the CPU: its queue, which pool threads and waiting callers empty in groups
//!         └─ a device: a copy of the data goes there
//!              answer ─► is it this request's?  was nothing written past the end?  is the tag right?
//!                          ├─ yes: the result is copied into the request's buffers, which go back
//!                          └─ no:  the request goes to the next device; nothing of it was changed
//! ```
//!
//! Each request lies in a [`Slot`]; of the parties that want to end it, exactly one gets it. A device only has a copy, so a
//! late or wrong write never reaches the request.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};
use std::time::{Duration, Instant};

use zeroize::Zeroizing;

use super::local::{Entry, Local};
use super::member::{Check, Estimate, Member, RULES};
use super::parcel::{Content, Flight, Parcel};
use super::request::{Answer, OperationStats, Place};
use super::verdict::{Verdict, judge};
use super::watch::Watch;
use crate::Error;
use crate::costs::published::{DeviceState, Other, ShownDevice};
use crate::device::DeviceError;
use crate::device::interface::{Bounce, Device, Sink, Task, What};
use crate::learn::Admission;
use crate::plan::engine::Engine;
use crate::schedule::{Fault, Health};
use crate::work::algorithm::Direction;
use crate::work::buffers::Buffers;
use crate::work::operation::Service;
use oarlock_threads::once::wake;
use oarlock_threads::page::{DeviceFigure, Gauge};
use oarlock_threads::process;

/// The state that all sessions of a framework share.
pub(super) struct Core {
    pub(super) engine: Arc<Engine>,
    members: RwLock<Vec<Arc<Member>>>,
    /// The number of members, readable without the lock.
    members_count: AtomicUsize,
    next_member: AtomicU64,
    /// The health of every device ever registered, by name.
    health: Mutex<BTreeMap<String, Arc<Mutex<Health>>>>,
    in_flight: AtomicUsize,
    in_flight_max: usize,
    pub(super) local: Local,
    pub(super) watch: Watch,
    totals: Mutex<BTreeMap<(Arc<str>, Service), OperationStats>>,
    /// The figures that the shared page shows for requests computed on the CPU.
    shown_cpu: ShownDevice,
    began: Instant,
    pub(super) is_closed: AtomicBool,
    generation: usize,
    pub(super) itself: Weak<Self>,
}

enum Choice {
    Here,
    Queue(Duration),
    Member(Arc<Member>, Estimate),
}

impl Core {
    pub(super) fn new(engine: Arc<Engine>, in_flight_max: usize) -> Arc<Self> {
        process::watch_forks();
        let shown_cpu = engine.shown.device("cpu");
        shown_cpu.set_state(DeviceState::Closed);
        Arc::new_cyclic(|itself| Self {
            engine,
            members: RwLock::default(),
            members_count: AtomicUsize::new(0),
            next_member: AtomicU64::new(0),
            health: Mutex::default(),
            in_flight: AtomicUsize::new(0),
            in_flight_max,
            local: Local::new(Weak::clone(itself)),
            watch: Watch::new(Weak::clone(itself)),
            totals: Mutex::default(),
            shown_cpu,
            began: Instant::now(),
            is_closed: AtomicBool::new(false),
            generation: process::fork_generation(),
            itself: Weak::clone(itself),
        })
    }

    pub(super) fn now(&self) -> Duration {
        self.began.elapsed()
    }

    pub(super) fn register(&self, device: Arc<dyn Device>, check: Check) -> Result<(), Error> {
        let name = device.name().to_owned();
        let health = {
            let mut known = self.health.lock().unwrap_or_else(PoisonError::into_inner);
            let health = known.entry(name.clone());
            Arc::clone(health.or_insert_with(|| Arc::new(Mutex::new(Health::new(RULES)))))
        };
        let id = self.next_member.fetch_add(1, Ordering::Relaxed);
        let shown = self.engine.shown.device(&name);
        let member = Arc::new(Member::new(device, id, check, health, shown));
        let mut members = self.members.write().unwrap_or_else(PoisonError::into_inner);
        let is_cpu = ["cpu", "software"].contains(&&*name);
        if is_cpu || members.iter().any(|other| *other.name == *name) {
            return Err(Error::InvalidInput(format!(
                "a device named {name:?} is registered already: withdraw it first"
            )));
        }
        member.with_health(|_| ());
        members.push(member);
        self.members_count.store(members.len(), Ordering::Relaxed);
        Ok(())
    }

    /// Removes a device; its requests move to others. Returns whether it was registered.
    pub(super) fn withdraw(&self, name: &str) -> bool {
        let mut members = self.members.write().unwrap_or_else(PoisonError::into_inner);
        let Some(at) = members.iter().position(|member| *member.name == *name) else {
            return false;
        };
        let member = members.remove(at);
        self.members_count.store(members.len(), Ordering::Relaxed);
        drop(members);
        for (flight, attempt) in member.leave() {
            self.give_elsewhere(&flight, attempt, &member);
        }
        true
    }

    pub(super) fn members(&self) -> Vec<Arc<Member>> {
        self.members
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub(super) fn has_members(&self) -> bool {
        self.members_count.load(Ordering::Relaxed) > 0
    }

    /// Reserves a place for one more request in flight. Returns false if the limit is reached.
    pub(super) fn reserve(&self) -> bool {
        let max = self.in_flight_max;
        let counted = self.in_flight.fetch_add(1, Ordering::Relaxed);
        if counted >= max {
            self.in_flight.fetch_sub(1, Ordering::Relaxed);
            self.engine.shown.add(Gauge::Refused, 1);
        } else {
            self.engine.shown.add(Gauge::InFlight, 1);
        }
        counted < max
    }

    pub(super) fn unreserve(&self) {
        self.in_flight.fetch_sub(1, Ordering::Relaxed);
        self.engine.shown.add(Gauge::InFlight, -1);
    }

    pub(super) fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::Relaxed)
    }

    /// Returns an error in a forked child of the creating process: locks may never be released there.
    pub(super) fn check_process(&self) -> Result<(), Error> {
        if self.generation == process::fork_generation() {
            return Ok(());
        }
        Err(Error::InvalidInput(
            "the framework was made before a fork: make one in the child".into(),
        ))
    }

    /// Sends a request, which the caller has claimed, to the device that is expected to finish it first.
    pub(super) fn dispatch(&self, flight: &Arc<Flight>, mut parcel: Parcel) {
        loop {
            if self.is_closed.load(Ordering::Relaxed) {
                if let Content::Data { session, .. } = &parcel.what {
                    for (flight, mut link) in session.take_links() {
                        link.is_link = false;
                        self.finish(&flight, link, Err(Error::Cancelled), None);
                    }
                }
                return self.finish(flight, parcel, Err(Error::Cancelled), None);
            }
            match self.choose(&parcel) {
                Choice::Here => return self.compute(flight, parcel),
                Choice::Queue(cost) => {
                    let class = parcel.class();
                    let attempt = flight.slot.put(parcel);
                    return self.local.push(
                        &self.engine,
                        Entry {
                            flight: Arc::clone(flight),
                            attempt,
                            class,
                            cost,
                        },
                    );
                }
                Choice::Member(member, estimate) => {
                    match self.give(flight, parcel, &member, &estimate) {
                        Ok(()) => return self.watch.attend(estimate.completion),
                        Err(back) => {
                            parcel = back;
                            parcel.passed.push(member.id);
                        }
                    }
                }
            }
        }
    }

    /// Chooses the device that is expected to finish first, given each queue and the time a wake-up takes.
    fn choose(&self, parcel: &Parcel) -> Choice {
        let (service, bytes) = (parcel.service(), parcel.bytes());
        let compute = self.local.cost(parcel);
        let is_first = parcel.passed.is_empty();
        match parcel.place {
            Place::Auto if is_first && compute <= HERE_MAX && !parcel.is_later => {
                return Choice::Here;
            }
            Place::Together
                if is_first
                    && compute <= APART_MAX
                    && !parcel.is_later
                    && parcel.class().is_none() =>
            {
                return Choice::Here;
            }
            Place::Here if !parcel.is_later => return Choice::Here,
            Place::Here => return Choice::Queue(compute),
            Place::Queue => return Choice::Queue(compute),
            _ => {}
        }
        let mut best: Option<(Arc<Member>, Estimate)> = None;
        if self.has_members() && !parcel.is_for_the_cpu_alone() {
            let now = self.now();
            let members = self.members.read().unwrap_or_else(PoisonError::into_inner);
            for member in members.iter() {
                if parcel.passed.contains(&member.id) {
                    continue;
                }
                let (offer, has_key) = match &parcel.what {
                    Content::Data { session, .. } => {
                        (member.offer(service), session.is_home(member.id))
                    }
                    Content::PublicKey(request) => (member.device.offer_public_key(request), true),
                };
                let Some(offer) = offer else { continue };
                let admission = member.admits(now);
                if admission == Admission::No {
                    continue;
                }
                let Some(estimate) = member.estimate(now, (service, bytes), &offer, has_key) else {
                    continue;
                };
                // A half-open device gets its trial whether it is fast or not.
                if admission == Admission::Trial {
                    best = Some((Arc::clone(member), estimate));
                    break;
                }
                if best
                    .as_ref()
                    .is_none_or(|(_, best)| estimate.completion < best.completion)
                {
                    best = Some((Arc::clone(member), estimate));
                }
            }
        }
        let local = self.local.completion(&self.engine, compute);
        match best {
            Some((member, estimate))
                if parcel.place == Place::Device || estimate.completion < local =>
            {
                Choice::Member(member, estimate)
            }
            _ => Choice::Queue(compute),
        }
    }

    /// Submits a copy to a device. Returns the request if the device has no room.
    #[allow(clippy::result_large_err)] // The caller sends it to the next device.
    fn give(
        &self,
        flight: &Arc<Flight>,
        parcel: Parcel,
        member: &Arc<Member>,
        estimate: &Estimate,
    ) -> Result<(), Parcel> {
        let sink = Arc::new(Attempt {
            core: Weak::clone(&self.itself),
            flight: Arc::clone(flight),
            member: Arc::clone(member),
            attempt: AtomicU32::new(0),
            number: AtomicU64::new(0),
        });
        let what = (parcel.service(), parcel.bytes());
        let task = match &parcel.what {
            Content::Data {
                session,
                step,
                buffers,
            } => {
                session.set_home(member.id);
                let what = What::Data {
                    material: Arc::clone(&session.material),
                    step: step.clone(),
                };
                let tag = step.layout.tag..step.layout.tag + session.material.tag_bytes();
                let fill = |bounce: &mut [u8]| {
                    buffers.gather(bounce);
                    if step.direction == Direction::Decrypt {
                        bounce[tag].fill(0);
                    }
                };
                Task::new(
                    what,
                    buffers.len(),
                    fill,
                    Arc::clone(&sink) as Arc<dyn Sink>,
                )
            }
            Content::PublicKey(request) => {
                let what = What::PublicKey(Arc::clone(request));
                Task::new(what, 0, |_| (), Arc::clone(&sink) as Arc<dyn Sink>)
            }
        };
        let attempt = flight.slot.put(parcel);
        let number = member.enter(self.now(), estimate, flight, attempt, what);
        sink.attempt.store(attempt, Ordering::Relaxed);
        sink.number.store(number, Ordering::Release);
        // The device may leave after it was chosen; its departure then missed this task.
        let refused = if member.has_left.load(Ordering::Acquire) {
            Err(task)
        } else {
            member.device.submit(task)
        };
        let Err(task) = refused else { return Ok(()) };
        task.recall();
        if let Some(given) = member.settle(number, self.now(), false) {
            member.with_health(|health| health.refused(given));
        }
        // The caller may have cancelled the request by now.
        match flight.slot.claim(attempt) {
            Some(parcel) => Err(parcel),
            None => Ok(()),
        }
    }

    /// Claims a request from an attempt and sends it to a device other than `member`.
    pub(super) fn give_elsewhere(&self, flight: &Arc<Flight>, attempt: u32, member: &Member) {
        if let Some(mut parcel) = flight.slot.claim(attempt) {
            parcel.passed.push(member.id);
            self.dispatch(flight, parcel);
        }
    }

    /// Computes a request on the calling thread.
    fn compute(&self, flight: &Arc<Flight>, mut parcel: Parcel) {
        let outcome = self.local.compute(&mut parcel);
        self.done(flight, parcel, outcome);
    }

    pub(super) fn finish(
        &self,
        flight: &Arc<Flight>,
        parcel: Parcel,
        outcome: Result<(), Error>,
        device: Option<Arc<str>>,
    ) {
        self.finish_with(flight, parcel, outcome, device, Zeroizing::default());
    }

    pub(super) fn finish_with(
        &self,
        flight: &Arc<Flight>,
        parcel: Parcel,
        outcome: Result<(), Error>,
        device: Option<Arc<str>>,
        power: Zeroizing<Vec<u8>>,
    ) {
        if let Some(device) = &device {
            self.show(device, &parcel);
            self.count(
                Arc::clone(device),
                parcel.service(),
                OperationStats {
                    requests: 1,
                    bytes: parcel.bytes() as u64,
                    refused: outcome.is_err().into(),
                    time: self.now().saturating_sub(parcel.began),
                },
            );
        }
        let is_link = parcel.is_link;
        let buffers = match parcel.what {
            Content::Data {
                session,
                step,
                buffers,
            } => {
                if is_link {
                    // Start the next link before answering: the receiver then finds the session ready.
                    for (flight, parcel) in session.link_done(&step, &buffers, outcome.is_ok()) {
                        self.dispatch(&flight, parcel);
                    }
                }
                buffers
            }
            Content::PublicKey(_) => Buffers::default(),
        };
        let answer = Answer {
            buffers,
            power,
            outcome,
            device: device.unwrap_or_else(|| "".into()),
        };
        self.unreserve();
        if let Some(waker) = flight.slot.finish(Ok(answer)) {
            wake(waker);
        }
    }

    /// Counts a request in the figures that other processes see.
    fn show(&self, device: &str, parcel: &Parcel) {
        let shown = self.engine.shown;
        let bytes = parcel.bytes();
        let is_local = ["cpu", "software"].contains(&device);
        if is_local {
            self.shown_cpu.add(DeviceFigure::Given, 1);
            self.shown_cpu.add(DeviceFigure::Done, 1);
            self.shown_cpu.add(DeviceFigure::Bytes, bytes as u64);
        }
        let direction = match &parcel.what {
            Content::Data { step, .. } => step.direction,
            Content::PublicKey(_) => Direction::Encrypt,
        };
        let other = match parcel.service() {
            Service::Cipher(algorithm) | Service::Aead(algorithm) => {
                return shown.count(algorithm, direction, bytes);
            }
            Service::Mac(_) => Other::Hmac,
            Service::Digest(_) => Other::Hash,
            Service::Chained { .. } => Other::Chained,
            Service::Random => Other::Random,
            // The lanes have already counted it.
            Service::PublicKey if is_local => return,
            Service::PublicKey => Other::PublicKey,
        };
        shown.count_other(other, direction, 1, bytes as u64);
    }

    pub(super) fn count(&self, device: Arc<str>, service: Service, counts: OperationStats) {
        let mut totals = self.totals.lock().unwrap_or_else(PoisonError::into_inner);
        *totals.entry((device, service)).or_default() += counts;
    }

    pub(super) fn totals(&self) -> BTreeMap<(String, Service), OperationStats> {
        let totals = self.totals.lock().unwrap_or_else(PoisonError::into_inner);
        let counts = totals
            .iter()
            .map(|((device, service), counts)| ((device.to_string(), *service), *counts));
        counts.collect()
    }

    pub(super) fn health_of(&self, name: &str) -> Option<Arc<Mutex<Health>>> {
        let known = self.health.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(name).cloned()
    }

    pub(super) fn known_devices(&self) -> Vec<String> {
        let known = self.health.lock().unwrap_or_else(PoisonError::into_inner);
        known.keys().cloned().collect()
    }

    /// Completes a request that a thread of this process computed.
    pub(super) fn done(
        &self,
        flight: &Arc<Flight>,
        parcel: Parcel,
        outcome: Result<Zeroizing<Vec<u8>>, Error>,
    ) {
        let device = Some(parcel.local_device());
        match outcome {
            Ok(power) => self.finish_with(flight, parcel, Ok(()), device, power),
            Err(error) => self.finish(flight, parcel, Err(error), device),
        }
    }

    /// Polls the devices and takes overdue requests away from them. Returns when to look again, or `None` if nothing is
    /// under way.
    pub(super) fn look(&self) -> Option<Duration> {
        let mut next: Option<Duration> = None;
        let mut sooner = |time: Duration| {
            next = Some(next.map_or(time, |next| next.min(time)));
        };
        for member in self.members() {
            // Read the clock before the poll, so that a device has answered all it completed by then.
            let now = self.now();
            if let Some(wait) = member.device.poll() {
                sooner(wait);
            }
            if !member.has_tasks() {
                continue;
            }
            let (overdue, due) = member.overdue(now);
            for (flight, attempt, given) in overdue {
                member.failed(now, given, Fault::Stalled, "it does not answer in time");
                self.give_elsewhere(&flight, attempt, &member);
            }
            if let Some(due) = due {
                sooner(due.saturating_sub(now));
            }
        }
        next
    }
}

/// Receives the answer of a task.
struct Attempt {
    /// Weak: a device that never answers must not keep the framework alive.
    core: Weak<Core>,
    flight: Arc<Flight>,
    member: Arc<Member>,
    attempt: AtomicU32,
    number: AtomicU64,
}

impl Sink for Attempt {
    fn answer(&self, bounce: Bounce, result: Result<(), DeviceError>) {
        let Some(core) = self.core.upgrade() else {
            return;
        };
        let member = &self.member;
        let number = self.number.load(Ordering::Acquire);
        let now = core.now();
        let settled = member.settle(number, now, result.is_ok());
        let claimed = self.flight.slot.claim(self.attempt.load(Ordering::Relaxed));
        let (Some(given), Some(mut parcel)) = (settled, claimed) else {
            member.with_health(|health| {
                health.counts.late += 1;
                // A trial whose caller has cancelled it is followed by another.
                settled.map(|given| health.unproven(given, false))
            });
            return;
        };
        match judge(&core.local, member, &mut parcel, bounce, result) {
            Verdict::Done(power) => {
                member.with_health(|health| health.succeeded(now, given));
                let bytes = parcel.bytes() as u64;
                member.shown.add(DeviceFigure::Bytes, bytes);
                let name = Some(Arc::clone(&member.name));
                core.finish_with(&self.flight, parcel, Ok(()), name, power);
            }
            Verdict::Refused(error) => {
                member.with_health(|health| health.succeeded(now, given));
                let name = Some(Arc::clone(&member.name));
                core.finish(&self.flight, parcel, Err(error), name);
            }
            Verdict::Unproven(reason) => {
                member.with_health(|health| health.unproven(given, false));
                let device = member.name.to_string();
                let error = Error::DeviceFailed { device, reason };
                let name = Some(Arc::clone(&member.name));
                core.finish(&self.flight, parcel, Err(error), name);
            }
            Verdict::Fault(fault, reason) => {
                member.failed(core.now(), given, fault, &reason);
                parcel.passed.push(member.id);
                core.dispatch(&self.flight, parcel);
            }
        }
    }
}

/// Requests below this time are computed by the calling thread: queueing one and collecting its result costs about as much,
/// and waking a thread ten times as much.
const HERE_MAX: Duration = Duration::from_nanos(2000);
/// Requests of a batch up to this time are computed at once unless grouping helps them: queueing costs over 1 us.
const APART_MAX: Duration = Duration::from_nanos(1000);

/// Cancels what is in flight when the last handle is dropped.
pub(super) struct Closer(pub(super) Arc<Core>);

impl Drop for Closer {
    fn drop(&mut self) {
        let core = &self.0;
        // A forked child inherits the locks in any state, and no thread there may release them.
        if core.check_process().is_err() {
            return;
        }
        core.is_closed.store(true, Ordering::Relaxed);
        core.watch.close();
        let waiting = core.local.drain().into_iter();
        let waiting = waiting.map(|entry| (entry.flight, entry.attempt));
        let given = core.members().into_iter();
        let given = given.flat_map(|member| {
            let left = member.leave();
            core.withdraw(&member.name);
            left
        });
        for (flight, attempt) in waiting.chain(given) {
            if let Some(parcel) = flight.slot.claim(attempt) {
                core.finish(&flight, parcel, Err(Error::Cancelled), None);
            }
        }
    }
}
