//! Where work is put up and taken from: the pool's protocol. docs/internals/wakeup.md argues why no wake-up
//! is lost; model/tests/model.rs checks it with loom.
//!
//! ```text
//! caller   post(task)      lock: entry on the board; unlock; bump `version`; wake sleepers wanted
//!          work()          claims its share by ticket, as the helpers do
//!          settle(task)    lock: entry off the board; unlock; wait until nobody is in the task
//! helper   next(left)      lock: give back the place it had, if any (task.inside -= 1); take a place in an entry
//!                          (task.inside += 1); unlock; wake callers who wait
//!                          nothing there: watch `version` for a while, look again, then sleep
//!          work()
//! ```
//!
//! A caller never waits for a helper that has not begun: `settle` takes the entry off the board.
//!
//! Apart from the tasks there is background work, which nobody waits for. A helper takes it when there is no task, and
//! leaves it for one as soon as it sees that something was posted.
//!
//! And there are jobs, which are taken by turns with the tasks: neither kind keeps the other from
//! going on.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::sync::{AtomicBool, AtomicUsize, Condvar, Mutex, MutexGuard, Ordering};

/// Work that a caller shares with helpers. It lies on the caller's stack, and [`Board::settle`]
/// keeps the caller from leaving while a helper is inside.
pub(crate) struct Task<'a> {
    work: &'a (dyn Fn() + Sync),
    /// Helpers at work in it. Changed under the board's lock, read without.
    inside: AtomicUsize,
}

impl<'a> Task<'a> {
    pub(crate) fn new(work: &'a (dyn Fn() + Sync)) -> Self {
        Self {
            work,
            inside: AtomicUsize::new(0),
        }
    }
}

/// Work that nobody waits for.
pub trait Background: Send + Sync {
    /// Works until there is nothing to do: false. Or until `goes_on`, asked every few microseconds,
    /// says no: true, there is more to do.
    fn work(&self, goes_on: &mut dyn FnMut() -> bool) -> bool;

    /// It was posted, or more was to be done, and nobody will come; or `work` has panicked.
    fn refused(&self);
}

/// A place in a task, held by the helper that took it.
pub(crate) struct Place(TaskPointer);

/// `'static` is a lie that [`Board::settle`] makes harmless.
#[derive(Clone, Copy, PartialEq)]
struct TaskPointer(*const Task<'static>);

// SAFETY: a task is Sync (its work is, and the count is atomic), and the pointer is followed only
// while the task lives: see `Place::work` and `Board::next`.
unsafe impl Send for TaskPointer {}

struct Post {
    task: TaskPointer,
    /// Helpers that may still join.
    wanted: usize,
}

#[derive(Default)]
struct State {
    entries: Vec<Post>,
    background: VecDeque<Arc<dyn Background>>,
    jobs: VecDeque<Arc<dyn Background>>,
    /// A task was taken while jobs waited.
    is_turn_of_jobs: bool,
    /// Helpers in the background, which count as awake: they look at the board when something is
    /// posted.
    in_background: usize,
    /// Helpers in `next` or on their way there: they will look at the board once more.
    awake: usize,
    /// Helpers that look only when woken, or after a nap.
    asleep: usize,
    /// The sleeping helpers that will soon look by themselves.
    napping: usize,
    /// Callers asleep in `settle`.
    waiting: usize,
    closed: bool,
}

pub(crate) struct Board {
    state: Mutex<State>,
    /// Helpers sleep here.
    posted: Condvar,
    /// Callers sleep here.
    left: Condvar,
    /// Changes with every post and when the board closes; watched without the lock.
    version: AtomicUsize,
    /// `State::awake`, for a look without the lock.
    awake: AtomicUsize,
    /// Whether there are `State::jobs`, for a look without the lock.
    has_jobs: AtomicBool,
}

/// Helpers that a task could use in addition to those awake.
pub(crate) struct Lacking {
    /// Some that sleep: to be woken.
    pub(crate) asleep: usize,
    /// More than there are.
    pub(crate) missing: usize,
}

/// What a helper is told by [`Board::next`].
pub(crate) enum Next {
    Work(Place),
    /// The helper still counts as awake, and calls [`Board::end_background`] afterwards.
    Background {
        work: Arc<dyn Background>,
        /// [`Board::version`] before the look that found it: whatever is posted after has changed it.
        seen: usize,
    },
    /// The helper no longer counts as awake, and calls [`Board::end_job`] afterwards.
    Job {
        work: Arc<dyn Background>,
        /// As of `Background`.
        seen: usize,
    },
    /// Slept for the whole time it was allowed.
    Idle,
    Closed,
}

/// How long a helper watches before it sleeps. It is told what came of it.
pub(crate) trait Patience {
    /// Asked when a watch begins; false means not to watch at all.
    fn begins(&mut self) -> bool;
    /// Asked again and again; false ends the watch.
    fn goes_on(&mut self) -> bool;
    /// The watch ended with work.
    fn was_rewarded(&mut self);
    /// The helper slept after its watch and was woken.
    fn was_woken(&mut self);
    /// Asked before each sleep.
    fn sleep(&mut self) -> Sleep;
}

/// How long a helper sleeps unless it is woken.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Sleep {
    /// Until it looks by itself.
    Nap(Duration),
    /// Until it may end.
    Long(Duration),
}

