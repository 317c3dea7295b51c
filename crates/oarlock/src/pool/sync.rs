//! The standard library's synchronization, or loom's when the protocol is model-checked.

#[cfg(not(loom))]
pub(crate) use std::sync::{
    Condvar, Mutex, MutexGuard,
    atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence},
};

#[cfg(loom)]
pub(crate) use loom::sync::{
    Condvar, Mutex, MutexGuard,
    atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence},
};

#[cfg(not(loom))]
pub(super) fn pause() {
    std::hint::spin_loop();
}

#[cfg(loom)]
pub(super) fn pause() {
    loom::thread::yield_now();
}

#[cfg(any(loom, feature = "software"))]
pub(crate) use self::waiting::*;

/// What jobs wait with, where there are jobs.
#[cfg(any(loom, feature = "software"))]
#[cfg_attr(loom, allow(dead_code, unused_imports))]
mod waiting {
    /// Locks, also what a thread that panicked had locked: nothing here is left half changed.
    pub(crate) fn lock<T>(mutex: &super::Mutex<T>) -> super::MutexGuard<'_, T> {
        mutex
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    #[cfg(not(loom))]
    pub(crate) use std::thread::{Thread, current};

    #[cfg(loom)]
    pub(crate) use loom::thread::{Thread, current};

    /// Parks the calling thread, for so long at most. Returns whether all of that has passed.
    #[cfg(not(loom))]
    pub(crate) fn park_for(time_max: std::time::Duration) -> bool {
        let began = std::time::Instant::now();
        std::thread::park_timeout(time_max);
        began.elapsed() >= time_max
    }

    /// Under loom no time passes.
    #[cfg(loom)]
    pub(crate) fn park_for(_: std::time::Duration) -> bool {
        loom::thread::park();
        false
    }
}
