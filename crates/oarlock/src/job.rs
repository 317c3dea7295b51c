//! Jobs: requests that are submitted now and waited for later.
//!
//! ```text
//! submit      the job enters the queue; a pool thread is asked to come, as long as fewer come than may
//! pool thread takes jobs out of the queue, in order of priority, until there is none
//! wait        takes the job out of the queue and does it here, if nobody has begun it
//! poll        does so where no pool thread will come, and else leaves a waker
//! ```
//!
//! Every job is in one stage at a time, changed under its lock: queued, running, done, taken. Who
//! moves it out of `queued` answers for it: a thread that runs it, [`Job::cancel`], a deadline that
//! has passed, the end of the accelerator. So each is resolved once. A forked child has none of the
//! threads that run jobs, and what its parent queued is its parent's: there they are cancelled.

use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::Instant;

use zeroize::Zeroizing;

use crate::pk::Work;
use crate::pool::Background;
use crate::{Error, process};

/// A request on its way. It is a [`Future`] of any executor; or [`wait`](Self::wait) for it.
///
/// Pool threads work jobs off, the urgent ones first. A job that nobody has begun is done by who
/// waits for it, and, where there are no pool threads (on one CPU, or with `max_threads=0`), by who
/// polls it or [tries](Self::try_wait): there a poll takes as long as the request.
///
/// A job that is dropped is cancelled, or finishes unseen, and what it made is wiped. One that is
/// on its way when the last session and handle of its accelerator go fails with
/// [`Error::Cancelled`], or, if it has begun, finishes. A forked child finds the jobs of its parent
/// cancelled, but those that were done.
#[must_use = "a job that is dropped is cancelled"]
pub struct Job<T> {
    shared: Arc<Shared>,
    queue: Arc<Queue>,
    /// Makes of the bytes what was asked for.
    convert: fn(Zeroizing<Vec<u8>>) -> T,
}

/// How a job is to be treated. By default of normal priority and without a deadline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobOptions {
    /// Urgent jobs are begun before all normal ones.
    pub priority: Priority,
    /// A job that has not begun by then fails with [`Error::DeadlinePassed`], when its turn comes
    /// or somebody asks for it. One that has begun goes on.
    pub deadline: Option<Instant>,
}

/// Which jobs are begun first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Priority {
    /// Before those of normal priority, however long they have waited.
    Urgent,
    /// In the order of submission.
    #[default]
    Normal,
}

/// So many jobs wait that one more was refused; here are its buffers again. See
/// [`Builder::jobs_max`](crate::Builder::jobs_max).
#[derive(Clone, PartialEq, Eq)]
pub struct QueueFull<R>(pub R);

impl<R> fmt::Display for QueueFull<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "the queue of jobs is full: submit it again when some are done, or raise jobs_max",
        )
    }
}

/// Does not show the request, which may be secret.
impl<R> fmt::Debug for QueueFull<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("QueueFull(..)")
    }
}

impl<R> std::error::Error for QueueFull<R> {}

impl<T> Job<T> {
    /// Waits until it is done; does it here, if nobody has begun it.
    ///
    /// # Errors
    /// What the request fails with; [`Error::Cancelled`], [`Error::DeadlinePassed`].
    pub fn wait(self) -> Result<T, Error> {
        self.shared.run_if_queued(&self.queue);
        let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
        loop {
            if let Poll::Ready(result) = self.shared.take_or_leave(&waker) {
                return result.map(self.convert);
            }
            // Woken for no reason, or for another one, it looks again.
            std::thread::park();
        }
    }

    /// The result, if it is there; `None` also after it was taken.
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    pub fn try_wait(&mut self) -> Option<Result<T, Error>> {
        if !self.queue.is_served() {
            self.shared.run_if_queued(&self.queue);
        }
        self.shared.take().map(|result| result.map(self.convert))
    }

    /// Whether it is done, or will never be.
    pub fn is_finished(&self) -> bool {
        self.shared.is_finished()
    }

    /// Cancels it, unless it has begun: then it goes on, and its result can be had as if nothing
    /// had happened. Returns whether it was cancelled, and fails with [`Error::Cancelled`].
    pub fn cancel(&self) -> bool {
        let is_cancelled = self.shared.resolve_queued(Error::Cancelled);
        if is_cancelled {
            self.queue.remove(&self.shared);
        }
        is_cancelled
    }
}

impl<T> Future for Job<T> {
    type Output = Result<T, Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let convert = self.convert;
        let outcome = self.shared.take_or_leave(context.waker());
        // Asked after the waker is there: who leaves the queue alone wakes those who wait in it.
        if outcome.is_pending() && !self.queue.is_served() {
            self.shared.run_if_queued(&self.queue);
            return self.shared.take_or_leave(context.waker()).map_ok(convert);
        }
        outcome.map_ok(convert)
    }
}

impl<T> Drop for Job<T> {
    fn drop(&mut self) {
        self.cancel();
    }
}

impl<T> fmt::Debug for Job<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Job")
            .field("is_finished", &self.is_finished())
            .finish_non_exhaustive()
    }
}

