//! How long a connection lasts.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::Context;
use std::time::Duration;

use futures_util::task::AtomicWaker;
use tokio::time::Instant;

/// How long a connection may last: for a time after its last request or reply, and never beyond an age. Bytes
/// alone do not count: PINGs would keep a connection open forever.
#[derive(Debug)]
pub struct Activity {
    since: Instant,
    /// Microseconds since `since`.
    last: AtomicU64,
    age: Duration,
    is_ended: AtomicBool,
    /// The task of the connection.
    waker: AtomicWaker,
}

impl Activity {
    pub(super) fn new(age: Duration) -> Self {
        Self {
            since: Instant::now(),
            last: AtomicU64::new(0),
            age,
            is_ended: AtomicBool::new(false),
            waker: AtomicWaker::new(),
        }
    }

    /// Ends the connection now. Returns false if it was ended before.
    pub(super) fn end(&self) -> bool {
        let was_ended = self.is_ended.swap(true, Ordering::AcqRel);
        self.waker.wake();
        !was_ended
    }

    pub(super) fn is_ended(&self) -> bool {
        self.is_ended.load(Ordering::Acquire)
    }

    /// The same, and wakes the task if it is ended later.
    pub(super) fn is_ended_or_wakes(&self, context: &Context<'_>) -> bool {
        self.waker.register(context.waker());
        self.is_ended()
    }

    /// Notes a request that has arrived, or a reply that is handed out.
    pub fn touch(&self) {
        let last = u64::try_from(self.since.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.last.fetch_max(last, Ordering::Relaxed);
    }

    /// When its client should have another connection. Some time later this one ends.
    pub fn is_due_at(&self) -> Instant {
        self.since + self.age
    }

    /// When it ends if nothing more happens.
    pub(super) fn ends_at(&self, idle: Duration) -> Instant {
        let grace = AGE_GRACE.min(self.age);
        (self.last() + idle).min(self.is_due_at() + grace)
    }

    fn last(&self) -> Instant {
        self.since + Duration::from_micros(self.last.load(Ordering::Relaxed))
    }
}

/// For replies, after the age.
const AGE_GRACE: Duration = Duration::from_secs(30);
