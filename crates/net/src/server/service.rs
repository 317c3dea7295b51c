//! The gRPC service: admits requests, sends replies.
//!
//! Each stream has a task that receives and checks requests (`receive`); tonic takes replies as the client reads them.
//! Between them, the number of requests and the bytes of replies are bounded. While a stream or its client has reached a
//! bound, nothing more is read from it, so a client that never reads cannot hold more than that.

use std::pin::Pin;
use std::sync::{Arc, PoisonError, RwLock};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use futures_util::Stream;
use prost::Message as _;
use rustls::crypto::SecureRandom;
use tokio::sync::{oneshot, watch};
use tonic::{Code, Request, Response, Status, Streaming};
use zeroize::Zeroizing;

use super::access::{Access, Operation, Rights};
use super::accounts::{Account, Accounts};
use super::audit::{Note, bounded};
use super::calls::Kept;
use super::config::ID_BYTES_MAX;
use super::dispatch::{Answered, Dispatcher, Origin, Output, Refusal, Responder, Submission, Work};
use super::items::{Batch, Item, ItemOf, Join, Piece};
use super::keys::{Entry, Keys};
use super::list;
use super::listener::{Activity, Backoff, ConnectionInfo, Debt};
use super::manage::Manager;
use super::observe::Observer;
use super::operation::{self, Prepared};
use super::outbox::{Outgoing, Queued, REPLY_BYTES, Reserved, Waiting, outbox};
use crate::proto::cryptoserver_server::Cryptoserver;
use crate::proto::{self, reply};
use crate::tls::Identity;

/// The settings that a reload replaces.
pub(super) struct Policy {
    pub(super) access: Access,
    pub(super) timeout_max: Duration,
    pub(super) per_stream_max: usize,
    pub(super) keys_max: usize,
    pub(super) key_changes_per_minute: usize,
}

/// The state that all requests share.
pub(super) struct Shared {
    pub(super) dispatcher: Dispatcher,
    pub(super) policy: RwLock<Arc<Policy>>,
    pub(super) keys: Box<dyn Fn() -> Arc<Keys> + Send + Sync>,
    pub(super) manager: Manager,
    pub(super) observer: Observer,
    pub(super) random: &'static dyn SecureRandom,
    pub(super) accounts: Accounts,
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
        let debt = Arc::clone(&caller.debt);
        tokio::spawn(async move {
            debt.timed(shared.receive(caller, inbound, outbox, end))
                .await
        });
        Ok(Response::new(Replies {
            replies,
            rest: Vec::new().into_iter(),
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
        let respond = move |outcome, _: &mut Outgoing| {
            // The client may have gone.
            let _ = sender.send(outcome);
        };
        let bytes = operation::kept_bytes(&asked);
        let reserved = caller.account.try_reserve(None, bytes);
        let refusal = reserved.is_none().then(no_space);
        let mut outgoing = Outgoing::default();
        let mut submissions = Vec::new();
        self.0.examine(
            &caller,
            &mut asked,
            refusal.as_ref(),
            respond,
            (&mut submissions, &mut outgoing),
        );
        self.0.admit(&caller, submissions);
        // What is left of the message is in no account, so it must not wait for the answer.
        drop(asked);
        let outcome = receiver
            .await
            .map_err(|_| Status::internal("the request was lost"))?;
        caller.activity.touch();
        match outcome {
            Ok(output) => Ok(kept(reply_of(id, Ok(output)), reserved)),
            Err(refusal) => Err(refusal.status()),
        }
    }

    async fn list_keys(
        &self,
        request: Request<proto::ListKeysRequest>,
    ) -> Result<Response<proto::ListKeysReply>, Status> {
        let caller = self.0.caller(&request)?;
        let asked = request.into_inner();
        let keys = (self.0.keys)();
        let page = caller.page(&asked, &keys);
        let bytes = page.as_ref().map_or(0, |page| page.bytes);
        let reserved = caller.account.try_reserve(None, REPLY_BYTES + bytes);
        let (outcome, page) = match page {
            Err(refusal) => (Err(refusal), list::Page::default()),
            Ok(_) if reserved.is_none() => (Err(no_space()), list::Page::default()),
            Ok(page) => (Ok(Output::Bytes(Zeroizing::default())), page),
        };
        // Its token may be long, and is in no account.
        drop(asked);
        let note = caller.note(operation::name(Operation::List), "", false);
        let answered = Answered {
            outcome,
            waited: Duration::ZERO,
            served: Duration::ZERO,
            device: None,
        };
        let (sender, receiver) = oneshot::channel();
        let respond = move |outcome: Outcome, _: &mut Outgoing| {
            // The receiver waits unless the client has gone.
            let _ = sender.send(outcome);
        };
        let observer = &self.0.observer;
        observer.note(note, answered, &mut Outgoing::default(), respond);
        let outcome = receiver
            .await
            .map_err(|_| Status::internal("the request was lost"))?;
        if let Err(refusal) = outcome {
            return Err(refusal.status());
        }
        let next_page_token = page.next.to_owned();
        let listed = page.keys.into_iter().map(|(id, entry)| {
            list::entry_of(id, entry, caller.permissions(entry), page.has_older)
        });
        let keys = listed.collect::<Result<_, Status>>()?;
        let reply = proto::ListKeysReply {
            keys,
            next_page_token,
        };
        Ok(kept(reply, reserved))
    }

    async fn manage_key(
        &self,
        request: Request<proto::ManageKeyRequest>,
    ) -> Result<Response<proto::ManageKeyReply>, Status> {
        let caller = self.0.caller(&request)?;
        self.0.manage(caller, request.into_inner()).await
    }
}

/// The client of a call.
#[derive(Clone)]
pub(super) struct Caller {
    pub(super) identity: Identity,
    peer: Arc<str>,
    pub(super) backoff: Arc<Backoff>,
    pub(super) account: Arc<Account>,
    pub(super) activity: Arc<Activity>,
    pub(super) debt: Arc<Debt>,
    pub(super) rights: Rights,
    pub(super) policy: Arc<Policy>,
}

impl Caller {
    pub(super) fn note(&self, operation: &'static str, key: &str, is_key_known: bool) -> Note {
        Note {
            identity: self.identity.clone(),
            _account: Some(Arc::clone(&self.account)),
            entry: self.rights.entry(),
            peer: Arc::clone(&self.peer),
            operation,
            key: key.into(),
            is_key_known,
        }
    }

    /// Returns the page of keys that it asks for.
    ///
    /// # Errors
    /// It may not list keys, or its token is wrong.
    fn page<'a>(
        &self,
        asked: &proto::ListKeysRequest,
        keys: &'a Keys,
    ) -> Result<list::Page<'a>, Refusal> {
        if !self.rights.allows_operation(Operation::List) {
            return Err(Refusal::new(
                Code::PermissionDenied,
                "the certificate of this client does not allow list",
            ));
        }
        list::check(asked)?;
        let allowed = keys.after(&asked.page_token).filter(|(id, entry)| {
            // Clients of earlier versions expect a SubjectPublicKeyInfo.
            self.rights.allows_key(id) && (asked.any_kind || entry.key.public_key().is_some())
        });
        Ok(list::page(allowed, asked.page_size))
    }

