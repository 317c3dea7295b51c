//! Devices without a queue. Their calls block pool threads of their own, so a device that hangs delays no other device.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::device::DeviceError;
use crate::device::queued::{BlockingDevice, QueueOffer, QueuedDevice, Task};
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

impl QueuedDevice for Blocking {
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
        self.shared.device.offer_public_key(request)
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
}

impl Background for Shared {
    fn work(&self, _: &mut dyn FnMut() -> bool) -> bool {
        loop {
            let task = {
                let mut queue = self.locked();
                let Some(task) = queue.tasks.pop_front() else {
                    queue.servers = queue.servers.saturating_sub(1);
                    return false;
                };
                queue.running += 1;
                task
            };
            // If the driver panics, the task is dropped, and its drop answers the request as failed.
            let running = Running(self);
            self.device.run(task);
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

struct Running<'a>(&'a Shared);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.locked().running -= 1;
    }
}

const CAPACITY_MAX: usize = 64;
