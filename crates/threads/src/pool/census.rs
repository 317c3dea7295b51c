//! Counts helpers and decides which of them may end. docs/internals/wakeup.md argues why the last helper that could serve a
//! post never ends before serving it; model/tests/model.rs checks it with loom.

use super::board::Board;
use super::sync::{AtomicUsize, Ordering};

/// The number of helpers, from before their thread is created until they have decided to end.
pub(crate) struct Census(AtomicUsize);

impl Census {
    pub(crate) fn new() -> Self {
        Self(AtomicUsize::new(0))
    }

    pub(crate) fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    /// Counts one more helper, unless there are `max`.
    pub(crate) fn enter(&self, max: usize) -> bool {
        self.update(|alive| (alive < max).then_some(alive + 1))
    }

    /// Undoes [`enter`](Self::enter).
    pub(crate) fn leave(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }

    /// Decides whether a helper that received [`Next::Idle`](super::board::Next::Idle) may end; if so, no longer counts it
    /// and returns true. It stays if it is one of the `min` to keep. The decision is one atomic step: otherwise each of two
    /// helpers could leave because the other is there. The helper counts itself in again if something was posted after its
    /// last look: that post found neither a sleeper to wake nor room for another helper, and no other helper may come for
    /// it.
    pub(crate) fn retire(&self, min: usize, max: usize, board: &Board) -> bool {
        let is_out = self.update(|alive| (alive > min).then(|| alive - 1));
        // `has_work` takes the board's lock: a caller that posts after it sees that this helper is no longer counted.
        is_out && !(board.has_work() && self.enter(max))
    }

    fn update(&self, change: impl FnMut(usize) -> Option<usize>) -> bool {
        let order = Ordering::Relaxed;
        self.0.fetch_update(order, order, change).is_ok()
    }
}
