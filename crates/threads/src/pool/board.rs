//! The pool's protocol: where work is posted and taken. docs/internals/wakeup.md argues why no wake-up is lost;
//! model/tests/model.rs checks it with loom.
//!
//! ```text
//! caller   post(task)      lock: put entry on the board; unlock; bump `version`; wake the sleepers needed
//!          work()          claims its share by ticket, as the helpers do
//!          settle(task)    lock: take entry off the board; unlock; wait until no helper is in the task
//! helper   next(left)      lock: leave the place it had, if any (task.inside -= 1); take a place in an entry
//!                          (task.inside += 1); unlock; wake waiting callers
//!                          if there is none: watch `version` for a while, look again, then sleep
//!          work()
//! ```
//!
//! A caller never waits for a helper that has not begun: `settle` takes the entry off the board.
//!
//! Besides tasks there is background work, which no caller waits for. A helper takes it if there is no task, and leaves it
//! for one as soon as it sees that something was posted.
//!
//! Helpers also take jobs, in turn with tasks: neither kind starves the other.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::sync::{AtomicBool, AtomicUsize, Condvar, Mutex, MutexGuard, Ordering};

/// Work that a caller shares with helpers. It lies on the caller's stack, and [`Board::settle`] keeps the caller from
/// leaving while a helper is inside.
pub(crate) struct Task<'a> {
    work: &'a (dyn Fn() + Sync),
    /// The number of helpers working in it. Changed under the board's lock, read without it.
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

/// Work that no caller waits for.
pub trait Background: Send + Sync {
    /// Works until there is nothing to do and returns false, or until `goes_on`, which it calls every few microseconds,
    /// returns false, and returns true if there is more to do.
    fn work(&self, goes_on: &mut dyn FnMut() -> bool) -> bool;

    /// Reports that the work, new or left over, gets no helper, or that `work` has panicked.
    fn refused(&self);
}

/// A place in a task, held by the helper that took it.
pub(crate) struct Place(TaskPointer);

/// A pointer to a task. The lifetime `'static` is false; [`Board::settle`] makes that harmless.
#[derive(Clone, Copy, PartialEq)]
struct TaskPointer(*const Task<'static>);

// SAFETY: a task is Sync (its work is, and the count is atomic), and the pointer is dereferenced only while the task lives:
// see `Place::work` and `Board::next`.
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
    /// Whether a task was taken while jobs waited.
    is_turn_of_jobs: bool,
    /// Helpers in background work, which count as awake: they look at the board when something is posted.
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
    /// Helpers sleep on this.
    posted: Condvar,
    /// Callers sleep on this.
    left: Condvar,
    /// Changes with every post and when the board closes; watched without the lock.
    version: AtomicUsize,
    /// `State::awake`, readable without the lock.
    awake: AtomicUsize,
    /// Whether `State::jobs` has any, readable without the lock.
    has_jobs: AtomicBool,
}

/// The helpers that a task could use in addition to those awake.
pub(crate) struct Lacking {
    /// Sleeping helpers, to be woken.
    pub(crate) asleep: usize,
    /// Helpers that do not exist yet.
    pub(crate) missing: usize,
}

/// The answer of [`Board::next`] to a helper.
pub(crate) enum Next {
    Work(Place),
    /// The helper still counts as awake, and calls [`Board::end_background`] afterwards.
    Background {
        work: Arc<dyn Background>,
        /// [`Board::version`] before the look that found it: any later post has changed it.
        seen: usize,
    },
    /// The helper no longer counts as awake, and calls [`Board::end_job`] afterwards.
    Job {
        work: Arc<dyn Background>,
        /// As in `Background`.
        seen: usize,
    },
    /// The helper slept for its whole time without work.
    Idle,
    Closed,
}

/// Decides how long a helper watches before it sleeps, and learns from the outcome.
pub(crate) trait Patience {
    /// Called when a watch begins; false means not to watch at all.
    fn begins(&mut self) -> bool;
    /// Called repeatedly during a watch; false ends it.
    fn goes_on(&mut self) -> bool;
    /// Reports that the watch ended with work.
    fn was_rewarded(&mut self);
    /// Reports that the helper slept after its watch and was woken.
    fn was_woken(&mut self);
    /// Called before each sleep; returns its length.
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

