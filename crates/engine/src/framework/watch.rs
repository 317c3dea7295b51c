//! One thread that polls busy devices for answers and takes requests away from those that have stalled. It sleeps until the
//! next one is due.
//!
//! A thread that waits for an answer polls devices itself. Otherwise the watch thread would only wake it, on any CPU that
//! the kernel finds: that costs CPU time of all threads, and twice as many threads contend for the CPUs. The waiting thread
//! promises when it will have polled again, and while it keeps that promise no other thread polls. A thread more than
//! [`GRACE`] late is taken to have left.
//!
//! The watch thread has a pool of its own, which starts with the first request given to a device and ends after a while
//! without any. A sandbox has no such thread; waiting threads then do its work.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

use super::core::Core;
use oarlock_threads::pool::Background;
use oarlock_threads::pool::{Limits, Pool, Scheduling};

pub(super) struct Watch {
    state: Mutex<State>,
    changed: Condvar,
    pool: OnceLock<Pool>,
    watcher: Arc<Watcher>,
    began: Instant,
    /// The waiting thread that promised to poll, and until when.
    promise: AtomicU64,
}

#[derive(Default)]
struct State {
    is_running: bool,
    /// Whether a device was given something since the last poll.
    is_news: bool,
    is_closed: bool,
    /// The end of the watch thread's sleep, since `began`.
    asleep_until: Duration,
}

struct Watcher(Weak<Core>);

impl Watch {
    pub(super) fn new(core: Weak<Core>) -> Self {
        Self {
            state: Mutex::default(),
            changed: Condvar::new(),
            pool: OnceLock::new(),
            watcher: Arc::new(Watcher(core)),
            began: Instant::now(),
            promise: AtomicU64::new(0),
        }
    }

    /// Polls for a thread that is about to sleep until an answer, unless another such thread will. Returns how long to
    /// sleep, at most `time_max`.
    pub(super) fn look_while_waiting(&self, core: &Core, time_max: Duration) -> Duration {
        let this = this_thread();
        let promise = self.promise.load(Ordering::Acquire);
        if promise & THREAD != this
            && let Some(rest) = self.promised()
        {
            return rest.min(time_max);
        }
        // The poll may take long.
        self.promise_until(self.began.elapsed(), this);
        let wait = core.look().map_or(time_max, |next| next.min(time_max));
        self.promise_until(self.began.elapsed() + wait, this);
        wait
    }

    fn promise_until(&self, until: Duration, thread: u64) {
        let promise = (until.as_micros() as u64) << THREAD_BITS | thread;
        self.promise.store(promise, Ordering::Release);
    }

    /// Whether a waiting thread will poll in time for an answer expected after `expected`, and the watch thread wakes soon
    /// enough after that to check.
    fn is_promised(&self, expected: Duration, asleep_until: Duration) -> bool {
        let promise = self.promise.load(Ordering::Acquire);
        let now = self.began.elapsed();
        let mut until = Duration::from_micros(promise >> THREAD_BITS);
        if promise == 0 {
            return false;
        }
        if promise & THREAD == this_thread() {
            // This thread is not waiting now, but is likely to wait again.
            until = now;
        } else if until + GRACE <= now || until > now + expected + GRACE {
            return false;
        }
        self.promise_until(until, promise & THREAD);
        asleep_until <= until + 2 * GRACE
    }

    /// Returns how long no poll is needed because a waiting thread polls, or `None` if none does.
    fn promised(&self) -> Option<Duration> {
        let until = Duration::from_micros(self.promise.load(Ordering::Acquire) >> THREAD_BITS);
        let rest = (until + GRACE).saturating_sub(self.began.elapsed());
        (!until.is_zero() && !rest.is_zero()).then_some(rest)
    }

    /// Notes that a device was given a request whose answer is expected after `expected`.
    pub(super) fn attend(&self, expected: Duration) {
        let mut state = self.locked();
        if state.is_closed {
            return;
        }
        if state.is_running {
            if self.is_promised(expected, state.asleep_until) {
                // If the watch thread is awake, it may be about to sleep for long.
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

    /// Whether only waiting threads poll devices.
    pub(super) fn is_absent(&self) -> bool {
        !self.locked().is_running
    }

    pub(super) fn close(&self) {
        self.locked().is_closed = true;
        self.changed.notify_all();
    }

    /// Sleeps until a device is given something, at most `time_max`. Returns whether to go on.
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

    /// Ends the watch unless a request has come. Returns whether it ended.
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
            // Do not hold it during a long sleep: the thread that drops the last handle closes the watch.
            let Some(core) = self.0.upgrade() else {
                return false;
            };
            if let Some(rest) = core.watch.promised() {
                is_idle = false;
                if !core.watch.sleep(rest) {
                    return false;
                }
                continue;
            }
            let next = core.look();
            match next {
                None if is_idle => {
                    if core.watch.leave() {
                        return false;
                    }
                    is_idle = false;
                }
                None => {
                    is_idle = true;
                    if !core.watch.sleep(LINGER) {
                        return false;
                    }
                }
                Some(wait) => {
                    is_idle = false;
                    if !wait.is_zero() && !core.watch.sleep(wait) {
                        return false;
                    }
                }
            }
        }
    }

    fn refused(&self) {
        if let Some(core) = self.0.upgrade() {
            core.watch.locked().is_running = false;
        }
    }
}

/// Returns a number for this thread. Among a million threads two may share one; each then takes the other's promise for its
/// own and both poll.
fn this_thread() -> u64 {
    static THREADS: AtomicU64 = AtomicU64::new(1);
    thread_local! {
        static NUMBER: u64 = THREADS.fetch_add(1, Ordering::Relaxed) & THREAD;
    }
    NUMBER.with(|number| *number)
}

/// The time by which a thread may be late with its promise. It is back sooner if it submits more and waits again. A
/// scheduler slice is longer, so the watch thread still wakes up now and then (docs/internals/framework.md).
const GRACE: Duration = Duration::from_millis(2);
const THREAD_BITS: u32 = 20;
const THREAD: u64 = (1 << THREAD_BITS) - 1;
/// The time for which an idle watch thread stays.
const LINGER: Duration = Duration::from_millis(100);
