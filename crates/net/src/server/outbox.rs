//! Replies on their way from whoever has them to the task that sends them.
//!
//! A reply wakes the thread of the runtime, which on a CPU that both share takes the place of the
//! worker: with eight answers that come one after the other, eight times, and each goes out in a
//! message of its own. Those that come [`together`] are handed over at once.

use std::cell::RefCell;
use std::task::{Context, Poll};

use tokio::sync::{OwnedSemaphorePermit, mpsc};

use crate::proto;

/// A reply that its client has not read, and its place among those of the stream.
pub(super) struct Queued {
    pub(super) reply: proto::Reply,
    pub(super) _place: OwnedSemaphorePermit,
}

/// Takes the replies of a stream in.
#[derive(Clone)]
pub(super) struct Outbox(mpsc::UnboundedSender<Vec<Queued>>);

/// Gives them out.
pub(super) struct Waiting(mpsc::UnboundedReceiver<Vec<Queued>>);

pub(super) fn outbox() -> (Outbox, Waiting) {
    let (sender, receiver) = mpsc::unbounded_channel();
    (Outbox(sender), Waiting(receiver))
}

impl Outbox {
    /// Nobody takes it where the client has gone.
    pub(super) fn put(&self, reply: Queued) {
        let reply = HELD.with_borrow_mut(|held| {
            let Some(held) = held else {
                return Some(reply);
            };
            match held
                .iter_mut()
                .find(|(outbox, _)| outbox.0.same_channel(&self.0))
            {
                Some((_, replies)) => replies.push(reply),
                None => held.push((self.clone(), vec![reply])),
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
    /// What came together; nothing when there will be no more.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Vec<Queued>>> {
        self.0.poll_recv(context)
    }

    /// What is there already.
    pub(super) fn more(&mut self) -> Option<Vec<Queued>> {
        self.0.try_recv().ok()
    }
}

/// Holds replies that `work` has put until it is done, and then wakes each stream once.
pub(super) fn together<T>(work: impl FnOnce() -> T) -> T {
    /// Also where `work` panics.
    struct Release;
    impl Drop for Release {
        fn drop(&mut self) {
            for (outbox, replies) in HELD.take().unwrap_or_default() {
                let _ = outbox.0.send(replies);
            }
        }
    }
    HELD.set(Some(Vec::new()));
    let _release = Release;
    work()
}

/// Replies by stream; none outside of [`together`].
type Held = Option<Vec<(Outbox, Vec<Queued>)>>;

thread_local! {
    static HELD: RefCell<Held> = const { RefCell::new(None) };
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
        together(|| {
            one.put(reply(1));
            other.put(reply(2));
            one.put(reply(3));
            assert!(of_one.more().is_none());
        });
        one.put(reply(4));
        assert_eq!(ids(&mut of_one), [vec![1, 3], vec![4]]);
        assert_eq!(ids(&mut of_other), [[2]]);
    }

    #[test]
    fn a_panic_keeps_nothing_back() {
        let (one, mut of_one) = outbox();
        let work = std::panic::AssertUnwindSafe(|| {
            together(|| {
                one.put(reply(1));
                panic!("as planned");
            })
        });
        assert!(std::panic::catch_unwind(work).is_err());
        one.put(reply(2));
        assert_eq!(ids(&mut of_one), [[1], [2]]);
    }
}
