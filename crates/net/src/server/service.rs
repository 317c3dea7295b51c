//! The gRPC service: receives messages, admits requests, sends replies.
//!
//! Each stream has a task that receives and checks requests; tonic takes replies as the client
//! reads them. Between the two stands a bounded number of requests. While a stream has that many,
//! nothing more is read from it, so a client that never reads holds no more than that.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use futures_util::Stream;
use pkcs8::EncodePublicKey as _;
use prost::Message as _;
use rustls::crypto::SecureRandom;
use tokio::sync::{Semaphore, oneshot, watch};
use tonic::{Code, Request, Response, Status, Streaming};
use zeroize::Zeroizing;

use super::access::{Access, Operation, Rights};
use super::dispatch::{Answered, ClientId, Dispatcher, Refusal, Submission};
use super::keys::Keys;
use super::listener::{Activity, Backoff, ConnectionInfo};
use super::observe::{Note, Observer};
use super::operation::{self, Prepared};
use super::outbox::{Outbox, Queued, Waiting, outbox};
use crate::proto::cryptoserver_server::Cryptoserver;
use crate::proto::{self, reply};
use crate::tls::Identity;

/// What a reload replaces.
pub(super) struct Policy {
    pub(super) access: Access,
    pub(super) timeout_max: Duration,
    pub(super) per_stream_max: usize,
}

/// Everything that requests need.
pub(super) struct Shared {
    pub(super) dispatcher: Dispatcher,
    pub(super) policy: RwLock<Arc<Policy>>,
    pub(super) keys: Box<dyn Fn() -> Arc<Keys> + Send + Sync>,
    pub(super) observer: Observer,
    pub(super) random: &'static dyn SecureRandom,
    pub(super) clients: Mutex<HashMap<Identity, ClientId>>,
    /// True once streams admit no more requests.
    pub(super) closing: watch::Receiver<bool>,
}

/// The service of [`proto`].
#[derive(Clone)]
pub(super) struct Service(pub(super) Arc<Shared>);

#[tonic::async_trait]
impl Cryptoserver for Service {
    type ExchangeStream = Replies;

    async fn exchange(
        &self,
        request: Request<Streaming<proto::RequestBatch>>,
    ) -> Result<Response<Replies>, Status> {
        let caller = self.0.caller(&request)?;
        let activity = Arc::clone(&caller.activity);
        let inbound = request.into_inner();
        let (outbox, replies) = outbox();
        let (end, ended) = oneshot::channel();
        let shared = Arc::clone(&self.0);
        tokio::spawn(async move { shared.receive(caller, inbound, outbox, end).await });
        Ok(Response::new(Replies {
            replies,
            activity,
            end: Some(ended),
        }))
    }

    async fn call(
        &self,
        request: Request<proto::Request>,
    ) -> Result<Response<proto::Reply>, Status> {
        let caller = self.0.caller(&request)?;
        let mut asked = request.into_inner();
        let (sender, receiver) = oneshot::channel();
        let id = asked.id;
        let respond = move |outcome| {
            // Nobody waits if the client has gone.
            let _ = sender.send(outcome);
        };
        let submission = self.0.examine(&caller, &mut asked, None, respond);
        self.0.admit(&caller, submission);
        let outcome = receiver
            .await
            .map_err(|_| Status::internal("the request was lost"))?;
        caller.activity.touch();
        match outcome {
            Ok(mut bytes) => Ok(Response::new(proto::Reply {
                id,
                outcome: Some(reply::Outcome::Result(std::mem::take(&mut *bytes))),
            })),
            Err(refusal) => Err(refusal.status()),
        }
    }

    async fn list_keys(
        &self,
        request: Request<proto::ListKeysRequest>,
    ) -> Result<Response<proto::ListKeysReply>, Status> {
        let caller = self.0.caller(&request)?;
        let outcome = if caller.rights.allows_operation(Operation::List) {
            Ok(Zeroizing::default())
        } else {
            Err(Refusal::new(
                Code::PermissionDenied,
                "the certificate of this client does not allow list",
            ))
        };
        let refused = outcome.as_ref().err().cloned();
        let note = Note {
            identity: caller.identity.clone(),
            peer: Arc::clone(&caller.peer),
            operation: operation::name(Operation::List),
            key: "".into(),
        };
        self.0.observer.note(
            &note,
            &Answered {
                outcome,
                waited: Duration::ZERO,
                served: Duration::ZERO,
                device: None,
            },
        );
        if let Some(refusal) = refused {
            return Err(refusal.status());
        }
        let keys = (self.0.keys)();
        let allowed = keys.iter().filter(|(id, _)| caller.rights.allows_key(id));
        let keys = allowed.map(|(id, key)| {
            let public = key.public_key();
            Ok(proto::Key {
                id: id.to_owned(),
                public_key: public
                    .to_public_key_der()
                    .map_err(|error| Status::internal(error.to_string()))?
                    .into_vec(),
                bits: public.bits() as u32,
                permissions: caller.permissions().map(i32::from).collect(),
                device: key.held_by().unwrap_or_default().to_owned(),
            })
        });
        let keys = keys.collect::<Result<_, Status>>()?;
        Ok(Response::new(proto::ListKeysReply { keys }))
    }
}