    /// Posts `task` for up to `helpers` helpers; those awake will find it. `None` if the board is full and the caller works
    /// alone.
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
        // Helpers that are awake will find it, less those needed for earlier posts.
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

    /// Posts background work, unless the board is full of it or its lock is held: the caller must not wait. Returns the
    /// helpers to wake or create. For work that is not `urgent`, none is woken if one will look soon.
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

    /// Posts a queue of jobs. Returns the helpers to wake or create. The caller bounds the number of posts.
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

    /// Counts a helper that returns from a job as awake; `more` is a job that it has not finished.
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

    /// Returns the version for [`Background::work`]: if it differs from the one in [`Next::Background`], something was
    /// posted.
    pub(crate) fn version(&self) -> usize {
        self.version.load(Ordering::Relaxed)
    }

    /// Records that a helper returns from background work; `more` is work that it has not finished.
    pub(crate) fn end_background(&self, more: Option<Arc<dyn Background>>) {
        let mut state = self.lock();
        state.in_background -= 1;
        if let Some(work) = more {
            // There is room: one was taken, and if its place is taken too, one more does no harm.
            state.background.push_back(work);
        }
    }

    /// Refuses all background work and all jobs. Otherwise what they refer to, including keys, would live as long as the
    /// board, and a thread that waits for a job would wait as long.
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
            // Acquire: the caller sees what the helper wrote.
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

    /// Counts a helper that is about to be created as awake.
    pub(crate) fn enlist(&self) {
        self.count_awake(&mut self.lock(), 1);
    }

    /// Undoes [`enlist`](Self::enlist).
    pub(crate) fn dismiss(&self) {
        self.count_awake(&mut self.lock(), -1);
    }

    /// Returns the next work for a helper, which counts as awake or leaves the place `left`. While it is in this function it
    /// counts as awake; afterwards only if the answer says so.
    pub(crate) fn next(&self, left: Option<Place>, patience: &mut impl Patience) -> Next {
        // Read before the look, so that anything posted after the look changes it.
        let mut seen = self.version.load(Ordering::Acquire);
        let mut state = self.lock();
        // Decided under the lock that it takes anyway: callers are woken only if one waits.
        let mut are_callers_due = false;
        if let Some(place) = left {
            // SAFETY: the task lives: this place counts in `inside`, so its caller does not return from `settle` before this
            // store, after which the task is not accessed again. Release: the caller sees what this helper wrote.
            unsafe { (*place.0.0).inside.fetch_sub(1, Ordering::Release) };
            self.count_awake(&mut state, 1);
            are_callers_due = state.waiting > 0;
        }
        let mut watched = false;
        // Whether the watch goes on; `None` before it begins. Posts that other helpers take first do not restart it, or
        // helpers that are not needed would spin as long as there is work.
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
            // No helper may sleep while there is work: this look and the sleep are under one lock.
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

    /// Sleeps for at most `time`. Returns whether all of it has passed.
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

    /// Models a sleep under loom, which has no clock: a zero time is over as soon as other threads have run, and any other
    /// never ends by itself.
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

    /// Returns the number of helpers that would take work in well under a microsecond.
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

    /// Takes the next work. `seen` is the board's version, read before the lock was taken.
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
        // SAFETY: the task lives: its entry is on the board, so its caller has not settled (as `post` demands before the
        // task ends), and will find this helper inside when it does, because both happen under the lock.
        unsafe { (*task.0).inside.fetch_add(1, Ordering::Relaxed) };
        Some(Next::Work(Place(task)))
    }
}

impl Place {
    /// Does the task's work.
    pub(crate) fn work(&self) {
        // SAFETY: the task lives: this place counts in `inside`, so the caller has not returned from `settle`. Its work is
        // Sync, so this thread may call it.
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

/// The most tasks on the board at once; a further caller works alone.
const ENTRIES_MAX: usize = 64;

/// The most pieces of background work on the board at once; each is the ring of a cipher.
const BACKGROUND_MAX: usize = 4096;

/// About 50 µs; a stripe takes a few.
const SETTLE_SPINS: usize = if cfg!(loom) { 1 } else { 2000 };
