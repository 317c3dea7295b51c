//! The queue: decides which request is next, and which requests a device leaves to another.
//!
//! **Fair shares** (start-time fair queueing, Goyal, Vin and Cheng 1996): serving a client advances its virtual time by the
//! cost divided by its weight. The client furthest behind is next. Idle clients accrue no credit: a client that returns
//! starts at the present. Within a client, urgent requests come first, then the oldest.
//!
//! **Devices of different speed**: a worker of a slower device leaves the front of the queue to the faster devices: the
//! number of requests that they will complete before it would complete one. So a lone request never waits for a slow device,
//! a burst spreads over all devices, and under steady load every device is busy.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use super::task::{ClientId, ShapeId, Task};

/// The expected speed of a device for a shape.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Expected {
    pub(super) latency: Duration,
    pub(super) per_second: f64,
}

impl Expected {
    /// Returns the number of requests in a busy device (Little's law).
    pub(super) fn at_once(self) -> f64 {
        (self.per_second * self.latency.as_secs_f64()).max(1.0)
    }

    /// Returns the time that a request takes of a busy device.
    pub(super) fn cost(self) -> Duration {
        Duration::from_secs_f64(self.per_second.recip())
    }

    /// Returns the time until a device that has `requests` has answered all of them.
    pub(super) fn time_of(self, requests: usize) -> Duration {
        let all = Duration::try_from_secs_f64(requests as f64 / self.per_second);
        self.latency.max(all.unwrap_or(Duration::MAX))
    }
}

/// All waiting requests.
#[derive(Default)]
pub(super) struct Queue {
    clients: Vec<Client>,
    /// The numbers of removed clients, for reuse.
    free: Vec<ClientId>,
    /// The clients with waiting requests by virtual time, the furthest behind first.
    order: BTreeSet<(u64, ClientId)>,
    /// The virtual time of the client served last.
    now: u64,
    count: usize,
    by_shape: Vec<Waiting>,
}

/// The numbers of waiting requests of a shape.
#[derive(Clone, Copy, Default)]
struct Waiting {
    all: usize,
    /// Those at which a device has failed. A request never fails while it waits.
    tried: usize,
}

struct Client {
    /// The number of its waiting requests that are long.
    long: usize,
    /// Its virtual time in nanoseconds.
    time: u64,
    weight: u32,
    /// If above zero, the client's numbers are computed in batches of one, because some failed recently.
    suspicion: u8,
    /// Its waiting requests, by priority and then by shape.
    waiting: [Vec<(ShapeId, VecDeque<Arc<Task>>)>; 2],
    count: usize,
}

impl Queue {
    /// Adds a client with a share in proportion to `weight`.
    pub(super) fn add_client(&mut self, weight: u32) -> ClientId {
        let client = Client {
            long: 0,
            time: 0,
            weight: weight.max(1),
            suspicion: 0,
            waiting: [Vec::new(), Vec::new()],
            count: 0,
        };
        match self.free.pop() {
            Some(id) => {
                self.clients[id] = client;
                id
            }
            None => {
                self.clients.push(client);
                self.clients.len() - 1
            }
        }
    }

    /// Forgets a client with nothing waiting. Returns false if something waits.
    pub(super) fn remove_client(&mut self, client: ClientId) -> bool {
        let is_empty = self.clients[client].count == 0;
        if is_empty {
            self.clients[client].waiting = [Vec::new(), Vec::new()];
            self.free.push(client);
        }
        is_empty
    }

    pub(super) fn clients(&self) -> usize {
        self.clients.len() - self.free.len()
    }

