//! The only threads Oarlock makes.
//!
//! [`Pool::run`] does a piece of work on the calling thread and on helpers at once; what each does
//! of it is claimed by ticket ([`Tickets`]). A helper that runs out of work watches the board for a
//! while, since a sleeping thread takes 17 to 50 µs to wake and one that watches takes work in
//! 0.2 µs; then it sleeps, and after 10 s it ends.

#![allow(unsafe_code)]

mod board;
mod sync;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use self::board::{Board, Next, Patience, Task};
use crate::process;

/// Helpers for whoever calls. Dropping it ends and joins them.
pub(crate) struct Pool {
    /// Never null. Swapped for a fresh one in a forked child, where the old one's threads are gone
    /// and its lock may be held by one of them.
    crew: AtomicPtr<Arc<Crew>>,
    limits: Limits,
}

/// In which part a thread does a piece of work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    Caller,
    Helper,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) min_threads: usize,
    pub(crate) max_threads: usize,
    pub(crate) spin: bool,
}

/// The helpers of one process. Each holds one `Arc` of it, the pool another.
struct Crew {
    board: Board,
    limits: Limits,
    fork_generation: usize,
    alive: AtomicUsize,
    /// Making a thread failed, as in a sandbox: not tried again.
    cannot_start: AtomicBool,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Pool {
    pub(crate) fn new(limits: Limits) -> Self {
        process::watch_forks();
        let pool = Self {
            crew: AtomicPtr::new(Crew::new(limits)),
            limits,
        };
        pool.start_up();
        pool
    }

    /// Runs `work` here and on up to `helpers` other threads, and returns when all who began it
    /// have ended it. Helpers that have not begun by the time it ends here never do.
    ///
    /// # Panics
    /// With the panic of `work`, wherever it came up.
    pub(crate) fn run(&self, helpers: usize, work: &(dyn Fn(Role) + Sync)) {
        let helpers = helpers.min(self.limits.max_threads);
        if helpers == 0 {
            return work(Role::Caller);
        }
        let crew = self.crew();
        let panicked = Mutex::new(None);
        let guarded = |role| {
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| work(role))) {
                *panicked.lock().unwrap_or_else(PoisonError::into_inner) = Some(panic);
            }
        };
        let as_helper = || guarded(Role::Helper);
        let task = Task::new(&as_helper);
        // SAFETY: settled below, and nothing between can unwind: `guarded` catches, and `start`
        // does not panic.
        match unsafe { crew.board.post(&task, helpers) } {
            Some(missing) => {
                for _ in 0..missing {
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

    /// Helpers that would take work at once.
    pub(crate) fn watching(&self) -> usize {
        self.crew().board.watching()
    }

    /// Threads that are there.
    pub(crate) fn threads(&self) -> usize {
        self.crew().alive.load(Ordering::Relaxed)
    }

    fn start_up(&self) {
        let crew = self.crew();
        for _ in 0..self.limits.min_threads {
            crew.start();
        }
    }

    fn crew(&self) -> &Arc<Crew> {
        let pointer = self.crew.load(Ordering::Acquire);
        // SAFETY: a crew that was put there is freed in `drop` alone.
        let crew = unsafe { &*pointer };
        if crew.fork_generation == process::fork_generation() {
            crew
        } else {
            self.crew_of_the_child(pointer)
        }
    }

    /// The parent's crew is left where it is: its threads are not here, and its locks may be held
    /// for ever.
    #[cold]
    fn crew_of_the_child(&self, parents: *mut Arc<Crew>) -> &Arc<Crew> {
        let fresh = Crew::new(self.limits);
        match self
            .crew
            .compare_exchange(parents, fresh, Ordering::AcqRel, Ordering::Acquire)
        {
            Ok(_) => {
                self.start_up();
                // SAFETY: put there just now; see `crew`.
                unsafe { &*fresh }
            }
            Err(other) => {
                // SAFETY: `fresh` comes from Box::into_raw and was shown to nobody; `other` was put
                // there by another thread of this child; see `crew`.
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
        // SAFETY: the pointer comes from Box::into_raw, and nobody else has the pool any more.
        let crew = unsafe { Box::from_raw(*self.crew.get_mut()) };
        if crew.fork_generation != process::fork_generation() {
            // The parent's, whose locks are not to be touched.
            std::mem::forget(crew);
            return;
        }
        crew.board.close();
        let threads =
            std::mem::take(&mut *crew.threads.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in threads {
            // A helper catches the panics of its work, so there is none to report.
            let _ = thread.join();
        }
    }
}

impl Crew {
    fn new(limits: Limits) -> *mut Arc<Self> {
        Box::into_raw(Box::new(Arc::new(Self {
            board: Board::new(),
            limits,
            fork_generation: process::fork_generation(),
            alive: AtomicUsize::new(0),
            cannot_start: AtomicBool::new(false),
            threads: Mutex::new(Vec::new()),
        })))
    }

    /// Makes one more helper, where the limit allows it.
    fn start(self: &Arc<Self>) {
        if self.cannot_start.load(Ordering::Relaxed) {
            return;
        }
        let room = |alive| (alive < self.limits.max_threads).then_some(alive + 1);
        if self
            .alive
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, room)
            .is_err()
        {
            return;
        }
        let crew = Arc::clone(self);
        let builder = std::thread::Builder::new()
            .name("oarlock".into())
            .stack_size(STACK_BYTES);
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        match process::with_signals_blocked(|| builder.spawn(move || crew.help())) {
            Ok(thread) => {
                threads.retain(|thread| !thread.is_finished());
                threads.push(thread);
            }
            Err(_) => {
                self.cannot_start.store(true, Ordering::Relaxed);
                self.alive.fetch_sub(1, Ordering::Relaxed);
            }
        }
    }

    /// The life of a helper.
    fn help(&self) {
        let mut watch = Watch::new(self.limits.spin);
        loop {
            match self.board.next(&mut watch) {
                Next::Work(place) => {
                    place.work();
                    self.board.leave(place);
                }
                Next::Idle if self.alive.load(Ordering::Relaxed) <= self.limits.min_threads => {}
                Next::Idle | Next::Closed => break,
            }
        }
        self.alive.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Watches for up to 50 µs as long as that is rewarded and the core is free; each vain watch halves
/// the time, and one during which the kernel gave the core to another thread ends it.
struct Watch {
    limit: Duration,
    began: Instant,
    preemptions: i64,
    steps: u32,
    enabled: bool,
}

impl Watch {
    fn new(enabled: bool) -> Self {
        Self {
            limit: WATCH_MAX,
            began: Instant::now(),
            preemptions: 0,
            steps: 0,
            enabled,
        }
    }
}

impl Patience for Watch {
    fn begins_to_watch(&mut self) {
        self.began = Instant::now();
        self.steps = 0;
        if self.enabled {
            self.preemptions = process::preemptions();
        }
    }

    fn goes_on(&mut self) -> bool {
        self.steps += 1;
        if self.enabled && (self.steps % STEPS_PER_LOOK != 0 || self.began.elapsed() < self.limit) {
            return true;
        }
        let disturbed = self.enabled && process::preemptions() != self.preemptions;
        self.limit = if disturbed {
            Duration::ZERO
        } else {
            self.limit / 2
        };
        false
    }

    fn was_rewarded(&mut self) {
        self.limit = WATCH_MAX;
    }

    fn was_woken(&mut self) {
        if self.began.elapsed() < 2 * WATCH_MAX {
            self.limit = WATCH_MAX;
        }
    }
}

/// Hands out the numbers 0 to `count` - 1, each once: to the caller from the front, to helpers from
/// the back. So each comes back to the same end of the same buffer, which its cache may hold still.
pub(crate) struct Tickets {
    /// Low half: taken from the front, high half: from the back. Counts on when all are gone, by
    /// one for each thread that asks.
    taken: AtomicU64,
    count: u32,
}

impl Tickets {
    pub(crate) fn new(count: u32) -> Self {
        Self {
            taken: AtomicU64::new(0),
            count,
        }
    }

    pub(crate) fn take(&self, role: Role) -> Option<u32> {
        let one = match role {
            Role::Caller => 1,
            Role::Helper => 1 << 32,
        };
        // Relaxed: a ticket carries no data; the board's lock orders what the work touches.
        let taken = self.taken.fetch_add(one, Ordering::Relaxed);
        let (front, back) = (taken as u32, (taken >> 32) as u32);
        if u64::from(front) + u64::from(back) >= u64::from(self.count) {
            return None;
        }
        Some(match role {
            Role::Caller => front,
            Role::Helper => self.count - 1 - back,
        })
    }
}

const WATCH_MAX: Duration = Duration::from_micros(50);
/// Looks at the clock are 20 to 40 ns, a pause 10 to 40 ns.
const STEPS_PER_LOOK: u32 = 16;
/// The kernels need little, and a thread's stack is committed page by page.
const STACK_BYTES: usize = 256 << 10;