impl Board {
    pub(crate) fn new() -> Self {
        Self {
            state: Mutex::new(State {
                entries: Vec::with_capacity(ENTRIES_MAX),
                ..State::default()
            }),
            posted: Condvar::new(),
            left: Condvar::new(),
            version: AtomicUsize::new(0),
            awake: AtomicUsize::new(0),
            has_jobs: AtomicBool::new(false),
        }
    }

    /// Puts up `task` for up to `helpers` helpers, for those awake to find. `None` when the board is
    /// full and the caller works alone.
    ///
    /// # Safety
    /// The caller calls [`settle`](Self::settle) with the same task before it ends.
    pub(crate) unsafe fn post(&self, task: &Task<'_>, helpers: usize) -> Option<Lacking> {
        let mut state = self.lock();
        if state.entries.len() == ENTRIES_MAX {
            return None;
        }
        state.entries.push(Post {
            task: TaskPointer::to(task),
            wanted: helpers,
        });
        // Those awake will find it, less what was posted before.
        let wanted: usize = state.entries.iter().map(|entry| entry.wanted).sum();
        let unserved = wanted.saturating_sub(state.awake).min(helpers);
        let asleep = unserved.min(state.asleep);
        drop(state);
        self.version.fetch_add(1, Ordering::Release);
        Some(Lacking {
            asleep,
            missing: unserved - asleep,
        })
    }

    /// Puts up work for the background, unless the board is full of it or somebody holds it just
    /// now: a caller with such work does not wait. Returns whether a helper must be woken for it, or made;
    /// for what is not `urgent` none is woken if one will look before long.
    pub(crate) fn post_background(&self, work: Arc<dyn Background>, urgent: bool) -> Lacking {
        let nobody = Lacking {
            asleep: 0,
            missing: 0,
        };
        let Ok(mut state) = self.state.try_lock() else {
            work.refused();
            return nobody;
        };
        if state.background.len() >= BACKGROUND_MAX {
            drop(state);
            work.refused();
            return nobody;
        }
        state.background.push_back(work);
        let wanted: usize = state.entries.iter().map(|entry| entry.wanted).sum();
        let idle = state.awake.saturating_sub(state.in_background + wanted);
        let is_served = state.background.len() <= idle || !urgent && state.napping > 0;
        let unserved = usize::from(!is_served);
        let asleep = unserved.min(state.asleep);
        drop(state);
        self.version.fetch_add(1, Ordering::Release);
        Lacking {
            asleep,
            missing: unserved - asleep,
        }
    }

    /// Puts up jobs. Returns whether a helper must be woken for them, or made. The caller
    /// bounds how many there are.
    pub(crate) fn post_job(&self, work: Arc<dyn Background>) -> Lacking {
        let mut state = self.lock();
        state.jobs.push_back(work);
        let wanted: usize = state.entries.iter().map(|entry| entry.wanted).sum();
        let idle = state.awake.saturating_sub(wanted);
        let unserved = usize::from(state.jobs.len() > idle);
        let asleep = unserved.min(state.asleep);
        self.has_jobs.store(true, Ordering::Relaxed);
        drop(state);
        self.version.fetch_add(1, Ordering::Release);
        Lacking {
            asleep,
            missing: unserved - asleep,
        }
    }

    /// A helper comes back from a job, and counts as awake; `more` is what it has not ended.
    pub(crate) fn end_job(&self, more: Option<Arc<dyn Background>>) {
        let mut state = self.lock();
        self.count_awake(&mut state, 1);
        if let Some(work) = more {
            state.jobs.push_back(work);
            self.has_jobs.store(true, Ordering::Relaxed);
        }
    }

    /// Whether jobs wait for a helper.
    #[inline]
    pub(crate) fn has_jobs(&self) -> bool {
        self.has_jobs.load(Ordering::Relaxed)
    }

