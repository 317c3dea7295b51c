//! The runtime of a device, and work on it as jobs of the library.

use std::future::Future;
use std::ops::Deref;
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use oarlock::Error;
use oarlock::job::Job;
use oarlock_threads::job::{Outcome, Pending, taken};
use oarlock_threads::process;
use tokio::runtime::{Handle, Runtime};
use tokio::sync::oneshot;
use tokio::task::AbortHandle;
use tonic::Code;

use super::settings::ClientError;

/// A runtime that works in the background. Its end waits neither for its threads nor for look-ups of names. In a forked child,
/// where its threads are missing and its locks may be held, it is left as it is.
pub(super) struct Background {
    runtime: Option<Runtime>,
    handle: Handle,
    fork_generation: usize,
}

impl Background {
    pub(super) fn new(runtime: Runtime) -> Self {
        process::watch_forks();
        Self {
            handle: runtime.handle().clone(),
            runtime: Some(runtime),
            fork_generation: process::fork_generation(),
        }
    }
}

impl Deref for Background {
    type Target = Handle;

    fn deref(&self) -> &Handle {
        &self.handle
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        let runtime = self.runtime.take();
        if self.fork_generation != process::fork_generation() {
            std::mem::forget(runtime);
        } else if let Some(runtime) = runtime {
            runtime.shutdown_background();
        }
    }
}

/// Starts `work` on a runtime. The job ends with its output; dropping the job ends the work.
pub(super) fn submit<T: Send + 'static>(
    runtime: &Handle,
    work: impl Future<Output = T> + Send + 'static,
) -> Job<T> {
    let (sender, receiver) = oneshot::channel();
    let task = runtime.spawn(async move {
        // Nobody waits any more if it fails.
        let _ = sender.send(work.await);
    });
    Job::new(Box::new(Submitted {
        stage: Mutex::new(Stage::Waiting(receiver)),
        task: task.abort_handle(),
        runtime: runtime.clone(),
        fork_generation: process::fork_generation(),
    }))
}

/// Computes what takes too long for the thread of the connections, within work of [`RemoteDevice::submit`](super::RemoteDevice::submit).
///
/// # Errors
/// CANCELLED if the runtime ends.
pub async fn compute<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ClientError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|_| ClientError {
        code: Code::Cancelled,
        message: "the connections were closed".to_owned(),
    })
}

struct Submitted<T> {
    stage: Mutex<Stage<T>>,
    task: AbortHandle,
    runtime: Handle,
    /// [`process::fork_generation`] of the process that submitted it.
    fork_generation: usize,
}

enum Stage<T> {
    Waiting(oneshot::Receiver<T>),
    Done(Outcome<T>),
    Taken,
}

impl<T> Submitted<T> {
    fn stage(&self) -> MutexGuard<'_, Stage<T>> {
        let mut stage = self.stage.lock().unwrap_or_else(PoisonError::into_inner);
        let is_inherited = self.fork_generation != process::fork_generation();
        if is_inherited && matches!(*stage, Stage::Waiting(_)) {
            // The threads of the runtime are the parent's.
            *stage = Stage::Done(Err(Error::Cancelled));
        }
        stage
    }

    /// Takes the outcome out of a stage that has one.
    fn take_from(stage: &mut Stage<T>) -> Option<Outcome<T>> {
        if !matches!(stage, Stage::Done(_)) {
            return None;
        }
        match std::mem::replace(stage, Stage::Taken) {
            Stage::Done(outcome) => Some(outcome),
            Stage::Waiting(_) | Stage::Taken => None,
        }
    }

    /// Moves on if the work has ended. Otherwise it wakes `waker` later.
    fn look(stage: &mut Stage<T>, waker: &Waker) {
        if let Stage::Waiting(receiver) = stage
            && let Poll::Ready(received) = Pin::new(receiver).poll(&mut Context::from_waker(waker))
        {
            // Work that was aborted, or panicked, has no result.
            *stage = Stage::Done(received.map_err(|_| Error::Cancelled));
        }
    }
}