    /// Returns what it may do with a key.
    pub(super) fn permissions(&self, entry: &Entry) -> Vec<i32> {
        let named = [
            (Operation::Sign, proto::Permission::Sign),
            (Operation::Decrypt, proto::Permission::Decrypt),
            (Operation::RawPrivate, proto::Permission::RawPrivate),
            (Operation::Unwrap, proto::Permission::Unwrap),
            (Operation::Mac, proto::Permission::Mac),
            (Operation::VerifyMac, proto::Permission::VerifyMac),
            (Operation::Seal, proto::Permission::Seal),
            (Operation::Open, proto::Permission::Open),
            (Operation::Rotate, proto::Permission::Rotate),
            (Operation::Disable, proto::Permission::Disable),
            (Operation::Enable, proto::Permission::Enable),
        ];
        let allowed = named.into_iter().filter(|(operation, _)| {
            let is_possible = match operation.manages() {
                true => entry.is_managed(),
                false => !entry.is_disabled && operation::serves(&entry.key, *operation),
            };
            is_possible && self.rights.allows_operation(*operation)
        });
        allowed.map(|(_, permission)| permission.into()).collect()
    }
}

type Outcome = Result<Output, Refusal>;

impl Shared {
    fn policy(&self) -> Arc<Policy> {
        Arc::clone(&self.policy.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the reason why clients should ask another server, if there is one.
    pub(super) fn why_unwell(&self) -> Option<&'static str> {
        if *self.closing.borrow() {
            return Some("shutting down");
        }
        if self.observer.refusal().is_some() {
            return Some("the audit cannot be written");
        }
        let all_down = self.dispatcher.devices().iter().all(|it| it.is_down);
        all_down.then_some("all devices are out of order")
    }

    /// Returns the client of a call if the access list admits it.
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
        let account = self
            .accounts
            .of(&identity, || self.dispatcher.add_client(weight));
        self.dispatcher.set_weight(account.client, weight);
        Ok(Caller {
            identity,
            peer: info.peer.to_string().into(),
            backoff: Arc::clone(&info.backoff),
            account,
            activity: Arc::clone(&info.activity),
            debt: Arc::clone(&info.debt),
            rights,
            policy,
        })
    }

