//! The interface between the queue of jobs and whatever computes them.

use std::time::Duration;

use crate::Error;

/// Computes queued requests in batches.
pub trait Batcher: Send + Sync + 'static {
    /// A request.
    type Work: Send;
    /// The result of a request.
    type Output: Send;

    /// The number of classes, which are numbered from 0.
    const CLASSES: usize;
    /// The largest batch size of any class.
    const BATCH_MAX: usize;

    /// Returns the class of a request; requests of one class can be computed together.
    fn class(&self, work: &Self::Work) -> usize;

    /// Returns the batch size for `waiting` queued requests of a class; at least 1.
    fn batch_size(&self, class: usize, waiting: usize) -> usize;

    /// Returns the batch size above which waiting for more requests gains nothing; at least 1.
    fn full_batch(&self, class: usize) -> usize;

    /// Returns the expected time of a single request.
    fn cost(&self, class: usize) -> Duration;

    /// Reports that the number of waiting requests changed from `before` to `now`. Called with the queue locked.
    fn waiting(&self, before: usize, now: usize) {
        let _ = (before, now);
    }

    /// Computes requests of one class, at most [`batch_size`](Self::batch_size) of them. It calls `answer` once for each,
    /// with its index.
    fn run(
        &self,
        class: usize,
        works: Vec<Self::Work>,
        answer: &mut dyn FnMut(usize, Outcome<Self::Output>),
    );
}

/// The outcome of a job.
pub type Outcome<T> = Result<T, Error>;

/// Returns the error for a second caller of a result.
pub fn taken() -> Error {
    Error::InvalidInput("the job's result has been taken already".into())
}
