//! The receiving side of a stream: its task takes requests from messages, and waits for places and room for their replies.
//!
//! A decoded message is several times as long as its bytes on the wire. While it waits, it is in its client's account, so that
//! a client cannot make the server hold more of them by opening more streams. Waiting for room in that account would hold
//! the message too, so a message without room is worked through without a pause, and ends its stream where it would have to
//! wait. Nothing waits for this account, so it cannot take part in a deadlock; each client has a bound of its own in it, and
//! a client that returns nothing leaves enough for the others.

use std::sync::Arc;

use prost::Message as _;
use tokio::sync::{Semaphore, oneshot};
use tokio::time::sleep_until;
use tonic::{Code, Status, Streaming};

use super::allowance::Taken;
use super::dispatch::Submission;
use super::operation;
use super::outbox::{Outbox, Outgoing, Queued, Reserved};
use super::service::{Caller, Shared, no_space, reply_of, stranger};
use crate::proto;

/// The bounds of a stream, and where its replies go.
struct Bounds {
    places: Arc<Semaphore>,
    space: Arc<Semaphore>,
    outbox: Outbox,
}

/// The reason why a stream ends: a status for the client, or none if the client has gone.
type End = Option<Status>;

impl Shared {
    /// Receives requests from a stream until it ends or breaks, its connection is too old, or the server closes.
    pub(super) async fn receive(
        self: Arc<Self>,
        mut caller: Caller,
        mut inbound: Streaming<proto::RequestBatch>,
        outbox: Outbox,
        end: oneshot::Sender<Status>,
    ) {
        let bounds = Bounds {
            places: Arc::new(Semaphore::new(caller.policy.per_stream_max)),
            space: caller.account.stream(),
            outbox,
        };
        let mut closing = self.closing.clone();
        // When the connection is due, its client sends the rest on another one.
        let due = sleep_until(caller.activity.is_due_at());
        tokio::pin!(due);
        let ended = loop {
            let received = tokio::select! {
                received = inbound.message() => received,
                _ = closing.wait_for(|is_closing| *is_closing) => break None,
                () = bounds.outbox.closed() => break None,
                () = &mut due => break None,
            };
            let batch = match received {
                Ok(Some(batch)) => batch,
                // Requests received before are answered even if the client has gone.
                Ok(None) => break None,
                // The message is malformed or too long. The stream ends with the reason after earlier requests are answered.
                Err(status) => break Some(status),
            };
            caller.activity.touch();
            caller.debt.touch();
            if !self.renew(&mut caller) {
                break Some(stranger(&caller.identity).status());
            }
            if let Err(ended) = self.take(&caller, &bounds, batch).await {
                break ended;
            }
        };
        if let Some(status) = ended {
            let _ = end.send(status);
        }
    }

    /// Checks and admits the requests of a message.
    async fn take(
        self: &Arc<Self>,
        caller: &Caller,
        bounds: &Bounds,
        batch: proto::RequestBatch,
    ) -> Result<(), End> {
        let no_room = self.dispatcher.no_room(caller.account.client);
        let no_room = no_room.map(|(refusal, pause)| {
            caller.backoff.begin(pause);
            refusal
        });
        let held = caller.account.try_hold(held_bytes(&batch));
        let mut submissions = Vec::with_capacity(batch.requests.len().min(YIELD_EVERY));
        let mut outgoing = Outgoing::default();
        for (number, mut asked) in (1..).zip(batch.requests) {
            let rest = caller.debt.rests_until();
            if rest.is_some() || number % YIELD_EVERY == 0 {
                // Give other clients their turn.
                self.admit(caller, submissions.drain(..));
                outgoing.release();
                match rest {
                    // The message is in no account, so it must not wait.
                    None if held.is_none() => {}
                    None => tokio::task::yield_now().await,
                    Some(until) => bounds.wait(held.as_ref(), sleep_until(until)).await?,
                }
            }
            let bytes = operation::kept_bytes(&asked);
            let (place, reserved) = match bounds.try_reserve(caller, bytes) {
                Ok((place, reserved)) => (place, Some(reserved)),
                Err(place) => {
                    // Waiting must not delay requests already checked.
                    self.admit(caller, submissions.drain(..));
                    outgoing.release();
                    let reserve = bounds.reserve(caller, place, bytes);
                    bounds.wait(held.as_ref(), reserve).await?.ok_or(None)?
                }
            };
            let refusal = reserved.is_none().then(no_space);
            let (id, outbox) = (asked.id, bounds.outbox.clone());
            let respond = move |outcome, outgoing: &mut Outgoing| {
                let queued = Queued {
                    reply: reply_of(id, outcome),
                    _place: place,
                    _reserved: reserved,
                };
                outgoing.put(&outbox, queued);
            };
            let refusal = refusal.as_ref().or(no_room.as_ref());
            let put: (&mut Vec<Submission>, _) = (&mut submissions, &mut outgoing);
            self.examine(caller, &mut asked, refusal, respond, put);
        }
        self.admit(caller, submissions);
        Ok(())
    }
}

