//! How long a connection has a thread to itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::task::yield_now;

use super::debt::{Debt, Moment};

/// The current slice of a connection: what its task has done since it last had to wait for bytes. All of that is
/// charged to its client.
#[derive(Debug, Default)]
pub(super) struct Slice {
    used: Duration,
    /// When bytes were handed out. Until it asks for more, the task works on these.
    read_at: Option<Moment>,
    /// Set while others have their turn; true once they have had it.
    turn: Option<Arc<AtomicBool>>,
}

impl Slice {
    /// Ready if the connection may go on; else others have their turn first.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match &self.turn {
            Some(turn) if !turn.load(Ordering::Acquire) => return Poll::Pending,
            Some(_) => self.turn = None,
            None if self.used > SLICE => {
                self.end(cx);
                return Poll::Pending;
            }
            None => {}
        }
        Poll::Ready(())
    }

    /// Gives others their turn. The task may go on to poll its connection all the same, for h2 reads again for each
    /// stream that it hands out; so a task of its own says when they have had it.
    pub(super) fn end(&mut self, cx: &Context<'_>) {
        let turn = Arc::new(AtomicBool::new(false));
        *self = Self {
            turn: Some(Arc::clone(&turn)),
            ..Self::default()
        };
        let waker = cx.waker().clone();
        tokio::spawn(async move {
            yield_now().await;
            turn.store(true, Ordering::Release);
            waker.wake();
        });
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
        match self.read_at.take() {
            None => self.spend(debt, &began),
            Some(read_at) if poll.is_pending() => self.spend(debt, &read_at),
            read_at => self.read_at = read_at,
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