    pub(super) fn set_weight(&mut self, client: ClientId, weight: u32) {
        self.clients[client].weight = weight.max(1);
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    pub(super) fn len_of(&self, shape: ShapeId) -> usize {
        self.by_shape.get(shape).map_or(0, |waiting| waiting.all)
    }

    /// Returns the number of waiting requests that no device leaves to another, since one has failed at them.
    pub(super) fn tried_of(&self, shape: ShapeId) -> usize {
        self.by_shape.get(shape).map_or(0, |waiting| waiting.tried)
    }

    pub(super) fn len_of_client(&self, client: ClientId) -> usize {
        self.clients[client].count
    }

    /// Adds a task at the end of its client's queue, or at the front if a failed device returned it.
    pub(super) fn push(&mut self, task: Arc<Task>, is_back: bool) {
        let (id, shape, is_long) = (task.client, task.shape, task.is_long);
        if self.by_shape.len() <= shape {
            self.by_shape.resize_with(shape + 1, Waiting::default);
        }
        self.by_shape[shape].all += 1;
        self.by_shape[shape].tried += usize::from(task.was_tried());
        let client = &mut self.clients[id];
        let queues = &mut client.waiting[usize::from(!task.is_urgent)];
        let place = queues.iter().position(|(other, _)| *other == shape);
        let place = place.unwrap_or_else(|| {
            queues.push((shape, VecDeque::new()));
            queues.len() - 1
        });
        if is_back {
            queues[place].1.push_front(task);
        } else {
            queues[place].1.push_back(task);
        }
        client.long += usize::from(is_long);
        client.count += 1;
        if client.count == 1 {
            client.time = client.time.max(self.now);
            self.order.insert((client.time, id));
        }
        self.count += 1;
    }

    /// Takes the next task that `may` accepts, and others of the same shape, up to `size` in all. It leaves `skip` tasks of
    /// each shape to other devices, and charges each task's client `cost`. For shapes that are `of_numbers`, clients under
    /// suspicion share no batch. It takes nothing while a client that is further behind waits with a task that `before`
    /// accepts: other workers of the device take these.
    pub(super) fn take(
        &mut self,
        before: impl Fn(&Task) -> bool,
        may: impl Fn(&Task) -> bool,
        skip: impl Fn(ShapeId) -> usize,
        size: impl FnOnce(ShapeId, usize) -> usize,
        cost: impl Fn(ShapeId) -> Duration,
        of_numbers: impl Fn(ShapeId) -> bool,
    ) -> Vec<Arc<Task>> {
        let Some((client, first)) = self.find(&before, &may, &skip, None) else {
            return Vec::new();
        };
        let shape = first.shape;
        let of_numbers = of_numbers(shape);
        let size = match of_numbers && self.clients[client].suspicion > 0 {
            true => 1,
            false => size(shape, self.len_of(shape)).max(1),
        };
        let cost = cost(shape);
        let mut batch = Vec::with_capacity(size);
        self.charge(client, cost);
        batch.push(first);
        while batch.len() < size
            && let Some((client, next)) =
                self.find(&|_: &Task| false, &may, &skip, Some((shape, of_numbers)))
        {
            self.charge(client, cost);
            batch.push(next);
        }
        batch
    }

    /// Removes every task that `is_over` selects.
    pub(super) fn take_all(&mut self, is_over: impl Fn(&Task) -> bool) -> Vec<Arc<Task>> {
        let mut over = Vec::new();
        for client in &mut self.clients {
            if client.count == 0 {
                continue;
            }
            for (_, queue) in client.waiting.iter_mut().flatten() {
                if queue.iter().any(|task| is_over(task)) {
                    let (out, kept): (Vec<_>, VecDeque<_>) =
                        std::mem::take(queue).into_iter().fold(
                            (Vec::new(), VecDeque::new()),
                            |(mut out, mut kept), task| {
                                if is_over(&task) {
                                    out.push(task);
                                } else {
                                    kept.push_back(task);
                                }
                                (out, kept)
                            },
                        );
                    *queue = kept;
                    over.extend(out);
                }
            }
        }
        for task in &over {
            self.forget(task);
        }
        over
    }

    /// Removes the first task that may be taken and is not left to other devices.
    fn find(
        &mut self,
        before: &impl Fn(&Task) -> bool,
        may: &impl Fn(&Task) -> bool,
        skip: &impl Fn(ShapeId) -> usize,
        only: Option<(ShapeId, bool)>,
    ) -> Option<(ClientId, Arc<Task>)> {
        let mut left: Vec<(ShapeId, usize)> = Vec::new();
        let mut found = None;
        'search: for (_, id) in &self.order {
            if only.is_some_and(|(_, of_numbers)| of_numbers) && self.clients[*id].suspicion > 0 {
                continue;
            }
            for (priority, queues) in self.clients[*id].waiting.iter().enumerate() {
                // Visit the oldest task of all shapes, then the second oldest, and so on.
                let mut heads: Vec<usize> = vec![0; queues.len()];
                loop {
                    let oldest = queues
                        .iter()
                        .zip(&heads)
                        .enumerate()
                        .filter(|(_, ((shape, _), _))| only.is_none_or(|(only, _)| only == *shape))
                        .filter_map(|(at, ((_, queue), head))| Some((queue.get(*head)?.number, at)))
                        .min();
                    let Some((_, at)) = oldest else { break };
                    let (shape, queue) = &queues[at];
                    let head = heads[at];
                    heads[at] += 1;
                    if !may(&queue[head]) {
                        continue;
                    }
                    let known = left.iter().position(|(known, _)| known == shape);
                    let place = known.unwrap_or_else(|| {
                        left.push((*shape, skip(*shape)));
                        left.len() - 1
                    });
                    // A task at which another device has failed is not left to others.
                    if left[place].1 == 0 || queue[head].was_tried() {
                        found = Some((*id, priority, at, head));
                        break 'search;
                    }
                    left[place].1 -= 1;
                }
            }
            let mut waiting = self.clients[*id].waiting.iter().flatten();
            if waiting.any(|(_, queue)| queue.iter().any(|task| before(task))) {
                break;
            }
        }
        let (id, priority, at, head) = found?;
        let task = self.clients[id].waiting[priority][at].1.remove(head)?;
        self.forget(&task);
        Some((id, task))
    }

