//! What clients owe for the threads that move their requests. Work for devices is shared by the dispatcher.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tokio::time::Instant;

/// What one client owes. A client that owes is not read from until that time has passed, so that it has
/// no more of the threads' time than others that ask for something. Nothing is charged while tasks of
/// all clients have their turns at once.
#[derive(Debug)]
pub struct Debt {
    since: Instant,
    /// When nothing is owed any more, in nanoseconds after `since`.
    paid_at: AtomicU64,
    /// When it last asked for something, in nanoseconds after `since`.
    last: AtomicU64,
    /// When it was last refused for lack of room, in nanoseconds after `since`.
    refused_last: AtomicU64,
    sharing: Arc<Sharing>,
}

/// The clients that share the threads, and on what terms.
#[derive(Debug)]
pub(super) struct Sharing {
    threads: u64,
    /// How many nanoseconds are owed for each nanosecond of a thread; 0 while nobody waits for one.
    shares: AtomicU64,
    /// Whether all clients that ask for something are refused some of it.
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

    /// Notes that the client asks for something.
    pub fn touch(&self) {
        self.last.store(self.now(), Ordering::Relaxed);
    }

    /// Notes that the client is refused for lack of room. Returns whether all are that ask for something.
    pub fn refuse(&self) -> bool {
        self.refused_last.store(self.now(), Ordering::Relaxed);
        self.sharing.is_overloaded.load(Ordering::Relaxed)
    }

    /// Charges the client for what took a thread this long.
    pub fn charge(&self, cost: Duration) {
        let now = self.now();
        self.last.store(now, Ordering::Relaxed);
        let shares = self.sharing.shares.load(Ordering::Relaxed);
        let cost = nanoseconds(cost).saturating_mul(shares) / self.sharing.threads;
        let paid_at = self.paid_at.load(Ordering::Relaxed).max(now);
        // Charges of connections that run at the same time may be lost; those of a flood are many.
        self.paid_at
            .store(paid_at.saturating_add(cost), Ordering::Relaxed);
    }

    /// Charges the client for what a future takes of its thread.
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

    /// Now, to measure what is done from now on.
    pub fn moment(&self) -> Moment {
        // The first costs ten times as much, and the second counts time in which the thread had to wait.
        match self.sharing.shares.load(Ordering::Relaxed) {
            0 => Moment::Clock(Instant::now()),
            _ => Moment::Spent(spent()),
        }
    }

    /// Until when the client is not to be read from: for a while, if it owes more than a moment.
    pub fn rests_until(&self) -> Option<Instant> {
        let owed = self.owed();
        (owed > DEBT_MAX).then(|| Instant::now() + owed.min(REST_MAX))
    }

    /// What it owes.
    /// Whether tasks have to wait for the threads.
    pub(super) fn is_shared(&self) -> bool {
        self.sharing.shares.load(Ordering::Relaxed) > 0
    }

    pub(super) fn owed(&self) -> Duration {
        let paid_at = self.paid_at.load(Ordering::Relaxed);
        Duration::from_nanos(paid_at.saturating_sub(self.now()))
    }

    /// Whether it has asked for something lately.
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

/// The beginning of something that a thread does.
#[derive(Debug)]
pub enum Moment {
    /// By the thread's time.
    Spent(Duration),
    /// By the clock.
    Clock(Instant),
}

impl Moment {
    /// What this thread has taken since then.
    pub fn elapsed(&self) -> Duration {
        match self {
            Self::Spent(before) => spent().saturating_sub(*before),
            Self::Clock(before) => before.elapsed(),
        }
        .min(TIMED_MAX)
    }
}

/// The CPU time of this thread.
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

/// A client may owe this much before it is not read from.
const DEBT_MAX: Duration = Duration::from_millis(1);
/// A handshake takes less. By the clock, more than that and the thread itself had to wait.
const TIMED_MAX: Duration = Duration::from_millis(2);
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
