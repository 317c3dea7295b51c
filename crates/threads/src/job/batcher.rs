//! What the queue of jobs needs of whatever computes them.

use std::time::Duration;

use crate::Error;

/// Computes what the queue holds.
pub trait Batcher: Send + Sync + 'static {
    /// A request.
    type Work: Send;
    /// What comes of it.
    type Output: Send;

    /// Classes are numbered from 0 on.
    const CLASSES: usize;
    /// The most that are computed at once.
    const BATCH_MAX: usize;

    /// Requests of one class can be computed together.
    fn class(&self, work: &Self::Work) -> usize;

    /// Returns the batch size for `waiting` queued requests of a class; at least 1.
    fn batch_size(&self, class: usize, waiting: usize) -> usize;

    /// Returns the batch size from which on waiting for more gains nothing; at least 1.
    fn full_batch(&self, class: usize) -> usize;

    /// What one alone is expected to take.
    fn cost(&self, class: usize) -> Duration;

    /// Tells that the number of waiting requests changed from `before` to `now`. Called with the queue locked.
    fn waiting(&self, before: usize, now: usize) {
        let _ = (before, now);
    }

    /// Computes requests of one class, as many as [`batch_size`](Self::batch_size) said or fewer.
    /// `answer` is to be told once for each, by its place.
    fn run(
        &self,
        class: usize,
        works: Vec<Self::Work>,
        answer: &mut dyn FnMut(usize, Outcome<Self::Output>),
    );
}

/// What a job ends with.
pub type Outcome<T> = Result<T, Error>;
