//! Assigns stripes to threads.

use super::sync::{AtomicU64, Ordering};

/// The role of a thread in a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// The thread that posted the work and waits for its end.
    Caller,
    /// A thread of the pool.
    Helper,
}

/// Hands out the numbers 0 to `count` - 1, each once: to the caller from the front, to helpers from the back. So each thread
/// returns to the same end of the same buffer, which its cache may still hold.
pub struct Tickets {
    /// Low half: taken from the front; high half: from the back. Keeps counting when all are gone, by one for each thread
    /// that asks.
    taken: AtomicU64,
    count: u32,
}

impl Tickets {
    /// Creates tickets for `count` stripes.
    #[inline]
    pub fn new(count: u32) -> Self {
        Self {
            taken: AtomicU64::new(0),
            count,
        }
    }

    /// Takes the next ticket for a thread in this role; `None` if all are taken.
    #[inline]
    pub fn take(&self, role: Role) -> Option<u32> {
        let one = match role {
            Role::Caller => 1,
            Role::Helper => 1 << 32,
        };
        // Relaxed: a ticket carries no data; the board's lock orders what the work touches.
        let taken = self.taken.fetch_add(one, Ordering::Relaxed);
        let (front, back) = (taken as u32, (taken >> 32) as u32);
        if u64::from(front) + u64::from(back) >= u64::from(self.count) {
            return None;
        }
        Some(match role {
            Role::Caller => front,
            Role::Helper => self.count - 1 - back,
        })
    }
}
