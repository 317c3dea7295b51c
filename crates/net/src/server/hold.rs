//! Connections are not read for some milliseconds while the line is full.
//!
//! To take a message in and to refuse it costs tens of microseconds when each comes and goes by itself.
//! At four times the load that a CPU can serve this is all that the CPU does. What comes while
//! nobody reads is read together, and refused in one message; how long nobody reads, the dispatcher says.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use futures_util::task::AtomicWaker;

/// Whether connections are read. They are, but from [`begin`](Self::begin) to [`end`](Self::end).
#[derive(Default)]
pub struct Hold {
    /// Of beginnings and ends: odd while nobody reads.
    turns: AtomicU64,
    waiting: Mutex<Vec<Arc<AtomicWaker>>>,
}

impl Hold {
    /// Nothing where it has begun.
    pub(super) fn begin(&self) {
        let mut turns = self.turns.load(Ordering::Relaxed);
        while turns.is_multiple_of(2) {
            let changed = self.turns.compare_exchange_weak(
                turns,
                turns + 1,
                Ordering::AcqRel,
                Ordering::Relaxed,
            );
            match changed {
                Ok(_) => return,
                Err(now) => turns = now,
            }
        }
    }

    /// Wakes who waited; nothing where it has not begun.
    pub(super) fn end(&self) {
        if !self.is_on() {
            return;
        }
        let waiting = {
            // Whoever finds it on under this lock is in the list.
            let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            if !self.is_on() {
                return;
            }
            self.turns.fetch_add(1, Ordering::AcqRel);
            std::mem::take(&mut *waiting)
        };
        for one in waiting {
            one.wake();
        }
    }

    fn is_on(&self) -> bool {
        !self.turns.load(Ordering::Acquire).is_multiple_of(2)
    }
}

impl fmt::Debug for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hold")
            .field("is_on", &self.is_on())
            .finish()
    }
}

/// Of one connection.
pub(super) struct Held {
    hold: Arc<Hold>,
    waker: Arc<AtomicWaker>,
    /// In the list of waiting ones since this turn.
    listed: u64,
}

impl Held {
    pub(super) fn new(hold: &Arc<Hold>) -> Self {
        Self {
            hold: Arc::clone(hold),
            waker: Arc::default(),
            listed: 0,
        }
    }

    /// Ready when the connection may be read.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if !self.hold.is_on() {
            return Poll::Ready(());
        }
        self.waker.register(context.waker());
        let waiting = &self.hold.waiting;
        let mut waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let turn = self.hold.turns.load(Ordering::Acquire);
        if turn.is_multiple_of(2) {
            return Poll::Ready(());
        }
        if self.listed != turn {
            self.listed = turn;
            waiting.push(Arc::clone(&self.waker));
        }
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::task::{Wake, Waker};

    use super::*;

    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn who_waits_is_woken_once_at_the_end() {
        let woken = Arc::new(Woken::default());
        let waker = Waker::from(Arc::clone(&woken));
        let mut context = Context::from_waker(&waker);
        let hold = Arc::new(Hold::default());
        let (mut held, mut other) = (Held::new(&hold), Held::new(&hold));
        assert!(held.poll(&mut context).is_ready());
        hold.end();
        for turn in 1..=3 {
            hold.begin();
            hold.begin();
            assert!(held.poll(&mut context).is_pending());
            assert!(held.poll(&mut context).is_pending());
            assert!(other.poll(&mut context).is_pending());
            hold.end();
            hold.end();
            assert_eq!(woken.0.load(Ordering::Relaxed), 2 * turn);
            assert!(held.poll(&mut context).is_ready());
        }
    }
}
