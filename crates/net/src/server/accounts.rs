//! The account of each client: its number in the dispatcher, and bounds on the bytes of its messages that wait and of replies
//! that it has not read. An account is removed when its client has nothing left on the server.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Semaphore;

use super::allowance::{Allowance, Taken};
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
    messages_client: usize,
    messages_server: Arc<Semaphore>,
}

/// A client's account.
pub(super) struct Account {
    pub(super) client: ClientId,
    bounds: ReplyBounds,
    replies: Allowance,
    /// The room for decoded messages. It is separate from that for replies: a message that waits for room for a reply would
    /// otherwise wait for its own end.
    messages: Allowance,
}

impl Accounts {
    /// Creates the accounts of a server that takes messages of `message_bytes_max`.
    pub(super) fn new(bounds: ReplyBounds, message_bytes_max: usize) -> Self {
        let messages_client = MESSAGES_BYTES_MIN.max(message_bytes_max.saturating_mul(4));
        let messages_server = messages_client
            .saturating_mul(8)
            .min(Semaphore::MAX_PERMITS);
        Self {
            by_identity: Mutex::default(),
            bounds,
            server: Arc::new(Semaphore::new(bounds.server)),
            messages_client,
            messages_server: Arc::new(Semaphore::new(messages_server)),
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
            messages: Allowance::new(self.messages_client, &self.messages_server),
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

    /// Takes room for a decoded message that may have to wait, if it is free now. A message larger than the client's whole
    /// room takes all of it.
    pub(super) fn try_hold(&self, bytes: usize) -> Option<Taken> {
        self.messages.try_take(bytes)
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

/// The minimum of a client's room for waiting messages: about 25 of the longest that Oarlock's client sends.
const MESSAGES_BYTES_MIN: usize = 8 << 20;

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
        let accounts = Accounts::new(BOUNDS, 100);
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
    fn messages_have_room_of_their_own() {
        let accounts = Accounts::new(BOUNDS, 100);
        let one = account(&accounts, "one");
        let _replies = one.try_reserve(None, 300).unwrap();
        let most = one.try_hold(MESSAGES_BYTES_MIN - 1).unwrap();
        assert!(one.try_hold(2).is_none());
        let _other = account(&accounts, "other").try_hold(2).unwrap();
        drop(most);
        // A message that is larger than all bounds goes alone.
        let whole = one.try_hold(usize::MAX).unwrap();
        assert!(one.try_hold(1).is_none());
        drop(whole);
        assert!(one.try_hold(1).is_some());
    }

    #[test]
    fn a_reply_that_is_larger_than_all_bounds_goes_alone() {
        let accounts = Accounts::new(BOUNDS, 100);
        let one = account(&accounts, "one");
        let whole = one.try_reserve(None, 10_000).unwrap();
        assert!(one.try_reserve(None, 1).is_none());
        drop(whole);
        assert!(one.try_reserve(None, 1).is_some());
    }
}
