//! The interface to keys and positions, and the handle of a submitted request.

use std::fmt;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::Duration;

use zeroize::Zeroizing;

use super::core::{Closer, Core};
use super::parcel::{Content, Flight, Inner, Link, Parcel};
use super::request::{Answer, Iv, OwnKeys, Place, Request};
use crate::Error;
use crate::work::algorithm::{Direction, Kind};
use crate::work::buffers::Buffers;
use crate::work::operation::{Layout, Service};
use oarlock_threads::job::{Job, Outcome, Pending, QueueFull, taken};
use oarlock_threads::once::Slot;
use oarlock_threads::pool::Parker;

/// Keys and a position, for any number of requests from any number of threads. Clones share both.
///
/// Requests that continue from the previous one ([`Iv::Next`]) are ordered by submission, whenever and wherever they are
/// computed: a stream cipher's requests follow each other in the keystream, AES-CBC's are chained, and an AEAD's have
/// consecutive nonces.
#[derive(Clone)]
pub struct FrameworkSession {
    pub(super) inner: Arc<Inner>,
    pub(super) core: Arc<Closer>,
}

impl FrameworkSession {
    /// Returns the session's service.
    pub fn service(&self) -> Service {
        self.inner.material.service()
    }

    /// Submits a request, which owns its data. It is computed at once if that is faster than queueing; otherwise it goes to
    /// the device that is expected to finish first.
    ///
    /// # Errors
    /// [`QueueFull`] returns the request unchanged if the limit on requests in flight is reached. Other errors are in the
    /// answer, which returns the data.
    #[allow(clippy::result_large_err)] // The request goes back unchanged, without another allocation.
    pub fn submit(&self, request: Request) -> Result<Job<Answer>, QueueFull<Request>> {
        submit(&self.core.0, request, |keys| match keys {
            None => Ok(Arc::clone(&self.inner)),
            Some(_) => Err(Error::InvalidInput(
                "the request has keys of its own: submit it to the framework".into(),
            )),
        })
    }

    /// Computes a request on borrowed data and returns when it is done. It queues and allocates nothing unless a registered
    /// device is expected to be faster.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] for a layout that does not fit; [`Error::AuthenticationFailed`] for a wrong tag, with the
    /// data unchanged; [`Error::QueueFull`] if a device would be faster but the queue is full.
    pub fn run(
        &self,
        direction: Direction,
        iv: Iv,
        layout: Layout,
        data: &mut [u8],
    ) -> Result<(), Error> {
        let core = &self.core.0;
        core.check_process()?;
        let is_chain = matches!(
            self.service().cipher().map(|one| one.kind()),
            Some(Kind::Cbc)
        );
        if core.has_members() || (is_chain && iv == Iv::Next) {
            let request = Request {
                keys: None,
                direction,
                iv,
                layout: Some(layout),
                buffers: Buffers::in_place(data.to_vec()),
                place: Place::Auto,
            };
            let answer = self.submit(request)?.wait()?;
            let made = Zeroizing::new(answer.buffers.into_output());
            answer.outcome?;
            data.copy_from_slice(&made);
            return Ok(());
        }
        let bytes = layout.authenticated.len() + layout.encrypted.len();
        // Only the length of the data matters here.
        let (step, _) = self.inner.step_of(direction, iv, layout, data.len())?;
        let outcome = self.inner.keys.run(&step, data);
        self.inner.count(bytes, outcome.is_err());
        outcome
    }

    /// Returns the number of an AEAD's next message, or `None` for other services and after the last number.
    pub fn next_number(&self) -> Option<u64> {
        self.inner.next_number()
    }

    /// Adds the counts of [`run`](Self::run) to those of the framework.
    pub fn hand_in_stats(&self) {
        let counts = self.inner.take_counts();
        if counts.requests > 0 && self.core.0.check_process().is_ok() {
            let device = Arc::clone(&self.inner.local_name);
            self.core.0.count(device, self.service(), counts);
        }
    }
}

impl Drop for FrameworkSession {
    fn drop(&mut self) {
        self.hand_in_stats();
    }
}

impl fmt::Debug for FrameworkSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FrameworkSession")
            .field("service", &self.service())
            .finish_non_exhaustive()
    }
}

