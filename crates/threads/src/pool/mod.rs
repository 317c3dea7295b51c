//! The only threads that Oarlock creates.
//!
//! [`Pool::run`] does a piece of work on the calling thread and on helpers at once; each claims its share by ticket
//! ([`Tickets`]). A helper that runs out of work watches the board for a while, since a sleeping thread takes 17 to 50 µs to
//! wake and one that watches takes work in 0.2 µs. Then it sleeps, and ends after 10 s, or after 10 ms in another vendor's
//! program ([`Limits::is_guest`]).

#![allow(unsafe_code)]

pub(crate) mod board;
mod census;
mod limits;
mod rights;
mod slots;
mod stripes;
pub(crate) mod sync;
mod thread;
pub(crate) mod tickets;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

pub use self::board::Background;
use self::board::{Board, Lacking, Next, Patience, Sleep, Task};
use self::census::Census;
use self::limits::LiveLimits;
pub use self::limits::{Limits, Scheduling};
pub use self::slots::Slots;
pub use self::stripes::Stripes;
pub use self::sync::Parker;
use self::thread::Handle;
pub use self::tickets::{Role, Tickets};
use crate::caught::caught;
use crate::process::{self, Thread};

/// Helpers shared by all callers. Dropping the pool ends and joins them.
pub struct Pool {
    /// Never null. Replaced by a fresh one in a forked child, where the old one's threads are gone and one of them may have
    /// held its lock.
    crew: AtomicPtr<Arc<Crew>>,
    limits: Arc<LiveLimits>,
}

/// The helpers of one process. Each holds one `Arc` of it, and the pool another.
struct Crew {
    board: Board,
    limits: Arc<LiveLimits>,
    fork_generation: usize,
    alive: Census,
    /// The CPU of the caller that last woke helpers.
    callers_cpu: AtomicUsize,
    /// Whether the kernel was seen to put a woken helper on the CPU of its busy caller. A kernel that knows of no shared
    /// cache does so even if an idle CPU is next to it, and leaves the helper waiting for milliseconds.
    is_misplaced: AtomicBool,
    /// Creating a thread failed, or the process is in a sandbox: it is not tried again.
    cannot_start: AtomicBool,
    threads: Mutex<Vec<Handle>>,
    /// The helpers among `threads` that have not ended: each enters and leaves by itself.
    helpers: Mutex<Vec<Arc<Helper>>>,
}

/// The part of a helper that callers may access.
struct Helper {
    thread: Thread,
    /// The CPU that it was last kept off; in the idle class, the CPU that it was kept to.
    kept_off: AtomicUsize,
}

impl Pool {
    /// Creates a pool with the minimum number of threads of `limits`.
    pub fn new(limits: Limits) -> Self {
        process::watch_forks();
        let limits = Arc::new(LiveLimits::new(limits));
        let pool = Self {
            crew: AtomicPtr::new(Crew::new(Arc::clone(&limits))),
            limits,
        };
        pool.start_up();
        pool
    }

    /// Changes the limits, at once for work posted from now on. Surplus threads end once they have been idle for a while;
    /// [`start_up`](Self::start_up) creates missing ones. Scheduling stays as it is. Takes no lock.
    pub fn set_limits(&self, limits: Limits) {
        let live = &self.limits;
        live.min_threads
            .store(limits.min_threads, Ordering::Relaxed);
        live.max_threads
            .store(limits.max_threads, Ordering::Relaxed);
        live.spin.store(limits.spin, Ordering::Relaxed);
    }

    /// Raises the limits to those of another user of the pool. Takes no lock.
    pub fn widen(&self, limits: Limits) {
        let live = &self.limits;
        for (have, wanted) in [
            (&live.min_threads, limits.min_threads),
            (&live.max_threads, limits.max_threads),
        ] {
            have.fetch_max(wanted, Ordering::Relaxed);
        }
    }

    /// Runs `work` here and on up to `helpers` other threads, and returns when all that began it have ended it. Helpers that
    /// have not begun by the time it ends here never do.
    ///
    /// # Panics
    /// Passes on a panic of `work` from any thread.
    #[inline]
    pub fn run(&self, helpers: usize, work: &(dyn Fn(Role) + Sync)) {
        match helpers.min(self.limits.max_threads()) {
            0 => work(Role::Caller),
            helpers => process::keeping_errno(|| self.run_with(helpers, work)),
        }
    }

