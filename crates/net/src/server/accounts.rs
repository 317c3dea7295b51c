//! The account of each client: its number in the dispatcher, and bounds on the bytes of replies that it has not read. An
//! account is removed when its client has nothing left on the server.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Semaphore;

use super::allowance::Allowance;
use super::dispatch::{ClientId, Dispatcher};
use super::outbox::{REPLY_BYTES, Reserved};
use crate::tls::Identity;

/// The most bytes of replies under way: reserved for requests that are not answered, or for answers that are not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ReplyBounds {
    pub(super) stream: usize,
    pub(super) client: usize,
    pub(super) server: usize,
}

impl ReplyBounds {
    /// Returns room for ordinary replies to every request that the limits admit, but at least 1 MiB per stream, 4 MiB per
    /// client and 64 MiB in all.
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

/// The accounts of all clients with a stream, a request or an unread reply.
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

    /// Returns the account of a client, and opens one with the number from `open` if there is none.
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

    /// Closes the accounts of clients that have no stream, no request and no unread reply. Call it periodically.
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
    /// Returns the semaphore that bounds the reply bytes of one stream.
    pub(super) fn stream(&self) -> Arc<Semaphore> {
        Arc::new(Semaphore::new(self.bounds.stream))
    }

    /// Reserves room for a reply if it is free now. A reply larger than the client's whole room takes all of it.
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

    /// Waits until the client has read enough. `None` if the server as a whole has no room; a client that keeps reading may
    /// find some later.
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
        // Other clients may use what the first one leaves.
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
