//! Options of a job, and the error of a full queue.

use std::fmt;
use std::time::Instant;

use crate::Error;

/// Options of a job. The default is normal priority without a deadline, begun as soon as a pool thread is free.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobOptions {
    /// Urgent jobs begin before all normal ones.
    pub priority: Priority,
    /// A job that has not begun by then fails with [`Error::DeadlinePassed`], when its turn comes or its result is asked
    /// for. One that has begun goes on.
    pub deadline: Option<Instant>,
    /// Whether the job calls pool threads.
    pub start: Start,
}

/// Whether a job calls pool threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Start {
    /// Calls pool threads, if none is serving the queue.
    #[default]
    AtOnce,
    /// Calls no pool thread, though one that is serving the queue takes the job. A thread that waits for the job, polls it
    /// or [tries](crate::job::Job::try_wait) it computes it, together with others that wait. For a thread that submits
    /// several jobs in a row and knows when it has no more for now: together they take less CPU time than one at a time, and
    /// no other thread has to wake up.
    WhenAsked,
}

/// The order in which jobs begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Priority {
    /// Before those of normal priority, however long they have waited.
    Urgent,
    /// In the order of submission.
    #[default]
    Normal,
}

/// A job was refused because `Builder::jobs_max` jobs are waiting. Holds the buffers of the request, unchanged.
///
/// Take a result, then submit the buffers again. A caller that does not need them converts this to [`Error::QueueFull`] with
/// `?`, which drops the buffers.
///
/// ```
/// use oarlock::Accelerator;
/// use oarlock::job::{JobOptions, QueueFull};
/// use oarlock::rsa::{Hash, RsaPrivateKey, SignatureScheme};
///
/// let accelerator = Accelerator::builder().max_threads(0).jobs_max(1).build()?;
/// let key = RsaPrivateKey::from_pem(include_str!("../../../oarlock/tests/keys/rsa2048.pem"))?;
/// let rsa = accelerator.rsa(&key);
/// let scheme = SignatureScheme::Pss(Hash::Sha256);
///
/// let first = rsa.submit_sign(scheme, b"one", JobOptions::default())?;
/// let second = match rsa.submit_sign(scheme, b"two", JobOptions::default()) {
///     Ok(job) => job,
///     Err(QueueFull(message)) => {
///         first.wait()?; // makes room
///         rsa.submit_sign(scheme, message, JobOptions::default())?
///     }
/// };
/// rsa.public().verify(scheme, b"two", &second.wait()?)?;
/// # Ok::<(), oarlock::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct QueueFull<R>(pub R);

impl<R> fmt::Display for QueueFull<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Error::QueueFull.fmt(f)
    }
}

impl<R> From<QueueFull<R>> for Error {
    fn from(_: QueueFull<R>) -> Self {
        Self::QueueFull
    }
}

/// Hides the request, which may be secret.
impl<R> fmt::Debug for QueueFull<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("QueueFull(..)")
    }
}

impl<R> std::error::Error for QueueFull<R> {}