    /// For [`Background::work`]: other than [`Next::Background`] says where something was posted since.
    pub(crate) fn version(&self) -> usize {
        self.version.load(Ordering::Relaxed)
    }

    /// A helper comes back from the background; `more` is work that it has not ended.
    pub(crate) fn end_background(&self, more: Option<Arc<dyn Background>>) {
        let mut state = self.lock();
        state.in_background -= 1;
        if let Some(work) = more {
            // There is room: one was taken, and if its place is taken as well, one more does no harm.
            state.background.push_back(work);
        }
    }

    /// Sends away all work for the background and all jobs: what they refer to, keys among it,
    /// would else stay for as long as the board, and a thread that waits for a job would wait as long.
    pub(crate) fn refuse_background(&self) {
        let mut state = self.lock();
        let mut refused = std::mem::take(&mut state.background);
        refused.append(&mut state.jobs);
        self.has_jobs.store(false, Ordering::Relaxed);
        drop(state);
        for work in refused {
            work.refused();
        }
    }

    /// Whether there is something for a helper to take, or the board has closed.
    pub(crate) fn has_work(&self) -> bool {
        self.lock().has_work()
    }

    /// Wakes `count` helpers.
    pub(crate) fn wake(&self, count: usize) {
        for _ in 0..count {
            self.posted.notify_one();
        }
    }

    /// Takes `task` off the board and waits until no helper is inside.
    pub(crate) fn settle(&self, task: &Task<'_>) {
        let pointer = TaskPointer::to(task);
        let mut state = self.lock();
        state.entries.retain(|entry| entry.task != pointer);
        drop(state);
        for _ in 0..SETTLE_SPINS {
            // Acquire: what the helper wrote is seen by the caller.
            if task.inside.load(Ordering::Acquire) == 0 {
                return;
            }
            super::sync::pause();
        }
        let mut state = self.lock();
        while task.inside.load(Ordering::Acquire) != 0 {
            state.waiting += 1;
            state = wait(&self.left, state);
            state.waiting -= 1;
        }
    }

    /// Counts a helper that is about to be made as awake.
    pub(crate) fn enlist(&self) {
        self.count_awake(&mut self.lock(), 1);
    }

    /// Takes [`enlist`](Self::enlist) back.
    pub(crate) fn dismiss(&self) {
        self.count_awake(&mut self.lock(), -1);
    }

    /// The next place in a task, for a helper that counts as awake, or that gives back the place it has `left`. From
    /// then on it counts; after this, no more.
    pub(crate) fn next(&self, left: Option<Place>, patience: &mut impl Patience) -> Next {
        // Read before the look, so that what is posted after the look changes it.
        let mut seen = self.version.load(Ordering::Acquire);
        let mut state = self.lock();
        // Under the lock that it takes anyway: of many helpers each waits for all others that want it.
        let mut are_callers_due = false;
        if let Some(place) = left {
            // SAFETY: the task lives: this place counts in `inside`, so its caller does not come out of
            // `settle` before this store, after which the task is not touched again. Release: what
            // this helper wrote is seen by the caller.
            unsafe { (*place.0.0).inside.fetch_sub(1, Ordering::Release) };
            self.count_awake(&mut state, 1);
            are_callers_due = state.waiting > 0;
        }
        let mut watched = false;
        // Whether the watch goes on; `None` before it begins. Posts that others were faster to take do not restart it,
        // or helpers that nobody needs would spin as long as there is work.
        let mut watch = None;
        loop {
            if let Some(next) = state.take(seen) {
                match next {
                    Next::Background { .. } => state.in_background += 1,
                    _ => self.count_awake(&mut state, -1),
                }
                self.has_jobs
                    .store(!state.jobs.is_empty(), Ordering::Relaxed);
                drop(state);
                self.tell_callers(are_callers_due);
                if watched {
                    patience.was_rewarded();
                }
                return next;
            }
            drop(state);
            self.tell_callers(std::mem::take(&mut are_callers_due));
            watched = true;
            let mut more = watch.unwrap_or_else(|| patience.begins());
            let mut version = self.version.load(Ordering::Acquire);
            while version == seen && more {
                super::sync::pause();
                more = patience.goes_on();
                version = self.version.load(Ordering::Acquire);
            }
            seen = version;
            watch = Some(more);
            state = self.lock();
            // Nobody may sleep while there is work: this look and the sleep are under one lock.
            if !more && !state.has_work() {
                self.count_awake(&mut state, -1);
                state.asleep += 1;
                let timed_out = loop {
                    let (naps, time) = match patience.sleep() {
                        Sleep::Nap(time) => (1, time),
                        Sleep::Long(time) => (0, time),
                    };
                    state.napping += naps;
                    let timed_out;
                    (state, timed_out) = self.sleep(state, time);
                    state.napping -= naps;
                    if naps == 0 || !timed_out || state.has_work() {
                        break timed_out;
                    }
                };
                state.asleep -= 1;
                if timed_out && !state.has_work() {
                    return Next::Idle;
                }
                // Even if the work is gone by now, more may be about to come.
                self.count_awake(&mut state, 1);
                drop(state);
                patience.was_woken();
                watch = None;
                seen = self.version.load(Ordering::Acquire);
                state = self.lock();
            }
        }
    }

