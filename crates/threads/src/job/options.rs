//! What is said of a job when it is submitted, and how one is refused.

use std::fmt;
use std::time::Instant;

use crate::Error;

/// How a job is treated. The default is normal priority without a deadline, begun as soon as a pool thread is free.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobOptions {
    /// Urgent jobs begin before all normal ones.
    pub priority: Priority,
    /// A job that has not begun by then fails with [`Error::DeadlinePassed`], when its turn comes
    /// or its result is asked for. One that has begun goes on.
    pub deadline: Option<Instant>,
    /// Whether pool threads are asked to come for it.
    pub start: Start,
}

/// Whether pool threads are asked to come for a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Start {
    /// They are, if they are not there already.
    #[default]
    AtOnce,
    /// They are not, though one that is there takes it. A thread that waits for the job, polls it or
    /// [tries](crate::job::Job::try_wait) it computes it, together with others that wait. For a thread that
    /// submits several, one after the other, and knows when it has no more for now: those take less CPU time
    /// than each alone, and no other thread has to wake up.
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

/// A job was refused, because `Builder::jobs_max` jobs are waiting. It
/// holds the buffers that the job was to have, unchanged.
///
/// Take a result, then submit the buffers again. A caller that only wants to know converts it to
/// [`Error::QueueFull`] with `?`, and the buffers are dropped.
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

/// Does not show the request, which may be secret.
impl<R> fmt::Debug for QueueFull<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("QueueFull(..)")
    }
}

impl<R> std::error::Error for QueueFull<R> {}
