//! Waits for many jobs at once.

use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::Duration;

use rustix::event::{EventfdFlags, eventfd};

use super::Job;
use crate::Error;
use crate::process;

/// The order in which a [`CompletionQueue`] returns results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// In the order in which the jobs were pushed: a result waits for those before it.
    Submission,
    /// In the order in which the jobs finish.
    Completion,
}

/// Jobs whose results one thread takes, as they finish or in order. The caller's tag tells which job a result belongs to. An
/// event loop can poll its [descriptor](Self::event_fd), which is readable when there may be a result. Dropping the queue
/// drops its jobs.
///
/// ```
/// use oarlock::Accelerator;
/// use oarlock::job::{CompletionQueue, JobOptions, Order};
/// use oarlock::rsa::{Hash, RsaPrivateKey, SignatureScheme};
///
/// let accelerator = Accelerator::builder().build()?;
/// let rsa = accelerator.rsa(&RsaPrivateKey::from_pem(include_str!("../../../oarlock/tests/keys/rsa2048.pem"))?);
/// let mut signatures = CompletionQueue::new(Order::Completion);
/// for number in 0..20u8 {
///     let job = rsa.submit_sign(SignatureScheme::Pkcs1(Hash::Sha256), [number], JobOptions::default())?;
///     signatures.push(job, number);
/// }
/// while let Some((number, signature)) = signatures.next_blocking() {
///     rsa.public().verify(SignatureScheme::Pkcs1(Hash::Sha256), &[number], &signature?)?;
/// }
/// # Ok::<(), oarlock::Error>(())
/// ```
pub struct CompletionQueue<T, Tag = ()> {
    order: Order,
    /// The oldest first.
    jobs: VecDeque<Pushed<T, Tag>>,
    pushed: u64,
    notices: Arc<Notices>,
    /// The [`process::fork_generation`] of the process that created `notices`.
    generation: usize,
}

struct Pushed<T, Tag> {
    number: u64,
    job: Job<T>,
    tag: Tag,
}

impl<T, Tag> CompletionQueue<T, Tag> {
    /// Creates an empty queue.
    pub fn new(order: Order) -> Self {
        Self {
            order,
            jobs: VecDeque::new(),
            pushed: 0,
            notices: Arc::default(),
            generation: process::fork_generation(),
        }
    }

    /// In a forked child, which must not use the parent's notices and descriptor, marks every job to be polled again.
    fn follow_fork(&mut self) {
        let generation = process::fork_generation();
        if self.generation != generation {
            self.generation = generation;
            self.notices = Arc::default();
            for entry in &self.jobs {
                self.notices.give(entry.number);
            }
        }
    }

    /// Adds a job. `Builder::jobs_max` bounds the number of jobs where they are submitted.
    pub fn push(&mut self, job: Job<T>, tag: Tag) {
        self.follow_fork();
        self.pushed += 1;
        let number = self.pushed;
        // It is polled once at the next call, after which its waker gives notice.
        self.jobs.push_back(Pushed { number, job, tag });
        self.notices.give(number);
    }

    /// Returns the number of jobs whose results have not been taken.
    pub fn len(&self) -> usize {
        self.jobs.len()
    }

    /// Returns the tags of these jobs, in the order in which they were pushed.
    pub fn tags(&self) -> impl Iterator<Item = &Tag> {
        self.jobs.iter().map(|entry| &entry.tag)
    }

    /// Whether there are no such jobs.
    pub fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    /// Returns the next result, if there is one yet. Without pool threads this thread computes some jobs first.
    pub fn try_next(&mut self) -> Option<(Tag, Result<T, Error>)> {
        self.follow_fork();
        match self.order {
            Order::Submission => {
                // From here on, new results give notice again.
                self.notices.take_all();
                let first = self.jobs.front_mut()?;
                let result = first.poll(&self.notices)?;
                let tag = self.jobs.pop_front()?.tag;
                if let Some(first) = self.jobs.front() {
                    self.notices.give(first.number);
                }
                Some((tag, result))
            }
            Order::Completion => {
                while let Some(number) = self.notices.take() {
                    let place = self
                        .jobs
                        .binary_search_by_key(&number, |entry| entry.number);
                    // A notice of a job whose result was taken: its waker was called twice.
                    let Ok(place) = place else { continue };
                    if let Some(result) = self.jobs[place].poll(&self.notices) {
                        return Some((self.jobs.remove(place)?.tag, result));
                    }
                }
                None
            }
        }
    }

