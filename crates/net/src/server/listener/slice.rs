//! How long a connection has a thread to itself.

use std::task::{Context, Poll};
use std::time::Duration;

use super::debt::{Debt, Moment};

/// The current slice of a connection: what its task has done since it last had to wait for bytes. All of that is
/// charged to its client.
#[derive(Debug, Default)]
pub(super) struct Slice {
    used: Duration,
    /// When bytes were handed out. Until it asks for more, the task works on these.
    read_at: Option<Moment>,
}

impl Slice {
    /// Ready if the connection may go on; else others have their turn first.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.used <= SLICE {
            return Poll::Ready(());
        }
        *self = Self::default();
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Reads, after the work on what was read before.
    pub(super) fn read<T>(&mut self, debt: &Debt, read: impl FnOnce() -> Poll<T>) -> Poll<T> {
        let began = self.read_at.take().unwrap_or_else(|| debt.moment());
        let poll = read();
        self.spend(debt, &began);
        if poll.is_pending() {
            *self = Self::default();
        } else {
            self.read_at = Some(debt.moment());
        }
        poll
    }

    pub(super) fn write<T>(&mut self, debt: &Debt, write: impl FnOnce() -> Poll<T>) -> Poll<T> {
        let began = debt.moment();
        let poll = write();
        // Within the work on what was read, it is charged with that.
        if self.read_at.is_none() {
            self.spend(debt, &began);
        }
        if poll.is_pending() {
            *self = Self::default();
        }
        poll
    }

    fn spend(&mut self, debt: &Debt, began: &Moment) {
        let time = began.elapsed().min(SLICE);
        debt.charge(time);
        self.used += time;
    }
}

/// Some hundreds of frames.
const SLICE: Duration = Duration::from_micros(250);
