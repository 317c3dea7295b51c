//! The number of connections, in all and of each client.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::OwnedSemaphorePermit;

use crate::tls::Identity;

/// Counts of connections.
#[derive(Debug, Default)]
pub struct Counts {
    open: AtomicU64,
    /// Open connections of each client.
    of_client: Mutex<HashMap<Identity, usize>>,
    pub(super) admitted: AtomicU64,
    pub(super) refused: AtomicU64,
}

impl Counts {
    /// Open connections whose handshake is done.
    pub fn open(&self) -> u64 {
        self.open.load(Ordering::Relaxed)
    }

    /// Connections admitted since the start.
    pub fn admitted(&self) -> u64 {
        self.admitted.load(Ordering::Relaxed)
    }

    /// Connections refused since the start, for their handshake or for lack of a place.
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }
}

/// A place among the connections. It is counted until it is dropped.
pub(super) struct Place {
    _permit: OwnedSemaphorePermit,
    counts: Arc<Counts>,
    identity: Identity,
    /// How many places its client had when it was taken, including this one.
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