    /// Waits for the next result. `None` if there are no jobs.
    pub fn next_blocking(&mut self) -> Option<(Tag, Result<T, Error>)> {
        self.follow_fork();
        while !self.jobs.is_empty() {
            self.notices.set_waiting(Some(std::thread::current()));
            let next = self.try_next();
            if next.is_some() {
                self.notices.set_waiting(None);
                return next;
            }
            let oldest = self.jobs.front();
            let patience = oldest.map_or(Duration::ZERO, |oldest| oldest.job.pending.attend());
            std::thread::park_timeout(patience);
        }
        None
    }

    /// Returns a descriptor to poll for reading (eventfd(2)). It is readable whenever [`try_next`](Self::try_next) should be
    /// called, until that returns `None`. Do not read from it. A forked child has to ask for it again: its next call of any
    /// other function creates another one.
    ///
    /// # Errors
    /// The process has no descriptor left.
    pub fn event_fd(&self) -> io::Result<BorrowedFd<'_>> {
        if self.notices.event.get().is_none() {
            let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
            let event = eventfd(0, flags)?;
            self.notices.with(|list| {
                if !list.numbers.is_empty() {
                    signal(&event);
                }
                // Only this thread sets it, as it borrows the queue.
                let _ = self.notices.event.set(event);
            });
        }
        let event = self.notices.event.get().map(AsFd::as_fd);
        event.ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl<T, Tag> Pushed<T, Tag> {
    fn poll(&mut self, notices: &Arc<Notices>) -> Option<Result<T, Error>> {
        let waker = Waker::from(Arc::new(Notice {
            number: self.number,
            notices: Arc::clone(notices),
        }));
        match Pin::new(&mut self.job).poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(result) => Some(result),
            Poll::Pending => None,
        }
    }
}

impl<T, Tag> fmt::Debug for CompletionQueue<T, Tag> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CompletionQueue")
            .field("order", &self.order)
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

/// The numbers of the jobs to poll.
#[derive(Default)]
struct Notices {
    list: Mutex<List>,
    /// Readable while the list is not empty; changed with the list locked.
    event: OnceLock<OwnedFd>,
}

#[derive(Default)]
struct List {
    numbers: VecDeque<u64>,
    /// The thread that waits for a notice.
    waiting: Option<Thread>,
}

impl Notices {
    fn give(&self, number: u64) {
        let waiting = self.with(|list| {
            if list.numbers.is_empty()
                && let Some(event) = self.event.get()
            {
                signal(event);
            }
            list.numbers.push_back(number);
            list.waiting.take()
        });
        if let Some(thread) = waiting {
            thread.unpark();
        }
    }

    fn take(&self) -> Option<u64> {
        self.with(|list| {
            let number = list.numbers.pop_front();
            if number.is_some() && list.numbers.is_empty() {
                self.clear();
            }
            number
        })
    }

    fn take_all(&self) {
        self.with(|list| {
            if !list.numbers.is_empty() {
                list.numbers.clear();
                self.clear();
            }
        });
    }

    fn set_waiting(&self, thread: Option<Thread>) {
        let before = self.with(|list| std::mem::replace(&mut list.waiting, thread));
        drop(before);
    }

    fn clear(&self) {
        if let Some(event) = self.event.get() {
            // The read does not block, and an empty counter is just as good.
            let _ = rustix::io::read(event, &mut [0; 8]);
        }
    }

    /// Runs `section` with the list locked. A forked child never finds it locked.
    fn with<T>(&self, section: impl FnOnce(&mut List) -> T) -> T {
        process::undivided(|| {
            let list = self.list.lock();
            section(&mut list.unwrap_or_else(PoisonError::into_inner))
        })
    }
}

struct Notice {
    number: u64,
    notices: Arc<Notices>,
}

impl Wake for Notice {
    fn wake(self: Arc<Self>) {
        self.notices.give(self.number);
    }
}

fn signal(event: &OwnedFd) {
    // It fails only if the counter is at 2^64 - 2.
    let _ = rustix::io::write(event, &1u64.to_ne_bytes());
}
