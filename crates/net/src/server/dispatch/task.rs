//! A request in the server. It is answered exactly once.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::answer::{Answered, Responder};
use oarlock::device::PublicKeyRequest;

/// The number of a shape.
pub(super) type ShapeId = usize;
/// The number of a device.
pub(super) type DeviceId = usize;
/// The number of a client.
pub type ClientId = usize;

/// A request that was admitted.
pub(super) struct Task {
    pub(super) request: PublicKeyRequest,
    pub(super) shape: ShapeId,
    pub(super) client: ClientId,
    pub(super) is_urgent: bool,
    /// In order of arrival.
    pub(super) number: u64,
    pub(super) arrived: Instant,
    pub(super) deadline: Instant,
    /// A bit for each device that has failed at it.
    tried: AtomicU64,
    /// `None` once it is answered.
    responder: Mutex<Option<Responder>>,
}

impl Task {
    pub(super) fn new(
        request: PublicKeyRequest,
        (shape, client, number): (ShapeId, ClientId, u64),
        is_urgent: bool,
        (arrived, deadline): (Instant, Instant),
        responder: Responder,
    ) -> Self {
        Self {
            request,
            shape,
            client,
            is_urgent,
            number,
            arrived,
            deadline,
            tried: AtomicU64::new(0),
            responder: Mutex::new(Some(responder)),
        }
    }

    /// Answers the task unless it is answered already. `before` runs just before the answer is
    /// given.
    pub(super) fn answer(&self, answered: Answered, before: impl FnOnce(ClientId)) {
        let responder = self.locked().take();
        if let Some(respond) = responder {
            before(self.client);
            respond(answered);
        }
    }

    pub(super) fn is_answered(&self) -> bool {
        self.locked().is_none()
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

fn bit(device: DeviceId) -> u64 {
    1 << device.min(63)
}
