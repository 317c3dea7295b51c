//! Jobs: requests that are submitted now and whose results are taken later.

// `queue.rs` decides which thread computes them and when; `completion.rs` waits for many of them at once. Nothing here knows
// what they compute: the plan provides a `Batcher`.

mod batcher;
mod completion;
mod entry;
mod options;
mod queue;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use zeroize::Zeroizing;

pub use self::batcher::{Batcher, Outcome, taken};
pub use self::completion::{CompletionQueue, Order};
use self::entry::Entry;
pub use self::options::{JobOptions, Priority, QueueFull, Start};
pub use self::queue::Queue;
use crate::Error;
use crate::process;

/// A submitted request. It is a [`Future`] for any executor; a caller can also [`wait`](Self::wait) for it, have a function
/// [called](Self::on_completion), or put it into a [`CompletionQueue`].
///
/// Pool threads compute jobs, urgent ones first and up to eight at once. A thread that waits for a job that no thread has
/// begun computes it itself if a CPU is free. Without pool threads (on one CPU, or with `max_threads=0`) a thread that polls
/// or [tries](Self::try_wait) does so too, and the poll takes as long as a whole batch: with an asynchronous executor, leave
/// the pool a thread.
///
/// Dropping a job cancels it; if it has begun, it finishes in the background and its result is wiped. When the last session
/// and handle of its accelerator are dropped, a waiting job fails with [`Error::Cancelled`], and one that has begun
/// finishes. In a forked child, the parent's jobs are cancelled, except those that were done.
///
/// ```
/// use oarlock::Accelerator;
/// use oarlock::job::{JobOptions, Priority};
/// use oarlock::rsa::{Hash, RsaPrivateKey, SignatureScheme};
///
/// let accelerator = Accelerator::builder().build()?;
/// let key = RsaPrivateKey::from_pem(include_str!("../../../oarlock/tests/keys/rsa2048.pem"))?;
/// let rsa = accelerator.rsa(&key);
/// let options = JobOptions { priority: Priority::Urgent, ..JobOptions::default() };
/// let job = rsa.submit_sign(SignatureScheme::Pss(Hash::Sha256), b"message", options)?;
/// // Other work, then:
/// assert_eq!(job.wait()?.len(), 256); // or `job.await`
/// # Ok::<(), oarlock::Error>(())
/// ```
#[must_use = "a job that is dropped is cancelled"]
pub struct Job<T> {
    pending: Box<dyn Pending<T>>,
}

impl<T> Job<T> {
    /// Creates a job that ends when `pending` does.
    #[doc(hidden)]
    pub fn new(pending: Box<dyn Pending<T>>) -> Self {
        Self { pending }
    }

    /// Waits for the result. If no thread has begun the job and a CPU is free, this thread computes it, together with
    /// similar jobs that are waiting.
    ///
    /// # Errors
    /// Those of the request; [`Error::Cancelled`]; [`Error::DeadlinePassed`].
    pub fn wait(self) -> Result<T, Error> {
        self.pending.wait()
    }

    /// Returns the result if the job has ended; `None` before that and after the result was taken.
    ///
    /// # Errors
    /// Those of [`wait`](Self::wait).
    pub fn try_wait(&mut self) -> Option<Result<T, Error>> {
        self.pending.advance();
        self.pending.take()
    }

    /// Whether the job has ended: with a result or an error, or cancelled.
    pub fn is_finished(&self) -> bool {
        self.pending.is_finished()
    }

    /// Cancels the job unless it has begun, and returns whether it did. A cancelled job fails with [`Error::Cancelled`]; one
    /// that has begun goes on and returns its result.
    pub fn cancel(&self) -> bool {
        self.pending.cancel()
    }