/// Submits a request with the keys that `session` returns for it.
#[allow(clippy::result_large_err)] // The request goes back unchanged.
pub(super) fn submit(
    core: &Arc<Core>,
    mut request: Request,
    session: impl FnOnce(Option<&OwnKeys>) -> Result<Arc<Inner>, Error>,
) -> Result<Job<Answer>, QueueFull<Request>> {
    if !core.reserve() {
        return Err(QueueFull(request));
    }
    let flight = Arc::new(Flight {
        slot: Slot::default(),
    });
    let job = Job::new(Box::new(InFlight {
        flight: Arc::clone(&flight),
        core: Arc::clone(core),
    }));
    let keys = request.keys.take();
    let Request {
        direction,
        iv,
        layout,
        buffers,
        place,
        ..
    } = request;
    let step = core
        .check_process()
        .and_then(|()| buffers.check().map_err(Error::InvalidInput))
        .and_then(|()| session(keys.as_deref()))
        .and_then(|session| {
            let layout = layout.unwrap_or_else(|| session.default_layout(buffers.len()));
            let (step, link) = session.step(direction, iv, layout, &buffers)?;
            Ok((session, step, link))
        });
    let (session, step, link) = match step {
        Ok(step) => step,
        Err(error) => {
            core.unreserve();
            let _ = flight.slot.finish(Ok(Answer {
                buffers,
                power: Default::default(),
                outcome: Err(error),
                device: "".into(),
            }));
            return Ok(job);
        }
    };
    let what = Content::Data {
        session: Arc::clone(&session),
        step,
        buffers,
    };
    let mut parcel = Parcel::new(what, place, core.now());
    parcel.is_link = link == Link::First;
    if link == Link::Waits {
        match session.leave_waiting(&flight, parcel) {
            None => return Ok(job),
            Some(back) => {
                parcel = back;
                match parcel.decrypted_end() {
                    Some(after) => {
                        for (flight, parcel) in session.links_from(after) {
                            core.dispatch(&flight, parcel);
                        }
                    }
                    None => parcel.is_link = true,
                }
            }
        }
    }
    core.dispatch(&flight, parcel);
    Ok(job)
}

/// The handle of a submitted request.
pub(super) struct InFlight {
    pub(super) flight: Arc<Flight>,
    pub(super) core: Arc<Core>,
}

impl InFlight {
    /// Whether the handle was inherited across a fork, with locks in any state.
    fn is_inherited(&self) -> bool {
        self.core.check_process().is_err()
    }
}

impl Pending<Answer> for InFlight {
    fn wait(&self) -> Outcome<Answer> {
        let parker = Arc::new(Parker::current());
        let waker = Waker::from(Arc::clone(&parker));
        loop {
            if let Poll::Ready(outcome) = self.take_or_leave(&waker) {
                return outcome;
            }
            // Instead of sleeping, compute waiting requests, this thread's own included.
            if self.core.local.help() {
                continue;
            }
            parker.park_for(self.attend());
        }
    }

    fn take_or_leave(&self, waker: &Waker) -> Poll<Outcome<Answer>> {
        if self.is_inherited() {
            return Poll::Ready(Err(Error::Cancelled));
        }
        let answer = self.flight.slot.take_or_leave(&mut Some(waker.clone()));
        answer.map(|answer| answer.unwrap_or_else(|| Err(taken())))
    }

    fn take(&self) -> Option<Outcome<Answer>> {
        if self.is_inherited() {
            return Some(Err(Error::Cancelled));
        }
        self.flight.slot.take()
    }

    fn is_finished(&self) -> bool {
        self.is_inherited() || self.flight.slot.is_finished()
    }

    fn cancel(&self) -> bool {
        if self.is_inherited() {
            return false;
        }
        let Some(parcel) = self.flight.slot.claim_any() else {
            return false;
        };
        // Any later answer of the device is ignored.
        self.core
            .finish(&self.flight, parcel, Err(Error::Cancelled), None);
        true
    }

    fn attend(&self) -> Duration {
        if self.is_inherited() {
            return PATIENCE;
        }
        self.core.watch.look_while_waiting(&self.core, PATIENCE)
    }

    fn advance(&self) -> bool {
        if self.is_inherited() {
            return false;
        }
        if self.core.local.is_served() && !self.core.watch.is_absent() {
            return false;
        }
        self.core.look();
        !self.core.local.is_served() && self.core.local.help()
    }
}

/// The longest sleep of a waiting thread before it checks for itself.
const PATIENCE: Duration = Duration::from_millis(20);
