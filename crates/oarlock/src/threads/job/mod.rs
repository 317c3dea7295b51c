//! Jobs: requests that are submitted now and waited for later. `queue.rs` says who does them and
//! when, `completion.rs` how many of them are waited for at once.

mod completion;
mod options;
mod queue;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use zeroize::Zeroizing;

pub use self::completion::{CompletionQueue, Order};
pub use self::options::{JobOptions, Priority, QueueFull};
pub(crate) use self::queue::{Engine, Outcome};
use self::queue::{Queue, Shared};
use crate::Error;
use crate::costs::stats::PublicKeyStats;
use crate::pk::{Class, Lanes, Work};
use crate::threads::pool::board::Background;
use crate::threads::process;

/// A request on its way. It is a [`Future`] of any executor; or [`wait`](Self::wait) for it, have a
/// function [called](Self::on_completion), or put it into a [`CompletionQueue`].
///
/// Pool threads work jobs off, the urgent ones first, and up to eight at once. A job that nobody
/// has begun is done by who waits for it, if a CPU is free, and, where there are no pool threads
/// (on one CPU, or with `max_threads=0`), by who polls it or [tries](Self::try_wait): there a poll
/// takes as long as a group of requests.
///
/// A job that is dropped is cancelled, or finishes unseen, and what it made is wiped. One that is
/// on its way when the last session and handle of its accelerator go fails with
/// [`Error::Cancelled`], or, if it has begun, finishes. A forked child finds the jobs of its parent
/// cancelled, but those that were done.
#[must_use = "a job that is dropped is cancelled"]
pub struct Job<T> {
    shared: Arc<Shared<Lanes>>,
    queue: Arc<Queue<Lanes>>,
    /// Makes of the bytes what was asked for.
    convert: fn(Zeroizing<Vec<u8>>) -> T,
}

impl<T> Job<T> {
    /// Waits until it is done; does it here, together with others like it that wait, if nobody has
    /// begun it and a CPU is free.
    ///
    /// # Errors
    /// What the request fails with; [`Error::Cancelled`], [`Error::DeadlinePassed`].
    pub fn wait(self) -> Result<T, Error> {
        self.queue.wait(&self.shared).map(self.convert)
    }

    /// The result, if it is there; `None` also after it was taken.
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    pub fn try_wait(&mut self) -> Option<Result<T, Error>> {
        self.advance();
        self.shared.take().map(|result| result.map(self.convert))
    }

    /// Whether it is done, or will never be.
    pub fn is_finished(&self) -> bool {
        self.shared.is_finished()
    }

    /// Cancels it, unless it has begun: then it goes on, and its result can be had as if nothing
    /// had happened. Returns whether it was cancelled, and fails with [`Error::Cancelled`].
    pub fn cancel(&self) -> bool {
        self.queue.cancel(&self.shared)
    }