    fn run_with(&self, helpers: usize, work: &(dyn Fn(Role) + Sync)) {
        let crew = self.crew();
        let panicked = Mutex::new(None);
        let guarded = |role| {
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| work(role))) {
                let mut first = panicked.lock().unwrap_or_else(PoisonError::into_inner);
                if first.is_none() {
                    *first = Some(panic);
                } else {
                    // Not dropped: a payload is any value, and its drop may panic in turn.
                    std::mem::forget(panic);
                }
            }
        };
        let as_helper = || guarded(Role::Helper);
        let task = Task::new(&as_helper);
        // SAFETY: settled below, and nothing in between can unwind: `guarded` catches panics and drops no payload, and
        // `wake` and `start` do not panic.
        match unsafe { crew.board.post(&task, helpers) } {
            Some(lacking) => {
                if lacking.asleep > 0 {
                    crew.wake(lacking.asleep);
                }
                for _ in 0..lacking.missing {
                    crew.start();
                }
                guarded(Role::Caller);
                crew.board.settle(&task);
            }
            None => guarded(Role::Caller),
        }
        if let Some(panic) = panicked
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
        {
            resume_unwind(panic);
        }
    }

    /// Has a helper do `work` when there is nothing else to do. Waits for no thread, and refuses the work if there is too
    /// much of it. For work that is not `urgent` it wakes no helper if one that did such work before will soon look for
    /// more: waking one takes the caller 5 to 20 µs.
    pub fn in_background(&self, work: Arc<dyn Background>, urgent: bool) {
        if self.limits.max_threads() == 0 {
            return work.refused();
        }
        let crew = self.crew();
        if crew.is_helpless() {
            return work.refused();
        }
        // Helpers must not run on this CPU.
        crew.callers_cpu.store(process::cpu(), Ordering::Relaxed);
        process::keeping_errno(|| {
            let lacking = crew.board.post_background(work, urgent);
            self.summon(crew, lacking);
        });
    }

    /// Has a helper do `work`, which waits in its own queue, in turn with what callers post by [`run`](Self::run). Refuses
    /// it if there is no helper and can be none.
    pub fn in_jobs(&self, work: Arc<dyn Background>) {
        let crew = self.crew();
        if self.limits.max_threads() == 0 || crew.is_helpless() {
            return work.refused();
        }
        process::keeping_errno(|| {
            let lacking = crew.board.post_job(work);
            // A thread that submits a job need not be busy with it: any CPU will do.
            crew.callers_cpu.store(NOWHERE, Ordering::Relaxed);
            crew.board.wake(lacking.asleep);
            if lacking.missing > 0 {
                self.start(crew);
            }
        });
    }

    /// Whether jobs wait for a helper.
    #[inline]
    pub fn has_jobs(&self) -> bool {
        self.crew().board.has_jobs()
    }

    fn summon(&self, crew: &Arc<Crew>, Lacking { asleep, missing }: Lacking) {
        if asleep > 0 {
            crew.wake(asleep);
        }
        if missing > 0 {
            self.start(crew);
        }
    }

    fn start(&self, crew: &Arc<Crew>) {
        crew.start();
        if crew.is_helpless() {
            crew.board.refuse_background();
        }
    }

    /// Returns the number of helpers that would take work at once.
    #[inline]
    pub fn awake(&self) -> usize {
        self.crew().board.awake()
    }

    /// Returns the number of threads that exist.
    #[inline]
    pub fn threads(&self) -> usize {
        self.crew().alive.count()
    }

    /// Returns the most helpers that may exist.
    pub fn max_threads(&self) -> usize {
        self.limits.max_threads()
    }

    /// Runs `run` with every lock of the pool held, for tests of code that must not wait for one.
    #[doc(hidden)]
    pub fn with_every_lock_held<T>(&self, run: impl FnOnce() -> T) -> T {
        let crew = self.crew();
        let _threads = crew.threads.lock();
        let _helpers = crew.helpers.lock();
        crew.board.with_lock_held(run)
    }

    /// Creates threads up to `min_threads`.
    pub fn start_up(&self) {
        let crew = self.crew();
        process::keeping_errno(|| {
            for _ in crew.alive.count()..self.limits.min_threads() {
                crew.start();
            }
        });
    }

    #[inline]
    fn crew(&self) -> &Arc<Crew> {
        let pointer = self.crew.load(Ordering::Acquire);
        // SAFETY: a crew that was stored there is freed in `drop` only.
        let crew = unsafe { &*pointer };
        if crew.fork_generation == process::fork_generation() {
            crew
        } else {
            self.crew_of_the_child(pointer)
        }
    }

    /// Replaces the parent's crew, which is leaked: its threads are not here, and its locks may never be released.
    #[cold]
    fn crew_of_the_child(&self, parents: *mut Arc<Crew>) -> &Arc<Crew> {
        let fresh = Crew::new(Arc::clone(&self.limits));
        match self
            .crew
            .compare_exchange(parents, fresh, Ordering::AcqRel, Ordering::Acquire)
        {
            Ok(_) => {
                self.start_up();
                // SAFETY: stored there just now; see `crew`.
                unsafe { &*fresh }
            }
            Err(other) => {
                // SAFETY: `fresh` comes from Box::into_raw and no other thread has seen it; another thread of this child
                // stored `other`; see `crew`.
                unsafe {
                    drop(Box::from_raw(fresh));
                    &*other
                }
            }
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        // SAFETY: the pointer comes from Box::into_raw, and no other thread has the pool any more.
        let crew = unsafe { Box::from_raw(*self.crew.get_mut()) };
        if crew.fork_generation != process::fork_generation() {
            // It is the parent's, whose locks must not be touched.
            std::mem::forget(crew);
            return;
        }
        process::keeping_errno(|| {
            crew.board.close();
            let threads =
                std::mem::take(&mut *crew.threads.lock().unwrap_or_else(PoisonError::into_inner));
            for thread in threads {
                // One may be the calling thread: a helper's thread-local value may hold the last handle.
                thread.join();
            }
        });
    }
}

