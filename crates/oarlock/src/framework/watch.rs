//! One thread that looks after devices while they have something to do: it has them answer, and takes
//! requests away from those that have stalled. It sleeps until the next of them is due.
//!
//! It is a thread of a pool of its own, which is made with the first request that a device is given
//! and ends after a while without any. In a sandbox there is none; then those who wait do its work.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use crate::threads::pool::board::Background;
use crate::threads::pool::{Limits, Pool, Scheduling};

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
}

#[derive(Default)]
struct State {
    is_running: bool,
    /// Something was given to a device since the last look.
    is_news: bool,
    is_closed: bool,
}

struct Watcher(Weak<dyn Watched>);

impl Watch {
    pub(super) fn new(watched: Weak<dyn Watched>) -> Self {
        Self {
            state: Mutex::default(),
            changed: Condvar::new(),
            pool: OnceLock::new(),
            watcher: Arc::new(Watcher(watched)),
        }
    }

    /// A device was given something.
    pub(super) fn attend(&self) {
        let mut state = self.locked();
        if state.is_closed {
            return;
        }
        if state.is_running {
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
                at_end: crate::aws_lc::leave_thread,
            })
        });
        pool.in_jobs(Arc::clone(&self.watcher) as Arc<dyn Background>);
    }

    /// Whether nobody but those who wait looks after devices.
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
            let woken = self.changed.wait_timeout(state, time_max);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.is_news = false;
        state.is_running = !state.is_closed;
        state.is_running
    }

    /// Ends the watch, unless something came meanwhile.
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
            // Not kept while it sleeps for long: who drops the last handle is to close it.
            let Some(watched) = self.0.upgrade() else {
                return false;
            };
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

/// Without anything to do.
const LINGER: Duration = Duration::from_millis(100);