    /// Has `call` called with the result, on the thread that computes it: a short function that
    /// does not block, since other jobs wait for that thread. It is called at once if the job is
    /// done already, or if this thread has to do it, there being no pool threads.
    ///
    /// A forked child's copy is never called for a job of its parent.
    pub fn on_completion(self, call: impl FnOnce(Result<T, Error>) + Send + 'static)
    where
        T: 'static,
    {
        let waiting = Waiting::For(self, Box::new(call));
        Arc::new(Callback(Mutex::new(waiting))).look();
    }

    /// Does the job here where nobody else will.
    fn advance(&self) {
        if !self.queue.is_served() {
            self.queue.lead(&self.shared, true);
        }
    }
}

impl<T> Future for Job<T> {
    type Output = Result<T, Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let convert = self.convert;
        let mut outcome = self.shared.take_or_leave(context.waker());
        // Asked after the waker is there: who leaves the queue alone wakes those who wait in it.
        if outcome.is_pending() && !self.queue.is_served() && self.queue.lead(&self.shared, true) {
            outcome = self.shared.take_or_leave(context.waker());
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

/// A job whose result somebody is to be called with.
struct Callback<T>(Mutex<Waiting<T>>);

enum Waiting<T> {
    For(Job<T>, Call<T>),
    /// A thread looks at it just now, perhaps further up on this very stack. Whether there was
    /// news meanwhile.
    Looked {
        again: bool,
    },
    /// It was called.
    Over,
}

type Call<T> = Box<dyn FnOnce(Result<T, Error>) + Send>;

impl<T: 'static> Callback<T> {
    /// Calls, if the job is done, and else is woken when it is.
    fn look(self: &Arc<Self>) {
        let (mut job, call) = {
            let mut waiting = self.locked();
            match std::mem::replace(&mut *waiting, Waiting::Looked { again: true }) {
                Waiting::For(job, call) => {
                    *waiting = Waiting::Looked { again: false };
                    (job, call)
                }
                Waiting::Looked { .. } => return,
                Waiting::Over => {
                    *waiting = Waiting::Over;
                    return;
                }
            }
        };
        let waker = Waker::from(Arc::clone(self));
        loop {
            let result = Pin::new(&mut job).poll(&mut Context::from_waker(&waker));
            let mut waiting = self.locked();
            if let Poll::Ready(result) = result {
                *waiting = Waiting::Over;
                drop(waiting);
                return call(result);
            }
            if !matches!(*waiting, Waiting::Looked { again: true }) {
                *waiting = Waiting::For(job, call);
                return;
            }
            *waiting = Waiting::Looked { again: false };
        }
    }

    fn locked(&self) -> MutexGuard<'_, Waiting<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: 'static> Wake for Callback<T> {
    fn wake(self: Arc<Self>) {
        self.look();
    }
}

/// The jobs of an accelerator. When it goes, they are cancelled.
pub(crate) struct Jobs(Arc<Queue<Lanes>>);

/// A place in the queue. Given back on drop.
pub(crate) struct Slot<'a>(&'a Jobs);

impl Jobs {
    /// For a queue of `jobs_max`, and callers who wait on as many CPUs as `cpus` says.
    pub(crate) fn new(lanes: Lanes, jobs_max: usize, cpus: fn() -> usize) -> Self {
        Self(Arc::new(Queue::new(lanes, jobs_max, cpus)))
    }

    /// Of requests so far.
    pub(crate) fn stats(&self) -> PublicKeyStats {
        PublicKeyStats {
            waiting: self.0.len(),
            ..self.0.engine.stats()
        }
    }

    /// A place for one more job, unless the queue is full.
    pub(crate) fn reserve(&self) -> Option<Slot<'_>> {
        self.0.reserve().then(|| Slot(self))
    }

    /// What pool threads are asked to do, if one more should and may come, of `servers_max`.
    pub(crate) fn enlist(&self, servers_max: usize, for_call: bool) -> Option<Arc<dyn Background>> {
        let is_needed = self.0.enlist(servers_max, for_call);
        is_needed.then(|| Arc::clone(&self.0) as Arc<dyn Background>)
    }

    /// What comes of a request of a caller who waits: `alone`, if a CPU is free and so nobody else
    /// waits, or if there are no lanes to meet others in; else that of the work that `make` makes,
    /// together with others, for which `serve` may have pool threads come.
    pub(crate) fn call(
        &self,
        class: Class,
        alone: impl FnOnce() -> Outcome<Zeroizing<Vec<u8>>>,
        make: impl FnOnce() -> Work,
        serve: impl FnOnce(),
    ) -> Outcome<Zeroizing<Vec<u8>>> {
        let lanes = &self.0.engine;
        if !lanes.are_there() {
            return alone();
        }
        if let Some(_permit) = self.0.permit() {
            return if lanes.pays(class.number(), 1) {
                lanes.run_one(class.number(), make())
            } else {
                lanes.alone(class, alone)
            };
        }
        if !self.0.reserve() {
            return alone();
        }
        let job = self.0.enter(make(), JobOptions::default(), true);
        serve();
        if !self.0.is_served() {
            // Threads that were woken with this one's last result enter too, before one of all leads.
            // A sandbox may kill who yields.
            if !process::is_sandboxed() {
                std::thread::yield_now();
            }
        }
        self.0.wait(&job)
    }
}

impl Drop for Jobs {
    fn drop(&mut self) {
        self.0.cancel_all();
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
        let queue = Arc::clone(&self.0.0);
        // The place is the job's from here on.
        std::mem::forget(self);
        Job {
            shared: queue.enter(work, options, false),
            queue,
            convert,
        }
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        self.0.0.unreserve();
    }
}
