//! How many connections there are, in all and of each client.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::OwnedSemaphorePermit;

use crate::tls::Identity;

/// How many connections there were.
#[derive(Debug, Default)]
pub struct Counts {
    open: AtomicU64,
    /// Of these, by client.
    of_client: Mutex<HashMap<Identity, usize>>,
    pub(super) admitted: AtomicU64,
    pub(super) refused: AtomicU64,
}

impl Counts {
    /// Connections that are there now, their handshakes done.
    pub fn open(&self) -> u64 {
        self.open.load(Ordering::Relaxed)
    }

    /// Connections that were let in since the start.
    pub fn admitted(&self) -> u64 {
        self.admitted.load(Ordering::Relaxed)
    }

    /// Connections that were not, for their handshakes or for want of a place.
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }
}

/// One of the places for connections, and its count.
pub(super) struct Place {
    _permit: OwnedSemaphorePermit,
    counts: Arc<Counts>,
    identity: Identity,
    /// How many its client had when it came, this one with them.
    pub(super) of_client: usize,
}

impl Place {
    pub(super) fn new(
        permit: OwnedSemaphorePermit,
        counts: &Arc<Counts>,
        identity: Identity,
    ) -> Self {
        counts.open.fetch_add(1, Ordering::Relaxed);
        let mut clients = lock(&counts.of_client);
        let count = clients.entry(identity.clone()).or_default();
        *count += 1;
        Self {
            _permit: permit,
            counts: Arc::clone(counts),
            identity,
            of_client: *count,
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.counts.open.fetch_sub(1, Ordering::Relaxed);
        let mut clients = lock(&self.counts.of_client);
        if let Some(count) = clients.get_mut(&self.identity) {
            *count -= 1;
            if *count == 0 {
                clients.remove(&self.identity);
            }
        }
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
