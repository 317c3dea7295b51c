//! What clients owe for the threads that move their requests. Work for devices is shared by the dispatcher.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::time::Instant;

/// What one client owes. A client that owes is not read from until that time has passed, so that it has
/// no more of the threads' time than others that ask for something.
#[derive(Debug)]
pub struct Debt {
    since: Instant,
    /// When nothing is owed any more, in nanoseconds after `since`.
    paid_at: AtomicU64,
    /// When it last asked for something, likewise.
    last: AtomicU64,
    sharing: Arc<Sharing>,
}

/// Who shares the threads.
#[derive(Debug)]
pub(super) struct Sharing {
    pub(super) threads: usize,
    /// Clients that ask for something at the moment.
    pub(super) busy: AtomicUsize,
}

impl Debt {
    pub(super) fn new(sharing: &Arc<Sharing>) -> Self {
        Self {
            since: Instant::now(),
            paid_at: AtomicU64::new(0),
            last: AtomicU64::new(0),
            sharing: Arc::clone(sharing),
        }
    }

    /// Notes that the client asks for something.
    pub fn touch(&self) {
        self.last.store(self.now(), Ordering::Relaxed);
    }

    /// Charges the client for what took a thread this long.
    pub fn charge(&self, cost: Duration) {
        let now = self.now();
        self.last.store(now, Ordering::Relaxed);
        let cost = nanoseconds(cost).saturating_mul(self.sharing.twice_the_shares())
            / (2 * self.sharing.threads as u64);
        let paid_at = self.paid_at.load(Ordering::Relaxed).max(now);
        // Charges of connections that run at the same time may be lost; those of a flood are many.
        self.paid_at
            .store(paid_at.saturating_add(cost), Ordering::Relaxed);
    }

    /// Charges the client for what a future takes of its thread.
    pub async fn timed<F: Future>(&self, future: F) -> F::Output {
        let mut future = pin!(future);
        poll_fn(|context| {
            let began = Instant::now();
            let poll = future.as_mut().poll(context);
            // More than that, and the thread itself had to wait.
            self.charge(began.elapsed().min(TIMED_MAX));
            poll
        })
        .await
    }

    /// Until when the client is not to be read from: for a while, if it owes more than a moment.
    pub fn rests_until(&self) -> Option<Instant> {
        let owed = self.owed();
        (owed > DEBT_MAX).then(|| Instant::now() + owed.min(REST_MAX))
    }

    /// What it owes.
    pub(super) fn owed(&self) -> Duration {
        let paid_at = self.paid_at.load(Ordering::Relaxed);
        Duration::from_nanos(paid_at.saturating_sub(self.now()))
    }

    /// Whether it has asked for something lately.
    pub(super) fn is_busy(&self) -> bool {
        let last = self.last.load(Ordering::Relaxed);
        last > 0 && self.now().saturating_sub(last) < nanoseconds(BUSY)
    }

    fn now(&self) -> u64 {
        nanoseconds(self.since.elapsed())
    }
}

impl Sharing {
    /// Of the threads' time a client has one share. Alone it has twice as much as there is, so that a cost that
    /// is too high does not hold it up.
    fn twice_the_shares(&self) -> u64 {
        match self.busy.load(Ordering::Relaxed) {
            0 | 1 => 1,
            busy => 2 * busy.min(SHARES_MAX) as u64,
        }
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// A client may owe this much before it is not read from.
const DEBT_MAX: Duration = Duration::from_millis(1);
/// A handshake takes less.
pub const TIMED_MAX: Duration = Duration::from_millis(2);
/// The longest rest at a time.
const REST_MAX: Duration = Duration::from_secs(1);
/// How long a client counts as busy.
const BUSY: Duration = Duration::from_millis(200);
/// With more clients each still has this part of a thread, because most of them leave theirs.
const SHARES_MAX: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_owes_is_not_read_from_and_shares_count() {
        let sharing = |threads, busy| {
            let busy = AtomicUsize::new(busy);
            Debt::new(&Arc::new(Sharing { threads, busy }))
        };
        let debt = sharing(1, 0);
        assert!(!debt.is_busy());
        debt.charge(DEBT_MAX / 2);
        assert!(debt.is_busy() && debt.rests_until().is_none());
        let hour = Duration::from_secs(3600);
        debt.charge(2 * hour);
        assert!(debt.owed() > hour / 2 && debt.owed() < hour * 3 / 2);
        assert!(debt.rests_until().unwrap() < Instant::now() + 2 * REST_MAX);
        // Two clients on one thread, and on two.
        for (threads, owed) in [(1, 2 * hour), (2, hour)] {
            let shared = sharing(threads, 2);
            shared.charge(hour);
            assert!(shared.owed() > owed - hour / 2 && shared.owed() < owed + hour / 2);
        }
    }
}