    /// Updates a caller's rights. Returns whether it has any.
    pub(super) fn renew(&self, caller: &mut Caller) -> bool {
        let policy = self.policy();
        if Arc::ptr_eq(&policy, &caller.policy) {
            return true;
        }
        let Some(rights) = policy.access.of(&caller.identity) else {
            return false;
        };
        self.dispatcher
            .set_weight(caller.account.client, rights.weight());
        (caller.rights, caller.policy) = (rights, policy);
        true
    }

    /// Admits requests. If the client is refused for lack of room, its connection is not read for a moment.
    pub(super) fn admit(&self, caller: &Caller, submissions: impl IntoIterator<Item = Submission>) {
        if let Some(pause) = self.dispatcher.admit(caller.account.client, submissions) {
            caller.backoff.begin(pause);
        }
    }

    /// Checks a request and adds its work to the submissions. It adds nothing if the request has been answered already, as
    /// one of a client with `no_room` is.
    pub(super) fn examine(
        self: &Arc<Self>,
        caller: &Caller,
        asked: &mut proto::Request,
        no_room: Option<&Refusal>,
        respond: impl FnOnce(Outcome, &mut Outgoing) + Send + 'static,
        (submissions, outgoing): (&mut Vec<Submission>, &mut Outgoing),
    ) {
        let began = Instant::now();
        let subject = operation::subject(asked);
        let no_room = no_room.filter(|_| {
            subject.is_some_and(|(operation, key)| {
                let is_refused = operation.needs_key() || operation == Operation::Random;
                is_refused && caller.rights.allows(key, operation)
            })
        });
        let (operation, key) = subject.map_or(("none", ""), |(operation, key)| {
            (operation::name(operation), key)
        });
        let keys = (self.keys)();
        // A key ID that is not allowed or does not exist may be any text; the audit records only its beginning.
        let is_allowed = key.len() <= ID_BYTES_MAX && caller.rights.allows_key(key);
        let is_known = is_allowed && keys.get(key).is_some();
        let noted = match is_known {
            true => key.to_owned(),
            false => bounded(key, NOTED_BYTES_MAX),
        };
        let note = caller.note(operation, &noted, is_known);
        let prepared = match no_room.cloned().or_else(|| self.observer.refusal()) {
            Some(refusal) => Err(refusal),
            None => operation::prepare(asked, &caller.rights, &keys),
        };
        let shared = Arc::clone(self);
        let finish = move |mut answered: Answered, reverses: bool, outgoing: &mut Outgoing| {
            if let Ok(Output::Bytes(result)) = &mut answered.outcome
                && reverses
            {
                result.reverse();
            }
            shared.observer.note(note, answered, outgoing, respond);
        };
        let longest = caller.policy.timeout_max;
        let timeout = match asked.timeout_ms {
            0 => longest,
            some => Duration::from_millis(some.into()).min(longest),
        };
        let deadline = began + timeout;
        let is_urgent = asked.priority == proto::Priority::Urgent as i32;
        let at_once = |outcome: Outcome| Answered {
            outcome,
            waited: Duration::ZERO,
            served: began.elapsed(),
            device: None,
        };
        match prepared {
            Err(refusal) => {
                if no_room.is_none() {
                    caller.debt.charge(AT_ONCE_COST);
                }
                finish(at_once(Err(refusal)), false, outgoing);
            }
            Ok(Prepared::Random(bytes)) => {
                caller
                    .debt
                    .charge(AT_ONCE_COST + RANDOM_COST * bytes as u32);
                let mut random = Zeroizing::new(vec![0; bytes]);
                let outcome = match self.random.fill(&mut random) {
                    Ok(()) => Ok(random.into()),
                    Err(_) => Err(Refusal::new(
                        Code::Internal,
                        "the system's random generator failed",
                    )),
                };
                finish(at_once(outcome), false, outgoing);
            }
            Ok(Prepared::Work {
                work,
                origin,
                reverses,
            }) => submissions.push(Submission {
                work,
                origin,
                is_urgent,
                deadline,
                respond: Box::new(move |answered, outgoing| finish(answered, reverses, outgoing)),
                others: Vec::new(),
                is_over: None,
            }),
            Ok(Prepared::Items(batch)) => {
                let Batch { pieces, is_over } = batch;
                let finish =
                    move |answered, outgoing: &mut Outgoing| finish(answered, false, outgoing);
                let join = Join::new(pieces.len(), Arc::clone(&is_over), Box::new(finish));
                let mut works: Vec<(Work, Responder)> = Vec::new();
                for (place, piece) in pieces.into_iter().enumerate() {
                    let (work, item_of) = match piece {
                        Piece::Done(items) => {
                            join.put(place, at_once(Ok(Output::Items(items))), outgoing);
                            continue;
                        }
                        Piece::Part(part) => (Work::Part(part), None),
                        Piece::Request(work, item_of) => (work, Some(item_of)),
                    };
                    let join = Arc::clone(&join);
                    let respond = move |mut answered: Answered, outgoing: &mut Outgoing| {
                        if let Some(item_of) = item_of {
                            answered.outcome = of_one(answered.outcome, item_of);
                        }
                        join.put(place, answered, outgoing);
                    };
                    works.push((work, Box::new(respond)));
                }
                let mut works = works.into_iter();
                if let Some((work, respond)) = works.next() {
                    submissions.push(Submission {
                        work,
                        origin: Origin::Server,
                        is_urgent,
                        deadline,
                        respond,
                        others: works.collect(),
                        is_over: Some(is_over),
                    });
                }
            }
        }
    }
}

