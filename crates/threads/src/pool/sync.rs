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

#[cfg_attr(loom, allow(unused_imports))]
pub use self::waiting::{Parker, lock};

/// The means by which jobs wait.
#[cfg_attr(loom, allow(dead_code))]
mod waiting {
    use std::sync::{Arc, PoisonError};
    use std::task::Wake;
    use std::time::Duration;

    use super::{Mutex, MutexGuard};

    /// Locks `mutex`, even if a thread panicked with it locked: nothing here is left half changed.
    pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
        mutex.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place where a thread sleeps until it is woken. A thread that was woken before it parks does not sleep.
    #[cfg(not(loom))]
    pub struct Parker(std::thread::Thread);

    #[cfg(not(loom))]
    impl Parker {
        /// Creates a parker for the calling thread.
        pub fn current() -> Self {
            Self(std::thread::current())
        }

        /// Sleeps for at most `time_max`. Returns whether all of that has passed.
        pub fn park_for(&self, time_max: Duration) -> bool {
            let began = std::time::Instant::now();
            // Waiting sets errno.
            crate::process::keeping_errno(|| std::thread::park_timeout(time_max));
            began.elapsed() >= time_max
        }
    }

    #[cfg(not(loom))]
    impl Wake for Parker {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }

    /// A parker for loom, whose own `unpark` is lost on a thread that waits for a lock. No time passes.
    #[cfg(loom)]
    pub struct Parker(Mutex<bool>, super::Condvar);

    #[cfg(loom)]
    impl Parker {
        pub fn current() -> Self {
            Self(Mutex::new(false), super::Condvar::new())
        }

        pub fn park_for(&self, _: Duration) -> bool {
            let mut is_woken = lock(&self.0);
            while !*is_woken {
                is_woken = self
                    .1
                    .wait(is_woken)
                    .unwrap_or_else(PoisonError::into_inner);
            }
            *is_woken = false;
            false
        }
    }

    #[cfg(loom)]
    impl Wake for Parker {
        fn wake(self: Arc<Self>) {
            *lock(&self.0) = true;
            self.1.notify_one();
        }
    }
}
