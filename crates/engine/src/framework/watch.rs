//! One thread that looks after devices while they have something to do: it has them answer, and takes
//! requests away from those that have stalled. It sleeps until the next of them is due.
//!
//! A thread that waits for an answer polls devices itself, since the watch's thread would only wake it, on any CPU that
//! the kernel finds: that takes CPU time of all threads that want it, and twice as many threads contend for the CPUs.
//! The waiting thread says until when it will have polled again, and while it keeps its word no other thread polls. A
//! thread that is late by more than [`GRACE`] is taken to have left.
//!
//! The watch's thread belongs to a pool of its own, which is made with the first request that a device is given and
//! ends after a while without any. In a sandbox there is none; then the waiting threads do its work.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

use oarlock_threads::pool::Background;
use oarlock_threads::pool::{Limits, Pool, Scheduling};

/// What is watched.
pub(super) trait Watched: Send + Sync {
    fn watch(&self) -> &Watch;
    /// Looks after the devices. Returns when to look again; None where nothing is under way.
    fn look(&self) -> Option<Duration>;
}

pub(super) struct Watch {
    state: Mutex<State>,
    changed: Condvar,
    pool: OnceLock<Pool>,
    watcher: Arc<Watcher>,
    began: Instant,
    /// Until when a thread that waits has promised to look, and which.
    promise: AtomicU64,
}

#[derive(Default)]
struct State {
    is_running: bool,
    /// Something was given to a device since the last look.
    is_news: bool,
    is_closed: bool,
    /// Until when the thread sleeps, since `began`.
    asleep_until: Duration,
}

struct Watcher(Weak<dyn Watched>);

impl Watch {
    pub(super) fn new(watched: Weak<dyn Watched>) -> Self {
        Self {
            state: Mutex::default(),
            changed: Condvar::new(),
            pool: OnceLock::new(),
            watcher: Arc::new(Watcher(watched)),
            began: Instant::now(),
            promise: AtomicU64::new(0),
        }
    }

    /// For a thread that is about to sleep until an answer comes: looks, unless another such thread will.
    /// Returns how long to sleep at most, of `time_max`.
    pub(super) fn look_while_waiting(&self, watched: &dyn Watched, time_max: Duration) -> Duration {
        let this = this_thread();
        let promise = self.promise.load(Ordering::Acquire);
        if promise & THREAD != this
            && let Some(rest) = self.promised()
        {
            return rest.min(time_max);
        }
        // It may have much to do.
        self.promise_until(self.began.elapsed(), this);
        let wait = watched.look().map_or(time_max, |next| next.min(time_max));
        self.promise_until(self.began.elapsed() + wait, this);
        wait
    }

    fn promise_until(&self, until: Duration, thread: u64) {
        let promise = (until.as_micros() as u64) << THREAD_BITS | thread;
        self.promise.store(promise, Ordering::Release);
    }

    /// Whether a thread that waits will look in time for what is expected in so much time, and this one will have
    /// looked after that by then.
    fn is_promised(&self, expected: Duration, asleep_until: Duration) -> bool {
        let promise = self.promise.load(Ordering::Acquire);
        let now = self.began.elapsed();
        let mut until = Duration::from_micros(promise >> THREAD_BITS);
        if promise == 0 {
            return false;
        }
        if promise & THREAD == this_thread() {
            // It does not wait at this moment; it is likely to go on with that.
            until = now;
        } else if until + GRACE <= now || until > now + expected + GRACE {
            return false;
        }
        self.promise_until(until, promise & THREAD);
        asleep_until <= until + 2 * GRACE
    }

    /// For how long it need not be looked, since a thread that waits does so. None where none does.
    fn promised(&self) -> Option<Duration> {
        let until = Duration::from_micros(self.promise.load(Ordering::Acquire) >> THREAD_BITS);
        let rest = (until + GRACE).saturating_sub(self.began.elapsed());
        (!until.is_zero() && !rest.is_zero()).then_some(rest)
    }

