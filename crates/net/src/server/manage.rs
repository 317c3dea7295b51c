//! Calls that change keys: who may, how often, and what waits for what.
//!
//! ```text
//! rights     as for every operation: without one, a client learns nothing about the key
//! turn       one change of a client at a time, and a number of them in a minute; new keys and versions of few clients
//! generate   RSA keys one at a time, in the order of their requests, on a thread of low priority
//! write      one change of the directory at a time; from here on it is finished, whatever its client does
//! ```
//!
//! A change whose client has gone, whose deadline has passed or whose right was withdrawn before it is written does not
//! happen.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{Semaphore, SemaphorePermit, oneshot};
use tokio::task::spawn_blocking;
use tokio::time::timeout_at;
use tonic::{Code, Response, Status};
use zeroize::Zeroizing;

use super::access::Operation;
use super::audit::bounded;
use super::config::ID_BYTES_MAX;
use super::dispatch::{Answered, Output, Refusal};
use super::keys::{Change, KeyStore, Kind, Made, Room, is_new_id, late};
use super::outbox::{Outgoing, REPLY_BYTES};
use super::service::{Caller, NOTED_BYTES_MAX, Shared, kept, no_space, stranger};
use super::{list, operation};
use crate::proto::{self, manage_key_request};
use crate::tls::Identity;

/// The order in which clients change keys.
pub(super) struct Manager {
    store: Arc<KeyStore>,
    /// The clients with a change under way or in the last minute.
    turns: Mutex<HashMap<Identity, Turn>>,
    generator: Semaphore,
    writer: Semaphore,
}

struct Turn {
    under_way: Option<Work>,
    /// The time at which its changes are used up: each moves it on by its share of a minute.
    used_until: Instant,
}

/// The kind of work that a change takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    /// It has a version generated, which may take seconds.
    Generate,
    /// It renames a file.
    Rename,
}

impl Work {
    fn of(change: Change) -> Self {
        match change {
            Change::Create(_) | Change::Rotate(_) => Self::Generate,
            Change::Disable | Change::Enable => Self::Rename,
        }
    }
}

/// A change under way.
struct UnderWay<'a> {
    manager: &'a Manager,
    identity: &'a Identity,
    each: Duration,
}

/// A request that was taken apart.
struct Asked {
    operation: Option<Operation>,
    change: Result<Change, Refusal>,
    id: String,
    deadline: tokio::time::Instant,
}

impl Manager {
    pub(super) fn new(store: Arc<KeyStore>) -> Self {
        Self {
            store,
            turns: Mutex::default(),
            generator: Semaphore::new(1),
            writer: Semaphore::new(1),
        }
    }

    /// Begins a change of a client that may ask for `per_minute`. Many that generate keep none out that only renames.
    fn begin<'a>(
        &'a self,
        identity: &'a Identity,
        work: Work,
        cost: u32,
        per_minute: usize,
    ) -> Result<UnderWay<'a>, Refusal> {
        let full = |what: &str| Err(Refusal::new(Code::ResourceExhausted, what));
        let now = Instant::now();
        let mut turns = self.lock();
        turns.retain(|_, turn| turn.under_way.is_some() || turn.used_until > now);
        let generate = Some(Work::Generate);
        let generating = turns.values().filter(|turn| turn.under_way == generate);
        let is_full = generating.count() >= GENERATING_MAX;
        let turn = turns.entry(identity.clone()).or_insert(Turn {
            under_way: None,
            used_until: now,
        });
        if turn.under_way.is_some() {
            return full(
                "another change of a key by this client is under way: wait for its answer",
            );
        }
        if work == Work::Generate && is_full {
            return full("new keys and versions for many clients are under way: try again later");
        }
        let each = MINUTE / u32::try_from(per_minute).unwrap_or(u32::MAX).max(1);
        let used = turn.used_until.saturating_duration_since(now);
        if used + (each * cost).min(MINUTE) > MINUTE {
            return full(
                "this client has changed keys too often in the last minute: try again later, or raise \
                 key_changes_per_minute in the server's configuration",
            );
        }
        turn.used_until = now + used + each * cost;
        turn.under_way = Some(work);
        Ok(UnderWay {
            manager: self,
            identity,
            each,
        })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Identity, Turn>> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl UnderWay<'_> {
    /// Has the change count as more.
    fn charge(&self, more: u32) {
        if let Some(turn) = self.manager.lock().get_mut(self.identity) {
            turn.used_until += self.each * more;
        }
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        if let Some(turn) = self.manager.lock().get_mut(self.identity) {
            turn.under_way = None;
        }
    }
}

