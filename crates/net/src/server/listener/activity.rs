//! The lifetime of a connection.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::Context;
use std::time::Duration;

use futures_util::task::AtomicWaker;
use tokio::time::Instant;

/// The lifetime of a connection: an idle time after its last request or reply, and a maximum age. Bytes alone do not count,
/// since PINGs would keep a connection open forever.
#[derive(Debug)]
pub struct Activity {
    since: Instant,
    /// The time of the last request or reply, in microseconds since `since`.
    last: AtomicU64,
    age: Duration,
    is_ended: AtomicBool,
    /// The waker of the connection's task.
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

    /// Whether it has ended. If not, the task is woken when it does.
    pub(super) fn is_ended_or_wakes(&self, context: &Context<'_>) -> bool {
        self.waker.register(context.waker());
        self.is_ended()
    }

    /// Records an arrived request or an outgoing reply.
    pub fn touch(&self) {
        let last = u64::try_from(self.since.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.last.fetch_max(last, Ordering::Relaxed);
    }

    /// Returns the time when its client should open another connection. This one ends some time later.
    pub fn is_due_at(&self) -> Instant {
        self.since + self.age
    }

    /// Returns the time when it ends without further activity.
    pub(super) fn ends_at(&self, idle: Duration) -> Instant {
        let grace = AGE_GRACE.min(self.age);
        (self.last() + idle).min(self.is_due_at() + grace)
    }

    fn last(&self) -> Instant {
        self.since + Duration::from_micros(self.last.load(Ordering::Relaxed))
    }
}

/// The time for outstanding replies after the maximum age.
const AGE_GRACE: Duration = Duration::from_secs(30);
