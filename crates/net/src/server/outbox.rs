//! The replies between the workers and the task that sends them.
//!
//! A reply wakes a thread of the runtime. On a CPU that both share, that thread displaces the worker: eight answers one
//! after the other wake it eight times, and each goes out in its own message. So the replies of a batch are collected in
//! [`Outgoing`].

use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, mpsc};

use super::allowance::Taken;
use crate::proto;

/// A reply that its client has not read yet, with its place in the stream and the room reserved for it.
pub(super) struct Queued {
    pub(super) reply: proto::Reply,
    pub(super) _place: OwnedSemaphorePermit,
    pub(super) _reserved: Option<Reserved>,
}

/// The room reserved for a reply until it is read.
#[derive(Debug)]
#[expect(dead_code, reason = "kept, not read")]
pub(super) struct Reserved {
    pub(super) stream: Option<OwnedSemaphorePermit>,
    pub(super) replies: Taken,
}

/// The room for a reply that is neither random bytes nor a list: more than the longest of them.
pub(super) const REPLY_BYTES: usize = 1024;

/// The sending half of a stream's replies.
#[derive(Clone)]
pub(super) struct Outbox(mpsc::UnboundedSender<Vec<Queued>>);

/// The receiving half of a stream's replies.
pub(super) struct Waiting(mpsc::UnboundedReceiver<Vec<Queued>>);

pub(super) fn outbox() -> (Outbox, Waiting) {
    let (sender, receiver) = mpsc::unbounded_channel();
    (Outbox(sender), Waiting(receiver))
}

impl Outbox {
    /// Waits until the client has gone.
    pub(super) async fn closed(&self) {
        self.0.closed().await;
    }
}

impl Waiting {
    /// Polls for the next replies, in the groups they were sent in; `None` at the end.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Vec<Queued>>> {
        self.0.poll_recv(context)
    }

    /// Returns the next group of replies that is queued already.
    pub(super) fn more(&mut self) -> Option<Vec<Queued>> {
        self.0.try_recv().ok()
    }
}

/// Replies that are sent together: each stream is woken once, when they are released or dropped.
#[derive(Default)]
pub struct Outgoing {
    since: Option<Instant>,
    by_stream: Vec<(Outbox, Vec<Queued>)>,
}

impl Outgoing {
    /// Adds a reply. It is dropped if the client has gone.
    pub(super) fn put(&mut self, outbox: &Outbox, reply: Queued) {
        self.since.get_or_insert_with(Instant::now);
        let mut streams = self.by_stream.iter_mut();
        match streams.find(|(other, _)| other.0.same_channel(&outbox.0)) {
            Some((_, replies)) => replies.push(reply),
            None => self.by_stream.push((outbox.clone(), vec![reply])),
        }
    }

    /// Returns the time since the first reply that is held back.
    pub(super) fn age(&self) -> Option<Duration> {
        Some(self.since?.elapsed())
    }

    /// Sends the replies that are held back.
    pub(super) fn release(&mut self) {
        self.since = None;
        for (outbox, replies) in self.by_stream.drain(..) {
            let _ = outbox.0.send(replies);
        }
    }
}

impl Drop for Outgoing {
    /// Releases the replies, after a panic too.
    fn drop(&mut self) {
        self.release();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::sync::Semaphore;

    use super::*;

    fn reply(id: u64) -> Queued {
        let places = Arc::new(Semaphore::new(1));
        Queued {
            reply: proto::Reply { id, outcome: None },
            _place: places.try_acquire_owned().unwrap(),
            _reserved: None,
        }
    }

    fn ids(waiting: &mut Waiting) -> Vec<Vec<u64>> {
        let all = std::iter::from_fn(|| waiting.more());
        all.map(|some| some.iter().map(|one| one.reply.id).collect())
            .collect()
    }

    #[test]
    fn what_comes_together_goes_together_by_stream() {
        let ((one, mut of_one), (other, mut of_other)) = (outbox(), outbox());
        let mut outgoing = Outgoing::default();
        assert_eq!(outgoing.age(), None);
        outgoing.put(&one, reply(1));
        outgoing.put(&other, reply(2));
        outgoing.put(&one, reply(3));
        assert!(of_one.more().is_none() && outgoing.age().is_some());
        outgoing.release();
        assert_eq!(outgoing.age(), None);
        outgoing.put(&one, reply(4));
        outgoing.put(&one, reply(5));
        assert_eq!(ids(&mut of_one), [[1, 3]]);
        assert_eq!(ids(&mut of_other), [[2]]);
        // Another batch on the same thread is independent.
        let mut another = Outgoing::default();
        another.put(&other, reply(6));
        drop(another);
        assert_eq!(ids(&mut of_other), [[6]]);
        drop(outgoing);
        assert_eq!(ids(&mut of_one), [[4, 5]]);
    }

    #[test]
    fn a_panic_keeps_nothing_back() {
        let (one, mut of_one) = outbox();
        let work = std::panic::AssertUnwindSafe(|| {
            let mut outgoing = Outgoing::default();
            outgoing.put(&one, reply(1));
            panic!("as planned");
        });
        assert!(std::panic::catch_unwind(work).is_err());
        assert_eq!(ids(&mut of_one), [[1]]);
    }
}