impl Asked {
    fn new(request: &proto::ManageKeyRequest) -> Self {
        use manage_key_request::Change as Named;
        let (operation, change) = match &request.change {
            None => {
                let what = "the request has no change, or one unknown to this server";
                (None, Err(Refusal::new(Code::InvalidArgument, what)))
            }
            Some(Named::Create(create)) => {
                let kind = Kind::of_type(create.r#type).ok_or_else(|| {
                    let what = format!("key type {} is unknown to this server", create.r#type);
                    Refusal::new(Code::InvalidArgument, what)
                });
                (Some(Operation::Create), kind.map(Change::Create))
            }
            Some(Named::Rotate(rotate)) => {
                (Some(Operation::Rotate), Ok(Change::Rotate(rotate.version)))
            }
            Some(Named::Disable(_)) => (Some(Operation::Disable), Ok(Change::Disable)),
            Some(Named::Enable(_)) => (Some(Operation::Enable), Ok(Change::Enable)),
        };
        let timeout = match request.timeout_ms {
            0 => TIMEOUT_MAX,
            some => Duration::from_millis(some.into()).min(TIMEOUT_MAX),
        };
        let id = &request.key_id;
        let is_too_long = id.len() > ID_BYTES_MAX;
        Self {
            operation,
            change: match is_too_long {
                true => Err(operation::id_too_long(id)),
                false => change,
            },
            // What is too long is not kept while the change waits.
            id: match is_too_long {
                true => bounded(id, NOTED_BYTES_MAX),
                false => id.clone(),
            },
            deadline: tokio::time::Instant::now() + timeout,
        }
    }
}

impl Shared {
    /// Makes a change of a key that a client asks for.
    pub(super) async fn manage(
        self: &Arc<Self>,
        caller: Caller,
        request: proto::ManageKeyRequest,
    ) -> Result<Response<proto::ManageKeyReply>, Status> {
        let reserved = caller
            .account
            .try_reserve(None, REPLY_BYTES + PUBLIC_BYTES_MAX);
        let mut asked = Asked::new(&request);
        drop(request);
        if reserved.is_none() {
            asked.change = asked.change.and(Err(no_space()));
        }
        let (sender, receiver) = oneshot::channel();
        let shared = Arc::clone(self);
        let debt = Arc::clone(&caller.debt);
        let activity = Arc::clone(&caller.activity);
        // It goes on without its client, and has its line in the audit then too.
        tokio::spawn(async move { debt.timed(shared.carry_out(caller, asked, sender)).await });
        let outcome = receiver.await;
        activity.touch();
        match outcome.map_err(|_| Status::internal("the request was lost"))? {
            Ok(key) => Ok(kept(proto::ManageKeyReply { key: Some(key) }, reserved)),
            Err(refusal) => Err(refusal.status()),
        }
    }

    async fn carry_out(
        self: Arc<Self>,
        mut caller: Caller,
        asked: Asked,
        sender: oneshot::Sender<Result<proto::Key, Refusal>>,
    ) {
        let began = Instant::now();
        let made = self.make_change(&mut caller, &asked, &sender).await;
        let served = began.elapsed();
        let id = &asked.id;
        let is_known =
            caller.rights.allows_key(id) && self.manager.store.current().entry(id).is_some();
        let noted = match is_known {
            true => id.clone(),
            false => bounded(id, NOTED_BYTES_MAX),
        };
        let operation = asked.operation.map_or("none", operation::name);
        let note = caller.note(operation, &noted, is_known);
        let (outcome, key) = match made {
            Ok(key) => (Ok(Output::Bytes(Zeroizing::default())), Some(key)),
            Err(refusal) => (Err(refusal), None),
        };
        let answered = Answered {
            outcome,
            waited: Duration::ZERO,
            served,
            device: None,
        };
        let id = noted.clone();
        let respond = move |outcome: Result<Output, Refusal>, _: &mut Outgoing| {
            let outcome = match (outcome, key) {
                (Ok(_), key) => Ok(key.unwrap_or_default()),
                (Err(_), Some(_)) => {
                    tracing::error!(
                        "key {id:?}: {operation} was carried out without its line in the audit"
                    );
                    Err(Refusal::new(Code::Internal, MADE_UNAUDITED))
                }
                (Err(refusal), None) => Err(refusal),
            };
            // The client may have gone.
            let _ = sender.send(outcome);
        };
        let outgoing = &mut Outgoing::default();
        self.observer.note(note, answered, outgoing, respond);
    }

