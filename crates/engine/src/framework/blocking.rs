//! Devices without a queue. Their calls block pool threads of their own, so a device that hangs delays no other device.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::device::interface::{Device, QueueOffer, Task};
use crate::device::{BlockingDevice, DeviceError};
use crate::work::operation::Service;
use crate::work::request::PublicKeyRequest;
use oarlock_threads::pool::Background;
use oarlock_threads::pool::{Limits, Pool, Scheduling};
use oarlock_threads::process;

/// A queue in front of a [`BlockingDevice`], with one thread for each call that the device accepts at once.
pub struct Blocking {
    shared: Arc<Shared>,
    /// `None` only during drop.
    pool: Option<Pool>,
    generation: usize,
}

struct Shared {
    device: Arc<dyn BlockingDevice>,
    capacity: usize,
    queue: Mutex<Queue>,
}

#[derive(Default)]
struct Queue {
    tasks: VecDeque<Task>,
    servers: usize,
    running: usize,
}

impl Blocking {
    /// Creates the queue. Threads start with the first task.
    pub fn new(device: Arc<dyn BlockingDevice>) -> Self {
        let capacity = device.capacity().clamp(1, CAPACITY_MAX);
        let pool = Pool::new(Limits {
            min_threads: 0,
            max_threads: capacity,
            spin: false,
            scheduling: Scheduling::Normal,
            is_guest: false,
            at_end: crate::aws_lc::leave_thread,
        });
        Self {
            shared: Arc::new(Shared {
                device,
                capacity,
                queue: Mutex::default(),
            }),
            pool: Some(pool),
            generation: process::fork_generation(),
        }
    }
}

impl Device for Blocking {
    fn name(&self) -> &str {
        self.shared.device.name()
    }

    /// Returns how many tasks may run and wait: for each running call, one more task waits.
    fn depth(&self) -> usize {
        2 * self.shared.capacity
    }

    fn offer(&self, service: Service) -> Option<QueueOffer> {
        self.shared.device.offer(service)
    }

    fn offer_public_key(&self, request: &PublicKeyRequest) -> Option<QueueOffer> {
        let offer = self.shared.device.offer_public_key(&request.shape())?;
        // A driver may offer any value.
        let per_request = Duration::try_from_secs_f64(1.0 / offer.per_second).ok()?;
        Some(QueueOffer {
            latency: offer.latency.saturating_sub(per_request),
            per_request,
            key_setup: Duration::ZERO,
            bytes_per_second: u64::MAX,
        })
    }

    fn submit(&self, task: Task) -> Result<(), Task> {
        let is_needed = {
            let mut queue = self.shared.locked();
            if queue.tasks.len() + queue.running >= self.depth() {
                return Err(task);
            }
            queue.tasks.push_back(task);
            let is_needed = queue.servers < self.shared.capacity;
            queue.servers += usize::from(is_needed);
            is_needed
        };
        if is_needed && let Some(pool) = &self.pool {
            pool.in_jobs(Arc::clone(&self.shared) as Arc<dyn Background>);
        }
        Ok(())
    }
}

impl Drop for Blocking {
    fn drop(&mut self) {
        // A forked child inherits the lock in any state, and no thread there may release it.
        if self.generation != process::fork_generation() {
            return;
        }
        let (left, is_idle) = {
            let mut queue = self.shared.locked();
            (std::mem::take(&mut queue.tasks), queue.running == 0)
        };
        drop(left);
        if !is_idle {
            // Dropping the pool would wait for a call that may never return.
            std::mem::forget(self.pool.take());
        }
    }
}

impl Shared {
    fn locked(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the next batch: the first task and, if it is for a public key, others of its shape up to the device's batch
    /// size. Returns an empty batch if no task waits.
    fn next_batch(&self, tasks: &mut VecDeque<Task>) -> Vec<Task> {
        let mut batch = Vec::from_iter(tasks.pop_front());
        let shape = |task: &Task| task.public_key().map(|request| request.shape());
        let Some(first) = batch.first().and_then(shape) else {
            return batch;
        };
        let is_alike = |task: &Task| shape(task).as_ref() == Some(&first);
        let waiting = 1 + tasks.iter().filter(|task| is_alike(task)).count();
        let size = self.device.batch_size(&first, waiting);
        let mut at = 0;
        while batch.len() < size && at < tasks.len() {
            match is_alike(&tasks[at]) {
                true => batch.extend(tasks.remove(at)),
                false => at += 1,
            }
        }
        batch
    }

    fn run_public_key(&self, batch: Vec<Task>, requests: Vec<Arc<PublicKeyRequest>>) {
        let requests: Vec<_> = requests.iter().map(|request| &**request).collect();
        let mut batch: Vec<_> = batch.into_iter().map(Some).collect();
        self.device.run_public_key(&requests, &mut |place, power| {
            if let Some(task) = batch.get_mut(place).and_then(Option::take) {
                task.complete_power(power);
            }
        });
    }
}

impl Background for Shared {
    fn work(&self, _: &mut dyn FnMut() -> bool) -> bool {
        loop {
            let mut batch = {
                let mut queue = self.locked();
                let batch = self.next_batch(&mut queue.tasks);
                if batch.is_empty() {
                    queue.servers = queue.servers.saturating_sub(1);
                    return false;
                }
                queue.running += batch.len();
                batch
            };
            // If the driver panics, the tasks are dropped, and their drop answers the requests as failed.
            let running = Running(self, batch.len());
            match batch.iter().map(Task::shared_public_key).collect() {
                Some(requests) => self.run_public_key(batch, requests),
                None => batch.drain(..).for_each(|task| self.device.run(task)),
            }
            drop(running);
        }
    }

    /// Fails all waiting tasks: no thread can start, or the driver has panicked.
    fn refused(&self) {
        let left = {
            let mut queue = self.locked();
            queue.servers = queue.servers.saturating_sub(1);
            std::mem::take(&mut queue.tasks)
        };
        for task in left {
            task.complete(Err(DeviceError("there is no thread for it".into())));
        }
    }
}

/// Tasks that a thread runs, with their number.
struct Running<'a>(&'a Shared, usize);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.locked().running -= self.1;
    }
}

const CAPACITY_MAX: usize = 64;