    /// Records whether computing with a client's own numbers succeeded.
    pub(super) fn judge(&mut self, client: ClientId, were_right: bool) {
        let suspicion = &mut self.clients[client].suspicion;
        *suspicion = match were_right {
            true => suspicion.saturating_sub(1),
            false => suspicion.saturating_add(SUSPICION).min(SUSPICION_MAX),
        };
    }

    fn charge(&mut self, id: ClientId, cost: Duration) {
        self.now = self.now.max(self.clients[id].time);
        self.charge_more(id, cost);
    }

    /// Charges a client for the time of its requests beyond the cost of their shapes.
    pub(super) fn charge_more(&mut self, id: ClientId, cost: Duration) {
        self.shift(id, ns(cost));
    }

    /// Charges a client for the time that a task took, in place of its expected cost.
    pub(super) fn settle(&mut self, id: ClientId, cost: Duration, took: Duration) {
        self.shift(id, ns(took) - ns(cost));
    }

    /// Moves a client's virtual time by the nanoseconds of a device.
    fn shift(&mut self, id: ClientId, by_ns: i64) {
        let client = &mut self.clients[id];
        let before = client.time;
        client.time = before.saturating_add_signed(by_ns / i64::from(client.weight));
        if client.count > 0 {
            self.order.remove(&(before, id));
            self.order.insert((client.time, id));
        }
    }

    /// Whether the client whose turn it is has a long task.
    pub(super) fn is_long_due(&self) -> bool {
        let first = self.order.first();
        first.is_some_and(|(_, id)| self.clients[*id].long > 0)
    }

    fn forget(&mut self, task: &Task) {
        let (id, shape) = (task.client, task.shape);
        let client = &mut self.clients[id];
        client.long -= usize::from(task.is_long);
        client.count -= 1;
        if client.count == 0 {
            self.order.remove(&(client.time, id));
        }
        self.count -= 1;
        let waiting = &mut self.by_shape[shape];
        waiting.all -= 1;
        waiting.tried = waiting.tried.saturating_sub(usize::from(task.was_tried()));
    }
}

fn ns(time: Duration) -> i64 {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX)
}

/// The number of a client's requests that are computed alone after its numbers failed once.
const SUSPICION: u8 = 8;
const SUSPICION_MAX: u8 = 64;

/// Returns the number of requests at the front that a device leaves to a faster one with `in_work` requests: those that the
/// faster one will complete before this device would complete one.
pub(super) fn left_to(own: Expected, other: Expected, in_work: usize) -> usize {
    if other.latency >= own.latency {
        return 0;
    }
    let meanwhile = other.per_second * (own.latency - other.latency).as_secs_f64();
    let left = other.at_once() + meanwhile - in_work as f64;
    left.max(0.0).floor() as usize
}