    async fn make_change(
        &self,
        caller: &mut Caller,
        asked: &Asked,
        sender: &oneshot::Sender<Result<proto::Key, Refusal>>,
    ) -> Result<proto::Key, Refusal> {
        self.check_right(caller, asked)?;
        let change = asked.change.clone()?;
        let (id, manager) = (&asked.id, &self.manager);
        if let Change::Create(_) = change
            && !is_new_id(id)
        {
            return Err(Refusal::repeating(
                Code::InvalidArgument,
                format!(
                    "key id {id:?}: use 1 to 128 letters, digits and - _ . of ASCII, beginning with a letter or a \
                     digit, without two dots in a row"
                ),
                "the id is not one for a new key",
            ));
        }
        let cost = match change {
            Change::Create(kind) => kind.cost(),
            _ => 1,
        };
        let identity = caller.identity.clone();
        let turn = manager.begin(
            &identity,
            Work::of(change),
            cost,
            caller.policy.key_changes_per_minute,
        )?;
        let kind = self.check(caller, asked, change).await?;
        let made = match kind {
            None => None,
            Some(kind) => {
                turn.charge(kind.cost().saturating_sub(cost));
                Some(self.generate(kind, asked).await?)
            }
        };
        let _one = permit(&manager.writer, asked).await?;
        if sender.is_closed() {
            let what = "its client has gone: nothing has changed";
            return Err(Refusal::new(Code::Cancelled, what));
        }
        // The wait may have been long.
        if !self.renew(caller) {
            return Err(stranger(&identity));
        }
        self.check_right(caller, asked)?;
        let asked_id = id.clone();
        let deadline = asked.deadline.into_std();
        let keys = in_background(caller, &manager.store, move |store, room| {
            store.change(&asked_id, change, made.as_ref(), room, deadline)
        });
        let keys = keys.await?;
        let entry = keys.entry(id).ok_or_else(|| operation::no_such_key(id))?;
        list::entry_of(id, entry, caller.permissions(entry), false)
            .map_err(|status| Refusal::new(status.code(), status.message()))
    }

    fn check_right(&self, caller: &Caller, asked: &Asked) -> Result<(), Refusal> {
        if let Some(operation) = asked.operation
            && !caller.rights.allows(&asked.id, operation)
        {
            return Err(operation::denied(operation, &asked.id));
        }
        if *self.closing.borrow() {
            let what = "the server shuts down: ask another one";
            return Err(Refusal::new(Code::Unavailable, what));
        }
        self.observer.refusal().map_or(Ok(()), Err)
    }

    async fn generate(&self, kind: Kind, asked: &Asked) -> Result<Made, Refusal> {
        let _one = match kind.is_slow() {
            true => Some(permit(&self.manager.generator, asked).await?),
            false => None,
        };
        let made = Made::generate(kind, self.random).await.map_err(|what| {
            tracing::error!("key {:?}: not generated: {what}", asked.id);
            Refusal::new(
                Code::Internal,
                "the key was not generated: see the server's log",
            )
        })?;
        match tokio::time::Instant::now() < asked.deadline {
            true => Ok(made),
            false => Err(late()),
        }
    }

    /// Checks a change before anything is generated for it. Returns the kind of version that it needs.
    async fn check(
        &self,
        caller: &Caller,
        asked: &Asked,
        change: Change,
    ) -> Result<Option<Kind>, Refusal> {
        let _one = permit(&self.manager.writer, asked).await?;
        let id = asked.id.clone();
        let checked = in_background(caller, &self.manager.store, move |store, room| {
            // Its operator or another server may have changed the file.
            store.refresh();
            if !store.is_managed() {
                let what = "this server has no managed directory, so no client changes its keys";
                return Err(Refusal::new(Code::FailedPrecondition, what));
            }
            change.check(&id, &store.current(), room)
        });
        checked.await
    }
}

/// Has a thread for blocking work ask the store, with the room that a client has for keys.
async fn in_background<T: Send + 'static>(
    caller: &Caller,
    store: &Arc<KeyStore>,
    ask: impl FnOnce(&KeyStore, &Room<'_>) -> Result<T, Refusal> + Send + 'static,
) -> Result<T, Refusal> {
    let (caller, store) = (caller.clone(), Arc::clone(store));
    let asked = spawn_blocking(move || {
        let room = Room {
            keys_max: caller.policy.keys_max,
            own_max: caller.rights.keys_max(),
            is_own: &|id| caller.rights.allows_key(id),
        };
        ask(&store, &room)
    });
    asked.await.unwrap_or_else(|_| {
        let what = "the change panicked: list the keys, and see the server's log";
        Err(Refusal::new(Code::Internal, what))
    })
}

