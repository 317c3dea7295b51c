//! Devices without a queue: what they do keeps a thread of their own busy, so that one that hangs keeps
//! nobody else from going on.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::device::DeviceError;
use crate::device::queued::{BlockingDevice, QueueOffer, QueuedDevice, Task};
use crate::work::operation::Service;
use crate::work::request::PublicKeyRequest;
use oarlock_threads::pool::Background;
use oarlock_threads::pool::{Limits, Pool, Scheduling};
use oarlock_threads::process;

/// A queue in front of a [`BlockingDevice`], with one thread for each call that the device takes at once.
pub struct Blocking {
    shared: Arc<Shared>,
    /// Always there.
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
    /// Threads are made when there is something to do.
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

    /// One more wait than are worked on, for each.
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
        // A child has inherited this from its parent, and the lock may never be released.
        if self.generation != process::fork_generation() {
            return;
        }
        let (left, is_idle) = {
            let mut queue = self.shared.locked();
            (std::mem::take(&mut queue.tasks), queue.running == 0)
        };
        drop(left);
        if !is_idle {
            // To drop it would wait for a call that may never return.
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
            // A panic drops the task, which is then answered as failed.
            let running = Running(self);
            self.device.run(task);
            drop(running);
        }
    }

    /// No thread can be made, or the driver has panicked.
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
