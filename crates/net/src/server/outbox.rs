//! Replies on their way from workers to the task that sends them.
//!
//! A reply wakes the runtime's thread. On a CPU that both share it displaces the worker: eight
//! answers one after the other wake it eight times, and each goes out in a message of its own.
//! Replies held back by a [`Hold`] are handed over together.

use std::cell::RefCell;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, mpsc};

use super::accounts::Reserved;
use crate::proto;

/// A reply that its client has not read yet, with its place among those of the stream and the room
/// reserved for it.
pub(super) struct Queued {
    pub(super) reply: proto::Reply,
    pub(super) _place: OwnedSemaphorePermit,
    pub(super) _reserved: Option<Reserved>,
}

/// Accepts the replies of a stream.
#[derive(Clone)]
pub(super) struct Outbox(mpsc::UnboundedSender<Vec<Queued>>);

/// Hands the replies out.
pub(super) struct Waiting(mpsc::UnboundedReceiver<Vec<Queued>>);

pub(super) fn outbox() -> (Outbox, Waiting) {
    let (sender, receiver) = mpsc::unbounded_channel();
    (Outbox(sender), Waiting(receiver))
}

impl Outbox {
    /// Queues a reply. It is dropped if the client has gone.
    pub(super) fn put(&self, reply: Queued) {
        let reply = HELD.with_borrow_mut(|held| {
            let Some(held) = held else {
                return Some(reply);
            };
            held.since.get_or_insert_with(Instant::now);
            match held
                .by_stream
                .iter_mut()
                .find(|(outbox, _)| outbox.0.same_channel(&self.0))
            {
                Some((_, replies)) => replies.push(reply),
                None => held.by_stream.push((self.clone(), vec![reply])),
            }
            None
        });
        if let Some(reply) = reply {
            let _ = self.0.send(vec![reply]);
        }
    }

    /// Waits until the client has gone.
    pub(super) async fn closed(&self) {
        self.0.closed().await;
    }
}

impl Waiting {
    /// The next replies, as they came together; `None` at the end.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Vec<Queued>>> {
        self.0.poll_recv(context)
    }

    /// The replies that are queued already.
    pub(super) fn more(&mut self) -> Option<Vec<Queued>> {
        self.0.try_recv().ok()
    }
}

/// Holds back the replies of this thread, then wakes each stream once. At most one per thread.
pub(super) struct Hold(());

impl Hold {
    pub(super) fn new() -> Self {
        HELD.set(Some(Held::default()));
        Self(())
    }

    /// Time since the first reply that is held back.
    pub(super) fn age(&self) -> Option<Duration> {
        HELD.with_borrow(|held| Some(held.as_ref()?.since?.elapsed()))
    }

    /// Hands over what is held back, and goes on holding back.
    pub(super) fn release(&self) {
        for (outbox, replies) in HELD
            .replace(Some(Held::default()))
            .unwrap_or_default()
            .by_stream
        {
            let _ = outbox.0.send(replies);
        }
    }
}

impl Drop for Hold {
    /// Runs on a panic, too.
    fn drop(&mut self) {
        self.release();
        HELD.set(None);
    }
}

#[derive(Default)]
struct Held {
    since: Option<Instant>,
    by_stream: Vec<(Outbox, Vec<Queued>)>,
}

thread_local! {
    static HELD: RefCell<Option<Held>> = const { RefCell::new(None) };
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
        let hold = Hold::new();
        assert_eq!(hold.age(), None);
        one.put(reply(1));
        other.put(reply(2));
        one.put(reply(3));
        assert!(of_one.more().is_none() && hold.age().is_some());
        hold.release();
        assert_eq!(hold.age(), None);
        one.put(reply(4));
        one.put(reply(5));
        assert_eq!(ids(&mut of_one), [[1, 3]]);
        assert_eq!(ids(&mut of_other), [[2]]);
        drop(hold);
        one.put(reply(6));
        assert_eq!(ids(&mut of_one), [vec![4, 5], vec![6]]);
    }

    #[test]
    fn a_panic_keeps_nothing_back() {
        let (one, mut of_one) = outbox();
        let work = std::panic::AssertUnwindSafe(|| {
            let _hold = Hold::new();
            one.put(reply(1));
            panic!("as planned");
        });
        assert!(std::panic::catch_unwind(work).is_err());
        one.put(reply(2));
        assert_eq!(ids(&mut of_one), [[1], [2]]);
    }
}
