//! How long a client goes on, and what it has done so far.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tokio::sync::watch;

/// Why a client left off. An error stands for the server's closing the connection.
pub(crate) type Ended = io::Result<()>;

/// The course of a hostile client. It acts until it has done its actions, then holds what it has
/// until the end.
#[derive(Debug)]
pub struct Course {
    actions_max: u64,
    done: AtomicU64,
    is_held_back: AtomicBool,
    sessions_ended: AtomicU64,
    is_over: watch::Sender<bool>,
}

impl Course {
    /// For this many actions, or until [`end`](Self::end), whichever comes first.
    pub fn new(actions_max: u64) -> Self {
        Self {
            actions_max,
            done: AtomicU64::new(0),
            is_held_back: AtomicBool::new(false),
            sessions_ended: AtomicU64::new(0),
            is_over: watch::Sender::new(false),
        }
    }

    /// Has the client leave at once.
    pub fn end(&self) {
        self.is_over.send_replace(true);
    }

    /// Actions so far.
    pub fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    /// Whether the server has stopped reading from it for a while.
    pub fn is_held_back(&self) -> bool {
        self.is_held_back.load(Ordering::Relaxed)
    }

    /// How often the server closed its connections.
    pub fn sessions_ended(&self) -> u64 {
        self.sessions_ended.load(Ordering::Relaxed)
    }

    /// Whether it does no more: its actions are done, or the server holds it back.
    pub fn is_spent(&self) -> bool {
        self.done() >= self.actions_max || self.is_held_back()
    }

    pub(crate) fn goes_on(&self) -> bool {
        self.done() < self.actions_max && !*self.is_over.borrow()
    }

    pub(crate) fn did(&self, actions: u64) {
        self.done.fetch_add(actions, Ordering::Relaxed);
    }

    pub(crate) fn held_back(&self) {
        self.is_held_back.store(true, Ordering::Relaxed);
    }

    pub(crate) fn session_ended(&self) {
        self.sessions_ended.fetch_add(1, Ordering::Relaxed);
    }

    /// Ready once it is over.
    pub(crate) async fn ended(&self) {
        let mut is_over = self.is_over.subscribe();
        // It fails only without a sender, which is in `self`.
        let _ = is_over.wait_for(|is_over| *is_over).await;
    }
}
