//! Admission: decides which requests enter the queue, and refuses the others.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use tonic::Code;

use super::answer::{Refusal, Responder};
use super::state::{Origin, PER_SECOND_MIN, State};
use super::task::{ClientId, Kind, ShapeId, Task, Work};

/// A request that a client wants to have admitted.
pub struct Submission {
    /// The computation.
    pub work: Work,
    /// The source of the numbers of its key.
    pub origin: Origin,
    /// Whether it precedes the client's other requests.
    pub is_urgent: bool,
    /// The time after which its answer is no longer wanted.
    pub deadline: Instant,
    /// Receives the answer and the replies that go out with it, on the thread that has the answer. It must not block.
    pub respond: Responder,
    /// The further pieces of a request with several items. They are admitted together with the first, or none is; then only
    /// the first receives the refusal.
    pub others: Vec<(Work, Responder)>,
    /// Set once the request is answered without its remaining pieces. Those that wait are then removed.
    pub is_over: Option<Arc<AtomicBool>>,
}

impl State {
    /// Returns the reason to refuse a request, if there is one. It has a shape for each of its pieces.
    pub(super) fn refusal(
        &self,
        client: ClientId,
        shapes: &[ShapeId],
        now: Instant,
    ) -> Option<Refusal> {
        if self.is_closed {
            return Some(Refusal::new(Code::Unavailable, ENDS));
        }
        let unserved = shapes.iter().enumerate().find_map(|(place, shape)| {
            let is_new = place == 0 || shapes[place - 1] != *shape;
            is_new.then(|| self.unserved(*shape, now)).flatten()
        });
        unserved.or_else(|| self.no_room_for(client, shapes.len()))
    }

    /// Returns the refusal of requests of a shape that no device can compute now.
    fn unserved(&self, shape: ShapeId, now: Instant) -> Option<Refusal> {
        let entry = &self.shapes[shape];
        if entry.able().next().is_none() {
            let message = match &entry.kind {
                Kind::Power(shape) => format!(
                    "no device of this server computes powers of this kind ({}, {} bits)",
                    shape.operation, shape.modulus_bits
                ),
                Kind::Signature(key_type) => format!(
                    "no device of this server signs with {key_type} keys: its configuration has none of kind cpu or software"
                ),
                Kind::Part(_) => "no device of this server computes requests with items: its configuration has none \
                     of kind cpu or software"
                    .to_owned(),
            };
            return Some(Refusal::new(Code::Unimplemented, message));
        }
        let now = self.time(now);
        let mut able = entry.able();
        if able.all(|device| self.devices[device].is_gone(now)) {
            return Some(self.out_of_order(shape));
        }
        None
    }

    /// Returns the reason to refuse every request of a client for lack of room, if there is one.
    pub(super) fn no_room(&self, client: ClientId) -> Option<Refusal> {
        self.no_room_for(client, 1)
    }

    /// Returns the reason to refuse a request with this number of pieces for lack of room, if there is one: the last piece
    /// needs room when the others wait. If there will never be enough, the code says so.
    fn no_room_for(&self, client: ClientId, pieces: usize) -> Option<Refusal> {
        let full = |what: String| {
            Some(Refusal::new(
                Code::ResourceExhausted,
                format!("{what}: send it again later, or to another server"),
            ))
        };
        let before = pieces.saturating_sub(1);
        let most = self.bounds.waiting_max.min(self.bounds.per_client_max);
        if pieces > most {
            return Some(Refusal::new(
                Code::FailedPrecondition,
                format!(
                    "this request needs {pieces} places in the queue, and a client has at most {most}: send fewer items in a request"
                ),
            ));
        }
        if self.of_client[client] + before >= self.bounds.per_client_max {
            return full(format!(
                "{} requests of this client are already under way",
                self.of_client[client]
            ));
        }
        let waiting = self.queue.len() + before;
        let room = self.bounds.waiting_max.saturating_sub(waiting);
        if room == 0 {
            return full(format!("{} requests already wait", self.queue.len()));
        }
        if self.queue.len() == 0 {
            return None;
        }
        // Clients that flood the queue leave room for those that have little in it (dynamic thresholds, Choudhury and Hahne
        // 1998), and the last places for those that have nothing.
        let own = self.queue.len_of_client(client) + before;
        let last = room <= self.bounds.waiting_max / LAST_PART;
        if own > 0 && (last || own >= room.saturating_mul(ROOMS_MAX)) {
            return full(format!(
                "{} requests of this client already wait, and there is room for {} more in all",
                self.queue.len_of_client(client),
                room + before
            ));
        }
        None
    }

    /// Returns how long a refused client should back off: a quarter of the time that the whole queue takes, as if every
    /// request had this shape.
    pub(super) fn back_off(&self, shape: ShapeId, now: Instant) -> Duration {
        let now = self.time(now);
        let entry = self.shapes.get(shape).into_iter();
        let expected = entry.flat_map(|entry| {
            let able = entry.able();
            able.filter_map(|device| entry.expected(device, &self.devices, now))
        });
        let per_second: f64 = expected.map(|expected| expected.per_second).sum();
        let all = self.queue.len() as f64 / per_second.max(PER_SECOND_MIN);
        Duration::try_from_secs_f64(all / 4.0).map_or(BACK_OFF_MAX, |pause| pause.min(BACK_OFF_MAX))
    }

    /// Puts the pieces of a request into the queue.
    pub(super) fn enter(
        &mut self,
        client: ClientId,
        shapes: &[ShapeId],
        submission: Submission,
        now: Instant,
    ) {
        let first = std::iter::once((submission.work, submission.respond));
        let pieces = first.chain(submission.others);
        for (shape, (work, respond)) in shapes.iter().zip(pieces) {
            self.arrived += 1;
            self.last_shape = *shape;
            self.unanswered += 1;
            self.of_client[client] += 1;
            let task = Task::new(
                work,
                (*shape, client, self.arrived),
                (submission.is_urgent, self.shapes[*shape].is_long),
                (now, submission.deadline),
                respond,
                submission.is_over.clone(),
            );
            self.queue.push(Arc::new(task), false);
        }
    }
}

pub(super) const ENDS: &str = "the server is shutting down: try another";

/// The longest back-off of a refused client.
pub(super) const BACK_OFF_MAX: Duration = Duration::from_millis(20);

/// The queue's size divided by this is its last part, in which each client has at most one place.
const LAST_PART: usize = 16;

/// The most requests that a client may have waiting, as a multiple of the remaining room: one client alone fills eight
/// ninths of the queue.
const ROOMS_MAX: usize = 8;