/// The client of a call.
#[derive(Clone)]
struct Caller {
    identity: Identity,
    peer: Arc<str>,
    backoff: Arc<Backoff>,
    activity: Arc<Activity>,
    client: ClientId,
    rights: Rights,
    policy: Arc<Policy>,
}

impl Caller {
    fn permissions(&self) -> impl Iterator<Item = proto::Permission> {
        let named = [
            (Operation::Sign, proto::Permission::Sign),
            (Operation::Decrypt, proto::Permission::Decrypt),
            (Operation::RawPrivate, proto::Permission::RawPrivate),
        ];
        let rights = self.rights.clone();
        named
            .into_iter()
            .filter(move |(operation, _)| rights.allows_operation(*operation))
            .map(|(_, permission)| permission)
    }
}

type Outcome = Result<Zeroizing<Vec<u8>>, Refusal>;

impl Shared {
    fn policy(&self) -> Arc<Policy> {
        Arc::clone(&self.policy.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Why clients should ask another server, if they should.
    pub(super) fn why_unwell(&self) -> Option<&'static str> {
        if *self.closing.borrow() {
            return Some("shutting down");
        }
        let all_down = self.dispatcher.devices().iter().all(|it| it.is_down);
        all_down.then_some("all devices are out of order")
    }

    /// The client of a call, if the access list admits it.
    fn caller<T>(&self, request: &Request<T>) -> Result<Caller, Status> {
        let info = request.extensions().get::<ConnectionInfo>();
        let info = info.ok_or_else(|| Status::internal("a connection without a peer"))?;
        info.touch();
        let policy = self.policy();
        let identity = info.identity.clone();
        let Some(rights) = policy.access.of(&identity) else {
            let refusal = stranger(&identity);
            let status = refusal.status();
            self.observer
                .stranger(&identity, &info.peer.to_string(), refusal);
            return Err(status);
        };
        let weight = rights.weight();
        let client = {
            let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
            *clients
                .entry(identity.clone())
                .or_insert_with(|| self.dispatcher.add_client(weight))
        };
        self.dispatcher.set_weight(client, weight);
        Ok(Caller {
            identity,
            peer: info.peer.to_string().into(),
            backoff: Arc::clone(&info.backoff),
            activity: Arc::clone(&info.activity),
            client,
            rights,
            policy,
        })
    }

    /// Updates a caller's rights. Returns whether it has any.
    fn renew(&self, caller: &mut Caller) -> bool {
        let policy = self.policy();
        if Arc::ptr_eq(&policy, &caller.policy) {
            return true;
        }
        let Some(rights) = policy.access.of(&caller.identity) else {
            return false;
        };
        self.dispatcher.set_weight(caller.client, rights.weight());
        (caller.rights, caller.policy) = (rights, policy);
        true
    }

    /// Receives requests from a stream until it ends, breaks, or the server closes.
    async fn receive(
        self: Arc<Self>,
        mut caller: Caller,
        mut inbound: Streaming<proto::RequestBatch>,
        outbox: Outbox,
        end: oneshot::Sender<Status>,
    ) {
        let places = Arc::new(Semaphore::new(caller.policy.per_stream_max));
        let mut closing = self.closing.clone();
        loop {
            let received = tokio::select! {
                received = inbound.message() => received,
                _ = closing.wait_for(|is_closing| *is_closing) => break,
                () = outbox.closed() => break,
            };
            let batch = match received {
                Ok(Some(batch)) => batch,
                // Requests received before are answered, even if nobody reads.
                Ok(None) => break,
                // A message that is malformed or too long. The stream ends with the reason after
                // earlier requests are answered.
                Err(status) => {
                    let _ = end.send(status);
                    break;
                }
            };
            caller.activity.touch();
            if !self.renew(&mut caller) {
                let _ = end.send(stranger(&caller.identity).status());
                break;
            }
            let no_room = self.dispatcher.no_room(caller.client);
            let no_room = no_room.map(|(refusal, pause)| {
                caller.backoff.begin(pause);
                refusal
            });
            let mut submissions = Vec::with_capacity(batch.requests.len());
            for mut asked in batch.requests {
                let place = match Arc::clone(&places).try_acquire_owned() {
                    Ok(place) => place,
                    Err(_) => {
                        // Waiting for a place must not delay requests already checked.
                        self.admit(&caller, submissions.drain(..));
                        let place = tokio::select! {
                            place = Arc::clone(&places).acquire_owned() => place,
                            () = outbox.closed() => return,
                        };
                        let Ok(place) = place else { return };
                        place
                    }
                };
                let (id, outbox) = (asked.id, outbox.clone());
                let respond = move |outcome| {
                    outbox.put(Queued {
                        reply: reply_of(id, outcome),
                        _place: place,
                    });
                };
                submissions.extend(self.examine(&caller, &mut asked, no_room.as_ref(), respond));
            }
            self.admit(&caller, submissions);
        }
    }

    /// Admits requests. A client refused for lack of room is not read from for a moment.
    fn admit(&self, caller: &Caller, submissions: impl IntoIterator<Item = Submission>) {
        if let Some(pause) = self.dispatcher.admit(caller.client, submissions) {
            caller.backoff.begin(pause);
        }
    }

    /// Checks a request. Returns `None` if it is answered already, which includes a client with
    /// `no_room`.
    fn examine(
        self: &Arc<Self>,
        caller: &Caller,
        asked: &mut proto::Request,
        no_room: Option<&Refusal>,
        respond: impl FnOnce(Outcome) + Send + 'static,
    ) -> Option<Submission> {
        let began = Instant::now();
        let subject = operation::subject(asked);
        let no_room = no_room.filter(|_| {
            subject.is_some_and(|(operation, key)| {
                operation.needs_key() && caller.rights.allows(key, operation)
            })
        });
        let (operation, key) = subject.map_or(("none", ""), |(operation, key)| {
            (operation::name(operation), key)
        });
        let note = Note {
            identity: caller.identity.clone(),
            peer: Arc::clone(&caller.peer),
            operation,
            // A key that is not allowed may be any text at all.
            key: if caller.rights.allows_key(key) {
                key.into()
            } else {
                "".into()
            },
        };
        let prepared = match no_room {
            Some(refusal) => Err(refusal.clone()),
            None => operation::prepare(asked, &caller.rights, &(self.keys)()),
        };
        let shared = Arc::clone(self);
        let finish = move |mut answered: Answered, reverses: bool| {
            if let Ok(result) = &mut answered.outcome
                && reverses
            {
                result.reverse();
            }
            shared.observer.note(&note, &answered);
            respond(answered.outcome);
        };
        let at_once = |outcome: Outcome| Answered {
            outcome,
            waited: Duration::ZERO,
            served: began.elapsed(),
            device: None,
        };
        match prepared {
            Err(refusal) => finish(at_once(Err(refusal)), false),
            Ok(Prepared::Random(bytes)) => {
                let mut random = Zeroizing::new(vec![0; bytes]);
                let outcome = match self.random.fill(&mut random) {
                    Ok(()) => Ok(random),
                    Err(_) => Err(Refusal::new(
                        Code::Internal,
                        "the system's random generator failed",
                    )),
                };
                finish(at_once(outcome), false);
            }
            Ok(Prepared::Power {
                request,
                origin,
                reverses,
            }) => {
                let longest = caller.policy.timeout_max;
                let timeout = match asked.timeout_ms {
                    0 => longest,
                    some => Duration::from_millis(some.into()).min(longest),
                };
                return Some(Submission {
                    request: *request,
                    origin,
                    is_urgent: asked.priority == proto::Priority::Urgent as i32,
                    deadline: began + timeout,
                    respond: Box::new(move |answered| finish(answered, reverses)),
                });
            }
        }
        None
    }
}

fn stranger(identity: &Identity) -> Refusal {
    let message = format!(
        "no [[client]] of this server's configuration matches {:?}",
        identity.as_str()
    );
    Refusal::new(Code::PermissionDenied, message)
}

fn reply_of(id: u64, outcome: Outcome) -> proto::Reply {
    let outcome = match outcome {
        Ok(mut bytes) => reply::Outcome::Result(std::mem::take(&mut *bytes)),
        Err(refusal) => reply::Outcome::Failure(proto::Failure {
            code: refusal.code as i32,
            message: refusal.message,
        }),
    };
    proto::Reply {
        id,
        outcome: Some(outcome),
    }
}

/// The replies of a stream. A message holds as many as are ready when it is made.
pub(super) struct Replies {
    replies: Waiting,
    activity: Arc<Activity>,
    /// The status that ends the stream, if not OK.
    end: Option<oneshot::Receiver<Status>>,
}

impl Stream for Replies {
    type Item = Result<proto::ReplyBatch, Status>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(first) = ready!(self.replies.poll(context)) else {
            let end = self.end.take().and_then(|mut end| end.try_recv().ok());
            return Poll::Ready(end.map(Err));
        };
        self.activity.touch();
        let mut replies = Vec::with_capacity(first.len());
        let (mut bytes, mut some) = (0, Some(first));
        while let Some(next) = some {
            for queued in next {
                bytes += queued.reply.encoded_len();
                replies.push(queued.reply);
            }
            some = if bytes < REPLY_BYTES_MAX {
                self.replies.more()
            } else {
                None
            };
        }
        Poll::Ready(Some(Ok(proto::ReplyBatch { replies })))
    }
}

/// A message of this size gets no more replies.
const REPLY_BYTES_MAX: usize = 64 << 10;