impl<T: Send> Pending<T> for Submitted<T> {
    fn wait(&self) -> Outcome<T> {
        if let Some(outcome) = self.take() {
            return outcome;
        }
        let waiting = std::mem::replace(&mut *self.stage(), Stage::Taken);
        match waiting {
            Stage::Waiting(receiver) => {
                let received = self.runtime.block_on(receiver);
                received.map_err(|_| Error::Cancelled)
            }
            Stage::Done(outcome) => outcome,
            Stage::Taken => Err(taken()),
        }
    }

    fn take_or_leave(&self, waker: &Waker) -> Poll<Outcome<T>> {
        let mut stage = self.stage();
        Self::look(&mut stage, waker);
        match Self::take_from(&mut stage) {
            Some(outcome) => Poll::Ready(outcome),
            None if matches!(*stage, Stage::Taken) => Poll::Ready(Err(taken())),
            None => Poll::Pending,
        }
    }

    fn take(&self) -> Option<Outcome<T>> {
        let mut stage = self.stage();
        Self::try_receive(&mut stage);
        Self::take_from(&mut stage)
    }

    fn is_finished(&self) -> bool {
        let mut stage = self.stage();
        Self::try_receive(&mut stage);
        !matches!(*stage, Stage::Waiting(_))
    }

    fn cancel(&self) -> bool {
        let mut stage = self.stage();
        Self::try_receive(&mut stage);
        let is_waiting = matches!(*stage, Stage::Waiting(_));
        if is_waiting {
            *stage = Stage::Done(Err(Error::Cancelled));
            self.task.abort();
        }
        is_waiting
    }

    fn advance(&self) -> bool {
        false
    }
}

impl<T> Submitted<T> {
    /// Moves on if the work has ended, and leaves the waker that waits.
    fn try_receive(stage: &mut Stage<T>) {
        if let Stage::Waiting(receiver) = stage {
            match receiver.try_recv() {
                Ok(output) => *stage = Stage::Done(Ok(output)),
                Err(oneshot::error::TryRecvError::Closed) => {
                    *stage = Stage::Done(Err(Error::Cancelled));
                }
                Err(oneshot::error::TryRecvError::Empty) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use oarlock::job::{CompletionQueue, Order};

    use super::*;

    fn runtime() -> Background {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        Background::new(builder.worker_threads(1).enable_all().build().unwrap())
    }

    #[test]
    fn jobs_end_with_what_their_work_returns() {
        let runtime = runtime();
        assert_eq!(submit(&runtime, async { 7 }).wait(), Ok(7));
        let mut queue = CompletionQueue::new(Order::Completion);
        for number in 0..100_u64 {
            let work = async move {
                tokio::time::sleep(Duration::from_millis(number % 7)).await;
                number
            };
            queue.push(submit(&runtime, work), number);
        }
        let mut sum = 0;
        while let Some((number, outcome)) = queue.next_blocking() {
            assert_eq!(outcome, Ok(number));
            sum += number;
        }
        assert_eq!(sum, 4950);
        let mut job = submit(&runtime, async { 7 });
        oarlock_testing::until("the work ends", || job.is_finished());
        assert!(!job.cancel());
        assert_eq!(job.try_wait(), Some(Ok(7)));
        assert_eq!(job.try_wait(), None);
        assert!(job.wait().is_err());
    }

    #[test]
    fn what_nobody_waits_for_ends() {
        let runtime = runtime();
        let (sender, receiver) = std::sync::mpsc::channel::<()>();
        let work = async move {
            let _kept = sender;
            std::future::pending::<()>().await;
        };
        let job = submit(&runtime, work);
        assert!(!job.is_finished());
        drop(job);
        assert!(receiver.recv_timeout(Duration::from_secs(30)).is_err());
        let job = submit(&runtime, std::future::pending::<()>());
        assert!(job.cancel());
        assert_eq!(job.wait(), Err(Error::Cancelled));
        let job = submit(&runtime, async { panic!("a panic of a test") });
        assert_eq!(job.wait(), Err::<(), _>(Error::Cancelled));
        let job = submit(&runtime, std::future::pending::<()>());
        drop(runtime);
        assert_eq!(job.wait(), Err(Error::Cancelled));
    }
}
