//! The debt of clients for the time of the threads that move their requests. The dispatcher shares the work for devices.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tokio::time::Instant;

/// The debt of one client. A client in debt is not read until that time has passed, so that it has no more of the threads'
/// time than other active clients. Nothing is charged while no task has to wait for a thread.
#[derive(Debug)]
pub struct Debt {
    since: Instant,
    /// The time when the debt is paid, in nanoseconds after `since`.
    paid_at: AtomicU64,
    /// The time of its last activity, in nanoseconds after `since`.
    last: AtomicU64,
    /// The time when it was last refused for lack of room, in nanoseconds after `since`.
    refused_last: AtomicU64,
    sharing: Arc<Sharing>,
}

/// The state of the clients that share the threads.
#[derive(Debug)]
pub(super) struct Sharing {
    threads: u64,
    /// The nanoseconds charged for each nanosecond of a thread; 0 while no task waits for one.
    shares: AtomicU64,
    /// Whether every active client is refused some of its requests.
    is_overloaded: AtomicBool,
}

impl Debt {
    pub(super) fn new(sharing: &Arc<Sharing>) -> Self {
        Self {
            since: Instant::now(),
            paid_at: AtomicU64::new(0),
            last: AtomicU64::new(0),
            refused_last: AtomicU64::new(0),
            sharing: Arc::clone(sharing),
        }
    }

    /// Records that the client is active.
    pub fn touch(&self) {
        self.last.store(self.now(), Ordering::Relaxed);
    }

    /// Records that the client is refused for lack of room. Returns whether all active clients are.
    pub fn refuse(&self) -> bool {
        self.refused_last.store(self.now(), Ordering::Relaxed);
        self.sharing.is_overloaded.load(Ordering::Relaxed)
    }

    /// Charges the client for this much time of a thread.
    pub fn charge(&self, cost: Duration) {
        let now = self.now();
        self.last.store(now, Ordering::Relaxed);
        let shares = self.sharing.shares.load(Ordering::Relaxed);
        let cost = nanoseconds(cost).saturating_mul(shares) / self.sharing.threads;
        let paid_at = self.paid_at.load(Ordering::Relaxed).max(now);
        // Concurrent charges may be lost; a flood makes enough of them.
        self.paid_at
            .store(paid_at.saturating_add(cost), Ordering::Relaxed);
    }

    /// Charges the client for the time that a future takes of its thread.
    pub async fn timed<F: Future>(&self, future: F) -> F::Output {
        let mut future = pin!(future);
        poll_fn(|context| {
            let began = self.moment();
            let poll = future.as_mut().poll(context);
            self.charge(began.elapsed());
            poll
        })
        .await
    }

    /// Returns the current moment, to measure the time from here.
    pub fn moment(&self) -> Moment {
        // The thread's clock costs ten times as much as the wall clock, which also counts the time that the thread had to
        // wait.
        match self.sharing.shares.load(Ordering::Relaxed) {
            0 => Moment::Clock(Instant::now()),
            _ => Moment::Spent(spent()),
        }
    }

    /// Returns the time until which the client is not to be read, if it owes more than a moment.
    pub fn rests_until(&self) -> Option<Instant> {
        let owed = self.owed();
        (owed > DEBT_MAX).then(|| Instant::now() + owed.min(REST_MAX))
    }

    /// Whether tasks have to wait for the threads.
    pub(super) fn is_shared(&self) -> bool {
        self.sharing.shares.load(Ordering::Relaxed) > 0
    }

    pub(super) fn owed(&self) -> Duration {
        let paid_at = self.paid_at.load(Ordering::Relaxed);
        Duration::from_nanos(paid_at.saturating_sub(self.now()))
    }

    /// Whether it was active lately.
    pub(super) fn is_busy(&self) -> bool {
        self.is_recent(&self.last)
    }

    /// Whether it was refused for lack of room lately.
    pub(super) fn is_refused(&self) -> bool {
        self.is_recent(&self.refused_last)
    }

    fn is_recent(&self, moment: &AtomicU64) -> bool {
        let moment = moment.load(Ordering::Relaxed);
        moment > 0 && self.now().saturating_sub(moment) < nanoseconds(BUSY)
    }

    fn now(&self) -> u64 {
        nanoseconds(self.since.elapsed())
    }
}

/// The start of a measurement.
#[derive(Debug)]
pub enum Moment {
    /// A CPU time of the thread.
    Spent(Duration),
    /// A time of the wall clock.
    Clock(Instant),
}

impl Moment {
    /// Returns the time that this thread has taken since then.
    pub fn elapsed(&self) -> Duration {
        match self {
            Self::Spent(before) => spent().saturating_sub(*before),
            Self::Clock(before) => before.elapsed(),
        }
        .min(TIMED_MAX)
    }
}

/// Returns the CPU time of this thread.
pub(in crate::server) fn spent() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

impl Sharing {
    pub(super) fn new(threads: usize) -> Self {
        Self {
            threads: threads.max(1) as u64,
            shares: AtomicU64::new(0),
            is_overloaded: AtomicBool::new(false),
        }
    }

    /// Divides the threads among `busy` clients, if tasks have to wait for them.
    pub(super) fn divide(&self, busy: usize, do_tasks_wait: bool) {
        let shares = match do_tasks_wait && busy > 1 {
            true => busy.min(SHARES_MAX) as u64,
            false => 0,
        };
        self.shares.store(shares, Ordering::Relaxed);
    }

    pub(super) fn set_overloaded(&self, is_overloaded: bool) {
        self.is_overloaded.store(is_overloaded, Ordering::Relaxed);
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// The most that a client may owe before it is no longer read.
const DEBT_MAX: Duration = Duration::from_millis(1);
/// The most that is charged at a time. A handshake takes less; by the wall clock, more means that the thread itself had to
/// wait.
const TIMED_MAX: Duration = Duration::from_millis(2);
/// The longest pause at a time.
const REST_MAX: Duration = Duration::from_secs(1);
/// The time for which a client counts as active.
const BUSY: Duration = Duration::from_millis(200);
/// The most shares that a thread is divided into. With more clients each still has one, because most leave some of theirs.
const SHARES_MAX: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_owes_is_not_read_from() {
        let hour = Duration::from_secs(3600);
        let owed = |threads, busy, do_tasks_wait| {
            let sharing = Arc::new(Sharing::new(threads));
            sharing.divide(busy, do_tasks_wait);
            let debt = Debt::new(&sharing);
            debt.charge(hour);
            assert!(debt.is_busy());
            assert_eq!(debt.rests_until().is_some(), !debt.owed().is_zero());
            let rest = debt.rests_until();
            assert!(rest.is_none_or(|until| until < Instant::now() + 2 * REST_MAX));
            (debt.owed().as_secs_f64() / hour.as_secs_f64()).round()
        };
        assert_eq!(owed(1, 1, true), 0.0);
        assert_eq!(owed(1, 2, false), 0.0);
        assert_eq!(owed(1, 2, true), 2.0);
        assert_eq!(owed(2, 2, true), 1.0);
        assert_eq!(owed(1, 100, true), SHARES_MAX as f64);
    }

    #[test]
    fn who_has_asked_for_nothing_is_not_busy_and_a_moment_is_no_debt() {
        let sharing = Arc::new(Sharing::new(1));
        sharing.divide(2, true);
        let debt = Debt::new(&sharing);
        assert!(!debt.is_busy());
        debt.charge(DEBT_MAX / 4);
        assert!(debt.rests_until().is_none());
    }
}
