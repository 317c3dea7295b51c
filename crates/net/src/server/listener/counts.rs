//! The number of connections, in total and per client.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::super::allowance::{Allowance, STREAM_BYTES};
use super::super::config::Limits;
use super::debt::{Debt, Sharing};
use crate::tls::Identity;

/// The counts of connections.
#[derive(Debug)]
pub struct Counts {
    open: AtomicU64,
    by_client: Mutex<HashMap<Identity, OfClient>>,
    allowed: Allowed,
    allowed_all: Arc<Semaphore>,
    sharing: Arc<Sharing>,
    /// The debt of connections whose handshake is not done.
    pub(super) newcomers: Debt,
    pub(super) admitted: AtomicU64,
    pub(super) refused: AtomicU64,
}

/// The memory that clients may make the server hold for their calls.
#[derive(Clone, Copy, Debug)]
pub(super) struct Allowed {
    /// The bytes of a client, however few connections it has.
    client: usize,
    /// The bytes that each of its connections adds. Many machines may share a certificate, and the stream of each keeps a
    /// buffer for its longest message.
    connection: usize,
    /// The most connections that add to them.
    connections_max: usize,
    /// The bytes of all clients together.
    all: usize,
}

impl Allowed {
    pub(super) fn of(limits: &Limits) -> Self {
        let streams = STREAMS_PER_CONNECTION * limits.client_connections_max;
        let client = streams * STREAM_BYTES + LONG_STREAMS * limits.message_bytes_max;
        let connection = USUAL_BYTES.min(limits.message_bytes_max);
        Self {
            client,
            connection,
            connections_max: limits.client_connections_max,
            all: 8 * client + 2 * connection * limits.client_connections_max,
        }
    }

    /// Returns the bytes of a client with this number of connections.
    fn with(&self, connections: usize) -> usize {
        self.client + self.connection * connections.min(self.connections_max)
    }
}

/// The state that the connections of a client share.
#[derive(Debug)]
struct OfClient {
    open: usize,
    allowance: Arc<Allowance>,
    debt: Arc<Debt>,
}

impl Counts {
    /// Creates counts for a server with `threads` threads that move requests.
    pub(super) fn new(allowed: Allowed, threads: usize) -> Self {
        let sharing = Arc::new(Sharing::new(threads));
        Self {
            open: AtomicU64::new(0),
            by_client: Mutex::default(),
            allowed,
            allowed_all: Arc::new(Semaphore::new(allowed.all.min(Semaphore::MAX_PERMITS))),
            newcomers: Debt::new(&sharing),
            sharing,
            admitted: AtomicU64::new(0),
            refused: AtomicU64::new(0),
        }
    }

    /// Divides the threads among the active clients if tasks have to wait for them, and forgets clients that have left and
    /// owe nothing. Call it periodically.
    pub fn share(&self, do_tasks_wait: bool) {
        let mut clients = lock(&self.by_client);
        clients.retain(|_, client| client.open > 0 || !client.debt.owed().is_zero());
        let busy = clients.values().map(|client| &client.debt);
        let busy: Vec<_> = busy.filter(|debt| debt.is_busy()).collect();
        let is_overloaded = !busy.is_empty() && busy.iter().all(|debt| debt.is_refused());
        self.sharing.set_overloaded(is_overloaded);
        let busy = busy.len() + usize::from(self.newcomers.is_busy());
        self.sharing.divide(busy, do_tasks_wait);
    }

    /// Returns the number of open connections whose handshake is done.
    pub fn open(&self) -> u64 {
        self.open.load(Ordering::Relaxed)
    }

    /// Returns the number of connections admitted since the start.
    pub fn admitted(&self) -> u64 {
        self.admitted.load(Ordering::Relaxed)
    }

    /// Returns the number of connections that have ended since the start, refused ones included.
    pub fn ended(&self) -> u64 {
        (self.admitted() + self.refused()).saturating_sub(self.open())
    }

    /// Returns the number of connections refused since the start, for their handshake or for lack of a place.
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }
}

/// A place among the connections. It is counted until it is dropped.
pub(super) struct Place {
    _permit: OwnedSemaphorePermit,
    counts: Arc<Counts>,
    identity: Identity,
    /// The client's number of places when it was taken, including this one.
    pub(super) of_client: usize,
    pub(super) allowance: Arc<Allowance>,
    pub(super) debt: Arc<Debt>,
}

