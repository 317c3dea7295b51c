//! What is said of a job when it is submitted, and how one is refused.

use std::fmt;
use std::time::Instant;

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
