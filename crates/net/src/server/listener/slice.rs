//! How long a connection has a thread to itself.

use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::Instant;

use super::debt::Debt;

/// The current slice of a connection. Its task reads, writes and flushes until one of these has to wait. What it
/// does in between, with frames and headers, is charged to its client.
#[derive(Debug, Default)]
pub(super) struct Slice {
    began: Option<Instant>,
    last: Option<Instant>,
}

impl Slice {
    /// Ready if the connection may go on; else others have their turn first.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>, debt: &Debt) -> Poll<()> {
        let now = Instant::now();
        let began = *self.began.get_or_insert(now);
        if let Some(last) = self.last.replace(now) {
            // More than that, and the thread itself had to wait.
            debt.charge((now - last).min(SLICE));
        }
        if now - began <= SLICE {
            return Poll::Ready(());
        }
        self.end();
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Passes a result on. A connection that waits begins another slice later.
    pub(super) fn note<T>(&mut self, poll: Poll<T>, debt: &Debt) -> Poll<T> {
        if poll.is_pending() {
            if let Some(last) = self.last {
                debt.charge(last.elapsed().min(SLICE));
            }
            self.end();
        }
        poll
    }

    fn end(&mut self) {
        *self = Self::default();
    }
}

/// Some hundreds of frames.
pub(super) const SLICE: Duration = Duration::from_micros(250);