impl Crew {
    fn new(limits: Arc<LiveLimits>) -> *mut Arc<Self> {
        Box::into_raw(Box::new(Arc::new(Self {
            board: Board::new(),
            limits,
            fork_generation: process::fork_generation(),
            alive: Census::new(),
            callers_cpu: AtomicUsize::new(NOWHERE),
            is_misplaced: AtomicBool::new(false),
            cannot_start: AtomicBool::new(false),
            threads: Mutex::new(Vec::new()),
            helpers: Mutex::new(Vec::new()),
        })))
    }

    /// Creates one more helper if the limit allows it.
    fn start(self: &Arc<Self>) {
        if self.cannot_start.load(Ordering::Relaxed) {
            return;
        }
        if !self.alive.enter(self.limits.max_threads()) {
            return;
        }
        self.board.enlist();
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        match Handle::start(Arc::clone(self)) {
            Some(thread) => {
                threads.retain(|thread| !thread.join_if_ended());
                threads.push(thread);
            }
            None => {
                self.board.dismiss();
                self.cannot_start.store(true, Ordering::Relaxed);
                self.alive.leave();
            }
        }
    }

    /// Whether there is no helper and can be none.
    fn is_helpless(&self) -> bool {
        let can_start = !self.cannot_start.load(Ordering::Relaxed) && self.limits.max_threads() > 0;
        !can_start && self.alive.count() == 0
    }

    /// Wakes helpers, on other CPUs than this one.
    fn wake(&self, count: usize) {
        let here = process::cpu();
        self.callers_cpu.store(here, Ordering::Relaxed);
        if self.limits.scheduling == Scheduling::Idle {
            for helper in &*self.helpers.lock().unwrap_or_else(PoisonError::into_inner) {
                let is_there = helper.kept_off.load(Ordering::Relaxed) == here;
                if !is_there && !process::is_sandboxed_by_now() {
                    // SAFETY: a helper leaves the list before it ends, and the list is locked.
                    unsafe { helper.keep_to(here) };
                }
            }
        } else if self.is_misplaced.load(Ordering::Relaxed) {
            for helper in &*self.helpers.lock().unwrap_or_else(PoisonError::into_inner) {
                let is_elsewhere = helper.kept_off.load(Ordering::Relaxed) == here;
                // The process may have confined itself since it created the helper.
                if !is_elsewhere && !process::is_sandboxed_by_now() {
                    // SAFETY: a helper leaves the list before it ends, and the list is locked.
                    unsafe { helper.keep_off(here) };
                }
            }
        }
        self.board.wake(count);
    }

