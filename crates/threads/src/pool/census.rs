//! How many helpers there are, and which of them may end. docs/internals/wakeup.md argues why none ends that is the last to
//! come for what was posted; model/tests/model.rs checks it with loom.

use super::board::Board;
use super::sync::{AtomicUsize, Ordering};

/// Counts helpers, from before their thread is made until they have decided to end.
pub(crate) struct Census(AtomicUsize);

impl Census {
    pub(crate) fn new() -> Self {
        Self(AtomicUsize::new(0))
    }

    pub(crate) fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    /// Counts one more in, unless there are `max`.
    pub(crate) fn enter(&self, max: usize) -> bool {
        self.update(|alive| (alive < max).then_some(alive + 1))
    }

    /// Takes [`enter`](Self::enter) back.
    pub(crate) fn leave(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }

    /// For a helper that was told [`Next::Idle`](super::board::Next::Idle): counts it out and returns true if it may
    /// end. It stays if it is one of the `min` that are to be kept. In one step: of two that ask at once, each might
    /// else go because the other is there. And it counts itself in again if something was posted after its last look:
    /// that found neither a sleeper to wake nor room for another helper, and nobody else may come for it.
    pub(crate) fn retire(&self, min: usize, max: usize, board: &Board) -> bool {
        let is_out = self.update(|alive| (alive > min).then(|| alive - 1));
        // The look takes the board's lock: a caller that posts after it sees that this helper is no longer counted.
        is_out && !(board.has_work() && self.enter(max))
    }

    fn update(&self, change: impl FnMut(usize) -> Option<usize>) -> bool {
        let order = Ordering::Relaxed;
        self.0.fetch_update(order, order, change).is_ok()
    }
}