async fn permit<'a>(
    semaphore: &'a Semaphore,
    asked: &Asked,
) -> Result<SemaphorePermit<'a>, Refusal> {
    match timeout_at(asked.deadline, semaphore.acquire()).await {
        // A place that is free is given after the deadline too.
        Ok(Ok(permit)) if tokio::time::Instant::now() < asked.deadline => Ok(permit),
        // The semaphore is never closed.
        Ok(_) | Err(_) => Err(late()),
    }
}

/// The answer to a change whose line in the audit is the first that cannot be written: the change cannot be taken back.
const MADE_UNAUDITED: &str = "the change was made, but the server cannot write its audit: list the keys, and see the server's log";
const MINUTE: Duration = Duration::from_secs(60);
/// The most new keys and versions under way, of as many clients.
const GENERATING_MAX: usize = 16;
/// The longest deadline: an RSA key may take several seconds on a machine that is busy with requests.
const TIMEOUT_MAX: Duration = Duration::from_secs(120);
/// The longest public half, that of ML-DSA-87, with the recipient of an identity.
const PUBLIC_BYTES_MAX: usize = 4096;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use oarlock::keys::{Curve, KeyType};

    fn manager() -> Manager {
        let store = KeyStore::load(&[], &|_| Ok(Vec::new())).unwrap();
        Manager::new(Arc::new(store))
    }

    #[test]
    fn a_client_has_one_change_under_way_and_a_number_in_a_minute() {
        let manager = manager();
        let [one, other] = ["one", "other"].map(Identity::new);
        let first = manager.begin(&one, Work::Rename, 1, 20).unwrap();
        let refused = manager.begin(&one, Work::Rename, 1, 20).err().unwrap();
        assert!(refused.message.contains("under way"), "{refused:?}");
        drop(manager.begin(&other, Work::Rename, 1, 20).unwrap());
        // As if it had been the rotation of an RSA key.
        first.charge(9);
        drop(first);
        drop(manager.begin(&one, Work::Rename, 10, 20).unwrap());
        let refused = manager.begin(&one, Work::Rename, 1, 20).err().unwrap();
        assert_eq!(refused.code, Code::ResourceExhausted);
        assert!(refused.message.contains("too often"), "{refused:?}");
        drop(manager.begin(&other, Work::Rename, 1, 20).unwrap());
        // A costly one is possible however few are allowed.
        drop(
            manager
                .begin(&Identity::new("third"), Work::Rename, 10, 1)
                .unwrap(),
        );
        assert!(
            manager
                .begin(&Identity::new("third"), Work::Rename, 1, 1)
                .err()
                .is_some()
        );
    }

    #[test]
    fn clients_without_changes_are_forgotten_and_few_are_under_way() {
        let manager = manager();
        let names: Vec<_> = (0..GENERATING_MAX + 1)
            .map(|number| Identity::new(number.to_string()))
            .collect();
        // A share of a minute that is over at once.
        let often = usize::MAX;
        let under_way: Vec<_> = names[1..]
            .iter()
            .map(|name| manager.begin(name, Work::Generate, 0, often).unwrap())
            .collect();
        let refused = manager
            .begin(&names[0], Work::Generate, 0, often)
            .err()
            .unwrap();
        assert!(refused.message.contains("many clients"), "{refused:?}");
        // What needs no generator does not wait for one.
        for change in [Change::Disable, Change::Enable] {
            drop(
                manager
                    .begin(&names[0], Work::of(change), 0, often)
                    .unwrap(),
            );
        }
        for change in [Change::Create(Kind::Rsa(4096)), Change::Rotate(1)] {
            assert!(
                manager
                    .begin(&names[0], Work::of(change), 0, often)
                    .is_err()
            );
        }
        drop(under_way);
        drop(manager.begin(&names[0], Work::Generate, 0, often).unwrap());
        assert_eq!(manager.lock().len(), 1);
    }

    #[tokio::test]
    async fn a_free_place_after_the_deadline_is_late() {
        let asked = Asked {
            operation: Some(Operation::Disable),
            change: Ok(Change::Disable),
            id: "web".to_owned(),
            deadline: tokio::time::Instant::now(),
        };
        let refused = permit(&manager().writer, &asked).await.err().unwrap();
        assert_eq!(refused.code, Code::DeadlineExceeded);
    }

    #[test]
    fn costs_grow_with_the_time_of_generation() {
        let costs = [
            Kind::Private(KeyType::Ec(Curve::P256)),
            Kind::Rsa(2048),
            Kind::Rsa(3072),
            Kind::Rsa(4096),
        ]
        .map(Kind::cost);
        assert_eq!(costs, [1, 2, 5, 10]);
    }
}
