//! The number of connections, in total and per client.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::super::allowance::Allowance;
use super::debt::{Debt, Sharing};
use crate::tls::Identity;

/// The counts of connections.
#[derive(Debug)]
pub struct Counts {
    open: AtomicU64,
    by_client: Mutex<HashMap<Identity, OfClient>>,
    /// The memory that each client, and all of them together, may make the server hold.
    allowed: usize,
    allowed_all: Arc<Semaphore>,
    sharing: Arc<Sharing>,
    /// The debt of connections whose handshake is not done.
    pub(super) newcomers: Debt,
    pub(super) admitted: AtomicU64,
    pub(super) refused: AtomicU64,
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
    pub(super) fn new(allowed: usize, allowed_all: usize, threads: usize) -> Self {
        let sharing = Arc::new(Sharing::new(threads));
        Self {
            open: AtomicU64::new(0),
            by_client: Mutex::default(),
            allowed,
            allowed_all: Arc::new(Semaphore::new(allowed_all.min(Semaphore::MAX_PERMITS))),
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
        let client = clients.entry(identity.clone()).or_insert_with(|| OfClient {
            open: 0,
            allowance: Arc::new(Allowance::new(counts.allowed, &counts.allowed_all)),
            debt: Arc::new(Debt::new(&counts.sharing)),
        });
        client.open += 1;
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
            // A client that returns keeps its debt.
            if client.open == 0 && client.debt.owed().is_zero() {
                clients.remove(&self.identity);
            }
        }
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(counts: &Arc<Counts>, client: &str) -> Place {
        let permit = Arc::new(Semaphore::new(1)).try_acquire_owned().unwrap();
        Place::new(permit, counts, Identity::new(client))
    }

    #[test]
    fn all_are_refused_only_if_each_that_asks_is() {
        let counts = Arc::new(Counts::new(1 << 20, 1 << 23, 1));
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