    /// Returns the same job with its result converted by `convert`, for a queue of jobs of several kinds.
    ///
    /// ```
    /// use oarlock::Accelerator;
    /// use oarlock::job::{Job, JobOptions};
    /// use oarlock::rsa::{Hash, RsaPrivateKey, SignatureScheme};
    ///
    /// let accelerator = Accelerator::builder().build()?;
    /// let rsa = accelerator.rsa(&RsaPrivateKey::from_pem(include_str!("../../../oarlock/tests/keys/rsa2048.pem"))?);
    /// let job = rsa.submit_sign(SignatureScheme::Pkcs1(Hash::Sha256), b"message", JobOptions::default())?;
    /// let bytes: Job<usize> = job.map(|signature| signature.len());
    /// assert_eq!(bytes.wait()?, 256);
    /// # Ok::<(), oarlock::Error>(())
    /// ```
    pub fn map<U>(self, convert: fn(T) -> U) -> Job<U>
    where
        T: 'static,
        U: 'static,
    {
        Job::new(Box::new(Mapped { job: self, convert }))
    }

    /// Calls `call` with the result, on the thread that computes it. `call` must be short and must not block, because other
    /// jobs wait for that thread. It is called at once if the job is done already, or if this thread has to compute it
    /// because there are no pool threads.
    ///
    /// In a forked child it is never called for a job of the parent.
    pub fn on_completion(self, call: impl FnOnce(Result<T, Error>) + Send + 'static)
    where
        T: 'static,
    {
        let waiting = Waiting::For(self, Box::new(call));
        Arc::new(Callback(Mutex::new(waiting))).look();
    }
}

impl<T> Future for Job<T> {
    type Output = Result<T, Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut outcome = self.pending.take_or_leave(context.waker());
        // Called once the waker is stored: a thread that leaves the queue wakes those that wait in it.
        if outcome.is_pending() && self.pending.advance() {
            outcome = self.pending.take_or_leave(context.waker());
        }
        outcome
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

/// A job and the function to call with its result.
struct Callback<T>(Mutex<Waiting<T>>);

enum Waiting<T> {
    For(Job<T>, Call<T>),
    /// A thread is polling the job, perhaps further up on this very stack. `again` tells whether the job's waker was called
    /// since the poll began.
    Looked {
        again: bool,
    },
    /// The function was called.
    Over,
}

type Call<T> = Box<dyn FnOnce(Result<T, Error>) + Send>;

impl<T: 'static> Callback<T> {
    /// Polls the job and calls the function if it is done; otherwise the waker looks again later.
    fn look(self: &Arc<Self>) {
        let taken = self.with(|waiting| {
            match std::mem::replace(waiting, Waiting::Looked { again: true }) {
                Waiting::For(job, call) => {
                    *waiting = Waiting::Looked { again: false };
                    return Some((job, call));
                }
                Waiting::Looked { .. } => {}
                Waiting::Over => *waiting = Waiting::Over,
            }
            None
        });
        let Some((mut job, mut call)) = taken else {
            return;
        };
        let waker = Waker::from(Arc::clone(self));
        loop {
            let result = Pin::new(&mut job).poll(&mut Context::from_waker(&waker));
            if let Poll::Ready(result) = result {
                self.with(|waiting| *waiting = Waiting::Over);
                return call(result);
            }
            let once_more = self.with(|waiting| {
                if matches!(*waiting, Waiting::Looked { again: true }) {
                    *waiting = Waiting::Looked { again: false };
                    return Some((job, call));
                }
                *waiting = Waiting::For(job, call);
                None
            });
            match once_more {
                Some(taken) => (job, call) = taken,
                None => return,
            }
        }
    }

