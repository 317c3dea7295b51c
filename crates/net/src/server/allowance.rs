//! Bounds on the bytes that clients make the server keep: each client's own, and one for all.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How many bytes a client may make the server keep.
#[derive(Debug)]
pub struct Allowance {
    bytes: usize,
    own: Arc<Semaphore>,
    all: Arc<Semaphore>,
}

/// Bytes taken from an [`Allowance`], until they are dropped.
#[derive(Debug)]
#[expect(dead_code, reason = "kept, not read")]
pub struct Taken {
    own: OwnedSemaphorePermit,
    all: OwnedSemaphorePermit,
}

impl Allowance {
    /// This many bytes for one client, of those that are left for all.
    pub(super) fn new(bytes: usize, all: &Arc<Semaphore>) -> Self {
        let bytes = bytes.min(Semaphore::MAX_PERMITS);
        Self {
            bytes,
            own: Arc::new(Semaphore::new(bytes)),
            all: Arc::clone(all),
        }
    }

    /// Whether nothing is taken.
    pub(super) fn is_whole(&self) -> bool {
        self.own.available_permits() == self.bytes
    }

    /// Takes bytes if there are as many at once. More than the client may have count as all of it.
    pub(super) fn try_take(&self, bytes: usize) -> Option<Taken> {
        let count = u32::try_from(bytes.min(self.bytes)).ok()?;
        let own = Arc::clone(&self.own).try_acquire_many_owned(count).ok()?;
        self.of_all(own, count)
    }

    /// Waits until the client has given back enough; `None` if too little is left for all.
    pub(super) async fn take(&self, bytes: usize) -> Option<Taken> {
        let count = u32::try_from(bytes.min(self.bytes)).ok()?;
        let own = Arc::clone(&self.own).acquire_many_owned(count).await.ok()?;
        self.of_all(own, count)
    }

    /// A client may hold as much as it leaves to others (dynamic thresholds, Choudhury and Hahne 1998),
    /// so that some that give nothing back leave enough for the rest.
    fn of_all(&self, own: OwnedSemaphorePermit, count: u32) -> Option<Taken> {
        let held = self.bytes - self.own.available_permits();
        if held > self.all.available_permits() {
            return None;
        }
        let all = Arc::clone(&self.all).try_acquire_many_owned(count).ok()?;
        Some(Taken { own, all })
    }
}

/// What a stream takes, with its headers and its task.
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
}