    fn serve(&self, helper: &Helper) {
        let mut watch = Watch::new(self, helper);
        let mut left = None;
        loop {
            match self.board.next(left.take(), &mut watch) {
                Next::Work(place) => {
                    place.work();
                    left = Some(place);
                }
                Next::Background { work, seen } => {
                    let mut pieces = 0;
                    let mut goes_on = || {
                        pieces += 1;
                        self.keep_off_the_caller(helper);
                        pieces < PIECES_MAX && self.board.version() == seen
                    };
                    // A caller's cipher may panic.
                    let has_more = caught(|| work.work(&mut goes_on)).unwrap_or_else(|| {
                        work.refused();
                        false
                    });
                    self.board.end_background(has_more.then_some(work));
                    watch.nap = Some(NAP_MIN);
                }
                Next::Job { work, seen } => {
                    // It may take a while, and the caller that the helper was kept off has no part in it.
                    self.keep_myself_off(helper, NOWHERE);
                    let mut goes_on = || self.board.version() == seen;
                    // As above.
                    let has_more = caught(|| work.work(&mut goes_on)).unwrap_or_else(|| {
                        work.refused();
                        false
                    });
                    self.board.end_job(has_more.then_some(work));
                }
                Next::Idle if self.retire() => {
                    // If no thread may exist any more, none will come for what was posted since.
                    if self.is_helpless() {
                        self.board.refuse_background();
                    }
                    break;
                }
                Next::Idle => self.board.enlist(),
                Next::Closed => {
                    self.alive.leave();
                    break;
                }
            }
        }
    }

    /// Moves the calling helper to another CPU if it runs on the caller's. A kernel that balances load puts it there when
    /// another thread wants its CPU, and then making keystream ahead takes time from its consumer.
    fn keep_off_the_caller(&self, helper: &Helper) {
        let here = process::cpu();
        if self.limits.scheduling == Scheduling::Normal
            && here == self.callers_cpu.load(Ordering::Relaxed)
        {
            self.is_misplaced.store(true, Ordering::Relaxed);
            self.keep_myself_off(helper, here);
        }
    }

    /// Keeps the calling helper off `cpu`.
    fn keep_myself_off(&self, helper: &Helper, cpu: usize) {
        if helper.kept_off.load(Ordering::Relaxed) != cpu {
            // Callers do the same under the lock: what is recorded is what was done.
            let _helpers = self.helpers.lock().unwrap_or_else(PoisonError::into_inner);
            // SAFETY: this is the thread itself.
            unsafe { helper.keep_off(cpu) };
        }
    }

    /// Whether the calling helper, which has nothing to do, may end.
    fn retire(&self) -> bool {
        let (min, max) = (self.limits.min_threads(), self.limits.max_threads());
        self.alive.retire(min, max, &self.board)
    }

    /// A helper's main function.
    fn live(&self) {
        let helper = Arc::new(Helper {
            thread: Thread::current(),
            kept_off: AtomicUsize::new(NOWHERE),
        });
        let _listed = Listed::enter(self, &helper);
        if self.limits.scheduling == Scheduling::Idle {
            process::become_idle_class();
            let callers_cpu = self.callers_cpu.load(Ordering::Relaxed);
            // SAFETY: this is the thread itself.
            unsafe { helper.keep_to(callers_cpu) };
        }
        if self.limits.is_guest {
            rights::give_up();
        }
        self.serve(&helper);
        (self.limits.at_end)();
    }
}

/// A helper's entry in [`Crew::helpers`]. `Drop` removes it, so that a panic does not leave a thread in the list that has
/// ended.
struct Listed<'a> {
    crew: &'a Crew,
    helper: &'a Arc<Helper>,
}

impl<'a> Listed<'a> {
    fn enter(crew: &'a Crew, helper: &'a Arc<Helper>) -> Self {
        crew.helpers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(Arc::clone(helper));
        Self { crew, helper }
    }
}

impl Drop for Listed<'_> {
    fn drop(&mut self) {
        self.crew
            .helpers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .retain(|other| !Arc::ptr_eq(other, self.helper));
    }
}

impl Helper {
    /// # Safety
    /// The helper's thread has not ended.
    unsafe fn keep_to(&self, cpu: usize) {
        if self.kept_off.swap(cpu, Ordering::Relaxed) != cpu {
            // SAFETY: the helper's thread has not ended, as the caller says; any CPU may be asked for.
            unsafe { self.thread.keep_to(cpu) };
        }
    }