/// What a job is to its handle and to the queue.
struct Shared {
    state: Mutex<State>,
    priority: Priority,
    deadline: Option<Instant>,
    /// [`process::fork_generation`] of the process that submitted it.
    fork_generation: usize,
}

struct State {
    stage: Stage,
    waker: Option<Waker>,
}

enum Stage {
    Queued(Work),
    Running,
    Done(Outcome),
    Taken,
}

type Outcome = Result<Zeroizing<Vec<u8>>, Error>;

impl Shared {
    /// Does the work here, unless somebody has begun it.
    fn run_if_queued(self: &Arc<Self>, queue: &Queue) {
        if let Some(work) = self.begin() {
            queue.remove(self);
            self.run(work);
        }
    }

    /// The work, for a thread that does it now. None where the job is in another stage, or is now,
    /// since its deadline has passed.
    fn begin(&self) -> Option<Work> {
        self.cancel_inherited();
        if self
            .deadline
            .is_some_and(|deadline| deadline <= Instant::now())
        {
            self.resolve_queued(Error::DeadlinePassed);
        }
        self.locked(|state| match state.stage {
            Stage::Queued(_) => match std::mem::replace(&mut state.stage, Stage::Running) {
                Stage::Queued(work) => Some(work),
                _ => None,
            },
            _ => None,
        })
    }

    /// Does work that [`begin`](Self::begin) has given out.
    fn run(&self, work: Work) {
        /// Resolves the job even if the work panics.
        struct Answer<'a>(&'a Shared, Option<Outcome>);
        impl Drop for Answer<'_> {
            fn drop(&mut self) {
                let outcome = self.1.take().unwrap_or_else(|| {
                    Err(Error::DeviceFailed {
                        device: "software".into(),
                        reason: "the request panicked".into(),
                    })
                });
                self.0.finish(outcome);
            }
        }
        let mut answer = Answer(self, None);
        answer.1 = Some(work.run());
    }

    fn finish(&self, outcome: Outcome) {
        let waker = self.locked(|state| {
            state.stage = Stage::Done(outcome);
            state.waker.take()
        });
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Answers a job that nobody has begun. Returns whether there was one.
    fn resolve_queued(&self, error: Error) -> bool {
        let resolved = self.locked(|state| {
            if !matches!(state.stage, Stage::Queued(_)) {
                return None;
            }
            let stage = std::mem::replace(&mut state.stage, Stage::Done(Err(error)));
            Some((stage, state.waker.take()))
        });
        // What was asked is dropped, and who waits is woken, without the lock.
        let Some((_work, waker)) = resolved else {
            return false;
        };
        if let Some(waker) = waker {
            waker.wake();
        }
        true
    }

    /// The outcome; or it leaves `waker`, for when it is there.
    fn take_or_leave(&self, waker: &Waker) -> Poll<Outcome> {
        self.cancel_inherited();
        let mut fresh = Some(waker.clone());
        let outcome = self.locked(|state| match &state.stage {
            Stage::Done(_) => match std::mem::replace(&mut state.stage, Stage::Taken) {
                Stage::Done(outcome) => Poll::Ready(outcome),
                _ => Poll::Pending,
            },
            Stage::Taken => Poll::Ready(Err(Error::InvalidInput(
                "the job's result has been taken already".into(),
            ))),
            Stage::Queued(_) | Stage::Running => {
                std::mem::swap(&mut state.waker, &mut fresh);
                Poll::Pending
            }
        });
        // The waker before, if any, is dropped here, without the lock.
        drop(fresh);
        outcome
    }

    fn take(&self) -> Option<Outcome> {
        self.cancel_inherited();
        self.locked(|state| {
            if !matches!(state.stage, Stage::Done(_)) {
                return None;
            }
            match std::mem::replace(&mut state.stage, Stage::Taken) {
                Stage::Done(outcome) => Some(outcome),
                _ => None,
            }
        })
    }

    fn is_finished(&self) -> bool {
        self.cancel_inherited();
        self.locked(|state| matches!(state.stage, Stage::Done(_) | Stage::Taken))
    }

    /// Wakes who waits, to look again.
    fn wake(&self) {
        if let Some(waker) = self.locked(|state| state.waker.take()) {
            waker.wake();
        }
    }

    /// In a forked child, nobody does what its parent had begun or queued.
    fn cancel_inherited(&self) {
        if self.fork_generation == process::fork_generation() {
            return;
        }
        let before = self.locked(|state| {
            matches!(state.stage, Stage::Queued(_) | Stage::Running)
                .then(|| std::mem::replace(&mut state.stage, Stage::Done(Err(Error::Cancelled))))
        });
        drop(before);
    }

    fn locked<R>(&self, change: impl FnOnce(&mut State) -> R) -> R {
        process::undivided(|| {
            change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
        })
    }
}

/// The jobs of an accelerator. When it goes, they are cancelled.
pub(crate) struct Jobs(Arc<Queue>);

/// Jobs that nobody has begun.
struct Queue {
    line: Mutex<Line>,
    jobs_max: usize,
}