    /// Returns whether the time has passed.
    #[cfg(not(loom))]
    fn sleep<'a>(
        &'a self,
        state: MutexGuard<'a, State>,
        time: Duration,
    ) -> (MutexGuard<'a, State>, bool) {
        let (state, result) = self
            .posted
            .wait_timeout(state, time)
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        (state, result.timed_out())
    }

    /// loom has no clock. There no time at all has passed as soon as others have had their turn, and any other never
    /// does.
    #[cfg(loom)]
    fn sleep<'a>(
        &'a self,
        state: MutexGuard<'a, State>,
        time: Duration,
    ) -> (MutexGuard<'a, State>, bool) {
        if time.is_zero() {
            drop(state);
            super::sync::pause();
            return (self.lock(), true);
        }
        (wait(&self.posted, state), false)
    }

    fn tell_callers(&self, are_due: bool) {
        if are_due {
            self.left.notify_all();
        }
    }

    /// Helpers that would take work in well under a microsecond.
    #[inline]
    pub(crate) fn awake(&self) -> usize {
        self.awake.load(Ordering::Relaxed)
    }

    fn count_awake(&self, state: &mut State, change: isize) {
        state.awake = state.awake.wrapping_add_signed(change);
        self.awake.store(state.awake, Ordering::Relaxed);
    }

    /// Tells every helper to end.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.version.fetch_add(1, Ordering::Release);
        self.posted.notify_all();
    }

    #[cfg(not(loom))]
    pub(super) fn with_lock_held<T>(&self, run: impl FnOnce() -> T) -> T {
        let _held = self.lock();
        run()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic of `work` is caught outside the lock, so the state is whole even if poisoned.
        self.state
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl State {
    fn has_work(&self) -> bool {
        self.closed
            || !self.background.is_empty()
            || !self.jobs.is_empty()
            || self.entries.iter().any(|entry| entry.wanted > 0)
    }

    /// `seen`: the board's version, read before the lock was taken.
    fn take(&mut self, seen: usize) -> Option<Next> {
        if self.closed {
            return Some(Next::Closed);
        }
        let task = self.entries.iter().position(|entry| entry.wanted > 0);
        if (task.is_none() || self.is_turn_of_jobs)
            && let Some(work) = self.jobs.pop_front()
        {
            self.is_turn_of_jobs = false;
            return Some(Next::Job { work, seen });
        }
        self.is_turn_of_jobs = !self.jobs.is_empty();
        let Some(at) = task else {
            let work = self.background.pop_front()?;
            return Some(Next::Background { work, seen });
        };
        let entry = &mut self.entries[at];
        entry.wanted -= 1;
        let task = entry.task;
        // SAFETY: the task lives: its entry is on the board, so its caller has not settled (as
        // `post` demands before the task ends), and will find this helper inside when it does,
        // because both happen under the lock.
        unsafe { (*task.0).inside.fetch_add(1, Ordering::Relaxed) };
        Some(Next::Work(Place(task)))
    }
}

impl Place {
    /// Does the task's work.
    pub(crate) fn work(&self) {
        // SAFETY: the task lives: this place counts in `inside`, so the caller has not come out of
        // `settle`. Its work is Sync, so it may be called from this thread.
        unsafe { ((*self.0.0).work)() }
    }
}

impl TaskPointer {
    fn to(task: &Task<'_>) -> Self {
        Self(std::ptr::from_ref(task).cast())
    }
}

fn wait<'a, T>(condvar: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    condvar
        .wait(guard)
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Callers whose tasks are up at once; one more works alone.
const ENTRIES_MAX: usize = 64;

/// Pieces of background work that are up at once; each is a ring of some cipher's.
const BACKGROUND_MAX: usize = 4096;

/// About 50 µs; a stripe takes a few.
const SETTLE_SPINS: usize = if cfg!(loom) { 1 } else { 2000 };
