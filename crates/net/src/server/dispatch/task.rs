//! A request in the server. It is answered exactly once.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use super::super::items::{Part, TimeClass};
use super::super::outbox::Outgoing;
use super::super::signature::Signature;
use super::answer::{Answered, Refusal, Responder};
use oarlock::device::{PublicKeyRequest, Shape};
use oarlock::keys::KeyType;
use oarlock_threads::caught::caught;
use tonic::Code;

/// The number of a shape.
pub(super) type ShapeId = usize;
/// The number of a device.
pub(super) type DeviceId = usize;
/// The number of a client.
pub type ClientId = usize;

/// A computation.
pub enum Work {
    /// A request that is known to be valid.
    Request(Box<PublicKeyRequest>),
    /// Numbers that a client sent. A worker checks them, which costs the client's share.
    Numbers {
        /// The shape that the request will have.
        shape: Shape,
        /// Creates the request, or refuses the numbers.
        make: Box<dyn FnOnce() -> Result<PublicKeyRequest, Refusal> + Send>,
    },
    /// A signature with a key other than RSA.
    Signature(Box<Signature>),
    /// A part of a request with several items.
    Part(Part),
}

/// The computation that a worker performs.
#[derive(Debug)]
pub enum Request {
    /// A power, which the worker's device computes.
    Power(PublicKeyRequest),
    /// A signature, which the worker itself computes.
    Signature(Signature),
    /// A part of a request with several items, which the worker itself computes.
    Part(Part),
}

/// The kind of a request: requests of one kind take about equally long, and a worker may take them together.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Powers of one shape.
    Power(Shape),
    /// Signatures with keys of one type.
    Signature(KeyType),
    /// Parts of requests with several items.
    Part(TimeClass),
}

impl Work {
    /// Returns the request.
    ///
    /// # Errors
    /// The fault of the numbers.
    pub fn into_request(self) -> Result<Request, Refusal> {
        Ok(match self {
            Self::Request(request) => Request::Power(*request),
            Self::Numbers { make, .. } => Request::Power(make()?),
            Self::Signature(signature) => Request::Signature(*signature),
            Self::Part(part) => Request::Part(part),
        })
    }

    pub(super) fn kind(&self) -> Kind {
        match self {
            Self::Request(request) => Kind::Power(request.shape()),
            Self::Numbers { shape, .. } => Kind::Power(shape.clone()),
            Self::Signature(signature) => Kind::Signature(signature.key_type()),
            Self::Part(part) => Kind::Part(part.class()),
        }
    }
}

impl fmt::Debug for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The numbers may be secret, so only the kind is shown.
        f.debug_tuple("Work").field(&self.kind()).finish()
    }
}

/// Creates a request from a client's numbers.
pub(super) type Numbers = Box<dyn FnOnce() -> Result<PublicKeyRequest, Refusal> + Send>;

/// A task to refuse, the device that has it, and the reason, which is otherwise its deadline.
pub(super) type Refused = (Arc<Task>, Option<Arc<str>>, Option<Refusal>);

/// A request that was admitted.
pub(super) struct Task {
    /// The request; empty until a worker has created it from a client's numbers.
    request: OnceLock<Request>,
    numbers: Mutex<Option<Numbers>>,
    pub(super) shape: ShapeId,
    pub(super) client: ClientId,
    pub(super) is_urgent: bool,
    /// Whether it is expected to take long.
    pub(super) is_long: bool,
    /// The task's number in the order of arrival.
    pub(super) number: u64,
    pub(super) arrived: Instant,
    pub(super) deadline: Instant,
    /// A bit for each device that has failed at it.
    tried: AtomicU64,
    /// Set once the request that it is a piece of is answered without it.
    is_over: Option<Arc<AtomicBool>>,
    /// The responder; `None` once the task is answered.
    responder: Mutex<Option<Responder>>,
}

impl Task {
    pub(super) fn new(
        work: Work,
        (shape, client, number): (ShapeId, ClientId, u64),
        (is_urgent, is_long): (bool, bool),
        (arrived, deadline): (Instant, Instant),
        responder: Responder,
        is_over: Option<Arc<AtomicBool>>,
    ) -> Self {
        let (request, numbers) = match work {
            Work::Request(request) => (OnceLock::from(Request::Power(*request)), None),
            Work::Numbers { make, .. } => (OnceLock::new(), Some(make)),
            Work::Signature(signature) => (OnceLock::from(Request::Signature(*signature)), None),
            Work::Part(part) => (OnceLock::from(Request::Part(part)), None),
        };
        Self {
            request,
            numbers: Mutex::new(numbers),
            shape,
            client,
            is_urgent,
            is_long,
            number,
            arrived,
            deadline,
            tried: AtomicU64::new(0),
            is_over,
            responder: Mutex::new(Some(responder)),
        }
    }

    /// Whether its numbers have not been checked yet.
    pub(super) fn is_to_be_checked(&self) -> bool {
        self.request.get().is_none()
    }

    /// Returns the request, which is created now if it is given as numbers.
    pub(super) fn request(&self) -> Result<&Request, Refusal> {
        let numbers = self
            .numbers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(make) = numbers {
            let made = guarded("the check of a client's numbers", make);
            let made = made.map_err(|Panicked| {
                Refusal::new(Code::Internal, "the check of the numbers failed")
            })?;
            // Only this call has taken the numbers, so the cell is empty.
            let _ = self.request.set(Request::Power(made?));
        }
        self.request
            .get()
            .ok_or_else(|| Refusal::new(Code::InvalidArgument, "the numbers were refused before"))
    }

    /// Answers the task unless it is answered already. `before` runs just before the answer is sent.
    pub(super) fn answer(
        &self,
        answered: Answered,
        outgoing: &mut Outgoing,
        before: impl FnOnce(ClientId),
    ) {
        let responder = self.locked().take();
        if let Some(respond) = responder {
            before(self.client);
            pass_on(respond, answered, outgoing);
        }
    }

    pub(super) fn is_answered(&self) -> bool {
        self.locked().is_none()
    }

    /// Whether it needs an answer that a device has to compute.
    pub(super) fn is_wanted(&self) -> bool {
        let is_over = self.is_over.as_ref();
        !is_over.is_some_and(|is_over| is_over.load(Ordering::Relaxed)) && !self.is_answered()
    }

    pub(super) fn has_tried(&self, device: DeviceId) -> bool {
        self.tried.load(Ordering::Relaxed) & bit(device) != 0
    }

    pub(super) fn was_tried(&self) -> bool {
        self.tried.load(Ordering::Relaxed) != 0
    }

    pub(super) fn note_failure(&self, device: DeviceId) {
        self.tried.fetch_or(bit(device), Ordering::Relaxed);
    }

    fn locked(&self) -> MutexGuard<'_, Option<Responder>> {
        self.responder
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Passes an answer on. If that panics, the answer is lost, and no other one.
pub(super) fn pass_on(respond: Responder, answered: Answered, outgoing: &mut Outgoing) {
    let _ = guarded("passing on an answer", || respond(answered, outgoing));
}

/// A computation has panicked, which is logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Panicked;

/// Runs code that may panic, such as that of a driver.
pub(super) fn guarded<T>(what: impl fmt::Display, run: impl FnOnce() -> T) -> Result<T, Panicked> {
    caught(run).ok_or_else(|| {
        tracing::error!("{what} panicked");
        Panicked
    })
}

fn bit(device: DeviceId) -> u64 {
    // The configuration and the dispatcher allow no more devices than there are bits.
    1 << device
}