/// Turns the answer to an ordinary request into that of one item.
fn of_one(outcome: Outcome, item_of: ItemOf) -> Outcome {
    let bytes = match outcome {
        Ok(Output::Bytes(bytes)) => Ok(bytes),
        Ok(items @ Output::Items(_)) => return Ok(items),
        Err(refusal) => Err(refusal),
    };
    item_of(bytes).map(|item| Output::Items(vec![item]))
}

/// Creates a response that holds its reservation until it has been sent.
pub(super) fn kept<T>(message: T, reserved: Option<Reserved>) -> Response<T> {
    let mut response = Response::new(message);
    if let Some(reserved) = reserved {
        response.extensions_mut().insert(Kept(Arc::new(reserved)));
    }
    response
}

pub(super) fn no_space() -> Refusal {
    Refusal::new(
        Code::ResourceExhausted,
        "too many replies wait to be read: read them, then send it again",
    )
}

pub(super) fn stranger(identity: &Identity) -> Refusal {
    let message = format!(
        "no [[client]] of this server's configuration matches {:?}",
        identity.as_str()
    );
    Refusal::repeating(Code::PermissionDenied, message, "no [[client]] matches")
}

pub(super) fn reply_of(id: u64, outcome: Outcome) -> proto::Reply {
    let outcome = match outcome {
        Ok(Output::Bytes(mut bytes)) => reply::Outcome::Result(std::mem::take(&mut *bytes)),
        Ok(Output::Items(items)) => reply::Outcome::Items(proto::Items {
            items: items.into_iter().map(item_of).collect(),
        }),
        Err(refusal) => reply::Outcome::Failure(failure_of(refusal)),
    };
    proto::Reply {
        id,
        outcome: Some(outcome),
    }
}

fn item_of(item: Item) -> proto::Item {
    let outcome = match item.outcome {
        Ok(mut bytes) => proto::item::Outcome::Result(std::mem::take(&mut *bytes)),
        Err(refusal) => proto::item::Outcome::Failure(failure_of(refusal)),
    };
    proto::Item {
        outcome: Some(outcome),
        key_version: item.version,
    }
}

fn failure_of(refusal: Refusal) -> proto::Failure {
    proto::Failure {
        code: refusal.code as i32,
        message: refusal.message,
    }
}

/// The replies of a stream. Each message carries all replies that are ready when it is built, up to `REPLY_BYTES_MAX`.
pub(super) struct Replies {
    replies: Waiting,
    /// The unsent replies of the last group.
    rest: std::vec::IntoIter<Queued>,
    activity: Arc<Activity>,
    /// The status that ends the stream, if not OK.
    end: Option<oneshot::Receiver<Status>>,
}

impl Stream for Replies {
    type Item = Result<proto::ReplyBatch, Status>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.rest.len() == 0 {
            let Some(first) = ready!(self.replies.poll(context)) else {
                let end = self.end.take().and_then(|mut end| end.try_recv().ok());
                return Poll::Ready(end.map(Err));
            };
            self.rest = first.into_iter();
        }
        self.activity.touch();
        let mut replies = Vec::with_capacity(self.rest.len());
        let mut bytes = 0;
        // Unsent replies keep their places until the client has read these.
        while bytes < REPLY_BYTES_MAX {
            let Some(queued) = self.rest.next() else {
                let Some(more) = self.replies.more() else {
                    break;
                };
                self.rest = more.into_iter();
                continue;
            };
            bytes += queued.reply.encoded_len();
            replies.push(queued.reply);
        }
        Poll::Ready(Some(Ok(proto::ReplyBatch { replies })))
    }
}

/// The most bytes of an unknown key ID in the audit.
pub(super) const NOTED_BYTES_MAX: usize = 64;
/// The size from which a message receives no more replies.
const REPLY_BYTES_MAX: usize = 64 << 10;
/// The cost that a client is charged immediately for an answer that needs no device. Measured time is charged only after a
/// task's turn, and many such answers fit into one turn.
const AT_ONCE_COST: Duration = Duration::from_micros(10);
/// The cost that a client is charged immediately for each random byte.
const RANDOM_COST: Duration = Duration::from_nanos(3);
