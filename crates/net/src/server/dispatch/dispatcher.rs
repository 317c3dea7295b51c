//! The handle of the dispatcher.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tonic::Code;

use super::super::config::DEVICES_MAX;
use super::super::devices::DeviceWorkers;
use super::super::outbox::Outgoing;
use super::admit::{ENDS, Submission};
use super::answer::{Answered, Refusal};
use super::queue::Queue;
use super::spin::Spin;
use super::state::{Bounds, DeviceState, Driver, State};
use super::task::{ClientId, Task, pass_on};
use super::workers::{Inner, lock};

/// Admits requests and passes them to devices.
pub struct Dispatcher {
    inner: Arc<Inner>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// The state of a device.
#[derive(Clone, Debug)]
pub struct DeviceStatus {
    /// The name of the device.
    pub name: Arc<str>,
    /// The number of requests that the device has not answered yet.
    pub in_work: usize,
    /// Whether it receives no requests for now, because it failed or hangs.
    pub is_down: bool,
    /// The number of batches by size: `batches[n]` had `n` requests.
    pub batches: Vec<u64>,
    /// The number of failures with the server's own keys.
    pub failures: u64,
}

impl Dispatcher {
    /// Starts the workers of every device.
    ///
    /// # Errors
    /// There are more than 64 devices, or the system cannot start another thread.
    pub fn start(drivers: Vec<DeviceWorkers>, bounds: Bounds) -> std::io::Result<Self> {
        if drivers.len() > DEVICES_MAX {
            let what = format!("{} devices: at most {DEVICES_MAX}", drivers.len());
            return Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, what));
        }
        let drivers = drivers.into_iter().map(|one| Arc::new(Driver::new(one)));
        let drivers: Vec<_> = drivers.collect();
        let devices = drivers
            .iter()
            .map(|driver| DeviceState::new(driver, &bounds));
        let state = State {
            bounds,
            began: Instant::now(),
            queue: Queue::default(),
            shapes: Vec::new(),
            shape_ids: HashMap::new(),
            devices: devices.collect(),
            of_client: Vec::new(),
            unanswered: 0,
            arrived: 0,
            last_shape: 0,
            is_closed: false,
            is_over: false,
        };
        let inner = Arc::new(Inner {
            state: Mutex::new(state),
            spin: Spin::new(),
            drivers,
        });
        let dispatcher = Self {
            inner: Arc::clone(&inner),
            threads: Mutex::default(),
        };
        for (device, driver) in inner.drivers.iter().enumerate() {
            for worker in 0..driver.feeds.threads() {
                let inner = Arc::clone(&inner);
                let thread = std::thread::Builder::new()
                    .name(format!("{}-{worker}", driver.name))
                    .spawn(move || inner.work(device, worker))?;
                lock(&dispatcher.threads).push(thread);
            }
        }
        Ok(dispatcher)
    }

    /// Adds a client whose share of the devices is in proportion to `weight`.
    pub fn add_client(&self, weight: u32) -> ClientId {
        let mut state = self.inner.lock();
        let client = state.queue.add_client(weight);
        if client == state.of_client.len() {
            state.of_client.push(0);
        }
        client
    }

    /// Forgets a client that has nothing under way, and reuses its number. Returns false if it has something.
    pub fn remove_client(&self, client: ClientId) -> bool {
        let mut state = self.inner.lock();
        state.of_client[client] == 0 && state.queue.remove_client(client)
    }

    /// Returns the number of clients it knows.
    pub fn clients(&self) -> usize {
        self.inner.lock().queue.clients()
    }

    /// Changes a client's share.
    pub fn set_weight(&self, client: ClientId, weight: u32) {
        self.inner.lock().queue.set_weight(client, weight);
    }

    /// Changes the bounds. Requests already admitted stay.
    pub fn set_bounds(&self, bounds: Bounds) {
        let mut state = self.inner.lock();
        state.bounds = bounds;
        for device in &mut state.devices {
            device.health.rules = bounds.rules();
        }
    }

    /// Admits requests of a client. Refused requests are answered at once, with RESOURCE_EXHAUSTED if there is no room. In
    /// that case it returns how long the client should back off, until a good part of the queue has been served.
    pub fn admit(
        &self,
        client: ClientId,
        submissions: impl IntoIterator<Item = Submission>,
    ) -> Option<Duration> {
        let now = Instant::now();
        let (mut refused, mut pause) = (Vec::new(), None);
        let mut to_wake = Vec::new();
        {
            let mut state = self.inner.lock();
            let (mut shapes, mut own) = (Vec::new(), Vec::new());
            for submission in submissions {
                own.clear();
                own.push(state.shape(submission.work.kind(), submission.origin));
                for (work, _) in &submission.others {
                    own.push(state.shape(work.kind(), submission.origin));
                }
                match state.refusal(client, &own, now) {
                    Some(refusal) => {
                        if refusal.code == Code::ResourceExhausted {
                            pause = Some(state.back_off(own[0], now));
                        }
                        refused.push((submission.respond, refusal));
                    }
                    None => {
                        if state.unanswered == 0 {
                            self.inner.spin.end(now);
                        }
                        state.enter(client, &own, submission, now);
                        for shape in &own {
                            if !shapes.contains(shape) {
                                shapes.push(*shape);
                            }
                        }
                    }
                }
            }
            let time = state.time(now);
            for shape in shapes {
                state.workers_to_wake(shape, time, &mut to_wake);
            }
        }
        self.inner.wake(to_wake);
        let mut outgoing = Outgoing::default();
        for (respond, refusal) in refused {
            let refused = Answered::refused(refusal, Duration::ZERO);
            pass_on(respond, refused, &mut outgoing);
        }
        pause
    }

    /// Returns the refusal and the back-off if [`admit`](Self::admit) would refuse every request of a client for lack of
    /// room. It saves examining requests that would be refused anyway.
    pub fn no_room(&self, client: ClientId) -> Option<(Refusal, Duration)> {
        let state = self.inner.lock();
        let refusal = state.no_room(client)?;
        Some((refusal, state.back_off(state.last_shape, Instant::now())))
    }

    /// Answers requests whose deadline has passed, removes pieces of requests that are already answered, and takes requests
    /// back from devices that hang.
    /// Call it every few milliseconds.
    pub fn enforce_deadlines(&self) {
        let now = Instant::now();
        let (mut refused, mut to_wake) = (Vec::new(), Vec::new());
        {
            let mut state = self.inner.lock();
            let time = state.time(now);
            let is_over = |task: &Task| task.deadline <= now || !task.is_wanted();
            let over = state.queue.take_all(is_over).into_iter();
            refused.extend(over.map(|task| (task, None, None)));
            refused.extend(state.take_unserved(time));
            for (device, driver) in self.inner.drivers.iter().enumerate() {
                let late = state.late_in_work(device, now).into_iter();
                refused.extend(late.map(|task| (task, Some(Arc::clone(&driver.name)), None)));
                if state.give_up_hung(device, time) {
                    tracing::warn!(
                        device = &*driver.name,
                        "hangs: its requests go to other devices"
                    );
                }
            }
            for shape in 0..state.shapes.len() {
                if state.queue.len_of(shape) > 0 {
                    state.workers_to_wake(shape, time, &mut to_wake);
                }
            }
        }
        self.inner.wake(to_wake);
        self.inner.refuse(refused, now);
    }

    /// Spins on the calling thread while the next request may arrive soon.
    pub async fn spin_between_requests(&self) -> ! {
        loop {
            self.inner.spin.next().await;
            while self.inner.spin.is_young(Instant::now()) {
                tokio::task::yield_now().await;
            }
        }
    }

    /// Returns the number of requests that have not been answered.
    pub fn unanswered(&self) -> usize {
        self.inner.lock().unanswered
    }

    /// Returns the number of requests that no worker has begun.
    pub fn waiting(&self) -> usize {
        self.inner.lock().queue.len()
    }

    /// Returns the state of every device.
    pub fn devices(&self) -> Vec<DeviceStatus> {
        let state = self.inner.lock();
        let devices = state.devices.iter();
        devices
            .map(|device| DeviceStatus {
                name: Arc::clone(&device.driver.name),
                in_work: device.in_work,
                is_down: !device.health.is_trusted(),
                batches: device.by_size.clone(),
                failures: device.health.counts.failed + device.health.counts.stalled,
            })
            .collect()
    }

    /// Stops admitting requests. Those admitted before are still served.
    pub fn close(&self) {
        self.inner.lock().is_closed = true;
    }

    /// Ends the workers, and refuses the requests that are left.
    pub fn end(&self) {
        let left = {
            let mut state = self.inner.lock();
            state.is_closed = true;
            state.is_over = true;
            let mut left = state.queue.take_all(|_| true);
            let in_work = state.devices.iter().flat_map(|device| &device.batches);
            left.extend(in_work.flatten().flat_map(|batch| batch.tasks.clone()));
            left
        };
        let drivers = self.inner.drivers.iter();
        let wakeups = drivers.flat_map(|driver| &driver.wakeups);
        wakeups.for_each(Condvar::notify_all);
        let refusal = Refusal::new(Code::Unavailable, ENDS);
        let left = left.into_iter();
        let left = left.map(|task| (task, None, Some(refusal.clone())));
        self.inner.refuse(left.collect(), Instant::now());
        for thread in std::mem::take(&mut *lock(&self.threads)) {
            // A thread that is stuck in a device is left behind.
            let deadline = Instant::now() + Duration::from_millis(100);
            while !thread.is_finished() && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(1));
            }
            if thread.is_finished() {
                let _ = thread.join();
            }
        }
    }
}

impl Drop for Dispatcher {
    fn drop(&mut self) {
        self.end();
    }
}
