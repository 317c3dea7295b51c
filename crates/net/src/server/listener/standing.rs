//! The open connections with their clients' certificates. A connection ends when a certificate expires, or when the server's
//! files withdraw it.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use rustls_pki_types::CertificateDer;

use super::activity::Activity;
use super::counts::lock;

/// The connections of clients with certificates.
#[derive(Default)]
pub struct Standing(Mutex<Entries>);

#[derive(Default)]
struct Entries {
    next: u64,
    by_number: HashMap<u64, Entry>,
}

#[derive(Clone)]
struct Entry {
    chain: Arc<[CertificateDer<'static>]>,
    expires: SystemTime,
    activity: Arc<Activity>,
}

impl Standing {
    /// Registers a connection until the returned value is dropped.
    pub(super) fn enter(
        self: &Arc<Self>,
        chain: Arc<[CertificateDer<'static>]>,
        expires: SystemTime,
        activity: Arc<Activity>,
    ) -> Stay {
        let mut entries = lock(&self.0);
        let number = entries.next;
        entries.next += 1;
        let entry = Entry {
            chain,
            expires,
            activity,
        };
        entries.by_number.insert(number, entry);
        Stay {
            standing: Arc::clone(self),
            number,
        }
    }

    /// Ends the connections whose certificates have expired. Returns how many.
    pub fn expire(&self, now: SystemTime) -> usize {
        let entries = lock(&self.0);
        let over = entries.by_number.values().filter(|it| it.expires <= now);
        over.filter(|it| it.activity.end()).count()
    }

    /// Ends the connections whose certificates are withdrawn. Returns how many. Blocks while it verifies all of them.
    pub fn review(&self, is_withdrawn: impl Fn(&[CertificateDer<'static>]) -> bool) -> usize {
        // The lock is not held: verifying takes a while, and connections open and close.
        let entries: Vec<_> = lock(&self.0).by_number.values().cloned().collect();
        let over = entries.iter().filter(|it| is_withdrawn(&it.chain));
        over.filter(|it| it.activity.end()).count()
    }
}

impl fmt::Debug for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Standing")
            .field(&lock(&self.0).by_number.len())
            .finish()
    }
}

/// A connection's entry, which `Drop` removes.
pub(super) struct Stay {
    standing: Arc<Standing>,
    number: u64,
}

impl Drop for Stay {
    fn drop(&mut self) {
        lock(&self.standing.0).by_number.remove(&self.number);
    }
}
