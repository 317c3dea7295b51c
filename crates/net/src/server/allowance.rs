//! Bounds on the memory that clients make the server hold: one per client, and one for all together. There are three of them,
//! which are full for different reasons: for calls and their buffers, for decoded messages that wait, and for replies.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The bytes that one client may make the server hold.
#[derive(Debug)]
pub struct Allowance {
    bytes: usize,
    /// The part of `bytes` that it may take now.
    most: AtomicUsize,
    own: Arc<Semaphore>,
    all: Arc<Semaphore>,
}

/// Bytes taken from an [`Allowance`]. Dropping this returns them.
#[derive(Debug)]
#[expect(dead_code, reason = "kept, not read")]
pub struct Taken {
    own: OwnedSemaphorePermit,
    all: OwnedSemaphorePermit,
}

impl Allowance {
    /// Creates a client's allowance of `bytes`, which it draws from `all`.
    pub(super) fn new(bytes: usize, all: &Arc<Semaphore>) -> Self {
        let bytes = bytes.min(Semaphore::MAX_PERMITS);
        Self {
            bytes,
            most: AtomicUsize::new(bytes),
            own: Arc::new(Semaphore::new(bytes)),
            all: Arc::clone(all),
        }
    }

    /// Changes how many of its bytes the client may take. Those that it has taken beyond that stay until it returns them.
    pub(super) fn set_most(&self, bytes: usize) {
        self.most.store(bytes.min(self.bytes), Ordering::Relaxed);
    }

    fn most(&self) -> usize {
        self.most.load(Ordering::Relaxed)
    }

    /// Whether no bytes are taken.
    pub(super) fn is_whole(&self) -> bool {
        self.own.available_permits() == self.bytes
    }

    /// Takes bytes if they are free now. A request for more than the client's whole allowance takes all of it.
    pub(super) fn try_take(&self, bytes: usize) -> Option<Taken> {
        let count = u32::try_from(bytes.min(self.most())).ok()?;
        let own = Arc::clone(&self.own).try_acquire_many_owned(count).ok()?;
        self.of_all(own, count)
    }

    /// Waits until enough of the client's own bytes are free; `None` if too little is left for all clients.
    pub(super) async fn take(&self, bytes: usize) -> Option<Taken> {
        let count = u32::try_from(bytes.min(self.bytes)).ok()?;
        let own = Arc::clone(&self.own).acquire_many_owned(count).await.ok()?;
        self.of_all(own, count)
    }

    /// Takes bytes of the common bound if the client holds no more than what is left to others (dynamic thresholds,
    /// Choudhury and Hahne 1998). So a few clients that return nothing leave enough for the rest.
    fn of_all(&self, own: OwnedSemaphorePermit, count: u32) -> Option<Taken> {
        let held = self.bytes - self.own.available_permits();
        if held > self.most() || held > self.all.available_permits() {
            return None;
        }
        let all = Arc::clone(&self.all).try_acquire_many_owned(count).ok()?;
        Some(Taken { own, all })
    }
}

/// The memory of a stream with its headers and its task.
pub(super) const STREAM_BYTES: usize = 8 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_gives_nothing_back_leaves_enough_for_others() {
        let all = Arc::new(Semaphore::new(500));
        let (one, other) = (Allowance::new(300, &all), Allowance::new(300, &all));
        let first = one.try_take(200).unwrap();
        assert!(one.try_take(101).is_none(), "the client has 100 left");
        let _more = one.try_take(50).unwrap();
        let _some = other.try_take(100).unwrap();
        assert!(other.try_take(101).is_none(), "150 are left for all");
        assert!(!one.is_whole());
        drop(first);
        assert!(other.try_take(101).is_some());
        assert!(one.try_take(1000).is_none());
        assert!(Allowance::new(300, &all).try_take(1000).is_some());
    }

    #[test]
    fn the_part_that_may_be_taken_changes_at_any_time() {
        let all = Arc::new(Semaphore::new(1000));
        let allowance = Allowance::new(300, &all);
        allowance.set_most(100);
        let first = allowance.try_take(100).unwrap();
        assert!(allowance.try_take(1).is_none());
        allowance.set_most(200);
        let second = allowance.try_take(100).unwrap();
        allowance.set_most(100);
        drop(first);
        assert!(allowance.try_take(1).is_none(), "100 are still taken");
        drop(second);
        assert!(allowance.try_take(1000).is_some());
        assert!(allowance.is_whole());
    }
}