    /// Runs `run` with the lock held. A child that is forked while it runs finds the lock free.
    fn with<R>(&self, run: impl FnOnce(&mut Waiting<T>) -> R) -> R {
        process::undivided(|| run(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

impl<T: 'static> Wake for Callback<T> {
    fn wake(self: Arc<Self>) {
        self.look();
    }
}

/// A job and the queue that it is in, whatever computes it.
pub trait Pending<T>: Send + Sync {
    /// Waits for the outcome.
    fn wait(&self) -> Outcome<T>;
    /// Takes the outcome, or stores `waker` to be woken when there is one.
    fn take_or_leave(&self, waker: &Waker) -> Poll<Outcome<T>>;
    /// Takes the outcome, if there is one.
    fn take(&self) -> Option<Outcome<T>>;
    /// Whether there is an outcome, or one was taken.
    fn is_finished(&self) -> bool;
    /// Cancels the job if it has not begun. Returns whether it did.
    fn cancel(&self) -> bool;
    /// Computes the job on this thread if no other thread will. Returns whether it did.
    fn advance(&self) -> bool;
    /// Checks on whatever computes the job, on a thread that is about to sleep until it is done. Returns the time after
    /// which the thread must check again.
    fn attend(&self) -> Duration {
        PATIENCE
    }
}

struct InQueue<B: Batcher, T> {
    entry: Arc<Entry<B>>,
    queue: Arc<Queue<B>>,
    /// Converts the resulting bytes to the type that the caller asked for.
    convert: fn(Bytes) -> T,
}

impl<B: Batcher<Output = Bytes>, T> Pending<T> for InQueue<B, T> {
    fn wait(&self) -> Outcome<T> {
        self.queue.wait(&self.entry).map(self.convert)
    }

    fn take_or_leave(&self, waker: &Waker) -> Poll<Outcome<T>> {
        self.entry.take_or_leave(waker).map_ok(self.convert)
    }

    fn take(&self) -> Option<Outcome<T>> {
        Some(self.entry.take()?.map(self.convert))
    }

    fn is_finished(&self) -> bool {
        self.entry.is_finished()
    }

    fn cancel(&self) -> bool {
        self.queue.cancel(&self.entry)
    }

    fn advance(&self) -> bool {
        !self.queue.is_served() && self.queue.lead(&self.entry, true)
    }
}

/// A job and the conversion of its result.
struct Mapped<T, U> {
    job: Job<T>,
    convert: fn(T) -> U,
}

impl<T, U> Pending<U> for Mapped<T, U> {
    fn wait(&self) -> Outcome<U> {
        self.job.pending.wait().map(self.convert)
    }

    fn take_or_leave(&self, waker: &Waker) -> Poll<Outcome<U>> {
        self.job.pending.take_or_leave(waker).map_ok(self.convert)
    }

    fn take(&self) -> Option<Outcome<U>> {
        Some(self.job.pending.take()?.map(self.convert))
    }

    fn is_finished(&self) -> bool {
        self.job.is_finished()
    }

    fn cancel(&self) -> bool {
        self.job.cancel()
    }

    fn advance(&self) -> bool {
        self.job.pending.advance()
    }

    fn attend(&self) -> Duration {
        self.job.pending.attend()
    }
}

/// A reserved place in a queue. `Drop` releases it.
pub struct Slot<'a, B: Batcher>(&'a Arc<Queue<B>>);

impl<'a, B: Batcher<Output = Bytes>> Slot<'a, B> {
    /// Reserves a place for one more job, unless the queue is full.
    pub fn reserve(queue: &'a Arc<Queue<B>>) -> Option<Self> {
        queue.reserve().then(|| Self(queue))
    }

    /// Puts a job in the place. `convert` converts the resulting bytes to the type that the caller asked for.
    pub fn enter<T: 'static>(
        self,
        work: B::Work,
        options: JobOptions,
        convert: fn(Bytes) -> T,
    ) -> Job<T> {
        let queue = Arc::clone(self.0);
        // From here on the place belongs to the job.
        std::mem::forget(self);
        let entry = queue.enter(work, options, false);
        Job::new(Box::new(InQueue {
            entry,
            queue,
            convert,
        }))
    }
}

impl<B: Batcher> Drop for Slot<'_, B> {
    fn drop(&mut self) {
        self.0.unreserve();
    }
}

/// The time that a caller with one job sleeps before it checks for itself.
const PATIENCE: Duration = Duration::from_millis(20);

/// The result of a job. Wiped on drop.
pub type Bytes = Zeroizing<Vec<u8>>;