#[derive(Default)]
struct Line {
    urgent: VecDeque<Arc<Shared>>,
    normal: VecDeque<Arc<Shared>>,
    /// Places that are kept for jobs about to enter.
    reserved: usize,
    /// Pool threads that are here or asked to come. While there is one, every job is seen.
    servers: usize,
    /// Of the process that all of the above is of.
    fork_generation: usize,
}

/// A place in the queue. Given back on drop.
pub(crate) struct Slot<'a>(&'a Jobs);

impl Jobs {
    pub(crate) fn new(jobs_max: usize) -> Self {
        let line = Line {
            fork_generation: process::fork_generation(),
            ..Line::default()
        };
        Self(Arc::new(Queue {
            line: Mutex::new(line),
            jobs_max,
        }))
    }

    /// A place for one more job, unless the queue is full.
    pub(crate) fn reserve(&self) -> Option<Slot<'_>> {
        let jobs_max = self.0.jobs_max;
        let is_free = self.0.locked(|line| {
            let is_free = line.urgent.len() + line.normal.len() + line.reserved < jobs_max;
            line.reserved += usize::from(is_free);
            is_free
        });
        // Not made under the lock, nor where there is none: its drop gives the place back.
        is_free.then(|| Slot(self))
    }

    /// What pool threads are asked to do, if one more than come already may come, of
    /// `servers_max`, and there is something to do.
    pub(crate) fn enlist(&self, servers_max: usize) -> Option<Arc<dyn Background>> {
        let is_needed = self.0.locked(|line| {
            let waiting = line.urgent.len() + line.normal.len();
            let is_needed = line.servers < servers_max.min(waiting);
            line.servers += usize::from(is_needed);
            is_needed
        });
        is_needed.then(|| Arc::clone(&self.0) as Arc<dyn Background>)
    }
}

impl Drop for Jobs {
    fn drop(&mut self) {
        let left = self.0.locked(|line| {
            let mut left = std::mem::take(&mut line.urgent);
            left.append(&mut line.normal);
            left
        });
        for job in left {
            job.resolve_queued(Error::Cancelled);
        }
    }
}

impl Slot<'_> {
    /// Puts a job in its place.
    pub(crate) fn enter<T>(
        self,
        work: Work,
        options: JobOptions,
        convert: fn(Zeroizing<Vec<u8>>) -> T,
    ) -> Job<T> {
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                stage: Stage::Queued(work),
                waker: None,
            }),
            priority: options.priority,
            deadline: options.deadline,
            fork_generation: process::fork_generation(),
        });
        let queue = Arc::clone(&self.0.0);
        queue.locked(|line| line.of(shared.priority).push_back(Arc::clone(&shared)));
        Job {
            shared,
            queue,
            convert,
        }
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        // A child that was forked meanwhile begins with none.
        self.0
            .0
            .locked(|line| line.reserved = line.reserved.saturating_sub(1));
    }
}

impl Queue {
    /// The next job; where there is none, the calling server counts no more.
    fn next_or_leave(&self) -> Option<Arc<Shared>> {
        self.locked(|line| {
            let next = line.urgent.pop_front().or_else(|| line.normal.pop_front());
            if next.is_none() {
                line.servers = line.servers.saturating_sub(1);
            }
            next
        })
    }

    fn remove(&self, job: &Arc<Shared>) {
        self.locked(|line| {
            let line = line.of(job.priority);
            if let Some(at) = line.iter().position(|other| Arc::ptr_eq(other, job)) {
                // Not the last reference: the caller has one.
                line.remove(at);
            }
        });
    }

    /// Whether a pool thread will look at every job that is here.
    fn is_served(&self) -> bool {
        self.locked(|line| line.servers > 0)
    }

    fn locked<R>(&self, change: impl FnOnce(&mut Line) -> R) -> R {
        let (result, inherited) = process::undivided(|| {
            let mut line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
            let fork_generation = process::fork_generation();
            let mut inherited = None;
            if line.fork_generation != fork_generation {
                let fresh = Line {
                    fork_generation,
                    ..Line::default()
                };
                inherited = Some(std::mem::replace(&mut *line, fresh));
            }
            (change(&mut line), inherited)
        });
        // Jobs of the parent's, whose handles may be here: dropped without the lock.
        drop(inherited);
        result
    }
}

impl Line {
    fn of(&mut self, priority: Priority) -> &mut VecDeque<Arc<Shared>> {
        match priority {
            Priority::Urgent => &mut self.urgent,
            Priority::Normal => &mut self.normal,
        }
    }
}

impl Background for Queue {
    fn work(&self, goes_on: &mut dyn FnMut() -> bool) -> bool {
        while let Some(job) = self.next_or_leave() {
            if let Some(work) = job.begin() {
                job.run(work);
            }
            if !goes_on() {
                return true;
            }
        }
        false
    }

    fn refused(&self) {
        let left: Vec<_> = self.locked(|line| {
            line.servers = line.servers.saturating_sub(1);
            line.urgent.iter().chain(&line.normal).cloned().collect()
        });
        // They do it themselves, if nobody else comes.
        for job in left {
            job.wake();
        }
    }
}

/// Wakes a thread that waits.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
