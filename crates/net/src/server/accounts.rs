//! What the server keeps for each client: its number in the dispatcher, and bounds on the bytes of
//! replies that it has not read. An entry goes when its client has nothing left here.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Semaphore;

use super::allowance::Allowance;
use super::dispatch::{ClientId, Dispatcher};
use super::outbox::{REPLY_BYTES, Reserved};
use crate::tls::Identity;

/// How many bytes of replies may be under way: reserved by requests that are not answered, or
/// answered and not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ReplyBounds {
    pub(super) stream: usize,
    pub(super) client: usize,
    pub(super) server: usize,
}

impl ReplyBounds {
    /// At least those below, and enough for replies of ordinary size to as many requests as the limits
    /// on requests admit.
    pub(super) fn of(per_stream_max: usize, per_client_max: usize, queue_max: usize) -> Self {
        let room = |requests: usize, least: usize| {
            let bytes = requests.saturating_mul(REPLY_BYTES).max(least);
            bytes.min(Semaphore::MAX_PERMITS)
        };
        Self {
            stream: room(per_stream_max, 1 << 20),
            client: room(per_client_max, 4 << 20),
            server: room(queue_max.saturating_mul(4), 64 << 20),
        }
    }
}

/// The accounts of all clients that have something here.
pub(super) struct Accounts {
    by_identity: Mutex<HashMap<Identity, Arc<Account>>>,
    bounds: ReplyBounds,
    server: Arc<Semaphore>,
}

/// A client's account.
pub(super) struct Account {
    pub(super) client: ClientId,
    bounds: ReplyBounds,
    replies: Allowance,
}

impl Accounts {
    pub(super) fn new(bounds: ReplyBounds) -> Self {
        Self {
            by_identity: Mutex::default(),
            bounds,
            server: Arc::new(Semaphore::new(bounds.server)),
        }
    }

    /// The account of a client, opened if there is none.
    pub(super) fn of(&self, identity: &Identity, open: impl FnOnce() -> ClientId) -> Arc<Account> {
        let mut accounts = self.lock();
        if let Some(account) = accounts.get(identity) {
            return Arc::clone(account);
        }
        let account = Arc::new(Account {
            client: open(),
            bounds: self.bounds,
            replies: Allowance::new(self.bounds.client, &self.server),
        });
        accounts.insert(identity.clone(), Arc::clone(&account));
        account
    }

    /// Closes the accounts of clients that have no stream, no request and no unread reply here. Call it every now and then.
    pub(super) fn sweep(&self, dispatcher: &Dispatcher) {
        self.lock().retain(|_, account| {
            let is_in_use = Arc::strong_count(account) > 1 || !account.replies.is_whole();
            is_in_use || !dispatcher.remove_client(account.client)
        });
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Identity, Arc<Account>>> {
        self.by_identity
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Account {
    /// Room for the replies of one stream.
    pub(super) fn stream(&self) -> Arc<Semaphore> {
        Arc::new(Semaphore::new(self.bounds.stream))
    }

    /// Reserves room for a reply if there is some at once. One that is larger than the client's whole room
    /// takes all of it.
    pub(super) fn try_reserve(
        &self,
        stream: Option<&Arc<Semaphore>>,
        bytes: usize,
    ) -> Option<Reserved> {
        let bytes = bytes.min(self.bounds.client);
        let count = u32::try_from(bytes).ok()?;
        let stream = match stream {
            None => None,
            Some(stream) => Some(Arc::clone(stream).try_acquire_many_owned(count).ok()?),
        };
        let replies = self.replies.try_take(bytes)?;
        Some(Reserved { stream, replies })
    }

    /// Waits until the client has read enough; `None` if the server has no room, which a client that
    /// reads may find later.
    pub(super) async fn reserve(&self, stream: &Arc<Semaphore>, bytes: usize) -> Option<Reserved> {
        let count = u32::try_from(bytes).ok()?;
        let stream = Arc::clone(stream).acquire_many_owned(count).await.ok()?;
        let replies = self.replies.take(bytes).await?;
        Some(Reserved {
            stream: Some(stream),
            replies,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: ReplyBounds = ReplyBounds {
        stream: 100,
        client: 300,
        server: 500,
    };

    fn account(accounts: &Accounts, name: &str) -> Arc<Account> {
        accounts.of(&Identity::new(name), || 0)
    }

    #[test]
    fn replies_are_bounded_by_stream_client_and_server() {
        let accounts = Accounts::new(BOUNDS);
        let one = account(&accounts, "one");
        let streams = [one.stream(), one.stream(), one.stream(), one.stream()];
        assert!(one.try_reserve(Some(&streams[0]), 101).is_none());
        let held: Vec<_> = streams[..2]
            .iter()
            .map(|stream| one.try_reserve(Some(stream), 100).unwrap())
            .collect();
        assert!(
            one.try_reserve(Some(&streams[0]), 1).is_none(),
            "the stream is full"
        );
        let third = one.try_reserve(Some(&streams[2]), 100).unwrap();
        assert!(
            one.try_reserve(Some(&streams[3]), 1).is_none(),
            "the client is full"
        );
        // Others have what the first one leaves.
        let other = account(&accounts, "other");
        let _some = other.try_reserve(None, 100).unwrap();
        assert!(
            other.try_reserve(None, 101).is_none(),
            "the server has 100 left"
        );
        drop((held, third));
        assert!(other.try_reserve(None, 101).is_some());
    }

    #[test]
    fn a_reply_that_is_larger_than_all_bounds_goes_alone() {
        let accounts = Accounts::new(BOUNDS);
        let one = account(&accounts, "one");
        let whole = one.try_reserve(None, 10_000).unwrap();
        assert!(one.try_reserve(None, 1).is_none());
        drop(whole);
        assert!(one.try_reserve(None, 1).is_some());
    }
}