type Place = tokio::sync::OwnedSemaphorePermit;

impl Bounds {
    /// Takes a place and reserves room for a reply if both are free now. Otherwise returns the place, if that was free.
    fn try_reserve(
        &self,
        caller: &Caller,
        bytes: usize,
    ) -> Result<(Place, Reserved), Option<Place>> {
        let place = Arc::clone(&self.places).try_acquire_owned();
        let place = place.map_err(|_| None)?;
        match caller.account.try_reserve(Some(&self.space), bytes) {
            Some(reserved) => Ok((place, reserved)),
            None => Err(Some(place)),
        }
    }

    /// Waits for a place, unless there is one, and for room for a reply.
    async fn reserve(
        &self,
        caller: &Caller,
        place: Option<Place>,
        bytes: usize,
    ) -> Option<(Place, Option<Reserved>)> {
        let place = match place {
            Some(place) => place,
            None => Arc::clone(&self.places).acquire_owned().await.ok()?,
        };
        Some((place, caller.account.reserve(&self.space, bytes).await))
    }

    /// Waits for `work` with a message that is `held` in its client's account.
    async fn wait<T>(&self, held: Option<&Taken>, work: impl Future<Output = T>) -> Result<T, End> {
        if held.is_none() {
            return Err(Some(Status::new(Code::ResourceExhausted, TOO_MANY_WAIT)));
        }
        tokio::select! {
            done = work => Ok(done),
            () = self.outbox.closed() => Err(None),
        }
    }
}

/// Returns the bytes that a decoded message takes while it waits.
fn held_bytes(batch: &proto::RequestBatch) -> usize {
    let inside: usize = batch.requests.iter().map(operation::items_bytes).sum();
    batch.requests.capacity() * size_of::<proto::Request>() + inside + batch.encoded_len()
}

const TOO_MANY_WAIT: &str = "too many messages of this client wait: read replies, and use fewer streams or shorter messages";
/// The number of requests of a message after which other clients have their turn.
const YIELD_EVERY: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_message_holds_is_counted_at_every_depth() {
        let empty = [0x0a, 0].repeat(16_384);
        let batch = proto::RequestBatch::decode(&empty[..]).unwrap();
        assert!(held_bytes(&batch) >= 16_384 * size_of::<proto::Request>());
        let stanza = proto::Stanza {
            arguments: vec![String::new(); 1000],
            ..proto::Stanza::default()
        };
        let unwrap = proto::Unwrap {
            stanzas: vec![stanza; 10],
            ..proto::Unwrap::default()
        };
        let operations = [
            proto::request::Operation::Unwrap(unwrap),
            proto::request::Operation::Mac(proto::Mac {
                key_id: String::new(),
                messages: vec![Vec::new(); 10_000],
            }),
            proto::request::Operation::VerifyMac(proto::VerifyMac {
                macs: vec![proto::MacOf::default(); 10_000],
                ..proto::VerifyMac::default()
            }),
            proto::request::Operation::Seal(proto::Seal {
                plaintexts: vec![proto::Plaintext::default(); 10_000],
                ..proto::Seal::default()
            }),
            proto::request::Operation::Open(proto::Open {
                ciphertexts: vec![proto::Ciphertext::default(); 10_000],
                ..proto::Open::default()
            }),
        ];
        for operation in operations {
            let name = format!("{operation:?}");
            let batch = proto::RequestBatch {
                requests: vec![proto::Request {
                    operation: Some(operation),
                    ..proto::Request::default()
                }],
            };
            assert!(held_bytes(&batch) >= 10_000 * 24, "{:.20}", name);
        }
    }
}