    /// Keeps the helper off `cpu`. Called with [`Crew::helpers`] locked.
    ///
    /// # Safety
    /// The helper's thread has not ended.
    unsafe fn keep_off(&self, cpu: usize) {
        let before = self.kept_off.swap(cpu, Ordering::Relaxed);
        if before != cpu {
            // SAFETY: the helper's thread has not ended, as the caller says, and its CPUs are changed only under this lock.
            unsafe { self.thread.keep_off(cpu, before) };
        }
    }
}

/// Watches for up to 50 µs while that is rewarded and the core is free. Each unrewarded watch halves the time, and one
/// during which the kernel gave the core to another thread sets it to zero.
struct Watch<'a> {
    crew: &'a Crew,
    helper: &'a Helper,
    limit: Duration,
    steps: u32,
    /// Taken at the first look at the clock: a watch that is rewarded at once costs no system call.
    began: Option<(Instant, i64)>,
    ended: Instant,
    /// The length of the next sleep after background work: there may be more of it for which no helper is woken.
    nap: Option<Duration>,
}

impl<'a> Watch<'a> {
    fn new(crew: &'a Crew, helper: &'a Helper) -> Self {
        Self {
            crew,
            helper,
            limit: WATCH_MAX,
            steps: 0,
            began: None,
            ended: Instant::now(),
            nap: None,
        }
    }
}

impl Patience for Watch<'_> {
    fn begins(&mut self) -> bool {
        self.steps = 0;
        self.began = None;
        if !self.crew.limits.spin.load(Ordering::Relaxed) || self.limit < WATCH_MIN {
            self.ended = Instant::now();
            return false;
        }
        true
    }

    fn goes_on(&mut self) -> bool {
        self.steps += 1;
        if !self.steps.is_multiple_of(STEPS_PER_LOOK) {
            return true;
        }
        let (began, preemptions) = *self
            .began
            .get_or_insert_with(|| (Instant::now(), process::preemptions()));
        let now = Instant::now();
        if now.duration_since(began) < self.limit {
            return true;
        }
        let disturbed = process::preemptions() != preemptions;
        self.limit = if disturbed {
            Duration::ZERO
        } else {
            self.limit / 2
        };
        self.ended = now;
        false
    }

    fn was_rewarded(&mut self) {
        self.limit = WATCH_MAX;
    }

    fn sleep(&mut self) -> Sleep {
        let limits = &self.crew.limits;
        let may_end = limits.is_guest && self.crew.alive.count() > limits.min_threads();
        let idle_time = if may_end { GUEST_IDLE_TIME } else { IDLE_TIME };
        match self.nap.take() {
            Some(nap) => {
                // Together the naps take as long as the sleep after them.
                self.nap = Some(2 * nap).filter(|nap| *nap <= idle_time / 2);
                Sleep::Nap(nap)
            }
            None => Sleep::Long(idle_time),
        }
    }

    fn was_woken(&mut self) {
        self.crew.keep_off_the_caller(self.helper);
        // A longer watch would have caught work that came this soon; and a helper that is woken after a long sleep may find
        // that the caller was faster, and has more.
        let enough = if self.ended.elapsed() < 2 * WATCH_MAX {
            WATCH_MAX
        } else {
            WATCH_MAX / 2
        };
        self.limit = self.limit.max(enough);
    }
}

/// A number that no CPU has.
const NOWHERE: usize = usize::MAX;
const WATCH_MAX: Duration = Duration::from_micros(50);
/// The shortest useful watch: a shorter one finds nothing that the look at the board before it did not.
const WATCH_MIN: Duration = Duration::from_micros(2);
/// Pauses between two looks at the clock. A look takes 20 to 40 ns, a pause 10 to 40 ns.
const STEPS_PER_LOOK: u32 = 16;
/// The first nap. Each is twice as long as the last, so an idle helper looks a dozen times before a long sleep.
const NAP_MIN: Duration = Duration::from_millis(1);
/// The time after which a sleeping helper may end.
const IDLE_TIME: Duration = Duration::from_secs(10);
/// The same in another vendor's program. Creating a thread takes its caller 20 µs, no more than a wake-up may take, so once
/// in 10 ms that cost is negligible.
const GUEST_IDLE_TIME: Duration = Duration::from_millis(10);
/// The most pieces of background work that a helper does before the next in the queue has its turn.
const PIECES_MAX: u32 = 64;

#[cfg(test)]
mod tests;