    /// A device was given something, whose answer is expected in so much time.
    pub(super) fn attend(&self, expected: Duration) {
        let mut state = self.locked();
        if state.is_closed {
            return;
        }
        if state.is_running {
            if self.is_promised(expected, state.asleep_until) {
                // Awake it might be about to sleep for long.
                state.is_news |= state.asleep_until.is_zero();
                return;
            }
            let was_news = std::mem::replace(&mut state.is_news, true);
            drop(state);
            if !was_news {
                self.changed.notify_one();
            }
            return;
        }
        state.is_running = true;
        state.is_news = true;
        drop(state);
        let pool = self.pool.get_or_init(|| {
            Pool::new(Limits {
                min_threads: 0,
                max_threads: 1,
                spin: false,
                scheduling: Scheduling::Normal,
                is_guest: false,
                at_end: crate::aws_lc::leave_thread,
            })
        });
        pool.in_jobs(Arc::clone(&self.watcher) as Arc<dyn Background>);
    }

    /// Whether only waiting threads look after devices.
    pub(super) fn is_absent(&self) -> bool {
        !self.locked().is_running
    }

    pub(super) fn close(&self) {
        self.locked().is_closed = true;
        self.changed.notify_all();
    }

    /// Sleeps until something is given to a device, for so long at most. Returns whether to go on.
    fn sleep(&self, time_max: Duration) -> bool {
        let mut state = self.locked();
        if !state.is_news && !state.is_closed {
            state.asleep_until = self.began.elapsed() + time_max;
            let woken = self.changed.wait_timeout(state, time_max);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.asleep_until = Duration::ZERO;
        state.is_news = false;
        state.is_running = !state.is_closed;
        state.is_running
    }

    /// Ends the watch, unless something came in the meantime.
    fn leave(&self) -> bool {
        let mut state = self.locked();
        state.is_running = state.is_news && !state.is_closed;
        !state.is_running
    }

    fn locked(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Background for Watcher {
    fn work(&self, _: &mut dyn FnMut() -> bool) -> bool {
        let mut is_idle = false;
        loop {
            // Not kept while it sleeps for long: the thread that drops the last handle is to close it.
            let Some(watched) = self.0.upgrade() else {
                return false;
            };
            if let Some(rest) = watched.watch().promised() {
                is_idle = false;
                if !watched.watch().sleep(rest) {
                    return false;
                }
                continue;
            }
            let next = watched.look();
            match next {
                None if is_idle => {
                    if watched.watch().leave() {
                        return false;
                    }
                    is_idle = false;
                }
                None => {
                    is_idle = true;
                    if !watched.watch().sleep(LINGER) {
                        return false;
                    }
                }
                Some(wait) => {
                    is_idle = false;
                    if !wait.is_zero() && !watched.watch().sleep(wait) {
                        return false;
                    }
                }
            }
        }
    }

    fn refused(&self) {
        if let Some(watched) = self.0.upgrade() {
            watched.watch().locked().is_running = false;
        }
    }
}

/// Tells threads apart; two of a million take each other's promises for their own, and look both.
fn this_thread() -> u64 {
    static THREADS: AtomicU64 = AtomicU64::new(1);
    thread_local! {
        static NUMBER: u64 = THREADS.fetch_add(1, Ordering::Relaxed) & THREAD;
    }
    NUMBER.with(|number| *number)
}

/// How late a thread may be with what it has promised. It is back sooner if it submits more and waits again. This is
/// less than a slice of the scheduler's, so the watch's thread is woken time and again as well
/// (docs/internals/framework.md).
const GRACE: Duration = Duration::from_millis(2);
const THREAD_BITS: u32 = 20;
const THREAD: u64 = (1 << THREAD_BITS) - 1;
/// How long the watch's thread stays without anything to do.
const LINGER: Duration = Duration::from_millis(100);
