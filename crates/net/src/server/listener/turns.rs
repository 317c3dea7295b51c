//! Handshakes take turns, so that many of them delay nothing else.
//!
//! A poll of a handshake may compute for a millisecond. If 256 are ready at once, they would run one
//! after the other, and every open connection would wait for all of them. With turns, the runtime
//! polls everything else that is ready between two polls of handshakes.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use tokio::sync::Semaphore;
use tokio::task::yield_now;

/// Turns on the runtime's threads, one per thread, given in the order of the requests for them.
pub(super) struct Turns(Arc<Semaphore>);

impl Turns {
    /// Creates a turn for each thread of the runtime.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub(super) fn new() -> Self {
        let threads = tokio::runtime::Handle::current().metrics().num_workers();
        Self(Arc::new(Semaphore::new(threads.max(1))))
    }

    /// Polls a future to its end, and takes a new turn for each poll.
    pub(super) async fn run<F: Future>(&self, future: F) -> F::Output {
        let mut future = pin!(future);
        loop {
            let turn = Arc::clone(&self.0).acquire_owned().await;
            let polled = poll_fn(|context| Poll::Ready(future.as_mut().poll(context))).await;
            // A separate task returns the turn, since this one may end now, or sleep for long.
            tokio::spawn(async move {
                yield_now().await;
                drop(turn);
            });
            if let Poll::Ready(output) = polled {
                return output;
            }
            woken().await;
        }
    }
}

/// Ready when the task is polled next. The future that was polled before holds the task's waker, so a wake-up in between is
/// not lost.
async fn woken() {
    let mut is_first = true;
    poll_fn(|_| match std::mem::replace(&mut is_first, false) {
        true => Poll::Pending,
        false => Poll::Ready(()),
    })
    .await;
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use oarlock_testing::LIMIT;
    use tokio::sync::mpsc;
    use tokio::task::JoinSet;
    use tokio::time::{sleep, timeout};

    use super::*;

    /// Ready at the `polls`th poll, and always wakes itself.
    async fn work(polls: usize, mut at_each: impl FnMut()) {
        let mut left = polls;
        poll_fn(|context| {
            at_each();
            left -= 1;
            if left == 0 {
                return Poll::Ready(());
            }
            context.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    }

    /// Returns the most consecutive polls of `tasks` handshakes without a poll of another task.
    async fn longest_row(tasks: usize) -> usize {
        let turns = Arc::new(Turns::new());
        let row = Arc::new(AtomicUsize::new(0));
        let longest = Arc::new(AtomicUsize::new(0));
        let mut working = JoinSet::new();
        for _ in 0..tasks {
            let (turns, row, longest) =
                (Arc::clone(&turns), Arc::clone(&row), Arc::clone(&longest));
            working.spawn(async move {
                let at_each = || {
                    let row = row.fetch_add(1, Ordering::Relaxed) + 1;
                    longest.fetch_max(row, Ordering::Relaxed);
                };
                turns.run(work(5, at_each)).await;
            });
        }
        let other = tokio::spawn(async move {
            loop {
                row.store(0, Ordering::Relaxed);
                yield_now().await;
            }
        });
        while let Some(ended) = working.join_next().await {
            ended.unwrap();
        }
        other.abort();
        longest.load(Ordering::Relaxed)
    }

    #[tokio::test]
    async fn others_are_polled_between_two_turns() {
        let longest = timeout(LIMIT, longest_row(200)).await.unwrap();
        // The release of a turn and the other task may be polled in either order.
        assert!(longest <= 2, "{longest} in a row");
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn no_wake_up_is_lost() {
        let turns = Arc::new(Turns::new());
        let mut working = JoinSet::new();
        let mut senders = Vec::new();
        for _ in 0..500 {
            let (sender, mut receiver) = mpsc::channel::<u32>(1);
            senders.push(sender);
            let turns = Arc::clone(&turns);
            working.spawn(async move {
                let sum = async {
                    let mut sum = 0;
                    while let Some(number) = receiver.recv().await {
                        sum += number;
                        if number % 7 == 0 {
                            sleep(Duration::from_micros(10)).await;
                        }
                    }
                    sum
                };
                turns.run(sum).await
            });
        }
        let sending = async {
            for number in 0..20 {
                for sender in &senders {
                    sender.send(number).await.unwrap();
                }
            }
            senders.clear();
            while let Some(sum) = working.join_next().await {
                assert_eq!(sum.unwrap(), 190);
            }
        };
        timeout(LIMIT, sending).await.unwrap();
        // Every turn has been returned.
        let all = timeout(LIMIT, turns.0.acquire_many(2)).await.unwrap();
        drop(all);
    }

    #[tokio::test]
    async fn who_goes_away_keeps_no_turn() {
        let turns = Arc::new(Turns::new());
        let mut working = JoinSet::new();
        for _ in 0..50 {
            let turns = Arc::clone(&turns);
            working.spawn(async move { turns.run(std::future::pending::<()>()).await });
        }
        yield_now().await;
        working.shutdown().await;
        timeout(LIMIT, turns.run(work(3, || ()))).await.unwrap();
    }
}