impl Place {
    pub(super) fn new(
        permit: OwnedSemaphorePermit,
        counts: &Arc<Counts>,
        identity: Identity,
    ) -> Self {
        counts.open.fetch_add(1, Ordering::Relaxed);
        let mut clients = lock(&counts.by_client);
        let client = clients.entry(identity.clone()).or_insert_with(|| {
            let most = counts.allowed.with(usize::MAX);
            OfClient {
                open: 0,
                allowance: Arc::new(Allowance::new(most, &counts.allowed_all)),
                debt: Arc::new(Debt::new(&counts.sharing)),
            }
        });
        client.open += 1;
        client.allowance.set_most(counts.allowed.with(client.open));
        Self {
            _permit: permit,
            counts: Arc::clone(counts),
            identity,
            of_client: client.open,
            allowance: Arc::clone(&client.allowance),
            debt: Arc::clone(&client.debt),
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.counts.open.fetch_sub(1, Ordering::Relaxed);
        let mut clients = lock(&self.counts.by_client);
        if let Some(client) = clients.get_mut(&self.identity) {
            client.open -= 1;
            let most = self.counts.allowed.with(client.open);
            client.allowance.set_most(most);
            // A client that returns keeps its debt.
            if client.open == 0 && client.debt.owed().is_zero() {
                clients.remove(&self.identity);
            }
        }
    }
}

/// The streams per connection for a client that has all its connections open.
const STREAMS_PER_CONNECTION: usize = 4;
/// The streams of a client that may have had a message of the greatest length, however many connections it may open.
const LONG_STREAMS: usize = 4;
/// The longest message of Oarlock's client: up to 64 KiB of requests, and a batch of items behind them.
const USUAL_BYTES: usize = 336 << 10;

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALLOWED: Allowed = Allowed {
        client: 1000,
        connection: 300,
        connections_max: 2,
        all: 8600,
    };

    fn place(counts: &Arc<Counts>, client: &str) -> Place {
        let permit = Arc::new(Semaphore::new(1)).try_acquire_owned().unwrap();
        Place::new(permit, counts, Identity::new(client))
    }

    #[test]
    fn each_connection_adds_to_what_its_client_may_take() {
        let counts = Arc::new(Counts::new(ALLOWED, 1));
        let most = |place: &Place| {
            let taken = std::iter::from_fn(|| place.allowance.try_take(100));
            100 * taken.collect::<Vec<_>>().len()
        };
        let first = place(&counts, "client");
        assert_eq!(most(&first), 1300);
        let second = place(&counts, "client");
        assert_eq!(most(&first), 1600);
        // A connection more than the client may have is about to be refused.
        let third = place(&counts, "client");
        assert_eq!(most(&third), 1600);
        drop((first, second));
        assert_eq!(most(&third), 1300);
    }

    #[test]
    fn the_default_limits_allow_what_the_manual_says() {
        let allowed = Allowed::of(&Limits::default());
        let (kib, mib) = (1 << 10, 1 << 20);
        assert_eq!(allowed.with(0), 12 * mib);
        assert_eq!(allowed.with(1), 12 * mib + 336 * kib);
        assert_eq!(allowed.with(4096), 96 * mib);
        assert_eq!(allowed.all, 264 * mib);
    }

    #[test]
    fn all_are_refused_only_if_each_that_asks_is() {
        let counts = Arc::new(Counts::new(ALLOWED, 1));
        let [flood, other] = ["flood", "other"].map(|client| place(&counts, client));
        flood.debt.touch();
        assert!(!flood.debt.refuse(), "nobody has looked yet");
        // On a machine that stalls for a moment they count as gone, so each is tried often.
        let asked = |of_other: &dyn Fn()| {
            flood.debt.touch();
            flood.debt.refuse();
            of_other();
            counts.share(false);
            flood.debt.refuse()
        };
        let mut tries = 0..100;
        assert!(tries.any(|_| asked(&|| ())), "the other asks for nothing");
        let asks = || other.debt.touch();
        assert!(tries.any(|_| !asked(&asks)), "the other is not refused");
        let is_refused = || {
            other.debt.touch();
            other.debt.refuse();
        };
        assert!(tries.any(|_| asked(&is_refused)));
    }
}
